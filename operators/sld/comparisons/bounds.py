"""Bounds on differences of times: what `V <= T - 3` and the like say together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from tidelog.operators.sld.comparisons.comparing import START_SLOT, flip, read, write
from tidelog.operators.sld.comparisons.terms import Bindings
from tidelog.plans.diagnostics.errors import NOWHERE, Span
from tidelog.plans.plan.preconditions import START, Argument, Slot
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Expression, Variable

_ZERO = -2
"""Stands for the number 0, so that a constant is a bound like any other."""
_START = START_SLOT.variable


class Bounds:
    """For two times x and y the least k with x <= y + k, as comparisons have it."""

    __slots__ = ("_least", "_spans")

    def __init__(self) -> None:
        self._least: dict[tuple[int, int], int] = {}
        self._spans: dict[tuple[int, int], Span] = {}

    def add(self, comparison: Comparison, bindings: Bindings) -> bool:
        """Take a comparison in if it is one of two times; False if it is not."""
        found = _bounds_in(comparison, bindings)
        for x, y, slack in found:
            self._put(x, y, slack, comparison.span)
        return bool(found)

    def implies(self, comparison: Comparison, bindings: Bindings) -> bool:
        """Whether a comparison of two times is among these, or weaker than one of them."""
        found = _bounds_in(comparison, bindings)
        return bool(found) and all(slack >= self._least.get((x, y), slack + 1) for x, y, slack in found)

    def eliminate(self, kept: Collection[int]) -> bool:
        """Do away with the times that nothing else mentions: some time must be left for them. False if none can be.

        What lies below such a time lies below whatever that lies below (Fourier and Motzkin; exact for differences).
        """
        for variable in sorted({v for pair in self._least for v in pair if v >= 0 and v not in kept}):
            below = [(x, k) for (x, y), k in self._least.items() if y == variable]
            above = [(y, k) for (x, y), k in self._least.items() if x == variable]
            self._least = {pair: k for pair, k in self._least.items() if variable not in pair}
            for x, before in below:
                for y, behind in above:
                    self._put(x, y, before + behind, NOWHERE)
        return all(k + self._least.get((y, x), -k) >= 0 for (x, y), k in self._least.items())

    def comparisons(self) -> Iterator[Comparison]:
        """What is left, each as `V <= T - 3`, `T >= 5` or, with an equation where there is no choice, `T - 3 = start`."""
        for (x, y), slack in self._least.items():
            if x == y:
                continue
            is_equal = self._least.get((y, x)) == -slack
            if is_equal and (x == _START or (y != _START and y > x)):
                continue  # the other direction is written
            yield _written(x, y, slack, is_equal, self._spans.get((x, y), NOWHERE))

    def _put(self, x: int, y: int, slack: int, span: Span) -> None:
        known = self._least.get((x, y))
        if known is None or slack < known:
            self._least[x, y] = slack
            self._spans[x, y] = span


def _bounds_in(comparison: Comparison, bindings: Bindings) -> list[tuple[int, int, int]]:
    """What a comparison says as bounds x <= y + k; nothing if it is no comparison of two times."""
    if comparison.operator == "!=":
        return []
    if comparison.operator in (">", ">="):
        comparison = flip(comparison)
    low, high = _moment(read(comparison.left, bindings), bindings), _moment(read(comparison.right, bindings), bindings)
    if low is None or high is None:
        return []
    slack = high[1] - low[1] - (comparison.operator == "<")
    upper = (low[0], high[0], slack)
    return [upper, (high[0], low[0], -slack)] if comparison.operator == "=" else [upper]


def _moment(term: Argument | None, bindings: Bindings) -> tuple[int, int] | None:
    if isinstance(term, int):
        return _ZERO, term
    if isinstance(term, Slot) and (term.variable == _START or term.variable in bindings.times):
        return term.variable, term.offset
    return None


def _written(x: int, y: int, slack: int, is_equal: bool, span: Span) -> Comparison:
    if y == _ZERO:
        return Comparison("=" if is_equal else "<=", write(Slot(x)), write(slack), span)
    if x == _ZERO:
        return Comparison("=" if is_equal else ">=", write(Slot(y)), write(-slack), span)
    if x == _START:
        return Comparison(">=", write(Slot(y, slack)), write(START_SLOT), span)
    if y == _START:
        return Comparison("=" if is_equal else "<=", write(Slot(x, -slack)), write(START_SLOT), span)
    return Comparison("=" if is_equal else "<=", write(Slot(x)), write(Slot(y, slack)), span)


def agree(comparisons: Iterable[Comparison]) -> bool:
    """Whether one time can be such a multiple as all of `(T - 2) mod 5 = 0` and the like want it."""
    residues: dict[tuple[int, int], int] = {}
    return all(
        residues.setdefault((time.variable, step), -time.offset % step) == -time.offset % step
        for time, step in steps_in(comparisons)
    )


def steps_in(comparisons: Iterable[Comparison]) -> Iterator[tuple[Slot, int]]:
    """The times that are to be multiples, and of what: `(T - 2) mod 5 = 0` says so of T - 2."""
    for comparison in comparisons:
        match comparison:
            case Comparison("=", Arithmetic("mod", (dividend, Constant(int(step)))), Constant(0)) if step > 0:
                time = _time_in(dividend)
                if time is not None:
                    yield time, step


def _time_in(expression: Expression) -> Slot | None:
    match expression:
        case Variable(name) if name != START:
            return Slot(int(name[1:]))
        case Arithmetic("+", (Variable(name), Constant(int(offset)))) if name != START:
            return Slot(int(name[1:]), offset)
        case Arithmetic("-", (Variable(name), Constant(int(offset)))) if name != START:
            return Slot(int(name[1:]), -offset)
    return None
