"""Looking back: how far before a time facts may lie on which an answer at that time depends, from the input on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    BindShape,
    CalendarShape,
    DilateShape,
    ErodeShape,
    HoldShape,
    JoinShape,
    LatestShape,
    PairShape,
    PeriodShape,
    Plan,
    Shape,
    Step,
    SteppedShape,
    ThresholdShape,
    ToldShape,
    UnionShape,
)


def looking_back(plan: Plan) -> dict[str, int]:
    """For each step, how far before a time (encoded) input may lie on which its coverage at that time depends.

    `POS` where nothing bounds it: what holds since something happened, recursion through time, windows that count facts.
    """
    return added_up(plan, own_look_back)


def added_up(plan: Plan, own: Callable[[Shape], int]) -> dict[str, int]:
    """For each step, how far it looks from the input on, where `own` tells how far a single one does.

    `POS` where nothing bounds it, as in recursion through steps that look anywhere but at their own time.
    """
    found: dict[str, int] = {}
    for step in plan.steps:
        if step.id in found:
            continue
        members = [step] if step.loop is None else [item for item in plan.steps if item.loop == step.loop]
        length = _of_members(members, found, own)
        found |= {member.id: length for member in members}
    return found


def _of_members(members: list[Step], found: Mapping[str, int], own: Callable[[Shape], int]) -> int:
    looks = [own(step.shape) for step in members]
    if len(members) > 1 and any(looks):
        return POS
    before = [found[feed.name] for step in members for feed in step.inputs if feed.kind == "step" and feed.name in found]
    return min(POS, max(looks) + max(before, default=0))


def own_look_back(shape: Shape) -> int:
    """How far before a time (encoded) a single step looks, with what open ends may add."""
    match shape:
        case UnionShape(reach):
            return reach - 1
        case DilateShape(metric, future) | ErodeShape(metric, future):
            return 0 if future else _beyond(metric.b)
        case PairShape("since", metric):
            return _beyond(metric.b)
        case SteppedShape(step):
            return _beyond(step)
        case LatestShape(size) | ThresholdShape(size):
            return _beyond(size)
        case AggregateShape() | PeriodShape():
            return _beyond(shape.calendar.longest if isinstance(shape, PeriodShape) else shape.size + shape.step)
        case PairShape() | JoinShape() | AntiJoinShape() | BindShape() | CalendarShape() | ToldShape():
            return 0
        case HoldShape():
            return 1
        case _:
            return POS


def _beyond(distance: int) -> int:
    """A distance, with what an open end may add to it."""
    return min(POS, distance + 1)


def reads(plan: Plan) -> dict[str, frozenset[str]]:
    """For each step, the predicates of the stream on which it depends; windows that count facts depend on all."""
    every = frozenset(plan.normal.inputs) | frozenset(plan.schema.predicates)
    found: dict[str, frozenset[str]] = {step.id: frozenset() for step in plan.steps}
    changed = True
    while changed:  # once more for each component
        changed = False
        for step in plan.steps:
            read = found[step.id]
            for feed in step.inputs:
                if feed.kind == "stream":
                    read |= {feed.name}
                elif feed.kind == "arrivals":
                    read |= every
                elif feed.kind == "step":
                    read |= found[feed.name]
            changed |= read != found[step.id]
            found[step.id] = read
    return found
