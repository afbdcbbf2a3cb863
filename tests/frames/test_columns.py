"""Columns of facts say what facts row by row say, of every table that can be read, and refuse the same rows."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog.plans.data.facts import Schema
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.frames.columns import ColumnReader, Pool
from tidelog.runtime.frames.exact import StoredFacts
from tidelog.runtime.frames.layout import layout_of
from tidelog.runtime.frames.reading import FrameReader

TIMELINES = [
    "timeline integer. ",
    "timeline integer, unit 1 s. ",
    "timeline integer, unit 1 min. ",
    "timeline integer, unit 1 s, round down. ",
    "timeline integer, unit 1 s, round nearest. ",
    "timeline integer, unit 1 ms, round up. ",
    "timeline rational, unit 1 s, resolution 1 ms. ",
    "timeline rational, unit 1 s, resolution 10 ms. ",
    "timeline rational, resolution 1/3. ",
    "timeline rational, resolution 2. ",
]
DECLARED = ["any", "text", "number", "integer", "boolean"]
BIG = [(1 << 53) - 1, 1 << 53, -(1 << 53), (1 << 62) + 1, (1 << 63) - 1, -(1 << 63)]
WORDS = ["a", "b", "true", "false", "", "7", '"7"', "[", "ü", "true"]


def plan_of(timeline: str, declared: list[str] | None) -> tidelog.Plan:
    """A program whose input `p` has two fields of these types; None leaves them undeclared."""
    given = "" if declared is None else f"input p(x: {declared[0]}, y: {declared[1]}). "
    return tidelog.compile(f"{timeline}{given}q(X) :- p(X, Y).")


def with_nulls(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, values, values, st.none())


def fit(values: st.SearchStrategy[Any], kind: pa.DataType) -> Callable[[int], st.SearchStrategy[pa.Array]]:
    """Arrays of this type, of so many values."""
    return lambda size: st.lists(with_nulls(values), min_size=size, max_size=size).map(lambda given: pa.array(given, kind))


def whole(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    small = st.integers(max(least, -9), 9)
    return st.one_of(small, small, st.integers(least, most), st.sampled_from([n for n in (0, *BIG) if least <= n <= most]))


FLOATS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 2.5, -3.25, 1e15, 2.0**53, 1e17, 1e30, float("nan"), float("inf"), float("-inf")]),
    st.floats(-100, 100).map(lambda number: round(number, 2)),
    st.floats(),
)
TEXTS = st.one_of(st.sampled_from(WORDS), st.text(max_size=3))
BYTES = st.one_of(st.sampled_from([b"a", b"\xff", b"true"]), st.binary(max_size=3))
DECIMALS = st.decimals(-(10**6), 10**6, places=2)
COMMON: list[Callable[[int], st.SearchStrategy[pa.Array]]] = [
    fit(whole(8), pa.int8()),
    fit(whole(32), pa.int32()),
    fit(whole(64), pa.int64()),
    fit(whole(64, signed=False), pa.uint64()),
    fit(FLOATS, pa.float64()),
    fit(st.floats(width=32), pa.float32()),
    fit(DECIMALS, pa.decimal128(12, 2)),
    fit(st.none(), pa.null()),
]
VALUES = [
    *COMMON,
    fit(TEXTS, pa.string()),
    fit(TEXTS, pa.large_string()),
    fit(st.booleans(), pa.bool_()),
    lambda size: fit(BYTES, pa.binary())(size).map(lambda array: array.view(pa.string())),
]
SECONDS = st.one_of(st.integers(-5, 5), st.integers(-(10**9), 10**10), st.integers(-(1 << 63), (1 << 63) - 1))
TIME_TEXTS = st.sampled_from(["1", "2.5", "1/3", "-inf", "inf", "2024-07-01T12:00:00.25Z", "soon", "", " 7 ", "5 min"])


def stamps(unit: str, coarse: int) -> Callable[[int], st.SearchStrategy[pa.Array]]:
    """Timestamps, most of them whole seconds."""
    times = st.one_of(SECONDS, st.integers(-(10**4), 10**4).map(lambda second: second * coarse))
    return (
        fit(times, pa.int64())
        if not unit
        else lambda size: fit(times, pa.int64())(size).map(lambda array: array.cast(pa.timestamp(unit, "UTC")))
    )


TIMES = [
    *COMMON,
    stamps("s", 1),
    stamps("ms", 10**3),
    stamps("us", 10**6),
    stamps("ns", 10**9),
    lambda size: fit(st.integers(-(10**6), 10**6), pa.int32())(size).map(lambda array: array.cast(pa.date32())),
    lambda size: fit(st.integers(-(10**4), 10**4), pa.int32())(size).map(
        lambda array: array.cast(pa.date32()).cast(pa.date64())
    ),
    fit(TIME_TEXTS, pa.string()),
]
SMALL_TIMES = [fit(st.integers(-3, 6), pa.int64()), fit(st.sampled_from([-1.0, 2.0, 2.5, float("inf")]), pa.float64())]
OPENS = [fit(st.booleans(), pa.bool_()), fit(st.integers(0, 1), pa.int8())]


@st.composite
def columns(draw: st.DrawFn, kinds: list[Any], size: int) -> Any:
    """A column of one of these types: plain, in a dictionary, in runs, or in chunks."""
    array = draw(draw(st.sampled_from(kinds))(size))
    form = draw(st.sampled_from(["plain", "plain", "dictionary", "runs", "chunks", "slice"]))
    if form == "dictionary" and not pa.types.is_null(array.type):
        return array.dictionary_encode()
    if form == "runs" and not pa.types.is_null(array.type) and not pa.types.is_decimal(array.type):
        return pa.compute.run_end_encode(array)
    if form == "chunks":
        cut = draw(st.integers(0, size))
        return pa.chunked_array([array.slice(0, cut), array.slice(cut)])
    return pa.concat_arrays([array, array]).slice(size) if form == "slice" else array


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Tables with two arguments, and a time or an interval."""
    size = draw(st.integers(0, 5))
    found = {name: draw(columns(VALUES, size)) for name in ("x", "y")}
    form = draw(st.sampled_from(["time", "time", "bounds", "opens"]))
    if form == "time":
        return pa.table(found | {"time": draw(columns(TIMES, size))})
    kinds = [*SMALL_TIMES, *SMALL_TIMES, *TIMES]
    found |= {name: draw(columns(kinds, size)) for name in ("from", "to")}
    if form == "opens":
        found |= {name: draw(columns(OPENS, size)) for name in ("from_open", "to_open")}
    return pa.table(found)


