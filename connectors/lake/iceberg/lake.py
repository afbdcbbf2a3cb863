"""A namespace in a catalog of Apache Iceberg, with a table for each predicate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidelog.connectors.lake.iceberg.library import catalog, pyiceberg, told
from tidelog.connectors.lake.places import folder_of, predicate_of
from tidelog.connectors.lake.tables import Conflict
from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelog.connectors.lake.iceberg.table import IcebergTable

_NAMED = re.compile(r"([^.\s]+)\.(\S+)\Z")
_OURS = "tidelog.predicate"
"""The property of a table that says which predicate's it is: a namespace may have other tables."""
_FIRST = ("NamespaceAlreadyExistsError", "IntegrityError")
"""What says that another process has made a namespace, or a table, at the same moment."""
_SETTINGS = {
    "write.parquet.row-group-limit": "131072",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


@dataclass(frozen=True, slots=True)
class IcebergLake:
    """A namespace of a catalog. Plain data: it can be sent elsewhere."""

    place: str
    catalog: str
    namespace: str

    def uri(self, predicate: str) -> str:
        """What messages call the table of a predicate."""
        return f"{self.catalog}.{self.namespace}.{folder_of(predicate)}"

    def _name(self, predicate: str) -> tuple[str, ...]:
        return (*self.namespace.split("."), folder_of(predicate))

    def open(self, predicate: str) -> IcebergTable | None:
        """The newest version of a table; None where there is none. ConnectorError where it cannot be read."""
        kinds: Any = import_module("tidelog.connectors.lake.iceberg.table")
        errors: Any = import_module("pyiceberg.exceptions")
        found = catalog(self.catalog)
        with told(f"cannot read the table `{self.uri(predicate)}`"):
            try:
                table: IcebergTable = kinds.IcebergTable(self.uri(predicate), found.load_table(self._name(predicate)))
            except (errors.NoSuchTableError, errors.NoSuchNamespaceError):
                return None
            return table

    def create(self, predicate: str, schema: pa.Schema, properties: Mapping[str, str]) -> None:
        """Make the table of a predicate, unless there is one, and the namespace. ConnectorError where that cannot be."""
        schemas: Any = import_module("tidelog.connectors.lake.iceberg.schemas")
        errors: Any = import_module("pyiceberg.exceptions")
        columns, partitions = schemas.table_of(schema)
        noted = {
            **_SETTINGS,
            _OURS: predicate,
            "comment": "maximal intervals of derived facts, by tidelog",
            **properties,
        }
        found = catalog(self.catalog)
        with told(f"cannot write the table `{self.uri(predicate)}`"):
            try:
                found.create_namespace_if_not_exists(tuple(self.namespace.split(".")))
                found.create_table(self._name(predicate), columns, partition_spec=partitions, properties=noted)
            except errors.TableAlreadyExistsError:
                return
            except Exception as error:
                if type(error).__name__ in _FIRST:
                    raise Conflict(f"cannot write the table `{self.uri(predicate)}`: {error}") from error
                raise

    def predicates(self) -> list[str]:
        """Of which predicates there are tables of ours, in order. ConnectorError where that cannot be seen."""
        errors: Any = import_module("pyiceberg.exceptions")
        found = catalog(self.catalog)
        with told(f"cannot read the tables in `{self.place}`"):
            try:
                names = found.list_tables(tuple(self.namespace.split(".")))
            except errors.NoSuchNamespaceError:
                return []
        known = sorted(predicate_of(name[-1]) for name in names)
        return [each for each in known if (table := self.open(each)) is not None and _OURS in table.properties()]

    def mend(self, predicate: str) -> list[str]:
        """Nothing is torn: files are on the disk before the catalog names them."""
        return []


def open_iceberg_lake(place: str, name: str) -> IcebergLake:
    """The tables in a namespace of a catalog, which `name` has as `CATALOG.NAMESPACE`; `place` is what messages call it.

    SpecError where the name is of another form, and where the library is missing. Nothing is looked at yet.
    """
    found = _NAMED.match(name)
    if found is None:
        raise SpecError(f"`{place}` names no namespace of Iceberg: expected `iceberg:CATALOG.NAMESPACE`")
    pyiceberg()
    return IcebergLake(place, found[1], found[2])
