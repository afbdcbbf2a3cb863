"""The tables of outputs: made, or compared with what is there; what a row holds, and how it changes."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from databases import Postgres, postgres
from tidelog.connectors import JsonEncoder
from tidelog.connectors.databases.sql.database import Address, database
from tidelog.connectors.databases.sql.sink import SqlSink
from tidelog.connectors.databases.sql.tables import tables_of
from tidelog.gateway.backgrounds import fetch
from tidelog.gateway.file.settings import BackgroundSettings
from tidelog.plans.data.changes import ChangeRecord, RetractedChange
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.durability import Heading
from tidelog.runtime.ports.interfaces import Rejected

SECONDS = tidelog.compile(
    "timeline integer, unit 1 s. input r(m: text, n: integer, c: number, b: boolean). output hot(m, n, c, b). "
    "hot(M, N, C, B) :- r(M, N, C, B)."
)
PLAIN = tidelog.compile("timeline integer. input r(n: integer). output p(n). output q. p(N) :- r(N). q :- r(_).")


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running:
        yield running


def sink_to(url: str, plan: Plan, folder: Path, *, prefix: str = "", iso: bool = False) -> SqlSink:
    """A sink for all outputs of a program."""
    there = database(url, folder=folder)
    tables = tables_of(plan.schema, plan.told, there, prefix=prefix, iso=iso)
    return SqlSink(there, tables, JsonEncoder(plan.schema), name="history", key="history")


def write(sink: SqlSink, *groups: Sequence[Any], run: str = "", first: int = 1) -> list[Rejected]:
    """Let a sink have groups of answers; returns its dead letters."""
    letters: list[Rejected] = []

    async def take(found: Sequence[Rejected]) -> None:
        await anyio.lowlevel.checkpoint()
        letters.extend(found)

    async def send() -> None:
        sink.give_up_to(take)
        number = first
        async with sink:
            for answers in groups:
                if run:
                    sink.number(Heading(run, number, 0))
                    number += len(answers)
                await sink.send(answers)

    anyio.run(send, backend="trio")
    return letters


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "a.db")) as connection:
        return connection.execute(query).fetchall()


def begun(name: str, at: int) -> ChangeRecord:
    return ChangeRecord("hot", (name, 1, 2.5, "true"), at, POS)


@pytest.mark.parametrize("iso", [True, False])
def test_a_row_is_ended_where_it_began(tmp_path: Path, *, iso: bool) -> None:
    """Times are those of the calendar, or the program's numbers; truth values are such; an end that is unknown is NULL."""
    ended = begun("a", 1)._replace(hi=7)
    write(sink_to("sqlite:a.db", SECONDS, tmp_path, iso=iso), [begun("a", 1), begun("b", 2)], [ended, begun("c", NEG)])
    found = rows(tmp_path, "SELECT * FROM hot ORDER BY m")
    times = ["1970-01-01T00:00:01Z", "1970-01-01T00:00:07Z", "1970-01-01T00:00:02Z", "-infinity"]
    one, seven, two, never = times if iso else [1, 7, 2, -(1 << 63)]
    assert found == [("a", 1, 2.5, 1, one, seven), ("b", 1, 2.5, 1, two, None), ("c", 1, 2.5, 1, never, None)]


def test_an_output_without_arguments_has_its_times_alone(tmp_path: Path) -> None:
    """The key is when it begins."""
    write(sink_to("sqlite:a.db", PLAIN, tmp_path), [("q", (), 1, 2), ("q", (), 5, 5), ("p", (3,), 1, 2)])
    assert rows(tmp_path, "SELECT begins, ends FROM q") == [(1, 2), (5, 5)]
    assert rows(tmp_path, "SELECT n, begins, ends FROM p") == [(3, 1, 2)]


def test_what_postgresql_holds(server: Postgres, tmp_path: Path) -> None:
    """Columns of its own types; what it does not take is a dead letter, and the others are written."""
    nul, wide, long = begun("a\0b", 1), ChangeRecord("hot", ("w", 1 << 64, 1, "false"), 1, POS), begun("x", 10**30)
    keys = begun("".join(map(chr, range(0x4E00, 0x4E00 + 5_000))), 1)
    letters = write(
        sink_to(server.url, SECONDS, tmp_path, iso=True),
        [begun("a", 1), nul, begun("b", NEG), wide, keys, long, begun("c", 3)],
    )
    found = server.query("SELECT m, n, c, b, begins::text, ends FROM hot ORDER BY m")
    assert found == [
        ("a", 1, 2.5, True, "1970-01-01 00:00:01+00", None),
        ("b", 1, 2.5, True, "-infinity", None),
        ("c", 1, 2.5, True, "1970-01-01 00:00:03+00", None),
    ]
    assert [letter.reason.partition(":")[0] for letter in letters] == [
        "`m` has a NUL character, which PostgreSQL does not hold",
        "`n` is beyond 64 bit",
        "the database refuses it",
        "the database refuses it",
    ]


def test_postgresql_has_facts_of_its_types(server: Postgres, tmp_path: Path) -> None:
    """Exact numbers, truth values, and a per cent sign in a pattern."""
    query = "SELECT 'a%', 2.50::numeric, 7::bigint, true, 1.5::float8 WHERE 'press' LIKE '%ess'"
    assert fetch(BackgroundSettings(file="f.jsonl", predicate="p", url=server.url, query=query), tmp_path)
    assert (tmp_path / "f.jsonl").read_text() == '{"predicate":"p","args":["a%",2.5,7,"true",1.5]}\n'


