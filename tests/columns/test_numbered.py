"""Coverage of numbered rows is that of a coverage store."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from tidelog.operators.columns.arrays import np
from tidelog.operators.columns.batch import Batch
from tidelog.operators.columns.pool import Pool
from tidelog.operators.columns.rounds.numbered import Image, Numbered, Table
from tidelog.operators.stores.coverage import Coverage
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import LIMIT, NEG, POS

ROWS = ((0,), (1,), (2,), ("a",), (0.5,))
TIMES = st.one_of(st.integers(-6, 30), st.sampled_from([-LIMIT, LIMIT]))
RANGES = st.one_of(
    st.tuples(st.integers(-6, 30), st.integers(0, 6)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    st.tuples(TIMES, TIMES).map(lambda pair: (min(pair), max(pair))),
    st.tuples(st.just(NEG), TIMES),
    st.tuples(TIMES, st.just(POS)),
    st.just((NEG, POS)),
)
FACTS = st.lists(st.tuples(st.sampled_from(ROWS), RANGES).map(lambda pair: (pair[0], *pair[1])), max_size=12)


def numbered(table: Table, facts: list[Fact]) -> Batch:
    columns = [table.pool.column([row[0] for row, _, _ in facts])] if facts else []
    lo, hi = ([fact[place] for fact in facts] for place in (1, 2))
    return Batch((table.numbers(columns, len(facts)),), np.array(lo, np.int64), np.array(hi, np.int64))


def listed(table: Table, batch: Batch) -> list[Fact]:
    return list(zip(table.rows(batch.columns[0]), batch.lo.tolist(), batch.hi.tolist(), strict=True))


def stored(store: Coverage) -> list[Fact]:
    pairs = ((row, bounds[i], bounds[i + 1]) for row, bounds in store.rows.items() for i in range(0, len(bounds), 2))
    return sorted(pairs, key=repr)


def coalesced(facts: Iterable[Fact]) -> list[Fact]:
    store = Coverage()
    store.insert(facts)
    return stored(store)


@given(st.lists(FACTS, max_size=6))
def test_what_is_added_is_what_a_store_takes(portions: list[list[Fact]]) -> None:
    """What is held and what is new of each portion, in maximal runs and in order; what was told before stays as it was."""
    store, known = Coverage(), Numbered(Table(Pool()))
    for facts in portions:
        before = known.held
        was = listed(known.table, before)
        new = known.add(numbered(known.table, facts))
        assert sorted(listed(known.table, new), key=repr) == coalesced(store.insert(facts))
        assert listed(known.table, before) == was
        assert sorted(listed(known.table, known.held), key=repr) == stored(store)
        for batch in (new, known.held):
            in_order = list(zip(batch.columns[0].tolist(), batch.lo.tolist(), strict=True))
            assert in_order == sorted(in_order)


@given(st.lists(FACTS, max_size=4))
def test_a_row_keeps_its_number(portions: list[list[Fact]]) -> None:
    """Numbers follow each other as rows come, and lead back to the rows; other rows are not found."""
    table = Table(Pool())
    seen: dict[object, int] = {}
    for facts in portions:
        numbers = numbered(table, facts).columns[0].tolist()
        for (row, _, _), number in zip(facts, numbers, strict=True):
            assert seen.setdefault(row, len(seen)) == number
        assert len(table) == len(seen)
    assert [table.find(row) for row in seen] == list(seen.values())
    assert table.find(("b",)) is None
    assert table.find((0, 0)) is None


def test_an_image_asks_for_each_row_once() -> None:
    """What is rewritten are the rows that came since, and those that become none have no image."""
    asked: list[list[float]] = []

    def halved(rows: Batch) -> Batch:
        asked.append(rows.columns[0].tolist())
        there = rows.columns[0] % 2 == 0
        return Batch((rows.columns[0][there] / 2,), rows.lo[there], rows.hi[there])

    source, target = Table(Pool()), Table(Pool())
    image = Image(source, target, halved)
    first = image.of(numbered(source, [((4,), 1, 2), ((3,), 5, 6), ((4,), 8, 9)]))
    assert listed(target, first) == [((2,), 1, 2), ((2,), 8, 9)]
    again = image.of(numbered(source, [((3,), 0, 0), ((8,), 3, 3), ((4,), 7, 7)]))
    assert listed(target, again) == [((4,), 3, 3), ((2,), 7, 7)]
    assert asked == [[4.0, 3.0], [8.0]]
