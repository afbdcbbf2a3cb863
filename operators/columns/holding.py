"""The kernel of `latest`: what held last in a group is held until something else does, or until it is too old."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.operators.columns.arrays import Array, np
from tidelog.operators.columns.axis import Axis, Runs
from tidelog.operators.columns.batch import Batch, empty, joined
from tidelog.operators.columns.kernel import Windowed
from tidelog.operators.columns.keys import keys_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import LatestShape


class ColumnLatest(Windowed):
    """`M' ← latest M by G in [n]`: M itself, and behind each run of its group the rows that held where it ended."""

    def __init__(self, shape: LatestShape, width: int, pool: Pool) -> None:
        super().__init__([width], width, pool, [0])
        self._shape = shape

    def compute(self, held: Sequence[Batch], frontier: int) -> Batch:
        batch = held[0]
        if not len(batch):
            return empty(self.width)
        axis, keys, runs = self._runs(batch)
        _, end = axis.times(axis.keys(runs.begins), runs.begins, runs.ends)
        run = np.searchsorted(runs.begins, axis.begins(keys, batch.lo), "right") - 1
        is_last = batch.hi == end[run]
        following = np.full(len(end), POS, np.int64)
        same = axis.keys(runs.begins[1:]) == axis.keys(runs.begins[:-1])
        begins, _ = axis.times(axis.keys(runs.begins), runs.begins, runs.ends)
        following[:-1][same] = begins[1:][same] - 1
        size = self._shape.size
        until = following if size >= POS else np.minimum(following, np.where(end < POS, end + size, POS))
        later = batch.take(is_last & (batch.hi < POS))
        last = until[run[is_last & (batch.hi < POS)]]
        there = later.hi < last
        later = Batch(tuple(column[there] for column in later.columns), later.hi[there] + 1, last[there])
        return joined([batch, later], self.width, self.pool)

    def _runs(self, batch: Batch) -> tuple[Axis, Array, Runs]:
        """The runs of groups, and where they lie."""
        (keys,), size = keys_of([[batch.columns[place] for place in self._shape.by]], [len(batch)], self.pool)
        axis = Axis(size, (batch.lo,), (batch.hi,))
        return axis, keys, axis.runs(keys, batch.lo, batch.hi)

    def left(self, held: Sequence[Batch], frontier: int) -> list[Batch]:
        """What lies behind the frontier, and what each group had last before it, unless it is too old."""
        batch = held[0]
        if not len(batch) or frontier <= NEG:
            return list(held)
        known = batch.take(batch.lo <= frontier)
        if not len(known):
            return [batch]
        axis, keys, runs = self._runs(known)
        of_run = axis.keys(runs.begins)
        last = np.append(of_run[1:] != of_run[:-1], True)
        _, ends = axis.times(of_run[last], runs.begins[last], runs.ends[last])
        end_of = np.full(int(keys.max()) + 1, NEG, np.int64)
        end_of[of_run[last]] = ends
        is_last = (known.hi == end_of[keys]) & (known.hi > (NEG if self._shape.size >= POS else frontier - self._shape.size))
        return [
            joined([known.take(is_last | (known.hi > frontier)), batch.take(batch.lo > frontier)], self.width, self.pool)
        ]
