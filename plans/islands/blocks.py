"""Blocks: the steps between which a plan cannot be cut.

It is cut behind a step that is known just as far as its lead says (`runtime/network/regularity.py`), so that whoever reads
it elsewhere knows from the watermark alone how far it has come.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tidelog.plans.analysis.horizons.calendar_reach import readers_of
from tidelog.plans.plan.plan import CalendarShape, PeriodShape, Plan, Step, SteppedShape, ToldShape, UnionShape
from tidelog.plans.tree.components import components
from tidelog.plans.tree.reaching import reachable


def exact_steps(plan: Plan) -> frozenset[str]:
    """The steps, also in loops, that are known just as far as their leads say, and by then have told all that is due."""
    first = {name for name, _ in plan.prospects.gates} | plan.prospects.far_sighted
    first |= {step.id for step in plan.steps if _is_inexact(step, plan)}
    readers = readers_of({step.id: step for step in plan.steps})
    unsure = reachable(first, readers.__getitem__)
    return frozenset(step.id for step in plan.steps if step.id not in unsure)


def _is_inexact(step: Step, plan: Plan) -> bool:
    if step.loop is not None and plan.loops[step.loop].holds:
        return True
    if isinstance(step.shape, UnionShape):
        return step.shape.reach > 1 and not step.shape.passes
    return isinstance(step.shape, SteppedShape | CalendarShape | PeriodShape)


def blocks_of(plan: Plan, fed: Collection[str]) -> list[tuple[str, ...]]:
    """The steps that rest on the stream, in blocks, each behind those that it reads."""
    steps = [step for step in plan.steps if step.id in fed]
    exact = exact_steps(plan)
    loops = {step.id: step.loop for step in steps if step.loop is not None}
    sleepers = {sleeper.step for sleeper in plan.prospects.sleepers}  # who sleeps sees facts of the stream
    groups = Groups(step.id for step in steps)
    for step in steps:
        is_bound = step.id in sleepers or isinstance(step.shape, ToldShape)
        for feeder in step.feeders:
            is_inside = feeder in loops and loops[feeder] == step.loop
            if feeder in fed and (is_bound or is_inside or feeder not in exact):
                groups.join(feeder, step.id)
    return _in_order(steps, groups)


def _in_order(steps: Iterable[Step], groups: Groups) -> list[tuple[str, ...]]:
    """The groups as blocks; those that read each other in a circle are one."""
    members: dict[str, list[str]] = {}
    following: dict[str, list[str]] = {}
    for step in steps:
        group = groups.of(step.id)
        members.setdefault(group, []).append(step.id)
        following.setdefault(group, [])
    for step in steps:
        for feeder in step.feeders:
            if feeder in groups and groups.of(feeder) != groups.of(step.id):
                following[groups.of(feeder)].append(groups.of(step.id))
    place = {step.id: number for number, step in enumerate(steps)}
    return [
        tuple(sorted((name for group in circle for name in members[group]), key=place.__getitem__))
        for circle in components(following)
    ]


class Groups:
    """Names that are joined to groups; each group is called by one of its members."""

    def __init__(self, names: Iterable[str]) -> None:
        self._above: dict[str, str] = {name: name for name in names}

    def __contains__(self, name: str) -> bool:
        return name in self._above

    def of(self, name: str) -> str:
        """The group of a name."""
        above = self._above
        while above[name] != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    def join(self, one: str, other: str) -> None:
        """From now on two names are of one group."""
        self._above[self.of(other)] = self.of(one)
