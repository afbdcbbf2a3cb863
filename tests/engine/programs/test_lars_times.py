"""Time variables at work: each answer worked out by hand from LARS's entailment and Temporal Datalog's least model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

import pytest

import tidelog
from engine.running import BACKENDS, engine_answers, plan_of, records, session_answers, shown
from tidelog import MemorySource, OperatorError, Session
from tidelog.plans.analysis.horizons.delay import delays
from tidelog.plans.data.timeline import POS

INTEGER = "timeline integer. output h. "


def final(text: str, facts: Sequence[str], **options: object) -> list[str]:
    return sorted(session_answers(INTEGER + text, facts, emit="final", **options))


def delay_of(text: str) -> tuple[Fraction, str]:
    (found,) = delays(tidelog.compile(INTEGER + text))
    return Fraction(found.delay), found.why


# --- Temporal Datalog -------------------------------------------------------------------------------------------------


def test_two_flags_in_a_row() -> None:
    """A second flag one tick after the first derives the head at the time of the second, at once."""
    text = "h(X)@T+1 :- flag(X)@T, flag(X)@T+1."
    assert final(text, ["flag(a)@3", "flag(a)@4", "flag(b)@4", "flag(a)@6"]) == ["h(a)@4"]
    assert session_answers(INTEGER + text, ["flag(a)@3", "flag(a)@4"], finish=False) == ["h(a)@4"]
    assert delay_of(text) == (0, "waits for nothing in the future")


def test_a_head_in_the_past_waits_as_long_as_it_reaches_back() -> None:
    """What holds two ticks before its body is final two ticks late, and the analysis names the cause."""
    text = "h(X)@T-2 :- p(X)@T, not q(X)@T+1."
    assert final(text, ["p(a)@5", "p(b)@5", "q(b)@6", "p(a)@9"]) == ["h(a)@3", "h(a)@7"]
    assert delay_of(text) == (3, "`diamondplus[3,3]` looks 3 ahead")
    assert delay_of("h(X)@T-2 :- p(X)@T.") == (2, "`@T-2` looks 2 ahead")


def test_recursion_from_time_to_time() -> None:
    """What holds goes on, tick by tick, until something ends it."""
    text = "input on(x). input off(x). h(X)@T :- on(X)@T. h(X)@T+1 :- h(X)@T, not off(X)@T+1."
    assert final(text, ["on(a)@2", "on(b)@3", "off(a)@5", "on(a)@7", "off(a)@9", "off(b)@9"]) == [
        "h(a)@[2,4]",
        "h(a)@[7,8]",
        "h(b)@[3,8]",
    ]


def test_rigid_predicates_need_no_time() -> None:
    """A fact that holds at all times joins at any time."""
    text = "input flag(x). near(a, b). near(b, c). h(Y)@T+1 :- flag(X)@T, near(X, Y)."
    assert final(text, ["flag(a)@3", "flag(b)@5"]) == ["h(b)@4", "h(c)@6"]
    assert delay_of(text)[0] == 0


# --- windows ----------------------------------------------------------------------------------------------------------


def test_a_window_holds_the_time_for_its_length() -> None:
    """`p(X)@T in [n]` at t: p held at one T of the last n ticks, so what stands beside it at T is what counts."""
    text = "h(X) :- p(X)@T in [2], q(X)@T in [4]."
    assert final(text, ["p(a)@3", "q(a)@3", "p(b)@3", "q(b)@4"]) == ["h(a)@[3,5]"]


def test_windows_with_shifts_meet_where_both_hold() -> None:
    """p at T in the last 5 ticks and q at T+2 in the last 1: t-T lies from 2 to 3."""
    text = "h(X) :- p(X)@T in [5], q(X)@T+2 in [1]."
    assert final(text, ["p(a)@3", "q(a)@5"]) == ["h(a)@[5,6]"]


def test_the_head_at_a_time_in_a_window_asks_the_rest_at_some_later_time() -> None:
    """h holds at T as soon as q holds at a t that has T in its window."""
    text = "h(X)@T :- p(X)@T in [5], q(X)."
    assert final(text, ["p(a)@1", "p(a)@2", "q(a)@7", "p(a)@8"]) == ["h(a)@2"]
    assert delay_of(text)[0] == 5


def test_a_negated_window_that_is_shorter() -> None:
    """q at T counts while its window of 1 tick holds T; after that, T is one of p alone."""
    text = "h(X) :- p(X)@T in [3], not q(X)@T in [1]."
    assert final(text, ["p(a)@2", "q(a)@2", "p(b)@2"]) == ["h(a)@[4,5]", "h(b)@[2,5]"]


def test_windows_begin_with_the_stream() -> None:
    """What holds at all times is in the window from the stream's start on, not before; so is a program's early fact."""
    text = "input tick. b(a). b(c)@1. h(X) :- b(X)@T in [3], tick."
    assert final(text, ["tick@4", "tick@5"]) == ["h(a)@[4,5]"]
    assert final("input tick. b(a). h(T) :- b(X)@T in [3], tick.", ["tick@4", "tick@6"]) == [
        "h(4)@4",
        "h(4)@6",
        "h(5)@6",
        "h(6)@6",
    ]


@pytest.mark.parametrize("declared", ["input x.", "input x. input r."])
@pytest.mark.parametrize("start", [None, 1])
def test_a_window_over_what_is_stated_waits_for_the_start(declared: str, start: int | None) -> None:
    """What reads it is not told before that nothing more comes of it."""
    session = Session(
        plan_of(f"timeline integer. {declared} output b. r. b :- r since[1,2] (always r in [7])."), start=start
    )
    session.push("x", [], 1)
    session.finish()
    assert session.pull_records() == [("b", (), 2, POS)]


def test_what_was_in_a_window_before_the_start_is_not_denied() -> None:
    """A negated window holds nothing from before the start: q holds at all times, but not in the window at T-1."""
    text = "input p. q(a). h(X) :- p@T in [9], q(X), not q(X)@T-1 in [99]."
    assert final(text, ["p@4", "p@5"]) == ["h(a)@[4,13]"]


# --- the cooling system -----------------------------------------------------------------------------------------------

COOLING = """
timeline integer.
input temp(node, value).
input flow(node, value).
output steam, liquid, hot, burst.
steam(N)@T :- temp(N, V)@T in [3], V > 100.
liquid(N)@T :- temp(N, V)@T in [3], V > 1, V <= 100.
hot(N)@T :- steam(N)@T in [3], flow(N, F)@T in [3], F < 5.
burst(N)@T :- hot(N)@T in [3], steam(N)@T-1, not liquid(N)@T-2.
"""


def test_a_chain_of_heads_at_t_answers_at_once() -> None:
    """Each rule of the chain speaks of the same T, so all of it is known with the facts of T, and nothing is delayed."""
    assert {item.delay for item in delays(tidelog.compile(COOLING))} == {0}
    plan = plan_of(COOLING)
    session = Session(plan)
    session.push_records(records(plan, ["temp(n1,150)@6", "flow(n1,9)@6"]))
    assert shown(plan, session.pull_records()) == ["steam(n1)@6"]
    session.push_records(records(plan, ["temp(n1,160)@7", "temp(n2,50)@7", "flow(n1,3)@7"]))
    assert sorted(shown(plan, session.pull_records())) == ["burst(n1)@7", "hot(n1)@7", "liquid(n2)@7", "steam(n1)@7"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_engine_answers_the_same(backend: str) -> None:
    """Actors on either backend, with a clock to bind by, give the session's answers."""
    text = COOLING + "output seen. seen(N, T) :- steam(N)@T in [2]. boxplus[0,inf) ever(N) :- steam(N). "
    text += "output since. since(N, T) :- ever(N)@T in [1], temp(N, _)."
    plan = plan_of(text)
    facts = ["temp(n1,150)@6", "flow(n1,9)@6", "temp(n1,160)@7", "flow(n1,3)@7", "temp(n1,20)@9"]
    answers = engine_answers(backend, plan, [MemorySource(records(plan, facts), batch_size=2)], emit="final")
    assert sorted(shown(plan, answers)) == sorted(session_answers(text, facts, emit="final"))


