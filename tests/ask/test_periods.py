"""Questions over what comes again after each period: certain, for all time, by one premise with an open time."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from oracle.agreement import records_of
from oracle.evaluate import GroundFact, evaluate
from tidelog import ProgramError, Session
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_formula
from tidelog.plans.tree.syntax import Interval

INPUTS = "timeline integer. input start(x: text). input tick(x: text). input off(x: text). "
BASES = ("start(X)", "start(X), not off(X)", "diamondminus[0,2] start(X)", "start(X), diamondminus[0,4] off(X)")
ROUNDS = (
    "due(X) :- boxminus[{n}] due(X).",
    "due(X) :- diamondminus[{n}] due(X).",
    "boxplus[{n}] due(X) :- due(X).",
    "due(X)@T+{n} :- due(X)@T.",
    "boxplus[1] due(X) :- boxminus[{n}] diamondplus[1] due(X).",
    "near(X) :- due(X). due(X) :- diamondminus[{n}] near(X).",
    "near(X) :- boxminus[{n}] due(X). boxplus[{k}] due(X) :- near(X).",
    "near(X) :- boxminus[{n}] due(X). due(X) :- diamondminus[{k}] near(X). near(X) :- off(X).",
    "boxplus[1] near(X) :- due(X). last(X) :- diamondplus[{n}] near(X). due(X)@T+6 :- last(X)@T. last(X) :- off(X).",
)
ASKED = (
    "tick(X), due(X)",
    "tick(X), not due(X)",
    "tick(X), due(X), not off(X)",
    "tick(X), diamondminus[0,2] due(X)",
    "tick(X), diamondplus[0,1] due(X)",
    "due(X) since[0,2] tick(X)",
    "tick(X), due(Y)",
)
OF_BOTH = ("tick(X), near(X)", "tick(X), not near(X)", "off(X), near(X)", "tick(X), diamondminus[0,1] near(X)")


@st.composite
def questions(draw: st.DrawFn) -> str:
    bases = "".join(f"due(X) :- {base}. " for base in draw(st.lists(st.sampled_from(BASES), min_size=1, max_size=2)))
    again = draw(st.sampled_from(ROUNDS)).format(n=draw(st.integers(1, 5)), k=draw(st.integers(1, 3)))
    asked = draw(st.sampled_from((*ASKED, *OF_BOTH) if "near" in again else ASKED))
    return f"{INPUTS}{bases}{again} asked(X) :- {asked}. "


@given(data=st.data())
def test_what_is_certain_is_what_holds(data: st.DataObject) -> None:
    """At the stream's end all is decided, as the definition says; also where a session goes on from a snapshot."""
    text = data.draw(questions())
    names, values = st.sampled_from(("start", "tick", "tick", "tick", "off")), st.sampled_from(("a", "b"))
    drawn = sorted(data.draw(st.lists(st.tuples(st.integers(0, 24), names, values), min_size=4, max_size=14, unique=True)))
    facts: list[GroundFact] = [(name, (value,), Interval(Fraction(t), Fraction(t))) for t, name, value in drawn]
    plan = tidelog.compile(text + "ask asked(X)@T.", outputs=False)
    cut = data.draw(st.integers(0, len(facts)))
    session = Session(plan)
    found: dict[str, set[tuple[object, object]]] = {"certain": set(), "rejected": set()}
    for number, record in enumerate(records_of(plan, facts)):
        if number == cut:
            state = json.loads(json.dumps(session.snapshot()))
            session = Session(plan)
            session.restore(state)
        session.push_records([record])
        note(session, found)
    session.finish()
    note(session, found)
    model = evaluate(parse(text), facts, low=Fraction(-8), high=Fraction(40))
    first = model.grid.low
    expected = {
        (row[0], int(first + cell))
        for row in model.rows("asked")
        for cell in model.cells("asked", row)
        if 0 <= first + cell <= 30
    }
    assert {(x, t) for x, t in found["certain"] if isinstance(t, int) and t <= 30} == expected, text
    assert not found["certain"] & found["rejected"], text


def note(session: Session, found: dict[str, set[tuple[object, object]]]) -> None:
    for answer in session.pull_hypothetical():
        if answer.status in found:
            found[answer.status].add((answer.answer["X"], answer.answer["T"]))


def test_the_future_is_told_as_a_condition() -> None:
    """What has begun comes again: the answer's time is open, and tells after which periods it may come."""
    plan = tidelog.compile(
        "timeline integer. input begun(m: text). input visit(m: text). "
        "due(M) :- begun(M). due(M) :- boxminus[7] due(M). kept(M) :- visit(M), due(M). ask kept(M)@T.",
        outputs=False,
    )
    session = Session(plan)
    session.push("begun", ["m1"], 3)
    (possible,) = session.pull_hypothetical()
    assert (possible.status, possible.answer, tuple(map(format_formula, possible.where))) == (
        "possible", {"M": "m1", "T": None}, ("(T - 3) mod 7 = 0", "T >= 3"),
    )  # fmt: skip
    session.push("visit", ["m1"], 7_000_000_003)
    assert [(answer.status, answer.answer["T"]) for answer in session.pull_hypothetical()] == [("certain", 7_000_000_003)]


@pytest.mark.parametrize(
    "rules",
    [
        "ask due(X)@T.",
        "met(X) :- tick(X), boxminus[0,1] due(X). ask met(X)@T.",
        "due(X) :- boxminus[5] due(X). met(X) :- tick(X), due(X). ask met(X)@T.",
        "due(X) :- boxminus[5] near(X). near(X) :- due(X). met(X) :- tick(X), due(X). ask met(X)@T.",
        "near(X) :- boxminus[5] last(X), tick(X). last(X) :- near(X). near(X) :- off(X). met(X) :- tick(X), near(X). "
        "ask met(X)@T.",
    ],
)
def test_what_has_no_period_of_its_own_is_refused_as_before(rules: str) -> None:
    """All its times at once, two that have to agree, or more than one round."""
    with pytest.raises(ProgramError, match="endless-ask"):
        tidelog.compile(f"{INPUTS} due(X) :- start(X). due(X) :- boxminus[7] due(X). {rules}", outputs=False)
