"""What `check -v` tells of a program: its analysis, what its questions unfold into, and what batch reasoning makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidelog.plans.analysis.physical.in_columns import begins_row_by_row, refused, row_by_row
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.explaining.reports.batch_report import batch_fields, batch_lines
from tidelog.plans.explaining.reports.report import analyse, analysis_fields, format_analysis
from tidelog.plans.language.printing import format_formula
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.preconditions import Unfolding
from tidelog.runtime.network.state_bound import MAX_STATE, MAX_STATE_IN_BATCH

__all__ = ["batch_fields", "batch_lines", "fields", "text"]

_STATE = f"state: at most {MAX_STATE:,} rows in a stream, {MAX_STATE_IN_BATCH:,} in batch (`--max-state`)"


def text(plan: Plan, batch: BatchPlan | None, objects: int | None) -> str:
    """The analysis for people; `objects` is how many constants the stream has, for the bounds."""
    lines = [
        format_analysis(analyse(plan), objects=objects).rstrip("\n"),
        *_unfolding_lines(_sizes(plan)),
        *(batch_lines(batch) if batch else ["in batch: not possible"]),
        f"histories: {_in_columns(plan)}",
        f"frames that come first: {_of_frames(plan)}",
        _STATE,
    ]
    return "".join(f"{line}\n" for line in lines)


def fields(plan: Plan, batch: BatchPlan | None, objects: int | None) -> dict[str, object]:
    """The analysis for programs."""
    return {
        "analysis": analysis_fields(analyse(plan), objects=objects),
        "unfolding": _sizes(plan),
        "histories": {"in_columns": refused(plan) is None, "row_by_row": row_by_row(plan)},
        "frames": {"in_columns": begins_row_by_row(plan) is None},
        "max_state": {"stream": MAX_STATE, "batch": MAX_STATE_IN_BATCH},
        "batch": batch_fields(batch) if batch else None,
    }


def _in_columns(plan: Plan) -> str:
    """How the plan runs over files that end."""
    reason, rows = refused(plan), row_by_row(plan)
    if reason is not None:
        return f"row by row: {reason}"
    return f"in columns, row by row where {', '.join(map('`{}`'.format, rows))} recur in time" if rows else "in columns"


def _of_frames(plan: Plan) -> str:
    """How large frames go into a session that goes on behind them."""
    reason = begins_row_by_row(plan)
    return "in columns" if reason is None else f"row by row: {reason}"


def _sizes(plan: Plan) -> dict[str, dict[str, int]]:
    """What each question unfolds into."""
    pairs = zip(plan.questions, plan.unfoldings, strict=True)
    return {format_formula(question.query): _size(unfolding) for question, unfolding in pairs}


def _unfolding_lines(sizes: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    if sizes:
        yield "unfolding:"
    for query, size in sizes.items():
        beside = f", and {size['auxiliary']} for what is negated" if size["auxiliary"] else ""
        yield f"  {query}: preconditions {size['preconditions']}{beside}; premises {size['premises']} in all"


def _size(unfolding: Unfolding) -> dict[str, int]:
    queries = [unfolding.main, *unfolding.auxiliary.values()]
    every = [precondition for query in queries for precondition in query.preconditions]
    return {
        "preconditions": len(unfolding.main.preconditions),
        "auxiliary": len(every) - len(unfolding.main.preconditions),
        "premises": sum(len(each.premises) + len(each.negated) for each in every),
    }