# --- times as values --------------------------------------------------------------------------------------------------


def test_times_in_arguments() -> None:
    """Each time at which p held in the last 5 ticks, as a value."""
    assert final("h(X, T) :- p(X)@T in [5].", ["p(a)@2", "p(a)@[4,5]"]) == [
        "h(a,2)@[2,7]",
        "h(a,4)@[4,9]",
        "h(a,5)@[5,10]",
    ]


def test_times_are_compared() -> None:
    """The order of two events within a window, and the distance between them."""
    text = "h(X, D) :- p(X)@T in [9], q(X)@U in [9], D = U - T, D > 0."
    assert final(text, ["p(a)@2", "q(b)@2", "q(a)@5", "p(b)@6"]) == ["h(a,3)@[5,11]"]


def test_a_value_that_must_be_the_time() -> None:
    """Where T is an argument, too, both must agree."""
    assert final("h(X)@T :- p(X, T)@T+1.", ["p(a,4)@5", "p(b,4)@6"]) == ["h(a)@4"]


def test_a_value_moves_the_head() -> None:
    """A due time computed from a time in a window; the comparison says how far back it may lie."""
    text = "h(X)@S :- p(X, D)@T in [0], S = T + D, S >= T - 2."
    assert final(text, ["p(a,3)@4", "p(b,-2)@5", "p(c,-3)@6"]) == ["h(a)@7", "h(b)@3"]
    assert delay_of(text) == (2, "`h(X)@S` in the head reaches 2 back")