def assert_alike(schema: Schema, table: Any) -> None:
    """Both readers give the same facts, of the same rows, and the same refusals."""
    try:
        layout = layout_of(table.schema, "p", schema)
    except DataError:
        return
    numbers = range(17, 17 + table.num_rows)
    expected = FrameReader(schema, "p", layout).read(table, "t", numbers)
    pool = Pool()
    found = ColumnReader(schema, "p", layout, pool).read(table, "t", numbers)
    assert found.rejected == expected.rejected
    facts = found.rows.facts(pool)
    assert facts == [record[1:] for record in expected.records]
    assert [list(map(type, row)) for row, _, _ in facts] == [list(map(type, row)) for _, row, _, _ in expected.records]
    assert [found.place(i) for i in range(len(found))] == list(expected.places or ())
    assert found.rows.lo.dtype == found.rows.hi.dtype == np.int64
    assert {column.dtype.type for column in found.rows.columns} <= {np.float64, np.int32}


@drawn(400)
@given(
    st.sampled_from(TIMELINES),
    st.one_of(st.none(), st.lists(st.sampled_from(DECLARED), min_size=2, max_size=2)),
    tables(),
)
@example(TIMELINES[1], None, pa.table({"x": ["a"], "y": [1 << 53], "time": [1]}))
@example(TIMELINES[6], None, pa.table({"x": ["a"], "y": [-0.0], "time": [0.001]}))
@example(TIMELINES[0], None, pa.table({"x": ["a"], "y": [1e17], "time": [1]}))
@example(TIMELINES[0], None, pa.table({"x": ["a", "b"], "y": [float("nan"), 1.0], "time": [1, 2]}))
@example(TIMELINES[6], None, pa.table({"x": ["a", "b"], "y": [1.0, 2.0], "time": [1, 1 << 51]}))
def test_columns_say_what_rows_say(timeline: str, declared: list[str] | None, table: Any) -> None:
    """The same facts, the same refusals, at the same places."""
    assert_alike(plan_of(timeline, declared).schema, table)


RANGES = st.tuples(st.integers(-6, 6), st.integers(0, 4)).map(lambda pair: (2 * pair[0], 2 * (pair[0] + pair[1])))
ROWS = st.tuples(st.sampled_from(["a", "true"]), st.sampled_from([1, 2.5, "b", 1 << 60]))


@drawn(60)
@given(st.lists(st.tuples(ROWS, RANGES), max_size=5), st.booleans())
def test_stored_facts(facts: list[Any], is_declared: bool) -> None:
    """Tables of derived facts, with named arguments and with arrays of JSON texts."""
    plan = plan_of(TIMELINES[6], ["text", "any"] if is_declared else None)
    fields, types = (["x", "y"], ["text", "any"]) if is_declared else ([], [])
    stored = StoredFacts("p", fields, types, plan.timeline).batch([(row, *ends) for row, ends in facts])
    assert_alike(plan.schema, pa.table(stored))


@pytest.mark.parametrize("texts", [['["a"]'], [], ["1"], ["1", None], ["1", "2"], ["1", "2", "3"]])
def test_arrays_of_arguments(texts: list[str | None]) -> None:
    """An array of arguments that is no row of its predicate is told; one of a predicate that is not the program's is not."""
    table = pa.table(
        {
            "arguments": pa.array([["1", "2"], texts, None], pa.list_(pa.string())),
            "start": ["1"] * 3,
            "end": ["2"] * 3,
            "start_open": [False] * 3,
            "end_open": [False] * 3,
        }
    )
    assert_alike(plan_of(TIMELINES[0], None).schema, table)
    columns = ColumnReader(
        tidelog.compile("q(X) :- r(X).").schema,
        "p",
        layout_of(table.schema, "p", plan_of(TIMELINES[0], None).schema),
        Pool(),
    )
    assert len(columns.read(table, "t", range(3))) == (1 if None in texts or '["a"]' in texts else 2)


def test_a_refused_row_leaves_the_others_numbers() -> None:
    """A null among numbers does not make their column one of codes."""
    plan = plan_of(TIMELINES[0], None)
    table = pa.table({"x": ["a", "b"], "y": pa.array([Decimal("1.50"), None]), "time": [1, 2]})
    found = ColumnReader(plan.schema, "p", layout_of(table.schema, "p", plan.schema), Pool()).read(table, "t", range(2))
    assert [column.dtype.type for column in found.rows.columns] == [np.int32, np.float64]
