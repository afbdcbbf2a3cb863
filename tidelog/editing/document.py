"""A program while it is written: what is wrong with it, and what is known of its predicates."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tidelog.compiling import compile
from tidelog.plans.analysis.horizons.delay import delays
from tidelog.plans.analysis.horizons.notation import decode_distance
from tidelog.plans.analysis.horizons.retention import predicate_retention
from tidelog.plans.calendars.declared import with_events
from tidelog.plans.checks.check import check_beside
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.timeline import format_time
from tidelog.plans.diagnostics.errors import NOWHERE, DataError, Diagnostic, ProgramError, TidelogError
from tidelog.plans.language.parser import parse_what_reads
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import CalendarDeclaration
from tidelog.plans.tree.walk import statements_of


class Findings:
    """What one text of a program gives: its diagnostics, and, if it can be compiled, its plan."""

    def __init__(self, diagnostics: Iterable[Diagnostic], plan: Plan | None) -> None:
        self.diagnostics = tuple(diagnostics)
        self.plan = plan
        self._delays: dict[str, str] = {}
        self._memory: dict[str, str] = {}
        if plan is not None:
            self._delays = {name: _delay(plan, plan.leads[name]) for name in plan.leads if name not in plan.normal.origins}
            self._delays.update({item.predicate: f"{format_time(item.delay)} ({item.why})" for item in delays(plan)})
            self._memory = {item.predicate: f"{format_time(item.keeps)} ({item.why})" for item in predicate_retention(plan)}

    def delay(self, predicate: str) -> str:
        """How far behind the watermark a derived predicate is known; of an output also why. Empty where it is not known."""
        return self._delays.get(predicate, "")

    def memory(self, predicate: str) -> str:
        """For how long its facts matter; empty where that is not known."""
        return self._memory.get(predicate, "")


def _delay(plan: Plan, lead: int) -> str:
    """How far a step's frontier lies behind the watermark."""
    return format_time(decode_distance(max(0, -lead), plan.timeline))


def examine(text: str, folder: Path, *, deeply: bool) -> Findings:
    """All that is wrong or doubtful in a text.

    Only `deeply` are background files read, and questions unfolded, which may take a while; otherwise it is only looked
    whether the files are there.
    """
    try:
        plan = compile(text, folder=folder) if deeply else _compile(text, folder)
    except ProgramError as error:
        return Findings(error.diagnostics, None)
    except (TidelogError, OSError) as error:
        reason = str(error) if isinstance(error, DataError) else f"{type(error).__name__}: {error}"
        return Findings([Diagnostic("background-file", reason, NOWHERE)], None)
    return Findings(plan.warnings, plan)


def _compile(text: str, folder: Path) -> Plan:
    program, unread = parse_what_reads(text)
    if unread:
        raise ProgramError(check_beside(program, unread), text=text)
    calendars = [item for item in statements_of(program, CalendarDeclaration) if item.path]
    plan = compile_program(with_events(program, (replace(item, events=()) for item in calendars)))
    files = [("background", item.path, item.span) for item in plan.backgrounds]
    files += [("calendar", item.path, item.span) for item in calendars]
    missing = [(kind, path, span) for kind, path, span in files if not os.path.exists(folder / path)]
    if missing:
        message = "{} file `{}` cannot be read: No such file or directory"
        raise ProgramError([Diagnostic(f"{kind}-file", message.format(kind, path), span) for kind, path, span in missing])
    return plan
