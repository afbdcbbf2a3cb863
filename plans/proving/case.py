"""A case: what is taken to hold at some unknown times, of some unknown values.

It says less than what it was made of: whatever has no place in it is left out. So where a case is contradictory, there is
nothing that it was made of. Values that are texts are ordered as numbers are, and between a number and a text only `!=`
holds, so a chain of comparisons that contradicts itself does so for either.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from tidelog.plans.proving.numbers.linear import Constraint, Sum, compared, is_infeasible, number, variable
from tidelog.plans.proving.numbers.reckoning import Reckoner
from tidelog.plans.tree.arithmetic import COMPARE
from tidelog.plans.tree.names import expression_variables
from tidelog.plans.tree.syntax import (
    Arithmetic,
    ComparisonOperator,
    Constant,
    Expression,
    Formula,
    Time,
    Value,
    Variable,
    Wildcard,
)
from tidelog.plans.tree.traverse import substitute

FLEXIBLE = "?"
"""With this begin the names of variables that a proof may choose; all others are given."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A time, `base + offset`, and whether a range that it bounds is without it. `base` is a variable; none is time 0."""

    base: str
    offset: Time
    is_open: bool = False

    def shifted(self, by: Time, *, is_open: bool = False) -> Bound:
        """Later by this, in the same base."""
        return Bound(self.base if abs(by) != math.inf else "", self.offset + by, self.is_open or is_open)

    @property
    def is_finite(self) -> bool:
        """Whether it is a time."""
        return abs(self.offset) != math.inf

    @property
    def closed(self) -> Bound:
        """The same time, as one that belongs to a range."""
        return replace(self, is_open=False)


@dataclass(frozen=True, slots=True)
class Range:
    """All times from one to another; a range may be empty, where its ends are not known."""

    low: Bound
    high: Bound

    @property
    def point(self) -> Bound | None:
        """Its only time, if it is known to be one."""
        return self.low if self.low == self.high and not self.low.is_open and self.low.is_finite else None

    def moved(self, low: Time, high: Time, *, left_open: bool = False, right_open: bool = False) -> Range:
        """The range with its ends moved."""
        return Range(self.low.shifted(low, is_open=left_open), self.high.shifted(high, is_open=right_open))


def at(bound: Bound) -> Range:
    """One time."""
    return Range(bound.closed, bound.closed)


@dataclass(frozen=True, slots=True)
class Span:
    """An atom that holds throughout a range."""

    predicate: str
    arguments: tuple[Expression, ...]
    range: Range


@dataclass(frozen=True, slots=True)
class Absent:
    """A formula that holds at no time of a range; wildcards in it stand for any value."""

    formula: Formula
    range: Range


@dataclass(frozen=True, slots=True)
class Whole:
    """A formula that holds throughout a range, as it was written."""

    formula: Formula
    range: Range


Kind = Literal["number", "text"]


