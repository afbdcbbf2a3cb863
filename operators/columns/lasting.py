"""Kernels over maximal runs: □, since, until, and what one predicate switches on until another one does."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.operators.columns.arrays import Array, np
from tidelog.operators.columns.axis import Axis, Laid, meetings
from tidelog.operators.columns.batch import Batch, empty, joined
from tidelog.operators.columns.joining import matching, outside, variables_in, widened
from tidelog.operators.columns.kernel import Windowed
from tidelog.operators.columns.keys import keys_of
from tidelog.operators.columns.moving import dilated, mirrored, moved
from tidelog.operators.columns.pool import Pool
from tidelog.operators.metric.pairing import without_left
from tidelog.operators.operator import shift
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.plan.plan import ErodeShape, LatchShape, PairShape


class ColumnErode(Windowed):
    """□ϱ, □⁺ϱ and `always M in [n]`: each maximal run without what ϱ takes from its ends.

    A run that the frontier cuts is kept whole.
    """

    def __init__(self, shape: ErodeShape, width: int, pool: Pool) -> None:
        metric = shape.metric
        if shape.future:
            self._low, self._low_open, self._high, self._high_open = (
                -metric.a,
                metric.left_open,
                -metric.b,
                metric.right_open,
            )
        else:
            self._low, self._low_open, self._high, self._high_open = metric.b, metric.right_open, metric.a, metric.left_open
        super().__init__([width, 0] if shape.clipped else [width], width, pool, [0, POS] if shape.clipped else [0])
        self._is_clipped = shape.clipped

    def settle(self, held: list[Batch]) -> None:
        held[0] = held[0].tidied(self.pool)

    def compute(self, held: Sequence[Batch], frontier: int) -> Batch:
        runs, (lo, hi) = held[0], self._eroded(held[0].lo, held[0].hi)
        if self._is_clipped:
            if not len(held[1]):
                return empty(self.width)
            start = int(held[1].lo[0])
            lo = np.where(runs.lo <= start, start, lo)
        is_tidy = not self._is_clipped  # what has lasted since before the start is told from there on, as more than one run
        return Batch(runs.columns, lo, hi, is_tidy).take((lo <= hi) & (lo < POS))

    def _eroded(self, lo: Array, hi: Array) -> tuple[Array, Array]:
        """ϱ₁ ⊕ ϱ, empty where the begin lies behind the end."""
        low, high = moved(lo, self._low), moved(hi, self._high)
        if self._low >= POS:  # endless ranges alone go on without an end
            low = np.where(lo <= NEG, NEG, POS)
        elif self._low_open:
            low = np.where(lo > NEG, low & ~1, low)
        if self._high <= NEG:
            high = np.where(hi >= POS, POS, NEG - 1)
        elif self._high_open:
            high = np.where(hi < POS, high + 1 & ~1, high)
        return low, high

    def left(self, held: Sequence[Batch], frontier: int) -> list[Batch]:
        if frontier <= NEG:
            return list(held)
        known = shift(frontier, -self._high)
        return [held[0].take(held[0].hi >= known) if len(held[0]) else held[0], *held[1:]]


class ColumnPair(Windowed):
    """Since and until: the times of M2 within the closure of each run of M1, moved by ϱ as far as the run goes.

    Where nothing need lie between the two, M2 alone is enough.
    """

    def __init__(self, shape: PairShape, timeline: Timeline, pool: Pool) -> None:
        metric = shape.metric
        self._is_since = shape.operator == "since"
        self._touch = timeline.touch
        self._metric = metric if self._is_since else mirrored(metric)
        self._endless = metric.b >= POS
        shared = [name for name in shape.right if name in shape.left]
        self._keys = [shape.left.index(name) for name in shared], [shape.right.index(name) for name in shared]
        self._extra = [i for i, name in enumerate(shape.left) if name not in shape.right]
        alone = None if self._extra else without_left(metric, timeline.touch)
        self._alone = alone if alone is None or self._is_since else mirrored(alone)
        width = len(shape.right) + len(self._extra)
        super().__init__([len(shape.left), len(shape.right)], width, pool, [0, 0])

    def settle(self, held: list[Batch]) -> None:
        held[:] = [batch.tidied(self.pool) for batch in held]

    def compute(self, held: Sequence[Batch], frontier: int) -> Batch:
        lefts, rights = held
        left, right, (run_lo, run_hi) = self._meet(lefts, rights)
        lo, hi = np.maximum(rights.lo[right], run_lo), np.minimum(rights.hi[right], run_hi)
        lo, hi = dilated(self._metric, lo, hi)
        lo, hi = (lo, np.minimum(hi, run_hi)) if self._is_since else (np.maximum(lo, run_lo), hi)
        there = lo <= hi
        left, right = left[there], right[there]
        columns = [column[right] for column in rights.columns] + [lefts.columns[place][left] for place in self._extra]
        found = Batch(tuple(columns), lo[there], hi[there])
        if self._alone is None:
            return found
        return joined([found, Batch(rights.columns, *dilated(self._alone, rights.lo, rights.hi))], self.width, self.pool)

    def _meet(self, lefts: Batch, rights: Batch) -> tuple[Array, Array, tuple[Array, Array]]:
        """The pairs of runs and times of M2 that meet, by their numbers, and the closures of these runs."""
        run_lo, run_hi = closures(lefts.lo, lefts.hi, self._touch)
        tables = [
            [side.columns[place] for place in places] for side, places in zip((lefts, rights), self._keys, strict=True)
        ]
        (mine, others), size = keys_of(tables, [len(lefts), len(rights)], self.pool)
        axis = Axis(size, (run_lo, rights.lo), (run_hi, rights.hi))
        own, other = Laid(axis, mine, run_lo, run_hi), Laid(axis, others, rights.lo, rights.hi)
        left, right = meetings(own.begins, own.ends, other.begins, other.ends, self.pool.room)
        left, right = own.numbers(left), other.numbers(right)
        return left, right, (run_lo[left], run_hi[left])

    def left(self, held: Sequence[Batch], frontier: int) -> list[Batch]:
        """Runs that may go on, or be looked at; and M2 as far as they, or ϱ, reach."""
        lefts, rights = held
        lefts = lefts.take(lefts.hi >= shift(frontier, -1)) if len(lefts) else lefts
        if not len(rights):
            return [lefts, rights]
        fresh = rights.hi >= shift(frontier, -1)
        if self._is_since:
            fresh |= self._within(lefts, rights, frontier)
        return [lefts, rights.take(fresh)]

    def _within(self, lefts: Batch, rights: Batch, frontier: int) -> Array:
        """Which times of M2 runs that go on reach; of a row that reaches on without an end, the first in each run."""
        within = np.zeros(len(rights), np.bool_)
        left, right, _ = self._meet(lefts, rights)
        if self._endless:
            order = np.argsort(right, kind="stable")
            left, right = left[order], right[order]
            _, first = np.unique(left * len(rights) + _numbers(rights)[right], return_index=True)
            right = right[first]
        within[right] = True
        return within if self._endless else within & (dilated(self._metric, rights.lo, rights.hi)[1] > frontier)


def _numbers(batch: Batch) -> Array:
    """A number for each row of a tidy batch, the same where the row is."""
    is_new = np.zeros(len(batch), np.bool_)
    for column in batch.columns:
        is_new[1:] |= column[1:] != column[:-1]
    return np.cumsum(is_new)


def closures(lo: Array, hi: Array, touch: int) -> tuple[Array, Array]:
    """Runs with their ends: to the points that bound them (rationals), or one time further (integers)."""
    if touch:
        return moved(lo, -1), moved(hi, 1)
    return lo - (lo & 1), hi + (hi & 1)


class ColumnLatch(Windowed):
    """`not N since[0,∞) M`: from the end of each range of M on, until N begins.

    A row that holds at the frontier, and goes on, is kept as a fact of M there.
    """

    def __init__(self, shape: LatchShape, timeline: Timeline, pool: Pool) -> None:
        width = len(shape.columns)
        super().__init__([len(shape.negated), width], width, pool, [0, 0])
        self._touch = timeline.touch
        self._negated = shape.negated
        self._names = variables_in(shape.negated)
        self._places = [shape.columns.index(name) for name in self._names]
        self._held[0] = empty(len(self._names))

    def prepared(self, port: int, batch: Batch) -> Batch:
        return batch if port else matching(self._negated, self._names, batch, self.pool)

    def settle(self, held: list[Batch]) -> None:
        held[:] = [batch.tidied(self.pool) for batch in held]

    def compute(self, held: Sequence[Batch], frontier: int) -> Batch:
        negative, positive = held
        tables = [negative.columns, [positive.columns[place] for place in self._places]]
        (others, keys), size = keys_of(tables, [len(negative), len(positive)], self.pool)
        end = self._ends(negative, positive, others, keys, size)
        return Batch(positive.columns, positive.lo, np.maximum(end, positive.hi))

    def _ends(self, negative: Batch, positive: Batch, others: Array, keys: Array, size: int) -> Array:
        """The last time to which each range of M lets its row hold."""
        if not len(negative):
            return np.full(len(positive), POS, np.int64)
        begin = positive.hi + 1 if self._touch else positive.hi | 1  # the first time at which N matters
        begin = np.where(positive.hi < POS, begin, NEG)  # what is endless already goes on, whatever is found
        axis = Axis(size, (negative.lo, begin), (negative.hi, begin))
        starts, ends = axis.begins(others, negative.lo), axis.ends(others, negative.hi)
        order = None if (starts[1:] >= starts[:-1]).all() else np.argsort(starts, kind="stable")
        if order is not None:
            starts, ends, others, times = starts[order], ends[order], others[order], negative.lo[order]
        else:
            times = negative.lo
        at = np.searchsorted(ends, axis.begins(keys, begin), "right")  # the first run of N that ends then or later
        there = np.minimum(at, len(times) - 1)
        is_ended = (at < len(times)) & (others[there] == keys)
        first = np.where(is_ended, times[there], POS)
        last = first if self._touch else np.where(first < POS, first - 1 + (first - 1 & 1), POS)
        return np.where(first <= begin, moved(positive.hi, self._touch), last)

    def left(self, held: Sequence[Batch], frontier: int) -> list[Batch]:
        negative, positive = held
        if frontier <= NEG:
            return list(held)
        later = [batch.take(batch.hi >= frontier) if len(batch) else batch for batch in held]
        standing = self.compute(held, frontier).clipped(frontier, frontier)
        going = outside(standing, self._places, negative.clipped(frontier, frontier), self.pool)
        if not len(going):
            return later
        return [later[0], joined([later[1], Batch(going.columns, going.lo, going.hi)], positive.width, self.pool)]

    def remains(self) -> Sequence[Batch]:
        return [widened(self._negated, self._names, self._held[0], self.pool), self._held[1]]
