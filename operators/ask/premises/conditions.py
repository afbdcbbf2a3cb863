"""The comparisons of a precondition: decided as soon as their variables have values, and before if they cannot all hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tidelog.operators.sld.comparisons.systems import ZERO, Linear, System, linear
from tidelog.operators.sld.comparisons.values import UNCOMPUTABLE, compare, evaluate
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.preconditions import START
from tidelog.plans.tree.arithmetic import MIRRORED, plus
from tidelog.plans.tree.names import expression_variables
from tidelog.plans.tree.numerals import canonical
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Expression, Value, Variable

__all__ = ["UNCOMPUTABLE", "Condition", "Conditions"]

MOST_PERIOD = 500
"""Times are not told apart by what they are multiples of beyond so many."""


class Condition:
    """A comparison that waits for its variables."""

    __slots__ = ("_left", "_open", "_operator", "_right", "comparison", "left_names", "names", "right_names")

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self._left, self._right = comparison.left, comparison.right
        self._operator = comparison.operator
        self.left_names, self.right_names = (
            set(expression_variables(comparison.left)),
            set(expression_variables(comparison.right)),
        )
        self.names = self.left_names | self.right_names
        self._open = self._given({})

    def open(self, values: Mapping[str, Value]) -> Comparison:
        """It, with the values that are known put in."""
        return self._open if self.names.isdisjoint(values) else self._given(values)

    def _given(self, values: Mapping[str, Value]) -> Comparison:
        left, right = put_in(self._left, values), put_in(self._right, values)
        return _solved(Comparison(self._operator, left, right, self.comparison.span))

    def settle(self, values: dict[str, Value]) -> bool | None:
        """Whether it holds; None while that is open. An equation with one unknown variable gives it its value.

        Raises one of `UNCOMPUTABLE` where it has no value, which is as if it did not hold.
        """
        left_known, right_known = self.left_names <= values.keys(), self.right_names <= values.keys()
        if left_known and right_known:
            return compare(self._operator, evaluate(self._left, values), evaluate(self._right, values))
        if self._operator != "=":
            return None
        for target, source, known in ((self._left, self._right, right_known), (self._right, self._left, left_known)):
            if known and isinstance(target, Variable):
                value = evaluate(source, values)
                if isinstance(source, Arithmetic) and not isinstance(value, str):
                    value = canonical(value)
                values[target.name] = value
                return True
        return None


class Differences:
    """Bounds x - y <= k between times, with all that follows: known times say what is left to others."""

    def __init__(self, bounds: Iterable[tuple[object, object, int]]) -> None:
        self._names: dict[str, list[tuple[str | None, int, int]]] = {}
        gaps = {(one, other): size for one, other, size in bounds}
        pairs = {*gaps, *((other, one) for one, other in gaps)}
        for x, y in pairs:
            if isinstance(x, str):
                other = y if isinstance(y, str) else None
                low, high = gaps.get((y, x)), gaps.get((x, y))
                entry = other, NEG if low is None else -low, POS if high is None else high
                self._names.setdefault(x, []).append(entry)

    def settle(self, values: dict[str, Value]) -> bool:
        """Whether the times that are known leave a value for each other one; what is left one value gets it."""
        waiting = []
        for name, bounds in self._names.items():
            value = values.get(name)
            if value is None:
                waiting.append(name)
                continue
            low, high = self._left(bounds, values)
            if not isinstance(value, int) or not low <= value <= high:
                return False
        while waiting:
            ranges = [(name, *self._left(self._names[name], values)) for name in waiting]
            if any(low > high for _, low, high in ranges):
                return False
            forced = [(name, low) for name, low, high in ranges if low == high]
            if not forced:
                return True
            values[forced[0][0]] = forced[0][1]
            waiting.remove(forced[0][0])
        return True

    def left(self, name: str, values: Mapping[str, Value]) -> tuple[int, int]:
        """What the known times leave to another one, from the least to the greatest."""
        return self._left(self._names.get(name, ()), values)

    def _left(self, bounds: Iterable[tuple[str | None, int, int]], values: Mapping[str, Value]) -> tuple[int, int]:
        """What the known times leave, from the least to the greatest; nothing where one of them is no time."""
        least, most = NEG, POS
        for other, low, high in bounds:
            value = 0 if other is None else values.get(other)
            if value is None:
                continue
            if not isinstance(value, int):
                return POS, NEG
            least, most = max(least, value + low), min(most, value + high)
        return least, most


class Conditions:
    """All comparisons of a precondition; `whole` names the variables that stand for times."""

    __slots__ = ("_bounds", "_conditions", "_system", "asks_start", "is_linear", "period", "upper", "whole")

    def __init__(self, comparisons: Sequence[Comparison], whole: Iterable[str]) -> None:
        self._conditions = [Condition(comparison) for comparison in comparisons]
        self.whole = frozenset([*whole, START])
        self.asks_start = any(START in condition.names for condition in self._conditions)
        self._system = System(self.whole)
        for comparison in comparisons:
            self._system.add(comparison)
        self._bounds = Differences(self._system.differences()) if self._are_differences(comparisons) else None
        self.upper = {name: list(_upper(self._system, name)) for name in self.whole}
        """For each time what it is at most: another variable, or None for 0, and a distance."""
        self.is_linear = all(linear(side) is not None for item in comparisons for side in (item.left, item.right))
        """Whether `upper` says all that there is to say, whatever values become known."""
        self.period = min(math.lcm(*(step for item in comparisons for step in _steps(item))), MOST_PERIOD)
        """With so much more each, times are the same multiples of what comparisons divide by."""

    def _are_differences(self, comparisons: Iterable[Comparison]) -> bool:
        """Whether they bound times by times and numbers, and nothing else."""
        sides = [linear(side) for item in comparisons for side in (item.left, item.right)]
        return all(item.operator != "!=" for item in comparisons) and all(
            side is not None and (side.node == ZERO or side.node in self.whole) and isinstance(side.offset, int)
            for side in sides
        )

    def __bool__(self) -> bool:
        return bool(self._conditions)

    def settle(self, values: dict[str, Value]) -> bool:
        """Decide what can be decided, and give variables the values that are left to them; False if not all can hold."""
        if self._bounds is not None:
            return self._bounds.settle(values)
        waiting = self._conditions
        while waiting:
            before = len(values)
            try:
                outcomes = [(condition, condition.settle(values)) for condition in waiting]
            except UNCOMPUTABLE:
                return False
            if any(outcome is False for _, outcome in outcomes):
                return False
            waiting = [condition for condition, outcome in outcomes if outcome is None]
            if all(condition.names.isdisjoint(values) for condition in waiting):
                return True  # nothing that is known says anything of what is not
            if waiting and len(values) == before and not self._narrow(waiting, values):
                return False
            if len(values) == before:
                break
        return True

    def _narrow(self, waiting: Sequence[Condition], values: dict[str, Value]) -> bool:
        """Give open variables the one value that is left to them; False if there is none for some."""
        system = self._within(values)
        if system is None:
            return False
        for name in {name for condition in waiting for name in condition.names} - values.keys():
            value = system.value(name)
            if value is not None:
                values[name] = value if isinstance(value, str) else canonical(value)
        return True

    def _within(self, values: Mapping[str, Value]) -> System | None:
        """What the known values leave; None where that is nothing."""
        if not self.is_linear:  # known values may make a bound of what was none: `2 * T >= S`
            system = System(self.whole)
            return system if all(map(system.add, self.open(values))) else None
        system = self._system.copy()
        mentioned = {name for condition in self._conditions for name in condition.names}
        given = all(system.give(name, value) for name, value in values.items() if name in mentioned)
        return system if given else None

    def left(self, name: str, values: Mapping[str, Value]) -> tuple[int, int]:
        """The least and the greatest time that known values leave to a variable; the least is greater if there is none."""
        if self._bounds is not None:
            return self._bounds.left(name, values)
        system = self._within(values)
        if system is None:
            return POS, NEG
        low, high = system.most(ZERO, name), system.most(name, ZERO)
        return NEG if low is None else -low, POS if high is None else high

    def most(self, one: str, other: str) -> int:
        """The most by which one time lies ahead of another; POS where nothing bounds that."""
        found = self._system.most(one, other)
        return POS if found is None else int(found)

    def open(self, values: Mapping[str, Value]) -> list[Comparison]:
        """What is not decided yet, with the values that are known put in."""
        return [each.open(values) for each in self._conditions if not each.names <= values.keys()]


def _steps(comparison: Comparison) -> Iterator[int]:
    """What is divided by in a comparison: 5 in `(T - 2) mod 5 = 0`."""
    waiting = [comparison.left, comparison.right]
    while waiting:
        match waiting.pop():
            case Arithmetic("mod" | "//", (dividend, Constant(int(step)))) if step:
                yield abs(step)
                waiting.append(dividend)
            case Arithmetic(_, operands):
                waiting += operands


def _upper(system: System, name: str) -> Iterator[tuple[str | None, int]]:
    for other, distance in system.highest(name):
        if isinstance(other, str) and isinstance(distance, int):
            yield other, distance
        elif other == ZERO and isinstance(distance, int):
            yield None, distance


def put_in(expression: Expression, values: Mapping[str, Value]) -> Expression:
    """An expression with values in place of variables, computed as far as can be."""
    if isinstance(expression, Variable):
        return Constant(values[expression.name]) if expression.name in values else expression
    if not isinstance(expression, Arithmetic):
        return expression
    operands = tuple(put_in(operand, values) for operand in expression.operands)
    made = Arithmetic(expression.operator, operands, expression.span)
    if all(isinstance(operand, Constant) for operand in operands):
        try:
            value = evaluate(made, {})
        except UNCOMPUTABLE:
            return made
        return Constant(value if isinstance(value, str) else canonical(value))
    return made


def _solved(comparison: Comparison) -> Comparison:
    """`V > 12` for `7 + 5 < V`, and `S >= 2` for `1 <= S - 1`: a variable first, where there is one alone."""
    left, right = linear(comparison.left), linear(comparison.right)
    if left is None or right is None:
        return comparison
    operator = comparison.operator
    if not isinstance(left.node, str):
        left, right, operator = right, left, MIRRORED[operator]
    if not isinstance(left.node, str) or (left.offset and not isinstance(right.node, str) and right.node != ZERO):
        return comparison  # nothing is subtracted from a text
    return Comparison(operator, Variable(left.node), _expression(right, right.offset - left.offset))


def _expression(term: Linear, offset: int | float) -> Expression:
    if term.node == ZERO:
        return Constant(canonical(offset))
    # a node is the name of a variable, or a pair of a kind and a text
    base: Expression = Variable(term.node) if isinstance(term.node, str) else Constant(str(term.node[1]))  # type: ignore[index]
    return plus(base, offset)
