"""When formulas hold, by the definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from tidelog.plans.syntax import (
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
    Window,
    WindowSize,
)
from tidelog.verifier.matching import substitutions
from tidelog.verifier.terms import AHEAD, ANY, Binding, Row, compares, grounded, value_of, variables
from tidelog.verifier.times import ALWAYS, Cut, Line, Refused, Times, both, complement, union
from tidelog.verifier.world import World


class Evaluator:
    """When formulas hold in a world, by the definitions."""

    def __init__(self, line: Line, world: World, start: Cut, arrivals: Sequence[tuple[str, Row, Time]]) -> None:
        self.line = line
        self.world = world
        self._from_start: Times = [(start, (math.inf, 0))]
        self._arrivals = arrivals

    def truth(self, formula: Formula, binding: Binding, *, least: bool = True) -> Times:
        """When the formula surely holds (`least`), or when it may."""
        match formula:
            case Truth():
                return ALWAYS if formula.value else []
            case Comparison():
                return ALWAYS if compares(formula, binding) else []
            case Atom():
                return self._atom(formula, binding, least=least)
            case Conjunction():
                found = ALWAYS
                for part in formula.parts:
                    found = both(found, self.truth(part, binding, least=least)) if found else []
                return found
            case Negation():
                return self._negation(formula, binding, least=least)
            case Unary():
                return self._unary(formula, binding, least=least)
            case Binary():
                return self._binary(formula, binding, least=least)
            case Window():
                return self._window(formula, binding, least=least)
        raise Refused("a rule holds what this verifier does not know")

    def _atom(self, atom: Atom, binding: Binding, *, least: bool) -> Times:
        row = tuple(value_of(term, binding) for term in atom.arguments)
        times = self.world.times(atom.predicate, row, least=least)
        if atom.at is None:
            return times
        value = binding[atom.at.variable.name]
        if value == ANY:
            return ALWAYS
        return ALWAYS if isinstance(value, int) and both(times, self._point(value + atom.at.shift)) else []

    def _point(self, time: int) -> Times:
        return self.line.times(Interval(Fraction(time), Fraction(time)))

    def _negation(self, formula: Negation, binding: Binding, *, least: bool) -> Times:
        inner = formula.operand
        own = variables(inner, negated=True) - binding.keys()
        if not self.world.is_open:
            every = substitutions(self.world, [inner], dict(binding)) if own else [binding]
            return complement(union(each for full in every for each in self.truth(inner, full)))
        if not least:
            return ALWAYS
        known = complement(self.truth(inner, {**binding, **dict.fromkeys(own, ANY)}, least=False))
        said = grounded(inner, binding)
        for absent, times, where in self.world.absent:
            if absent == said and all(binding.get(name) == value for name, value in where.items()):
                known = union([*known, *times])
        return known

    def _unary(self, formula: Unary, binding: Binding, *, least: bool) -> Times:
        times = self.truth(formula.operand, binding, least=least)
        direction = -1 if formula.operator in AHEAD else 1
        if formula.operator in ("diamondminus", "diamondplus"):
            return self.line.moved(times, formula.interval, direction)
        return complement(self.line.moved(complement(times), formula.interval, direction))

    def _binary(self, formula: Binary, binding: Binding, *, least: bool) -> Times:
        direction = -1 if formula.operator in AHEAD else 1
        right = self.truth(formula.right, binding, least=least)
        if not right:
            return []
        distances = self.line.interval(formula.interval)
        found: Times = []
        near = Fraction(int(self.line.is_whole))  # at a distance of 0, of whole numbers also of 1, nothing lies between
        if distances.low < near or (distances.low == near and not distances.left_open):
            closest = Interval(distances.low, min(distances.high, near), distances.left_open)
            found += self.line.moved(right, closest, direction)
        for low, high in self.truth(formula.left, binding, least=least):
            hull = [self.line.hull(low, high)]
            found += both(self.line.moved(both(right, hull), distances, direction), hull)
        return union(found)

    # --- windows

    def _window(self, formula: Window, binding: Binding, *, least: bool) -> Times:
        window = formula.window
        if window.tuples:
            return self._tuples(formula, binding, least=least)
        times = self.truth(formula.operand, binding, least=least)
        if formula.mode == "sometime":
            return self._seeing(window, times)
        if formula.mode == "always":
            gaps = both(complement(times), self._from_start)
            return both(complement(self._seeing(window, gaps)), self._ending(window, self._from_start))
        if not isinstance(formula.operand, Atom) or formula.operand.at is None:
            raise Refused("a window with `@T` holds one atom")
        value = binding[formula.operand.at.variable.name]
        if value == ANY:
            return times
        place = self._point(int(value) + formula.operand.at.shift) if isinstance(value, int) else []
        return both(times, self._seeing(window, both(place, self._from_start)))

    def _seeing(self, window: WindowSize, times: Times) -> Times:
        """The times whose window holds one of these: it ends at most its size behind one."""
        return self._ending(window, self.line.moved(times, Interval(Fraction(0), self._size(window)), 1))

    def _ending(self, window: WindowSize, ends: Times) -> Times:
        """The times whose window ends at one of these: now, or at the last multiple of the step."""
        if window.step is None:
            return ends
        step = int(self.line.time(window.step, window.step_unit))
        rounded = [tuple((_ceil(time, step), 0) for time, _ in stretch) for stretch in ends]
        return union((low, high) for low, high in rounded)

    def _size(self, window: WindowSize) -> Time:
        return self.line.time(window.size, window.size_unit)

    def _tuples(self, formula: Window, binding: Binding, *, least: bool) -> Times:
        """LARS: the substream of the last facts that have arrived by a time, over its own timeline."""
        atom = formula.operand
        if not isinstance(atom, Atom):
            raise Refused("a tuple window holds one atom")
        if self.world.is_open and not least and formula.mode != "at":
            return ALWAYS  # an absence has to say that it does not hold
        row, size = tuple(value_of(term, binding) for term in atom.arguments), int(formula.window.size)
        of = formula.window.of
        stream = [each for each in self._arrivals if not of or each[0] in of]
        place = None if atom.at is None else binding[atom.at.variable.name]
        at = place + atom.at.shift if atom.at is not None and isinstance(place, int) else None
        known = self.world.times(atom.predicate, row, least=least)
        found: Times = []
        for index, (_, _, time) in enumerate(stream):
            if index + 1 < len(stream) and stream[index + 1][2] == time:
                continue
            past = stream[max(0, index + 1 - size) : index + 1]
            first = past[0][2] if len(past) == size else self._from_start[0][0][0]
            said = {each[2] for each in past if each[0] == atom.predicate and (each[1] == row or ANY in row)}
            said = {each for each in said if both(known, self._point(int(each)))}
            if formula.mode == "always":
                if first > -math.inf and len({each for each in said if each >= first}) == time - first + 1:
                    found += self._point(int(time))
            elif said if formula.mode == "sometime" else (at in said or place == ANY):
                found.append(((time, 0), (stream[index + 1][2] if index + 1 < len(stream) else math.inf, 0)))
        return union(found)


def _ceil(time: Time, step: int) -> Time:
    return time if isinstance(time, float) else -(-time // step) * step
