"""Whether comparisons can all hold together, what follows from them, and whether others leave room beside them.

A comparison is taken as a bound `x <= y + k` or `x < y + k` between variables, 0 and texts (which are ordered among
themselves); bounds are closed under addition. Between whole numbers they are tightened, so that `S > 3, S < 5` leaves S = 4.
Other comparisons are opaque: one is the same as another if it is written the same way. What is decided so is right; where
something is not seen, comparisons count as ones that can hold, and not as ones that follow.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from tidelog.operators.sld.comparisons.values import UNCOMPUTABLE, compare, evaluate
from tidelog.plans.tree.names import expression_variables
from tidelog.plans.tree.syntax import Arithmetic, Comparison, ComparisonOperator, Constant, Expression, Value, Variable

Number = int | float
_Node = Hashable
ZERO: _Node = ("", 0)
"""Stands for the number 0, so that a constant number is a bound like any other."""


class Linear(NamedTuple):
    """A variable (its name), 0 or a text, plus a number."""

    node: _Node
    offset: Number = 0


class Gap(NamedTuple):
    """x - y <= size, or less than that where it is strict."""

    size: Number
    is_strict: bool = False

    def is_below(self, other: Gap) -> bool:
        """Whether it says more than another one."""
        return self.size < other.size or (self.size == other.size and self.is_strict and not other.is_strict)


_FLIP: dict[str, ComparisonOperator] = {">": "<", ">=": "<="}
_NOT: dict[str, ComparisonOperator] = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_SMALL = 1 << 53
"""Beyond this a sum of floats is no longer exact: such bounds are opaque."""


def linear(expression: Expression) -> Linear | None:
    """`V + 3`, `5` or a text as a node with an offset; None for what is more than that."""
    match expression:
        case Constant(str(text)):
            return Linear(("text", text))
        case Constant(value) if not isinstance(value, str) and abs(value) < _SMALL:
            return Linear(ZERO, value)
        case Variable(name):
            return Linear(name)
        case Arithmetic("+" | "-" as sign, (left, right)):
            one, other = linear(left), linear(right)
            if one is None or other is None:
                return None
            if sign == "-" and one.node == other.node and not _is_text(one.node):
                return Linear(ZERO, one.offset - other.offset)
            if other.node == ZERO and not _is_text(one.node):
                return Linear(one.node, one.offset + (other.offset if sign == "+" else -other.offset))
            if one.node == ZERO and sign == "+" and not _is_text(other.node):
                return Linear(other.node, one.offset + other.offset)
    return None


def whole_in(comparison: Comparison) -> str | None:
    """The variable of `V = V // 1`, which is a whole number."""
    match comparison:
        case Comparison("=", Variable(name), Arithmetic("//", (Variable(again), Constant(1)))) if name == again:
            return name
    return None


class System:
    """Comparisons that are to hold together; `whole` tells which variables are whole numbers.

    >>> from tidelog.plans.language.parser import parse
    >>> (rule,) = parse("a(X) :- p(X), X > 3, X < 5.").statements
    >>> system = System(["X"])
    >>> all(system.add(part) for part in rule.body[1:]), system.value("X")
    (True, 4)
    """

    __slots__ = ("_apart", "_gaps", "_kinds", "_nodes", "_opaque", "_whole")

    def __init__(self, whole: Iterable[_Node] = ()) -> None:
        self._whole = {ZERO, *whole}
        self._gaps: dict[tuple[_Node, _Node], Gap] = {}
        self._nodes: dict[_Node, None] = {}
        self._apart: list[tuple[Linear, Linear]] = []
        self._opaque: set[Hashable] = set()
        self._kinds: dict[_Node, _Node] = {}
        for node in self._whole:
            self._tie(node, ZERO)

    def copy(self) -> System:
        """Another one that says the same."""
        found = System.__new__(System)
        found._whole, found._gaps, found._nodes = set(self._whole), dict(self._gaps), dict(self._nodes)
        found._apart, found._opaque, found._kinds = list(self._apart), set(self._opaque), dict(self._kinds)
        return found

    # --- taking in ------------------------------------------------------------------------------------------------------

    def add(self, comparison: Comparison) -> bool:
        """Let one more comparison hold; False where it then is known that they cannot all hold."""
        name = whole_in(comparison)
        if name is not None:
            self._whole.add(name)
            return self._tie(name, ZERO) and self._tighten()
        if _is_constant(comparison):
            return _holds(comparison)
        if not self._tie_sums(comparison):
            return False
        left, right = linear(comparison.left), linear(comparison.right)
        if left is None or right is None:
            self._opaque.add(_written(comparison))
            return _written(_negated(comparison)) not in self._opaque
        return self.relate(left, comparison.operator, right)

    def give(self, name: str, value: Value) -> bool:
        """Let a variable have a value."""
        known = linear(Constant(value))
        return known is None or self.relate(Linear(name), "=", known)

    def relate(self, left: Linear, operator: ComparisonOperator, right: Linear) -> bool:
        """Let two terms compare so."""
        if operator in _FLIP:
            left, operator, right = right, _FLIP[operator], left
        for one, other in ((left, right), (right, left)):
            if one.offset and other.node != ZERO and not self._tie(one.node, ZERO):  # arithmetic is for numbers
                return False
        if operator == "!=":
            self._apart.append((left, right))
            return self._tighten()
        if not self._tie(left.node, right.node):
            return False
        self._meet(left.node)
        self._meet(right.node)
        size = right.offset - left.offset
        if not self._bound(left.node, right.node, Gap(size, operator == "<")):
            return False
        if operator == "=" and not self._bound(right.node, left.node, Gap(-size)):
            return False
        return self._tighten()

    def _tie_sums(self, comparison: Comparison) -> bool:
        """Arithmetic is for numbers, and has one: False where a text would have to be one."""
        for one, other in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
            if not isinstance(one, Arithmetic):
                continue
            equal = linear(other) if comparison.operator != "!=" else None
            nodes = [*expression_variables(one), *([] if equal is None else [equal.node])]
            if not all(self._tie(node, ZERO) for node in nodes):
                return False
        return True

    def _tie(self, one: _Node, other: _Node) -> bool:
        """Both are numbers, or both are texts; False if one is this and the other that."""
        first, second = self._kind(one), self._kind(other)
        if first != second:
            if _is_text(first) or first == ZERO:
                first, second = second, first
            self._kinds[first] = second
        return not ((_is_text(first) and second == ZERO) or (first == ZERO and _is_text(second)))

    def _kind(self, node: _Node) -> _Node:
        while (above := self._kinds.get(node)) is not None:
            node = above
        return ("text", "") if _is_text(node) else node

    def _meet(self, node: _Node) -> None:
        """A text is ordered among the others as soon as it is there."""
        if node in self._nodes:
            return
        if _is_text(node):
            for other in [known for known in self._nodes if _is_text(known)]:
                low, high = sorted((node, other), key=str)
                self._nodes[node] = None
                self._bound(low, high, Gap(0, True))
        self._nodes[node] = None

    def _bound(self, x: _Node, y: _Node, gap: Gap) -> bool:
        """Let x - y be bound, and all that follows; False for a contradiction."""
        gap = self._tight(x, y, gap)
        if x == y:
            return not gap.is_below(Gap(0))
        known = self._gaps.get((x, y))
        if known is not None and not gap.is_below(known):
            return True
        before = [(a, g) for (a, b), g in self._gaps.items() if b == x] + [(x, Gap(0))]
        after = [(b, g) for (a, b), g in self._gaps.items() if a == y] + [(y, Gap(0))]
        for a, first in before:
            for b, last in after:
                whole = Gap(first.size + gap.size + last.size, first.is_strict or gap.is_strict or last.is_strict)
                if a == b:
                    if whole.is_below(Gap(0)):
                        return False
                    continue
                whole, known = self._tight(a, b, whole), self._gaps.get((a, b))
                if known is None or whole.is_below(known):
                    self._gaps[a, b] = whole
        return True

    def _tight(self, x: _Node, y: _Node, gap: Gap) -> Gap:
        if x not in self._whole or y not in self._whole or not math.isfinite(gap.size):
            return gap
        floor = math.floor(gap.size)
        return Gap(floor - 1 if gap.is_strict and floor == gap.size else floor)

    def _tighten(self) -> bool:
        """What is different does not touch; bounds between whole numbers are whole numbers."""
        while True:
            before = dict(self._gaps)
            for x, y in [pair for pair in self._gaps if {*pair} <= self._whole]:
                if not self._bound(x, y, self._gaps[x, y]):
                    return False
            for left, right in self._apart:
                if not self._separate(left, right):
                    return False
            if self._gaps == before:
                return True

    def _separate(self, left: Linear, right: Linear) -> bool:
        size = right.offset - left.offset
        if left.node == right.node:
            return size != 0
        if self._gaps.get((left.node, right.node)) == Gap(size) and not self._bound(left.node, right.node, Gap(size, True)):
            return False
        return self._gaps.get((right.node, left.node)) != Gap(-size) or self._bound(right.node, left.node, Gap(-size, True))

    # --- what follows ---------------------------------------------------------------------------------------------------

    def value(self, name: _Node) -> Value | None:
        """The one value that a variable can have, if that is known."""
        for x, y in self._gaps:
            if x == name and self.distance(x, y) is not None:
                if y == ZERO:
                    return self.distance(x, y)
                if _is_text(y):
                    return str(y[1])  # type: ignore[index] # a text's node is a pair
        return None

    def distance(self, x: _Node, y: _Node) -> Number | None:
        """How much more x is than y, if that is known."""
        up, down = self._gaps.get((x, y)), self._gaps.get((y, x))
        if up is None or down is None or up.is_strict or down.is_strict or up.size != -down.size:
            return None
        return up.size

    def between(self, x: _Node, y: _Node) -> tuple[Number, Number] | None:
        """How much more x is than y, at least and at most, where both are bounded."""
        up, down = self._gaps.get((x, y)), self._gaps.get((y, x))
        return None if up is None or down is None else (-down.size, up.size)

    def differences(self) -> list[tuple[_Node, _Node, int]]:
        """The bounds between whole numbers: x - y <= k, with all that follows."""
        whole = [(x, y, gap) for (x, y), gap in self._gaps.items() if x in self._whole and y in self._whole]
        return [(x, y, int(gap.size)) for x, y, gap in whole if math.isfinite(gap.size)]

    def most(self, x: _Node, y: _Node) -> int | None:
        """How much more a whole number is than another one at most; None where nothing bounds it."""
        gap = self._gaps.get((x, y))
        return int(gap.size) if gap is not None and math.isfinite(gap.size) else None

    def highest(self, name: _Node) -> Iterator[tuple[_Node, Number]]:
        """The `(y, k)` for which the variable is known to be at most y + k."""
        return ((y, gap.size) for (x, y), gap in self._gaps.items() if x == name)

    def implies(self, comparison: Comparison) -> bool:
        """Whether a comparison holds whenever these do."""
        return not self.copy()._deny(comparison)

    def is_covered(self, others: Sequence[Sequence[Comparison]]) -> bool:
        """Whether wherever these hold all of one of the others do: this one here, that one there."""
        if not others:
            return False
        region = self.copy()
        for comparison in others[0]:
            outside = region.copy()
            if outside._deny(comparison) and not outside.is_covered(others[1:]):
                return False
            if not region.add(comparison):
                break  # nothing is left within
        return True

    def _deny(self, comparison: Comparison) -> bool:
        """Let a comparison not hold; False where it has to hold. What may have no value may well not hold."""
        if _written(comparison) in self._opaque:
            return False
        if _is_constant(comparison):
            return not _holds(comparison)
        left, right = linear(comparison.left), linear(comparison.right)
        if left is None or right is None:
            name = whole_in(comparison)
            return name is None or name not in self._whole
        if comparison.operator not in ("=", "!=") and self._kind(left.node) != self._kind(right.node):
            return True
        return self.relate(left, _NOT[comparison.operator], right)


def _is_text(node: _Node) -> bool:
    return isinstance(node, tuple) and node[0] == "text"


def _is_constant(comparison: Comparison) -> bool:
    """Whether there is no variable in it."""
    return next(expression_variables(comparison.left, comparison.right), None) is None


def _holds(comparison: Comparison) -> bool:
    try:
        return compare(comparison.operator, evaluate(comparison.left, {}), evaluate(comparison.right, {}))
    except UNCOMPUTABLE:
        return False


def _negated(comparison: Comparison) -> Comparison:
    return Comparison(_NOT[comparison.operator], comparison.left, comparison.right)


def _written(comparison: Comparison) -> Hashable:
    return comparison.operator, comparison.left, comparison.right
