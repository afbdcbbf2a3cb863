"""Absences: which steps negate what is looked for in a window of the past, and how long that window is.

Such a step tells that something has been missing for so long. Time in which nobody listened does not count for it
(`runtime/actors/clock.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    DilateShape,
    ErodeShape,
    JoinShape,
    LatchShape,
    LatestShape,
    PairShape,
    Plan,
    Step,
    SteppedShape,
    ThresholdShape,
    ToldShape,
    UnionShape,
)

NEGATED = {AntiJoinShape: 1, LatchShape: 0}
"""The port of what is negated."""


def absences(plan: Plan) -> dict[str, int]:
    """For each such step how long its window is (encoded). What recurs through time has none."""
    reaches: dict[str, int] = {}
    found: dict[str, int] = {}
    for step in plan.steps:
        reaches[step.id] = 0 if step.loop is not None else _reach(step, reaches)
        port = NEGATED.get(type(step.shape))
        if port is not None and step.loop is None:
            reach = reaches.get(step.inputs[port].name, 0) if step.inputs[port].kind == "step" else 0
            if reach:
                found[step.id] = reach
    return found


def _reach(step: Step, reaches: Mapping[str, int]) -> int:
    """How far back lies what a step may rest on; 0 where that is not bounded, or where it looks at no window."""
    before = max((reaches[feed.name] for feed in step.inputs if feed.kind == "step"), default=0)
    match step.shape:
        case DilateShape(metric, future):
            size = 0 if future else metric.b
        case PairShape("since", metric):
            size = metric.b
        case LatestShape(size) | ThresholdShape(size) | AggregateShape(_, size):
            pass
        case UnionShape() | JoinShape() | ToldShape() | SteppedShape() | ErodeShape():
            size = 0
        case _:
            return 0
    return size + before if size < POS else 0
