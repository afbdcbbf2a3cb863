"""Islands tell what the whole plan tells, and each row is told by one shard alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from analysis.test_stages import FRAGMENTS, arrivals, compiled, given_programs, keyed_programs
from engine.standing.test_programs import compiled as compiled_standing
from hypothesis import HealthCheck, given, note
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from islands.apart import agree_apart
from islands.layered import layered_programs, layered_streams
from oracle.alarm_programs import alarm_programs
from oracle.calendar_programs import calendar_programs, with_calendars
from oracle.evaluate import GroundFact
from oracle.lars_programs import COUNTED, EVERY_FORM, lars_programs, lars_streams
from oracle.machine_programs import events, machine_programs
from oracle.open_programs import open_programs, open_streams
from oracle.programs import Kind, programs
from tidelog.plans.language.parser import parse
from tidelog.plans.tree.syntax import Program

ALL = list(HealthCheck)


def cuts_of(data: st.DataObject, facts: list[GroundFact]) -> list[int]:
    return sorted(data.draw(st.lists(st.integers(0, len(facts)), max_size=3)))


@pytest.mark.parametrize("kind", ["rational", "integer"])
@pytest.mark.parametrize("fragment", FRAGMENTS)
@given(data=st.data())
@drawn(20, suppress_health_check=ALL)
def test_whatever_the_program(kind: Kind, fragment: str, data: st.DataObject) -> None:
    """With recursion, negation, constraints, since and until; with facts of its own, and delays."""
    program = data.draw(programs(kind, FRAGMENTS[fragment]).flatmap(keyed_programs).flatmap(given_programs))
    plan = compiled(program)
    facts = data.draw(arrivals(plan, program, kind))
    agree_apart(plan, facts, cuts_of(data, facts), Fraction(data.draw(st.integers(0, 2))))


@given(program=lars_programs(replace(EVERY_FORM, recursion=True)), facts=lars_streams(), data=st.data())
@drawn(30, suppress_health_check=ALL)
def test_times_and_steps(program: Program, facts: list[GroundFact], data: st.DataObject) -> None:
    """Time variables, and windows that are stepped, clipped, or count facts."""
    plan = compiled(program)
    agree_apart(plan, facts, cuts_of(data, facts), min((Fraction(fact[2].low) for fact in facts), default=Fraction(0)))


@given(program=lars_programs(COUNTED), facts=lars_streams(), data=st.data())
@drawn(20, suppress_health_check=ALL)
def test_aggregates(program: Program, facts: list[GroundFact], data: st.DataObject) -> None:
    """What is counted by the key."""
    plan = compiled(program)
    agree_apart(plan, facts, cuts_of(data, facts), min((Fraction(fact[2].low) for fact in facts), default=Fraction(0)))


@pytest.mark.parametrize("kind", ["rational", "integer"])
@given(data=st.data())
@drawn(20, suppress_health_check=ALL)
def test_what_goes_on_holding(kind: Kind, data: st.DataObject) -> None:
    """What holds until further notice."""
    program = parse(data.draw(open_programs(kind)))
    facts = data.draw(open_streams(kind))
    agree_apart(compiled(program), facts, cuts_of(data, facts), Fraction(0))


@given(data=st.data())
@drawn(40, suppress_health_check=ALL)
def test_machines(data: st.DataObject) -> None:
    """What is assigned to a key is ended by what else is assigned to it."""
    plan = tidelog.compile(data.draw(machine_programs()))
    facts = data.draw(events())
    agree_apart(plan, facts, cuts_of(data, facts), Fraction(0))


@pytest.mark.parametrize("kind", ["rational", "integer"])
@given(data=st.data())
@drawn(10, suppress_health_check=ALL)
def test_alarms(kind: Kind, data: st.DataObject) -> None:
    """With what people do, and with what desks are told."""
    case = data.draw(alarm_programs(kind, most=6))
    plan = tidelog.compile(case.text, desk=data.draw(st.booleans()))
    known = [record for record in case.records(plan) if record[0] in plan.schema.predicates]
    facts: list[GroundFact] = [(name, row, plan.timeline.decode_interval(lo, hi)) for name, row, lo, hi in known]
    note(f"{case}\n{facts}")
    agree_apart(plan, facts, cuts_of(data, facts), Fraction(0))


@pytest.mark.parametrize("kind", ["rational", "integer"])
@given(data=st.data())
@drawn(20, suppress_health_check=ALL)
def test_calendars(kind: Kind, data: st.DataObject) -> None:
    """Every shard knows all calendars."""
    text, declared = data.draw(calendar_programs(kind))
    program, _ = compiled_standing(with_calendars(text, declared))
    facts = data.draw(open_streams(kind))
    agree_apart(compiled(program), facts, cuts_of(data, facts), Fraction(0))


@given(program=layered_programs(), facts=layered_streams(), data=st.data())
@drawn(40, suppress_health_check=ALL)
def test_layers(program: str, facts: list[GroundFact], data: st.DataObject) -> None:
    """What is read by another argument, or by none, is told by the island before."""
    agree_apart(tidelog.compile(program), facts, cuts_of(data, facts), Fraction(0))
