"""Patience: where nobody is kept waiting by what holds until further notice."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidelog.plans.plan import AntiJoinShape, JoinShape, PairShape, Shape, Step, UnionShape
from tidelog.plans.timeline import POS


def patient_steps(steps: Sequence[Step], constraints: Collection[str]) -> frozenset[str]:
    """The steps whose coverage leads to outputs alone, through nothing that has to meet another's.

    There a fact that goes on holding need not be told anew at each time (`operators/antijoin.py`), as long as the answers
    are told as intervals: whoever reads them knows that it held, and is told at once when it ends.
    """
    shapes = {step.id: step.shape for step in steps}
    found = {step.id for step in steps if step.loop is None and step.id not in constraints}
    for step in reversed(steps):
        for feed in step.inputs:
            if feed.kind == "step" and not (step.id in found and _passes_on(shapes[step.id])):
                found.discard(feed.name)
    return frozenset(found)


def announcing_steps(steps: Sequence[Step], constraints: Collection[str]) -> frozenset[str]:
    """The steps that announce that a row goes on holding, and that it does not any more, or pass this on.

    Their coverage leads to outputs alone, as above, but it may meet another's in `since` without an end: what M1 announces
    makes its result open. There M1 has to come from a negation, so that nobody else tells parts of what is open.
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
        if step.id in found and (is_fed or isinstance(step.shape, AntiJoinShape)):
            announcing.add(step.id)
    return frozenset(announcing)


def _is_endless_since(shape: Shape) -> bool:
    return isinstance(shape, PairShape) and shape.operator == "since" and shape.metric.b >= POS


def _passes_on(shape: Shape) -> bool:
    return isinstance(shape, UnionShape) or (isinstance(shape, JoinShape) and len(shape.atoms) == 1)
