"""The library by which tables of Apache Iceberg are read and written, `pyiceberg`: loaded when it is used, its errors in a
line of ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidelog.connectors.lake.tables import Conflict
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

_IO = "py-io-impl"
_LIBRARIES = frozenset({"pyiceberg", "sqlalchemy", "sqlite3", "botocore", "requests", "pyarrow", "thrift", "google"})
"""Whose errors are told in a line: the library's own, and those of what it asks."""
_MOST = 400


def pyiceberg() -> None:
    """SpecError where the library is not installed."""
    try:
        import_module("pyarrow")
        import_module("pyiceberg")
    except ImportError as error:
        raise SpecError(
            f"tables of Iceberg need {error.name}, which is not installed: pip install 'tidelog[iceberg]'"
        ) from None


def catalog(name: str) -> Catalog:
    """The catalog that the library's configuration has under this name: in `.pyiceberg.yaml`, or the environment.

    SpecError where there is none, or it lacks something; ConnectorError where it cannot be asked.
    """
    pyiceberg()
    config: Any = import_module("pyiceberg.utils.config")
    found = config.Config().get_catalog_config(name)
    if not found:
        raise SpecError(
            f"there is no catalog `{name}` of Iceberg: name it in `.pyiceberg.yaml`, or by "
            f"`PYICEBERG_CATALOG__{name.upper().replace('-', '_')}__URI` and its like"
        )
    return _loaded(name, json.dumps(found, sort_keys=True))


@lru_cache(maxsize=16)
def _loaded(name: str, settings: str) -> Catalog:
    load: Any = import_module("pyiceberg.catalog").load_catalog
    properties = json.loads(settings)
    properties.setdefault(_IO, "tidelog.connectors.lake.iceberg.synced.SyncedFileIO")
    with told(f"cannot ask the catalog `{name}` of Iceberg"):
        try:
            found: Catalog = _made(lambda: load(name, **properties))
        except ImportError as error:
            raise SpecError(f"the catalog `{name}` of Iceberg needs {error.name}, which is not installed") from None
        except ValueError as error:
            raise SpecError(f"the catalog `{name}` of Iceberg: {_line(error)}") from None
        return found


def _made(load: Callable[[], Any]) -> Any:
    """A catalog that is there; one in a database is made when it is first asked for, by whoever comes first."""
    try:
        return load()
    except Exception as error:
        if type(error).__name__ not in ("OperationalError", "ProgrammingError", "IntegrityError"):
            raise
        return load()


@contextmanager
def told(doing: str) -> Iterator[None]:
    """What the library raises inside, as a ConnectorError that says what was done (`cannot write …`), or a Conflict."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ in ("CommitFailedException", "ValidationException") or _is_locked(error):
            raise Conflict(f"{doing}: {_line(error)}") from error
        if isinstance(error, OSError) or type(error).__module__.partition(".")[0] in _LIBRARIES:
            raise ConnectorError(f"{doing}: {_line(error)}") from error
        raise


def _is_locked(error: Exception) -> bool:
    """Whether a catalog in SQLite was given up, since others write to it."""
    return type(error).__name__ == "OperationalError" and "database is locked" in str(error)


def _line(error: Exception) -> str:
    line = " ".join(str(error).split()) or type(error).__name__
    return line if len(line) <= _MOST else f"{line[:_MOST]}…"
