"""What a database is asked for, whichever it is; and where it is, by a URL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from tidelog.connectors.transport.secret import Secret
from tidelog.plans.diagnostics.errors import SpecError

ColumnKind = Literal["text", "integer", "number", "boolean", "time"]
"""What a column holds; `time` is a moment of the machine's calendar."""
Parameters = tuple[Any, ...]


class Found(NamedTuple):
    """A table that is there: the types of its columns by their names, and its primary key."""

    columns: dict[str, str]
    key: tuple[str, ...]


class Connection(Protocol):
    """A connection to a database. Its methods block, and raise OSError where it is lost, or the database is busy."""

    def transaction(self) -> AbstractContextManager[object]:
        """All that is done in the `with` block counts at its end, or nothing, where it raises; also within another one."""
        ...

    def lock(self) -> None:
        """Within a transaction: be the only one of tidelog that makes tables, up to its end."""
        ...

    def execute(self, statement: str, parameters: Parameters = ()) -> None: ...

    def execute_all(self, statement: str, rows: Sequence[Parameters]) -> None:
        """One statement for each of these. Refused where the database will never take one of them."""
        ...

    def rows(self, statement: str, parameters: Parameters = ()) -> Iterator[tuple[Any, ...]]: ...

    def table(self, name: str) -> Found | None:
        """What a table is like; None where there is none."""
        ...

    def stop(self) -> None:
        """Let what another thread waits for here fail at once. It does not wait itself."""
        ...

    def close(self) -> None: ...


class Refused(Exception):
    """The database will never take these rows, or one of them; the message says why."""


class Database(Protocol):
    """A kind of database, and where one is."""

    place: str
    """Where it is, without what is secret."""
    mark: str
    """What stands for a parameter in a statement."""
    types: Mapping[ColumnKind, str]
    """The type of a column of each kind."""
    holds_nul: bool
    """Whether a text may have a NUL character."""

    def connect(self) -> Connection:
        """Connect; OSError where that fails."""
        ...

    def same_type(self, found: str, wanted: str) -> bool:
        """Whether a column that has the one type takes what the other one does."""
        ...


_SQLITE = re.compile(r"sqlite:(?!//)(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Address:
    """A URL taken apart: a file, or a server's URL."""

    path: str = ""
    url: str = ""

    @classmethod
    def parse(cls, url: str) -> Address:
        """SpecError for what is neither; it never shows a password that stands in there."""
        expected = "`url` is `sqlite:PATH`, or `postgresql://USER@HOST:PORT/DATABASE`"
        if found := _SQLITE.fullmatch(url):
            return cls(path=found[1])
        try:
            parts = urlsplit(url)
            has_password = parts.password is not None
        except ValueError:
            raise SpecError(expected) from None
        if has_password or "password=" in parts.query:
            raise SpecError("`url` holds a password: say `password`, so that no secret stands in the file")
        if parts.scheme not in ("postgresql", "postgres") or len(parts.path) < 2:
            raise SpecError(f"{expected}, got `{url}`")
        return cls(url=url)


def database(url: str, *, password: Secret | None = None, folder: Path = Path()) -> Database:
    """The database at a URL, not connected; SpecError for what is no such URL.

    ModuleNotFoundError where the library that it needs is not installed. A relative path begins at `folder`.
    """
    address = Address.parse(url)
    if address.path:
        if password is not None:
            raise SpecError("`password` is for a server, and SQLite has none: leave it away")
        from tidelog.connectors.databases.sql.sqlite import SqliteDatabase  # noqa: PLC0415 - only who uses it loads it

        return SqliteDatabase(folder / address.path)
    from tidelog.connectors.databases.sql.postgres import PostgresDatabase  # noqa: PLC0415 - only who uses it needs psycopg

    return PostgresDatabase(address.url, password, folder)
