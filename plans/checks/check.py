"""All checks of a parsed program, in order, and the gate before its compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches

from tidelog.plans.checks.aggregates import check_aggregates
from tidelog.plans.checks.asks import check_asks
from tidelog.plans.checks.assigning import check_assigning
from tidelog.plans.checks.changing import check_changing
from tidelog.plans.checks.declarations import check_arity, check_directives, check_inputs, check_known
from tidelog.plans.checks.declared.alarms import check_alarms
from tidelog.plans.checks.declared.calendars import check_calendars
from tidelog.plans.checks.direction import check_direction
from tidelog.plans.checks.heads import check_heads
from tidelog.plans.checks.inferring import check_outputs
from tidelog.plans.checks.intervals import check_intervals
from tidelog.plans.checks.lasting import check_lasting
from tidelog.plans.checks.safety import check_safety
from tidelog.plans.checks.stratification import check_stratification
from tidelog.plans.checks.supported import check_supported
from tidelog.plans.checks.tuple_windows import check_tuple_windows
from tidelog.plans.checks.types import check_types
from tidelog.plans.checks.usage import check_singletons, check_usage
from tidelog.plans.diagnostics.errors import Diagnostic, ProgramError
from tidelog.plans.language.statements import split_statements
from tidelog.plans.tree.syntax import Program, TimelineDeclaration
from tidelog.plans.tree.walk import Check, forward_part, statements_of

CHECKS_OF_STATEMENTS: tuple[Check, ...] = (
    check_heads,
    check_safety,
    check_aggregates,
    check_intervals,
    check_supported,
    check_singletons,
    check_types,
    check_changing,
    check_direction,
)
"""The checks of each rule and each fact by itself, beside what is declared, and which predicates have facts."""
CHECKS_OF_PROGRAMS: tuple[Check, ...] = (
    check_directives,
    check_arity,
    check_inputs,
    check_calendars,
    check_alarms,
    check_known,
    check_asks,
    check_tuple_windows,
    check_usage,
    check_outputs,
    check_lasting,
    check_assigning,
)
"""The checks of what statements say of each other."""
CHECKS = CHECKS_OF_STATEMENTS + CHECKS_OF_PROGRAMS
"""None depends on another."""
CHECKS_FORWARD: tuple[Check, ...] = (check_stratification,)
"""The checks of what is computed forward alone: what only `ask` needs may be more."""
CHECKS_BESIDE: tuple[Check, ...] = (
    check_directives,
    check_arity,
    check_inputs,
    check_heads,
    check_safety,
    check_aggregates,
)
"""The checks whose findings stay true whatever else a program says: they run even where some of it cannot be read."""
CHECKS_OF_TIME: tuple[Check, ...] = (check_intervals, check_supported)
"""Those that hold as soon as it is known what the timeline is."""


Run = Callable[[Program, Sequence[Check]], Iterable[Diagnostic]]
"""What some checks find in a program."""


def run_checks(program: Program, checks: Iterable[Check]) -> list[Diagnostic]:
    """What some checks find in a program, each after the other."""
    return [diagnostic for run in checks for diagnostic in run(program)]


def check(program: Program, keep: Iterable[str] | None = None, run: Run = run_checks) -> tuple[Diagnostic, ...]:
    """All that is wrong or doubtful in a program, by place; raises nothing.

    `keep` names the predicates that run forward in place of the outputs.
    """
    forward = forward_part(program, keep)
    return _by_place([*run(program, CHECKS), *run_checks(forward, CHECKS_FORWARD)])


def check_beside(program: Program, unread: Iterable[Diagnostic], run: Run = run_checks) -> tuple[Diagnostic, ...]:
    """What cannot be read, and what is wrong with the statements that can be, whatever the others say; by place."""
    checks = CHECKS_BESIDE if _hides_timeline(program) else CHECKS_BESIDE + CHECKS_OF_TIME
    found = [*unread, *run(program, checks)]
    if "ask" not in _first_words(program):  # else an `output` that cannot be read may say what runs forward
        found += run_checks(program, CHECKS_FORWARD)
    return _by_place(found)


def _by_place(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(found, key=lambda item: (item.span, item.severity, item.code)))


def _hides_timeline(program: Program) -> bool:
    """Whether a timeline is declared, or meant to be, in what cannot be read."""
    if statements_of(program, TimelineDeclaration):
        return False
    return any(get_close_matches("timeline", _first_words(program), n=1, cutoff=0.8))


def _first_words(program: Program) -> set[str]:
    return {program.text[raw.start : raw.end].split(None, 1)[0][:20].lower() for raw in split_statements(program.text)}


def require(program: Program, keep: Iterable[str] | None = None) -> tuple[Diagnostic, ...]:
    """The program's warnings; ProgramError with all its errors, if it has any. `keep` is that of `check`."""
    found = check(program, keep)
    errors = [item for item in found if item.severity == "error"]
    if errors:
        raise ProgramError(errors, program.name, program.text)
    return found
