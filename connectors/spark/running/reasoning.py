"""A program on frames that somebody else has read, and whose answers somebody else writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidelog.connectors.lake.arguments import PLAIN, ArgumentColumn, parse_declaration
from tidelog.connectors.outbox.file import OutboxPredicate, describe
from tidelog.connectors.spark.cluster.requirements import STREAM_SETTINGS, check_state
from tidelog.connectors.spark.cluster.shipping import prepare_workers
from tidelog.connectors.spark.columns import interval_columns
from tidelog.connectors.spark.running.clock import Clock
from tidelog.connectors.spark.running.given import check_columns, check_frames, given_fields
from tidelog.connectors.spark.running.history import run_history
from tidelog.connectors.spark.running.inputs.frames import rows_as_parcels
from tidelog.connectors.spark.running.inputs.locations import Input
from tidelog.connectors.spark.running.job import Job, job_of, stream_buckets
from tidelog.connectors.spark.running.outputs.answer_rows import answer_rows, refuse_problems
from tidelog.connectors.spark.running.outputs.table_rows import table_rows
from tidelog.connectors.spark.running.parcels import FACT
from tidelog.connectors.spark.running.stream import run_stream
from tidelog.plans.analysis.fields import inferred_fields
from tidelog.plans.checks.types import differing_field
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import OpenHistory, OpenStage, StageMode

_EMITS: Mapping[str, StageMode] = {"intervals": "intervals", "final": "final"}
_BATCH_BUCKETS = 8
"""What a batch has unless told otherwise."""
_TIMES = [name for name, *_ in interval_columns(PLAIN, dates=False)]
"""What the columns of an answer's times are called, and the one of its arguments."""
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the caller of `tidelog.spark.reason` asks for; its docstring tells what each means."""

    output: object
    emit: str | None
    start: object
    lateness: object
    buckets: int | None
    problems: str


def reason(
    data: Mapping[str, DataFrame], plan: Plan, wanted: Wanted, open_stage: OpenStage, open_history: OpenHistory
) -> DataFrame:
    """The answers about these frames; see `tidelog.spark.reason`."""
    if wanted.problems not in ("fail", "drop"):
        raise SpecError(f"`problems` is `fail` or `drop`, got `{wanted.problems}`")
    if plan.questions:
        raise SpecError(
            "what `ask` answers is no table: take `ask` away, or use `tidelog spark run`, which tells it in lines"
        )
    is_stream = check_frames(data, plan)
    check_columns(data, plan)
    output = None if wanted.output is None else _output(wanted.output, plan, data)
    job, lateness = _job(plan, wanted, is_stream=is_stream), _lateness(wanted.lateness, plan, is_stream=is_stream)
    items = [Input(number, "table", name, name) for number, name in enumerate(data)]
    if is_stream:
        _check_stream(next(iter(data.values())), job)
    # the first that runs, once all is right; what workers run is fixed when a frame is made of it
    prepare_workers(next(iter(data.values())).sparkSession, keeps_state=is_stream)
    inputs = [rows_as_parcels(frame, item, job) for frame, item in zip(data.values(), items, strict=True)]
    told = run_stream(inputs, job, open_stage, lateness) if is_stream else run_history(inputs, job, open_history)
    if output is None:
        return answer_rows(told, plan.timeline)
    return _table(refuse_problems(told) if wanted.problems == "fail" else told, *output, plan)


def _table(told: DataFrame, name: str, predicate: OutboxPredicate, plan: Plan) -> DataFrame:
    """The answers of one predicate, a column for each of its fields."""
    described = describe(plan, "", "")
    schema = msgspec.structs.replace(described, predicates={**described.predicates, name: predicate})
    own = told.where((F.col("kind") == FACT) & (F.col("name") == name))
    table = table_rows(own, name, schema, plan.timeline)
    fields = [f"arguments.`{field}`" for field in predicate.fields]
    return table.select(*fields, *table.columns[1:]) if fields else table


def _output(text: object, plan: Plan, data: Mapping[str, DataFrame]) -> tuple[str, OutboxPredicate]:
    """The output predicate that the caller names, and the fields that it has: those of the program, or those in the text,
    or, where that says `(*)`, those that follow from the rules and the frames."""
    if not isinstance(text, str):
        raise SpecError(f"`output` is text, such as `hot(node: text)`, got {type(text).__name__}")
    is_inferred = text.rstrip().endswith("(*)")
    text = text.rstrip().removesuffix("(*)").rstrip() if is_inferred else text
    name, column = parse_declaration(text) if "(" in text else (text, None)
    if name not in plan.outputs:
        raise SpecError(f"the program has no output `{name}`{suggest(name, plan.outputs)}")
    told = describe(plan, "", "").predicates[name]
    if is_inferred and not told.fields:
        found = inferred_fields(plan, name, given_fields(data, plan), _TIMES)
        column = ArgumentColumn(tuple(each.name for each in found), tuple(each.type for each in found))
    if column is not None:
        if len(column.fields) != told.arity:
            raise SpecError(f"`{name}` has {told.arity} arguments, and `{text}` names {len(column.fields)}")
        differs = differing_field(plan.program, name, column.types)
        if differs is not None:
            field, declared = column.fields[differs], column.types[differs]
            raise SpecError(f"`output` declares `{field}` of `{name}` as {declared}, which the rules never give it")
        told = OutboxPredicate(told.arity, column.fields, column.types)
    clash = set(told.fields) & set(_TIMES)
    if clash:
        raise SpecError(f"field `{min(clash)}` of `{name}` is called as a column of times: give it another name in `output`")
    return name, told


def _job(plan: Plan, wanted: Wanted, *, is_stream: bool) -> Job:
    start = None if wanted.start is None else _read("start", wanted.start, plan)
    emit = wanted.emit or ("intervals" if is_stream else "final")
    if emit not in _EMITS:
        raise SpecError(f"`emit` is `intervals` or `final`, got `{emit}`: a table holds facts, and no points or changes")
    default = stream_buckets(plan) if is_stream else _BATCH_BUCKETS
    buckets = default if wanted.buckets is None else wanted.buckets
    if not isinstance(buckets, int) or isinstance(buckets, bool) or buckets < 1:
        raise SpecError(f"`buckets` is a positive number, got {buckets!r}")
    return job_of(plan, buckets, emit=_EMITS[emit], start=start)


def _read(name: str, value: object, plan: Plan, *, is_duration: bool = False) -> int:
    if not isinstance(value, str | int | Fraction) or isinstance(value, bool):
        raise SpecError(f"`{name}` is a time as data writes it, got {type(value).__name__}")
    reader = TimeReader(plan.timeline)
    try:
        return (reader.duration if is_duration else reader.point)(str(value))
    except DataError as error:
        raise SpecError(f"`{name}`: {error}") from error


def _lateness(value: object, plan: Plan, *, is_stream: bool) -> int:
    lateness = _read("lateness", value, plan, is_duration=True)
    if lateness and not is_stream:
        raise SpecError("`lateness` is for streams: over history nothing is late")
    if lateness > Clock.of(plan.timeline).limit:
        raise SpecError(f"`lateness` {value} is longer than Spark can look back")
    return lateness


def _check_stream(frame: DataFrame, job: Job) -> None:
    """SpecError where the session is not set up for state, or the program needs what no session alone sees."""
    wanted = STREAM_SETTINGS[_PROVIDER]
    check_state()
    if frame.sparkSession.conf.get(_PROVIDER, "") != wanted:
        raise SpecError(
            "Spark keeps the state of a stream in RocksDB only if it is told to: "
            "set `tidelog.spark.STREAM_SETTINGS` in `spark.conf` before"
        )
    if job.start is None and any(stage.needs_start for stage in job.stages):
        raise SpecError("`start` is needed: windows are clipped where the stream starts, which no session alone sees")
