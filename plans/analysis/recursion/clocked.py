"""Loops in which something is negated: they go through time, and each pass comes to know one time of all their steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    AssignShape,
    DilateShape,
    ErodeShape,
    JoinShape,
    LatestShape,
    PairShape,
    Step,
    ThresholdShape,
    UnionShape,
)
from tidelog.plans.tree.components import components

_GOES_THROUGH_TIME = (
    AggregateShape
    | AntiJoinShape
    | AssignShape
    | DilateShape
    | ErodeShape
    | JoinShape
    | LatestShape
    | PairShape
    | ThresholdShape
    | UnionShape
)


def asks_for_absence(step: Step, members: Collection[str]) -> bool:
    """Whether a step of a loop has to know what does not hold of its members."""
    if isinstance(step.shape, AntiJoinShape):
        return step.inputs[1].kind == "step" and step.inputs[1].name in members
    asks = isinstance(step.shape, AssignShape | AggregateShape | LatestShape)
    return asks and any(feed.kind == "step" and feed.name in members for feed in step.inputs)


def steps_back(step: Step) -> bool:
    """Whether what a step sends at a time follows from what it gets strictly before, and is sent as soon as it gets that."""
    if isinstance(step.shape, DilateShape):
        return not step.shape.future and step.shape.metric.a > 0
    return isinstance(step.shape, AssignShape)


def order_of(steps: Sequence[Step], refuse: Callable[[Step], ProgramError]) -> tuple[tuple[str, ...], ...]:
    """The steps in the order in which they come to know one time, those that feed each other at that time together.

    ProgramError by `refuse` for a step that cannot take part in this.
    """
    by_name = {step.id: step for step in steps}
    follows: dict[str, list[str]] = {step.id: [] for step in steps}
    for step in steps:
        if not isinstance(step.shape, _GOES_THROUGH_TIME) or _looks_ahead(step):
            raise refuse(step)
        for name in step.feeders:
            if name in by_name and not steps_back(by_name[name]):
                follows[name].append(step.id)
    order = [tuple(members) for members in components(follows)]
    for members in order:
        if len(members) > 1 or members[0] in follows[members[0]]:
            for name in members:
                step = by_name[name]
                if not isinstance(step.shape, JoinShape | UnionShape | AntiJoinShape) or asks_for_absence(step, members):
                    raise refuse(step)
    return tuple(order)


def _looks_ahead(step: Step) -> bool:
    shape = step.shape
    if isinstance(shape, PairShape):
        return shape.operator == "until"
    return isinstance(shape, DilateShape | ErodeShape) and shape.future
