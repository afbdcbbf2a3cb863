"""PostgreSQL. Nothing else loads psycopg.

Its connection that blocks is used, in threads: the other one needs asyncio's event loop.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg

from tidelog.connectors.databases.sql.database import ColumnKind, Found, Parameters, Refused
from tidelog.connectors.transport.secret import Secret

CONNECT_SECONDS = 10
"""How long one waits for a server, and for one that has fallen silent."""
_LOCK = 0x7469_6465_6C6F_67
"""The number under which those who make tables lock each other out: the name of tidelog."""
_POISON = ("22", "23", "54")
"""The classes of errors of which the row is the cause: data, constraints, and limits of the program."""
_COLUMNS = (
    "SELECT a.attname, format_type(a.atttypid, NULL) FROM pg_attribute a "
    "WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)
_KEY = (
    "SELECT a.attname FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(number, place) "
    "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number "
    "WHERE i.indrelid = to_regclass(%s) AND i.indisprimary ORDER BY k.place"
)


_TYPES: Final[Mapping[ColumnKind, str]] = {
    "text": "text",
    "integer": "bigint",
    "number": "double precision",
    "boolean": "boolean",
    "time": "timestamp with time zone",
}


class PostgresDatabase:
    """A database of a server."""

    mark = "%s"
    holds_nul = False

    def __init__(self, url: str, password: Secret | None, folder: Path) -> None:
        self._url, self._password, self._folder = url, password, folder
        self.types = _TYPES
        parts = urlsplit(url)
        self.place = f"{parts.hostname or 'the local server'}{parts.path}"

    def connect(self) -> PostgresConnection:
        """Connect; OSError where that fails."""
        with _told(self.place):
            connection = psycopg.connect(
                self._url,
                password=None if self._password is None else self._password.reveal(self._folder),
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                tcp_user_timeout=CONNECT_SECONDS * 1000,
                application_name="tidelog",
                options=f"-c timezone=UTC -c lock_timeout={CONNECT_SECONDS}s",
            )
        return PostgresConnection(connection, self.place)

    def same_type(self, found: str, wanted: str) -> bool:
        """Text of any length is text."""
        return found == wanted or (wanted == "text" and found == "character varying")


class PostgresConnection:
    """A connection to a server."""

    def __init__(self, connection: psycopg.Connection[Any], place: str) -> None:
        self._connection, self._place = connection, place

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction, or a savepoint within it."""
        with _told(self._place), self._begun():
            yield

    def _begun(self) -> AbstractContextManager[object]:
        return self._connection.transaction()

    def lock(self) -> None:
        self.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))

    def execute(self, statement: str, parameters: Parameters = ()) -> None:
        with _told(self._place):
            self._connection.execute(statement.encode(), parameters or None)

    def execute_all(self, statement: str, rows: Sequence[Parameters]) -> None:
        with _told(self._place), self._connection.cursor() as cursor:
            cursor.executemany(statement.encode(), rows)

    def rows(self, statement: str, parameters: Parameters = ()) -> Iterator[tuple[Any, ...]]:
        with _told(self._place):
            yield from self._connection.execute(statement.encode(), parameters or None)

    def table(self, name: str) -> Found | None:
        quoted = '"' + name.replace('"', '""') + '"'
        columns = dict(self.rows(_COLUMNS, (quoted,)))
        return Found(columns, tuple(row[0] for row in self.rows(_KEY, (quoted,)))) if columns else None

    def stop(self) -> None:
        """A server that has fallen silent keeps nobody waiting."""
        with suppress(OSError, psycopg.Error):  # it is closed
            end = socket.socket(fileno=os.dup(self._connection.fileno()))
            with end:
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._connection.close()


@contextmanager
def _told(place: str) -> Iterator[None]:
    """Errors of the library as those that a connector has."""
    try:
        yield
    except psycopg.Error as error:
        state = error.sqlstate or ""
        said = " ".join(str(error).split())
        if state[:2] in _POISON or (not state and isinstance(error, psycopg.DataError)):
            raise Refused(said) from error
        raise ConnectionError(f"{place}: {said}") from error
