"""Packs of columns: what is packed is there again with any pool; facts reach the stages and buckets that rows reach."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.connectors.spark.running import column_routes
from tidelog.connectors.spark.running.column_routes import ColumnRoutes
from tidelog.connectors.spark.running.parcels import COLUMN, FACT, OUT, Parcels, Routes, facts_of
from tidelog.operators.columns.batch import batch_of
from tidelog.operators.columns.packs import packed, unpacked
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.stages.stages import stages_of
from tidelog.plans.tree.syntax import Value

VALUES = (
    st.sampled_from(["a", "b", "ä", "", "7"])
    | st.integers(-3, 3)
    | st.sampled_from([0.5, -2.25, 2**53, 2**53 + 1, -(2**60)])
)
TIMES = st.integers(-5, 5) | st.sampled_from([NEG, POS])


@st.composite
def facts(draw: st.DrawFn, width: int) -> list[Fact]:
    """Facts of so many arguments; some columns are numbers alone."""
    kinds = draw(st.lists(st.sampled_from([VALUES, st.integers(-3, 3), st.floats(-9, 9)]), min_size=width, max_size=width))
    rows = st.tuples(*kinds).map(lambda row: tuple(_plain(value) for value in row))
    ranges = st.tuples(TIMES, TIMES).map(lambda pair: (min(pair), max(pair)))
    return [(row, *span) for row, span in draw(st.lists(st.tuples(rows, ranges), max_size=12))]


def _plain(value: Value) -> Value:
    """A constant as facts have it: a whole number is an integer."""
    return int(value) if isinstance(value, float) and value == int(value) else value


@given(data=st.data(), width=st.integers(0, 3), known=st.lists(VALUES, max_size=4))
def test_what_is_packed_is_there_again(data: st.DataObject, width: int, known: list[Value]) -> None:
    """With the same types, whatever the other pool knows already."""
    found = data.draw(facts(width))
    one, other = Pool(), Pool()
    other.codes(known)
    read = unpacked(packed(batch_of(found, width, one), one), other).facts(other)
    assert [(*map(repr, row), lo, hi) for row, lo, hi in read] == [(*map(repr, row), lo, hi) for row, lo, hi in found]


PROGRAM = """
timeline integer.
input p(x, y).
input q(x, y).
input unread(x).
a(X) :- p(X, Y), Y >= 1, Y < 3.
a(X) :- p(X, b), q(X, 0.5).
b(Y) :- q(X, Y), Y != "ä".
c(X, Y) :- p(X, Y), q(X, Y).
c(X, Y) :- p(X, 7), q(X, Y), X > 0, Y > "a".
d(Y) :- diamondminus[0,2] b(Y), diamondminus[0,1] a(Y).
output d, c.
"""
"""Stages with keys and with conditions, which facts of texts, numbers and large numbers meet or miss."""


def addressed(batches: Iterator[pa.RecordBatch], pool: Pool) -> list[tuple[object, ...]]:
    """The facts of parcels, with their addresses, in an order of their own."""
    found: list[tuple[object, ...]] = []
    for batch in batches:
        for parcel in batch.to_pylist():
            assert parcel["stage"] != OUT or parcel["kind"] not in (FACT, COLUMN)
            records: list[Record] = []
            if parcel["kind"] == FACT:
                records = facts_of([parcel["row"]])
            elif parcel["kind"] == COLUMN:
                records = [(parcel["name"], *fact) for fact in unpacked(parcel["row"], pool).facts(pool)]
            assert len(records) == (parcel["number"] if records else 0)
            begins = [record[2] for record in records]
            assert begins == sorted(begins)
            assert not records or (begins[0], begins[-1]) == (parcel["lo"], parcel["hi"])
            found += [(parcel["stage"], parcel["bucket"], *map(repr, record)) for record in records]
    return sorted(found, key=repr)


@pytest.mark.parametrize("sizes", [(1 << 15, 1 << 20), (2, 60)], ids=["usual packs", "little packs"])
@given(data=st.data(), buckets=st.integers(1, 5), pieces=st.integers(1, 3))
def test_columns_go_where_rows_go(sizes: tuple[int, int], data: st.DataObject, buckets: int, pieces: int) -> None:
    """To the same stages and buckets, and past the same; a pack tells when its facts begin."""
    stages = stages_of(tidelog.compile(PROGRAM)).stages
    pool, by_rows, by_columns = Pool(), Parcels(), Parcels()
    whole = data.draw(st.booleans())
    routes = Routes(stages, buckets, whole=whole)
    columns = ColumnRoutes(stages, buckets, pool, whole=whole)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_routes, "PACK", sizes[0])
        patch.setattr(column_routes, "PACK_BYTES", sizes[1])
        for name, width in (("p", 2), ("q", 2), ("unread", 1)) * pieces:
            found = data.draw(facts(width))
            for source in (None, 1):
                unread = routes.send_all(source, [(name, *fact) for fact in found], by_rows)
                is_read = columns.send(source, name, batch_of(found, width, pool))
                assert unread == ([] if is_read else [name] * len(found))
        columns.drain(by_columns)
    assert len(columns) == 0
    assert addressed(iter([by_columns.take()]), Pool()) == addressed(iter([by_rows.take()]), Pool())
