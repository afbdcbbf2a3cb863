"""Proving that a formula holds in a case: by what is taken to hold, and by the rules of the program.

What holds by a rule is derived by it, whatever else there is. `not M` is proved by contradiction: no case in which M held
beside the others would be possible. Nothing is proved by looking for it in vain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from itertools import islice

from tidelog.plans.proving.assuming import Assumer, any_of
from tidelog.plans.proving.budget import Budget
from tidelog.plans.proving.case import FLEXIBLE, Bound, Case, Range, at, equal_values
from tidelog.plans.proving.rulebook import Clause, Rulebook
from tidelog.plans.tree.names import expression_variables, has_wildcard
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
    Truth,
    Unary,
    Variable,
    Wildcard,
    Window,
)
from tidelog.plans.tree.traverse import subformulas

DEPTH = 6
"""So many rules on a path are used."""
_POINTS = 14
_ZERO = Fraction(0)


class Prover:
    """Proves formulas in cases, and that cases are contradictory."""

    def __init__(self, book: Rulebook, budget: Budget) -> None:
        self.book = book
        self.assumer = Assumer(book, budget)
        self._budget = budget

    # --- contradictions -------------------------------------------------------------------------------------------------

    def is_contradictory(self, case: Case, depth: int = 2) -> bool:
        """Whether it is proved that a case is impossible."""
        if case.is_contradictory():
            return True
        if depth <= 0:
            return False
        return any(self._holds_within(case, absent.formula, absent.range, depth) for absent in case.absent)

    def _holds_within(self, case: Case, formula: Formula, when: Range, depth: int) -> bool:
        """Whether a formula is proved to hold at some time of a range."""
        points = (
            [when.point]
            if when.point is not None
            else [point for point in self._points(case, when) if case.covers(when, at(point))]
        )
        return any(self.proves(case, (formula,), at(point), depth) for point in points)

    def _points(self, case: Case, when: Range) -> Iterator[Bound]:
        ends = [end for end in (when.low, when.high) if end.is_finite and not end.is_open]
        yield from islice(dict.fromkeys((*ends, *case.points())), _POINTS)

    def refutes(self, case: Case, parts: Sequence[Formula], when: Range, depth: int = 2) -> bool:
        """Whether it is proved that the parts cannot hold together throughout a range that is not empty."""
        return all(self.is_contradictory(found, depth) for found in self.assumer.assume(case, parts, when))

    # --- proofs ---------------------------------------------------------------------------------------------------------

    def proves(self, case: Case, parts: Sequence[Formula], when: Range, depth: int = 2) -> bool:
        """Whether it is proved that all parts hold throughout a range, for some values of their flexible variables."""
        return next(self.all(case, tuple(parts), when, depth, ()), None) is not None

    def all(self, case: Case, parts: Sequence[Formula], when: Range, depth: int, path: tuple[str, ...]) -> Iterator[Case]:
        """The case with each choice of flexible variables by which all parts are proved."""
        if not parts:
            yield case
            return
        parts = sorted(parts, key=_order) if len(parts) > 1 else parts
        ready = next((part for part in parts if _is_ready(case, part)), None) or next(
            (part for part in parts if not _is_waiting(case, part)), parts[0]
        )
        rest = [part for part in parts if part is not ready]
        for found in self.one(case, ready, when, depth, path):
            yield from self.all(found, rest, when, depth, path)

    def one(self, case: Case, formula: Formula, when: Range, depth: int, path: tuple[str, ...]) -> Iterator[Case]:
        """The same of one formula."""
        self._budget.take()
        match formula:
            case Truth(value=value):
                yield from [case] if value else []
            case Conjunction(parts=parts):
                yield from self.all(case, parts, when, depth, path)
            case Comparison():
                yield from _compared(case, formula)
            case Negation():
                if depth > 0 and self._is_absent(case, formula.operand, when, depth - 1):
                    yield case
            case Atom():
                yield from self._atom(case, formula, when, depth, path)
            case Unary() | Binary() | Window() | Latest() | Aggregate():
                yield from self._as_written(case, formula, when)
                yield from self._operator(case, formula, when, depth, path)

    def _is_absent(self, case: Case, formula: Formula, when: Range, depth: int) -> bool:
        if not _is_closed(formula):
            return False
        case = case.copy()
        point = when.point
        if point is None:
            then = self.assumer.now(case)
            case.be_before(when.low, then.low)
            case.be_before(then.low, when.high)
        else:
            then = at(point)
        return self.refutes(case, (formula,), then, depth)

    def _as_written(self, case: Case, formula: Formula, when: Range) -> Iterator[Case]:
        """By the same formula, where it is taken to hold."""
        for whole in case.wholes:
            if type(whole.formula) is type(formula) and case.covers(whole.range, when):
                found = case.copy()
                if _same(found, formula, whole.formula, _locals(formula)):
                    yield found

    # --- atoms ----------------------------------------------------------------------------------------------------------

    def _atom(self, case: Case, atom: Atom, when: Range, depth: int, path: tuple[str, ...]) -> Iterator[Case]:
        opened = self.book.opened(atom, flexible=True)
        if not isinstance(opened, Atom):
            raise TypeError(f"no atom: {opened!r}")
        if opened.at is not None:
            yield from self._atom_at(case, opened, depth, path)
            return
        for span in case.spans:
            if span.predicate == opened.predicate and len(span.arguments) == len(opened.arguments):
                found = case.copy()
                if _all_same(found, opened.arguments, span.arguments) and case.covers(span.range, when):
                    yield found
        for row, interval in self.book.facts.get(opened.predicate, ()):
            found = case.copy()
            terms = tuple(map(Constant, row))
            if _all_same(found, opened.arguments, terms) and (interval is None or case.covers(_range_of(interval), when)):
                yield found
        if path.count(opened.predicate) < 2 and len(path) < DEPTH:
            for clause in self.book.of(opened.predicate):
                yield from self._by_rule(case, opened, when, clause, depth, (*path, opened.predicate))

    def _atom_at(self, case: Case, atom: Atom, depth: int, path: tuple[str, ...]) -> Iterator[Case]:
        """`p(X)@T`: of a T that is chosen, at the times of the case at which p holds as a point."""
        if atom.at is None:
            return
        time = case.resolve(atom.at.variable)
        plain = Atom(atom.predicate, atom.arguments, None, atom.span)
        if not isinstance(time, Variable):
            return
        if not time.name.startswith(FLEXIBLE):
            yield from self._atom(case, plain, at(Bound(time.name, Fraction(atom.at.shift))), depth, path)
            return
        for span in case.spans:
            point = span.range.point
            if span.predicate == atom.predicate and point is not None and point.base and point.offset == atom.at.shift:
                found = case.copy()
                found.bindings[time.name] = Variable(point.base)
                yield from self._atom(found, plain, at(point), depth, path)

    def _by_rule(
        self, case: Case, atom: Atom, when: Range, clause: Clause, depth: int, path: tuple[str, ...]
    ) -> Iterator[Case]:
        self._budget.take()
        new = self.book.renamed(clause, flexible=True)
        found = case.copy()
        if not _all_same(found, new.head.arguments, atom.arguments):
            return
        if new.head.at is not None:
            point = when.point
            told = found.resolve(new.head.at.variable)
            if point is None or point.offset != new.head.at.shift or not point.base or not isinstance(told, Variable):
                return
            if told.name.startswith(FLEXIBLE):
                found.bindings[told.name] = Variable(point.base)
            elif told.name != point.base:
                return
            yield from self.all(found, new.body, when, depth, path)
            return
        nearest = new.nearest
        yield from self.all(found, new.body, when.moved(-nearest, -nearest), depth, path)
        if new.low != new.high:
            for point in self._points(found, when):
                reach = Range(point.shifted(new.low, is_open=new.left_open), point.shifted(new.high, is_open=new.right_open))
                if found.covers(reach, when):
                    yield from self.all(found, new.body, at(point), depth, path)

    # --- operators ------------------------------------------------------------------------------------------------------

    def _operator(self, case: Case, formula: Formula, when: Range, depth: int, path: tuple[str, ...]) -> Iterator[Case]:
        match formula:
            case Unary(operator="boxminus" | "boxplus"):
                low, high, opens = _signed(formula)
                wider = when.moved(low, high, left_open=opens[0], right_open=opens[1])
                yield from self.one(case, formula.operand, wider, depth, path)
            case Unary(step=0):
                low, high, opens = _signed(formula)
                yield from self._sometime(case, formula.operand, when, (low, high), opens, depth, path)
            case Window(mode="sometime", window=size) if not size.tuples and size.step is None:
                yield from self._sometime(case, formula.operand, when, (-size.size, _ZERO), (False, False), depth, path)
            case Binary():
                yield from self._since(case, formula, when, depth, path)
            case Latest(window=size) if not size.tuples and size.step is None and when.point is not None:
                yield from self._latest(case, formula, when.point, depth, path)

    def _sometime(
        self,
        case: Case,
        formula: Formula,
        when: Range,
        limits: tuple[Fraction | float, Fraction | float],
        opens: tuple[bool, bool],
        depth: int,
        path: tuple[str, ...],
    ) -> Iterator[Case]:
        low, high = limits
        for end, is_open in ((low, opens[0]), (high, opens[1])):
            if not is_open and abs(end) != math.inf:
                yield from self.one(case, formula, when.moved(end, end), depth, path)
            if low == high:
                return
        for point in self._points(case, when):
            if self._is_near(case, when, point, limits, opens):
                yield from self.one(case, formula, at(point), depth, path)

    def _is_near(
        self,
        case: Case,
        when: Range,
        point: Bound,
        limits: tuple[Fraction | float, Fraction | float],
        opens: tuple[bool, bool],
    ) -> bool:
        """Whether a time is within limits of each time of a range."""
        first, last = when.high.shifted(limits[0]), when.low.shifted(limits[1])
        return case.is_before(
            first, point, strictly=opens[0] and first.is_finite and not when.high.is_open
        ) and case.is_before(point, last, strictly=opens[1] and last.is_finite and not when.low.is_open)

    def _since(self, case: Case, formula: Binary, when: Range, depth: int, path: tuple[str, ...]) -> Iterator[Case]:
        interval = formula.interval
        if interval.low == 0 and not interval.left_open:
            yield from self.one(case, formula.right, when, depth, path)
        now = when.point
        if now is None:
            return
        limits, opens = (interval.low, interval.high), (interval.left_open, interval.right_open)
        if formula.operator == "since":
            limits, opens = (-interval.high, -interval.low), (opens[1], opens[0])
        for point in self._points(case, when):
            if not self._is_near(case, when, point, limits, opens):
                continue
            between = self.assumer.inside(*((point, now) if formula.operator == "since" else (now, point)))
            for found in self.one(case, formula.right, at(point), depth, path):
                yield from self.one(found, formula.left, between, depth, path)

    def _latest(self, case: Case, formula: Latest, now: Bound, depth: int, path: tuple[str, ...]) -> Iterator[Case]:
        limits = (-formula.window.size, _ZERO)
        for point in self._points(case, at(now)):
            if not self._is_near(case, at(now), point, limits, (False, False)):
                continue
            behind = Range(self.assumer.inside(point, now).low, now)
            for found in self.one(case, formula.atom, at(point), depth, path):
                if depth > 0 and self._is_absent(found, _resolved(found, any_of(formula)), behind, depth - 1):
                    yield found


def _signed(formula: Unary) -> tuple[Fraction | float, Fraction | float, tuple[bool, bool]]:
    """The distances of an operator, behind being negative, and which of them are open."""
    interval = formula.interval
    if formula.operator in ("boxminus", "diamondminus"):
        return -interval.high, -interval.low, (interval.right_open, interval.left_open)
    return interval.low, interval.high, (interval.left_open, interval.right_open)


def _range_of(interval: Interval) -> Range:
    return Range(Bound("", interval.low, interval.left_open), Bound("", interval.high, interval.right_open))


def _order(part: Formula) -> int:
    """Atoms first, since they choose values; what is negated last."""
    return {Atom: 0, Comparison: 1, Negation: 3}.get(type(part), 2)


def _is_ready(case: Case, part: Formula) -> bool:
    """Whether a comparison's values are all chosen, so that it can be proved before anything else is chosen."""
    if not isinstance(part, Comparison):
        return False
    return not any(_is_open(case, Variable(name)) for name in expression_variables(part.left, part.right))


