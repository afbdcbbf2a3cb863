"""When a formula holds, by its definition, within the times that are asked for.

Nothing is stored: an operator asks its operand for the times that it looks at, and for no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from tidelog.operators.pairing import dilated, dilated_back, without_left
from tidelog.operators.sld.values import UNCOMPUTABLE, evaluate, holds
from tidelog.plans.errors import MethodError
from tidelog.plans.facts import Row
from tidelog.plans.printing import format_formula
from tidelog.plans.syntax import (
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Formula,
    Interval,
    Negation,
    TimePoint,
    Truth,
    Unary,
    Value,
    Window,
    WindowSize,
)
from tidelog.plans.timeline import NEG, POS, Metric, Timeline
from tidelog.runtime.why.model import Arrival
from tidelog.runtime.why.ranges import Range, Ranges, intersected, subtracted, united, within

Binding = Mapping[str, Value]
Locals = Callable[[Formula, Binding, int, int], Iterator[Binding]]
"""The bindings of a negation's own variables under which its operand may hold within some times."""

_PAST = ("diamondminus", "boxminus", "since")


class Holding(Protocol):
    """Tells when rows hold."""

    def ranges(self, predicate: str, row: Row, lo: int, hi: int, *, exact: bool = True) -> Ranges:
        """When a row holds, within `lo … hi`."""


