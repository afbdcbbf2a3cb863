"""What is given from Python: a plan that is none for batch reasoning is told, and never answered with `false`."""

from __future__ import annotations

from tidelog.plans.compiling.batch import BatchPlan


def require_batch_plan(plan: BatchPlan) -> None:
    """TypeError for anything but a plan for batch reasoning."""
    if not isinstance(plan, BatchPlan):
        raise TypeError(f"batch reasoning takes a plan of `compile_batch`, got {type(plan).__name__}")