@dataclass
class Case:
    """What is taken to hold. `whole` are the variables with whole numbers; `is_dead` where it is contradictory for sure."""

    bindings: dict[str, Expression] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    unequal: tuple[tuple[Expression, Expression], ...] = ()
    spans: tuple[Span, ...] = ()
    absent: tuple[Absent, ...] = ()
    wholes: tuple[Whole, ...] = ()
    kinds: dict[str, Kind] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    reckoner: Reckoner = field(default_factory=Reckoner)
    is_dead: bool = False
    looked_at: tuple[int, int, int, int] = (0, 0, 0, 0)
    """How many bindings, unequal pairs, results and constraints there were when it last was no contradiction."""

    def copy(self) -> Case:
        """One that can be added to without changing this one."""
        return replace(self, bindings=dict(self.bindings), kinds=dict(self.kinds), reckoner=self.reckoner.copy())

    # --- values ---------------------------------------------------------------------------------------------------------

    def resolve(self, term: Expression) -> Expression:
        """What a term is known to be."""
        while isinstance(term, Variable) and term.name in self.bindings:
            term = self.bindings[term.name]
        if isinstance(term, Arithmetic):
            return substitute(term, self.resolve)
        return term

    def sum(self, term: Expression) -> Sum | None:
        """A term as a sum; None for a text."""
        term = self.resolve(term)
        match term:
            case Variable(name=name):
                return variable(name)
            case Constant(value=value):
                return None if isinstance(value, str) else number(Fraction(value))
            case Arithmetic():
                return self.reckoner.sum(term, self.sum, self.whole)
        return None

    def kind(self, term: Expression) -> Kind | None:
        """Whether a term is a number or a text, where that is known."""
        term = self.resolve(term)
        match term:
            case Constant(value=value):
                return "text" if isinstance(value, str) else "number"
            case Arithmetic():
                return "number"
            case Variable(name=name):
                return self.kinds.get(name)
        return None

    def be(self, term: Expression, kind: Kind) -> None:
        """Take a term to be a number, or a text."""
        term = self.resolve(term)
        known = self.kind(term)
        if known is not None and known != kind:
            self.is_dead = True
        elif isinstance(term, Variable):
            self.kinds[term.name] = kind

    def be_same(self, left: Expression, right: Expression) -> None:
        """Take two terms to be equal."""
        left, right = self.resolve(left), self.resolve(right)
        if isinstance(left, Wildcard) or isinstance(right, Wildcard) or left == right:
            return
        if isinstance(right, Variable) and not isinstance(left, Variable):
            left, right = right, left
        if isinstance(left, Constant) and isinstance(right, Constant):
            self.is_dead = self.is_dead or not equal_values(left.value, right.value)
        elif isinstance(left, Variable) and not isinstance(right, Arithmetic):
            self._bind(left, right)
        else:
            self._be_numbers_that(left, "=", right)

    def _bind(self, name: Variable, term: Expression) -> None:
        kind = self.kinds.get(name.name)
        self.bindings[name.name] = term
        if kind is not None:
            self.be(term, kind)
        if name.name in self.whole:
            if isinstance(term, Variable):
                self.whole |= {term.name}
            elif isinstance(term, Constant) and not isinstance(term.value, str) and Fraction(term.value).denominator != 1:
                self.is_dead = True

    def be_that(self, left: Expression, operator: ComparisonOperator, right: Expression) -> None:
        """Take a comparison to hold."""
        left, right = self.resolve(left), self.resolve(right)
        for side in (left, right):
            for name in expression_variables(side) if isinstance(side, Arithmetic) else ():
                self.be(Variable(name), "number")
        if operator == "=":
            self.be_same(left, right)
        elif isinstance(left, Constant) and isinstance(right, Constant):
            self.is_dead = self.is_dead or not compares(left.value, operator, right.value)
        elif operator == "!=":
            self.unequal = (*self.unequal, (left, right))
            for side in (left, right):
                self.sum(side)  # so that it is known to have a value
        else:
            self._be_numbers_that(left, operator, right)

    def _be_numbers_that(self, left: Expression, operator: str, right: Expression) -> None:
        """The same of two terms of one kind."""
        for one, other in ((left, right), (right, left)):
            kind = self.kind(other)
            if kind is not None:
                self.be(one, kind)
        first, second = self.sum(left), self.sum(right)
        if first is not None and second is not None:
            made = compared(first, operator, second)
            if made is not None:
                self.constraints = (*self.constraints, made)

    # --- times ----------------------------------------------------------------------------------------------------------

    def time(self, bound: Bound) -> Sum | None:
        """A time as a sum; None where it is without end."""
        if not isinstance(bound.offset, Fraction):
            return None
        base = self.sum(Variable(bound.base)) if bound.base else Sum()
        return None if base is None else base.plus(number(bound.offset))

    def be_before(self, first: Bound, second: Bound) -> None:
        """Take a time to lie before another, or, if neither is open, at it."""
        left, right = self.time(first), self.time(second)
        if left is not None and right is not None:
            made = compared(left, "<" if first.is_open or second.is_open else "<=", right)
            if made is not None:
                self.constraints = (*self.constraints, made)

    def is_before(self, first: Bound, second: Bound, *, strictly: bool = False) -> bool:
        """Whether a time is proved to lie before another, or, unless `strictly`, at it."""
        if first.offset == -math.inf or second.offset == math.inf:
            return True
        if not first.is_finite or not second.is_finite:
            return False
        if first.base == second.base:
            return first.offset < second.offset or (first.offset == second.offset and not strictly)
        left, right = self.time(first), self.time(second)
        if left is None or right is None:
            return False
        made = compared(left, "<" if strictly else "<=", right)
        return made is not None and self._follows(made)

    def covers(self, outer: Range, inner: Range) -> bool:
        """Whether a range is proved to hold all of another."""
        return self.is_before(
            outer.low, inner.low, strictly=outer.low.is_open and not inner.low.is_open and outer.low.is_finite
        ) and self.is_before(
            inner.high, outer.high, strictly=outer.high.is_open and not inner.high.is_open and outer.high.is_finite
        )

    def points(self) -> Iterator[Bound]:
        """The times that are named, each once."""
        seen: set[Bound] = set()
        for named in (*(span.range for span in self.spans), *(whole.range for whole in self.wholes)):
            for bound in (named.low, named.high):
                closed = bound.closed
                if bound.is_finite and closed not in seen:
                    seen.add(closed)
                    yield closed

    # --- what follows ---------------------------------------------------------------------------------------------------

    def tightened(self, constraints: Iterable[Constraint]) -> list[Constraint]:
        """Constraints in terms of what is known by now, stricter where they are about whole numbers."""
        found = []
        for each in constraints:
            if not any(name in self.bindings for name, _ in each.left.parts):
                found.append(_whole(each, self.whole))
                continue
            left = Sum((), each.left.constant)
            for name, factor in each.left.parts:
                term = self.sum(Variable(name)) if not name.startswith("=") else variable(name)
                if term is None:
                    break  # a text: as little is said of it
                left = left.plus(term, factor)
            else:
                found.append(_whole(Constraint(left, each.sign), self.whole))
        return found

    def _follows(self, constraint: Constraint) -> bool:
        base = self.tightened(self.constraints)
        return all(
            is_infeasible([*(connected(base, more, self.reckoner)), *more])
            for denied in constraint.denied()
            for more in (self.tightened([denied]),)
        )

    def is_contradictory(self) -> bool:
        """Whether its values and times contradict each other."""
        if self.is_dead:
            return True
        size = len(self.bindings), len(self.unequal), len(self.reckoner.results), len(self.constraints)
        if size == self.looked_at:
            return False
        if any(self.resolve(left) == self.resolve(right) for left, right in self.unequal):
            self.is_dead = True
            return True
        base = self.tightened(self.constraints)
        if size[:3] == self.looked_at[:3]:
            new = self.tightened(self.constraints[self.looked_at[3] :])
            base = [*connected(base, new, self.reckoner), *new]
        else:
            base += self.reckoner.bounds(base)
        self.is_dead = is_infeasible(base) or self._is_same_after_all()
        self.looked_at = size
        return self.is_dead

    def _is_same_after_all(self) -> bool:
        """Whether two values that are unequal are proved to be equal."""
        return any(
            self.kind(left) == self.kind(right) == "number" and self.entails(left, "=", right)
            for left, right in self.unequal
        )

    def entails(self, left: Expression, operator: ComparisonOperator, right: Expression) -> bool:
        """Whether a comparison is proved to hold."""
        left, right = self.resolve(left), self.resolve(right)
        if not all(self.reckoner.has_value(side) for side in (left, right)):
            return False
        if isinstance(left, Constant) and isinstance(right, Constant):
            return compares(left.value, operator, right.value)
        if operator == "!=":
            return self._are_unequal(left, right)
        if left == right:
            return operator in ("=", "<=", ">=")
        first, second = self.sum(left), self.sum(right)
        made = None if first is None or second is None else compared(first, operator, second)
        return made is not None and self._follows(made)

    def _are_unequal(self, left: Expression, right: Expression) -> bool:
        kinds = {self.kind(left), self.kind(right)}
        if kinds == {"number", "text"}:
            return True
        pairs = [(self.resolve(one), self.resolve(other)) for one, other in self.unequal]
        if (left, right) in pairs or (right, left) in pairs:
            return True
        first, second = self.sum(left), self.sum(right)
        if first is None or second is None:
            return False
        base = self.tightened(self.constraints)
        more = self.tightened([Constraint(first.plus(second, -1), "=")])
        return is_infeasible([*connected(base, more, self.reckoner), *more])


