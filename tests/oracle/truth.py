"""What holds where: each line of Table 1 of Wałęga et al. 2023 and of LARS's entailment, at each cell of the horizon."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from oracle.aggregates import Source, coverage_of
from oracle.grid import FUTURE, PAST, Cells, Grid
from oracle.grounding import Row, generators, head_atom, substitutions, variables
from oracle.lars import Arrival, Substream, tuple_window, window_end
from oracle.values import Undefined, compare, evaluate_expression
from tidelog.plans.tree.syntax import (
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Formula,
    Interval,
    Negation,
    Rule,
    TimePoint,
    Truth,
    Unary,
    Value,
    Window,
    WindowSize,
)

OTHER: Value = "\0other"
"""The constant that occurs nowhere: it stands for all those that a program and its facts do not mention."""

_DIRECTION = {
    "diamondminus": PAST,
    "boxminus": PAST,
    "since": PAST,
    "diamondplus": FUTURE,
    "boxplus": FUTURE,
    "until": FUTURE,
}


@dataclass(frozen=True, slots=True)
class Violation:
    """A constraint's body holds: the constraint's number among the rules, its named variables, and when."""

    rule: int
    binding: tuple[tuple[str, Value], ...]
    point: Fraction


class Evaluation:
    """An interpretation that grows: the cells at which each row of each predicate holds."""

    def __init__(
        self, grid: Grid, start: float, stream: Sequence[Arrival], periods: Mapping[str, Sequence[tuple[int, int]]]
    ) -> None:
        self.grid = grid
        self.periods = periods
        self.start = start
        self.stream = stream
        self.all: Cells = frozenset(range(grid.size))
        self.from_start: Cells = frozenset(cell for cell in self.all if cell >= start)
        self.coverage: dict[str, dict[Row, set[int]]] = defaultdict(dict)
        self.known: dict[str, set[Row]] = defaultdict(set)
        self.domain: set[Value] = {OTHER}
        self.violations: set[Violation] = set()
        self.meets_edge = False
        self.sources: list[tuple[str, Source]] = []
        self._stretches: dict[WindowSize, list[tuple[int, float, float]]] = {}
        self._tuple_windows: dict[WindowSize, list[Substream]] = {}

    def add(self, predicate: str, row: Row, cells: Iterable[int]) -> bool:
        """Let a row hold at these cells; whether that is news."""
        new = set(cells) - self.coverage[predicate].get(row, set())
        if new:
            self.coverage[predicate].setdefault(row, set()).update(new)
            self.known[predicate].add(row)
            self.domain.update(row)
        return bool(new)

    def run(self, rules: Sequence[Rule], rounds: int) -> None:
        """Apply the rules of one stratum, all of them in each round, until a round has no news."""
        for _ in range(rounds):
            self.refresh()
            derived = [fact for rule in rules for fact in self.consequences(rule)]
            news = [self.add(*fact) for fact in derived]
            if not any(news):
                return
        raise RuntimeError(f"no fixpoint after {rounds} rounds")

    def refresh(self) -> None:
        """Work out anew what stands for aggregates, from the interpretation as it is."""
        for name, source in self.sources:
            self.coverage[name] = coverage_of(source, self)
            self.known[name] = set(self.coverage[name])

    def consequences(self, rule: Rule) -> Iterator[tuple[str, Row, Cells]]:
        """What the rule derives from the present interpretation, by one application of T_Π."""
        atom = head_atom(rule.head)
        assert atom is not None
        for binding, cells in self.instances(rule.body):
            try:
                row = tuple(evaluate_expression(argument, binding) for argument in atom.arguments)
            except Undefined:
                continue
            yield atom.predicate, row, self.head_cells(rule.head, cells, binding)

    def instances(self, body: Sequence[Formula]) -> Iterator[tuple[dict[str, Value], Cells]]:
        """Each ground instance of the body that holds somewhere, and where."""
        for binding in list(substitutions(body, self.known, self.times, sorted(self.domain, key=repr), {})):
            try:
                cells = self.truth(Conjunction(tuple(body)), binding)
            except Undefined:
                continue
            if cells:
                self.meets_edge |= self.is_at_edge(body, binding)
                yield binding, cells

    def times(self, predicate: str, row: Row) -> list[int]:
        """The times at which the row holds, on the integer timeline."""
        return [int(self.grid.time(cell)) for cell in sorted(self.coverage[predicate].get(row, ()))]

    def is_at_edge(self, body: Sequence[Formula], binding: Mapping[str, Value]) -> bool:
        """Whether an atom `p(X)@T+k` that binds T is taken at an edge of the horizon."""
        points = [item.at for part in body for item in generators(part) if isinstance(item, Atom)]
        places = [self.place(point, binding) for point in points if point is not None]
        return any(place is not None and not 0 < place < self.grid.size - 1 for place in places)

    def place(self, point: TimePoint, binding: Mapping[str, Value]) -> int | None:
        """The cell of T+k, which may lie beyond the horizon; None if it is no time."""
        value = binding[point.variable.name]
        return value + point.shift - int(self.grid.low) if isinstance(value, int) else None

    def head_cells(self, head: Formula, cells: Cells, binding: Mapping[str, Value]) -> Cells:
        """Where a head's atom must hold if the head holds at these cells.

        `boxplus ϱ M` at t says M at every u with u−t in ϱ: so M at u if there is such a t, in the past of u. `M@T+k` says M
        at T+k, whatever t is.
        """
        while isinstance(head, Unary):
            windows = self.grid.windows(head.interval, -_DIRECTION[head.operator])
            cells = frozenset(u for u in self.all if not cells.isdisjoint(windows[u]))
            head = head.operand
        if not isinstance(head, Atom) or head.at is None or not cells:
            return cells
        place = self.place(head.at, binding)
        self.meets_edge |= place is not None and place not in self.all
        return frozenset({place} & self.all) if place is not None else frozenset()

    def constrain(self, number: int, rule: Rule) -> None:
        """Note each instance and time at which a constraint's body holds."""
        self.refresh()
        for binding, cells in self.instances(rule.body):
            named = tuple(sorted(item for item in binding.items() if not item[0].startswith("_")))
            self.violations |= {Violation(number, named, self.grid.time(cell)) for cell in cells}

    def truth(self, formula: Formula, binding: Mapping[str, Value]) -> Cells:
        """The cells at which a ground formula holds: Table 1, line by line."""
        lines: Mapping[type, Callable[..., Cells]] = {
            Truth: lambda truth, _: self.all if truth.value else frozenset(),
            Atom: self.atom,
            Comparison: lambda comparison, binding: self.all if compare(comparison, binding) else frozenset(),
            Conjunction: self.conjunction,
            Negation: self.negation,
            Unary: self.unary,
            Binary: self.since_or_until,
            Window: self.window,
        }
        return lines[type(formula)](formula, binding)

    def atom(self, atom: Atom, binding: Mapping[str, Value]) -> Cells:
        """Where the interpretation has the ground atom; with `@T+k` everywhere, if it has it at T+k."""
        row = tuple(evaluate_expression(argument, binding) for argument in atom.arguments)
        cells = frozenset(self.coverage[atom.predicate].get(row, ()))
        if atom.at is None:
            return cells
        place = self.place(atom.at, binding)
        return self.all if place is not None and self.grid.clamp(place) in cells else frozenset()

    def conjunction(self, formula: Conjunction, binding: Mapping[str, Value]) -> Cells:
        """Where all parts hold."""
        return self.all.intersection(*[self.truth(part, binding) for part in formula.parts])

    def negation(self, formula: Negation, binding: Mapping[str, Value]) -> Cells:
        """Where the operand does not hold, whatever its own wildcards stand for."""
        here = {name: binding[name] for name in variables(formula.operand) if name in binding}
        domain = sorted(self.domain, key=repr)
        every = substitutions([formula.operand], self.known, self.times, domain, here)
        return self.all.difference(*[self.truth(formula.operand, full) for full in every])

    def unary(self, formula: Unary, binding: Mapping[str, Value]) -> Cells:
        """The two diamonds and the two boxes."""
        holds = self.truth(formula.operand, binding)
        windows = self.grid.windows(formula.interval, _DIRECTION[formula.operator])
        if formula.clipped:
            return frozenset(t for t in self.from_start if windows[t] & self.from_start <= holds)
        if formula.operator in ("diamondminus", "diamondplus"):
            return frozenset(t for t in self.all if not holds.isdisjoint(windows[t]))
        return frozenset(t for t in self.all if windows[t] <= holds)

    def window(self, formula: Window, binding: Mapping[str, Value]) -> Cells:
        """LARS's windows over a stretch of time, with ◇, □ and @."""
        if formula.window.tuples:
            return self.tuple_window(formula, binding)
        holds = self.truth(formula.operand, binding)
        stretches = self.stretches(formula.window)
        if formula.mode == "at":
            place = self.window_place(formula, binding)
            inside = [first <= place <= last and place >= self.start for _, first, last in stretches]
            return frozenset(t for t in holds if inside[t])
        cells = [frozenset(range(self.grid.clamp(first), self.grid.clamp(last) + 1)) for _, first, last in stretches]
        if formula.mode == "always":
            started = [end >= self.start for end, _, _ in stretches]
            return frozenset(t for t in self.all if started[t] and cells[t] & self.from_start <= holds)
        return frozenset(t for t in self.all if not holds.isdisjoint(cells[t]))

    def stretches(self, size: WindowSize) -> list[tuple[int, float, float]]:
        """For each t the e at which its window ends (t itself, or the last multiple of the step), and [e−n, e] as cells."""
        if size not in self._stretches:
            self._stretches[size] = [self._stretch(size, cell) for cell in range(self.grid.size)]
        return self._stretches[size]

    def _stretch(self, size: WindowSize, cell: int) -> tuple[int, float, float]:
        if size.step is not None:
            end = window_end(size, self.grid.time(cell))
            cell = int(self.grid.meeting(Interval(end, end))[0])
        return cell, *self.grid.window(cell, Interval(Fraction(0), size.size), PAST)

    def window_place(self, formula: Window, binding: Mapping[str, Value]) -> float:
        """The cell of the T+k of an atom in a window, -inf if it is no time or the atom has none."""
        point = formula.operand.at if isinstance(formula.operand, Atom) else None
        place = None if point is None else self.place(point, binding)
        return -math.inf if place is None else place

    def tuple_window(self, formula: Window, binding: Mapping[str, Value]) -> Cells:
        """Where the substream of the last input facts has the atom at some time, at all its times, or at T."""
        atom, size = formula.operand, formula.window
        assert isinstance(atom, Atom)
        row = tuple(evaluate_expression(argument, binding) for argument in atom.arguments)
        if size not in self._tuple_windows:
            self._tuple_windows[size] = [tuple_window(self.stream, size, cell, self.start) for cell in range(self.grid.size)]
        place = self.window_place(formula, binding)
        windows = self._tuple_windows[size]
        return frozenset(t for t in self.all if windows[t].entails(formula.mode, atom.predicate, row, place))

    def since_or_until(self, formula: Binary, binding: Mapping[str, Value]) -> Cells:
        """The right side at some t', the left side strictly between t' and t."""
        left, right = self.truth(formula.left, binding), self.truth(formula.right, binding)
        if not right:
            return right
        witnesses = self.grid.witnesses(formula.interval, _DIRECTION[formula.operator])
        return frozenset(t for t in self.all if any(w.cell in right and w.between <= left for w in witnesses[t]))