def _is_waiting(case: Case, part: Formula) -> bool:
    """Whether a comparison can be proved only once another part has chosen its values."""
    if not isinstance(part, Comparison):
        return False
    sides = (part.left, part.right)
    is_open = [any(_is_open(case, Variable(name)) for name in expression_variables(side)) for side in sides]
    return all(is_open) or (any(is_open) and part.operator != "=")


def _is_open(case: Case, term: Expression) -> bool:
    found = case.resolve(term)
    return isinstance(found, Variable) and found.name.startswith(FLEXIBLE)


def _compared(case: Case, comparison: Comparison) -> Iterator[Case]:
    left, right = case.resolve(comparison.left), case.resolve(comparison.right)
    if comparison.operator == "=":
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Variable) and _is_open(case, one):
                if case.reckoner.has_value(other) and not any(
                    _is_open(case, Variable(name)) for name in expression_variables(other)
                ):
                    found = case.copy()
                    found.bindings[one.name] = other
                    yield found
                return
    if case.entails(left, comparison.operator, right):
        yield case


def _all_same(case: Case, terms: Sequence[Expression], others: Sequence[Expression]) -> bool:
    return all(_same_term(case, term, other) for term, other in zip(terms, others, strict=True))


def _same_term(case: Case, term: Expression, other: Expression) -> bool:
    """Whether two terms are proved to be equal, once flexible ones are chosen so."""
    term, other = case.resolve(term), case.resolve(other)
    if isinstance(term, Wildcard) or isinstance(other, Wildcard) or term == other:
        return True
    for one, another in ((term, other), (other, term)):
        if isinstance(one, Variable) and one.name.startswith(FLEXIBLE):
            if isinstance(another, Arithmetic):
                return False
            case.bindings[one.name] = another
            return True
    if isinstance(term, Constant) and isinstance(other, Constant):
        return equal_values(term.value, other.value)
    return case.entails(term, "=", other)


