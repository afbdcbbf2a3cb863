"""Recursive rules over what goes on holding: a moment costs nothing, and the answers are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from engine.test_deadlines import Calls, assert_announcements_change_nothing
from engine.test_session_equals_oracle import compiled
from tidelog import OperatorError, Session
from tidelog.plans.explaining.text import explain
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan

M = "m(X,Y) :- not q(X) since r(X,Y)."
RECURSIVE = [
    f"{M} o(X,Y) :- m(X,Y). o(X,Z) :- o(X,Y), m(Y,Z).",
    f"{M} o(X,Y) :- m(X,Y). o(X,Y) :- r(Y,X). o(X,Z) :- o(X,Y), o(Y,Z).",
    f"{M} o(X) :- p(X). o(Y) :- o(X), m(X,Y).",
    f"{M} o(X,Y) :- m(X,Y). o(X,Z) :- o(X,Y), m(Y,Z), not p(Z).",
    f"{M} n(X) :- diamondminus[0,6] q(X), not p(X). o(X,Y) :- m(X,Y), not n(X). o(X,Z) :- o(X,Y), r(Y,Z), not n(Z). "
    "o(X,Z) :- m(Y,Z), o(X,Y), not n(Y).",
    f"{M} o(X,Y) :- m(X,Y). o(X,Y) :- s(Y,X). s(X,Z) :- o(X,Y), r(Y,Z). s(X,X) :- q(X).",
    f"{M} o(X,N) :- m(X,_), N = 0. o(Y,N) :- o(X,K), m(X,Y), N = K + 1, N < 4.",
    f"{M} o(X) :- boxminus[0,1] p(X). o(Y) :- o(X), m(X,Y), X != Y. s(X) :- o(X), not q(X). t(X) :- m(X,a) since[0,2] o(X).",
    f"{M} n(X) :- q(X), not p(X). o(X,Y) :- m(X,Y). o(X,Y) :- o(Y,X), not n(X). s(X) :- diamondminus[1,2] o(X,_).",
    f"{M} o(X,X) :- m(X,_). o(X,Z) :- o(X,Y), m(Y,Z), o(_,Z). o(X,Y) :- diamondminus[0,3] r(X,Y), o(Y,_), not p(X).",
    "m(a,b). m(b,a). m(X,Y) :- not q(X) since r(X,Y). o(X,Y) :- m(X,Y). o(X,Z) :- o(X,Y), m(Y,Z).",
]


def takes_notices(plan: Plan) -> bool:
    return any(plan.step(name).loop is not None for name in plan.announcing)


@pytest.mark.parametrize("rules", RECURSIVE)
@drawn(25)
@given(data=st.data())
def test_recursive_announcements_change_nothing(rules: str, data: st.DataObject) -> None:
    """With late facts, snapshots and cycles in the data, a loop tells what it tells where it takes pieces, as soon."""
    program = parse(f"timeline {data.draw(st.sampled_from(['integer', 'rational']))}. {rules}")
    assert takes_notices(compiled(program))
    assert_announcements_change_nothing(program, data)


REACH = (
    "timeline integer. input link(a,b). input down(a,b). up(A,B) :- not down(A,B) since link(A,B). "
    "reach(A,B) :- up(A,B). reach(A,C) :- reach(A,B), up(B,C). output reach."
)


def linked(count: int) -> Session:
    """So many latched links, in lines of five."""
    session = Session(tidelog.compile(REACH), emit="changes")
    session.push_records([("link", (f"n{i}", f"n{i}" if i % 6 == 5 else f"n{i + 1}"), 0, 0) for i in range(count)])
    session.advance(5)
    session.pull()
    return session


@pytest.mark.pure
def test_a_moment_costs_a_loop_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside 10 and beside 200 open links a hundred moments call nobody, and a link costs as many calls."""
    calls = Calls(monkeypatch)
    found = []
    for count in (10, 200):
        session = linked(count)
        assert calls.during(session) == (0, 0)
        for time in range(6, 106):
            session.advance(time)
        assert (calls.calls, session.pull()) == (0, [])
        found.append(calls.during(session, ("link", ["x", "y"], 200), ("down", ["x", "y"], 210)))
        session.advance(230)
        assert {answer.row for answer in session.pull_records()} == {("x", "y")}
    assert found[0] == found[1]


def test_a_cycle_does_not_hold_itself() -> None:
    """What rests on itself alone ends with the last link from outside."""
    session = Session(tidelog.compile(REACH.replace("output reach.", "r(X) :- reach(s,X). output r.")), emit="changes")
    for link in (("s", "a"), ("a", "b"), ("b", "a")):
        session.push("link", list(link), 1)
    session.advance(5)
    session.pull()
    session.push("down", ["s", "a"], 10)
    session.advance(12)
    ended = {(answer.row, answer.hi) for answer in session.pull_records()}
    assert ended == {(("a",), 10), (("b",), 10)}


def test_open_rows_create_no_values_without_end() -> None:
    """A loop that computes new values without end is refused, whatever feeds it."""
    text = "timeline integer. input p(n). input q(n). m(X) :- not q(X) since p(X). o(X) :- m(X). o(Y) :- o(X), Y = X + 1."
    session = Session(tidelog.compile(text))
    with pytest.raises(OperatorError, match="creates new values without end"):
        session.push("p", [1], 1)
        session.advance(5)


def test_explain_tells_that_a_loop_takes_notices() -> None:
    """The plan says which of a loop's predicates are announced."""
    assert "takes notices; reach announced" in explain(tidelog.compile(REACH))
