"""How large an unfolding will be, computed from the formulas before anything is built (dynamic programming)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tidelog.operators.sld.goals.covers import Cover, chains, covers_of
from tidelog.operators.sld.goals.rounds import Known, bound, may_hold, value_in
from tidelog.operators.sld.goals.rulebook import Clause, Rulebook, is_unbounded
from tidelog.operators.sld.goals.tasks import Call
from tidelog.operators.sld.limits import MAX_PRECONDITIONS, MAX_PREMISES, Budget, is_long, too_large
from tidelog.plans.diagnostics.errors import Span
from tidelog.plans.plan.preconditions import Argument, Slot
from tidelog.plans.tree.names import has_wildcard
from tidelog.plans.tree.syntax import (
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Constant,
    Formula,
    Interval,
    Negation,
    Time,
    Truth,
    Unary,
    Value,
    Variable,
    Window,
)

_MOST = 10**30
"""Beyond this it does not matter how many there are."""


class Size(NamedTuple):
    """How many alternatives, and how many premises in all of them."""

    ways: int
    premises: int

    def both(self, other: Size) -> Size:
        """That of a conjunction."""
        premises = self.premises * other.ways + other.premises * self.ways
        return _capped(self.ways * other.ways, premises)

    def either(self, other: Size) -> Size:
        """That of a choice."""
        return _capped(self.ways + other.ways, self.premises + other.premises)

    def times(self, number: int) -> Size:
        """That of a choice between so many of the same size."""
        return _capped(self.ways * number, self.premises * number)

    def all_of(self, number: int) -> Size:
        """That of a conjunction of so many of the same size."""
        if number == 0:
            return ONE
        if self.ways > 1 and number * self.ways.bit_length() > 2 * _MOST.bit_length():
            return Size(_MOST, _MOST)
        before = self.ways ** (number - 1) if self.ways > 1 or number == 1 else self.ways
        return _capped(before * self.ways, number * self.premises * before)


NONE, ONE, PREMISE = Size(0, 0), Size(1, 0), Size(1, 1)


def _capped(ways: int, premises: int) -> Size:
    return Size(min(ways, _MOST), min(premises, _MOST))


def require_size(goal: Call, rulebook: Rulebook, budget: Budget) -> None:
    """ProgramError, naming the size, if the unfolding of a goal would go beyond the limits."""
    sizer = _Sizer(rulebook)
    pattern = tuple(None if isinstance(term, Slot) else term for term in goal.arguments)
    size = sizer.size(_Key(goal.predicate, pattern))
    span = sizer.blamed or budget.span
    if budget.preconditions + size.ways > MAX_PRECONDITIONS:
        raise too_large(f"{_count(size.ways)} alternatives", span)
    if budget.premises + size.premises > MAX_PREMISES:
        raise too_large(f"{_count(size.premises)} premises", span)


def _count(number: int) -> str:
    return "more than 10^30" if number >= _MOST else f"{number:,}"


class _Key(NamedTuple):
    """A goal, but for its time: its predicate, and its arguments as far as they are constants."""

    predicate: str
    pattern: tuple[Value | None, ...]
    is_listed: bool = False


class _Sizer:
    """The sizes of goals, each computed once, without recursion from rule to rule."""

    def __init__(self, rulebook: Rulebook) -> None:
        self._rulebook = rulebook
        self._sizes: dict[_Key, Size] = {}
        self._missing: dict[_Key, None] = {}
        self.blamed: Span | None = None
        self._is_listed = False

    def size(self, key: _Key) -> Size:
        """The size of a goal. A recursion counts once: how often it is gone through shows when it is unfolded."""
        waiting, begun = [key], set()
        while waiting:
            current = waiting[-1]
            if current in self._sizes:
                waiting.pop()
                continue
            begun.add(current)
            self._missing, self._is_listed = {}, current.is_listed
            found = self._goal(current)
            new = [needed for needed in self._missing if needed not in begun]
            if new:
                waiting += new
            else:
                self._sizes[current] = found
        return self._sizes[key]

    # --- goals and rules ------------------------------------------------------------------------------------------------

    def _goal(self, key: _Key) -> Size:
        size = self._given(key)
        for clause in self._rulebook.clauses.get(key.predicate, ()):
            known = bound(clause.atom.arguments, key.pattern, {})
            if known is not None:
                size = size.either(self._clause(clause, known))
        return size

    def _given(self, key: _Key) -> Size:
        streamed = PREMISE if key.predicate in self._rulebook.inputs else NONE
        table = self._rulebook.tables.get(key.predicate)
        arguments: tuple[Argument, ...] = tuple(Slot(0) if item is None else item for item in key.pattern)
        return streamed.either(ONE) if table is not None and table.matching(arguments) else streamed

    def _clause(self, clause: Clause, known: Known) -> Size:
        span = clause.high - clause.low
        ways = 1 if is_unbounded(span) or clause.atom.at is not None or self._is_open(0, span) else int(span) + 1
        return self._noted(self._conjunction(clause.body, known).times(ways), clause.span)

    def _conjunction(self, parts: Iterable[Formula], known: Known) -> Size:
        size, timed = ONE, set[str]()
        for part in parts:
            own = self.formula(part, known)
            if isinstance(part, Window) and isinstance(part.operand, Atom) and part.operand.at is not None:
                name = part.operand.at.variable.name
                if name in timed and own.ways:  # the first window of a time has chosen it
                    own = Size(1, own.premises // own.ways)
                timed.add(name)
            if isinstance(part, Comparison):
                known = _assigned(part, known)
            size = size.both(own)
        return size

    def _noted(self, size: Size, span: Span) -> Size:
        """Remember the innermost place at which the size goes beyond a limit."""
        if self.blamed is None and (size.ways > MAX_PRECONDITIONS or size.premises > MAX_PREMISES):
            self.blamed = span
        return size

    # --- formulas -------------------------------------------------------------------------------------------------------

    def formula(self, formula: Formula, known: Known) -> Size:
        """The size of a formula at one time."""
        return self._noted(self._formula(formula, known), formula.span)

    def _formula(self, formula: Formula, known: Known) -> Size:
        match formula:
            case Atom():
                return self._atom(formula, known)
            case Truth():
                return ONE if formula.value else NONE
            case Conjunction():
                return self._conjunction(formula.parts, known)
            case Comparison():
                return ONE if may_hold(formula, known) else NONE
            case Negation():
                return self._negation(formula.operand, known)
            case Unary():
                return self._unary(formula, known)
            case Binary():
                right = self.formula(formula.right, known)
                left = self._at_each(formula.left, known, _distances(formula.interval))
                is_one = self._is_absence(formula.left)
                number = _distances(formula.interval)
                return right.both(PREMISE).times(number) if is_one else _since(left, right, formula.interval)
            case Window():
                return self._window(formula, known)
        return ONE

    def _unary(self, formula: Unary, known: Known) -> Size:
        number, low, high = _distances(formula.interval), formula.interval.low, formula.interval.high
        if formula.operator.startswith("diamond"):
            inner = self.formula(formula.operand, known)
            return inner if self._is_open(low, high) else inner.times(number)
        if self._is_absence(formula.operand) or self._rulebook.lasts(formula.operand):
            return PREMISE
        covers = None if self._is_listed or number == 1 else covers_of(formula.operand, self._rulebook)
        found = None if covers is None else chains(covers, number)
        if found is not None:
            return self._chains(found)
        return self._at_each(formula.operand, known, number).all_of(number)

    def _is_open(self, low: Time, high: Time) -> bool:
        return not self._is_listed and is_long(low, high)

    def _chains(self, found: Iterable[Sequence[Cover]]) -> Size:
        """Those that are longer than most can hold together are not kept."""
        size = NONE
        for chain in found:
            own = ONE
            for cover in chain:
                own = own.both(self._conjunction(cover.body, {}))
            size = size.either(own)
        return size

    def _at_each(self, formula: Formula, known: Known, number: int) -> Size:
        """The size of a formula that has to hold at so many times, at one of them."""
        before, self._is_listed = self._is_listed, self._is_listed or number > 1
        size = self.formula(formula, known)
        self._is_listed = before
        return size

    def _atom(self, atom: Atom, known: Known) -> Size:
        if self._rulebook.is_stream(atom.predicate) or self._rulebook.is_calendar(atom.predicate):
            return PREMISE
        key = _Key(atom.predicate, tuple(value_in(term, known) for term in atom.arguments), self._is_listed)
        size = self._sizes.get(key)
        if size is None:
            self._missing[key] = None
            return ONE
        return size

    def _negation(self, operand: Formula, known: Known) -> Size:
        match operand:
            case Negation():
                return self.formula(operand.operand, known)
            case Truth():
                return NONE if operand.value else ONE
            case Unary(operator="diamondminus" | "diamondplus") if self._is_plain(operand.operand):
                return PREMISE
            case Window(mode="sometime") if self._is_plain(operand.operand) and operand.window.step is None:
                return PREMISE
            case Unary(operator="diamondminus" | "diamondplus"):
                return self._negation(operand.operand, known).all_of(_distances(operand.interval))
            case Window(mode="sometime"):
                number = _count_in(operand.window.size)
                return self._negation(operand.operand, known).all_of(number).times(int(operand.window.step or 1))
            case Atom() if self._rulebook.is_given(operand.predicate) and not has_wildcard(operand):
                return ONE
        return PREMISE

    def _is_absence(self, formula: Formula) -> bool:
        return isinstance(formula, Negation) and self._is_plain(formula.operand)

    def _is_plain(self, formula: Formula) -> bool:
        """Whether its absence over a stretch is one premise."""
        if not isinstance(formula, Atom) or formula.at is not None or has_wildcard(formula):
            return False
        return self._rulebook.is_stream(formula.predicate) or self._rulebook.lasts(formula)

    def _window(self, window: Window, known: Known) -> Size:
        number = _count_in(window.window.size)
        if window.mode == "always":
            size = _runs(self._at_each(window.operand, known, number), number)
        else:
            is_one = window.window.step is None and self._is_open(0, window.window.size)
            size = self.formula(window.operand, known).times(1 if is_one else number)
        return size.times(int(window.window.step or 1))


# --- counting -----------------------------------------------------------------------------------------------------------


def _distances(interval: Interval) -> int:
    """How many distances an operator bridges; one without an end is one alternative, or refused."""
    return 1 if is_unbounded(interval.high) else int(interval.high) - int(interval.low) + 1


def _count_in(size: Time) -> int:
    return 1 if is_unbounded(size) else int(size) + 1


def _since(left: Size, right: Size, interval: Interval) -> Size:
    """For each distance d: the right side once, the left side d-1 times."""
    if is_unbounded(interval.high):
        return ONE
    low, high = int(interval.low), int(interval.high)
    size, first = NONE, low
    while first <= high and first <= 1:  # nothing lies between
        size, first = size.either(right), first + 1
    if first > high or left.ways == 0:
        return size
    if left.ways == 1:
        number = high - first + 1
        between = (first - 1 + high - 1) * number // 2
        return size.either(_capped(right.ways * number, right.premises * number + left.premises * between * right.ways))
    for distance in range(first, high + 1):
        size = size.either(right.both(left.all_of(distance - 1)))
        if size.ways >= _MOST:
            break
    return size


def _runs(inner: Size, number: int) -> Size:
    """One alternative of each length from 1 to `number`, as `always` in a window has them."""
    if inner.ways <= 1:
        return _capped(number * inner.ways, inner.premises * number * (number + 1) // 2)
    size = NONE
    for length in range(1, number + 1):
        size = size.either(inner.all_of(length))
        if size.ways >= _MOST:
            break
    return size


# --- constants ----------------------------------------------------------------------------------------------------------


def _assigned(comparison: Comparison, known: Known) -> Known:
    """With `X = a` in a body, X is a constant in what follows."""
    left, right = comparison.left, comparison.right
    if comparison.operator == "=" and isinstance(left, Variable) and isinstance(right, Constant):
        return {left.name: right.value, **known}
    return known
