"""Frames into a session: rows in the order of their begins, in batches that the operators take one after another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import gt, itemgetter
from typing import Any

from tidelog.plans.data.dialect import OURS, Dialect
from tidelog.plans.data.facts import Schema
from tidelog.plans.diagnostics.errors import DataError, LateError
from tidelog.runtime.frames.arrow import BATCH_ROWS, pa, stream_of, with_plain_texts
from tidelog.runtime.frames.layout import layout_of
from tidelog.runtime.frames.reading import FrameReader
from tidelog.runtime.ports.interfaces import Batch, Rejected

OnRejected = Callable[[Sequence[Rejected]], None]
"""What is told of rows that could not be used."""

Begin = Callable[[Sequence["Frame"]], bool]
"""Takes frames as a whole; returns whether it has."""
LEAST = 5_000
"""So many rows are worth more than it costs to go through a plan in columns, and to go on row by row."""

_begin = itemgetter(2)


def push_frames(
    schema: Schema,
    frames: Mapping[str, Any],
    take: Callable[[Batch], list[Rejected]],
    on_rejected: OnRejected | None,
    begin: Begin | None = None,
    dialect: Dialect = OURS,
) -> None:
    """Hand in the rows of frames, each of which holds one predicate's facts, in the order of their begins.

    `take` is given batches, and returns what it refuses. What is refused, or is no fact, goes to `on_rejected`; without it,
    an error names the first such row once all others have been handed in: a LateError where it is late, else a DataError.
    Where there are many rows, `begin` may take them as a whole. The `dialect` is that of all frames.
    """
    opened = [Frame(schema, predicate, frame, dialect) for predicate, frame in frames.items()]
    if begin is not None and sum(map(len, opened)) >= LEAST and begin(opened):
        return
    ordered = [frame.in_order() for frame in opened]
    unread: list[Rejected] = []
    refused: list[Rejected] = []
    for batch in ordered[0] if len(ordered) == 1 else _merged(ordered):
        unread += batch.rejected
        refused += take(batch)
    if on_rejected is not None and (unread or refused):
        on_rejected([*unread, *refused])
    elif unread:
        raise DataError(unread[0].reason + _others(len(unread) + len(refused)), unread[0].place)
    elif refused:
        error = LateError if refused[0].reason.startswith("late") else DataError
        raise error(f"{refused[0].raw.decode()}: {refused[0].reason}{_others(len(refused))}", refused[0].place)


def _others(count: int) -> str:
    return f" ({count:,} rows could not be used, this is the first)" if count > 1 else ""


class Frame:
    """The rows of a frame, which hold one predicate's facts; its layout is looked at before anything else."""

    def __init__(self, schema: Schema, predicate: str, frame: Any, dialect: Dialect = OURS) -> None:
        stream = stream_of(frame)
        self.predicate = predicate
        self.layout = layout_of(stream.schema, predicate, schema, dialect)
        self._reader = FrameReader(schema, predicate, self.layout)
        self.table = with_plain_texts(stream.read_all()).combine_chunks()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def in_order(self) -> Iterator[Batch]:
        """Its facts in the order of their begins; those that begin together, in the order of their rows."""
        reader, table = self._reader, self.table
        begins = reader.begins(table)
        numbers: Sequence[int] = range(len(begins))
        if any(map(gt, begins, islice(begins, 1, None))):
            numbers = sorted(numbers, key=begins.__getitem__)
            table = table.take(pa.array(numbers, pa.int64())).combine_chunks()
        return (
            reader.read(table.slice(i, BATCH_ROWS), self.predicate, numbers[i : i + BATCH_ROWS])
            for i in range(0, len(numbers), BATCH_ROWS)
        )


@dataclass(slots=True)
class _Rest:
    """What is left of a frame's batch, and the batches behind it."""

    batch: Batch
    behind: Iterator[Batch]

    def cut(self, latest: int) -> Batch:
        """What begins at this time or before; it is no longer part of what is left."""
        records, places = self.batch.records, self.batch.places or ()
        end = bisect_right(records, latest, key=_begin)
        taken = Batch(records[:end], self.batch.rejected, places=places[:end])
        self.batch = Batch(records[end:], places=places[end:])
        return taken

    def renew(self) -> bool:
        """Whether something is left, once a batch that is used up has given way to the next one with facts."""
        while not self.batch.records:
            following = next(self.behind, None)
            if following is None:
                return False
            following.rejected[:0] = self.batch.rejected
            self.batch = following
        return True


def _merged(frames: Sequence[Iterator[Batch]]) -> Iterator[Batch]:
    """The batches of several frames as one course, in the order of their begins."""
    rests = [_Rest(Batch(), frame) for frame in frames]
    while open_ := [rest for rest in rests if rest.renew()]:
        latest = min(rest.batch.records[-1][2] for rest in open_)  # behind it, another frame's next batch may begin
        taken = [rest.cut(latest) for rest in open_]
        records = list(chain.from_iterable(batch.records for batch in taken))
        places = list(chain.from_iterable(batch.places or () for batch in taken))
        order = sorted(range(len(records)), key=lambda i: records[i][2])
        rejected = [item for batch in taken for item in batch.rejected]
        yield Batch([records[i] for i in order], rejected, places=[places[i] for i in order])
    rejected = [item for rest in rests for item in rest.batch.rejected]
    if rejected:
        yield Batch([], rejected)
