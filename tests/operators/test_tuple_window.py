"""Tuple windows, when facts enter them and leave them, and what holds throughout: against Definition 4, time by time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.driving import LAST, Driver, Message, Points
from tidelog.operators.operator import Operator
from tidelog.operators.windows.tuple_points import TuplePoints
from tidelog.operators.windows.tuple_window import TupleWindow
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.plan.plan import Feed, Step, TupleShape
from tidelog.plans.tree.syntax import Constant, Term, Variable, Wildcard
from tidelog.runtime.network.deploy import build_operator

X, Y = Variable("X"), Variable("Y")
Columns = Callable[[Row], Row | None]
ATOMS: list[tuple[tuple[Term, ...], Columns]] = [
    ((X, Y), lambda row: row),
    ((X, Wildcard()), lambda row: row[:1]),
    ((X, X), lambda row: row[:1] if row[0] == row[1] else None),
    ((Constant("a"), Y), lambda row: row[1:] if row[0] == "a" else None),
]
ROWS = [("p", "a", "a"), ("p", "a", "b"), ("p", "b", "b"), ("q", "a", "a"), ("r", "c")]
Part = Literal["entered", "left", "points"]
Mode = Literal["sometime", "always", "at"]


def window(
    size: int, part: Part = "entered", mode: Mode = "sometime", terms: tuple[Term, ...] = (X,), of: tuple[str, ...] = ()
) -> Operator:
    feeds = (Feed("arrivals"), Feed("start")) if part == "points" else (Feed("arrivals"),)
    shape = TupleShape(mode, part, size, of, "p", terms)
    return build_operator(Step("s", "s", shape, feeds), Timeline("integer"))


# --- what arrives ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stream:
    """Messages of arrivals, out of order as far as the frontiers allow; and the facts as Definition 4 orders them."""

    messages: list[tuple[list[Fact], int]]

    def ordered(self, of: tuple[str, ...]) -> list[tuple[int, Row]]:
        arrived = [(time, row) for facts, _ in self.messages for row, time, _ in facts if not of or row[0] in of]
        return sorted(dict.fromkeys(arrived), key=lambda item: item[0])

    def selected(self, size: int, of: tuple[str, ...], time: int) -> list[tuple[int, Row]]:
        return [item for item in self.ordered(of) if item[0] <= time][-size:]


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """Some dozen facts, several at a time, some repeated, each up to 3 late."""
    times = sorted(draw(st.lists(st.integers(0, 12), max_size=24)))
    facts = [(time + draw(st.integers(0, 3)), (draw(st.sampled_from(ROWS)), time, time)) for time in times]
    facts.sort(key=lambda item: item[0])
    messages: list[tuple[list[Fact], int]] = []
    while facts:
        count = draw(st.integers(1, 5))
        now, facts = facts[:count], facts[count:]
        most = min((lo - 1 for _, (_, lo, _) in facts), default=LAST)
        messages.append(([fact for _, fact in now], draw(st.sampled_from([NEG, most - 1, most]))))
    return Stream([*messages, ([], POS)])


def fed(driver: Driver, stream: Stream) -> Points:
    frontier = NEG
    for facts, known in stream.messages:
        frontier = max(frontier, known)
        driver.feed(0, facts, frontier)
        assert driver.operator.frontier == frontier
    return driver.feed_all([])


def inside(stream: Stream, size: int, of: tuple[str, ...], columns: Columns, timed: bool) -> dict[Row, set[int]]:
    """For each row of the atom's columns, when it is in the window."""
    found: dict[Row, set[int]] = {}
    for now in range(-5, LAST + 1):
        for time, (predicate, *row) in stream.selected(size, of, now):
            values = columns(tuple(row)) if predicate == "p" else None
            if values is not None:
                found.setdefault((*values, time) if timed else values, set()).add(now)
    return found


# --- visits ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["sometime", "at"])
@given(data=st.data())
def test_entered_and_not_left(mode: str, data: st.DataObject) -> None:
    """In any order and batches, through snapshots: a row is in the window where a visit of it was entered and not left."""
    size, of = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([(), ("p",), ("p", "q")]))
    terms, columns = data.draw(st.sampled_from(ATOMS))
    stream, through_json = data.draw(streams()), data.draw(st.booleans())
    entered, left = (
        fed(Driver(lambda part=part: window(size, part, mode, terms, of), through_json), stream)
        for part in ("entered", "left")
    )
    found: dict[Row, set[int]] = {}
    for (*row, visit), times in entered.items():
        found.setdefault(tuple(row), set()).update(times - left.get((visit,), set()))
    expected = inside(stream, size, of, columns, mode == "at")
    assert {row: times for row, times in found.items() if times} == expected


