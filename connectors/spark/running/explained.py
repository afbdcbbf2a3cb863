"""How Spark runs a program on frames, for people: what its readers pass over, what Python does, and in which node of Spark's
own plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tidelog.connectors.spark.running.given import check_columns, check_frames
from tidelog.connectors.spark.running.inputs.frames import layout_of_frame, travels_in_columns
from tidelog.connectors.spark.running.inputs.pushed import cases_of, wanted_rows
from tidelog.connectors.spark.running.job import Job, job_of
from tidelog.plans.explaining.reports.stage_report import stage_lines
from tidelog.plans.explaining.steps import views_of
from tidelog.plans.language.printing import format_term
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.stages import stages_of
from tidelog.plans.tree.syntax import Constant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def explained(data: Mapping[str, DataFrame], plan: Plan) -> str:
    """The text; ProgramError where a program has no stages, SpecError where frames do not fit it."""
    is_stream = check_frames(data, plan)
    check_columns(data, plan)
    return "\n".join([*_of_frames(data, plan, job_of(plan, 1)), *_of_stages(plan, is_stream=is_stream)])


def _of_frames(data: Mapping[str, DataFrame], plan: Plan, job: Job) -> Iterator[str]:
    form = "columns" if travels_in_columns(job) else "rows"
    for name, frame in data.items():
        columns = layout_of_frame(frame.schema, name, plan.schema).columns
        yield f"{name}: Spark reads {', '.join(columns)}"
        yield f"  Filter: {_filter(frame, name, plan, job)}"
        yield f"  MapInArrow read: Python makes facts of them, which go on in {form}"


def _filter(frame: DataFrame, name: str, plan: Plan, job: Job) -> str:
    """Which rows Spark sends to Python, or why all of them."""
    if frame.isStreaming:
        return "none, since time follows all rows of a stream"
    if job.needs_span:
        return "none, since the program needs the first and the last time of all rows"
    layout = layout_of_frame(frame.schema, name, plan.schema)
    cases = cases_of(name, job)
    if cases is None:
        return "none, since rules may need every row"
    if wanted_rows(frame.schema, layout, name, job) is None:
        return "none, since Spark would compare these columns otherwise than rules do"
    told = [
        " and ".join(f"{layout.columns[each.place]} {each.operator} {format_term(Constant(each.value))}" for each in case)
        for case in cases
    ]
    return f"{' or '.join(dict.fromkeys(told))}, or no fact"


def _of_stages(plan: Plan, *, is_stream: bool) -> Iterator[str]:
    """Each stage with what goes in and out, Spark's nodes, and the steps that its session runs."""
    stages = stages_of(plan)
    steps = {str(stage.number): [view.lines()[1] for view in views_of(stage.plan)] for stage in stages.stages}
    nodes = "TransformWithStateInPySpark" if is_stream else "Exchange, Sort, MapInArrow run"
    number = ""
    for line in [*stage_lines(stages), ""]:
        if not line.startswith(" "):
            if number:
                yield f"  {nodes}: Python runs {'; '.join(dict.fromkeys(steps[number]))}"
            number = line.partition(":")[0]
        if line:
            yield line if line.startswith(" ") else f"stage {line}"