def _resolved(case: Case, atom: Atom) -> Atom:
    return Atom(atom.predicate, tuple(map(case.resolve, atom.arguments)), None, atom.span)


def _is_closed(formula: Formula) -> bool:
    """Whether what is left open in a formula means the same wherever its operators stand.

    Below a box, or left of since, `_` may stand for other values at other times.
    """
    return not any(
        (isinstance(part, Unary) and part.operator.startswith("box") and has_wildcard(part.operand))
        or (isinstance(part, Binary) and has_wildcard(part.left))
        or (isinstance(part, Window) and part.mode == "always" and has_wildcard(part.operand))
        for part in subformulas(formula)
    )


def _locals(formula: Formula) -> frozenset[str]:
    """The variables that are an aggregate's own: a name means nothing outside."""
    if not isinstance(formula, Aggregate):
        return frozenset()
    outside = {name.name for name in formula.by}
    inner = [name for name in _names(formula) if name not in outside and name != formula.result.name]
    return frozenset(inner)


def _names(item: object) -> Iterator[str]:
    if isinstance(item, Variable):
        yield item.name
    elif is_dataclass(item):
        for each in fields(item):
            if each.name != "span":
                yield from _names(getattr(item, each.name))
    elif isinstance(item, tuple):
        for each in item:
            yield from _names(each)


