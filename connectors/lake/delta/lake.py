"""A place with tables: a folder of this machine, or a path in a bucket, with a table of Delta Lake for each predicate."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.connectors.lake.columns import DATE
from tidelog.connectors.lake.delta.library import deltalake, storage_options, told
from tidelog.connectors.lake.delta.syncing import mend
from tidelog.connectors.lake.delta.table import DeltaLakeTable
from tidelog.connectors.lake.places import LOG, folder_of, is_remote, on_this_machine, predicate_of
from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

_S3 = ("s3://", "s3a://")


@dataclass(frozen=True, slots=True)
class DeltaLake:
    """A place with tables. Plain data: it can be sent elsewhere. `place` is a path, or `s3://BUCKET/PATH`."""

    place: str

    def uri(self, predicate: str) -> str:
        """Where the table of a predicate is."""
        return f"{self.place}/{folder_of(predicate)}"

    def open(self, predicate: str) -> DeltaLakeTable | None:
        """The newest version of a table; None where there is none. ConnectorError where it cannot be read."""
        uri = self.uri(predicate)
        table = open_table(uri)
        return None if table is None else DeltaLakeTable(uri, table)

    def create(
        self,
        predicate: str,
        schema: pa.Schema,
        properties: Mapping[str, str],
        description: str = "maximal intervals of derived facts, by tidelog",
    ) -> None:
        """Make the table of a predicate, unless there is one. ConnectorError where that cannot be."""
        uri = self.uri(predicate)
        with told(f"cannot write the table `{uri}`"):
            deltalake().DeltaTable.create(
                uri,
                schema,
                mode="ignore",
                partition_by=[DATE] if DATE in schema.names else None,
                name=predicate,
                description=description,
                configuration=dict(properties),
                storage_options=storage_options(uri),
                raise_if_key_not_exists=False,
            )

    def mend(self, predicate: str) -> list[str]:
        """Take back what a power failure has torn at the end of a table; what was done, a line each."""
        return mend(self.uri(predicate))

    def predicates(self) -> list[str]:
        """Of which predicates there are tables, in order. ConnectorError where that cannot be seen."""
        with told(f"cannot read the tables in `{self.place}`"):
            if self.place.startswith("s3://"):
                names = self._names_in_bucket()
            elif not os.path.isdir(self.place):
                names = []
            else:
                names = [entry.name for entry in os.scandir(self.place) if os.path.isdir(os.path.join(entry.path, LOG))]
            return sorted(map(predicate_of, names))

    def _names_in_bucket(self) -> list[str]:
        from deltalake.fs import DeltaStorageHandler  # noqa: PLC0415 - as `deltalake()` has loaded it
        from pyarrow import fs  # noqa: PLC0415

        files = fs.PyFileSystem(DeltaStorageHandler(self.place, storage_options(self.place)))
        inside = files.get_file_info(fs.FileSelector("", allow_not_found=True))
        folders = [item.path for item in inside if item.type == fs.FileType.Directory]
        logs = ((name, fs.FileSelector(f"{name}/{LOG}", allow_not_found=True)) for name in folders)
        return [name.strip("/") for name, log in logs if files.get_file_info(log)]


def open_delta_lake(place: str) -> DeltaLake:
    """The tables at a folder of this machine, or at `s3://BUCKET/PATH` (`s3a:` is the same).

    SpecError for other places, and where the library is missing. Nothing is looked at yet.
    """
    deltalake()
    if not is_remote(place):
        return DeltaLake(on_this_machine(place, "tables").rstrip("/"))
    scheme = next((scheme for scheme in _S3 if place.startswith(scheme)), None)
    path = "" if scheme is None else place.removeprefix(scheme).strip("/")
    if not path:
        raise SpecError(f"`{place}`: tables are in a folder of this machine, or at `s3://BUCKET/PATH`")
    return DeltaLake(f"s3://{path}")


def open_table(uri: str) -> DeltaTable | None:
    """The newest version of the table at a path or a URI; None where there is none.

    ConnectorError where it cannot be read.
    """
    library = deltalake()
    with told(f"cannot read the table `{uri}`"):
        if not library.DeltaTable.is_deltatable(uri, storage_options=storage_options(uri)):
            return None
        table: DeltaTable = library.DeltaTable(uri, storage_options=storage_options(uri))
        return table
