"""When formulas hold, by the definitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Formula,
    Interval,
    Latest,
    Negation,
    Period,
    Threshold,
    Time,
    Truth,
    Unary,
    Value,
    Window,
    WindowSize,
)
from tidelog.verifier.counting import NUMERIC, Pairs, is_beyond, result, stretches, values
from tidelog.verifier.matching import substitutions
from tidelog.verifier.terms import (
    AHEAD,
    ANY,
    Binding,
    Row,
    Undefined,
    any_held,
    asks_for_absence,
    bound,
    compares,
    grounded,
    may_compare,
    of_group,
    value_of,
    variables,
    with_names,
)
from tidelog.verifier.times import ALWAYS, Cut, Line, Refused, Times, both, complement, union
from tidelog.verifier.world import World


class Evaluator:
    """When formulas hold in a world, by the definitions; what asks for absence may be judged by another one."""

    def __init__(
        self,
        line: Line,
        world: World,
        start: Cut,
        arrivals: Sequence[tuple[str, Row, Time]],
        periods: Callable[[Period], list[Times]],
        judge: Evaluator | None = None,
    ) -> None:
        self._judge = judge or self
        self.line = line
        self.world = world
        self._periods = periods
        self._from_start: Times = [(start, (math.inf, 0))]
        self._arrivals = arrivals
        self._told: dict[Aggregate, list[tuple[tuple[Cut, Cut], Value | None]]] = {}

    def truth(self, formula: Formula, binding: Binding, *, least: bool = True) -> Times:
        """When the formula surely holds (`least`), or when it may."""
        match formula:
            case Truth():
                return ALWAYS if formula.value else []
            case Comparison():
                return ALWAYS if compares(formula, binding) or (not least and may_compare(formula, binding)) else []
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
            case Window() | Aggregate() | Latest():
                return self._windowed(formula, binding, least=least)
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
            judge = self._judge
            every = substitutions(judge, [inner], dict(binding)) if own else [binding]
            return complement(union(each for full in every for each in judge.truth(inner, full)))
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

    def _windowed(self, formula: Window | Aggregate | Latest, binding: Binding, *, least: bool) -> Times:
        if isinstance(formula, Window):
            return self._window(formula, binding, least=least)
        if self._judge is not self and asks_for_absence(formula):
            return self._judge.truth(formula, binding, least=least)
        if isinstance(formula, Aggregate):
            return self._aggregate(formula, binding, least=least)
        return self._latest(formula, binding, least=least)

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

    def _seeing(self, window: WindowSize | Period, times: Times) -> Times:
        """The times whose window holds one of these: it ends at most its size behind one. Or whose period does."""
        if isinstance(window, Period):
            return union(stretch for period in self._periods(window) if both(period, times) for stretch in period)
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

    # --- aggregates and held values

    def _aggregate(self, formula: Aggregate, binding: Binding, *, least: bool) -> Times:
        group = {each.name: binding[each.name] for each in formula.by}
        if not least:
            own = variables(formula.operand, negated=True) - group.keys()
            may = self.truth(formula.operand, {**dict.fromkeys(own, ANY), **group}, least=False)
            return self._seeing(formula.window, may)
        value = None if formula.threshold is not None else binding[formula.result.name]
        said = of_group(formula, group)
        known = [each for total, told, times in self.world.totals if total == said and told == value for each in times]
        if formula.threshold is None and self.world.is_open:
            return union(known)
        if formula.threshold is None:
            return union(each for each, told in self._values(formula, group) if told == value)
        return union([*known, *self._reached(formula, formula.threshold, group)])

    def _reached(self, formula: Aggregate, limit: Threshold, group: Binding) -> Times:
        if formula.function in ("min", "max"):
            found = (times for told, times in self.pairs(formula, group) if is_beyond(told, limit))
            return self._seeing(formula.window, union(each for times in found for each in times))
        return union(each for each, told in self._values(formula, group) if is_beyond(told, limit))

    def _values(self, formula: Aggregate, group: Binding) -> list[tuple[tuple[Cut, Cut], Value | None]]:
        """The values of an aggregate for a group, and when."""
        key = of_group(formula, group)
        if key not in self._told:
            window = formula.window
            pairs = [(value, stretches(times)) for value, times in self.pairs(formula, group)]
            if isinstance(window, Period):
                inside = [stretch for period in self._periods(window) for stretch in period]
                self._told[key] = [(each, _in_period(formula, pairs, each)) for each in inside]
                return self._told[key]
            step = 1 if window.step is None else int(self.line.time(window.step, window.step_unit))
            every = values(formula, pairs, int(self._size(window)), step)
            self._told[key] = [
                (each, value) for (low, high), value in every for each in self._ending(window, [((low, 0), (high, 0))])
            ]
        return self._told[key]

    def pairs(self, formula: Aggregate, group: Binding) -> list[tuple[Value | None, Times]]:
        """What an aggregate counts for a group: for each row what the function takes of it, and when it holds."""
        names = sorted(bound(formula.operand) - group.keys())
        found: dict[Row, tuple[Binding, Times]] = {}
        for full in substitutions(self, [formula.operand], dict(group)):
            key = tuple([full[name] for name in names])
            times = self.truth(formula.operand, full)
            found[key] = full, union([*found[key][1], *times]) if key in found else times
        return [(value, times) for full, times in found.values() if times for value in _taken(formula, full)]

    def groups(self, aggregate: Aggregate, given: Binding) -> Iterator[dict[str, Value]]:
        """The groups of an aggregate that have pairs, each with the values that it has."""
        names = [each.name for each in aggregate.by]
        known = {name: given[name] for name in names if name in given}
        every = substitutions(self, [aggregate.operand], known)
        for row in dict.fromkeys(tuple([full[name] for name in names]) for full in every):
            group = dict(zip(names, row, strict=True))
            if aggregate.threshold is not None:
                yield group
                continue
            said = of_group(aggregate, group)
            told = (value for total, value, _ in self.world.totals if total == said)
            for value in dict.fromkeys(told if self.world.is_open else (each for _, each in self._values(aggregate, group))):
                if value is not None:
                    yield {**group, aggregate.result.name: value}

    def window_of(self, formula: Aggregate, times: Times) -> Times:
        """All times in the windows of some times."""
        window = formula.window
        if isinstance(window, Period):
            return self._seeing(window, times)
        step = 1 if window.step is None else int(self.line.time(window.step, window.step_unit))
        size = self._size(window)
        return union(((_floor(low, step) - size, 0), (_floor(high - 1, step) + 1, 0)) for (low, _), (high, _) in times)

    def _latest(self, formula: Latest, binding: Binding, *, least: bool) -> Times:
        atom = with_names(formula.atom)
        group = {each.name: binding[each.name] for each in formula.by}
        own = {name: binding[name] for name in variables(formula.atom, negated=True)}
        if not least:
            return self._seeing(formula.window, self._may(atom, own))
        held = union(each for full in substitutions(self, [atom], own) for each in self.truth(atom, full))
        if not held:
            return []
        if self.world.is_open:
            said = any_held(formula, group)
            absent = [each for what, times, _ in self.world.absent if what == said for each in times]
            others = complement(union([*complement(self._may(atom, group)), *absent]))
        else:
            others = union(each for full in substitutions(self, [atom], group) for each in self.truth(atom, full))
        return self._ending(formula.window, self._held(held, union([*others, *held]), self._size(formula.window)))

    def _may(self, atom: Atom, known: Binding) -> Times:
        rest = variables(atom, negated=True) - known.keys()
        return self.truth(atom, {**dict.fromkeys(rest, ANY), **known}, least=False)

    def _held(self, own: Times, every: Times, size: Time) -> Times:
        """When something is held that holds in `own`, if all of its group hold in `every`."""
        found = [*own]
        for i, (_, end) in enumerate(every):
            until = every[i + 1][0] if i + 1 < len(every) else (math.inf, 0)
            for stretch in own:
                if stretch[1] == end < until:
                    found += both(self.line.moved([stretch], Interval(Fraction(0), size), 1), [(end, until)])
        return union(found)

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


def _floor(time: Time, step: int) -> Time:
    return time if isinstance(time, float) else time // step * step


def _taken(formula: Aggregate, binding: Binding) -> Iterator[Value | None]:
    """What a function takes of a row: nothing where it has no value, or where the function wants numbers and it is none."""
    try:
        value = None if formula.argument is None else value_of(formula.argument, binding)
    except Undefined:
        return
    if formula.function not in NUMERIC or not isinstance(value, str):
        yield value


def _ceil(time: Time, step: int) -> Time:
    return time if isinstance(time, float) else -(-time // step) * step


def _in_period(formula: Aggregate, pairs: Pairs, period: tuple[Cut, Cut]) -> Value | None:
    """The value over all pairs of a period: of a window that is as long, and ends with it."""
    (low, _), (high, _) = period
    return result(formula, pairs, int(high) - 1, int(high - 1 - low))