class Windows:
    """What an operator or a window looks at, on one timeline."""

    def __init__(self, timeline: Timeline, start: int, arrivals: Sequence[Arrival] = ()) -> None:
        self.timeline = timeline
        self.start = start
        self._arrivals = arrivals
        self._metrics: dict[Interval, Metric] = {}
        self._counted: dict[WindowSize, list[Arrival]] = {}

    def metric(self, interval: Interval) -> Metric:
        """An operator's interval, encoded."""
        found = self._metrics.get(interval)
        if found is None:
            found = self._metrics[interval] = self.timeline.encode_metric(interval)
        return found

    def seen(self, formula: Unary | Binary, lo: int, hi: int) -> Range:
        """All times that the operator looks at from `lo … hi`."""
        metric = self.metric(formula.interval)
        return (dilated_back if formula.operator in _PAST else dilated)(metric, lo, hi)

    def seeing(self, formula: Unary | Binary, lo: int, hi: int) -> Range:
        """All times from which the operator looks at one of `lo … hi`."""
        metric = self.metric(formula.interval)
        return (dilated if formula.operator in _PAST else dilated_back)(metric, lo, hi)

    def alone(self, formula: Binary, lo: int, hi: int) -> Range | None:
        """The times at which the right side, held in `lo … hi`, is enough for since or until."""
        metric = without_left(self.metric(formula.interval), self.timeline.touch)
        if metric is None:
            return None
        return (dilated if formula.operator == "since" else dilated_back)(metric, lo, hi)

    def closure(self, lo: int, hi: int) -> Range:
        """A run of the left side of since or until with its ends: all times between two of these lie in the run."""
        if self.timeline.touch:
            return lo - 1 if lo > NEG else NEG, hi + 1 if hi < POS else POS
        return (lo - (lo & 1) if lo > NEG else NEG), (hi + (hi & 1) if hi < POS else POS)

    def between(self, lo: int, hi: int) -> Range:
        """The times that lie strictly between one of the first and one of the last of `lo … hi`; empty if none do."""
        if self.timeline.touch:
            return lo + 1 if lo > NEG else NEG, hi - 1 if hi < POS else POS
        return (lo + 1 - (lo & 1) if lo > NEG else NEG), (hi - 1 + (hi & 1) if hi < POS else POS)

    def size(self, window: WindowSize) -> int:
        """How far a time window reaches back, encoded."""
        return self.metric(Interval(window.size - window.size, window.size)).b

    def window_seen(self, window: WindowSize, lo: int, hi: int) -> Range:
        """All times that lie in the time windows of `lo … hi`."""
        return self._back(self.window_end(window, lo), self.size(window)), self.window_end(window, hi)

    def window_end(self, window: WindowSize, time: int) -> int:
        """Where the window of a time ends."""
        if window.step is None or not NEG < time < POS:
            return time
        step = int(window.step)
        return time // step * step

    def window_seeing(self, window: WindowSize, lo: int, hi: int) -> Range | None:
        """The times whose window holds one of `lo … hi`; None if there is none."""
        size = self.size(window)
        first, last = lo, hi if hi >= POS or size >= POS else hi + size
        return self._ending_in(window, first, POS if size >= POS else last)

    def window_inside(self, window: WindowSize, lo: int, hi: int) -> Range | None:
        """The times whose window, clipped where the stream starts, ends in `lo … hi` and lies in it."""
        begin = self.start if lo <= self.start else lo + self.size(window)
        return self._ending_in(window, max(begin, self.start), hi)

    def _ending_in(self, window: WindowSize, lo: int, hi: int) -> Range | None:
        """The times whose window ends in `lo … hi`."""
        if window.step is not None:
            step = int(window.step)
            lo = -(-lo // step) * step if NEG < lo < POS else lo
            hi = hi // step * step + step - 1 if NEG < hi < POS else hi
        return (lo, hi) if lo <= hi else None

    @staticmethod
    def _back(time: int, size: int) -> int:
        return NEG if time <= NEG or size >= POS else time - size

    # --- tuple windows --------------------------------------------------------------------------------------------------

    def counted(self, window: WindowSize) -> list[Arrival]:
        """The arrivals that a tuple window counts, in their order."""
        found = self._counted.get(window)
        if found is None:
            found = [arrival for arrival in self._arrivals if not window.of or arrival[0] in window.of]
            self._counted[window] = found
        return found

    def stays(self, window: WindowSize, predicate: str, row: Row) -> Iterator[tuple[int, Range]]:
        """When each arrival of a row came, and how long it is among the last ones."""
        counted, size = self.counted(window), int(window.size)
        for i, (name, values, time) in enumerate(counted):
            if name == predicate and values == row:
                end = counted[i + size][2] - 1 if i + size < len(counted) else POS
                if time <= end:
                    yield time, (time, end)

    def runs(self, window: WindowSize, predicate: str, row: Row) -> Iterator[Range]:
        """For each time at which a row holds at all times of the tuple window: the window's first time, and this one."""
        counted, size = self.counted(window), int(window.size)
        times = {time for name, values, time in counted if name == predicate and values == row}
        for time in sorted(times):
            past = [arrival for arrival in counted if arrival[2] <= time][-size:]
            first = past[0][2] if len(past) == size else self.start
            inside = {at for name, values, at in past if name == predicate and values == row}
            if first > NEG and len(inside) >= time - first + 1:
                yield first, time


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

    def __init__(self, windows: Windows, holding: Holding, locals_: Locals) -> None:
        self.windows = windows
        self._holding = holding
        self._locals = locals_
        self._is_negated = False

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
            case Window():
                return self._window(formula, binding, lo, hi)
        raise MethodError(f"`{format_formula(formula)}` cannot be explained yet")

    def _atom(self, atom: Atom, binding: Binding, lo: int, hi: int) -> Ranges:
        try:
            row = row_of(atom, binding)
        except UNCOMPUTABLE:
            return []
        if atom.at is None:
            return self._holding.ranges(atom.predicate, row, lo, hi, exact=self._is_negated)
        place = place_of(atom.at, binding)
        if place is None or not self._holding.ranges(atom.predicate, row, place, place, exact=self._is_negated):
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
        before, self._is_negated = self._is_negated, True
        try:
            every = self._locals(formula.operand, binding, lo, hi)
            return united(each for full in every for each in self.truth(formula.operand, full, lo, hi))
        finally:
            self._is_negated = before

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
