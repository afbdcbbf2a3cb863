"""Wrong answers about what goes on holding that were found: each is told rightly now, alone and in batches."""

from __future__ import annotations

from typing import Any

import pytest
from limits import limits

import tidelog
from engine.running import plan_of, records, shown
from engine.standing.test_programs import told
from tidelog import Session
from tidelog.plans.data.timeline import POS
from tidelog.runtime.ports.interfaces import EmitMode

WAYS: tuple[EmitMode, ...] = ("intervals", "final", "changes")

CASES = {
    "a left row of since that goes on after all that was armed for it has ended": (
        "timeline integer. m(X) :- diamondminus[0,6] q(X), not p(X). "
        "s(Y) :- diamondminus[0,9] q(Y) since[1,3] m(Y). output s.",
        ["q(a)@0", "p(a)@2", "p(a)@3", "q(a)@4"],
        ["s(a)@[1,13]"],
    ),
    "a fact that waits in a join whose other port is known less far": (
        "timeline integer. input on(x). input off(x). input a(x). s(X) :- not off(X) since on(X). "
        "o(X) :- s(X), diamondminus[3,3] a(X). output o.",
        ["a(k)@0", "a(z)@2", "on(k)@2", "a(z)@9"],
        ["o(k)@3"],
    ),
    "a latch that nobody takes announcements from, on rational time": (
        "timeline rational. dev(k). q(X) :- diamondplus[0,4] a(X). alarm(X) :- not ack(X) since q(X), dev(X). output alarm.",
        ["a(k)@10", "ack(k)@12", "b(k)@20"],
        ["alarm(k)@[6,12]"],
    ),
    "two latches before a loop": (
        "timeline integer. q1(X) :- diamondplus[1] on(X), not on(X). q2(X) :- not a(X) since q1(X). "
        "q2(X) :- q2(Y), c(Y,X). output q2.",
        ["on(k)@9", "a(j)@11", "a(k)@14", "a(j)@16"],
        ["q2(k)@[8,14]"],
    ),
    "until over what has always held": (
        "timeline integer. dev(k1). q1(X) :- dev(X), not a(X). q2(X) :- not b(X) until[0,5] q1(X).",
        ["a(k3)@7"],
        ["q1(k1)@(-inf,inf)", "q2(k1)@(-inf,inf)"],
    ),
    "an end that a step upstream had yet to tell when the stream ended": (
        "timeline integer. boxplus[0,2] q0(X) :- not dev(X) since[1,inf) c(_,X). q1(X) :- not on(X) since[0,0] q0(X). "
        "q1(X) :- not off(Y) since[0,0] c(Y,X), q1(Y). output q0. output q1.",
        ["c(k2,k3)@[0,5]", "a(k2)@[12,17]"],
        ["q0(k3)@[1,inf)", "q1(k3)@[1,inf)"],
    ),
    "since over what has always held": (
        "timeline rational. dev(k1). q(X) :- not off(X) since(1,5) dev(X).",
        ["off(k1)@9"],
        ["q(k1)@(-inf,9]", "q(k1)@(10,inf)"],
    ),
    "a box in a head over what has always held, before a loop": (
        "timeline integer. dev(k1). boxminus[2,2] q0(X) :- not a(X) since[2,inf) dev(X). q0(X) :- q0(Y), c(Y,X). output q0.",
        ["a(k1)@0"],
        ["q0(k1)@(-inf,-2]", "q0(k1)@[0,inf)"],
    ),
    "a loop behind a ◇ without an end, of which only the end of the stream tells all": (
        "timeline integer. dev(k1). q0(X) :- a(X), not a(X). q1(X) :- dev(X), not q0(X). "
        "q1(X) :- q0(X), not diamondplus[0,1] q0(X). q3(X) :- diamondminus q1(X), not q0(X). q3(X) :- q3(Y), c(Y,X). "
        "output q3.",
        ["a(k1)@0", "a(k1)@0"],
        ["q3(k1)@(-inf,inf)"],
    ),
    "since whose left side has been true of its right side for ever": (
        "timeline integer. h(X) :- p(X), not r(X). o(X) :- diamondminus[0,inf) h(X) since[0,inf) h(X). output o.",
        ["p(a)@[1,2]", "r(a)@2"],
        ["o(a)@[1,inf)"],
    ),
    "what ends together with a gap that `#`-facts bridge": (
        "timeline integer. q0(X) :- diamondminus a(X), not a(X). q1(X) :- diamondminus q0(X), not a(X). "
        "q1(X) :- not q0(X) until[0,1] q0(X). output q1.",
        ["a(k1)@0", "a(k1)@2"],
        ["q1(k1)@[0,inf)"],
    ),
}


def maximal(text: str, facts: list[str], batch: int, emit: EmitMode, **options: Any) -> list[str]:
    """What is told in a mode, as maximal intervals."""
    plan = plan_of(text)
    runs = told(plan, records(plan, facts), batch, emit, **options)
    found = [(name, row, *bounds) for (name, row), ranges in runs.items() for bounds in ranges]
    return sorted(shown(plan, found))


@pytest.mark.parametrize("batch", [1, 1000])
@pytest.mark.parametrize("lateness", [0, 4])
@pytest.mark.parametrize(("text", "facts", "expected"), CASES.values(), ids=CASES)
def test_what_goes_on_is_told_as_it_is(text: str, facts: list[str], expected: list[str], batch: int, lateness: int) -> None:
    """The same in all modes: with its begin, with its end, and with nothing left of how the engine notes it."""
    for emit in WAYS:
        assert maximal(text, facts, batch, emit, lateness=lateness) == expected, emit