def test_what_names_no_time_is_counted() -> None:
    """A head at a fraction of a tick is no fact, but a failed evaluation of its step."""
    plan = plan_of(INTEGER + "h(X)@S :- p(X, D)@T in [0], S = T + D, S >= T.")
    session = Session(plan)
    session.push("p", ["a", 0.5], time=4)
    session.finish()
    assert session.pull() == []
    assert session.statistics().steps["h/1"].failed_evaluations == 1


def test_what_has_no_end_is_bound_up_to_the_present() -> None:
    """The times of a fact that goes on for ever become values as the stream goes on, up to its last time."""
    text = "input on(x). input tick. boxplus[0,inf) up(X) :- on(X). h(X, T)@T :- up(X)@T."
    assert final(text, ["on(a)@2", "tick@4", "on(b)@5"]) == ["h(a,2)@2", "h(a,3)@3", "h(a,4)@4", "h(a,5)@5", "h(b,5)@5"]


def test_a_leap_that_would_bind_a_million_times_stops_the_engine() -> None:
    """The error names the step and its rule."""
    plan = plan_of(INTEGER + "input on(x). input tick. boxplus[0,inf) up(X) :- on(X). h(X, T)@T :- up(X)@T.")
    session = Session(plan)
    session.push("on", ["a"], time=0)
    with pytest.raises(OperatorError, match="1,000,000"):
        session.push("tick", [], time=5_000_000)


def test_a_snapshot_between_the_clock_and_what_waits() -> None:
    """A session restored from a snapshot goes on where the clock had come to."""
    plan = plan_of(INTEGER + "input on(x). input tick. boxplus[0,inf) up(X) :- on(X). h(X, T)@T :- up(X)@T.")
    first = Session(plan)
    first.push("on", ["a"], time=1)
    first.push("tick", [], time=3)
    second = Session(plan)
    second.restore(json.loads(json.dumps(first.snapshot())))
    second.push("tick", [], time=4)
    second.finish()
    answers = [*map(str, first.pull()), *map(str, second.pull())]
    assert sorted(answers) == ["h(a,1)@1", "h(a,2)@2", "h(a,3)@3", "h(a,4)@4"]


def test_a_constraint_over_times() -> None:
    """Two readings at one time in the last tick contradict each other."""
    text = "timeline integer. bottom :- p(X, V)@T in [1], p(X, W)@T in [1], V < W."
    plan = plan_of(text)
    session = Session(plan)
    session.push_records(records(plan, ["p(a,1)@3", "p(a,2)@4", "p(a,5)@4"]))
    session.finish()
    assert [violation.during for violation in session.pull_violations()] == ["[4,5]"]


# --- found by random comparison with the oracle ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "facts", "expected"),
    [
        ("input p(x). input s(x, y). h(S) :- p(X)@T in [0], s(T, _)@S in [0].", ["p(a)@1", "s(5,a)@1"], []),
        ("input p(x). input s(x, y). h(S) :- p(X)@T in [0], s(T, _)@S in [0].", ["p(a)@1", "s(1,a)@1"], ["h(1)@1"]),
        ("input p(x). input q(x). h@T :- p(X)@T in [0], W = T, not q(W).", ["p(a)@1", "p(a)@2", "q(2)@2"], ["h@1"]),
        ("input p(x). input r. h :- r, p(X)@T in [0], not p(T)@T in [0 step 1].", ["r@0", "p(a)@0"], ["h@0"]),
        ("input p(x). c. a :- c. h :- p(X)@T in [0 step 1], a@T.", ["p(a)@0", "p(a)@3"], ["h@0", "h@3"]),
        (
            "input p(x). input r. h(S)@S :- r@S in [3], p(X)@T in [#2 of p], S > T.",
            ["p(1)@0", "r@2", "p(2)@3", "r@4"],
            ["h(2)@2", "h(4)@4"],
        ),
    ],
    ids=["time as another's argument", "the same, met", "equation", "own argument", "since ever", "tuple window's time"],
)
def test_times_that_meet_as_values(text: str, facts: list[str], expected: list[str]) -> None:
    """A time that another literal, a comparison or a window mentions is the same everywhere."""
    assert final(text, facts) == expected


def test_a_time_without_a_first_value_is_refused() -> None:
    """Beside a window at T, what stands at T-1 alone may hold since ever: the program says so, not the stream."""
    with pytest.raises(tidelog.ProgramError, match="has no first value"):
        tidelog.compile(INTEGER + "input p(x). c. a :- c. h :- p(X)@T in [2 step 2], a@T-1.")
