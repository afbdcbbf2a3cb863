"""The kernel of `latest`: what held last in a group is held until something else does, or until it is too old."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.operators.columns.arrays import Array, np
from tidelog.operators.columns.axis import Axis, Laid, united
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
        if not len(held[0]):
            return empty(self.width)
        batch, keys, axis, laid = self._laid(held[0])
        runs = united(laid.begins, laid.ends, None)
        of_run = keys[runs.places]
        begin, end = axis.times(of_run, runs.begins, runs.ends)
        until = np.full(len(end), POS, np.int64)
        same = of_run[1:] == of_run[:-1]
        until[:-1][same] = begin[1:][same] - 1
        size = self._shape.size
        if size < POS:
            until = np.minimum(until, np.where(end < POS, end + size, POS))
        counts = np.diff(np.append(runs.places, len(batch)))
        is_last = (laid.ends == np.repeat(runs.ends, counts)) & (batch.hi < np.repeat(until, counts))
        later = batch.take(is_last)
        later = Batch(later.columns, later.hi + 1, np.repeat(until, counts)[is_last])
        return joined([batch, later], self.width, self.pool)

    def _laid(self, batch: Batch) -> tuple[Batch, Array, Axis, Laid]:
        """A batch in the order of its groups, with their keys, and where its ranges lie."""
        (keys,), size = keys_of([[batch.columns[place] for place in self._shape.by]], [len(batch)], self.pool)
        axis = Axis(size, (batch.lo,), (batch.hi,))
        laid = Laid(axis, keys, batch.lo, batch.hi)
        return (batch, keys, axis, laid) if laid.places is None else (batch.take(laid.places), keys[laid.places], axis, laid)

    def left(self, held: Sequence[Batch], frontier: int) -> list[Batch]:
        """What lies behind the frontier, and what each group had last before it, unless it is too old."""
        batch = held[0]
        if not len(batch) or frontier <= NEG:
            return list(held)
        known = batch.take(batch.lo <= frontier)
        if not len(known):
            return [batch]
        known, keys, axis, laid = self._laid(known)
        runs = united(laid.begins, laid.ends, None)
        of_run = keys[runs.places]
        last = np.append(of_run[1:] != of_run[:-1], True)
        _, ends = axis.times(of_run[last], runs.begins[last], runs.ends[last])
        end_of = np.full(int(keys[-1]) + 1, NEG, np.int64)
        end_of[of_run[last]] = ends
        is_last = (known.hi == end_of[keys]) & (known.hi > (NEG if self._shape.size >= POS else frontier - self._shape.size))
        return [
            joined([known.take(is_last | (known.hi > frontier)), batch.take(batch.lo > frontier)], self.width, self.pool)
        ]
