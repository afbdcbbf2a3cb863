"""The steps of a loop that stays at one time, as functions of what is new on one of their ports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tidelog.operators.columns.batch import Batch, empty
from tidelog.operators.columns.joining import Joining, matching, outside, variables_in
from tidelog.operators.columns.pool import Pool
from tidelog.plans.plan.plan import AntiJoinShape, JoinShape, Shape, UnionShape


class Rule(ABC):
    """What a step gives for new coverage on a port, with all that is known on the others."""

    @abstractmethod
    def give(self, port: int, new: Batch, known: Sequence[Batch | None]) -> Batch:
        """What follows; `known` has what is new, too."""


class _Passing(Rule):
    def give(self, port: int, new: Batch, known: Sequence[Batch | None]) -> Batch:
        return new


class _Joined(Rule):
    def __init__(self, shape: JoinShape, pool: Pool) -> None:
        self._joining = Joining(shape, pool)

    def give(self, port: int, new: Batch, known: Sequence[Batch | None]) -> Batch:
        atoms = []
        for atom, batch in enumerate(known):
            if batch is None:
                return empty(self._joining.width)
            atoms.append(self._joining.pattern(atom, new if atom == port else batch))
        return self._joining.of(atoms)


class _Outside(Rule):
    """M without N, where N is known before the loop begins."""

    def __init__(self, shape: AntiJoinShape, pool: Pool) -> None:
        self._pool = pool
        self._negated = shape.negated
        self._names = variables_in(shape.negated)
        self._places = [shape.columns.index(name) for name in self._names]

    def give(self, port: int, new: Batch, known: Sequence[Batch | None]) -> Batch:
        if port:
            return empty(known[0].width) if known[0] is not None else empty(0)
        negative = known[1]
        if negative is None:
            return new
        return outside(new, self._places, matching(self._negated, self._names, negative, self._pool), self._pool)


def rule_of(shape: Shape, pool: Pool) -> Rule:
    """The function of a step; TypeError for a step that moves in time."""
    match shape:
        case UnionShape():
            return _Passing()
        case JoinShape():
            return _Joined(shape, pool)
        case AntiJoinShape():
            return _Outside(shape, pool)
        case _:
            raise TypeError(f"{type(shape).__name__} does not stay at one time")
