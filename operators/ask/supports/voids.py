"""Values of open variables for which a partial answer cannot hold: two hypotheses would be one fact, or one could not come
any more."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.operators.ask.premises.awaited import Awaited, Binding, expression_of, fill
from tidelog.operators.ask.premises.partials import Partial
from tidelog.operators.ask.premises.patterns import MOST_TIMES, Pattern
from tidelog.operators.sld.comparisons.values import compare
from tidelog.plans.plan.questions import NEVER, Open
from tidelog.plans.tree.syntax import Comparison, ComparisonOperator, Constant, Value, Variable

Case = list[Comparison]
"""Comparisons that hold together where a partial answer is none."""


def void_cases(partial: Partial) -> Iterator[Case]:
    """Two premises are one fact, which another precondition stands for; a premise has come, or is what must not."""
    pattern, binding, missing = partial.pattern, partial.binding, partial.missing
    for i, j in pattern.twins:
        if missing >> i & 1 and missing >> j & 1:
            yield from _same(pattern.premises[i], pattern.premises[j], binding, pattern)
    for i, absent in pattern.clashes:
        if missing >> i & 1:
            yield from _denied(pattern.premises[i], absent, binding, pattern)
    for _, item in pattern.missing(missing):
        if item.time is not None and binding[item.time] is None:
            yield from _come(item, binding, pattern)


def has_void_cases(partial: Partial) -> bool:
    """Whether there are such values."""
    return not partial.pattern.is_closed(partial.binding) and any(True for _ in void_cases(partial))


def _same(one: Awaited, other: Awaited, binding: Binding, pattern: Pattern) -> Iterator[Case]:
    case = _rows(one, other, binding, pattern)
    times = [fill(item.premise.time, binding, pattern.names) for item in (one, other)]
    if case is not None and _relate(case, times[0], "=", times[1]):
        yield case


def _denied(item: Awaited, absent: Awaited, binding: Binding, pattern: Pattern) -> Iterator[Case]:
    case = _rows(item, absent, binding, pattern)
    if case is None:
        return
    time, first = (fill(each.premise.time, binding, pattern.names) for each in (item, absent))
    last = Open(first.name, first.offset + absent.width) if isinstance(first, Open) else first
    last = last + absent.width if isinstance(last, int) else last
    if _relate(case, time, ">=", first) and _relate(case, time, "<=", last):
        yield case


def _rows(one: Awaited, other: Awaited, binding: Binding, pattern: Pattern) -> Case | None:
    """What makes the rows of two premises the same; None if they never are."""
    case: Case = []
    for left, right in zip(one.premise.arguments, other.premise.arguments, strict=True):
        if not _relate(case, fill(left, binding, pattern.names), "=", fill(right, binding, pattern.names)):
            return None
    return case


def _relate(case: Case, left: Value | Open, operator: ComparisonOperator, right: Value | Open) -> bool:
    """Ask for two terms to compare so; False if they are constants that do not."""
    if not isinstance(left, Open) and not isinstance(right, Open):
        return compare(operator, left, right)
    case.append(Comparison(operator, expression_of(left), expression_of(right)))
    return True


def _come(item: Awaited, binding: Binding, pattern: Pattern) -> Iterator[Case]:
    """The times, of those left for a premise, at which its fact has come already."""
    last, first = pattern.latest(item, binding), pattern.passed(item) + 1
    if last >= NEVER or last - first >= MOST_TIMES or any(binding[variable] is None for _, variable, _ in item.where):
        return
    row = item.row(binding)
    for time in range(first, last + 1):
        if item.time is not None and pattern.came(item.premise.predicate, row, time):
            yield [Comparison("=", Variable(pattern.names[item.time]), Constant(time - item.offset))]
