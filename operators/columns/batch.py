"""A batch: the coverage of one predicate over a stretch of history, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tidelog.operators.columns.arrays import Array, np
from tidelog.operators.columns.axis import Axis
from tidelog.operators.columns.keys import keys_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG


@dataclass(slots=True, eq=False)
class Batch:
    """Rows with closed ranges of encoded time: a column for each argument, and `lo` and `hi` (int64, with `NEG` and `POS`).

    A `tidy` one has the rows in the order of a key, the ranges of each row in the order of time, and these apart from each
    other: maximal runs. Others may say the same twice. The arrays of a batch are never written to.
    """

    columns: tuple[Array, ...]
    lo: Array
    hi: Array
    is_tidy: bool = False
    _tidied: Batch | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.lo)

    @property
    def width(self) -> int:
        """How many arguments its rows have."""
        return len(self.columns)

    def take(self, places: Array) -> Batch:
        """The rows at these places, or those for which an array says so."""
        columns = tuple(column[places] for column in self.columns)
        return Batch(columns, self.lo[places], self.hi[places], self.is_tidy and places.dtype == np.bool_)

    def clipped(self, first: int, last: int) -> Batch:
        """What of it lies within `first … last`."""
        if not len(self) or (self.lo.min() >= first and self.hi.max() <= last):
            return self
        lo, hi = np.maximum(self.lo, first), np.minimum(self.hi, last)
        there = lo <= hi
        if there.all():
            return Batch(self.columns, lo, hi, self.is_tidy)
        return Batch(tuple(column[there] for column in self.columns), lo[there], hi[there], self.is_tidy)

    def between(self, before: int, frontier: int) -> Batch:
        """What of it lies behind one frontier, and up to the next. Behind `NEG`, where nothing is known, lies all time."""
        if frontier <= NEG:
            return empty(self.width)
        return self.clipped(before + 1 if before > NEG else NEG, frontier)

    def tidied(self, pool: Pool) -> Batch:
        """The same coverage in maximal runs, each row's beside each other and in order."""
        if self.is_tidy:
            return self
        if self._tidied is None:
            self._tidied = self._tidy(pool)
        return self._tidied

    def _tidy(self, pool: Pool) -> Batch:
        (keys,), size = keys_of([self.columns], [len(self)], pool)
        axis = Axis(size, (self.lo,), (self.hi,))
        runs = axis.runs(keys, self.lo, self.hi)
        columns = tuple(column[runs.places] for column in self.columns)
        lo, hi = axis.times(keys[runs.places], runs.begins, runs.ends)
        return Batch(columns, lo, hi, is_tidy=True)

    def facts(self, pool: Pool) -> list[Fact]:
        """Its rows one by one."""
        rows = zip(*map(pool.listed, self.columns), strict=True) if self.columns else [()] * len(self)
        return list(zip(rows, self.lo.tolist(), self.hi.tolist(), strict=True))


def empty(width: int) -> Batch:
    """A batch without rows."""
    none = np.empty(0, np.int64)
    return Batch((np.empty(0, np.int32),) * width, none, none, is_tidy=True)


def batch_of(facts: Sequence[Fact], width: int, pool: Pool) -> Batch:
    """Facts of as many arguments as a batch."""
    if not facts:
        return empty(width)
    rows, lo, hi = zip(*facts, strict=True)
    columns = tuple(pool.column(values) for values in zip(*rows, strict=True))
    return Batch(columns, np.array(lo, np.int64), np.array(hi, np.int64))


def joined(batches: Iterable[Batch], width: int, pool: Pool) -> Batch:
    """All of some batches as one."""
    there = [batch for batch in batches if len(batch)]
    if not there:
        return empty(width)
    if len(there) == 1:
        return there[0]
    columns = tuple(np.concatenate(pool.alike(parts)) for parts in zip(*(batch.columns for batch in there), strict=True))
    return Batch(columns, np.concatenate([batch.lo for batch in there]), np.concatenate([batch.hi for batch in there]))
