"""What is done with frames in one call: their facts as records, and all that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.dialect import FrameOptions, read_dialect
from tidelog.plans.data.facts import Record
from tidelog.plans.data.refining import read_exactly
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.data.times import TimeLike
from tidelog.runtime.batch.arguments import require_batch_plan
from tidelog.runtime.batch.materialisation import Materialisation
from tidelog.runtime.batch.strategies import StrategyName
from tidelog.runtime.frames.arrow import stream_of
from tidelog.runtime.frames.reading import read_records
from tidelog.runtime.network.state_bound import MAX_STATE_IN_BATCH

if TYPE_CHECKING:
    from tidelog.plans.plan.plan import Plan


def read_frame(plan: Plan | BatchPlan, predicate: str, frame: Any, **options: Unpack[FrameOptions]) -> list[Record]:
    """The facts of a table, in the order of its rows, as records of the plan.

    A frame is whatever has `__arrow_c_stream__`, such as a table of pyarrow, pandas, Polars or DuckDB; or a dict of columns.
    Its columns are the predicate's fields (in the order of the arguments, where none are declared), and `time`, or `from`
    and `to`: the closed interval between them, unless the columns `from_open` and `to_open` tell otherwise.

    Options are those of a SPEC. `columns` names the columns of fields, `time`, or `from` and `to`, those of the time;
    `format` or `epoch` says how times are written, `zone` what clock they show.

    Raises DataError for a wrong column, and with its place for the first row that is no fact; TypeError for what is no
    frame, SpecError for an option that cannot be understood, ConnectorError without pyarrow (the extra `frames`).

    >>> import tidelog
    >>> plan = tidelog.compile("timeline integer, unit 1 s. input temp(room, celsius). q(R) :- temp(R, C).")
    >>> frame = {"raum": ["hall"], "wert": [21.5], "ts": ["02.01.1970 01:00"]}
    >>> columns = {"room": "raum", "celsius": "wert"}
    >>> read_frame(plan, "temp", frame, time="ts", format="%d.%m.%Y %H:%M", zone="Europe/Berlin", columns=columns)
    [('temp', ('hall', 21.5), 86400, 86400)]
    """
    return read_records(plan.schema, predicate, frame, read_dialect(options))


def materialise(
    plan: BatchPlan,
    frames: Mapping[str, Any],
    *,
    until: TimeLike | None = None,
    strategy: StrategyName = "seminaive",
    max_state: int | None = MAX_STATE_IN_BATCH,
) -> Materialisation:
    """Everything that follows from the facts of these frames, by the predicate of each: see `read_frame`.

    On a rational timeline it is as fine as the facts need. The options are those of `Materialisation`; raises what it and
    its `run` raise, and what `read_frame` raises.

    >>> import tidelog
    >>> plan = tidelog.compile_batch("input temp(sensor, value). hot(S) :- temp(S, V), V > 80.")
    >>> done = materialise(plan, {"temp": {"sensor": ["s1", "s2"], "value": [85, 60], "time": [0.25, 1]}})
    >>> [str(done.plan.answer(record)) for record in done.facts() if record[0] == "hot"]
    ['hot(s1)@1/4']
    """
    require_batch_plan(plan)
    tables = {predicate: stream_of(frame).read_all() for predicate, frame in frames.items()}

    def read(timeline: Timeline) -> list[Record]:
        schema = replace(plan.schema, timeline=timeline)
        return [record for name, table in tables.items() for record in read_records(schema, name, table)]

    records, timeline = read_exactly(plan.timeline, read)
    if timeline.resolution != plan.timeline.resolution:
        plan = plan.with_resolution(timeline.resolution)
    done = Materialisation(plan, strategy, until, max_state)
    done.load(records)
    done.run()
    return done
