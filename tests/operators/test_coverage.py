"""The coverage store."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.driving import points_of
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.buckets import Buckets
from tidelog.operators.stores.coverage import Coverage, merge
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS

A, B = ("a",), ("b", 1)

ARBITRARY = st.lists(
    st.tuples(st.sampled_from([A, B]), st.integers(0, 30), st.integers(0, 8)).map(lambda t: (t[0], t[1], t[1] + t[2])),
    max_size=12,
)


def test_what_touches_becomes_one_range() -> None:
    """Ranges that touch or overlap are stored as one; what was known is not reported again."""
    store = Coverage()
    assert store.insert([(A, 5, 6), (A, 1, 2), (A, 3, 4)]) == [(A, 5, 6), (A, 1, 2), (A, 3, 4)]
    assert store.rows == {A: [1, 6]}
    assert store.insert([(A, 2, 9)]) == [(A, 7, 9)]


def test_a_piece_in_between_reports_each_gap() -> None:
    """Coverage over several ranges reports the gaps between them, in order."""
    store = Coverage()
    store.insert([(A, 2, 3), (A, 6, 7)])
    assert store.insert([(A, 0, 9)]) == [(A, 0, 1), (A, 4, 5), (A, 8, 9)]


def test_infinite_ends_absorb() -> None:
    """Ranges without begin or end swallow what lies in them."""
    store = Coverage()
    store.insert([(A, NEG, 3), (A, 9, POS)])
    assert store.insert([(A, 1, 2), (A, 10, POS), (A, NEG, 0)]) == []
    assert store.insert([(A, NEG, POS)]) == [(A, 4, 8)]


def test_a_gap_within_reach_is_covered() -> None:
    """With reach 4, ranges 4 apart become one, and the gap is reported; 5 apart they stay two."""
    store = Coverage(reach=4)
    store.insert([(A, 0, 1)])
    assert store.insert([(A, 5, 6)]) == [(A, 2, 6)]
    assert store.insert([(A, 11, 12)]) == [(A, 11, 12)]
    assert store.rows == {A: [0, 6, 11, 12]}


@pytest.mark.parametrize("reach", [1, 2, 3, 7])
@given(facts=ARBITRARY)
def test_insert_agrees_with_sets(reach: int, facts: list[Fact]) -> None:
    """What is reported is disjoint and, together, is what came in and the gaps that are within reach."""
    store = Coverage(reach)
    reported = store.insert(facts)
    points = points_of(reported)
    assert sum(hi - lo + 1 for _, lo, hi in reported) == sum(map(len, points.values()))
    assert points == {row: _bridged(times, reach) for row, times in points_of(facts).items()}
    for bounds in store.rows.values():
        assert all(begin <= end for begin, end in zip(bounds[::2], bounds[1::2], strict=True))
        assert all(begin - end > reach for end, begin in zip(bounds[1:-1:2], bounds[2::2], strict=True))


def _bridged(times: set[int], reach: int) -> set[int]:
    """The times, and all between two that are at most `reach` apart."""
    ordered = sorted(times)
    gaps = [range(a, b) for a, b in pairwise(ordered) if b - a <= reach]
    return times.union(*gaps)


@given(facts=ARBITRARY)
def test_extend_stores_what_insert_stores(facts: list[Fact]) -> None:
    """For coverage that is new, `extend` and `insert` store the same; `extend` returns the rows not stored before."""
    reported = Coverage().insert(facts)
    one, other = Coverage(), Coverage()
    one.insert(reported)
    assert sorted(map(str, other.extend(reported))) == sorted(map(str, one.rows))
    assert one.rows == other.rows


@given(facts=ARBITRARY, bound=st.integers(-1, 40), more=ARBITRARY)
def test_forgetting_drops_only_what_has_ended(facts: list[Fact], bound: int, more: list[Fact]) -> None:
    """What ends behind the bound stays, exactly; rows that are gone are told; what comes later is reported as before."""
    store, whole = Coverage(), Coverage()
    store.insert(facts)
    whole.insert(facts)
    gone = store.forget(bound) if facts else []
    assert not set(gone) & set(store.rows)
    for row, bounds in whole.rows.items():
        kept = [(bounds[i], bounds[i + 1]) for i in range(0, len(bounds), 2) if bounds[i + 1] > bound]
        left = store.rows.get(row, [])
        stored = [(left[i], left[i + 1]) for i in range(0, len(left), 2)]
        assert stored[len(stored) - len(kept) :] == kept
    later = [(row, max(lo, bound + 1), hi) for row, lo, hi in more if hi > bound]
    assert points_of(store.insert(later)) == points_of(whole.insert(later))


def test_what_is_dead_is_swept_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """With rounds of 10, a row that comes and goes never leaves more than a few rounds behind."""
    monkeypatch.setattr(LIMITS, "round", 10)
    store = Coverage()
    most = 0
    for time in range(1000):
        store.insert([((time,), time, time)])
        store.forget(time - 1)
        most = max(most, store.entries())
    assert most <= 30


def test_a_snapshot_is_the_coverage() -> None:
    """A restored store holds the same, and nothing of before."""
    store, other = Coverage(), Coverage()
    store.insert([(A, 1, 2), (A, 5, POS), (B, NEG, 0)])
    other.insert([(("x",), 3, 4)])
    other.restore(store.snapshot())
    assert other.rows == store.rows
    assert other.entries() == 3


@given(facts=ARBITRARY, lo=st.integers(0, 30), length=st.integers(0, 9))
def test_merge_returns_the_range_that_results(facts: list[Fact], lo: int, length: int) -> None:
    """`merge` returns the stored range in which the new one ended up."""
    store = Coverage()
    store.insert([(A, begin, end) for _, begin, end in facts])
    bounds = store.rows.setdefault(A, [])
    found = merge(bounds, lo, lo + length, 1, A, [])
    assert found in [(bounds[i], bounds[i + 1]) for i in range(0, len(bounds), 2)]
    assert found[0] <= lo
    assert found[1] >= lo + length


@pytest.mark.pure
def test_forgetting_touches_what_has_ended_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1,000 rows that stay, none is looked at while 2,000 others come and go, and one row comes again and again."""
    store = Coverage()
    store.insert([((row,), 0, 1_000_000) for row in range(1_000)])
    store.forget(0)
    touched: list[int] = []
    take = Buckets.take
    monkeypatch.setattr(Buckets, "take", lambda self, bound: touched.append(len(due := take(self, bound))) or due)
    for time in range(1, 2_001):
        store.insert([(("new", time), time, time), (A, 2 * time, 2 * time)])
        store.forget(2 * time)
    assert sum(touched) <= 2 * (2_000 + 2_000)
    assert len(store.rows) <= 1_000 + 2 + LIMITS.round
    assert len(store.rows.get(A, [])) <= 4


def test_a_row_among_lasting_ones_does_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that comes and goes is looked at by itself, though it was new together with rows that stay."""
    monkeypatch.setattr(LIMITS, "round", 10)
    store = Coverage()
    store.insert([((row,), 0, 1_000_000) for row in range(100)] + [(A, 0, 0)])
    most = 0
    for time in range(2, 4_000, 2):
        store.forget(time - 1)
        store.insert([(A, time, time)])
        most = max(most, store.entries())
    assert most <= 100 + 2 * 10
