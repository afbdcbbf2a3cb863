"""The time index of joins: what meets a range, found without looking at what does not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidelog.operators import time_index
from tidelog.operators.time_index import TimeIndex
from tidelog.plans.facts import Fact
from tidelog.plans.timeline import NEG, POS

ENDS = st.one_of(st.integers(0, 40), st.sampled_from([NEG, POS]))
FACTS = st.lists(
    st.tuples(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), ENDS, ENDS).filter(
        lambda fact: fact[1] <= fact[2] and fact[1] < POS and fact[2] > NEG
    ),
    max_size=40,
)


def meeting(facts: list[Fact], key: str, lo: int, hi: int) -> list[Fact]:
    """The definition: every piece under the key that shares a time with the range, cut to it."""
    return [(row, max(a, lo), min(b, hi)) for row, a, b in facts if row[0] == key and a <= hi and b >= lo]


@given(FACTS, st.integers(0, 40), st.integers(0, 40))
def test_what_meets_a_range_is_found(facts: list[Fact], lo: int, length: int) -> None:
    """In whatever order pieces of any length come, exactly those that meet the range are found, each once."""
    index = TimeIndex((0,))
    for fact in facts:
        index.add([fact])
    for key in "ab":
        assert sorted(index.meeting((key,), lo, lo + length)) == sorted(meeting(facts, key, lo, lo + length))


@given(FACTS, st.integers(0, 40))
def test_forgetting_leaves_what_ends_behind_the_bound(facts: list[Fact], bound: int) -> None:
    """After forgetting, whatever reaches beyond the bound is still found, and a snapshot brings it along."""
    index = TimeIndex((0,))
    index.add(facts)
    index._round = -1  # forget now, however little there is
    index.forget(bound)
    restored = TimeIndex((0,))
    restored.restore(index.snapshot())
    for key in "ab":
        expected = sorted(meeting(facts, key, bound + 1, POS))
        assert sorted(restored.meeting((key,), bound + 1, POS)) == expected


def test_dead_pieces_go() -> None:
    """With time moving on, no more is stored than about twice what is alive."""
    index = TimeIndex(())
    for time in range(10_000):
        index.add([((time,), time, time)])
        index.forget(time - 10)
    assert index.entries() <= 24 + 2 * time_index._SMALLEST_ROUND


def test_finely_cut_coverage_is_one_piece() -> None:
    """Regression: a run that comes tick by tick was stored tick by tick, so memory grew with the timestamps' density."""
    index = TimeIndex((0,))
    for time in range(1_000):
        index.add([(("a", 1), time, time), (("a", 2), 2 * time, 2 * time)])
    assert index.entries() == 1_001
    assert sorted(index.meeting(("a",), 10, 12)) == [(("a", 1), 10, 12), (("a", 2), 10, 10), (("a", 2), 12, 12)]
