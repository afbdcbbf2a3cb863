"""Drawn programs with facts, for tests of what a batch plan derives: by the kind of what they have in them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import assume
from hypothesis import strategies as st

from oracle.agreement import records_of
from oracle.calendar_programs import calendar_programs, calendar_streams, with_calendars
from oracle.lars_programs import AGGREGATES, COUNTED, HELD, STEPPED, lars_programs, lars_streams
from oracle.machine_programs import events, machine_programs
from oracle.programs import EVERYTHING, Kind, programs, streams
from oracle.recursive_programs import Tiny, compiled, few_facts, tiny_programs
from tidelog.plans.compiling.batch import BatchPlan, compile_batch
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import Program

KINDS: tuple[Kind, ...] = ("rational", "integer")


@dataclass(frozen=True, slots=True, repr=False)
class DrawnPlan:
    """A program, its plan, and facts that it may be given."""

    program: Program
    plan: BatchPlan
    facts: list[Record]

    def __repr__(self) -> str:
        return self.shown(self.facts)

    def shown(self, *more: object) -> str:
        """The program, and what else was drawn, for who has to find out why a test fails."""
        return "\n".join([format_program(self.program), *map(str, more)])


@st.composite
def metric_plans(draw: st.DrawFn, *, size: int, windows: bool = False) -> DrawnPlan:
    """Joins, negation, recursion, since, constraints that are violated and are not, over both timelines.

    With `windows` also those that are clipped where the stream starts.
    """
    features = replace(EVERYTHING, constraints=draw(st.booleans()), windows=windows)
    program = draw(programs(draw(st.sampled_from(KINDS)), features))
    plan = _compiled(program)
    return DrawnPlan(program, plan, records_of(plan, draw(streams(program, infinite=True, size=size))))


@st.composite
def group_plans(draw: st.DrawFn, *, windows: bool = False) -> DrawnPlan:
    """What is aggregated, or held, depends on the other rows of its group; with `windows` also on steps of windows alone."""
    forms = [AGGREGATES, HELD, COUNTED, *([STEPPED] if windows else [])]
    program = draw(lars_programs(draw(st.sampled_from(forms))))
    plan = compile_batch(program)
    return DrawnPlan(program, plan, records_of(plan, draw(lars_streams())))


@st.composite
def endless_plans(draw: st.DrawFn, *, negation: bool = False, times: int = 1) -> DrawnPlan:
    """Recursion through time, in both directions, that may repeat for ever, with so many `times` a few facts."""
    tiny = Tiny(draw(st.sampled_from(KINDS)), negation=negation)
    program = draw(tiny_programs(tiny))
    facts = [fact for _ in range(times) for fact in draw(few_facts(program, tiny))]
    plan = compiled(program)
    return DrawnPlan(program, plan, records_of(plan, facts))


@st.composite
def calendar_plans(draw: st.DrawFn) -> DrawnPlan:
    """Rules that read calendars, and count what they say per period."""
    kind = draw(st.sampled_from(KINDS))
    text, declared = draw(calendar_programs(kind))
    program = parse(with_calendars(text, declared))
    plan = _compiled(program)
    return DrawnPlan(program, plan, records_of(plan, draw(calendar_streams(kind, text))))


@st.composite
def machine_plans(draw: st.DrawFn) -> DrawnPlan:
    """Machines that read each other."""
    program = parse(draw(machine_programs()))
    plan = _compiled(program)
    return DrawnPlan(program, plan, records_of(plan, draw(events())))


def _compiled(program: Program) -> BatchPlan:
    try:
        return compile_batch(program)
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= {"not-supported"}
        assume(False)
