"""How a plan runs over a history: in columns, but for what these cannot carry (`docs/internals/columns.md`)."""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.plans.plan.plan import (
    AntiJoinShape,
    BindShape,
    CalendarShape,
    JoinShape,
    Loop,
    PeriodShape,
    Plan,
    Step,
    TupleShape,
    UnionShape,
)


def refused(plan: Plan) -> str | None:
    """Why a plan cannot run in columns at all; None where it can."""
    for step in plan.steps:
        kinds = {feed.kind for feed in step.inputs}
        if "arrivals" in kinds:
            return f"`{step.predicate}` counts facts in order of arrival, which columns do not keep"
        if step.loop is not None and "start" in kinds:
            return f"`{step.predicate}` recurs, and its windows are clipped where the stream starts"
    return None


def begins_row_by_row(plan: Plan) -> str | None:
    """Why a stream that begins with a history takes it row by row; None where row operators go on exactly where kernels
    have come to.

    They do not in loops, which keep what they have gone through in another way. Of a constraint it depends on the order in
    which its coverage comes where a violation is told to begin.
    """
    reason = refused(plan)
    if reason is not None:
        return reason
    for step in plan.steps:
        if isinstance(step.shape, CalendarShape | PeriodShape):
            return f"`{step.predicate}` goes by a calendar"
    if plan.loops:
        return f"`{plan.step(plan.loops[0].members[0]).predicate}` recurs"
    if plan.questions:
        return "what it asks is followed fact by fact"
    if plan.constraints:
        return "where a violation begins depends on the order of its facts"
    if plan.delays:
        return f"facts of {', '.join(map('`{}`'.format, plan.delays))} may come behind the others"
    return None


def stops_row_by_row(plan: Plan) -> str | None:
    """Why a stream that stops between batches, and is gone until the next, takes them row by row; None where kernels go on
    from what they held.

    They are told facts as they come, and say at once what follows for sure, also behind the watermark. What makes rows of
    times does not: an end that is not known would be as many rows as nobody has asked for.
    """
    reason = begins_row_by_row(plan)
    if reason is not None:
        return reason
    for step in plan.steps:
        if isinstance(step.shape, BindShape | TupleShape):
            return f"`{step.predicate}` has times, or places, as values"
        if any(feed.kind in ("start", "remote") for feed in step.inputs):
            return f"`{step.predicate}` has windows that are clipped where the stream starts"
    return None


def stays_at_one_time(loop: Loop, steps: Mapping[str, Step]) -> bool:
    """Whether rounds over columns can run a loop: it moves nothing in time, and comes to rest, for it makes no values."""
    plain = all(isinstance(steps[name].shape, UnionShape | JoinShape | AntiJoinShape) for name in loop.members)
    return plain and not loop.order and not loop.holds and not loop.creates_values


def row_by_row(plan: Plan) -> list[str]:
    """The predicates of the program whose recursion runs row by row, between two steps in columns."""
    steps = {step.id: step for step in plan.steps}
    moving = [loop for loop in plan.loops if not stays_at_one_time(loop, steps)]
    names = dict.fromkeys(steps[name].predicate for loop in moving for name in loop.members)
    return [name for name in names if name not in plan.normal.origins]
