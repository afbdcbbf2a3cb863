"""Recursion: which predicates feed each other, whether through time, and where what lies in the future waits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.shapes import moves_in_time


@dataclass(frozen=True, slots=True)
class Recursion:
    """A recursive component of the plan.

    `predicates` are the program's own, `through_time` whether a round moves coverage to other times, `held` the
    predicates (fresh ones too) behind which coverage beyond the present waits, `rules` those of the text that take part.
    """

    loop: int
    predicates: tuple[str, ...]
    through_time: bool
    held: tuple[str, ...]
    rules: tuple[str, ...]


def recursions_of(plan: Plan) -> tuple[Recursion, ...]:
    """The plan's loops, in order."""
    steps = {step.id: step for step in plan.steps}
    found = []
    for loop in plan.loops:
        members = [steps[name] for name in loop.members]
        names = [step.predicate for step in members if step.predicate not in plan.normal.origins]
        found.append(
            Recursion(
                loop=loop.number,
                predicates=_once(names),
                through_time=any(moves_in_time(step.shape) for step in members),
                held=_once(steps[name].predicate for name in loop.holds),
                rules=_once(step.source for step in members if step.source),
            )
        )
    return tuple(found)


def _once(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