COLUMNS = "n INTEGER, c REAL, b BOOLEAN, begins TEXT, ends TEXT"
OTHERS = {
    "m TEXT, n INTEGER, b BOOLEAN, begins TEXT, ends TEXT": "table `hot` has no column `c`, which is to be REAL",
    f"m INTEGER, {COLUMNS}": "table `hot` has a column `m` of type INTEGER, expected TEXT",
    f"m TEXT, {COLUMNS}": "table `hot` has the primary key (), expected (m, n, c, b, begins)",
}


@pytest.mark.parametrize(("columns", "reason"), OTHERS.items())
def test_a_table_of_others_is_refused_by_name(tmp_path: Path, columns: str, reason: str) -> None:
    """It stays as it is; with a prefix the sink has tables of its own beside it."""
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute(f"CREATE TABLE hot ({columns})")
    with pytest.raises(ConnectorError) as caught:
        write(sink_to("sqlite:a.db", SECONDS, tmp_path, iso=True), [begun("a", 1)])
    assert reason in str(caught.value) and "give the sink a `prefix`" in str(caught.value)
    write(sink_to("sqlite:a.db", SECONDS, tmp_path, iso=True, prefix="mine_"), [begun("a", 1)])
    assert rows(tmp_path, "SELECT m FROM mine_hot") == [("a",)]


def test_a_table_may_have_more_columns(tmp_path: Path) -> None:
    """Somebody adds one for himself: it is left alone."""
    write(sink_to("sqlite:a.db", PLAIN, tmp_path), [("p", (3,), 1, 2)])
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("ALTER TABLE p ADD COLUMN remark TEXT DEFAULT 'none'")
    write(sink_to("sqlite:a.db", PLAIN, tmp_path), [("p", (3,), 1, 5)])
    assert rows(tmp_path, "SELECT n, begins, ends, remark FROM p") == [(3, 1, 5, "none")]


def test_names_that_a_table_cannot_have_are_refused(tmp_path: Path) -> None:
    """Before anything is opened."""
    taken = tidelog.compile("timeline integer. input r(n). output p(begins). p(N) :- r(N).")
    with pytest.raises(SpecError, match="`p` has an argument `begins`, and its table has a column of that name"):
        sink_to("sqlite:a.db", taken, tmp_path)
    alike = tidelog.compile("timeline integer. input r(n). output tidelog_delivery. tidelog_delivery(N) :- r(N).")
    with pytest.raises(SpecError, match="have one name"):
        sink_to("sqlite:a.db", alike, tmp_path)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mysql://h/d", "got `mysql://h/d`"),
        ("sqlite://a.db", "`url` is `sqlite:PATH`"),
        ("postgresql://h", "postgresql://USER@HOST:PORT/DATABASE"),
        ("postgresql://me:hunter2@h/d", "say `password`"),
        ("postgresql://h/d?password=hunter2", "say `password`"),
    ],
)
def test_a_url_says_where(url: str, reason: str) -> None:
    """Without a secret, which no message shows."""
    with pytest.raises(SpecError) as caught:
        Address.parse(url)
    assert reason in str(caught.value) and "hunter2" not in str(caught.value)


def test_a_database_that_was_put_back_is_told(tmp_path: Path) -> None:
    """An older copy lacks answers that count as written: nobody goes on without saying so."""
    write(sink_to("sqlite:a.db", PLAIN, tmp_path), [("p", (i,), i, i) for i in range(5)], run="run1")
    sink = sink_to("sqlite:a.db", PLAIN, tmp_path)
    sink.resume("run1", 9, {})
    with pytest.raises(ConnectorError, match="holds answers of `history` up to 5, and 9 were written: is it an older copy"):
        write(sink, [("p", (10,), 10, 10)], run="run1", first=10)
    other = sink_to("sqlite:a.db", PLAIN, tmp_path)
    other.resume("run2", 9, {})
    write(other, [("p", (10,), 10, 10)], run="run2", first=10)
    assert rows(tmp_path, "SELECT run, last FROM tidelog_delivery") == [("run2", 10)]


@given(st.data())
def test_drawn_changes_with_repeats_are_as_a_dictionary_has_them(data: st.DataObject) -> None:
    """However they are grouped, and wherever a run is killed and gives its last answers again."""
    kinds = st.sampled_from([ChangeRecord, RetractedChange])
    drawn = st.builds(
        lambda kind, n, lo, hi: kind("p", (n,), lo, hi),
        kinds,
        st.integers(0, 2),
        st.integers(0, 2),
        st.sampled_from([3, 4, POS]),
    )
    changes = data.draw(st.lists(drawn, max_size=12))
    expected: dict[tuple[int, int], int | None] = {}
    for change in changes:
        place = (change.row[0], change.lo)
        if isinstance(change, RetractedChange) and change.hi >= POS:
            expected.pop(place, None)  # type: ignore[arg-type]
        else:
            is_open = change.hi >= POS or isinstance(change, RetractedChange)
            expected[place] = None if is_open else change.hi  # type: ignore[index]
    with tempfile.TemporaryDirectory() as name:
        at = 0
        while True:
            again = data.draw(st.integers(0, at)) if at else 0  # what was not confirmed comes once more
            upto = data.draw(st.integers(at, len(changes)))
            sink = sink_to("sqlite:a.db", PLAIN, Path(name))
            sink.resume("run1", again, {})
            write(sink, changes[again:upto], run="run1", first=again + 1)
            at = upto
            if at == len(changes):
                break
        found = {(n, begins): ends for n, begins, ends in rows(Path(name), "SELECT n, begins, ends FROM p")}
    assert found == expected
