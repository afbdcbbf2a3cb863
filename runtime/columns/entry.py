"""Backtests of frames, in one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from tidelog.operators.columns.arrays import np
from tidelog.operators.columns.batch import Batch, batch_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact, Schema
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
    labels: Mapping[str, Any] | None = None,
    start: TimeLike | None = None,
    flap: TimeLike | timedelta | None = None,
) -> Backtest:
    """What two programs tell of the facts in these frames, by the predicate of each (see `read_frame`), read once.

    `labels` say, by output, when it should have told: a frame, whose columns but for the times are the arguments in order,
    or a list of records, as `Plan.record` makes them. Without arguments they are for every row. `start` is the stream's
    start, where it is not the first fact; what begins again within `flap` of its end has flapped.

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
    given = {name: _labels(schema, name, told, pool) for name, told in (labels or {}).items()}
    there = {name: batch for name, batch in given.items() if len(batch)}
    return running.compare(1, there, usual_flap(schema.timeline) if flap is None else times.duration(flap))


def _labels(schema: Schema, output: str, told: Any, pool: Pool) -> Batch:
    """The labels of an output: of a list of records, or of a frame, of whose columns nothing is declared."""
    if not isinstance(told, list):
        return _facts(Schema(schema.timeline), output, told, pool).rows
    facts: list[Fact] = [record[1:] for record in told]
    return batch_of(facts, len(facts[0][0]) if facts else 0, pool)


def _facts(schema: Schema, predicate: str, frame: Any, pool: Pool) -> ColumnBatch:
    """The facts of a frame; DataError with its place for the first row that is none."""
    stream = stream_of(frame)
    reader = ColumnReader(schema, predicate, layout_of(stream.schema, predicate, schema), pool)
    table = stream.read_all().combine_chunks()
    found = reader.read(table, predicate, range(table.num_rows))
    for rejected in found.rejected:
        raise DataError(rejected.reason, rejected.place)
    return found


def _blocks(schema: Schema, predicate: str, frame: Any, pool: Pool) -> Iterator[Block]:
    """The facts of a frame in the order of their begins."""
    found = _facts(schema, predicate, frame, pool)
    order = np.argsort(found.rows.lo, kind="stable")
    for first in range(0, len(order), _ROWS):
        some = order[first : first + _ROWS]
        yield (ColumnBatch(predicate, found.rows.take(some), found.numbers[some], predicate),)
