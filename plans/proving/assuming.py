"""Assuming that a formula holds: the cases in which it does, of which one is true.

Each formula is replaced by what follows from it, so that a case may say too little, and never too much: a predicate that
rules derive holds by one of them (the least model has nothing else); `diamondminus` by some time; `M1 since M2` by a time of
M2, and M1 at all times behind it; an aggregate by one of its rows. Rules are put in for predicates down to a depth, once
on a path; below it, that the atom holds is all that is said. What has no line here is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from tidelog.plans.proving.budget import Budget
from tidelog.plans.proving.case import Absent, Bound, Case, Range, Span, Whole, at
from tidelog.plans.proving.numbers.reckoning import limits_of
from tidelog.plans.proving.rulebook import Clause, Rulebook, with_names
from tidelog.plans.tree.names import has_wildcard, variables
from tidelog.plans.tree.syntax import (
    Aggregate,
    Arithmetic,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Constant,
    Expression,
    Formula,
    Interval,
    Latest,
    Negation,
    Period,
    Truth,
    Unary,
    Value,
    Variable,
    Wildcard,
    Window,
)

DEPTH = 5
"""So many rules on a path are put in."""
_ZERO = Fraction(0)
_OF_A_ROW = ("min", "max", "first", "last")
_BETWEEN_ROWS = ("avg", "quantile")


class Assumer:
    """Makes the cases of formulas by the rules of a program."""

    def __init__(self, book: Rulebook, budget: Budget) -> None:
        self.book = book
        self._budget = budget

    def now(self, case: Case) -> Range:
        """A new time."""
        return at(Bound(self._time(case), _ZERO))

    def assume(self, case: Case, parts: Sequence[Formula], when: Range, path: tuple[str, ...] = ()) -> Iterator[Case]:
        """The cases in which all of the parts hold throughout a range that is not empty."""
        if not parts:
            yield case
            return
        first, *rest = sorted(parts, key=self._cost) if len(parts) > 1 else parts
        for found in self.one(case, first, when, path):
            if not found.is_contradictory():
                yield from self.assume(found, rest, when, path)

    def _cost(self, part: Formula) -> int:
        """What may have many cases comes last."""
        match part:
            case Comparison() | Truth() | Negation():
                return 1
            case Atom(predicate=name):
                return 2 if self.book.of(name) else 0
        return 3

    def one(self, case: Case, formula: Formula, when: Range, path: tuple[str, ...]) -> Iterator[Case]:
        """The cases in which one formula holds throughout a range that is not empty."""
        self._budget.take()
        match formula:
            case Truth(value=value):
                yield from [case] if value else []
            case Conjunction(parts=parts):
                yield from self.assume(case, parts, when, path)
            case Comparison(operator=operator, left=left, right=right):
                case = case.copy()
                case.be_that(left, operator, right)
                yield from [] if case.is_dead else [case]
            case Negation(operand=Negation(operand=inner)):
                yield from self.one(case, inner, when, path)
            case Negation(operand=inner):
                case = case.copy()
                case.absent = (*case.absent, Absent(inner, when))
                yield case
            case Atom():
                yield from self._atom(case, formula, when, path)
            case Unary():
                yield from self._unary(_noted(case, formula, when), formula, when, path)
            case Binary():
                yield from self._binary(_noted(case, formula, when), formula, when, path)
            case Window():
                yield from self._window(_noted(case, formula, when), formula, when, path)
            case Latest():
                yield from self._latest(_noted(case, formula, when), formula, when, path)
            case Aggregate():
                yield from self._aggregate(_noted(case, formula, when), formula, when, path)
            case _:
                yield case

    # --- atoms ----------------------------------------------------------------------------------------------------------

    def _atom(self, case: Case, atom: Atom, when: Range, path: tuple[str, ...]) -> Iterator[Case]:
        case = case.copy()
        if atom.at is not None:
            case.whole |= {atom.at.variable.name}
            case.be(atom.at.variable, "number")
            when = at(Bound(atom.at.variable.name, Fraction(atom.at.shift)))
            atom = replace(atom, at=None)
        opened = self.book.opened(atom)
        if not isinstance(opened, Atom):
            raise TypeError(f"no atom: {opened!r}")
        self.typed(case, opened)
        case.spans = (*case.spans, Span(opened.predicate, opened.arguments, when))
        if case.is_dead or opened.predicate in self.book.empty:
            return
        if opened.predicate in self.book.open or opened.predicate in path or len(path) >= DEPTH:
            yield case
            return
        yield from self._derived(case, opened, when, (*path, opened.predicate))

    def typed(self, case: Case, atom: Atom) -> None:
        """Its arguments are of the types that an input declares; facts of the program itself may be of others."""
        if atom.predicate in self.book.facts:
            return
        for term, kind in zip(atom.arguments, self.book.types.get(atom.predicate, ()), strict=False):
            if kind in ("number", "integer"):
                case.be(term, "number")
            elif kind == "text":
                case.be(term, "text")
            found = case.resolve(term)
            if kind == "integer" and isinstance(found, Variable):
                case.whole |= {found.name}

    def _derived(self, case: Case, atom: Atom, when: Range, path: tuple[str, ...]) -> Iterator[Case]:
        """One case for each fact and each rule by which an atom may hold."""
        sample = self._sample(case, when)
        if sample is None:
            yield case
            return
        for row, interval in self.book.facts.get(atom.predicate, ()):
            yield from self._by_fact(case, atom, sample, row, interval)
        clauses = self.book.of(atom.predicate)
        is_only = len(clauses) == 1 and atom.predicate not in self.book.facts
        for clause in clauses:
            self._budget.take()
            new = self.book.renamed(clause)
            if is_only and new.is_plain and when.point is None and new.is_told_by_head:
                yield from self._by_rule(case, atom, when, new, path)
            elif is_only and when.point is None and when.high.is_finite and not when.high.is_open and sample.low == when.low:
                for found in self._by_rule(case, atom, sample, new, path):  # at both ends: it says more, and has one case
                    yield from self._by_rule(found, atom, at(when.high), self.book.renamed(clause), path)
            else:
                yield from self._by_rule(case, atom, sample, new, path)

    def _by_fact(
        self, case: Case, atom: Atom, when: Range, row: Sequence[Value], interval: Interval | None
    ) -> Iterator[Case]:
        case = case.copy()
        for term, value in zip(atom.arguments, row, strict=True):
            case.be_same(term, Constant(value))
        if interval is not None:
            case.be_before(Bound("", interval.low, interval.left_open), when.low)
            case.be_before(when.high, Bound("", interval.high, interval.right_open))
        if not case.is_dead:
            yield case

    def _by_rule(self, case: Case, atom: Atom, when: Range, clause: Clause, path: tuple[str, ...]) -> Iterator[Case]:
        case = case.copy()
        for term, given in zip(clause.head.arguments, atom.arguments, strict=True):
            case.be_same(term, given)
        if case.is_dead:
            return
        if clause.head.at is not None:
            told = clause.head.at
            case.whole |= {told.variable.name}
            same = Bound(told.variable.name, Fraction(told.shift))
            case.be_before(same, when.low)
            case.be_before(when.low, same)
            when = self.now(case)
        elif not clause.is_plain:
            when = self._between(case, when.low, (-clause.high, -clause.low), (clause.right_open, clause.left_open))
        if not case.is_contradictory():
            yield from self.assume(case, clause.body, when, path)

    # --- operators ------------------------------------------------------------------------------------------------------

    def _unary(self, case: Case, formula: Unary, when: Range, path: tuple[str, ...]) -> Iterator[Case]:
        interval = formula.interval
        if formula.clipped:
            yield case
            return
        low, high = interval.low, interval.high + formula.step
        opens = (interval.left_open, interval.right_open)
        if formula.operator in ("boxminus", "diamondminus"):
            low, high, opens = -high, -low, (opens[1], opens[0])
        if formula.operator in ("boxminus", "boxplus"):
            yield from self.one(case, formula.operand, when.moved(low, high, left_open=opens[0], right_open=opens[1]), path)
            return
        if interval.is_punctual and not formula.step:
            yield from self.one(case, formula.operand, when.moved(low, high), path)
            return
        sample = self._sample(case, when)
        if sample is not None:
            case = case.copy()
            yield from self.one(case, formula.operand, self._between(case, sample.low, (low, high), opens), path)
        else:
            yield case

    def _binary(self, case: Case, formula: Binary, when: Range, path: tuple[str, ...]) -> Iterator[Case]:
        sample = self._sample(case, when)
        if sample is None:
            yield case
            return
        case = case.copy()
        interval = formula.interval
        low, high, opens = interval.low, interval.high, (interval.left_open, interval.right_open)
        if formula.operator == "since":
            low, high, opens = -high, -low, (opens[1], opens[0])
        then = self._between(case, sample.low, (low, high), opens)
        for found in self.one(case, formula.right, then, path):
            first, last = (then.low, sample.low) if formula.operator == "since" else (sample.low, then.low)
            yield self._meanwhile(found.copy(), formula.left, self.inside(first, last))

    def inside(self, first: Bound, last: Bound) -> Range:
        """The times strictly between two: there may be none."""
        if self.book.is_integer:
            return Range(first.shifted(Fraction(1)), last.shifted(Fraction(-1)))
        return Range(replace(first, is_open=True), replace(last, is_open=True))

    def _meanwhile(self, case: Case, formula: Formula, when: Range) -> Case:
        """What holds at all times of a range that may be empty, as far as it has a place."""
        match formula:
            case Conjunction(parts=parts):
                for part in parts:
                    case = self._meanwhile(case, part, when)
            case Atom(at=None) if not has_wildcard(formula):
                case.spans = (*case.spans, Span(formula.predicate, formula.arguments, when))
            case Negation(operand=inner):
                case.absent = (*case.absent, Absent(inner, when))
        return case

    def _window(self, case: Case, formula: Window, when: Range, path: tuple[str, ...]) -> Iterator[Case]:
        sample = self._sample(case, when)
        if formula.mode == "always" or sample is None:
            yield case
            return
        case = case.copy()
        size = formula.window
        back = math.inf if size.tuples else size.size + (size.step or 0)
        then = self._between(case, sample.low, (-back, _ZERO), (False, False))
        if formula.mode == "at" and isinstance(formula.operand, Atom) and formula.operand.at is not None:
            told = formula.operand.at
            case.whole |= {told.variable.name}
            same = Bound(told.variable.name, Fraction(told.shift))
            case.be_before(same, then.low)
            case.be_before(then.low, same)
        if not case.is_contradictory():
            yield from self.one(case, formula.operand, then, path)

    def _latest(self, case: Case, formula: Latest, when: Range, path: tuple[str, ...]) -> Iterator[Case]:
        sample = self._sample(case, when)
        if sample is None or formula.window.tuples:
            yield case
            return
        case = case.copy()
        step = formula.window.step
        then = self._between(case, sample.low, (-formula.window.size - (step or 0), _ZERO), (False, False))
        if step is not None:  # what has come since the last step may be later, and does not count yet
            yield from self.one(case, formula.atom, then, path)
            return
        behind = replace(self.inside(then.low, sample.low), high=sample.low)
        for found in self.one(case, formula.atom, then, path):
            found = found.copy()
            found.absent = (*found.absent, Absent(any_of(formula), behind))
            yield found

    def _aggregate(self, case: Case, formula: Aggregate, when: Range, path: tuple[str, ...]) -> Iterator[Case]:
        sample = self._sample(case, when)
        if sample is None:
            yield case
            return
        case = case.copy()
        case.be(formula.result, "number") if formula.function not in ("min", "max", "first", "last") else None
        row = self.row_of(formula)
        if isinstance(formula.window, Period) or formula.window.tuples:
            then = self.now(case)
        else:
            back = formula.window.size + (formula.window.step or 0)
            then = self._between(case, sample.low, (-back, _ZERO), (False, False))
        if formula.function in ("count", "distinct"):
            case.whole |= {formula.result.name}
            case.be_that(formula.result, ">=", Constant(1))
            self._counted(case, formula, row)
        elif formula.function in _OF_A_ROW and row.argument is not None:
            case.be_same(formula.result, row.argument)
        elif formula.function in _BETWEEN_ROWS and row.argument is not None:
            self._between_rows(case, formula, row, then, path)
        elif formula.function == "stddev":
            case.be_that(formula.result, ">=", Constant(0))
        if not case.is_dead:
            yield from self.one(case, row.operand, then, path)

    def _between_rows(self, case: Case, formula: Aggregate, row: Aggregate, then: Range, path: tuple[str, ...]) -> None:
        """The result lies between the limits of the rows, in whichever case each of them is."""
        argument = row.argument
        if argument is None:
            return
        found = [limits_of(each.resolve(argument), each.constraints) for each in self.one(case, row.operand, then, path)]
        low, high = min((low for low, _ in found), default=-math.inf), max((high for _, high in found), default=math.inf)
        if low != -math.inf:
            case.be_that(formula.result, ">=", Constant(low))
        if high != math.inf:
            case.be_that(formula.result, "<=", Constant(high))

    def _counted(self, case: Case, formula: Aggregate, row: Aggregate) -> None:
        """At each time of a window at most one row counts, where nothing in it is left open."""
        window = formula.window
        opened = self.book.opened(row.operand)
        if formula.function != "count" or isinstance(window, Period) or window.tuples:
            return
        if set(variables(opened)) <= {name.name for name in formula.by}:
            case.be_that(formula.result, "<=", Constant(int(window.size) + 1))

    def row_of(self, formula: Aggregate) -> Aggregate:
        """An aggregate with variables of its own for those that are local."""
        shared = {name.name for name in formula.by} | {formula.result.name}
        names: dict[str, Variable] = {}

        def change(term: Expression) -> Expression:
            if isinstance(term, Variable) and term.name not in shared:
                return names.setdefault(term.name, self.book.new())
            if isinstance(term, Arithmetic):
                return replace(term, operands=tuple(map(change, term.operands)))
            return term

        made = with_names(formula, change)
        if not isinstance(made, Aggregate):
            raise TypeError(f"no aggregate: {made!r}")
        return made

    # --- times ----------------------------------------------------------------------------------------------------------

    def _time(self, case: Case) -> str:
        name = self.book.fresh("t")
        if self.book.is_integer:
            case.whole |= {name}
        return name

    def _between(self, case: Case, base: Bound, distances: tuple[object, object], opens: tuple[bool, bool]) -> Range:
        """A new time whose distance from another lies within limits."""
        low, high = distances
        if not isinstance(low, Fraction | float) or not isinstance(high, Fraction | float):
            raise TypeError("distances are times")
        if low == high:
            return at(base.shifted(low))
        then = Bound(self._time(case), _ZERO)
        case.be_before(base.closed.shifted(low, is_open=opens[0]), then)
        case.be_before(then, base.closed.shifted(high, is_open=opens[1]))
        return at(then)

    def _sample(self, case: Case, when: Range) -> Range | None:
        """A time of a range that is not empty; None where none can be named."""
        for end in (when.low, when.high):
            if end.is_finite and not end.is_open:
                return at(end)
        if not when.low.is_finite and not when.high.is_finite:
            return None
        then = Bound(self._time(case), _ZERO)
        case.be_before(when.low, then)
        case.be_before(then, when.high)
        return at(then)


def any_of(formula: Latest) -> Atom:
    """The atom of `latest` with what is not in its `by` left open."""
    return replace(
        formula.atom, arguments=tuple(term if term in formula.by else Wildcard() for term in formula.atom.arguments)
    )


def _noted(case: Case, formula: Formula, when: Range) -> Case:
    case = case.copy()
    case.wholes = (*case.wholes, Whole(formula, when))
    return case
