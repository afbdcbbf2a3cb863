"""Negation (Cruz-Filipe, Gaspar and Nunes 2020, section 6): what must not hold becomes a query of its own.

An atom is asked for as it stands. `not` passes a bounded ◇, as that is a conjunction of absences; whatever else stands
behind it is an auxiliary query over the variables that it shares with its rule.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.operators.sld.comparisons.terms import shift
from tidelog.operators.sld.goals.formulas import DIAMOND, NEVER, arguments_of, endless, stepped, time_of
from tidelog.operators.sld.goals.rulebook import Rulebook, is_unbounded
from tidelog.operators.sld.goals.tasks import Deny, Lack, Solve, Step, Tasks
from tidelog.plans.tree.names import has_wildcard
from tidelog.plans.tree.syntax import Atom, Formula, Interval, Negation, Truth, Unary, Window
from tidelog.plans.tree.traverse import children


def deny(task: Deny, rulebook: Rulebook) -> Step:
    """The ways in which a formula can fail to hold; ProgramError where that needs infinitely many absences."""
    formula, scope, time = task
    refuse_endless(formula)
    match formula:
        case Truth():
            return NEVER if formula.value else ()
        case Negation():
            return (Solve(formula.operand, scope, time),)
        case Unary(operator="diamondminus" | "diamondplus") if _is_plain(formula.operand, rulebook):
            return _throughout(task, formula)
        case Unary(operator="diamondminus" | "diamondplus"):
            sign = -1 if formula.operator == "diamondminus" else 1
            return _at_no(task, formula.operand, range(int(formula.interval.low), int(formula.interval.high) + 1), sign)
        case Unary(operator="boxminus" | "boxplus") if rulebook.lasts(formula.operand):  # some time is left out
            lacking = replace(formula, operator=DIAMOND[formula.operator], operand=Negation(formula.operand))
            return (Solve(lacking, scope, time),)
        case Window(mode="sometime"):
            return _no_time_in(formula, task, rulebook)
        case Atom() if not has_wildcard(formula):
            return _lack(formula, task)
        case Atom():
            asked = rulebook.part_query(scope.clause, replace(formula, at=None))
            return (Lack(asked.predicate, arguments_of(asked, scope), time_of(formula, scope, time), formula.span),)
    return _lack(rulebook.part_query(scope.clause, formula), task)


def _is_plain(formula: Formula, rulebook: Rulebook) -> bool:
    """Whether it is an input, or a calendar, at the time at which it stands: its absence over a stretch is one premise."""
    if not isinstance(formula, Atom) or formula.at is not None or has_wildcard(formula):
        return False
    return rulebook.is_stream(formula.predicate) or rulebook.lasts(formula)


def _throughout(task: Deny, formula: Unary) -> Tasks:
    atom, low, high = formula.operand, int(formula.interval.low), int(formula.interval.high)
    if not isinstance(atom, Atom) or high < low:
        return ()
    first = shift(task.time, -high if formula.operator == "diamondminus" else low)
    return (Lack(atom.predicate, arguments_of(atom, task.scope), first, atom.span, high - low),)


def _lack(atom: Atom, task: Deny) -> Tasks:
    arguments, time = arguments_of(atom, task.scope), time_of(atom, task.scope, task.time)
    return (Lack(atom.predicate, arguments, time, task.formula.span),)


def _at_no(task: Deny, inner: Formula, distances: range, sign: int) -> Tasks:
    return tuple(Deny(inner, task.scope, shift(task.time, sign * d)) for d in distances)


def _no_time_in(window: Window, task: Deny, rulebook: Rulebook) -> Step:
    size = int(window.window.size)
    distances = range(size + 1)
    if window.window.step is None and _is_plain(window.operand, rulebook):
        return _throughout(task, Unary("diamondminus", Interval(0, size), window.operand))
    if window.window.step is None:
        return _at_no(task, window.operand, distances, -1)
    step = int(window.window.step)
    return stepped(step, task.time, lambda end: iter((_at_no(task._replace(time=end), window.operand, distances, -1),)))


def refuse_endless(formula: Formula) -> None:
    """ProgramError if a ◇ in a negated formula has no end: its absence would never be known."""
    if isinstance(formula, Unary) and is_unbounded(formula.interval.high):
        raise endless(f"`not` over `{formula.operator}` without an end", formula.span)
    if isinstance(formula, Window) and is_unbounded(formula.window.size):
        raise endless("`not` over a window without an end", formula.span)
    for part in children(formula):
        refuse_endless(part)
