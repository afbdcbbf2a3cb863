"""Answers as Arrow tables: real timestamps, exact ends, and the same facts when they are read again."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog.plans.diagnostics.errors import DataError

INPUTS = "input temp(sensor: text, value: number). "


def test_a_session_gives_one_table_for_each_output() -> None:
    """An output without answers has a table, too; columns are the fields, or numbered where there are none."""
    plan = tidelog.compile(
        f"timeline integer, unit 1 s. {INPUTS} output temp, hot, cold. "
        "hot(S, V) :- temp(S, V), V > 80. cold(S) :- temp(S, V), V < 0."
    )
    session = tidelog.Session(plan)
    session.push("temp", ["s1", 85.5], time="2024-07-01T10:00:00Z")
    tables = session.pull_frames()
    time = datetime(2024, 7, 1, 10, tzinfo=UTC)
    row = {"from": time, "to": time, "from_open": False, "to_open": False}
    assert {name: table.to_pylist() for name, table in tables.items()} == {
        "temp": [{"sensor": "s1", "value": 85.5, **row}],
        "hot": [{"x1": "s1", "x2": 85.5, **row}],
        "cold": [],
    }
    assert tables["cold"].schema.field("from").type == pa.timestamp("us", "UTC")
    assert all(table.num_rows == 0 for table in session.pull_frames().values())


@pytest.mark.parametrize(
    ("timeline", "type_", "times"),
    [
        ("timeline integer", pa.int64(), [1, 5]),
        ("timeline rational", pa.float64(), [1.0, 5.5]),
        ("timeline integer, unit 1 min", pa.timestamp("us", "UTC"), [60, 300]),
        ("timeline rational, unit 1 s, resolution 1e-9", pa.timestamp("ns", "UTC"), [1, 5.5]),
    ],
)
def test_times_have_the_type_of_their_timeline(timeline: str, type_: pa.DataType, times: list[float]) -> None:
    """Timestamps where a unit is declared, as fine as the program; else whole numbers, or floats."""
    plan = tidelog.compile(f"{timeline}. p(X) :- q(X).")
    session = tidelog.Session(plan)
    session.push("q", ["a"], interval="[1,5]" if plan.timeline.is_integer else "[1,11/2]")
    table = session.pull_frames()["p"]
    assert table.schema.field("to").type == type_
    found = [table[name][0].as_py() for name in ("from", "to")]
    assert [time.timestamp() if hasattr(time, "timestamp") else time for time in found] == times


def test_mixed_columns_are_text() -> None:
    """A column of texts and numbers that no declaration tells apart is text; one of numbers alone is not."""
    session = tidelog.Session(tidelog.compile("p(X, Y) :- q(X, Y)."))
    for row in (["a", 1], [2.5, 2]):
        session.push("q", row, time=1)
    table = session.pull_frames()["p"]
    assert (table["x1"].to_pylist(), table["x2"].to_pylist()) == (["a", "2.5"], [1, 2])


ENDS = st.tuples(st.integers(-20, 20), st.integers(1, 20), st.booleans(), st.booleans())


@drawn(60)
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([1, 2.5]), ENDS), max_size=6), st.booleans())
def test_tables_are_read_again_as_they_were(
    facts: list[tuple[str, float, tuple[int, int, bool, bool]]], has_unit: bool
) -> None:
    """What is given as tables is the same facts when it is read: open ends, endless intervals, halves of a second."""
    plan = tidelog.compile_batch(
        f"timeline rational{', unit 1 s' if has_unit else ''}. {INPUTS} hot(S) :- temp(S, V), V > 2."
    )
    done = tidelog.Materialisation(plan)
    for sensor, value, (begin, length, left, right) in facts:
        low = "-inf" if begin == -20 else f"{begin}/2"
        high = "inf" if length == 20 else f"{begin + length}/2"
        interval = f"{'(' if left else '['}{low},{high}{')' if right else ']'}"
        done.load([plan.record("temp", [sensor, value], interval=interval)])
    done.run()
    tables = done.frames()
    again = [record for name, table in tables.items() for record in tidelog.read_frame(plan, name, table)]
    assert sorted(again) == sorted(done.facts())


def test_what_repeats_for_ever_wants_a_range() -> None:
    """No table holds what has no end: without a range that is an error, with one it is what holds in it."""
    plan = tidelog.compile_batch("timeline integer. boxplus[7,7] due(B) :- due(B).")
    done = tidelog.materialise(plan, {"due": {"bill": ["b1"], "time": [0]}})
    with pytest.raises(DataError, match="repeats for ever, and fits no table: say between which times"):
        done.frames()
    assert done.frames(between=(10, 30))["due"]["from"].to_pylist() == [14, 21, 28]


def test_materialise_is_as_fine_as_its_facts() -> None:
    """On a rational timeline without a declared resolution, facts of any frame may be finer than it."""
    plan = tidelog.compile_batch(f"{INPUTS} input door(room). open(R) :- door(R), diamondminus[0,1] temp(_, _).")
    temp = {"sensor": ["s1"], "value": [85], "time": ["1/3"]}
    done = tidelog.materialise(plan, {"temp": temp, "door": pa.table({"room": ["r"], "time": [1.0000001]}).to_reader()})
    assert sorted(str(done.plan.answer(record)) for record in done.facts() if record[0] != "temp") == [
        "door(r)@10000001/10000000",
        "open(r)@10000001/10000000",
    ]
    with pytest.raises(TypeError, match="batch reasoning takes a plan of `compile_batch`"):
        tidelog.materialise(tidelog.compile(INPUTS + "p(S) :- temp(S, _)."), {})  # type: ignore[arg-type]


def test_changes_have_no_end_until_they_have() -> None:
    """With `changes`, an interval that has only begun has a null in `to`."""
    session = tidelog.Session(tidelog.compile("timeline integer. p(X) :- q(X)."), emit="changes")
    session.push("q", ["a"], interval="[1,5]")
    session.advance(3)
    begun = session.pull_frames()["p"].to_pylist()
    session.finish()
    ended = session.pull_frames()["p"].to_pylist()
    assert [(row["from"], row["to"]) for row in begun + ended] == [(1, None), (1, 5)]


@pytest.mark.parametrize(
    ("arguments", "times"),
    [
        ("from: text, to: text", ["from_", "to_", "from_open_", "to_open_"]),
        ("to_open: text, x", ["from_", "to_", "from_open_", "to_open_"]),
        ("from: text, to_: text", ["from__", "to__", "from_open__", "to_open__"]),
        ("since, till", ["from", "to", "from_open", "to_open"]),
    ],
)
def test_no_two_columns_have_one_name(arguments: str, times: list[str]) -> None:
    """An argument may be called as a column of times is: the four are called otherwise then, with and without answers."""
    session = tidelog.Session(
        tidelog.compile(f"timeline integer. input hop(a, b). output trip({arguments}). trip(X, Y) :- hop(X, Y).")
    )
    session.push("hop", ["a", "b"], 3)
    session.finish()
    for expected in ([("a", "b", 3, 3)], []):
        table = session.pull_frames()["trip"]
        names = [argument.partition(":")[0] for argument in arguments.split(", ")]
        assert table.column_names == [*names, *times]
        assert [tuple(row.values())[:4] for row in table.to_pylist()] == expected
