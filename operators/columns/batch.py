"""A batch: the coverage of one predicate over a stretch of history, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tidelog.operators.columns.arrays import Array, np
from tidelog.operators.columns.axis import Axis
from tidelog.operators.columns.keys import keys_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact


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
    _bounds: tuple[int, int] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.lo)

    @property
    def width(self) -> int:
        """How many arguments its rows have."""
        return len(self.columns)

    @property
    def size(self) -> int:
        """How many bytes its arrays have."""
        tidied = 0 if self._tidied is None else self._tidied.size
        times = self.lo.nbytes if self.hi is self.lo else self.lo.nbytes + self.hi.nbytes
        return times + tidied + sum(column.nbytes for column in self.columns)

    @property
    def bounds(self) -> tuple[int, int]:
        """The first begin and the last end of one that is not empty; each kernel asks for them, and each plan."""
        if self._bounds is None:
            self._bounds = int(self.lo.min()), int(self.hi.max())
        return self._bounds

    def take(self, places: Array) -> Batch:
        """The rows at these places, or those for which an array says so."""
        keeps_order = places.dtype == np.bool_
        if keeps_order:
            places = np.flatnonzero(places)
        columns = tuple(column[places] for column in self.columns)
        lo = self.lo[places]
        return Batch(columns, lo, lo if self.hi is self.lo else self.hi[places], self.is_tidy and keeps_order)

    def parted(self, last: int) -> tuple[Batch, Batch]:
        """The rows that begin at or before a time, and the others."""
        if len(self) and (self.lo[1:] < self.lo[:-1]).any():
            early = self.lo <= last
            return self.take(early), self.take(~early)
        at = int(np.searchsorted(self.lo, last, "right"))
        return self.part(0, at), self.part(at, len(self))

    def part(self, begin: int, end: int) -> Batch:
        """The rows `begin … end - 1`, without a copy."""
        places = slice(begin, end)
        lo = self.lo[places]
        columns = tuple(column[places] for column in self.columns)
        return Batch(columns, lo, lo if self.hi is self.lo else self.hi[places], self.is_tidy)

    def clipped(self, first: int, last: int) -> Batch:
        """What of it lies within `first … last`."""
        if not len(self):
            return self
        if first > last:
            return empty(self.width)
        earliest, latest = self.bounds
        if earliest > last or latest < first:
            return empty(self.width)
        begins_before, ends_behind = earliest < first, latest > last
        there: Array | None = None
        if ends_behind and self.lo.max() > last:
            there = self.lo <= last
        if begins_before and self.hi.min() < first:
            there = self.hi >= first if there is None else there & (self.hi >= first)
        found = self if there is None else self.take(there)
        if not begins_before and not ends_behind:
            return found
        lo = np.maximum(found.lo, first) if begins_before else found.lo
        hi = np.minimum(found.hi, last) if ends_behind else found.hi
        return Batch(found.columns, lo, hi, self.is_tidy)

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
    lo = np.concatenate([batch.lo for batch in there])
    hi = lo if all(batch.hi is batch.lo for batch in there) else np.concatenate([batch.hi for batch in there])
    return Batch(columns, lo, hi)
