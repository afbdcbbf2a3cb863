"""When a formula holds, by its definition, within the times that are asked for.

Nothing is stored: an operator asks its operand for the times that it looks at, and for no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from tidelog.operators.sld.comparisons.values import UNCOMPUTABLE, evaluate, holds
from tidelog.plans.data.facts import Row
from tidelog.plans.data.intervals import Range, Ranges, intersected, subtracted, united, within
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.plans.language.printing import format_formula
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Formula,
    Latest,
    Negation,
    TimePoint,
    Truth,
    Unary,
    Window,
)
from tidelog.runtime.why.evidence.counting import aggregated, held_of
from tidelog.runtime.why.evidence.grounding import Binding
from tidelog.runtime.why.evidence.windows import Windows

Locals = Callable[[Formula, Binding, int, int], Iterator[Binding]]
"""The bindings of a formula's own variables under which it may hold within some times."""


class Holding(Protocol):
    """Tells when rows hold."""

    def ranges(self, predicate: str, row: Row, lo: int, hi: int, *, exact: bool = True) -> Ranges:
        """When a row holds, within `lo … hi`."""


def row_of(atom: Atom, binding: Binding) -> Row:
    """The row of an atom whose variables are bound."""
    return tuple([evaluate(term, binding) for term in atom.arguments])


def atom_of(window: Window) -> Atom:
    """The atom of a window that holds one; TypeError for any other."""
    if not isinstance(window.operand, Atom):
        raise TypeError("a window with `@` or `#` holds one atom")
    return window.operand


def place_of(point: TimePoint, binding: Binding) -> int | None:
    """The time of `@T+k`; None if T is none."""
    value = binding[point.variable.name]
    return value + point.shift if isinstance(value, int) else None


