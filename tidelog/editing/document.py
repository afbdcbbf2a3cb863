"""A program while it is written: what is wrong with it, and what is known of its predicates."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from time import process_time

from tidelog.compiling import compile
from tidelog.editing.rechecking import Rechecker
from tidelog.plans.analysis.horizons.delay import delays
from tidelog.plans.analysis.horizons.notation import decode_distance
from tidelog.plans.analysis.horizons.retention import predicate_retention
from tidelog.plans.calendars.declared import with_events
from tidelog.plans.checks.check import check, check_beside
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.compiling.only_asked import chooses_outputs
from tidelog.plans.data.timeline import format_time
from tidelog.plans.data.uncollected import uncollected
from tidelog.plans.diagnostics.errors import NOWHERE, DataError, Diagnostic, ProgramError, TidelogError
from tidelog.plans.language.parser import parse_what_reads
from tidelog.plans.language.rereading import Rereader
from tidelog.plans.plan.plan import Plan
from tidelog.plans.proving.findings import findings
from tidelog.plans.tree.syntax import CalendarDeclaration, Program
from tidelog.plans.tree.walk import statements_of

PROVING = 2.0
"""So many seconds of computing may proofs take of a program that has been opened or saved."""


class Findings:
    """What one text of a program gives: its diagnostics, and, if it can be compiled, its plan."""

    def __init__(self, diagnostics: Iterable[Diagnostic], plan: Plan | None) -> None:
        self.diagnostics = tuple(diagnostics)
        self.plan = plan
        self._delays: dict[str, str] = {}
        self._memory: dict[str, str] = {}
        self.delays = {} if plan is None else {item.predicate: item for item in delays(plan)}
        if plan is not None:
            self._delays = {name: _delay(plan, plan.leads[name]) for name in plan.leads if name not in plan.normal.origins}
            self._delays |= {name: f"{format_time(item.delay)} ({item.why})" for name, item in self.delays.items()}
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


class Draft:
    """A document whose text changes again and again: what a text has in common with the one before is not read again."""

    def __init__(self) -> None:
        self._reader = Rereader()
        self._rechecker = Rechecker()
        self._turn = Lock()

    @uncollected()
    def look(self, text: str) -> Look:
        """What can be told of a text before it is compiled."""
        with self._turn:
            program, unread = parse_what_reads(text, reader=self._reader)
            run = partial(self._rechecker.run, pieces=self._reader.pieces)
            found = check_beside(program, unread, run) if unread else check(program, run=run)
        is_wrong = any(item.severity == "error" for item in found)
        if is_wrong and not unread and chooses_outputs(program):
            return Look(program, (), False)  # what is wrong with what only `ask` computes may be none
        errors = tuple(item for item in found if item.severity == "error" or unread)
        return Look(program, errors if is_wrong else found, is_wrong)


@dataclass(frozen=True, slots=True)
class Look:
    """A program, and what is wrong or doubtful in it; `is_final` where it cannot be compiled, so that this is all."""

    program: Program
    diagnostics: tuple[Diagnostic, ...]
    is_final: bool


def examine(look: Look, folder: Path, *, deeply: bool) -> Findings:
    """All that is wrong or doubtful in a text.

    Only `deeply` are background files read, and questions unfolded, which may take a while; otherwise it is only looked
    whether the files are there.
    """
    if look.is_final:
        return Findings(look.diagnostics, None)
    try:
        plan = compile(look.program.text, folder=folder) if deeply else _compile(look.program, folder)
    except ProgramError as error:
        return Findings(error.diagnostics, None)
    except (TidelogError, OSError) as error:
        reason = str(error) if isinstance(error, DataError) else f"{type(error).__name__}: {error}"
        return Findings([Diagnostic("background-file", reason, NOWHERE)], None)
    return Findings(plan.warnings, plan)


def hints(plan: Plan) -> tuple[Diagnostic, ...]:
    """What is proved of a program, as far as it is within `PROVING` seconds of computing."""
    end = process_time() + PROVING
    return tuple(replace(item, severity="hint") for item in findings(plan, lambda: process_time() > end))


@uncollected()
def _compile(program: Program, folder: Path) -> Plan:
    calendars = [item for item in statements_of(program, CalendarDeclaration) if item.path]
    plan = compile_program(with_events(program, (replace(item, events=()) for item in calendars)))
    files = [("background", item.path, item.span) for item in plan.backgrounds]
    files += [("calendar", item.path, item.span) for item in calendars]
    missing = [(kind, path, span) for kind, path, span in files if not os.path.exists(folder / path)]
    if missing:
        message = "{} file `{}` cannot be read: No such file or directory"
        raise ProgramError([Diagnostic(f"{kind}-file", message.format(kind, path), span) for kind, path, span in missing])
    return plan
