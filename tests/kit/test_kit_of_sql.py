"""SQL has what the kit asks, in SQLite and in PostgreSQL behind a wire that can be cut."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import psycopg
import pytest

from databases import Postgres, postgres
from tidelog.connectors import JsonEncoder
from tidelog.connectors.databases.sql.database import database
from tidelog.connectors.databases.sql.sink import SqlSink
from tidelog.connectors.databases.sql.tables import tables_of
from tidelog.testing.connectors import PLAN, POISON, Arrival, SinkBench, SinkKit, alarm
from wires import Wire

_numbers = itertools.count(1)


def sink_to(url: str, folder: Path, prefix: str) -> SqlSink:
    """A sink for the kit's program."""
    there = database(url, folder=folder)
    tables = tables_of(PLAN.schema, ["alarm"], there, prefix=prefix)
    return SqlSink(there, tables, JsonEncoder(PLAN.schema), name="history", key=prefix)


class SqliteBench(SinkBench):
    """A file that somebody else may lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._other: sqlite3.Connection | None = None

    def open(self) -> SqlSink:
        return sink_to("sqlite:answers.db", self._folder, "kit")

    def arrived(self) -> Sequence[Arrival]:
        with closing(sqlite3.connect(self._folder / "answers.db")) as connection:
            try:
                return [Arrival(int(n)) for (n,) in connection.execute("SELECT n FROM kitalarm ORDER BY rowid")]
            except sqlite3.OperationalError:
                return []


class TestSqlite(SinkKit):
    """A file: it is always there. That others lock it is in `tests/sql`."""

    cannot: ClassVar = {
        "a_repeat_has_the_same_id": "a file has nobody behind it who could go away",
        "it_goes_on_when_the_other_side_comes_back": "likewise",
        "it_may_be_left_while_the_other_side_is_away": "likewise",
    }

    @pytest.fixture
    def bench(self, tmp_path: Path) -> SinkBench:
        return SqliteBench(tmp_path)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server that all tests of this module share: each has tables of its own."""
    with postgres() as running:
        yield running


class PostgresBench(SinkBench):
    """A server behind a wire."""

    poison = alarm(POISON, "half\0")

    def __init__(self, server: Postgres, wire: Wire) -> None:
        self._server, self._wire, self._prefix = server, wire, f"kit{next(_numbers)}_"
        self._reader = psycopg.connect(server.url, autocommit=True)

    def open(self) -> SqlSink:
        return sink_to(f"postgresql://tidelog@127.0.0.1:{self._wire.port}/postgres", Path(), self._prefix)

    def arrived(self) -> Sequence[Arrival]:
        try:
            table = f"{self._prefix}alarm"
            found = self._reader.execute(f"SELECT n FROM {table} ORDER BY xmin::text::bigint, ctid".encode())  # noqa: S608 - a name of this test
            return [Arrival(int(n)) for (n,) in found]
        except psycopg.errors.UndefinedTable:
            return []

    def deafen(self) -> None:
        self._wire.deafen(behind=b"COMMIT")

    def leave(self) -> None:
        self._wire.leave()

    def come_back(self) -> None:
        self._wire.come_back()

    def close(self) -> None:
        self._reader.close()


class TestPostgres(SinkKit):
    """All that the kit asks."""

    @pytest.fixture
    def bench(self, server: Postgres) -> Iterator[SinkBench]:
        with Wire(server.folder / ".s.PGSQL.5432") as wire:
            bench = PostgresBench(server, wire)
            yield bench
            bench.close()
