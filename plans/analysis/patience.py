"""Patience: where nobody is kept waiting by what holds until further notice."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidelog.plans.plan import JoinShape, Shape, Step, UnionShape


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


def _passes_on(shape: Shape) -> bool:
    return isinstance(shape, UnionShape) or (isinstance(shape, JoinShape) and len(shape.atoms) == 1)
