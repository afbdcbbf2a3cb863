"""Questions as stages: where one has a key, sessions that know one key each tell what a session that knows all tells."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tests.analysis.staged import StagedRun
from tidelog import Session
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.explaining.reports.stage_report import stage_lines
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.plans.stages.stages import stages_of

INPUTS = "timeline integer. input p(x). input q(x,y). input n(x)."
FIRST = ("p(X)", "q(X,_)", "diamondminus[0,2] p(X)", "diamondplus[1,2] q(X,_)", "b(X)")
MORE = (
    "not n(X)",
    "boxplus[1,2] not n(X)",
    "boxminus[0,1] p(X)",
    "diamondplus[0,3] n(X)",
    "diamondplus[1,2] p(X)",
    "(p(X) since[0,2] q(X,_))",
    "not diamondplus[0,2] q(X,k)",
    "q(X,l)",
)
TIMED = ("a(X)@T-2 :- b(X)@T.", "b(X)@T+1 :- p(X)@T, q(X,_)@T+1.", "a(X)@T :- p(X)@T, p(X)@S, S > T, S < T+3.")
VALUES = ("k", "l", "m", 1)
LAST = 6
Steps = list[tuple[list[Record], int]]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Rules that all join on their first argument, and a question about what the last derives."""
    rules = []
    for head, first in (("b(X)", FIRST[:-1]), ("a(X)", FIRST)):
        for _ in range(draw(st.integers(1, 2))):
            body = [draw(st.sampled_from(first)), *draw(st.lists(st.sampled_from(MORE), max_size=2, unique=True))]
            rules.append(f"{head} :- {', '.join(body)}.")
    rules += draw(st.lists(st.sampled_from(TIMED), max_size=2, unique=True))
    return " ".join([INPUTS, *rules, "ask a(X)@T."])


@st.composite
def steps(draw: st.DrawFn) -> Steps:
    """Facts in the order of time, and a watermark behind each step."""
    rows = st.one_of(
        st.tuples(st.just("p"), st.tuples(st.sampled_from(VALUES))),
        st.tuples(st.just("n"), st.tuples(st.sampled_from(VALUES))),
        st.tuples(st.just("q"), st.tuples(st.sampled_from(VALUES), st.sampled_from(VALUES[:2]))),
    )
    found, time = [], 0
    while time <= LAST:
        until = draw(st.integers(time, LAST))
        facts = draw(st.lists(st.tuples(rows, st.integers(time, until)), max_size=4))
        records: list[Record] = [(name, row, at, at) for (name, row), at in sorted(facts, key=lambda fact: fact[1])]
        found.append((records, until))
        time = until + 1
    return found


def as_one(plan: Plan, stream: Steps) -> list[HypotheticalAnswer]:
    """What a session that knows all keys tells. Windows are clipped where the stream starts, so it is told."""
    session = Session(plan, lateness=math.inf, start=0)
    for records, watermark in stream:
        session.push_records(records)
        session.advance(watermark)
    session.finish()
    return session.pull_hypothetical()


def by_keys(plan: Plan, stream: Steps, *, stores: bool, sleeps: bool) -> list[HypotheticalAnswer]:
    """What sessions of one key each tell."""
    run = StagedRun(plan, Fraction(0), stores=stores, sleeps=sleeps)
    for records, watermark in stream:
        run.push(records)
        run.advance(Fraction(watermark))
    run.finish()
    return run.asked()


def lines(answers: list[HypotheticalAnswer]) -> dict[str, list[HypotheticalAnswer]]:
    """The lines about each answer, in their order, but for those that tell only that a way to it is lost.

    When they became known is by the facts of all keys, or of one. So is which of several reasons a rejection names, the last
    to become known. A session that goes on from a snapshot may tell of a lost way of which one that goes on says nothing.
    """
    found: dict[str, list[HypotheticalAnswer]] = {}
    for answer in answers:
        told = replace(answer, at=None)
        if answer.status == "rejected":
            told = replace(told, evidence=(), failed=None, group="")
        if answer.status != "possible" or answer.failed is None:
            found.setdefault(str(answer.answer), []).append(told)
    return found


