"""Aggregates and held values by their definition: at each time point, all pairs (row, time point) of its window.

For a rule's instances each aggregate is an atom over its `by` variables and its result, and each `latest` one over its
atom's variables. Their coverage is worked out anew in each round, from the interpretation as it is.

Where the definition leaves room: each `_` of an aggregate's formula is a variable of its own, but inside `not`. Numbers are
exact, and a result that is no whole number of 64 bits is rounded to the nearest float. Texts come behind
numbers. On dense time the last time point is that of the last cell: what held up to an open end is held from there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING

from oracle.grounding import Reached, Row, expression_variables, parts, variables, without_wildcards
from oracle.values import BOUND, Undefined, compare, evaluate_expression
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Comparison,
    Conjunction,
    Constant,
    Formula,
    Latest,
    Negation,
    Period,
    Rule,
    Unary,
    Value,
    Variable,
    Window,
)

if TYPE_CHECKING:
    from oracle.truth import Evaluation

Pair = tuple[int, Value | None]
"""A time point, and the value at it."""
Coverage = dict[Row, set[int]]
Source = Aggregate | Latest | Reached

_RISING = {"count", "distinct", "sum", "max"}


def with_thresholds(rule: Rule) -> Rule:
    """The rule with each aggregate that is compared so that more facts only make it true, as one formula."""
    everything = [name for part in (rule.head, *rule.body) for name in _mentions(part)]
    return replace(rule, body=_reached(rule.body, everything))


def _mentions(formula: Formula) -> list[str]:
    own = sorted(variables(formula)) if not parts(formula) or isinstance(formula, Aggregate) else []
    if isinstance(formula, Aggregate) and formula.argument is not None:
        own += sorted(expression_variables(formula.argument))
    return own + [name for part in parts(formula) for name in _mentions(part)]


def _reached(body: Sequence[Formula], everything: list[str]) -> tuple[Formula, ...]:
    found: list[Formula] = list(body)
    for part in body:
        for other in body:
            if isinstance(part, Aggregate) and isinstance(other, Comparison) and part in found and other in found:
                alone = everything.count(part.result.name) == 2
                if alone and _only_gets_true(part, other):
                    found[found.index(part)] = Reached(part, other)  # type: ignore[call-overload] # the oracle's own
                    found.remove(other)
    return tuple(_below(part, everything) for part in found)


def _below(formula: Formula, everything: list[str]) -> Formula:
    if isinstance(formula, Conjunction):
        inner = _reached(formula.parts, everything)
        return inner[0] if len(inner) == 1 else Conjunction(inner)
    if isinstance(formula, Unary | Window | Negation | Aggregate):
        return replace(formula, operand=_below(formula.operand, everything))
    return formula


def _only_gets_true(aggregate: Aggregate, comparison: Comparison) -> bool:
    left, right, operator = comparison.left, comparison.right, comparison.operator
    if right == aggregate.result:
        left, right = right, left
        operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)  # type: ignore[assignment]
    if left != aggregate.result or not isinstance(right, Constant) or isinstance(right.value, str):
        return False
    if aggregate.function == "min":
        return operator in ("<", "<=")
    if aggregate.function == "sum":
        inside = aggregate.operand.parts if isinstance(aggregate.operand, Conjunction) else ()
        floors = [item for item in inside if isinstance(item, Comparison) and item.left == aggregate.argument]
        floors = [item for item in floors if item.operator in (">", ">=") and isinstance(item.right, Constant)]
        if not any(isinstance(f.right, Constant) and f.right.value in (0, 1, 2, 3) for f in floors):
            return False
    return aggregate.function in _RISING and operator in (">", ">=")


def without_aggregates(rules: Sequence[Rule], numbers: Iterator[int]) -> tuple[list[Rule], list[tuple[str, Source]]]:
    """The rules with an atom for each aggregate, and what each of these predicates stands for, the innermost first."""
    found: list[tuple[str, Source]] = []

    def change(formula: Formula) -> Formula:
        if isinstance(formula, Aggregate):
            formula = replace(formula, operand=change(formula.operand))
            columns: tuple[Variable, ...] = (*formula.by, formula.result)
        elif isinstance(formula, Latest):
            columns = tuple(Variable(name) for name in sorted(variables(formula.atom)))
        elif isinstance(formula, Reached):
            aggregate = formula.aggregate
            formula = replace(formula, aggregate=replace(aggregate, operand=change(aggregate.operand)))
            columns = aggregate.by
        else:
            return _rebuilt(formula, change)
        name = f"\0aggregate{next(numbers)}"
        found.append((name, formula))
        return Atom(name, columns)

    changed = [replace(rule, body=tuple(map(change, rule.body))) for rule in rules]
    return changed, found


def _rebuilt(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    if isinstance(formula, Unary | Window | Negation):
        return replace(formula, operand=change(formula.operand))
    if isinstance(formula, Conjunction):
        return replace(formula, parts=tuple(map(change, formula.parts)))
    assert not any(isinstance(part, Source) for part in parts(formula)), "not where the oracle looks for aggregates"
    return formula


def coverage_of(source: Source, evaluation: Evaluation) -> Coverage:
    """Where each row of an aggregate, or of a `latest`, holds in the interpretation as it is."""
    if isinstance(source, Reached):
        return _aggregated(source.aggregate, evaluation, source.comparison)
    return _aggregated(source, evaluation) if isinstance(source, Aggregate) else _held(source, evaluation)


# --- held values --------------------------------------------------------------------------------------------------------


def _held(latest: Latest, evaluation: Evaluation) -> Coverage:
    names = sorted(variables(latest.atom))
    atom = without_wildcards(latest.atom, count())
    rows: Coverage = defaultdict(set)
    for binding, cells in evaluation.instances([atom]):
        rows[tuple(binding[name] for name in names)] |= cells
    by = [names.index(variable.name) for variable in latest.by]
    groups: dict[Row, set[int]] = defaultdict(set)
    for row, cells in rows.items():
        groups[tuple(row[i] for i in by)] |= cells
    held: Coverage = defaultdict(set)
    for cell, (_, first, last) in enumerate(evaluation.stretches(latest.window)):
        for row, cells in rows.items():
            times = [at for at in groups[tuple(row[i] for i in by)] if first <= at <= last]
            if (times and max(times) in cells) or (not times and last < 0 and 0 in cells):
                held[row].add(cell)
    return held


# --- aggregates ---------------------------------------------------------------------------------------------------------


def _is_reached(aggregate: Aggregate, comparison: Comparison, pairs: list[Pair], result: Value | None) -> bool:
    """Whether the threshold is; the least and the greatest are compared value by value, be they texts or numbers."""
    values = [value for _, value in pairs] if aggregate.function in ("min", "max") else [result]
    return any(compare(comparison, {aggregate.result.name: value}) for value in values if value is not None)


def _aggregated(aggregate: Aggregate, evaluation: Evaluation, threshold: Comparison | None = None) -> Coverage:
    groups: dict[Row, list[tuple[Value | None, frozenset[int]]]] = defaultdict(list)
    operand = without_wildcards(aggregate.operand, count())
    for binding, cells in evaluation.instances([operand]):
        group = tuple(binding[variable.name] for variable in aggregate.by)
        try:
            value = None if aggregate.argument is None else evaluate_expression(aggregate.argument, binding)
        except Undefined:
            continue
        groups[group].append((value, frozenset(cells)))
    found: Coverage = defaultdict(set)
    results: dict[tuple[Row, float, float], Value | None] = {}
    reached: dict[tuple[Row, float, float], bool] = {}
    for cell, (first, last) in enumerate(_stretches(aggregate, evaluation)):
        for group, rows in groups.items():
            key = (group, first, last)
            if key not in results:
                pairs = list(_pairs(rows, int(first), int(last), evaluation))
                results[key] = result_of(aggregate, pairs)
                reached[key] = threshold is not None and _is_reached(aggregate, threshold, pairs, results[key])
            value = results[key]
            if threshold is None and value is not None:
                found[(*group, value)].add(cell)
            elif reached[key]:
                found[group].add(cell)
    return found


def _stretches(aggregate: Aggregate, evaluation: Evaluation) -> Iterator[tuple[float, float]]:
    """For each cell the first and the last of those that count: of its window, or of its period, if it has one."""
    if not isinstance(aggregate.window, Period):
        yield from ((first, last) for _, first, last in evaluation.stretches(aggregate.window))
        return
    for cell in range(evaluation.grid.size):
        time = evaluation.grid.time(cell)
        inside = [(lo, hi) for lo, hi in evaluation.periods[aggregate.window.name] if lo <= time <= hi]
        lo, hi = inside[0] if inside else (0, -1)
        yield cell + lo - int(time), cell + hi - int(time)


def _pairs(
    rows: Iterable[tuple[Value | None, frozenset[int]]], first: int, last: int, evaluation: Evaluation
) -> Iterator[Pair]:
    """All pairs of a window; beyond the horizon all is as at its edge."""
    for value, cells in rows:
        for at in range(first, last + 1):
            if evaluation.grid.clamp(at) in cells:
                yield at, value


def result_of(aggregate: Aggregate, pairs: list[Pair]) -> Value | None:
    """The function's value over some pairs; None where it has none."""
    if aggregate.function in ("sum", "avg", "stddev", "quantile"):
        pairs = [pair for pair in pairs if not isinstance(pair[1], str)]
    if not pairs:
        return None
    if aggregate.function == "count":
        return len(pairs)
    values = [(value, isinstance(value, str)) for _, value in pairs if value is not None]
    if aggregate.function == "distinct":
        return len({value for value, _ in values})
    if aggregate.function in ("first", "last"):
        times = [time for time, _ in pairs]
        at = min(times) if aggregate.function == "first" else max(times)
        there = [value for time, value in pairs if time == at and value is not None]
        return _least(there) if aggregate.function == "first" else _greatest(there)
    if aggregate.function in ("min", "max"):
        only = [value for value, _ in values]
        return _least(only) if aggregate.function == "min" else _greatest(only)
    return _computed(aggregate, [Fraction(value) for value, is_text in values if not isinstance(value, str)])


