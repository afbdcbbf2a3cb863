"""Sources that end, as one course of stretches: what is new in each, and how far time has come behind it.

Which facts are late is decided as in a stream (`runtime/intake/admitting.py`): each source promises that nothing more comes
of it that begins more than the lateness before its latest fact. The source that has promised least is read next, so none
runs ahead by more than a block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tidelog.operators.columns.arrays import Array, np, stable_order
from tidelog.operators.columns.batch import Batch, joined
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.runtime.columns.memory import Held
from tidelog.runtime.frames.columns import ColumnBatch

STRETCH = 100_000
"""So many rows make a stretch: enough that a step costs its rows alone, and few enough that columns stay in a core's cache.
A block of a file is one."""
LONG_STRETCH = 1 << 20
"""Where many programs go over each, few stretches cost less."""
_MANY = 3
"""What is due is cut where it is more than so many stretches."""
_WAITING = (
    "facts that wait for earlier ones",
    "",
    "of files in the order of time fewer wait, so that `--lateness` can be less",
)

Block = Sequence[ColumnBatch]
"""What a source gives at once: the facts of a stretch of its rows, by predicate."""
OnLate = Callable[[ColumnBatch, Array, Array], None]
"""Told of the rows of a batch, by their places, that are late, and the earliest time at which each could have begun."""


@dataclass(slots=True)
class Stretch:
    """What is new by predicate, and the watermark behind it: nothing that begins at or before it comes any more."""

    fresh: dict[str, Batch]
    watermark: int


@dataclass(slots=True)
class _Course:
    """A source, how far it has promised, and whether it has ended."""

    blocks: Iterator[Block]
    promised: int = NEG
    is_open: bool = True


@dataclass(slots=True)
class Stretches:
    """The stretches of some sources, each of which gives its facts in blocks, in the order of its rows."""

    timeline: Timeline
    sources: Sequence[Iterable[Block]]
    pool: Pool
    lateness: int = 0
    on_late: OnLate | None = None
    rows: int = STRETCH
    follows_time: bool = False
    _waiting: dict[str, list[Batch]] = field(default_factory=dict)
    _latest: int = NEG

    def __iter__(self) -> Iterator[Stretch]:
        courses = [_Course(iter(source)) for source in self.sources]
        gathered = 0
        while open_ := [course for course in courses if course.is_open]:
            gathered += self._read(min(open_, key=lambda course: course.promised))
            if gathered >= self.rows:
                watermark = min((course.promised for course in courses if course.is_open), default=NEG)
                if watermark > NEG:
                    yield from self._cuts(watermark)
                    gathered = 0
        if self.follows_time and self._latest > NEG:  # the stream's last time is known before it ends
            yield from self._cuts(self._latest if self.timeline.is_integer else self._latest + 1)
        yield from self._cuts(POS)

    def held(self) -> Held:
        """The facts that wait for what may still come before them."""
        size = sum(batch.size for batches in self._waiting.values() for batch in batches)
        return Held(size, lambda: _WAITING)

    def _read(self, course: _Course) -> int:
        """Read the next block of a source; returns how many facts have come."""
        block = next(course.blocks, None)
        if block is None:
            course.is_open = False
            return 0
        count = 0
        for batch, rows in zip(block, self._admitted(course, block), strict=True):
            if len(rows):
                self._waiting.setdefault(batch.predicate, []).append(rows)
                latest = int(rows.lo.max())
                self._latest = max(self._latest, latest - (0 if self.timeline.is_integer else latest & 1))
                count += len(rows)
        return count

    def _gap(self, times: Array) -> Array:
        """1 where a time is the open gap behind one."""
        gap: Array = times & (0 if self.timeline.is_integer else 1)
        return gap

    def _admitted(self, course: _Course, block: Block) -> list[Batch]:
        """The facts of a block that are not late; the source's promise moves on with each row."""
        if not any(map(len, block)):
            return [batch.rows for batch in block]
        if len(block) == 1 and (admitted := self._in_order(course, block[0].rows)) is not None:
            return [admitted]
        lo = np.concatenate([batch.rows.lo for batch in block])
        order = None if len(block) == 1 else np.argsort(np.concatenate([batch.numbers for batch in block]), kind="stable")
        ordered = lo if order is None else lo[order]
        promises = np.where(ordered > NEG, ordered - self._gap(ordered) - (self.lateness + 1), NEG)
        limits = np.maximum.accumulate(np.append(course.promised, promises))
        course.promised, limits = int(limits[-1]), limits[:-1]
        if order is not None:
            limits[order] = limits.copy()
        is_late = (lo <= limits) & (limits > NEG)
        if not is_late.any():
            return [batch.rows for batch in block]
        ends = np.cumsum([len(batch) for batch in block])[:-1]
        pairs = zip(block, np.split(is_late, ends), np.split(limits, ends), strict=True)
        return [self._without_late(*each) for each in pairs]

    def _in_order(self, course: _Course, rows: Batch) -> Batch | None:
        """The facts of a block that come in order, none before what has been promised; None where they do not."""
        lo = rows.lo
        if lo[0] <= max(course.promised, NEG) or (lo[1:] < lo[:-1]).any():
            return None
        last = int(lo[-1])
        course.promised = max(course.promised, last - (0 if self.timeline.is_integer else last & 1) - (self.lateness + 1))
        return rows

    def _without_late(self, batch: ColumnBatch, is_late: Array, limits: Array) -> Batch:
        late = np.flatnonzero(is_late)
        if len(late) and self.on_late is not None:
            self.on_late(batch, late, limits[late] + 1)
        return batch.rows.take(~is_late) if len(late) else batch.rows

    def _cuts(self, watermark: int) -> Iterator[Stretch]:
        """All that begins at or before a watermark; where much has waited for it, as several stretches."""
        due = [batch.lo[batch.lo <= watermark] for batches in self._waiting.values() for batch in batches]
        if sum(map(len, due)) > _MANY * self.rows:
            for predicate, batches in self._waiting.items():
                self._waiting[predicate] = [self._sorted(batches)] if batches else []
            gap = 0 if self.timeline.is_integer else 1
            marks = np.unique(np.sort(np.concatenate(due))[self.rows - 1 :: self.rows] | gap)
            yield from (self._cut(mark) for mark in marks[(marks > NEG + gap) & (marks < watermark)].tolist())
        yield self._cut(watermark)

    def _sorted(self, batches: Sequence[Batch]) -> Batch:
        whole = joined(batches, batches[0].width, self.pool)
        return whole.take(stable_order(whole.lo))

    def _cut(self, watermark: int) -> Stretch:
        """All that begins at or before a watermark; the rest waits."""
        fresh: dict[str, Batch] = {}
        for predicate, batches in self._waiting.items():
            whole = joined(batches, batches[0].width, self.pool) if batches else None
            if whole is None:
                continue
            fresh[predicate], later = whole.parted(watermark)
            self._waiting[predicate] = [later] if len(later) else []
        return Stretch(fresh, watermark)


def blocks_of(batches: Iterable[ColumnBatch]) -> Iterator[Block]:
    """The batches of a file by the stretches of its rows: those whose rows lie among each other are one block."""
    block: list[ColumnBatch] = []
    last = -1
    for batch in batches:
        if block and len(batch) and int(batch.numbers[0]) > last:
            yield block
            block, last = [], -1
        block.append(batch)
        if len(batch):
            last = max(last, int(batch.numbers[-1]))
    if block:
        yield block