def compares(left: Value, operator: ComparisonOperator, right: Value) -> bool:
    """Whether two constants compare so."""
    try:
        return COMPARE[operator](left, right)
    except TypeError:
        return False


def equal_values(left: Value, right: Value) -> bool:
    """Whether two constants are one."""
    return isinstance(left, str) == isinstance(right, str) and left == right


def _whole(constraint: Constraint, whole: frozenset[str]) -> Constraint:
    """A strict inequality of whole numbers without its strictness, its constant rounded."""
    parts = constraint.left.parts
    if constraint.sign == "=" or not parts or not all(name in whole and abs(factor) == 1 for name, factor in parts):
        return constraint
    constant = constraint.left.constant
    if constraint.sign == "<" and constant.denominator == 1:
        return Constraint(Sum(parts, constant + 1), "<=")
    return constraint if constant.denominator == 1 else Constraint(Sum(parts, math.ceil(constant)), "<=")


def connected(base: list[Constraint], wanted: Iterable[Constraint], reckoner: Reckoner) -> list[Constraint]:
    """The constraints that have to do with the wanted ones, by way of variables that they share."""
    rest = [*base, *reckoner.bounds(base)]
    names = {name for each in wanted for name, _ in each.left.parts}
    names |= reckoner.linked(names)
    kept: list[Constraint] = []
    while True:
        near: list[Constraint] = []
        far: list[Constraint] = []
        for each in rest:
            (near if any(name in names for name, _ in each.left.parts) else far).append(each)
        if not near:
            return kept
        kept += near
        rest = far
        names |= {name for each in near for name, _ in each.left.parts}
        names |= reckoner.linked(names)
