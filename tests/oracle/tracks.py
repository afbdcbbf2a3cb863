"""Sets of cells that repeat for ever on both sides, and what a formula says of them: Table 1 of Wałęga et al. 2023.

A cell is known by its number: on the integer timeline the cell c is the time c, on dense time with the step r the cell 2k
is the point k·r and the cell 2k+1 the open gap behind it. A set of cells is the bits of an integer. Each operator is
evaluated by its definition, distance by distance; nothing is shared with the engine, nor with `oracle.grid`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from oracle.grounding import Row, parts, substitutions, variables
from oracle.values import compare, evaluate_expression
from tidelog.plans.tree.syntax import (
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Formula,
    Interval,
    Negation,
    Time,
    Truth,
    Unary,
    Value,
    Window,
)

PAST = frozenset({"diamondminus", "boxminus", "since"})


def ones(count: int) -> int:
    """So many bits."""
    return (1 << count) - 1


def tiled(pattern: int, width: int, count: int) -> int:
    """The pattern again and again, `count` times."""
    return pattern * (ones(width * count) // ones(width)) if count else 0


@dataclass(frozen=True, slots=True)
class Track:
    """`bits` for the cells lo … lo+size−1; before these, their first `left` cells repeat, behind them the last `right`."""

    lo: int
    size: int
    bits: int
    left: int
    right: int

    @property
    def end(self) -> int:
        """The cell behind the last one that has a bit of its own."""
        return self.lo + self.size

    def cut(self, lo: int, end: int) -> int:
        """The bits of the cells lo … end−1, wherever these are."""
        before, behind = -(-max(self.lo - lo, 0) // self.left), -(-max(end - self.end, 0) // self.right)
        bits = self.bits | tiled(self.bits >> (self.size - self.right), self.right, behind) << self.size
        bits = bits << before * self.left | tiled(self.bits & ones(self.left), self.left, before)
        return bits >> (lo - self.lo + before * self.left) & ones(end - lo)

    def has(self, cell: int) -> bool:
        """Whether the cell belongs to it, however far away."""
        if cell < self.lo:
            cell = self.lo + (cell - self.lo) % self.left
        elif cell >= self.end:
            cell = self.end - self.right + (cell - self.end) % self.right
        return bool(self.bits >> (cell - self.lo) & 1)

    def with_bits(self, lo: int, end: int, bits: int) -> Track:
        """The union with these bits for the cells lo … end−1; far away all stays as it is."""
        first, last = min(self.lo, lo) - self.left, max(self.end, end) + self.right
        return Track(first, last - first, self.cut(first, last) | bits << (lo - first), self.left, self.right)

    def repeating(self, lo: int, end: int, left: int, right: int) -> Track:
        """What it is at the cells lo … end−1, with these periods outside of them."""
        return Track(lo, end - lo, self.cut(lo, end), left, right)


@dataclass(frozen=True, slots=True)
class Distances:
    """How many cells t' may lie from t for an operator's interval: if t is a point, and if it is a gap; `last` None: all."""

    point: tuple[int, int | None]
    gap: tuple[int, int | None]
    zero: bool
    """Whether t' = t is allowed."""


@dataclass(frozen=True)
class Frame:
    """The cells lo … lo+size−1, in which formulas are evaluated; outside everything repeats as in a track.

    It must be so wide that all that is evaluated repeats with these periods already within its first and last cells.
    """

    dense: bool
    step: Fraction
    lo: int
    size: int
    left: int
    right: int

    @property
    def full(self) -> int:
        return ones(self.size)

    def widened(self, bits: int, by: int) -> int:
        """The bits of so many cells more on each side."""
        return Track(self.lo, self.size, bits, self.left, self.right).cut(self.lo - by, self.lo + self.size + by)

    def distances(self, interval: Interval) -> Distances:
        """Where t' is for an interval of distances.

        From a point an open end is not met; from within a gap it lies inside of a gap, of which the rest is met anyway.
        """
        low, high = self._cells(interval.low), self._cells(interval.high)
        assert low is not None
        closed = (low + interval.left_open, None if high is None else high - interval.right_open)
        return Distances(closed, (low, high), low == 0 and not interval.left_open)

    def _cells(self, distance: Time) -> int | None:
        if distance == math.inf:
            return None
        cells = Fraction(distance) / self.step * (2 if self.dense else 1)
        assert cells.denominator == 1
        return int(cells)

    def somewhere(self, bits: int, interval: Interval, past: bool) -> int:
        """The cells t for which some cell t' within the interval's distances has its bit."""
        distances = self.distances(interval)
        by = self._margin(distances)
        wide = self.widened(bits, by)
        found = self._met(wide, distances.point, past, by) & self.points(by)
        if self.dense:
            found |= self._met(wide, distances.gap, past, by) & ~self.points(by)
        return found >> by & self.full

    def everywhere(self, bits: int, interval: Interval, past: bool) -> int:
        """The cells t for which all cells t' within the interval's distances have their bits."""
        return self.full & ~self.somewhere(self.full & ~bits, interval, past)

    def points(self, by: int = 0) -> int:
        """The points among the cells, with so many more on each side; on integers all."""
        size = self.size + 2 * by
        if not self.dense:
            return ones(size)
        every_other = ones(size + size % 2) // 3
        return every_other << (self.lo - by) % 2 & ones(size)

    def _margin(self, distances: Distances) -> int:
        first, last = distances.gap
        return (first if last is None else last) + 2 * max(self.left, self.right) + 2

    def _met(self, wide: int, distances: tuple[int, int | None], past: bool, by: int) -> int:
        first, last = distances
        if last is None:
            return _shifted(_onwards(wide, self.size + 2 * by, past), first, past)
        found = 0
        for distance in range(first, last + 1):
            found |= _shifted(wide, distance, past)
        return found

    def linked(self, left: int, right: int, interval: Interval, past: bool) -> int:
        """`since` (past) or `until`: t' with the right bit, and the left bits at all that lies strictly between t' and t."""
        distances = self.distances(interval)
        by = self._margin(distances)
        size = self.size + 2 * by
        wide, links = self.widened(right, by), self.widened(left, by)
        points, found, strictly = self.points(by), 0, ones(size)
        for distance in range(size if distances.gap[1] is None else distances.gap[1] + 1):
            here = _shifted(wide, distance, past) & strictly
            if self.dense:
                there = _shifted(links, distance, past) if distance else links
                to_point = here & points & (ones(size) if distance % 2 == 0 else there)
                to_gap = here & ~points
                if distance or not distances.zero:
                    to_gap &= links & (there if distance % 2 == 0 else ones(size))
                found |= to_point if _within(distance, distances.point) else 0
                found |= to_gap if _within(distance, distances.gap) else 0
            elif _within(distance, distances.point):
                found |= here
            if distance:
                strictly &= _shifted(links, distance, past)
        return found >> by & self.full


