"""The kernel of aggregates: all rows of all groups at once, piece by piece of the ends of windows.

What lies in a window changes at few ends: where a row comes in, and where it leaves. In between, a function either stays
the same, or, where rows that hold for longer come in or leave tick by tick, is looked at tick by tick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.operators.columns.arrays import Array, is_number, np, ranges
from tidelog.operators.columns.axis import Axis
from tidelog.operators.columns.batch import Batch, batch_of, empty, joined
from tidelog.operators.columns.grouped.exact import (
    Digits,
    NotExactError,
    deviations,
    digits_of,
    floats_of,
    quotients,
    squares_of,
)
from tidelog.operators.columns.grouped.windows import (
    Frame,
    Pieces,
    Rows,
    Weights,
    by_time_points,
    greatest,
    grouped,
    in_rank,
    pieces_between,
)
from tidelog.operators.columns.kernel import Resumable
from tidelog.operators.columns.keys import keys_of
from tidelog.operators.columns.moving import moved, times_as_numbers
from tidelog.operators.columns.pool import Pool
from tidelog.operators.grouped.aggregate import Aggregate
from tidelog.operators.grouped.counting.accounts import NUMERIC
from tidelog.operators.grouped.counting.extremes import order_of
from tidelog.operators.grouped.grouped import MOST_RANGES
from tidelog.operators.stores.pieces import Pieces as ToldPieces
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import AggregateShape
from tidelog.plans.tree.syntax import AggregateFunction

_LONGEST = 1 << 48
"""What lasts, within a longer time than this, is counted row by row: what it weighs might not fit into 64 bits."""


@dataclass(slots=True, eq=False)
class Answers:
    """A value for each of some ranges of ends, of groups."""

    keys: Array
    begins: Array
    ends: Array
    values: Array

    def take(self, there: Array) -> Answers:
        """Some of them."""
        return Answers(self.keys[there], self.begins[there], self.ends[there], self.values[there])


class ColumnAggregate(Resumable):
    """`M'(G, A) ← A = f(V) over M in [n step d] by G`.

    A quantile of rows that hold at more than one time, and counts and sums of which the digits or the times do not fit, are
    computed row by row by `Aggregate`. Kept are the rows that the last window has, or a later one may have, and what has
    been found beyond the frontier: with a step, the last window is told as far as the next one.
    """

    def __init__(self, shape: AggregateShape, width: int, pool: Pool) -> None:
        super().__init__([width], len(shape.by) + 1, pool)
        self._shape = shape
        self._held: list[Batch] = []
        self._last = empty(width)
        """The rows that the last window alone has: later ones are told without them, but a stream goes on with that one."""
        self._beyond = empty(self.width)

    def advance(self, fresh: Sequence[Batch], frontiers: Sequence[int], frontier: int) -> Batch:
        frame = self._frame(frontier)
        if len(fresh[0]):
            new, failed = with_values(fresh[0], self._shape.function, self._shape.value, self.pool)
            self.failed += failed
            self._held = [*self._held, _lasting(new, frame)]
        found = self._beyond
        if frame.first <= frontier and frontier > NEG:
            found = joined([found, self._windows(frame)], self.width, self.pool)
        out, self._beyond = self.told(found, frontier)
        return out

    def _windows(self, frame: Frame) -> Batch:
        """What is told of windows, behind which the rows are kept that the last of them and later ones have.

        They stay in the order in which they have come, which is nearly always that of time: so they are put in order faster.
        """
        held = joined(self._held, self.widths[0], self.pool)
        rows = grouped(held, self._shape.by, self.pool)
        kept = held if rows.is_as_given else rows.batch
        following = _is_lasting(kept, frame.following)
        self._last = kept.take(_is_lasting(kept, frame.latest) & ~following)
        self._held = [kept.take(following)]
        now = rows.within(max(frame.first - frame.size, NEG), frame.last)
        return self._told(now, frame) if len(now.batch) else empty(self.width)

    def held(self) -> Sequence[Batch]:
        return [self._last, *self._held, self._beyond]

    def go_on_from(self, held: Sequence[Batch], frontier: int) -> None:
        (self._last, *self._held, self._beyond), self.frontier = held, frontier

    def remains(self) -> Sequence[Batch]:
        return [joined([self._last, *self._held], self.widths[0], self.pool)]

    def _frame(self, frontier: int) -> Frame:
        """The windows that end behind the last frontier, and up to this one."""
        return Frame(self._shape.size, self._shape.step, NEG, self.frontier).following.up_to(frontier)

    # --- what is told -----------------------------------------------------------------------------------------------------

    def _told(self, rows: Rows, frame: Frame) -> Batch:
        try:
            found = self._answers(rows, frame)
        except NotExactError:
            return self._row_by_row(rows, frame)
        found = _longest(found)
        first = np.searchsorted(rows.keys, found.keys)
        columns = [rows.batch.columns[place][first] for place in self._shape.by]
        return Batch((*columns, found.values), found.begins, found.ends)

    def _answers(self, rows: Rows, frame: Frame) -> Answers:
        match self._shape.function:
            case "min" | "max" | "distinct":
                return self._standing(rows, frame)
            case "first" | "last":
                return self._edges(rows, frame)
            case "quantile":
                return self._quantiles(rows, frame)
            case _:
                return self._flowing(rows, frame)

    def _row_by_row(self, rows: Rows, frame: Frame) -> Batch:
        shape = self._shape
        operator = Aggregate(shape, lambda row: tuple([row[place] for place in shape.by]))
        operator.pieces = ToldPieces()
        facts = sorted(rows.batch.facts(self.pool), key=lambda fact: fact[1])
        told = operator.receive(0, facts, frame.last)
        self.failed += operator.failed_evaluations()
        return batch_of(told, self.width, self.pool).clipped(frame.first, frame.until)

    def _values(self, rows: Rows) -> Array:
        place = self._shape.value
        if place is None:
            raise TypeError(f"{self._shape.function} is of a value")
        return rows.batch.columns[place]

    # --- counts, sums, means and deviations -------------------------------------------------------------------------------

    def _flowing(self, rows: Rows, frame: Frame) -> Answers:
        sums = self._digits(rows, frame)
        axis, pieces = by_time_points(rows, frame)
        weights = Weights(axis, rows, [part for each in sums for part in each.parts])
        if not weights.is_of_points:
            if int(rows.batch.hi.max()) - int(rows.batch.lo.min()) > _LONGEST:
                raise NotExactError
            pieces = self._tick_by_tick(pieces, weights, sums, frame)
        counts, *parts = weights.at(pieces.keys, pieces.begins, frame.size)
        some = counts > 0
        values, there = self._computed(counts[some], [part[some] for part in parts], sums)
        pieces = pieces.take(some)
        return Answers(pieces.keys, pieces.begins, pieces.ends, values).take(there)

    def _digits(self, rows: Rows, frame: Frame) -> list[Digits]:
        """What is summed of each row: nothing where rows are counted."""
        if self._shape.function == "count":
            return []
        most = rows.most_at_once(frame.size)
        floats = floats_of(self._values(rows), self.pool)
        found = [digits_of(floats, most)]
        if self._shape.function == "stddev":
            found.append(digits_of(squares_of(floats), most))
        return found

    def _computed(self, counts: Array, parts: Sequence[Array], sums: Sequence[Digits]) -> tuple[Array, Array]:
        """The function's values, and which there are; those beyond all floats are counted."""
        if not sums:
            return times_as_numbers(counts, self.pool), np.ones(len(counts), np.bool_)
        size = len(sums[0].parts)
        total = Digits(list(parts[:size]), sums[0].width, sums[0].exponent)
        if self._shape.function == "stddev":
            squares = Digits(list(parts[size:]), sums[1].width, sums[1].exponent)
            values, there = deviations(total, squares, counts, self.pool)
            self.failed += int(np.count_nonzero(~there & (counts > 1)))
            return values, there
        values, there = quotients(total, counts if self._shape.function == "avg" else np.ones_like(counts), self.pool)
        self.failed += int(np.count_nonzero(~there))
        return values, there

    def _tick_by_tick(self, pieces: Pieces, weights: Weights, sums: Sequence[Digits], frame: Frame) -> Pieces:
        """The pieces, with one for each window where what the windows weigh changes from one to the next."""
        last = np.where(pieces.ends < POS, pieces.ends - pieces.ends % frame.step, pieces.begins)
        flows = (pieces.begins > NEG) & (last > pieces.begins)
        here = pieces.take(flows)
        now, then = (weights.at(here.keys, ends, frame.size) for ends in (here.begins, here.begins + frame.step))
        changes = np.zeros(len(here.keys), np.bool_)
        for one, other in zip(now, then, strict=True):
            changes |= one != other
        if self._shape.function == "avg":
            at_end = weights.at(here.keys, last[flows], frame.size)
            changes &= self._differ(now, at_end, sums)
        count = np.ones(len(flows), np.int64)
        count[np.flatnonzero(flows)[changes]] = ((last[flows] - here.begins) // frame.step + 1)[changes]
        if int(count.max(initial=0)) > MOST_RANGES:
            raise OverflowError(f"it has more than {MOST_RANGES:,} values one after another")
        number = ranges(np.zeros(len(count), np.int64), count)
        begins = np.repeat(pieces.begins, count) + number * frame.step
        ends = np.where(number == np.repeat(count - 1, count), np.repeat(pieces.ends, count), begins + frame.step - 1)
        return Pieces(np.repeat(pieces.places, count), np.repeat(pieces.keys, count), begins, ends)

    def _differ(self, now: Sequence[Array], then: Sequence[Array], sums: Sequence[Digits]) -> Array:
        """Whether means differ: between two that are the same there is no other, since they go up, or down, all the way."""
        failed = self.failed
        found = np.ones(len(now[0]), np.bool_)
        some = (now[0] > 0) & (then[0] > 0)
        one, is_there = self._computed(now[0][some], [part[some] for part in now[1:]], sums)
        other, is_too = self._computed(then[0][some], [part[some] for part in then[1:]], sums)
        one, other = self.pool.alike([one, other])
        found[some] = (one != other) | ~is_there | ~is_too
        self.failed = failed
        return found

    # --- least, greatest, and how many different --------------------------------------------------------------------------

    def _standing(self, rows: Rows, frame: Frame) -> Answers:
        """Each row stands as long as a window has it: the best that stands, or how many values do."""
        values, (begins, ends) = self._values(rows), _lifetimes(rows.batch.lo, rows.batch.hi, frame)
        there = begins <= ends
        keys, begins, ends, values = rows.keys[there], begins[there], ends[there], values[there]
        if self._shape.function == "distinct":
            (own,), size = keys_of([[keys, values]], [len(keys)], self.pool)
            axis = Axis(size, (begins,), (ends,))
            runs = axis.runs(own, begins, ends)
            begins, ends = axis.times(own[runs.places], runs.begins, runs.ends)
            keys = keys[runs.places]
        axis = Axis(rows.size, (begins,), (ends,))
        pieces = pieces_between(axis, keys, [begins, moved(ends, 1)], frame)
        first = np.searchsorted(pieces.places, axis.begins(keys, begins))
        behind = np.searchsorted(pieces.places, axis.ends(keys, ends))
        size = len(pieces.places)
        if self._shape.function == "distinct":
            counts = np.cumsum(np.bincount(first, minlength=size + 1) - np.bincount(behind, minlength=size + 1))[:size]
            return Answers(pieces.keys, pieces.begins, pieces.ends, counts.astype(np.float64)).take(counts > 0)
        order = Order(values, self.pool, is_least=self._shape.function == "min")
        best = greatest(order.ranks, first, behind, size)
        pieces, best = pieces.take(best > -np.inf), best[best > -np.inf]
        return Answers(pieces.keys, pieces.begins, pieces.ends, order.values(best))

    # --- first and last ---------------------------------------------------------------------------------------------------

    def _edges(self, rows: Rows, frame: Frame) -> Answers:
        """The best at each time, and for which windows that time is the first, or the last."""
        is_first = self._shape.function == "first"
        lo, hi, keys = rows.batch.lo, rows.batch.hi, rows.keys
        axis = Axis(rows.size, (lo,), (hi,))
        times = pieces_between(axis, keys, [lo, moved(hi, 1)], Frame(0, 1, NEG, frame.last))
        order = Order(self._values(rows), self.pool, is_least=is_first)
        first = np.searchsorted(times.places, axis.begins(keys, lo))
        best = greatest(order.ranks, first, np.searchsorted(times.places, axis.ends(keys, hi)), len(times.places))
        times, best = times.take(best > -np.inf), best[best > -np.inf]
        begins, ends = times.begins, moved(times.ends, frame.size)
        same = times.keys[1:] == times.keys[:-1]
        if is_first:
            begins = begins.copy()
            begins[1:][same] = np.maximum(begins[1:], ends[:-1] + 1)[same]
        else:
            ends[:-1][same] = np.minimum(ends[:-1], begins[1:] - 1)[same]
        begins, ends = _put_off(begins, ends, frame)
        return Answers(times.keys, begins, ends, order.values(best)).take(begins <= ends)

    # --- quantiles --------------------------------------------------------------------------------------------------------

    def _quantiles(self, rows: Rows, frame: Frame) -> Answers:
        axis, pieces = by_time_points(rows, frame)
        weights = Weights(axis, rows, [])
        if not weights.is_of_points or self._shape.fraction is None:
            raise NotExactError
        first, behind = weights.span(pieces.keys, pieces.begins, frame.size)
        some = first < behind
        pieces, first, behind = pieces.take(some), first[some], behind[some]
        order = Order(self._values(rows), self.pool, is_least=False)
        known, ranks = np.unique(order.ranks, return_inverse=True)
        sizes, numbers = np.unique(behind - first, return_inverse=True)
        above, whole = self._shape.fraction.numerator, self._shape.fraction.denominator
        places = [divmod(above * (size - 1), whole) for size in sizes.tolist()]
        low, rests = np.array([place for place, _ in places], np.int64), [rest for _, rest in places]
        high = np.minimum(low + 1, sizes - 1)
        both = np.concatenate([low[numbers], high[numbers]])
        found = order.values(known[in_rank(ranks, np.tile(first, 2), np.tile(behind, 2), both)])
        values = self._between(found[: len(first)], found[len(first) :], rests, numbers)
        return Answers(pieces.keys, pieces.begins, pieces.ends, values)

    def _between(self, low: Array, high: Array, rests: Sequence[int], numbers: Array) -> Array:
        """What lies between neighbours in proportion: so many parts of the denominator behind the lower one."""
        open_ = np.flatnonzero(low != high)
        if self._shape.fraction is None or not len(open_):
            return low
        whole = self._shape.fraction.denominator
        floats = floats_of(np.concatenate([low[open_], high[open_]]), self.pool)
        digits, rest = digits_of(floats, 2 * whole), np.array(rests, np.int64)[numbers[open_]]
        size = len(open_)
        total = digits.map(lambda part: part[:size] * (whole - rest) + part[size:] * rest)
        column, _ = quotients(total, np.full(size, whole), self.pool)
        if not is_number(low) or not is_number(column):
            low, column = self.pool.coded(low), self.pool.coded(column)
        low = low.copy()
        low[open_] = column
        return low


class Order:
    """How values of a column are compared, numbers before texts: a float for each; turned round where the least is best."""

    def __init__(self, column: Array, pool: Pool, *, is_least: bool) -> None:
        self._sign = -1.0 if is_least else 1.0
        self._codes: Array | None = None
        if is_number(column):
            self.ranks = column * self._sign
            return
        codes, places = np.unique(column, return_inverse=True)
        listed = pool.listed(codes)
        order = sorted(range(len(codes)), key=lambda place: order_of(listed[place]))
        self._codes = codes[order]
        rank = np.empty(len(codes))
        rank[order] = np.arange(len(codes))
        self.ranks = rank[places] * self._sign

    def values(self, ranks: Array) -> Array:
        """The values that stand at some ranks."""
        found: Array = ranks * self._sign + 0.0
        return found if self._codes is None else self._codes[found.astype(np.int64)]


def with_values(batch: Batch, function: AggregateFunction, place: int | None, pool: Pool) -> tuple[Batch, int]:
    """The rows that a function takes, and how many it does not: texts, where it takes numbers."""
    return (batch, 0) if place is None or function not in NUMERIC else without_texts(batch, place, pool)


def without_texts(batch: Batch, place: int, pool: Pool) -> tuple[Batch, int]:
    """The rows of which a column is a number, and how many others there were."""
    column = batch.columns[place]
    if is_number(column) or not len(batch):
        return batch, 0
    codes, places = np.unique(column, return_inverse=True)
    is_text = np.array([isinstance(value, str) for value in pool.listed(codes)], np.bool_)[places]
    if not is_text.any():
        return batch, 0
    return batch.take(~is_text), len(batch.take(is_text).tidied(pool))


def _lasting(batch: Batch, frame: Frame) -> Batch:
    """The rows that a window has which ends at the first of these ends or later."""
    there = _is_lasting(batch, frame)
    return batch if there.all() else batch.take(there)


def _is_lasting(batch: Batch, frame: Frame) -> Array:
    """Which rows a window has which ends at the first of these ends or later."""
    if frame.first <= NEG:
        return np.ones(len(batch), np.bool_)
    if frame.first >= POS:
        return np.zeros(len(batch), np.bool_)
    there: Array = batch.hi >= frame.first - frame.size
    if frame.step > frame.size + 1:  # some times lie in no window
        there &= frame.put_off(batch.lo) - frame.size <= batch.hi
    return there


def _lifetimes(lo: Array, hi: Array, frame: Frame) -> tuple[Array, Array]:
    """From when to when rows lie in windows."""
    return _put_off(lo, moved(hi, frame.size), frame)


def _put_off(begins: Array, ends: Array, frame: Frame) -> tuple[Array, Array]:
    """What is so of the windows that end in some ranges, as it is told; empty if there are none."""
    begins, behind = frame.put_off(begins), frame.put_off(moved(ends, 1))
    ends = np.minimum(np.where(behind < POS, behind - 1, POS), frame.until)
    return begins, np.where(begins <= frame.last, ends, NEG - 1)


def _longest(found: Answers) -> Answers:
    """Answers that touch and are the same as one."""
    if len(found.keys) < 2:
        return found
    goes_on = (found.keys[1:] == found.keys[:-1]) & (found.values[1:] == found.values[:-1])
    goes_on &= found.begins[1:] == found.ends[:-1] + 1
    if not goes_on.any():
        return found
    longest = found.take(np.append(True, ~goes_on))
    return Answers(longest.keys, longest.begins, found.ends[np.append(~goes_on, True)], longest.values)
