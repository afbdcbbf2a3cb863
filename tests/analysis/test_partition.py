"""Partition keys: by hand, and by running each part of a partitioned stream on its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from oracle.evaluate import GroundFact
from oracle.programs import NON_RECURSIVE, PAST_ONLY, VALUES, Kind, programs, streams
from tidelog.operators.stores.coverage import Coverage
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_statement
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.partition import Partition, partitions_of

COMPARED, WATERMARK = 20, 120
FRAGMENTS = {"past": PAST_ONLY, "future": NON_RECURSIVE}


def parts(text: str) -> list[Partition]:
    return list(partitions_of(tidelog.compile(text)))


def keys(text: str) -> list[dict[str, int]]:
    """The keys of the only part, without fresh predicates."""
    (part,) = parts(text)
    return [{name: key[name] for name in part.predicates} for key in part.keys]


def test_network_is_keyed_by_the_signal() -> None:
    """Nodes meet along edges, signals never meet; the edges that no stream feeds are exempt."""
    text = """
        input Signal(name). input Seen(node, name).
        Flag(X,Z) :- Monit(X,Z), boxminus[0,4] diamondminus[0,2] Signal(Z).
        boxplus[0,3] Monit(X,Z) :- Flag(Y,Z), Connect(X,Y).
        Monit(X,Z) :- Seen(X,Z).
        Connect(n1,n2).
    """
    assert keys(text) == [{"Signal": 0, "Seen": 1, "Flag": 1, "Monit": 1}]


def test_several_keys() -> None:
    """Each argument that all rules join on is a key of its own."""
    assert keys("p(X,Y) :- q(Y,X), not diamondplus[0,1] r(X,3,Y).") == [
        {"p": 0, "q": 1, "r": 0},
        {"p": 1, "q": 0, "r": 2},
    ]


def test_keys_through_since_and_constants() -> None:
    """Both sides of since must agree; a constant agrees with the same constant."""
    assert keys("p(X) :- q(X,_) since[0,3] r(_,X).") == [{"p": 0, "q": 0, "r": 1}]
    assert keys("p(a,X) :- q(a,Y), r(X,Y,a).") == [{"p": 0, "q": 0, "r": 2}]


def test_parts_that_share_nothing() -> None:
    """Parts that only share what no stream feeds have keys of their own."""
    text = "input q(x). input s(x). p(X) :- q(X), b(X,Y). r(Y) :- s(Y), b(X,Y). b(1,2)."
    assert {frozenset(part.predicates) for part in parts(text)} == {frozenset("pq"), frozenset("rs")}
    assert all(len(part.keys) == 1 for part in parts(text))


def test_constraints_need_no_head() -> None:
    """What breaks a constraint need not show the key, as long as its atoms agree on one."""
    assert keys("input q(x). input r(x,y). bottom :- q(X), r(X,_).") == [{"q": 0, "r": 0}]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("p(X) :- q(X), r(Y). s(X) :- q(X).", "p(X) :- q(X), r(Y)."),
        ("s(X) :- p(X). p(X) :- q(X), not r(_).", "p(X) :- q(X), not r(_)."),
        ("s(X) :- q(X). p :- q(X).", "p :- q(X)."),
        ("s(X) :- p(X). p(X) :- q(_) since[0,3] r(X).", "p(X) :- q(_) since[0,3] r(X)."),
        ("input q. input r(x). bottom :- q. p(X) :- r(X), q.", "bottom :- q."),
        ("p(Y) :- p(X), e(X,Y). p(X) :- q(X).", "p(Y) :- p(X), e(X,Y)."),
        ("p(X,Y) :- q(X,Y). p(X,Y) :- p(Y,X), f(X,Y).", "p(X,Y) :- p(Y,X), f(X,Y)."),
    ],
)
def test_rule_that_prevents_keys(text: str, rule: str) -> None:
    """Without a key, the rule in which rows meet is named."""
    (part,) = parts(text)
    assert part.keys == ()
    assert part.prevented_by == format_statement(parse(rule).statements[0])


# --- running the parts --------------------------------------------------------------------------------------------------


def coverage(plan: Plan, facts: Iterable[GroundFact]) -> dict[str, Coverage]:
    """What each output holds up to `COMPARED`, once the watermark is far beyond all delays.

    The stream does not end: recursion that has no end of its own is followed as far in each part as in the whole.
    """
    session = tidelog.Session(plan, start=0)
    session.push_records((name, row, *plan.timeline.encode_interval(when)) for name, row, when in facts)
    session.advance(WATERMARK)
    last = plan.timeline.encode_point(Fraction(COMPARED))
    found: dict[str, Coverage] = {}
    for name, row, lo, hi in session.pull_records():
        if lo <= last:
            found.setdefault(name, Coverage()).insert([(row, lo, min(hi, last))])
    return found


def rows(found: Mapping[str, Coverage], names: Iterable[str]) -> dict[str, dict[object, list[int]]]:
    return {name: {row: list(bounds) for row, bounds in found[name].rows.items()} for name in names if name in found}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rational", "integer"])
@pytest.mark.parametrize("fragment", FRAGMENTS)
@given(data=st.data())
@drawn(60, suppress_health_check=list(HealthCheck))
def test_parts_give_what_the_whole_gives(kind: Kind, fragment: str, data: st.DataObject) -> None:
    """Split by a key, and run one by one, the stream gives the same answers."""
    program = data.draw(programs(kind, FRAGMENTS[fragment]))
    try:
        plan = compile_program(program)
    except ProgramError:
        assume(False)
        raise
    keyed = [(part, key) for part in partitions_of(plan) for key in part.keys]
    assume(keyed)
    part, key = data.draw(st.sampled_from(keyed))
    facts = data.draw(streams(program, last=6))
    together: dict[str, Coverage] = {}
    for value in VALUES:
        own = [fact for fact in facts if fact[0] not in key or fact[1][key[fact[0]]] == value]
        for name, found in coverage(plan, own).items():
            told = [(row, bounds[i], bounds[i + 1]) for row, bounds in found.rows.items() for i in range(0, len(bounds), 2)]
            together.setdefault(name, Coverage()).insert(told)
    assert rows(together, part.predicates) == rows(coverage(plan, facts), part.predicates)