@pytest.mark.slow
@drawn(150)
@given(programs(), steps(), st.booleans(), st.booleans())
@example(f"{INPUTS} a(X) :- p(X), boxplus[1,2] not n(X). ask a(X)@T.", [([("p", ("k",), 0, 0)], 0), ([], 6)], True, True)
@example(
    f"{INPUTS} a(X) :- count() over q(X, _) in [4] by X >= 2, not n(X). ask a(X)@T.",
    [([("q", ("k", "k"), 0, 0), ("q", ("l", "k"), 1, 1)], 1), ([("q", ("k", "l"), 2, 2), ("n", ("k",), 2, 2)], 6)],
    True,
    True,
)
def test_keys_apart_tell_what_one_session_tells(text: str, stream: Steps, stores: bool, sleeps: bool) -> None:
    """Also where each session is stored after each step, and where it is told nothing before its deadline."""
    try:
        plan = tidelog.compile(text)
    except ProgramError:
        assume(False)
    asked = stages_of(plan).stages[-1]
    assert asked.key is not None
    told = by_keys(plan, stream, stores=stores, sleeps=sleeps)
    assert lines(told) == lines(as_one(plan, stream))


def shown(text: str) -> list[str]:
    return list(stage_lines(stages_of(tidelog.compile(text))))


def test_a_question_has_a_key_where_its_answers_show_it() -> None:
    """Otherwise it is asked in one session, and the report says so."""
    text = "timeline integer. input q(x,y). input r(y). p(Y) :- q(X,Y), diamondplus[1,1] r(Y). s(X) :- q(X,Y), r(Y)."
    assert shown(f"{text} ask p(X)@T.")[-1] == "3: q(_, K), r(K) -> answers to p(X)@T"
    assert shown(f"{text} ask s(X)@T.")[-2:] == [
        "3: q(_, _), r(_) -> answers to s(X)@T",
        "  one session, because of ask s(X)@T.",
    ]
    assert "one session" in shown(f"{text} ask p(_)@T.")[-1]
    assert "one session" in shown(f"{text} ask p(a)@T.")[-1]


def test_a_question_may_look_where_rules_of_a_stream_may_not() -> None:
    """The key follows from the rules as they are written, also where their heads lie behind what they rest on."""
    text = "timeline integer. input q(x). output p. p(X) :- q(X). a(X)@T-2 :- p(X)@T, q(X)@T-1. ask a(X)@T."
    assert shown(text)[-1] == "2: q(K) -> answers to a(X)@T"


def test_what_may_hold_for_a_key_of_which_nothing_comes_has_no_key() -> None:
    """What the program states of a predicate that streams bring would be told by nobody."""
    inputs = "timeline integer. input q(x). input r(x)."
    assert "one session" in shown(f"{inputs} q(z)@3. a(X) :- q(X), diamondplus[1,1] r(X). ask a(X)@T.")[-1]


def test_two_questions_about_one_predicate_keep_their_names() -> None:
    """Lines say which of them they answer, as those of one session do."""
    plan = tidelog.compile(f"{INPUTS} a(X) :- p(X). ask a(X)@T. ask a(k)@T.")
    stream: Steps = [([("p", ("k",), 0, 0), ("p", ("l",), 0, 0)], 3)]
    told = by_keys(plan, stream, stores=False, sleeps=False)
    assert sorted(answer.query for answer in told) == sorted(answer.query for answer in as_one(plan, stream))


def test_what_the_program_states_is_told_by_the_session_of_its_key() -> None:
    """Each session has the program's facts, and one of them tells what follows."""
    plan = tidelog.compile(f"{INPUTS} limit(k). limit(l). a(X) :- p(X), limit(X), diamondplus[1,1] n(X). ask a(X)@T.")
    stream: Steps = [([("p", ("k",), 0, 0)], 0), ([("n", ("k",), 1, 1)], 3)]
    told = by_keys(plan, stream, stores=True, sleeps=False)
    assert lines(told) == lines(as_one(plan, stream))
    assert [answer.status for answer in told] == ["possible", "certain"]


def test_facts_that_come_late_are_waited_for() -> None:
    """Where an input declares a delay, its absence is certain so much later, in every session."""
    plan = tidelog.compile(
        "timeline integer. input p(x). input n(x) delay 2. a(X) :- p(X), boxplus[1,1] not n(X). ask a(X)@T."
    )
    stream: Steps = [([("p", ("k",), 0, 0), ("p", ("l",), 0, 0)], 2), ([("n", ("l",), 1, 1)], 4)]
    told = by_keys(plan, stream, stores=True, sleeps=True)
    assert lines(told) == lines(as_one(plan, stream))
    assert {answer.status for answer in told} == {"possible", "certain", "rejected"}
