"""Check: calendars have a unit of time, a zone that there is, a name of their own, and leave out calendars alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import get_args

from tidelog.plans.calendars.zones import UnknownZoneError, zone_named
from tidelog.plans.diagnostics.errors import Diagnostic, Note, Span
from tidelog.plans.tree import syntax
from tidelog.plans.tree.walk import derived, name_span, periods, statements_of

PERIODS: tuple[str, ...] = get_args(syntax.PeriodName)
MAX_CALENDARS = 200
"""The most calendars that a program may have."""

_Calendars = Mapping[str, syntax.CalendarDeclaration]


def check_calendars(program: syntax.Program) -> Iterator[Diagnostic]:
    """What calendars, and the periods of aggregates, say of time, of zones and of each other."""
    declared = statements_of(program, syntax.CalendarDeclaration)
    calendars = {item.predicate: item for item in reversed(declared)}
    if len(declared) > MAX_CALENDARS:
        yield Diagnostic(
            "too-many-calendars", f"a program has at most {MAX_CALENDARS} calendars", declared[MAX_CALENDARS].span
        )
        return
    yield from _check_unit(program, declared)
    for item in declared:
        yield from _check_zone(item.zone, name_span(program, Span(item.span.start, len(program.text)), item.zone))
        first = calendars[item.predicate]
        if first is not item:
            message = f"calendar `{item.predicate}` is declared twice"
            notes = (Note(first.span, "declared here first"),)
            yield Diagnostic("duplicate-directive", message, item.span, notes=notes, help="keep one of them")
    yield from _check_other_facts(program, calendars)
    yield from _check_excepted(program, calendars)
    for period in periods(program):
        yield from _check_period(period, calendars)


def _check_unit(program: syntax.Program, declared: tuple[syntax.CalendarDeclaration, ...]) -> Iterator[Diagnostic]:
    timelines = statements_of(program, syntax.TimelineDeclaration)
    if timelines and timelines[-1].unit is not None:
        return
    help = "declare it, such as `timeline integer, unit 1 s`"
    for item in declared[:1]:
        message = "a calendar needs to know what the number 1 means as a time"
        yield Diagnostic("unit-undeclared", message, item.span, help=help)
    for period in [*periods(program)][: not declared]:
        message = f"`per {period.name}` needs to know what the number 1 means as a time"
        yield Diagnostic("unit-undeclared", message, period.span, help=help)


def _check_zone(zone: str, span: Span) -> Iterator[Diagnostic]:
    try:
        zone_named(zone)
    except UnknownZoneError as error:
        if error.is_missing:
            message, help = "this machine has no time zones", "install the package `tzdata`, as `tidelog[calendar]` does"
        else:
            message = f"there is no time zone `{zone}`"
            help = (
                f"did you mean `{error.near}`?" if error.near else "zones are named as in the IANA database: `Europe/Berlin`"
            )
        yield Diagnostic("unknown-zone", message, span, help=help)


def _check_other_facts(program: syntax.Program, calendars: _Calendars) -> Iterator[Diagnostic]:
    """A calendar's predicate has no other facts: they could not be known at all times."""
    others = {name: (head.span, "derived by a rule here") for name, head in derived(program).items()}
    for fact in statements_of(program, syntax.FactStatement):
        others[fact.atom.predicate] = fact.span, "stated here"
    for declared in statements_of(program, syntax.Input):
        others[declared.predicate] = declared.span, "declared as an input here"
    for background in statements_of(program, syntax.Background):
        others[background.predicate] = background.span, "declared as a background here"
    for name, calendar in calendars.items():
        if name in others:
            span, what = others[name]
            message = f"calendar `{name}` has facts from elsewhere"
            help = f"give one of the two another name, and write a rule for both, such as `either :- {name}`"
            yield Diagnostic("calendar-derived", message, calendar.span, notes=(Note(span, what),), help=help)


def _check_excepted(program: syntax.Program, calendars: _Calendars) -> Iterator[Diagnostic]:
    for name, calendar in calendars.items():
        for excepted in calendar.excepted:
            if excepted not in calendars:
                near = get_close_matches(excepted[:200], calendars, n=1)
                help = f"did you mean `{near[0]}`?" if near else f"declare it, such as `calendar {excepted} = 2026-12-24`"
                span = name_span(program, Span(calendar.span.end, len(program.text)), excepted)
                yield Diagnostic("unknown-calendar", f"there is no calendar `{excepted}`", span, help=help)
        if _comes_back(name, calendars):
            message = f"calendar `{name}` leaves out itself"
            yield Diagnostic("calendar-cycle", message, calendar.span, help="take it out of `except`")


def _comes_back(name: str, calendars: _Calendars) -> bool:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        calendar = calendars.get(waiting.pop())
        for each in () if calendar is None else calendar.excepted:
            if each == name:
                return True
            if each not in found:
                found.add(each)
                waiting.append(each)
    return False


def _check_period(period: syntax.Period, calendars: _Calendars) -> Iterator[Diagnostic]:
    if period.name in calendars and not (period.zone and period.name in PERIODS):
        if period.zone:
            message = f"calendar `{period.name}` has a zone of its own"
            yield Diagnostic("calendar-zone", message, period.span, help="take `zone` away here")
        return
    if period.name not in PERIODS:
        known = [*PERIODS, *calendars]
        near = get_close_matches(period.name[:200], known, n=1)
        help = f"did you mean `{near[0]}`?" if near else f"periods are {', '.join(f'`{name}`' for name in known)}"
        yield Diagnostic("unknown-calendar", f"there is no period or calendar `{period.name}`", period.span, help=help)
    yield from _check_zone(period.zone, period.span)
