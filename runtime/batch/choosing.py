"""When the rounds of a stratum go in columns: where facts are many, NumPy is there, and every step can be followed so."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

from tidelog.plans.analysis.recursion.rounds import Stratum
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    DilateShape,
    ErodeShape,
    JoinShape,
    LatchShape,
    LatestShape,
    PairShape,
    Step,
    SteppedShape,
    ThresholdShape,
    UnionShape,
)

WORTH_IT = 20_000
"""Fewer facts are done before NumPy is loaded."""


def goes_in_columns(plan: BatchPlan, stratum: Stratum, facts: int) -> bool:
    """Whether the rounds of a stratum go in columns, given how many facts are loaded."""
    return facts >= WORTH_IT and can_go_in_columns(plan, stratum) and _is_installed()


def can_go_in_columns(plan: BatchPlan, stratum: Stratum) -> bool:
    """Whether columns can follow every step of a stratum: what is computed once must be complete before its first round."""
    steps = {step.id: step for step in plan.steps}
    growing = set(stratum.predicates)
    for name in stratum.steps:
        step = steps[name]
        if not _is_followed(step, growing):
            return False
        if any(feed.kind == "step" and feed.name in growing for feed in step.inputs):
            growing.add(name)
    return True


def _is_followed(step: Step, growing: set[str]) -> bool:
    match step.shape:
        case AntiJoinShape():
            return step.inputs[1].name not in growing
        case LatchShape() | LatestShape() | AggregateShape():
            return not any(feed.name in growing for feed in step.inputs)
        case UnionShape(reach=reach):
            return reach == 1
        case JoinShape() | DilateShape() | SteppedShape() | ErodeShape() | PairShape() | ThresholdShape():
            return bool(step.inputs)
        case _:
            return False


@cache
def _is_installed() -> bool:
    return find_spec("numpy") is not None and find_spec("pyarrow") is not None
