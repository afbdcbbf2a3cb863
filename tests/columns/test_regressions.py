"""Wrong answers and failures of columns that were found, each with what it was."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.operators.columns.axis import Axis
from tidelog.operators.columns.batch import batch_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.columns.history import course_of

HEAD = "timeline integer.\ninput t(a: text, v: number).\n"


def by_stretches(plan: Plan, facts: Sequence[Fact], stretch: int, room: int | None = None) -> set[Record]:
    """What columns tell of facts in order, so many of which are a stretch, with room for so many pairs in a join."""
    pool = Pool()
    if room is not None:
        pool.room.rows = room
    course = course_of(plan, pool, emit="final")
    told: set[Record] = set()
    for begin in range(0, len(facts), stretch):
        some = facts[begin : begin + stretch]
        is_last = begin + stretch >= len(facts)
        watermark = POS if is_last else facts[begin + stretch][1] - 1
        told |= set(course.tell({"t": batch_of(some, 2, pool)}, watermark))
    return told


def by_rows(plan: Plan, facts: Sequence[Fact]) -> set[Record]:
    session = tidelog.Session(plan, emit="final", lateness=10**6)
    session.push_records([("t", *fact) for fact in facts])
    session.finish()
    return set(session.pull_records())


@pytest.mark.parametrize(
    "rule",
    [
        "sum(V) over (t(A,V), V >= 0) in [4] by A >= 4",
        "distinct(V) over t(A,V) in [4] by A >= 2",
        "count() over t(A,V) in [4] by A >= 1",
    ],
)
def test_a_window_that_is_empty_before_a_stretch_ends_has_nothing_of_another_group(rule: str) -> None:
    """A time behind all that a group has lay within the times of the next group: its rows were weighed, too."""
    plan = tidelog.compile(f"{HEAD}p(A) :- {rule}.\noutput p.")
    facts: list[Fact] = [((a, v), time, time) for time, a, v in ((44, "a", 1), (51, "z", 4), (52, "a", 1), (62, "u", 1))]
    for stretch in range(1, 5):
        assert by_stretches(plan, facts, stretch) == by_rows(plan, facts)


KEYS = st.integers(0, 3)
PLACES = st.integers(-8, 8) | st.sampled_from([NEG, POS])


@given(
    ranges=st.lists(st.tuples(KEYS, PLACES, PLACES).map(lambda each: (each[0], min(each[1:]), max(each[1:]))), min_size=1),
    times=st.lists(st.tuples(KEYS, st.integers(-40, 40)), min_size=1),
    is_crowded=st.booleans(),
)
def test_what_lies_behind_a_time_is_of_the_same_key(
    ranges: list[tuple[int, int, int]], times: list[tuple[int, int]], is_crowded: bool
) -> None:
    """Whatever the time, also far from all that is laid on the axis; where keys lie one behind the other, and by rank."""
    size = 1 << 60 if is_crowded else 4
    keys, lo, hi = (np.array(column, np.int64) for column in zip(*ranges, strict=True))
    axis = Axis(size, (lo,), (hi,))
    begins = axis.begins(keys, lo)
    own, asked = (np.array(column, np.int64) for column in zip(*times, strict=True))
    for key, time, behind in zip(own.tolist(), asked.tolist(), axis.behind(own, asked).tolist(), strict=True):
        before = begins < behind
        assert (before == ((keys < key) | ((keys == key) & (lo <= time)))).all()


@pytest.mark.parametrize("room", [None, 20_000])
@pytest.mark.parametrize(
    ("rule", "most"),
    [
        ("p(A) :- t(A,V), diamondminus[0,500] t(A,U), V > U + 2.", 8_000),
        ("p(A) :- t(A,V), V > 3, t(A,4) within 500.", 8_000),
        ("p(A,W) :- t(A,V), diamondminus[0,500] t(B,U), W = V + U.", 40_000),
    ],
    ids=["the same key", "a word", "any two"],
)
def test_what_lasts_meets_a_row_once(rule: str, most: int, room: int | None) -> None:
    """Each reading that a ◇ made last met each row beside it: as many pairs as there are readings in its window."""
    plan = tidelog.compile(f"{HEAD}{rule}\noutput p.")
    facts: list[Fact] = [((f"s{i % 5}", 1 + i * 7 % 4), i // 4, i // 4) for i in range(2_000)]
    found = by_stretches(plan, facts, 1_000, most if room is None else room)
    assert found == by_rows(plan, facts)


def test_a_join_without_room_goes_on_in_halves() -> None:
    """Two rows at each of many times: with room for a few pairs all of them are found, and with room for none it ends."""
    plan = tidelog.compile(HEAD + "p(A,B) :- t(A,1), t(B,2).\noutput p.")
    facts: list[Fact] = [((f"s{i}", 1 + i % 2), i // 20, i // 20) for i in range(400)]
    assert by_stretches(plan, facts, 400, 150) == by_rows(plan, facts)
    with pytest.raises(tidelog.TidelogError):
        by_stretches(plan, facts, 400, 50)


def test_what_never_holds_has_a_place_in_columns() -> None:
    """A rule that needs itself was left out of the plan, and then nobody knew how wide it is."""
    plan = tidelog.compile(
        HEAD + "output c. c(X) :- t(X, _). c(X) :- diamondminus[2,3] d(X, Y). d(X, Y) :- d(Y, X), t(X, Y)."
    )
    facts: list[Fact] = [(("a", 1), 1, 1), (("b", 2), 2, 4)]
    assert by_stretches(plan, facts, 1) == {("c", ("a",), 1, 1), ("c", ("b",), 2, 4)}
    never = tidelog.compile(HEAD + "output c. c(X) :- t(X, _), diamondminus[2,3] (c(X), t(X, _)).")
    assert by_stretches(never, facts, 1) == set()