class TruthTeller:
    """Tells when formulas hold, whose variables (but those of negations alone) are bound."""

    def __init__(self, windows: Windows, holding: Holding, locals_: Locals, *, is_final: bool = False) -> None:
        self.windows = windows
        self._holding = holding
        self.instances = locals_
        self._is_final = is_final

    def in_the_end(self) -> TruthTeller:
        """Tells what holds in the end, as negations see it: what they and aggregates look at has to be all there is."""
        if self._is_final:
            return self
        return TruthTeller(self.windows, self._holding, self.instances, is_final=True)

    def truth(self, formula: Formula, binding: Binding, lo: int, hi: int) -> Ranges:
        """When the formula holds, within `lo … hi`."""
        if lo > hi:
            return []
        match formula:
            case Truth():
                return [(lo, hi)] if formula.value else []
            case Atom():
                return self._atom(formula, binding, lo, hi)
            case Comparison():
                return [(lo, hi)] if holds(formula, binding) else []
            case Conjunction():
                return self._conjunction(formula, binding, lo, hi)
            case Negation():
                return self._negation(formula, binding, lo, hi)
            case Unary():
                return self._unary(formula, binding, lo, hi)
            case Binary():
                return united(met for _, _, met in self.meetings(formula, binding, lo, hi))
            case Window() | Aggregate() | Latest():
                return self._windowed(formula, binding, lo, hi)
        raise MethodError(f"`{format_formula(formula)}` cannot be explained yet")

    def _atom(self, atom: Atom, binding: Binding, lo: int, hi: int) -> Ranges:
        try:
            row = row_of(atom, binding)
        except UNCOMPUTABLE:
            return []
        if atom.at is None:
            return self._holding.ranges(atom.predicate, row, lo, hi, exact=self._is_final)
        place = place_of(atom.at, binding)
        if place is None or not self._holding.ranges(atom.predicate, row, place, place, exact=self._is_final):
            return []
        return [(lo, hi)]

    def _conjunction(self, formula: Conjunction, binding: Binding, lo: int, hi: int) -> Ranges:
        found: Ranges = [(lo, hi)]
        for part in formula.parts:
            if not found:
                break
            found = intersected(found, self.truth(part, binding, found[0][0], found[-1][1]))
        return found

    def _negation(self, formula: Negation, binding: Binding, lo: int, hi: int) -> Ranges:
        return subtracted([(lo, hi)], self.denied(formula, binding, lo, hi))

    def denied(self, formula: Negation, binding: Binding, lo: int, hi: int) -> Ranges:
        """When the operand of a negation holds, whatever its own variables stand for."""
        teller = self.in_the_end()
        every = self.instances(formula.operand, binding, lo, hi)
        return united(each for full in every for each in teller.truth(formula.operand, full, lo, hi))

    def _unary(self, formula: Unary, binding: Binding, lo: int, hi: int) -> Ranges:
        seen = self.windows.seen(formula, lo, hi)
        inner = self.truth(formula.operand, binding, *seen)
        if formula.operator in ("boxminus", "boxplus"):
            gaps = subtracted([seen], inner)
            return subtracted([(lo, hi)], united(self.windows.seeing(formula, *gap) for gap in gaps))
        return within(united(self.windows.seeing(formula, *each) for each in inner), lo, hi)

    def meetings(self, formula: Binary, binding: Binding, lo: int, hi: int) -> Iterator[tuple[Range, Range | None, Range]]:
        """Ways in which since or until holds within `lo … hi`: a range of the right side, the closure of the run of the left
        side that it meets (None where nothing lies between), and when it holds for that."""
        seen = self.windows.seen(formula, lo, hi)
        rights = self.truth(formula.right, binding, *seen)
        if not rights:
            return
        lefts = self.truth(formula.left, binding, min(seen[0], lo), max(seen[1], hi))
        for right in rights:
            alone = self.windows.alone(formula, *right)
            if alone is not None and max(alone[0], lo) <= min(alone[1], hi):
                yield right, None, (max(alone[0], lo), min(alone[1], hi))
        for left in lefts:
            closed = self.windows.closure(*left)
            for low, high in within(rights, *closed):
                first, last = self.windows.seeing(formula, low, high)
                first, last = max(first, closed[0], lo), min(last, closed[1], hi)
                if first <= last:
                    yield (low, high), closed, (first, last)

    # --- windows --------------------------------------------------------------------------------------------------------

    def _windowed(self, formula: Window | Aggregate | Latest, binding: Binding, lo: int, hi: int) -> Ranges:
        match formula:
            case Aggregate():
                return aggregated(self, self.in_the_end(), formula, binding, lo, hi)
            case Latest():
                return united(hold.times for hold in held_of(self, self.in_the_end(), formula, binding, lo, hi))
            case Window():
                return self._window(formula, binding, lo, hi)

    def _window(self, formula: Window, binding: Binding, lo: int, hi: int) -> Ranges:
        window = formula.window
        if window.tuples:
            return within(united(self._in_tuples(formula, binding)), lo, hi)
        if formula.mode == "at":
            return self._at(formula, binding, lo, hi)
        inner = self.truth(formula.operand, binding, *self.windows.window_seen(window, lo, hi))
        reach = self.windows.window_seeing if formula.mode == "sometime" else self.windows.window_inside
        found = (reach(window, *each) for each in inner)
        return within(united(each for each in found if each is not None), lo, hi)

    def _at(self, formula: Window, binding: Binding, lo: int, hi: int) -> Ranges:
        atom = atom_of(formula)
        place = None if atom.at is None else place_of(atom.at, binding)
        if place is None or place < self.windows.start or not self._atom(atom, binding, lo, hi):
            return []
        found = self.windows.window_seeing(formula.window, place, place)
        return within([found], lo, hi) if found is not None else []

    def _in_tuples(self, formula: Window, binding: Binding) -> Iterator[Range]:
        atom = atom_of(formula)
        row = row_of(atom, binding)
        if formula.mode == "always":
            yield from ((time, time) for _, time in self.windows.runs(formula.window, atom.predicate, row))
            return
        place = None if atom.at is None else place_of(atom.at, binding)
        for time, stay in self.windows.stays(formula.window, atom.predicate, row):
            if formula.mode == "sometime" or time == place:
                yield stay