def _within(distance: int, bounds: tuple[int, int | None]) -> bool:
    return bounds[0] <= distance and (bounds[1] is None or distance <= bounds[1])


def _shifted(bits: int, distance: int, past: bool) -> int:
    return bits << distance if past else bits >> distance


def _onwards(bits: int, size: int, past: bool) -> int:
    """All cells from the first one that has a bit on, seen from where time begins (past) or ends."""
    if not bits:
        return 0
    if past:
        return ones(size) & -(bits & -bits)
    return ones(bits.bit_length())


def operators(formula: Formula) -> list[Interval]:
    """The intervals of all operators of a formula."""
    own: list[Interval] = []
    if isinstance(formula, Unary | Binary):
        own = [formula.interval]
    elif isinstance(formula, Window):
        own = [Interval(Fraction(0), formula.window.size)]
    return own + [interval for part in parts(formula) for interval in operators(part)]


@dataclass(frozen=True)
class Reading:
    """What formulas say in a frame: `atoms` are the bits of each ground atom, `start` the bits from the first fact on."""

    frame: Frame
    atoms: Mapping[tuple[str, Row], int]
    rows: Mapping[str, set[Row]]
    domain: Sequence[Value]
    start: int

    def bindings(self, body: Sequence[Formula], given: Mapping[str, Value]) -> list[dict[str, Value]]:
        """The substitutions for which the body may hold at some time."""
        return list(substitutions(body, self.rows, _no_times, self.domain, given))

    def truth(self, formula: Formula, binding: Mapping[str, Value]) -> int:
        """The cells at which a ground formula holds: Table 1, line by line."""
        lines: Mapping[type, Callable[..., int]] = {
            Truth: lambda truth, _: self.frame.full if truth.value else 0,
            Comparison: lambda comparison, binding: self.frame.full if compare(comparison, binding) else 0,
            Atom: self._atom,
            Conjunction: self._conjunction,
            Negation: self._negation,
            Unary: self._unary,
            Binary: self._binary,
            Window: self._window,
        }
        return lines[type(formula)](formula, binding)

    def _atom(self, atom: Atom, binding: Mapping[str, Value]) -> int:
        if atom.at is not None:
            raise ValueError("time variables are not for periodic models")
        row = tuple(evaluate_expression(argument, binding) for argument in atom.arguments)
        return self.atoms.get((atom.predicate, row), 0)

    def _conjunction(self, formula: Conjunction, binding: Mapping[str, Value]) -> int:
        found = self.frame.full
        for part in formula.parts:
            found &= self.truth(part, binding)
        return found

    def _negation(self, formula: Negation, binding: Mapping[str, Value]) -> int:
        here = {name: binding[name] for name in variables(formula.operand) if name in binding}
        found = self.frame.full
        for full in self.bindings([formula.operand], here):
            found &= ~self.truth(formula.operand, full)
        return found

    def _unary(self, formula: Unary, binding: Mapping[str, Value]) -> int:
        holds, past = self.truth(formula.operand, binding), formula.operator in PAST
        if formula.operator in ("diamondminus", "diamondplus"):
            return self.frame.somewhere(holds, formula.interval, past)
        return self.frame.everywhere(holds, formula.interval, past)

    def _binary(self, formula: Binary, binding: Mapping[str, Value]) -> int:
        left, right = self.truth(formula.left, binding), self.truth(formula.right, binding)
        return self.frame.linked(left, right, formula.interval, formula.operator in PAST)

    def _window(self, formula: Window, binding: Mapping[str, Value]) -> int:
        """`sometime M in [n]` and `always M in [n]`, which is clipped where the stream starts."""
        if formula.mode == "at" or formula.window.tuples or formula.window.step is not None:
            raise ValueError("of LARS's windows, periodic models have those of time alone")
        holds, interval = self.truth(formula.operand, binding), Interval(Fraction(0), formula.window.size)
        if formula.mode == "sometime":
            return self.frame.somewhere(holds, interval, past=True)
        return self.start & self.frame.everywhere(holds | self.frame.full & ~self.start, interval, past=True)


def _no_times(predicate: str, row: Row) -> Sequence[int]:
    return ()
