"""The time index of joins: what meets a range, found without looking at what does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.driving import points_of
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.buckets import Buckets
from tidelog.operators.stores.time_index import TimeIndex
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS

ENDS = st.one_of(st.integers(0, 40), st.sampled_from([NEG, POS]))
FACTS = st.lists(
    st.tuples(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), ENDS, ENDS).filter(
        lambda fact: fact[1] <= fact[2] and fact[1] < POS and fact[2] > NEG
    ),
    max_size=40,
)


def meeting(facts: list[Fact], key: str, lo: int, hi: int) -> list[Fact]:
    """The definition: every piece under the key that shares a time with the range, cut to it."""
    return [(row, max(a, lo), min(b, hi)) for row, a, b in facts if row[0] == key and a <= hi and b >= lo]


def found(index: TimeIndex, key: str, lo: int, hi: int) -> list[Fact]:
    """What generated code finds: of the pieces under the key, in a crowd those near the range, what meets it."""
    group = index.groups.get(key, ())
    pieces = group if isinstance(group, tuple) else group.near(lo, hi)
    return meeting([(row, a, b) for row, a, b in pieces], key, lo, hi)


@given(FACTS, st.integers(0, 40), st.integers(0, 40))
def test_what_meets_a_range_is_found(facts: list[Fact], lo: int, length: int) -> None:
    """In whatever order pieces of any length come, exactly those that meet the range are found, each once."""
    index = TimeIndex((0,))
    for fact in facts:
        index.add([fact])
    for key in "ab":
        expected = sorted(points_of(meeting(facts, key, lo, lo + length)).items())
        assert sorted(points_of(found(index, key, lo, lo + length)).items()) == expected


@given(FACTS, FACTS, st.integers(0, 40))
def test_forgetting_leaves_what_ends_behind_the_bound(facts: list[Fact], more: list[Fact], bound: int) -> None:
    """After forgetting, whatever reaches beyond the bound is still found, and a snapshot brings it along."""
    index = TimeIndex((0,))
    index.add(facts)
    index.forget(bound // 2)
    index.add(more)
    index.forget(bound)
    restored = TimeIndex((0,))
    restored.restore(index.snapshot())
    for key in "ab":
        expected = sorted(points_of(meeting(facts + more, key, bound + 1, POS)).items())
        assert sorted(points_of(found(restored, key, bound + 1, POS)).items()) == expected
        assert restored.groups.keys() == index.groups.keys()


@pytest.mark.parametrize("keys", [1, 3, 5_000])
@pytest.mark.parametrize("length", [1, 30])
def test_dead_pieces_go(keys: int, length: int) -> None:
    """With time moving on, no more is stored than about twice what is alive, under one key or under many."""
    index = TimeIndex((0,))
    most = 0
    for time in range(3_000):
        index.add([((time % keys, time), time, time + length - 1)])
        index.forget(time - 10)
        most = max(most, index.entries())
    assert most <= 2 * (10 + length) + 2 * LIMITS.round


def test_a_piece_that_was_lengthened_goes_when_it_has_ended() -> None:
    """Regression: a piece is due when it was to end at first; lengthened since, it stays, and goes in the end."""
    for rows in (3, 40):  # a tuple of pieces, and a crowd
        index = TimeIndex((0,))
        for time in range(100):
            index.add([(("a", row), time, time) for row in range(rows)])
            index.forget(time - 1)
            assert index.entries() == rows
        index.forget(98)
        assert len(found(index, "a", 99, 99)) == rows
        index.forget(99)
        assert index.entries() == 0
        assert not index.groups


@pytest.mark.pure
def test_forgetting_touches_what_has_ended_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is alive is not looked at again and again: of 2,000 pieces that stay, none, while 2,000 others come and go."""
    index = TimeIndex((0,))
    index.add([(("a", row), 0, 1_000_000) for row in range(1_000)] + [((row, row), 0, 1_000_000) for row in range(1_000)])
    index.forget(0)
    seen: list[int] = []
    take = Buckets.take
    monkeypatch.setattr(Buckets, "take", lambda self, bound: seen.append(len(due := take(self, bound))) or due)
    for time in range(1, 2_001):
        index.add([(("b", time), time, time)])
        index.forget(time)
    assert sum(seen) <= 3 * 2_000
    assert len(found(index, "a", 5, 5)) == 1_000


def test_finely_cut_coverage_is_one_piece() -> None:
    """Regression: a run that comes tick by tick was stored tick by tick, so memory grew with the timestamps' density."""
    for rows in (2, 20):  # a tuple of pieces, and a crowd
        index = TimeIndex((0,))
        for time in range(500):
            index.add([(("a", row), time, time) for row in range(rows)])
        assert index.entries() == rows
        assert sorted(found(index, "a", 10, 12)) == [(("a", row), 10, 12) for row in range(rows)]
