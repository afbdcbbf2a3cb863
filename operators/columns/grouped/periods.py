"""The kernel of aggregates per period: those of windows that follow each other, on a timeline of its own.

The periods that rows fall into are numbered, and the time points of each are laid out behind each other, with the same room
for each period. There, an aggregate over a period is one over the window that the period fills.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.operators.columns.arrays import Array, np, ranges
from tidelog.operators.columns.batch import Batch, empty, joined
from tidelog.operators.columns.grouped.aggregates import ColumnAggregate, with_values
from tidelog.operators.columns.kernel import Kernel
from tidelog.operators.columns.pool import Pool
from tidelog.operators.grouped.periods import MOST_PERIODS
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import AggregateShape, PeriodShape

_LONGEST = 8 * 24 * 60 * 60
"""Of longer periods, in seconds, rows are not kept until they are over: an account of each group is smaller."""


def has_kernel(shape: PeriodShape, *, is_integer: bool) -> bool:
    """Whether `ColumnPeriods` computes these periods: short ones that do not overlap."""
    calendar = shape.calendar.calendar
    return is_integer and not calendar.is_listed and calendar.longest <= _LONGEST


class ColumnPeriods(Kernel):
    """`M'(G, A) ← A = f(V) over M per C by G`, told when a period is over.

    Kept are the rows of periods that are not over, and what has been found beyond the frontier. As with `Periods`, a row
    without a begin counts from the stream's start on, which port 1 brings, and one without an end in the periods that have
    begun when the stream ends. OverflowError for a row that falls into more than `MOST_PERIODS`.
    """

    def __init__(self, shape: PeriodShape, widths: Sequence[int], pool: Pool) -> None:
        super().__init__(widths, len(shape.by) + 1, pool)
        self._shape = shape
        self._calendar = shape.calendar
        self._held, self._beyond = empty(widths[0]), empty(self.width)
        self._start = self._known = NEG

    def advance(self, fresh: Sequence[Batch], frontiers: Sequence[int], frontier: int) -> Batch:
        if len(fresh[1]):
            self._start = int(fresh[1].lo[0])
        new, failed = with_values(fresh[0], self._shape.function, self._shape.value, self.pool)
        self.failed += failed
        over = self._over(joined([self._held, new], new.width, self.pool), frontiers[0])
        found = joined([self._beyond, self._aggregated(over)], self.width, self.pool)
        out, self._beyond = self.told(found, frontier)
        return out

    def held(self) -> Sequence[Batch]:
        return [self._held, self._beyond]

    def _over(self, rows: Batch, known: int) -> Batch:
        """What of some rows lies in periods that are over at a time; the rest is kept."""
        before, self._known = self._known, known
        if self._start > NEG and len(rows) and rows.lo.min() <= NEG:
            rows = rows.clipped(self._start, POS)
        if known >= POS:
            self._held = empty(rows.width)
            last = self._calendar.around(before) if before > NEG else None
            endless = rows.take(rows.hi >= POS).clipped(NEG, before if last is None else last[1])
            rows = joined([rows.take(rows.hi < POS), endless], rows.width, self.pool)
            return rows.take(rows.lo > NEG)
        open_ = self._calendar.around(known) if known > NEG else None
        last_over = known if open_ is None or open_[1] <= known else open_[0] - 1
        timed = rows.lo > NEG
        self._held = joined([rows.take(~timed), rows.take(timed).clipped(last_over + 1, POS)], rows.width, self.pool)
        return rows.take(timed).clipped(NEG, last_over)

    def _aggregated(self, rows: Batch) -> Batch:
        """The values in all periods into which rows fall."""
        if not len(rows):
            return empty(self.width)
        begins, ends = self._periods(rows)
        if not len(begins):
            return empty(self.width)
        room = int((ends - begins).max()) + 1
        shape = AggregateShape(self._shape.function, room - 1, room, self._shape.by, self._shape.value, self._shape.fraction)
        last = (len(begins) + 1) * room - 1
        windows = ColumnAggregate(shape, rows.width, self.pool)
        told = windows.advance([_laid_out(rows, begins, ends, room)], [last], last)
        first = told.lo // room - 1
        counts = told.hi // room - first
        periods = ranges(first, counts)
        columns = tuple(np.repeat(column, counts) for column in told.columns)
        return Batch(columns, begins[periods], ends[periods])

    def _periods(self, rows: Batch) -> tuple[Array, Array]:
        """The begins and the ends of the periods into which rows may fall."""
        longest = self._calendar.longest
        order = np.argsort(rows.lo, kind="stable")
        begins, reached = rows.lo[order], np.maximum.accumulate(rows.hi[order])
        apart = begins[1:] - reached[:-1] > longest
        found: list[tuple[int, int]] = []
        lows, highs = begins[np.append(True, apart)], reached[np.append(apart, True)]
        for low, high in zip(lows.tolist(), highs.tolist(), strict=True):
            if (high - low) // longest > MOST_PERIODS:
                raise OverflowError(f"a fact falls into more than {MOST_PERIODS:,} periods")
            found += [(lo, hi) for _, lo, hi in self._calendar.ranges(low - longest, high) if hi >= low]
        periods = np.array(found, np.int64).reshape(-1, 2)
        return periods[:, 0], periods[:, 1]


def _laid_out(rows: Batch, begins: Array, ends: Array, room: int) -> Batch:
    """Rows at the time points of the periods that follow each other in windows: period `k` begins at `k · room + 1`."""
    is_of_points = rows.hi is rows.lo
    first = np.searchsorted(ends, rows.lo)
    last = np.searchsorted(begins, rows.hi, "right")
    counts = np.maximum(last - first, 0)
    if int(counts.max()) > MOST_PERIODS:
        raise OverflowError(f"a fact falls into more than {MOST_PERIODS:,} periods")
    periods = ranges(first, counts)
    offset = periods * room + 1 - begins[periods]
    lo = np.maximum(np.repeat(rows.lo, counts), begins[periods]) + offset
    hi = lo if is_of_points else np.minimum(np.repeat(rows.hi, counts), ends[periods]) + offset
    return Batch(tuple(np.repeat(column, counts) for column in rows.columns), lo, hi)
