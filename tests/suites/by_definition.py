"""Past-time MTL over the rows of a trace, row by row and by definition: slow, and sharing nothing with the monitors."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.suites.formulas import Both, Bound, Formula, Not, Past, Proposition, Since

Trace = Sequence[frozenset[str]]
"""For each row, from the first on, the propositions that hold."""


def holds(formula: Formula, trace: Trace, at: int) -> bool:
    """Whether the formula holds at a row."""
    match formula:
        case Proposition(name):
            return name in trace[at]
        case Not(operand):
            return not holds(operand, trace, at)
        case Both("and", left, right):
            return holds(left, trace, at) and holds(right, trace, at)
        case Both("or", left, right):
            return holds(left, trace, at) or holds(right, trace, at)
        case Both("implies", left, right):
            return not holds(left, trace, at) or holds(right, trace, at)
        case Past("pre", operand):
            return at > 0 and holds(operand, trace, at - 1)
        case Past("once", operand, bound):
            return any(holds(operand, trace, row) for row in _within(bound, at))
        case Past("historically", operand, bound):
            return all(holds(operand, trace, row) for row in _within(bound, at))
        case Since(left, right, bound):
            return any(
                holds(right, trace, row) and all(holds(left, trace, later) for later in range(row + 1, at + 1))
                for row in _within(bound, at)
            )
        case _:
            raise AssertionError(formula)


def _within(bound: Bound, at: int) -> list[int]:
    return [row for row in range(at + 1) if bound.low <= at - row and (bound.high is None or at - row <= bound.high)]
