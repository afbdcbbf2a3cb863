"""What holds for a while by one fact: `□` over it needs few such facts, one after the other, not one for each time point.

`boxminus[0,20] a` with `boxplus[0,12] a :- f` holds where f held at times V1 < V2 < … no more than 13 apart, the first early
enough and the last late enough. Each set of facts for which it holds has such a chain in which none can be left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from tidelog.operators.sld.comparisons.terms import shift
from tidelog.operators.sld.goals.rulebook import Clause, Rulebook, is_unbounded
from tidelog.operators.sld.goals.tasks import Test
from tidelog.operators.sld.goals.writing import relate
from tidelog.operators.sld.limits import is_long
from tidelog.plans.plan.preconditions import Argument, Slot
from tidelog.plans.tree.syntax import Atom, Formula, Unary, Window

MOST_CHAINS = 500
"""Where so many chains are possible, time points are looked at one by one."""


class Cover(NamedTuple):
    """If `body` holds at V, something holds from V + `low` to V + `high`; `steps` are the rules by which it is derived."""

    low: int
    high: int
    steps: tuple[tuple[Atom, Clause], ...]
    body: tuple[Formula, ...]

    @property
    def length(self) -> int:
        """At how many time points it then holds."""
        return self.high - self.low + 1


def covers_of(formula: Formula, rulebook: Rulebook) -> list[Cover] | None:
    """All the ways in which a formula can hold, if it holds for long each time; None if it may be otherwise."""
    match formula:
        case Unary(operator="diamondminus" | "diamondplus") if _is_ranging(formula.interval.low, formula.interval.high):
            low, high = int(formula.interval.low), int(formula.interval.high)
            ends = (low, high) if formula.operator == "diamondminus" else (-high, -low)
            return [Cover(*ends, (), (formula.operand,))]
        case Window(mode="sometime") if formula.window.step is None and _is_ranging(0, formula.window.size):
            return [Cover(0, int(formula.window.size), (), (formula.operand,))]
        case Atom(at=None):
            return _derived(formula, rulebook)
    return None


def _is_ranging(low: object, high: object) -> bool:
    return not is_unbounded(high) and is_long(low, high)  # type: ignore[arg-type] # ends of an interval


def _derived(atom: Atom, rulebook: Rulebook) -> list[Cover] | None:
    name = atom.predicate
    if name in rulebook.inputs or name in rulebook.tables or rulebook.is_recursive(name):
        return None
    found: list[Cover] = []
    for clause in rulebook.clauses.get(name, ()):
        if clause.atom.at is not None or is_unbounded(clause.low) or is_unbounded(clause.high):
            return None
        low, high = int(clause.low), int(clause.high)
        if is_long(low, high):
            found.append(Cover(low, high, ((atom, clause),), clause.body))
            continue
        inner = covers_of(clause.body[0], rulebook) if low == high and len(clause.body) == 1 else None
        if inner is None:
            return None
        found += [Cover(c.low + low, c.high + low, ((atom, clause), *c.steps), c.body) for c in inner]
    return found or None


def chains(covers: Sequence[Cover], length: int) -> list[tuple[Cover, ...]] | None:
    """The sequences of covers that may be needed for so many time points; None for too many."""
    most = min(length, 2 * (length // min(cover.length for cover in covers)) + 4)
    if sum(len(covers) ** number for number in range(1, most + 1)) > MOST_CHAINS:
        return None
    return [chain for number in range(1, most + 1) for chain in product(covers, repeat=number)]


def linked(chain: Sequence[Cover], times: Sequence[Slot], first: Argument, last: Argument) -> Iterator[Test]:
    """That the covers of a chain, each at its time, leave nothing out from `first` to `last`, and that all are needed."""
    begins = [shift(time, cover.low) for cover, time in zip(chain, times, strict=True)]
    ends = [shift(time, cover.high) for cover, time in zip(chain, times, strict=True)]
    yield relate(begins[0], "<=", first)
    yield relate(ends[-1], ">=", last)
    for i in range(1, len(chain)):
        yield relate(begins[i], "<=", shift(ends[i - 1], 1))
        yield relate(begins[i - 1], "<", begins[i])
        yield relate(ends[i - 1], "<", ends[i])
    for i in range(2, len(chain)):
        yield relate(begins[i], ">", shift(ends[i - 2], 1))
    if len(chain) > 1:
        yield relate(begins[1], ">", first)
        yield relate(ends[-2], "<", last)
