"""All checks of a parsed program, in order, and the gate before its compilation."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.plans.checks.declarations import check_arity, check_directives, check_inputs, check_known
from tidelog.plans.checks.heads import check_heads
from tidelog.plans.checks.intervals import check_intervals
from tidelog.plans.checks.safety import check_safety
from tidelog.plans.checks.stratification import check_stratification
from tidelog.plans.checks.supported import check_supported
from tidelog.plans.checks.usage import check_singletons, check_usage
from tidelog.plans.checks.walk import Check
from tidelog.plans.errors import Diagnostic, ProgramError
from tidelog.plans.syntax import Program

CHECKS: tuple[Check, ...] = (
    check_directives,
    check_arity,
    check_inputs,
    check_known,
    check_heads,
    check_safety,
    check_intervals,
    check_stratification,
    check_supported,
    check_usage,
    check_singletons,
)
"""Every check looks at the whole program, and none depends on another."""


CHECKS_OF_ONE_STATEMENT: tuple[Check, ...] = (check_heads, check_safety)
"""The checks that hold for a statement whatever the others say: they run even where some cannot be read."""


def check(program: Program) -> tuple[Diagnostic, ...]:
    """All that is wrong or doubtful in a program, by place; raises nothing."""
    found = [diagnostic for run in CHECKS for diagnostic in run(program)]
    return tuple(sorted(found, key=lambda item: (item.span, item.severity, item.code)))


def check_beside(program: Program, unread: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """What cannot be read, and what is wrong with the statements that can be, each looked at alone; by place."""
    found = [*unread, *(diagnostic for run in CHECKS_OF_ONE_STATEMENT for diagnostic in run(program))]
    return tuple(sorted(found, key=lambda item: (item.span, item.severity, item.code)))


def require(program: Program) -> tuple[Diagnostic, ...]:
    """The program's warnings; ProgramError with all its errors, if it has any."""
    found = check(program)
    errors = [item for item in found if item.severity == "error"]
    if errors:
        raise ProgramError(errors, program.name, program.text)
    return found
