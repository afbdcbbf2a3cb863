"""The kernel of thresholds: where windows weigh enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidelog.operators.columns.arrays import Array, is_number, np
from tidelog.operators.columns.batch import Batch, batch_of, empty
from tidelog.operators.columns.grouped.aggregates import without_texts
from tidelog.operators.columns.grouped.exact import Digits, NotExactError, digits_of, floats_of
from tidelog.operators.columns.grouped.windows import Frame, Pieces, Rows, Weights, by_time_points, grouped
from tidelog.operators.columns.kernel import Windowed, after
from tidelog.operators.columns.pool import Pool
from tidelog.operators.grouped.threshold import Threshold
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import ThresholdShape

_COUNT_BITS = 62


class ColumnThreshold(Windowed):
    """`M'(G) ← count() over M in [n] by G >= k`, and `sum(V) … >= c` where V is not below 0.

    What windows weigh goes up or down all the way from one event to the next, so that there is one end at most from which
    on it is enough, or no longer. Weights of which the digits do not fit go row by row through `Threshold`.
    """

    def __init__(self, shape: ThresholdShape, width: int, pool: Pool) -> None:
        super().__init__([width], len(shape.by), pool, [shape.size])
        self._shape = shape

    def prepared(self, port: int, batch: Batch) -> Batch:
        """The rows that weigh something; texts are counted."""
        place = self._shape.value
        if place is None:
            return batch
        batch, failed = without_texts(batch, place, self.pool)
        self.failed += failed
        column = batch.columns[place]
        if is_number(column):
            return batch.take(column > 0)
        codes, places = np.unique(column, return_inverse=True)
        weighs = [not isinstance(value, str) and value > 0 for value in self.pool.listed(codes)]
        return batch.take(np.array(weighs, np.bool_)[places])

    def compute(self, held: Sequence[Batch], frontier: int) -> Batch:
        if not len(held[0]):
            return empty(self.width)
        first = after(self.frontier)
        frame = Frame(self._shape.size, 1, first, frontier)
        rows = grouped(held[0], self._shape.by, self.pool).within(max(first - frame.size, NEG), frontier)
        if not len(rows.batch) or first > frontier:
            return empty(self.width)
        try:
            return self._enough(rows, frame)
        except NotExactError:
            return self._row_by_row(rows, frame)

    def _enough(self, rows: Rows, frame: Frame) -> Batch:
        place = self._shape.value
        digits = None
        if place is not None:
            digits = digits_of(floats_of(rows.batch.columns[place], self.pool), rows.most_at_once(frame.size))
        axis, pieces = by_time_points(rows, frame)
        weights = Weights(axis, rows, [] if digits is None else digits.parts)

        def is_enough(keys: Array, ends: Array) -> Array:
            counts, *parts = weights.at(keys, ends, frame.size)
            weight = Digits([counts], _COUNT_BITS, 0) if digits is None else Digits(parts, digits.width, digits.exponent)
            return weight.reach(self._shape.least, self._shape.is_strict)

        pieces = _cut(pieces, is_enough)
        first = np.searchsorted(rows.keys, pieces.keys)
        columns = tuple(rows.batch.columns[each][first] for each in self._shape.by)
        return Batch(columns, pieces.begins, pieces.ends)

    def _row_by_row(self, rows: Rows, frame: Frame) -> Batch:
        shape = self._shape
        operator = Threshold(shape, lambda row: tuple([row[place] for place in shape.by]))
        facts = sorted(rows.batch.facts(self.pool), key=lambda fact: fact[1])
        return batch_of(operator.receive(0, facts, frame.last), self.width, self.pool)


def _cut(pieces: Pieces, is_enough: Callable[[Array, Array], Array]) -> Pieces:
    """What of each piece has enough; where its two ends differ, the change is found by halving what lies between."""
    begins, ends = pieces.begins.copy(), pieces.ends.copy()
    at_begin = is_enough(pieces.keys, begins)
    moves = np.flatnonzero((begins > NEG) & (ends < POS) & (ends > begins))
    at_end = at_begin.copy()
    at_end[moves] = is_enough(pieces.keys[moves], ends[moves])
    there = at_begin | at_end
    differs = np.flatnonzero(at_begin != at_end)
    before, behind, keys = begins[differs], ends[differs], pieces.keys[differs]
    while (behind - before > 1).any():
        middle = before + (behind - before) // 2
        as_before = is_enough(keys, middle) == at_begin[differs]
        before, behind = np.where(as_before, middle, before), np.where(as_before, behind, middle)
    falls = at_begin[differs]
    ends[differs[falls]] = before[falls]
    begins[differs[~falls]] = behind[~falls]
    return Pieces(pieces.places, pieces.keys, begins, ends).take(there)
