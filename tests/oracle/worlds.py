"""Many streams at once: which atoms a program derives from each of a list of worlds, a world being a set of input facts.

The truth value of a ground formula at a cell is here not a bit but an integer with a bit for each world: conjunction is `&`,
disjunction `|`, negation the complement. So a table over all subsets of a dozen facts costs little more than one model.
Line by line the meaning is that of `oracle.truth`, on the integer timeline and without tuple windows. Where negation is
not stratified by predicates but by time, the model is the alternating fixpoint's; what it leaves open is in no world.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from oracle.evaluate import GroundFact, make_grid, program_facts, rules_of, strata, without_anonymous
from oracle.grid import FUTURE, PAST, Grid
from oracle.grounding import Row, constants, generators, head_atom, substitutions, variables
from oracle.lars import window_end
from oracle.reach import horizon
from oracle.truth import OTHER
from oracle.values import Undefined, canonical, compare, evaluate_expression
from tidelog.plans.tree.syntax import (
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Formula,
    Interval,
    Negation,
    Program,
    Rule,
    TimePoint,
    Truth,
    Unary,
    Value,
    Window,
    WindowSize,
)

Fact = tuple[str, Row, int]
"""An input fact at a time point."""
Worlds = Mapping[Fact, int]
"""For each fact the worlds that have it, as bits."""
Truths = list[int]
"""For each cell of the horizon the worlds in which something holds."""
Binding = Mapping[str, Value]
Held = dict[str, dict[Row, Truths]]

_DIRECTION = {
    "diamondminus": PAST,
    "boxminus": PAST,
    "since": PAST,
    "diamondplus": FUTURE,
    "boxplus": FUTURE,
    "until": FUTURE,
}
_ROUNDS = 200


def listed(worlds: Sequence[Collection[Fact]]) -> Worlds:
    """The worlds of a list: world i is bit i."""
    found: dict[Fact, int] = defaultdict(int)
    for index, world in enumerate(worlds):
        for fact in world:
            found[fact] |= 1 << index
    return found


def subsets(universe: Sequence[Fact]) -> Worlds:
    """All subsets of a universe: world w has fact i where bit i of w is set."""
    everything = (1 << (1 << len(universe))) - 1
    return {fact: everything // ((1 << (1 << i)) + 1) << (1 << i) for i, fact in enumerate(universe)}


class Table:
    """What a program derives in each of `count` worlds; `start` is the stream's, in all of them.

    `meets_edge` tells that a time variable or a head met the horizon's edge: beyond it may lie what the table does not see.
    """

    def __init__(self, program: Program, worlds: Worlds, count: int, start: int | None = None) -> None:
        points = [(name, row, Interval(Fraction(time), Fraction(time))) for name, row, time in worlds]
        low, high = horizon(program, points, start=start)
        self.grid = make_grid(program, points, low - 2, high + 2, start)
        self.full = (1 << count) - 1
        self.start = -math.inf if start is None else self._cell(start)
        self.cells = range(self.grid.size)
        self.meets_edge = False
        rules = [without_anonymous(rule) for rule in rules_of(program)]
        self.domain: set[Value] = {OTHER}.union(*(constants(part) for rule in rules for part in (rule.head, *rule.body)))
        held = self._given(program, worlds, points)
        self._held = _solve(self, rules, held)

    def truths(self, predicate: str, row: Row) -> dict[int, int]:
        """For each time of the horizon the worlds in which the row holds then."""
        found = self._held.get(predicate, {}).get(tuple(map(canonical, row)))
        return {self.time(cell): found[cell] for cell in self.cells} if found else {}

    def rows(self, predicate: str) -> list[Row]:
        """The rows that hold at some time in some world."""
        return [row for row, truths in self._held.get(predicate, {}).items() if any(truths)]

    def time(self, cell: int) -> int:
        """The time of a cell."""
        return int(self.grid.time(cell))

    def _cell(self, time: int) -> int:
        return time - int(self.grid.low)

    def _given(self, program: Program, worlds: Worlds, points: Iterable[GroundFact]) -> Held:
        held: Held = defaultdict(dict)
        stated = [(fact, self.full) for fact in program_facts(program)]
        for (predicate, row, interval), mask in [*zip(points, worlds.values(), strict=True), *stated]:
            key = tuple(map(canonical, row))
            self.domain.update(key)
            truths = held[predicate].setdefault(key, [0] * self.grid.size)
            first, last = self.grid.meeting(interval)
            for cell in range(self.grid.clamp(first), self.grid.clamp(last) + 1):
                truths[cell] |= mask
        return held


def _solve(table: Table, rules: Sequence[Rule], held: Held) -> Held:
    """The model: stratum by stratum, or the alternating fixpoint where a cycle goes through negation."""
    deriving = [rule for rule in rules if head_atom(rule.head) is not None]
    try:
        levels = strata(deriving)
    except ValueError:
        return _alternate(table, deriving, held)
    for level in levels:
        held = _Reading(table, held, None).fixpoint(level)
    return held


def _alternate(table: Table, rules: Sequence[Rule], given: Held) -> Held:
    """Van Gelder's alternating fixpoint: each turn negates what the turn before derived."""
    below = given
    for _ in range(_ROUNDS):
        above = _Reading(table, given, below).fixpoint(rules)
        better = _Reading(table, given, above).fixpoint(rules)
        if better == below:
            return below
        below = better
    raise RuntimeError("the alternating fixpoint does not settle")


