"""Kernels that move coverage in time, fact by fact: union, ◇, stepped windows, rows at the time that they name, and times as
values."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.operators.columns.arrays import Array, is_number, np, ranges
from tidelog.operators.columns.batch import Batch, empty
from tidelog.operators.columns.kernel import Pointwise, Windowed, after
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.timeline import LIMIT, NEG, POS, Metric
from tidelog.plans.tree.numerals import EXACT_FLOAT

MOST_ROWS = 1_000_000
"""More rows from one stretch of one fact are refused, as in `operators/windows/bind.py`."""


class ColumnUnion(Pointwise):
    """All that its ports bring, which are of the same width; also what passes on what it takes."""

    def give(self, port: int, batch: Batch) -> Batch:
        return batch


class ColumnDilate(Pointwise):
    """◇ϱ, or ◇⁺ϱ where `future`; as `Dilate` moves one fact, it moves columns."""

    def __init__(self, metric: Metric, future: bool, width: int, pool: Pool) -> None:
        super().__init__([width], width, pool)
        self._metric = metric if not future else mirrored(metric)

    def give(self, port: int, batch: Batch) -> Batch:
        lo, hi = dilated(self._metric, batch.lo, batch.hi)
        return Batch(batch.columns, lo, hi)


def mirrored(metric: Metric) -> Metric:
    """ϱ as distances to the other side."""
    return Metric(-metric.b, -metric.a, metric.right_open, metric.left_open)


def dilated(metric: Metric, lo: Array, hi: Array) -> tuple[Array, Array]:
    """Ranges stretched by ϱ: ϱ₁ + ϱ, with what is endless endless."""
    lo, hi = moved(lo, metric.a), moved(hi, metric.b)
    if metric.left_open:
        lo = np.where(lo > NEG, lo | 1, lo)
    if metric.right_open:
        hi = np.where(hi < POS, hi - 1 | 1, hi)
    return lo, hi


def moved(times: Array, distance: int) -> Array:
    """Times moved by a distance; the endless ones stay, and go as far as an endless distance."""
    if distance >= POS:
        return np.full(len(times), POS, np.int64)
    if distance <= NEG:
        return np.full(len(times), NEG, np.int64)
    found: Array = times + distance
    if len(times) and times.max() >= POS:
        found[times >= POS] = POS
    if len(times) and times.min() <= NEG:
        found[times <= NEG] = NEG
    return found


class ColumnStepped(Pointwise):
    """`sometime M in [0 step d]`: from the first multiple in a range to d − 1 behind the last."""

    def __init__(self, step: int, width: int, pool: Pool) -> None:
        super().__init__([width], width, pool)
        self._step = step

    def give(self, port: int, batch: Batch) -> Batch:
        lo, hi = batch.lo, batch.hi
        first = np.where(lo > NEG, lo + -lo % self._step, NEG)
        last = np.where(hi < POS, hi - hi % self._step + self._step - 1, POS)
        return Batch(batch.columns, first, last).take(first <= last)


class ColumnMove(Pointwise):
    """`M'(X)@T+k :- M(X, T)`: rows without their last column, at the time that it names, plus k."""

    def __init__(self, by: int, width: int, pool: Pool) -> None:
        super().__init__([width], width - 1, pool)
        self._by = by

    def give(self, port: int, batch: Batch) -> Batch:
        times, is_fine = self._named(batch.columns[-1])
        is_fine &= (times + self._by >= -LIMIT) & (times + self._by <= LIMIT)
        self.failed += len(batch) - int(np.count_nonzero(is_fine))
        at = times[is_fine] + self._by
        return Batch(tuple(column[is_fine] for column in batch.columns[:-1]), at, at)

    def _named(self, column: Array) -> tuple[Array, Array]:
        """The whole numbers in a column, and where there are any."""
        if is_number(column):
            is_fine = (column == np.floor(column)) & (abs(column) < EXACT_FLOAT)
            return np.where(is_fine, column, 0).astype(np.int64), is_fine
        found = [value if isinstance(value, int) else None for value in self.pool.listed(column)]
        there = np.array([value is not None for value in found], np.bool_)
        return np.array([value or 0 for value in found], np.int64), there


class ColumnBind(Windowed):
    """`M'(X, T) :- M(X)@T`: a row for each time of a range. What has no end is followed as far as the stretch is known."""

    def __init__(self, width: int, pool: Pool) -> None:
        super().__init__([width, 0], width + 1, pool, [0, 0])

    def compute(self, held: Sequence[Batch], frontier: int) -> Batch:
        batch = held[0]
        if not len(batch):
            return empty(self.width)
        if int(batch.lo.min()) <= NEG:
            raise OverflowError("a fact without a begin holds at infinitely many past times, and each would be a row")
        batch = batch.clipped(after(self.frontier), frontier)
        batch = batch.take(batch.hi < POS)
        count = batch.hi - batch.lo + 1
        if len(count) and int(count.max()) > MOST_ROWS:
            raise OverflowError(f"its times become {int(count.max()):,} rows at once, more than {MOST_ROWS:,}")
        times = ranges(batch.lo, count)
        columns = tuple(np.repeat(column, count) for column in batch.columns)
        return Batch((*columns, times_as_numbers(times, self.pool)), times, times)

    def remains(self) -> Sequence[Batch]:
        return [batch.clipped(after(self.frontier), POS) for batch in self._held]


def times_as_numbers(times: Array, pool: Pool) -> Array:
    """Times as a column of values."""
    if not len(times) or int(abs(times).max()) < EXACT_FLOAT:
        return times.astype(np.float64)
    return pool.codes(times.tolist())
