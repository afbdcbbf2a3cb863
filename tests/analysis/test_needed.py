"""Rows that the rules of a program need: by hand, and beside a session that is given all of them."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from oracle.agreement import records_of, runs_of
from oracle.programs import EVERYTHING, programs, streams
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.stages.needed import needed_rows
from tidelog.plans.tree.syntax import Program

ROWS = [("a", 7), ("a", 31), ("b", 30), ("b", "low"), ("a", "high")]


@pytest.mark.parametrize(
    ("rules", "needed"),
    [
        ("q(X) :- p(X, high).", [("a", "high")]),
        ("q(X) :- p(X, C), C >= 30.", [("a", 31), ("b", 30)]),
        ("q(X) :- p(X, C), 30 > C.", [("a", 7)]),
        ("q(X) :- p(X, C), C != 7, C != low.", [("a", 31), ("b", 30), ("a", "high")]),
        ("q(X) :- p(X, low). q(X) :- r(X), not sometime p(X, 7) in [5].", [("a", 7), ("b", "low")]),
        ("q(X) :- p(X, C), diamondminus[1,2] p(X, 7), C > 30.", [("a", 7), ("a", 31)]),
        ("q(X) :- p(X, C), r(C).", ROWS),
        ("q(X) :- p(X, high). s(X) :- p(X, _).", ROWS),
        ("output p, q. q(X) :- p(X, high).", ROWS),
        ("q(X) :- latest p(X, high) by X in [5].", ROWS),
        ("q(X) :- p(X, high) in [#3 of p].", ROWS),
        ("q(X) :- count() over (p(X, C), C > 9) in [5] by X >= 2.", ROWS),
        ("q(X) :- count() over p(X, low) in [5] by X >= 2.", [("b", "low")]),
        ("q(X) :- p(X, high). p(X, Y) :- r(X, Y).", ROWS),
    ],
)
def test_what_rules_ask_of_a_row(rules: str, needed: list[tuple[str, int | str]]) -> None:
    """Constants, and comparisons with constants; all rows where something else looks at them."""
    found = needed_rows(parse(f"timeline integer. {rules}"), "p")
    assert [row for row in ROWS if found is None or found(row)] == needed


@pytest.mark.slow
@given(program=programs("integer", EVERYTHING), data=st.data())
@drawn(60, suppress_health_check=list(HealthCheck))
def test_what_is_not_needed_changes_nothing(program: Program, data: st.DataObject) -> None:
    """A session that is not given what no rule needs tells the same."""
    try:
        plan = compile_program(program)
    except ProgramError:
        assume(False)
        raise
    records = records_of(plan, data.draw(streams(program, last=6)))
    found = {name: needed_rows(program, name) for name in plan.schema.predicates}
    kept = [record for record in records if (need := found.get(record[0])) is None or need(record[1])]
    told = []
    for some in (records, kept):
        session = tidelog.Session(plan, lateness=math.inf, start=0)
        session.push_records(some)
        session.advance(50)
        told.append(runs_of((name, row, lo, min(hi, 40)) for name, row, lo, hi in session.pull_records() if lo <= 40))
    assert told[0] == told[1]
