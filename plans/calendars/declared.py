"""From declarations to calendars: those of a program by name, and what `per` names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

from tidelog.plans.calendars.calendar import Calendar, Spell, every, of_events
from tidelog.plans.diagnostics.errors import Diagnostic, ProgramError
from tidelog.plans.tree.syntax import CalendarDeclaration, Period, PeriodName, Program


def calendars_of(declarations: Iterable[CalendarDeclaration]) -> dict[str, Calendar]:
    """The calendars of a checked program by name; ProgramError for one whose file has not been read."""
    declared = {item.predicate: item for item in declarations}
    found: dict[str, Calendar] = {}

    def find(name: str) -> Calendar:
        if name not in found:
            item = declared[name]
            found[name] = _calendar(item, tuple(map(find, item.excepted)))
        return found[name]

    return {name: find(name) for name in declared}


def _calendar(item: CalendarDeclaration, excepted: tuple[Calendar, ...]) -> Calendar:
    if item.path:
        if item.events is None:
            message = f"the file `{item.path}` of calendar `{item.predicate}` has not been read"
            raise ProgramError([Diagnostic("calendar-file", message, item.span, help="compile it with `tidelog.compile`")])
        found = of_events((Spell(*event) for event in item.events), excepted, is_named=bool(item.fields))
        return replace(found, file=f"{item.predicate} {item.path}")
    return Calendar(item.daily, item.each, zone=item.zone, excepted=excepted, is_named=bool(item.fields))


def calendar_named(period: Period, calendars: Mapping[str, Calendar]) -> Calendar:
    """The calendar that `per` names: a declared one, or the period of that name, as always with a zone."""
    declared = None if period.zone else calendars.get(period.name)
    return declared or every(cast(PeriodName, period.name), period.zone)


def with_events(program: Program, calendars: Iterable[CalendarDeclaration]) -> Program:
    """A program that was read from text, with the events of these calendars' files as they are known already."""
    known = {item.predicate: item.events for item in calendars if item.path}
    if not known:
        return program
    statements = (
        replace(item, events=known[item.predicate])
        if isinstance(item, CalendarDeclaration) and item.path and item.predicate in known
        else item
        for item in program.statements
    )
    return replace(program, statements=tuple(statements))
