"""SQLite, by the library that comes with Python."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from tidelog.connectors.databases.sql.database import ColumnKind, Found, Parameters, Refused

BUSY_SECONDS = 2.0
"""How long another process may have the database for itself before it counts as away."""
_AWAY = (sqlite3.OperationalError, sqlite3.InternalError, sqlite3.NotSupportedError)
_POISON = (sqlite3.DataError, sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, OverflowError)
_TOO_BIG = re.compile("too big")


_TYPES: Final[Mapping[ColumnKind, str]] = {
    "text": "TEXT",
    "integer": "INTEGER",
    "number": "REAL",
    "boolean": "BOOLEAN",
    "time": "TEXT",
}


class SqliteDatabase:
    """A file; it is made where it is not there, its folder is not."""

    mark = "?"
    holds_nul = True

    def __init__(self, path: Path) -> None:
        self.place, self._path, self.types = str(path), path, _TYPES

    def connect(self) -> SqliteConnection:
        """Open the file; OSError where that fails."""
        with _told(self.place):
            connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchone()  # so that others read while it is written
                connection.execute("PRAGMA synchronous = FULL")  # what is told to be stored is on the disk
            except BaseException:
                connection.close()
                raise
            return SqliteConnection(connection, self.place)

    def same_type(self, found: str, wanted: str) -> bool:
        """SQLite keeps types by their names."""
        return found.upper() == wanted


class SqliteConnection:
    """A connection to a file."""

    def __init__(self, connection: sqlite3.Connection, place: str) -> None:
        self._connection, self._place = connection, place
        self._depth = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction, or a savepoint within it."""
        inner = self._depth > 0
        with _told(self._place):
            self._connection.execute("SAVEPOINT inner_part" if inner else "BEGIN IMMEDIATE")
        self._depth += 1
        try:
            yield
            with _told(self._place):
                self._connection.execute("RELEASE inner_part" if inner else "COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # some errors have rolled it back already
                if inner:
                    self._connection.execute("ROLLBACK TO inner_part")
                    self._connection.execute("RELEASE inner_part")
                else:
                    self._connection.execute("ROLLBACK")
            raise
        finally:
            self._depth -= 1

    def lock(self) -> None:
        """A transaction is the only one that writes, from its beginning."""

    def execute(self, statement: str, parameters: Parameters = ()) -> None:
        with _told(self._place):
            self._connection.execute(statement, parameters)

    def execute_all(self, statement: str, rows: Sequence[Parameters]) -> None:
        with _told(self._place):
            self._connection.executemany(statement, rows)

    def rows(self, statement: str, parameters: Parameters = ()) -> Iterator[tuple[Any, ...]]:
        with _told(self._place):
            yield from self._connection.execute(statement, parameters)

    def table(self, name: str) -> Found | None:
        with _told(self._place):
            rows = list(self._connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (name,)))
        if not rows:
            return None
        key = sorted((place, column) for column, _, place in rows if place)
        return Found({column: kind for column, kind, _ in rows}, tuple(column for _, column in key))

    def stop(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # it is closed
            self._connection.interrupt()

    def close(self) -> None:
        self._connection.close()


@contextmanager
def _told(place: str) -> Iterator[None]:
    """Errors of the library as those that a connector has."""
    try:
        yield
    except _AWAY as error:
        if _TOO_BIG.search(str(error)):
            raise Refused(str(error)) from error
        raise ConnectionError(f"{place}: {error}") from error
    except (*_POISON, UnicodeEncodeError) as error:
        raise Refused(" ".join(str(error).split())) from error
    except sqlite3.DatabaseError as error:  # no database at all, or a damaged one
        raise ConnectionError(f"{place}: {error}") from error