def _order(value: Value) -> tuple[bool, Value]:
    return isinstance(value, str), value


def _least(values: Sequence[Value]) -> Value:
    return min(values, key=_order)


def _greatest(values: Sequence[Value]) -> Value:
    return max(values, key=_order)


def _computed(aggregate: Aggregate, numbers: list[Fraction]) -> Value | None:
    size = len(numbers)
    if aggregate.function == "sum":
        return rounded(sum(numbers, Fraction(0)))
    mean = sum(numbers, Fraction(0)) / size
    if aggregate.function == "avg":
        return rounded(mean)
    if aggregate.function == "stddev":
        if size < 2:
            return None
        return _root(sum(((number - mean) ** 2 for number in numbers), Fraction(0)) / (size - 1))
    assert aggregate.fraction is not None
    numbers.sort()
    place = aggregate.fraction * (size - 1)
    below = numbers[int(place)]
    above = numbers[min(int(place) + 1, size - 1)]
    return rounded(below + (place - int(place)) * (above - below))


def rounded(number: Fraction) -> Value | None:
    """The one value of an exact number: itself where it is whole, else the nearest float; None beyond all floats."""
    if number.denominator == 1 and abs(number) < BOUND:
        return int(number)
    try:
        nearest = float(number)
    except OverflowError:
        return None
    return int(nearest) if nearest.is_integer() and abs(nearest) < BOUND else nearest


def _root(number: Fraction) -> Value | None:
    with localcontext() as context:
        context.prec = 100
        root = (Decimal(number.numerator) / Decimal(number.denominator)).sqrt()
        return rounded(Fraction(float(root)))