class _Reading:
    """One least fixpoint; where `denied` is given, it says what holds under a negation."""

    def __init__(self, table: Table, held: Held, denied: Held | None) -> None:
        self.table, self.grid, self.full = table, table.grid, table.full
        self.held: Held = defaultdict(dict)
        for predicate, rows in held.items():
            self.held[predicate] = {row: list(truths) for row, truths in rows.items()}
        self.denied = denied
        self._stretches: dict[WindowSize, list[tuple[int, int, int]]] = {}

    def fixpoint(self, rules: Sequence[Rule]) -> Held:
        for _ in range(_ROUNDS):
            derived = [fact for rule in rules for fact in self._consequences(rule)]
            news = [self._add(*fact) for fact in derived]
            if not any(news):
                return self.held
        raise RuntimeError("no fixpoint")

    def _add(self, predicate: str, row: Row, truths: Truths) -> bool:
        known = self.held[predicate].setdefault(row, [0] * self.grid.size)
        self.table.domain.update(row)
        news = any(new & ~old for new, old in zip(truths, known, strict=True))
        if news:
            self.held[predicate][row] = [a | b for a, b in zip(truths, known, strict=True)]
        return news

    def _consequences(self, rule: Rule) -> Iterator[tuple[str, Row, Truths]]:
        atom = head_atom(rule.head)
        assert atom is not None
        for binding in self._bindings(rule.body, {}):
            try:
                truths = self._truth(Conjunction(rule.body), binding)
                row = tuple(evaluate_expression(argument, binding) for argument in atom.arguments)
            except Undefined:
                continue
            if any(truths):
                self._note_edges(rule.body, binding)
                yield atom.predicate, row, self._head(rule.head, truths, binding)

    def _bindings(self, body: Sequence[Formula], given: Binding) -> list[dict[str, Value]]:
        rows = {name: {row for row, truths in found.items() if any(truths)} for name, found in self.held.items()}
        return list(substitutions(body, rows, self._times, sorted(self.table.domain, key=repr), given))

    def _times(self, predicate: str, row: Row) -> list[int]:
        truths = self.held[predicate].get(row, ())
        return [self.table.time(cell) for cell, mask in enumerate(truths) if mask]

    def _note_edges(self, body: Sequence[Formula], binding: Binding) -> None:
        points = [item.at for part in body for item in generators(part) if isinstance(item, Atom)]
        places = [self._place(point, binding) for point in points if point is not None]
        if any(place is not None and not 0 < place < self.grid.size - 1 for place in places):
            self.table.meets_edge = True

    def _place(self, point: TimePoint, binding: Binding) -> int | None:
        value = binding[point.variable.name]
        return value + point.shift - int(self.grid.low) if isinstance(value, int) else None

    def _head(self, head: Formula, truths: Truths, binding: Binding) -> Truths:
        while isinstance(head, Unary):
            truths = self._somewhere(truths, head.interval, -_DIRECTION[head.operator])
            head = head.operand
        if not isinstance(head, Atom) or head.at is None:
            return truths
        place, moved = self._place(head.at, binding), [0] * self.grid.size
        if place is not None and 0 <= place < self.grid.size:
            moved[place] = _any(truths)
        self.table.meets_edge |= place is not None and not 0 <= place < self.grid.size
        return moved

    # --- formulas: Table 1 and LARS's entailment, world by world

    def _truth(self, formula: Formula, binding: Binding) -> Truths:
        match formula:
            case Truth():
                return self._constant(formula.value)
            case Comparison():
                return self._constant(compare(formula, binding))
            case Atom():
                return self._atom(formula, binding)
            case Conjunction():
                every = [self._truth(part, binding) for part in formula.parts]
                return [_all(column, self.full) for column in zip(*every, strict=True)]
            case Negation():
                return self._negation(formula, binding)
            case Unary():
                return self._unary(formula, binding)
            case Binary():
                return self._since_or_until(formula, binding)
            case Window():
                return self._window(formula, binding)
        raise TypeError(f"not a formula of the language: {formula}")

    def _constant(self, holds: bool) -> Truths:
        return [self.full if holds else 0] * self.grid.size

    def _atom(self, atom: Atom, binding: Binding) -> Truths:
        row = tuple(evaluate_expression(argument, binding) for argument in atom.arguments)
        truths = self.held[atom.predicate].get(row, [0] * self.grid.size)
        if atom.at is None:
            return truths
        place = self._place(atom.at, binding)
        return [0 if place is None else truths[self.grid.clamp(place)]] * self.grid.size

    def _negation(self, formula: Negation, binding: Binding) -> Truths:
        here = {name: binding[name] for name in variables(formula.operand) if name in binding}
        reading = self if self.denied is None else _Reading(self.table, self.denied, None)
        every = [reading._truth(formula.operand, full) for full in reading._bindings([formula.operand], here)]
        return [self.full & ~_any(column) for column in zip(self._constant(False), *every, strict=True)]

    def _unary(self, formula: Unary, binding: Binding) -> Truths:
        holds, direction = self._truth(formula.operand, binding), _DIRECTION[formula.operator]
        if formula.operator in ("diamondminus", "diamondplus"):
            return self._somewhere(holds, formula.interval, direction)
        windows = self.grid.windows(formula.interval, direction)
        return [_all((holds[cell] for cell in window), self.full) for window in windows]

    def _somewhere(self, holds: Truths, interval: Interval, direction: int) -> Truths:
        return [_any(holds[cell] for cell in window) for window in self.grid.windows(interval, direction)]

    def _since_or_until(self, formula: Binary, binding: Binding) -> Truths:
        left, right = self._truth(formula.left, binding), self._truth(formula.right, binding)
        witnesses = self.grid.witnesses(formula.interval, _DIRECTION[formula.operator])
        return [
            _any(right[w.cell] & _all((left[cell] for cell in w.between), self.full) for w in choices if right[w.cell])
            for choices in witnesses
        ]

    def _window(self, formula: Window, binding: Binding) -> Truths:
        size, atom = formula.window, formula.operand
        if size.tuples:
            raise ValueError("tuple windows depend on the order of a stream, not on a set of facts")
        holds = self._truth(atom, binding)
        stretches = [_stretch(self.grid, size, cell) for cell in self.table.cells]
        if formula.mode == "at":
            assert isinstance(atom, Atom)
            assert atom.at is not None
            place = self._place(atom.at, binding)
            inside = [place is not None and max(first, self.table.start) <= place <= last for _, first, last in stretches]
            return [mask if here else 0 for mask, here in zip(holds, inside, strict=True)]
        return [self._stretched(formula.mode, holds, stretch) for stretch in stretches]

    def _stretched(self, mode: str, holds: Truths, stretch: tuple[int, float, float]) -> int:
        end, first, last = stretch
        cells = range(self.grid.clamp(first), self.grid.clamp(last) + 1)
        if mode == "sometime":
            return _any(holds[cell] for cell in cells)
        if end < self.table.start:
            return 0
        return _all((holds[cell] for cell in cells if cell >= self.table.start), self.full)


def _stretch(grid: Grid, size: WindowSize, cell: int) -> tuple[int, float, float]:
    """Where the window of a cell ends, and the window's first and last cell."""
    if size.step is not None:
        end = window_end(size, grid.time(cell))
        cell = int(grid.meeting(Interval(end, end))[0])
    return cell, *grid.window(cell, Interval(Fraction(0), size.size), PAST)


def _any(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


def _all(masks: Iterable[int], full: int) -> int:
    found = full
    for mask in masks:
        found &= mask
    return found
