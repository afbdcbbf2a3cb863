"""Unit propagation over a whole stretch of positions at once.

What is known is a mask for each literal: bit d is set where the literal is known to hold d positions ahead. A clause with
a mask stands for one instance at each of its bits. So one pass of big-integer arithmetic over a clause's literals finds
all positions at which all but one of them are false, and there the last one has to hold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidelog.operators.ltl.clauses import Clause
from tidelog.plans.diagnostics.errors import MethodError

Known = dict[int, int]
"""For each literal, where it is known to hold."""

Instances = tuple[Clause, int]
"""A clause, and the mask of the positions at which it has to hold."""

Watchers = Mapping[int, Sequence[int]]
"""For each literal, the numbers of the clauses that have its complement."""


@dataclass
class Effort:
    """How much propagation may be done in all: `most` steps, each a clause over 4,096 positions; MethodError beyond."""

    most: int
    steps: int = 0

    def spend(self, positions: int) -> None:
        """Count one clause over a mask of so many positions."""
        self.steps += 1 + (positions >> 12)
        if self.steps > self.most:
            raise MethodError(f"the LTL tableau has taken more than {self.most:,} steps of propagation")


def watchers_of(clauses: Iterable[Clause], first: int = 0) -> dict[int, list[int]]:
    """Which clauses a literal that becomes known may leave with one literal; clauses are numbered from `first` on."""
    watchers: dict[int, list[int]] = {}
    for number, clause in enumerate(clauses, first):
        for literal in {literal for _, literal in clause}:
            watchers.setdefault(literal ^ 1, []).append(number)
    return watchers


def propagate(
    known: Known,
    instances: Sequence[Instances],
    watchers: Sequence[Watchers],
    waiting: Iterable[int],
    effort: Effort | None = None,
) -> bool:
    """Add to `known` what follows, beginning with the clauses `waiting`; false where some clause cannot hold.

    >>> known = {0: 0b1}
    >>> propagate(known, [(((0, 1), (1, 0)), 0b111)], [watchers_of([((0, 1), (1, 0))])], [0]), bin(known[0])
    (True, '0b1111')
    """
    queue = deque(waiting)
    queued = set(queue)
    while queue:
        number = queue.popleft()
        queued.discard(number)
        clause, active = instances[number]
        if effort is not None:
            effort.spend(active.bit_length())
        none, one = _open(known, clause, active)
        if none:
            return False
        for literal in _learn(known, clause, one) if one else ():
            for watching in watchers:
                for other in watching.get(literal, ()):
                    if other not in queued:
                        queued.add(other)
                        queue.append(other)
    return True


def _open(known: Known, clause: Clause, active: int) -> tuple[int, int]:
    """Where none, and where exactly one of a clause's literals is not known to be false."""
    none, one = active, 0
    for ahead, literal in clause:
        false = known.get(literal ^ 1, 0) >> ahead
        one = (one & false) | (none & ~false)
        none &= false
        if not (none or one):
            break
    return none, one


def _learn(known: Known, clause: Clause, one: int) -> list[int]:
    """Where one literal is left, it holds; returns the literals that are known at more positions now."""
    learnt = []
    for ahead, literal in clause:
        holds = (one & ~(known.get(literal ^ 1, 0) >> ahead)) << ahead
        before = known.get(literal, 0)
        if holds & ~before:
            known[literal] = before | holds
            learnt.append(literal)
    return learnt