@pytest.mark.parametrize("emit", WAYS)
def test_a_watchdog_over_many_devices_knows_how_long_each_is_silent(emit: EmitMode) -> None:
    """100 devices beat every 10 s until 119, one goes on: each is silent from 31 s behind its last beat on."""
    devices = " ".join(f"device({number})." for number in range(100))
    text = f"timeline integer. input beat(d). silent(D) :- device(D), not diamondminus[0,30] beat(D). {devices}"
    beats = [(time, number) for time in range(160) for number in range(time % 10, 100, 10) if not number or time < 120]
    last = {number: time for time, number in beats}
    expected = [found for number in range(100) for found in (f"(-inf,{number % 10 - 1}]", f"[{last[number] + 31},inf)")]
    found = maximal(text, [f"beat({number})@{time}" for time, number in beats], 1, emit)
    assert sorted(found) == sorted(f"silent({i // 2})@{interval}" for i, interval in enumerate(expected))


def test_what_a_restored_watchdog_has_to_look_at_is_where_it_was() -> None:
    """A silence that a later beat has put off is no longer than it is, though the session was restored in between."""
    plan = plan_of("timeline integer. input beat(d). silent(D) :- device(D), not diamondminus[0,30] beat(D). device(1).")
    first, second = Session(plan, emit="final"), Session(plan, emit="final")
    for time in (0, 10, 20):
        first.push("beat", [1], time=time)
    second.restore(first.snapshot())
    for time in (30, 40):
        second.push("beat", [1], time=time)
    second.finish()
    assert shown(plan, [*first.pull_records(), *second.pull_records()]) == ["silent(1)@(-inf,-1]", "silent(1)@[71,inf)"]


def test_an_end_is_not_told_while_what_would_lengthen_it_may_come() -> None:
    """On integers 10 and 11 touch: what is on until 10 may be switched on again at 11, and has then not ended."""
    plan = plan_of("timeline integer. too_hot(M) :- not clear(M) since trip(M). output too_hot.")
    facts = ["trip(m1)@3", "clear(m1)@10", "trip(m4)@11"]
    for more, expected in (("trip(m1)@11", []), ("trip(m5)@12", ["too_hot(m1)@[3,10]"])):
        session = Session(plan, emit="changes")
        session.push_records(records(plan, [*facts, more]))
        assert [text for text in map(str, session.pull()) if text.startswith("too_hot(m1)@[3,")] == expected


ENDS = [
    (
        "o(X) :- a(X). o(X) :- diamondminus[50,60] b(X). output o.",
        [("bon", 10), ("on", 20), ("off", 25)],
        [(20, 25), (60, POS)],
    ),
    ("p(X) :- boxplus[1,1] a(X). output p.", [("on", 10), ("off", 11)], [(9, 10)]),
    ("p(X) :- latest a(X) in [9]. output p.", [("on", 3)], [(3, POS)]),
]


@pytest.mark.parametrize(("rule", "events", "expected"), ENDS, ids=["union of two leads", "held nowhere", "no end"])
def test_what_stands_begins_and_ends_where_it_holds(
    rule: str, events: list[tuple[str, int]], expected: list[tuple[int, int]]
) -> None:
    """A begin that moves, a row that held nowhere, and one that never ends tell no time at which nothing holds."""
    text = "timeline integer. input on(x). input off(x). input bon(x). input boff(x). "
    text += "a(X) :- not off(X) since on(X). b(X) :- not boff(X) since bon(X). "
    session = Session(tidelog.compile(text + rule), emit="final")
    for name, time in events:
        session.push_records([(name, ("k",), time, time)])
        session.advance(time)
    session.finish()
    assert [(lo, hi) for _, _, lo, hi in session.pull_records()] == expected


def test_a_union_that_a_row_reaches_in_two_ways_tells_each_time_once() -> None:
    """A row stands by two ports at once: where one of them ends, what was told of it is not told again as a fact."""
    text = "timeline integer. input a(x,y). input off(x). s(X,Y) :- a(X,Y), not off(Y). "
    text += "q(X,Y) :- s(X,Y). q(X,Y) :- s(Y,X). output q."
    with limits(round=0):
        session = Session(tidelog.compile(text), emit="intervals")
        session.push_records([("a", ("k", "k"), 0, 3), ("a", ("z", "y"), 3, 3)])
        session.finish()
    assert sorted(map(str, session.pull())) == ["q(k,k)@3", "q(k,k)@[0,2]", "q(y,z)@3", "q(z,y)@3"]


def test_what_since_sends_again_though_it_was_known_is_told_once() -> None:
    """A row is told as far as time has come; `since`, which was not woken by that, sends the last of it again at its end."""
    text = (
        "timeline rational. dev(k). s(X) :- dev(X), not diamondminus[0,3) on(X). q(X) :- not s(X) since[0,3] s(X). output q."
    )
    with limits(round=0):
        session = Session(tidelog.compile(text), emit="intervals", lateness=3)
        session.push_records([("on", ("k",), 28000001, 29999999)])  # (14, 15)
        session.push_records([("on", ("k",), 29000000, 31000000)])  # [14.5, 15.5]
        session.finish()
    told = ["(-inf,11)", "[11,23/2)", "[23/2,14]", "(14,17]", "[37/2,inf)"]
    assert sorted(map(str, session.pull())) == sorted(f"q(k)@{interval}" for interval in told)