def _same(case: Case, item: object, other: object, own: frozenset[str], pairs: dict[str, str] | None = None) -> bool:
    """Whether two formulas are one, once flexible variables are chosen so, and local ones have other names."""
    pairs = {} if pairs is None else pairs
    if isinstance(item, Wildcard) or isinstance(other, Wildcard):
        return isinstance(item, Wildcard) and isinstance(other, Wildcard)
    if isinstance(item, Variable) and isinstance(other, Variable) and item.name in own:
        taken = pairs.setdefault(item.name, other.name) == other.name
        return taken and list(pairs.values()).count(other.name) == 1
    if isinstance(item, Variable | Constant) and isinstance(other, Variable | Constant):
        return _same_term(case, item, other)
    if isinstance(item, tuple) and isinstance(other, tuple):
        return len(item) == len(other) and all(_same(case, *both, own, pairs) for both in zip(item, other, strict=True))
    return _same_fields(case, item, other, own, pairs)


def _same_fields(case: Case, item: object, other: object, own: frozenset[str], pairs: dict[str, str]) -> bool:
    if type(item) is not type(other):
        return False
    if not is_dataclass(item):
        return item == other
    return all(
        _same(case, getattr(item, each.name), getattr(other, each.name), own, pairs)
        for each in fields(item)
        if each.compare and each.name != "span"
    )
