"""What keeps itself up for ever: a rule that derives its own predicate a moment later, and asks for nothing else."""

from __future__ import annotations

from fractions import Fraction

from tidelog.plans.proving.rulebook import Clause
from tidelog.plans.tree.syntax import Atom, Formula, Time, Unary, Variable, Window

_NOWHERE = (Fraction(0), Fraction(0))


def keeps_itself_up(clause: Clause, is_integer: bool) -> bool:
    """Whether by this rule alone its head, once it holds, holds for ever: proved by going on from each time to the next.

    Where the head holds at t, it holds by the rule at t + d, for all distances d of a range. For whole times it is enough
    that 1 is one of them. For others the range has to begin at t or before it, and to end behind it; whether its ends are
    open makes no difference.
    """
    if len(clause.body) != 1 or clause.head.at is not None:
        return False
    found = _distances(clause.body[0], clause.head)
    if found is None:
        return False
    low, high = clause.low + found[0], clause.high + found[1]
    return low <= 1 <= high if is_integer else low <= 0 < high


def _distances(formula: Formula, head: Atom) -> tuple[Time, Time] | None:
    """How far behind the head a formula holds by it at the least and at the most; None where other things are asked for."""
    match formula:
        case Atom(at=None):
            names = {term.name for term in formula.arguments if isinstance(term, Variable)}
            is_head = formula.predicate == head.predicate and formula.arguments == head.arguments
            return _NOWHERE if is_head and len(names) == len(formula.arguments) else None
        case Unary(operator="diamondminus" | "diamondplus", clipped=False, step=0, interval=interval):
            inner = _distances(formula.operand, head)
            if inner is None:
                return None
            if formula.operator == "diamondminus":
                return inner[0] + interval.low, inner[1] + interval.high
            return inner[0] - interval.high, inner[1] - interval.low
        case Window(mode="sometime", window=size) if not size.tuples and size.step is None:
            inner = _distances(formula.operand, head)
            return None if inner is None else (inner[0], inner[1] + size.size)
    return None
