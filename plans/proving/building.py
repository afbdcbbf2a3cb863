"""Building facts that may make a formula hold at a time: guesses, of which the engine then says whether they do.

A guess is a case with facts of inputs at times that are chosen: near ends of intervals, since what fails at one side of an
end holds at the other. What is negated is left to the engine. So a guess proves nothing by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from tidelog.plans.proving.assuming import Assumer
from tidelog.plans.proving.budget import Budget
from tidelog.plans.proving.case import Bound, Case, Range, Span
from tidelog.plans.proving.numbers.distances import distances, tick_of
from tidelog.plans.proving.rulebook import Clause, Rulebook
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Constant,
    Formula,
    Interval,
    Latest,
    Negation,
    Period,
    Time,
    Truth,
    Unary,
    Variable,
    Window,
)

DEPTH = 14
"""So many rules on a path are put in."""
_AGAIN = 4
"""So often a predicate may stand on a path: a machine goes through a few states."""
_MOST_ROWS = 64
_MOST_POINTS = 12
_MOST_CHOICES = 7
_ZERO = Fraction(0)


class Builder:
    """Builds facts for formulas by the rules of a program."""

    def __init__(self, book: Rulebook, budget: Budget) -> None:
        self._book = book
        self._budget = budget
        self._assumer = Assumer(book, budget)
        self._tick = tick_of(book)
        self._ends = distances(book)

    def holding(self, predicate: str, arity: int) -> Iterator[Case]:
        """Guesses of facts by which a predicate holds at time 0."""
        atom = Atom(predicate, tuple(Variable(self._book.fresh("_")) for _ in range(arity)))
        return self._one(Case(), atom, _ZERO, _ZERO, ())

    def _all(self, case: Case, parts: Sequence[Formula], low: Time, high: Time, path: tuple[str, ...]) -> Iterator[Case]:
        if not parts:
            yield case
            return
        first, *rest = sorted(parts, key=_order) if len(parts) > 1 else parts
        for found in self._one(case, first, low, high, path):
            if not found.is_contradictory():
                yield from self._all(found, rest, low, high, path)

    def _one(self, case: Case, formula: Formula, low: Time, high: Time, path: tuple[str, ...]) -> Iterator[Case]:
        """Guesses of facts by which a formula holds from one time to another."""
        self._budget.take()
        match formula:
            case Truth(value=False):
                return
            case Truth() | Negation():
                yield case
            case Comparison(operator=operator, left=left, right=right):
                case = case.copy()
                case.be_that(left, operator, right)
                yield from [] if case.is_dead else [case]
            case Conjunction(parts=parts):
                yield from self._all(case, parts, low, high, path)
            case Atom():
                yield from self._atom(case, formula, low, high, path)
            case Unary():
                yield from self._unary(case, formula, low, high, path)
            case Binary():
                yield from self._binary(case, formula, low, high, path)
            case Window():
                yield from self._window(case, formula, low, high, path)
            case Latest():
                yield from self._spread(case, formula.atom, (low, high), (_ZERO, _size(formula)), path)
            case Aggregate():
                yield from self._aggregate(case, formula, low, high, path)

    # --- atoms ----------------------------------------------------------------------------------------------------------

    def _atom(self, case: Case, atom: Atom, low: Time, high: Time, path: tuple[str, ...]) -> Iterator[Case]:
        if atom.at is not None:
            for when in self._times(case, atom.at.variable, low):
                found = case.copy()
                found.be_same(atom.at.variable, Constant(int(when)))
                yield from self._atom(found, replace(atom, at=None), when + atom.at.shift, when + atom.at.shift, path)
            return
        opened = self._book.opened(atom)
        if not isinstance(opened, Atom) or path.count(atom.predicate) >= _AGAIN or len(path) >= DEPTH:
            return
        name = opened.predicate
        case = case.copy()
        self._assumer.typed(case, opened)
        for row, _ in self._book.facts.get(name, ()):
            found = case.copy()
            for term, value in zip(opened.arguments, row, strict=True):
                found.be_same(term, Constant(value))
            if not found.is_dead:
                yield found
        for clause in self._book.of(name):
            self._budget.take()
            yield from self._by_rule(case, opened, clause, (low, high), (*path, name))
        if name in self._book.given and (path or not self._book.of(name)):
            stretch = Range(Bound("", low), Bound("", high))
            case.spans = (*case.spans, Span(name, opened.arguments, stretch))
            if not case.is_dead:
                yield case

    def _times(self, case: Case, time: Variable, now: Time) -> list[Time]:
        """What a variable of times may be: what it is already, or one that is near."""
        known = case.resolve(time)
        if isinstance(known, Constant) and not isinstance(known.value, str):
            return [Fraction(known.value)]
        return [now - back for back in range(5)]

    def _by_rule(
        self, case: Case, atom: Atom, clause: Clause, when: tuple[Time, Time], path: tuple[str, ...]
    ) -> Iterator[Case]:
        new = self._book.renamed(clause)
        case = case.copy()
        for term, given in zip(new.head.arguments, atom.arguments, strict=True):
            case.be_same(term, given)
        if case.is_dead:
            return
        low, high = when
        if new.head.at is not None:
            told = low - new.head.at.shift
            case.be_same(new.head.at.variable, Constant(int(told)))
            for now in dict.fromkeys((told, low, *(told + later for later in range(1, 5)))):
                yield from self._all(case, new.body, now, now, path)
        elif new.is_plain:
            yield from self._all(case, new.body, low, high, path)
        else:
            inner = new.high - self._tick if new.right_open and new.high != math.inf else new.high
            first = new.low + self._tick if new.left_open else new.low
            yield from self._spread(case, Conjunction(new.body), (low, high), (first, max(first, inner)), path)

    def _spread(
        self,
        case: Case,
        formula: Formula,
        when: tuple[Time, Time],
        reach: tuple[Time, Time],
        path: tuple[str, ...],
    ) -> Iterator[Case]:
        """Guesses by which a formula holds at times that, each as far as a reach, cover a stretch."""
        low, high = when
        first, last = reach
        if low == high:
            for distance in self._distances(first, last):
                yield from self._one(case, formula, low - distance, low - distance, path)
            return
        begin = low - first if first != -math.inf else high - (last if last != math.inf else _ZERO)
        points = [begin]
        length = last - first
        while length > 0 and points[-1] + last < high and len(points) <= _MOST_POINTS:
            points.append(points[-1] + length)
        if length > 0 and points[-1] + last >= high:
            yield from self._at_each(case, formula, points, path)
        yield from self._one(case, formula, low - first, high - first, path)

    def _at_each(self, case: Case, formula: Formula, points: Sequence[Time], path: tuple[str, ...]) -> Iterator[Case]:
        if not points:
            yield case
            return
        for found in self._one(case, formula, points[0], points[0], path):
            yield from self._at_each(found, formula, points[1:], path)

    def _distances(self, first: Time, last: Time) -> list[Time]:
        """Distances within limits that are worth trying: the ends, and those near the ends of intervals of the program."""
        ends = [end for end in (first, last) if abs(end) != math.inf] or [_ZERO]
        signed = self._ends if first >= 0 else [*self._ends, *(-end for end in self._ends)]
        near = [end for end in signed if first < end < last]
        return list(dict.fromkeys([*ends[:1], *near[: _MOST_CHOICES - 2], *ends[1:]]))

    # --- operators ------------------------------------------------------------------------------------------------------

    def _unary(self, case: Case, formula: Unary, low: Time, high: Time, path: tuple[str, ...]) -> Iterator[Case]:
        first, last = self._limits(formula.interval)
        if formula.operator.endswith("plus"):
            first, last = -last, -first
        if formula.operator.startswith("diamond"):
            yield from self._spread(case, formula.operand, (low, high), (first, last), path)
        elif abs(first) != math.inf and abs(last) != math.inf:
            yield from self._one(case, formula.operand, low - last, high - first, path)

    def _limits(self, interval: Interval) -> tuple[Time, Time]:
        """The ends of an interval, moved inwards where they are open."""
        low = interval.low + self._tick if interval.left_open else interval.low
        high = interval.high - self._tick if interval.right_open and interval.high != math.inf else interval.high
        return low, max(low, high)

    def _binary(self, case: Case, formula: Binary, low: Time, high: Time, path: tuple[str, ...]) -> Iterator[Case]:
        first, last = self._limits(formula.interval)
        sign = 1 if formula.operator == "since" else -1
        for distance in self._distances(first, last):
            then = low - sign * distance
            for found in self._one(case, formula.right, then, then, path):
                begin, end = min(then, low), max(then, high)
                if begin == end:
                    yield found
                else:
                    yield from self._one(found, formula.left, begin, end, path)

    def _window(self, case: Case, formula: Window, low: Time, high: Time, path: tuple[str, ...]) -> Iterator[Case]:
        size = formula.window
        back: Time = Fraction(4) if size.tuples else size.size
        if formula.mode == "always":
            yield from self._one(case, formula.operand, low - back, high, path)
        elif formula.mode == "at" and isinstance(formula.operand, Atom) and formula.operand.at is not None:
            at = formula.operand.at
            plain = replace(formula.operand, at=None)
            for distance in range(int(min(back, 4)) + 1):
                found = case.copy()
                found.be_same(at.variable, Constant(int(low - distance - at.shift)))
                if not found.is_dead:
                    yield from self._one(found, plain, low - distance, low - distance, path)
        else:
            yield from self._spread(case, formula.operand, (low, high), (_ZERO, back), path)

    def _aggregate(self, case: Case, formula: Aggregate, low: Time, high: Time, path: tuple[str, ...]) -> Iterator[Case]:
        window = formula.window
        size: Time = Fraction(1) if isinstance(window, Period) or window.tuples else window.size
        if formula.function in ("count", "distinct"):
            yield from self._counted(case, formula, low, size, path)
            return
        row = self._assumer.row_of(formula)
        case = case.copy()
        if row.argument is not None:
            case.be_same(formula.result, row.argument)
        when = low - size if formula.function == "first" else low
        if not case.is_dead:
            yield from self._one(case, row.operand, when, when, path)
            if formula.function == "avg" and high == low:
                yield from self._one(case, row.operand, low - size, low, path)

    def _counted(self, case: Case, formula: Aggregate, now: Time, size: Time, path: tuple[str, ...]) -> Iterator[Case]:
        """As many rows as the comparisons beside it ask for, one a tick."""
        for number in range(1, _MOST_ROWS):
            found = case.copy()
            found.be_same(formula.result, Constant(number))
            if found.is_contradictory():
                continue
            row = self._assumer.row_of(formula)
            step = max(self._tick, min(size // number, 2 * self._tick))
            if number > _MOST_POINTS and formula.function == "count":
                yield from self._one(found, row.operand, now - (number - 1) * self._tick, now, path)
            else:
                rows = [self._assumer.row_of(formula).operand for _ in range(number)]
                yield from self._rows(found, rows, now, step, path)
            return

    def _rows(self, case: Case, rows: Sequence[Formula], now: Time, step: Time, path: tuple[str, ...]) -> Iterator[Case]:
        if not rows:
            yield case
            return
        for found in self._one(case, rows[0], now, now, path):
            yield from self._rows(found, rows[1:], now - step, step, path)


def _size(formula: Latest) -> Time:
    return Fraction(4) if formula.window.tuples else formula.window.size


def _order(part: Formula) -> int:
    """What says most about values first; aggregates last, whose numbers of rows follow from comparisons."""
    return {Comparison: 0, Atom: 1, Aggregate: 4, Negation: 5}.get(type(part), 2)
