"""What a question depends on: of a program the rules, of data the facts that can play a part (Wang et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidelog.plans.compiling.batch import BatchPlan, compile_batch
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.plan.plan import ErodeShape
from tidelog.plans.tree.syntax import Ask, Input, Output, Statement


def relevant_part(plan: BatchPlan, *predicates: str) -> BatchPlan:
    """The part of a plan that these predicates and the constraints depend on, with the background that was loaded."""
    return _of(plan, compile_batch(plan.program, predicates, plan.undeclared))


def rebuilt(plan: BatchPlan, statements: Iterable[Statement], *predicates: str) -> BatchPlan:
    """The plan of other statements, on a timeline as fine, for these predicates and the constraints.

    What streams alone need is left out: an `input` may have become derived, or an `output` be derived no more.
    ProgramError where a number lies beyond what the timeline can hold.
    """
    kept = tuple(item for item in statements if not isinstance(item, Ask | Input | Output))
    return _of(plan, compile_batch(replace(plan.program, statements=kept), predicates, plan.undeclared))


def predicates_read(plan: BatchPlan, *also: str) -> frozenset[str] | None:
    """The predicates whose facts a plan needs, and some more; None for all: a clipped window asks when the first fact is."""
    if any(isinstance(step.shape, ErodeShape) and step.shape.clipped for step in plan.steps):
        return None
    return frozenset({*also, *(step.predicate for step in plan.steps)})


def refined(plan: BatchPlan, timeline: Timeline) -> BatchPlan:
    """The plan on a timeline that is finer, or its own."""
    return plan if plan.timeline == timeline else plan.with_resolution(timeline.resolution)


def _of(whole: BatchPlan, part: BatchPlan) -> BatchPlan:
    background = {item.predicate for item in part.backgrounds}
    loaded = [record for record in whole.facts if record[0] in background and record[2:] == (NEG, POS)]
    return refined(replace(part, facts=(*part.facts, *loaded)), whole.timeline)
