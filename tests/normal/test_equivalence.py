"""A program and its normal form mean the same: both are evaluated by the oracle, and compared at every time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from drawing import drawn
from normal.equivalence import differences
from oracle.evaluate import head_atom, rules_of
from oracle.programs import EVERYTHING, FORWARD, NON_RECURSIVE, PAST_ONLY, Features, Kind, programs, streams
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.normal.normalise import normalise
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.tree.syntax import Program, TimelineDeclaration

FRAGMENTS = {
    "forward": FORWARD,
    "past": PAST_ONLY,
    "non-recursive": replace(NON_RECURSIVE, nested_negation=True),
    "everything": replace(EVERYTHING, nested_negation=True),
}
TRICKY = [
    "s(X) :- boxminus[0,1] p(X,_).",
    "s(X) :- boxminus[0,1] diamondminus[0,1] p(X,Y).",
    "s(X) :- q(X), boxminus[0,2] not r(X).",
    "s(X) :- q(X), diamondminus[0,2] not r(X).",
    "s(X) :- q(X), diamondminus[1,1] (r(Y), not p(X,Y)).",
    "s(X) :- not q(X) since[0,3] r(X).",
    "s(X) :- not q(X) until(0,3] p(X,Y).",
    "s(X) :- (not q(X) since[0,2] r(X)) since[1,2] p(X,_).",
    "s(X) :- not (r(X), not q(X)) since[0,2] (q(X) since(0,2] r(X)).",
    "s(X,Y) :- p(X,Y), boxminus[0,2] (q(X), X != Y, not r(Y)).",
    "s(X,Y) :- q(X), r(Y), not (p(X,_), not X = Y).",
    "s(X,Y) :- q(X), r(Y), not diamondminus[0,2] (p(_,Y) since[0,1] q(X)).",
    "s(X,Y) :- diamondminus[0,2] (p(X,Y) since[0,1] r(X)), q(Y).",
    "s(X) :- boxminus[0,1] (p(X,Y) since[0,1] r(X), q(Y)).",
    "s(X) :- q(X) since[0,1] (p(X,Y) until[0,2] r(X)), q(Y).",
    "s(X) :- q(X), p(X,_) since(1,2] top.",
    "s(X) :- q(X), p(X,_) until[1,2] top.",
    "s(X) :- q(X), bottom since[0,2] r(X).",
    "s :- boxminus[0,1] not q(_).",
    "s(X) :- p(X,X), not not r(X).",
]


def derived(program: Program) -> list[str]:
    """The predicates of the program's heads."""
    return [atom.predicate for rule in rules_of(program) if (atom := head_atom(rule.head)) is not None]


def normal_form(program: Program) -> NormalProgram:
    """The normal form with all that is derived kept; programs that are refused are not compared."""
    try:
        return normalise(program, derived(program))
    except ProgramError:
        assume(False)
        raise


def assert_same_meaning(program: Program, data: st.DataObject, size: int) -> None:
    facts = data.draw(streams(program, size=size, last=5))
    assert differences(program, normal_form(program), facts) == (set(), set())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rational", "integer"])
@pytest.mark.parametrize("fragment", FRAGMENTS)
@given(data=st.data())
@drawn(60, suppress_health_check=list(HealthCheck))
def test_drawn_programs_keep_their_meaning(kind: Kind, fragment: str, data: st.DataObject) -> None:
    """Random programs derive the same facts and violations, normalised or not."""
    features: Features = replace(FRAGMENTS[fragment], rules=4)
    assert_same_meaning(data.draw(programs(kind, features)), data, size=8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rational", "integer"])
@pytest.mark.parametrize("text", TRICKY)
@given(data=st.data())
@drawn(40, suppress_health_check=list(HealthCheck))
def test_hard_cases_keep_their_meaning(kind: Kind, text: str, data: st.DataObject) -> None:
    """Rules that need the less usual laws derive the same facts, normalised or not."""
    program = Program((TimelineDeclaration(kind), *parse(text).statements))
    normalise(program)
    assert_same_meaning(program, data, size=10)
