"""Announcing: where what goes on holding until further notice is told where it begins and where it ends alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidelog.plans.plan import AggregateShape, AntiJoinShape, JoinShape, LatestShape, PairShape, Shape, Step, UnionShape
from tidelog.plans.timeline import POS


def announcing_steps(steps: Sequence[Step], constraints: Collection[str]) -> frozenset[str]:
    """The steps that announce that a row goes on holding, and that it does not any more, or pass this on.

    All that they feed takes announcements: outputs, steps that pass them on, and `since` without an end, whose result is
    open once M1 is. There M1 has to come from a negation, so that nobody else tells parts of what is open.
    """
    shapes = {step.id: step.shape for step in steps}
    found = {step.id for step in steps if step.loop is None and step.id not in constraints}
    for step in reversed(steps):
        for port, feed in enumerate(step.inputs):
            if feed.kind != "step":
                continue
            takes = _passes_on(step.shape) or (
                port == 0 and _is_endless_since(step.shape) and isinstance(shapes[feed.name], AntiJoinShape)
            )
            if not (step.id in found and takes):
                found.discard(feed.name)
    announcing: set[str] = set()
    for step in steps:
        is_fed = any(feed.name in announcing for feed in step.inputs if feed.kind == "step")
        if step.id in found and (is_fed or announces(step.shape)):
            announcing.add(step.id)
    return frozenset(announcing)


def announces(shape: Shape) -> bool:
    """Whether what goes on holding begins here: it holds as long as something does not come."""
    return isinstance(shape, AntiJoinShape | LatestShape | AggregateShape)


def _is_endless_since(shape: Shape) -> bool:
    return isinstance(shape, PairShape) and shape.operator == "since" and shape.metric.b >= POS


def _passes_on(shape: Shape) -> bool:
    return isinstance(shape, UnionShape) or (isinstance(shape, JoinShape) and len(shape.atoms) == 1)
