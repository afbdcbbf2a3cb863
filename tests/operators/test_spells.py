"""What comes at a port that takes notices is handed on once, where it begins."""

from __future__ import annotations

import json

from tidelog.operators.standing.spells import Spells
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.timeline import POS

A, B = ("a",), ("b",)
NOTHING: tuple[list[object], list[object]] = ([], [])


def restored(spells: Spells, back: int = 0) -> Spells:
    other = Spells(back)
    other.load(json.loads(json.dumps(spells.state())))
    return other


def test_facts_within_what_goes_on_are_no_news() -> None:
    """A row that goes on is handed on once, whatever facts tell of it meanwhile; what lies behind its end is."""
    spells = Spells()
    spells.hear(Notices([(A, 2)]))
    assert spells.begun(3) == ([], [(A, 2)])
    spells.take([(A, 4, 6), (A, 9, 12)])
    assert spells.begun(5) == NOTHING
    spells = restored(spells)
    assert spells.hear(Notices([], [(A, 2, 6)])) == [(A, 6)]
    assert spells.begun(8) == NOTHING
    assert spells.begun(9) == ([(A, 9, 12)], [])


def test_what_goes_on_behind_a_fact_begins_behind_it() -> None:
    """A row that is open from within a fact on, which has been handed on or is to be, goes on behind it."""
    spells = Spells()
    spells.take([(A, 2, 8), (B, 5, 9)])
    assert spells.begun(3) == ([(A, 2, 8)], [])
    spells.hear(Notices([(A, 6), (B, 7)]))
    spells = restored(spells)
    assert spells.begun(5) == ([(B, 5, 9)], [])
    assert spells.begun(9) == ([], [(A, 9)])
    assert spells.begun(10) == ([], [(B, 10)])


def test_what_stands_again_without_a_gap_goes_on() -> None:
    """A row that ends, and stands again just behind its end, has not ended."""
    spells = Spells()
    spells.hear(Notices([(A, 4)]))
    assert spells.begun(3) == NOTHING
    assert spells.hear(Notices([(A, 4)], [(A, 4, 3)])) == []
    assert spells.begun(7) == ([], [(A, 4)])
    assert spells.hear(Notices([(A, 10)], [(A, 4, 9)])) == []
    assert spells.begun(20) == NOTHING
    assert restored(spells).hear(Notices([], [(A, 10, 22)])) == [(A, 22)]


def test_what_has_not_begun_leaves_nothing() -> None:
    """What ends before it begins is not handed on; what has an end before it has begun is a fact."""
    spells = Spells()
    spells.hear(Notices([(A, 6), (B, 6)]))
    assert spells.begun(4) == NOTHING
    assert spells.hear(Notices([], [(A, 6, 5), (B, 6, 7)])) == []
    assert spells.begun(9) == ([(B, 6, 7)], [])
    assert not spells.has_open()
    assert spells.deadline() is None


def test_what_comes_again_is_handed_on_once() -> None:
    """Times of a row that come twice, also behind the frontier, count once; what ends never leaves no room behind it."""
    spells = Spells()
    spells.take([(A, 2, 5), (A, 4, 9)])
    assert spells.begun(4) == ([(A, 2, 5)], [])
    spells.take([(A, 3, 9), (B, 5, POS)])
    assert restored(spells).begun(7) == ([(B, 5, POS), (A, 6, 9)], [])
    assert spells.begun(7) == ([(B, 5, POS), (A, 6, 9)], [])
    spells.hear(Notices([(B, 8)]))
    spells.take([(A, 7, 9)])
    assert spells.begun(30) == NOTHING


def test_what_is_new_is_told_at_once_as_far_back_as_it_matters() -> None:
    """What lies behind the frontier is news to who looks so far back, and to nobody else."""
    spells = Spells(back=3)
    spells.hear(Notices([(A, 2)]))
    spells.begun(9)
    assert spells.hear(Notices([], [(A, 2, 9)])) == [(A, 9)]
    assert spells.fresh == [(A, 6, 9)]
    assert spells.insert([(A, 8, 10)]) == [(A, 10, 10)]
