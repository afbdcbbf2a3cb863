"""Spread over islands and shards, whatever the program, the sources and the clock: what one task tells.

All is told beside one task, whose answers other tests hold against oracles.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from alarms.test_storms import MINUTES, PROGRAM
from alarms.test_storms import histories as storm_histories
from analysis.test_stages import FRAGMENTS, arrivals, compiled, given_programs, keyed_programs
from hypothesis import HealthCheck, assume, given, note
from hypothesis import strategies as st
from limits import limits, some_limits

import tidelog
from drawing import drawn
from islands.layered import layered_programs, layered_streams
from islands.scripts import LAYOUTS, Moving, heard_of, many, scripts, session_of, some_settings
from oracle.agreement import records_of
from oracle.alarm_programs import alarm_programs
from oracle.calendar_programs import calendar_programs, with_calendars
from oracle.evaluate import rules_of
from oracle.grounding import atoms
from oracle.hypothetical_programs import EVERYTHING as ALL_QUESTIONS
from oracle.hypothetical_programs import ask_programs
from oracle.hypothetical_streams import as_records, universes
from oracle.lars_programs import COUNTED, EVERY_FORM, lars_programs, lars_streams
from oracle.machine_programs import events, machine_programs
from oracle.open_programs import open_programs, open_streams
from oracle.programs import programs
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.plan.plan import Plan

ALL = list(HealthCheck)
KINDS = st.sampled_from(("rational", "integer"))
Drawn = tuple[Plan, list[Record]]


@st.composite
def keyed(draw: st.DrawFn) -> Drawn:
    """Recursion, since and until, negation, constraints, facts of its own, delays."""
    kind = draw(KINDS)
    fragment = FRAGMENTS[draw(st.sampled_from(sorted(FRAGMENTS)))]
    program = draw(programs(kind, fragment).flatmap(keyed_programs).flatmap(given_programs))
    plan = compiled(program)
    return plan, records_of(plan, draw(arrivals(plan, program, kind)))


@st.composite
def windows(draw: st.DrawFn) -> Drawn:
    """Times as values, windows that are stepped, or count facts, aggregates, thresholds."""
    forms = draw(st.sampled_from((COUNTED, replace(EVERY_FORM, recursion=True))))
    plan = compiled(draw(lars_programs(forms)))
    return plan, records_of(plan, draw(lars_streams()))


@st.composite
def going_on(draw: st.DrawFn) -> Drawn:
    """What holds until further notice."""
    kind = draw(KINDS)
    plan = compiled(parse(draw(open_programs(kind))))
    return plan, records_of(plan, draw(open_streams(kind)))


@st.composite
def machines(draw: st.DrawFn) -> Drawn:
    """What is assigned."""
    plan = tidelog.compile(draw(machine_programs()))
    return plan, records_of(plan, draw(events()))


@st.composite
def alarms(draw: st.DrawFn) -> Drawn:
    """What people do with alarms."""
    case = draw(alarm_programs(draw(KINDS), most=6))
    plan = tidelog.compile(case.text, desk=draw(st.booleans()))
    return plan, [record for record in case.records(plan) if record[0] in plan.schema.predicates]


@st.composite
def storms(draw: st.DrawFn) -> Drawn:
    """Alarms with causes, of which too many are told."""
    plan = tidelog.compile(PROGRAM.format(unit=draw(st.sampled_from(sorted(MINUTES)))), desk=draw(st.booleans()))
    return plan, draw(storm_histories())


@st.composite
def calendars(draw: st.DrawFn) -> Drawn:
    """Calendars and periods."""
    kind = draw(KINDS)
    text, declared = draw(calendar_programs(kind))
    try:
        plan = tidelog.compile(with_calendars(text, declared))
    except ProgramError:
        assume(False)
    return plan, records_of(plan, draw(open_streams(kind)))


@st.composite
def layers(draw: st.DrawFn) -> Drawn:
    """What is read by another argument than it is told by, or by none."""
    plan = tidelog.compile(draw(layered_programs()))
    return plan, records_of(plan, draw(layered_streams()))


@st.composite
def questions(draw: st.DrawFn) -> Drawn:
    """What may still become true, beside what is."""
    program = draw(ask_programs(ALL_QUESTIONS))
    found = [atom for rule in rules_of(program) for atom, _ in atoms(rule.head)]
    heads = sorted({(atom.predicate, len(atom.arguments)) for atom in found})
    name, arity = draw(st.sampled_from(heads))
    text = format_program(program) + f"ask {name}{'(' + ', '.join(f'A{i}' for i in range(arity)) + ')' if arity else ''}@T."
    try:
        plan = tidelog.compile(text)
    except ProgramError:
        assume(False)
    return plan, draw(as_records(draw(universes(program))))


FAMILIES = {
    found.__name__: found for found in (keyed, windows, going_on, machines, alarms, storms, calendars, layers, questions)
}


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data(), layout=st.sampled_from(LAYOUTS), some=some_limits())
@drawn(60, suppress_health_check=ALL)
def test_spread_it_tells_what_one_task_tells(family: str, data: st.DataObject, layout: Any, some: dict[str, int]) -> None:
    """In all emit modes, from several sources, late and with a clock; states move to other layouts, and to one task."""
    plan, records = data.draw(FAMILIES[family]())
    if data.draw(st.integers(0, 9)) == 0:
        records = many(records, 20)
    sources = ["one", "two", "three"][: data.draw(st.integers(1, 3))]
    settings = data.draw(some_settings(sources))
    steps = data.draw(scripts(plan, records, sources))
    at = st.integers(0, len(steps) - 1)
    moves = data.draw(st.dictionaries(at, st.sampled_from((*LAYOUTS, None, layout, layout)), max_size=3))
    note(f"{plan.program.text}\n{records}\n{moves}\n{settings}")
    with limits(**some):
        expected = heard_of(session_of(plan, settings, None), steps)
        assert heard_of(session_of(plan, settings, layout), steps, Moving(moves)).differences(expected) == {}