@given(data=st.data())
def test_both_parts_agree_on_visits_however_they_are_fed(data: st.DataObject) -> None:
    """The numbers of visits, and how long after its end one is told as left, do not depend on batches and frontiers."""
    stream = data.draw(streams())
    whole = Stream([([fact for facts, _ in stream.messages for fact in facts], POS)])
    entered = fed(Driver(lambda: window(3, "entered", terms=(X, Wildcard()))), stream)
    left = fed(Driver(lambda: window(3, "left", terms=(X, Wildcard()))), whole)
    found: dict[Row, set[int]] = {}
    for (*row, visit), times in entered.items():
        found.setdefault(tuple(row), set()).update(times - left.get((visit,), set()))
    assert {row: times for row, times in found.items() if times} == inside(stream, 3, (), lambda row: row[:1], False)


def test_a_row_that_leaves_and_enters_at_once_was_never_away() -> None:
    """Where a repeated row pushes itself out, its visit goes on."""
    entered, left = window(1), window(1, "left")
    assert entered.receive(0, [(("p", "a"), 1, 1), (("p", "a"), 4, 4)], 4) == [(("a", 1), 1, 8)]
    assert left.receive(0, [(("p", "a"), 1, 1), (("p", "a"), 4, 4)], 4) == []


def test_what_never_gets_into_the_window_has_no_visit() -> None:
    """Of more facts at one time than the window holds, the later ones to arrive count."""
    entered = window(2)
    entered.receive(0, [(("p", name), 5, 5) for name in "abc"], 4)
    assert [row[0] for row, _, _ in entered.receive(0, [], 5)] == ["b", "c"]


def test_a_repeated_fact_counts_once() -> None:
    """However far apart its arrivals are, as long as the frontier lets them come."""
    entered = window(2)
    entered.receive(0, [(("p", "a"), 5, 5), (("p", "b"), 5, 5)], 3)
    entered.receive(0, [(("p", "a"), 5, 5)], 4)
    assert [row[0] for row, _, _ in entered.receive(0, [], 5)] == ["a", "b"]


def test_what_stays_costs_little() -> None:
    """A fact that stays for thousands of ticks is told a dozen times, whatever arrives that the atom does not stand for."""
    entered = window(10_000)
    sent = entered.receive(0, [(("p", "a"), 0, 0)], 0)
    for time in range(1, 10_000):
        sent += entered.receive(0, [(("q", time), time, time)], time)
    assert len(sent) <= 15
    assert entered.entries() <= 2


def test_state_is_bounded_by_the_window() -> None:
    """Whatever the rate, the facts stored are a small multiple of the window's size."""
    entered, most = window(20), 0
    for time in range(3_000):
        count = 0 if time % 500 > 400 else 1 + time % 7
        entered.receive(0, [(("p", (time, i)), time, time) for i in range(count)], time)
        most = max(most, entered.entries())
    assert most <= 20 * 8


# --- throughout -----------------------------------------------------------------------------------------------------------


@given(data=st.data())
def test_always(data: st.DataObject) -> None:
    """A row holds at a time if it is in the window at every time of the window's timeline; at none before the start."""
    size, of = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([(), ("p",), ("p", "q")]))
    terms, columns = data.draw(st.sampled_from([ATOMS[0], ATOMS[2], ATOMS[3]]))
    stream = data.draw(streams())
    start = data.draw(st.integers(-1, 4))
    driver = Driver(lambda: window(size, "points", "always", terms, of), data.draw(st.booleans()))
    told: Message = (1, [((), start, start)], POS)
    messages = [
        (0, facts, max(known for _, known in stream.messages[: i + 1])) for i, (facts, known) in enumerate(stream.messages)
    ]
    messages.insert(data.draw(st.integers(0, len(messages))), told)
    sent = driver.feed_all(messages)
    expected: dict[Row, set[int]] = {}
    for now in range(start, 20):
        selected = stream.selected(size, of, now)
        first = start if len(selected) < size else selected[0][0]
        for row in {values for _, (name, *args) in selected if name == "p" and (values := columns(tuple(args))) is not None}:
            times = {time for time, (name, *args) in selected if name == "p" and columns(tuple(args)) == row}
            if times.issuperset(range(first, now + 1)):
                expected.setdefault(row, set()).add(now)
    assert sent == expected


def test_always_waits_for_the_start() -> None:
    """While the window is not full its timeline begins with the stream: until that is known, nothing is."""
    points = window(3, "points", "always")
    assert points.receive(0, [(("p", "a"), 4, 4)], 4) == []
    assert points.frontier == NEG
    assert points.receive(1, [((), 4, 4)], POS) == [(("a",), 4, 4)]
    assert points.frontier == 4


def test_always_keeps_no_more_than_the_window() -> None:
    """Runs of any length cost what the window holds, and each time the facts that arrive at it."""
    points = TuplePoints(10, lambda row: row[1:])
    points.receive(1, [((), 0, 0)], POS)
    sent = [fact for time in range(5_000) for fact in points.receive(0, [(("p", "a"), time, time)], time)]
    assert len(sent) == 5_000
    assert points.entries() <= 20


def test_windows_are_what_the_plan_says() -> None:
    """A shape with a start is one that tells points; the others tell visits."""
    assert isinstance(window(1, "points", "always"), TuplePoints)
    assert isinstance(window(1, "left"), TupleWindow)
