"""Backtests of frames, in one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from tidelog.operators.columns.arrays import np
from tidelog.operators.columns.batch import batch_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact, Record, Schema
from tidelog.plans.data.times import TimeLike, TimeReader
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.columns.backtest import Backtest, Backtesting, shared_schema, usual_flap
from tidelog.runtime.columns.stretches import Block, Stretches
from tidelog.runtime.frames.arrow import stream_of
from tidelog.runtime.frames.columns import ColumnBatch, ColumnReader
from tidelog.runtime.frames.layout import layout_of

_ROWS = 1 << 18


def backtest(
    old: Plan,
    new: Plan,
    frames: Mapping[str, Any],
    *,
    labels: Mapping[str, list[Record]] | None = None,
    start: TimeLike | None = None,
    flap: TimeLike | timedelta | None = None,
) -> Backtest:
    """What two programs tell of the facts in these frames, by the predicate of each (see `read_frame`), read once.

    `labels` are, by output, the records of when it should have told (`Plan.record` makes them; without arguments they are
    for every row). `start` is the stream's start, where it is not the first fact; what begins again within `flap` of its end
    has flapped.

    Raises SpecError where the programs declare time, or an input, in different ways; DataError for a wrong column, and with
    its place for the first row that is no fact; ConnectorError without NumPy and pyarrow (the extra `frames`).

    >>> import tidelog
    >>> text = "input temp(room, value). parameter LIMIT = 80. hot(R) :- temp(R, V), V >= LIMIT. output hot."
    >>> old, new = tidelog.compile(text), tidelog.compile(text, parameters={"LIMIT": 85})
    >>> found = backtest(old, new, {"temp": {"room": ["a", "b"], "value": [83, 90], "time": [1, 2]}})
    >>> [side.figures.count for side in (found.outputs["hot"].old, found.outputs["hot"].new)]
    [2, 1]
    >>> found.frames()["hot"].to_pylist()[0]["only"]
    'old'
    """
    schema, pool = shared_schema(old, new), Pool()
    times = TimeReader(schema.timeline)
    running = Backtesting([old, new], pool, None if start is None else times.point(start))

    sources = [_blocks(schema, predicate, frame, pool) for predicate, frame in frames.items()]
    follows = old.follows_time or new.follows_time
    for stretch in Stretches(schema.timeline, sources, pool, follows_time=follows):
        running.take(stretch)
    told: dict[str, list[Fact]] = {
        name: [(row, lo, hi) for _, row, lo, hi in records] for name, records in (labels or {}).items()
    }
    given = {name: batch_of(facts, len(facts[0][0]), pool) for name, facts in told.items() if facts}
    return running.compare(1, given, usual_flap(schema.timeline) if flap is None else times.duration(flap))


def _blocks(schema: Schema, predicate: str, frame: Any, pool: Pool) -> Iterator[Block]:
    """The facts of a frame in the order of their begins; DataError with its place for the first row that is none."""
    stream = stream_of(frame)
    reader = ColumnReader(schema, predicate, layout_of(stream.schema, predicate, schema), pool)
    table = stream.read_all().combine_chunks()
    found = reader.read(table, predicate, range(table.num_rows))
    for rejected in found.rejected:
        raise DataError(rejected.reason, rejected.place)
    order = np.argsort(found.rows.lo, kind="stable")
    for first in range(0, len(order), _ROWS):
        some = order[first : first + _ROWS]
        yield (ColumnBatch(predicate, found.rows.take(some), found.numbers[some], predicate),)
