"""Windows over the rows of groups: at which ends something changes, and what lies in the window of an end.

Only windows that end at multiples of a step are told, each as far as the next multiple. So what happens to windows is put
off until the first multiple that sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.operators.columns.arrays import Array, np
from tidelog.operators.columns.axis import Axis, in_order
from tidelog.operators.columns.batch import Batch
from tidelog.operators.columns.keys import keys_of
from tidelog.operators.columns.moving import moved
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.timeline import NEG, POS

_NEIGHBOURS = 6
"""Rows of one group at one time are compared with so many before them; where there are more, all are told apart by keys."""


@dataclass(slots=True, eq=False)
class Rows:
    """Different rows in the order of their groups and begins: each time point of a row is there once.

    `is_as_given` tells whether the batch that they were made of had just these rows, in whatever order.
    """

    batch: Batch
    keys: Array
    size: int
    is_as_given: bool = False

    def within(self, first: int, last: int) -> Rows:
        """What of them lies within `first … last`."""
        batch = self.batch
        there = (batch.hi >= first) & (batch.lo <= last)
        keys = self.keys if there.all() else self.keys[there]
        return Rows(batch.clipped(first, last), keys, self.size)

    def most_at_once(self, size: int) -> int:
        """A bound for the time points that a window may have."""
        begins = np.flatnonzero(np.append(True, self.keys[1:] != self.keys[:-1]))
        most = int(np.diff(np.append(begins, len(self.keys))).max())
        lo, hi = self.batch.lo, self.batch.hi
        longest = size if (hi - size > lo).any() else int((hi - lo).max())
        return most * (longest + 1)


def grouped(batch: Batch, by: Sequence[int], pool: Pool) -> Rows:
    """The rows of a batch in groups by some of its columns."""
    is_of_points = not len(batch) or bool((batch.lo == batch.hi).all())
    if not is_of_points:
        batch = batch.tidied(pool)
    (keys,), size = keys_of([[batch.columns[place] for place in by]], [len(batch)], pool)
    order = in_order(keys, Axis(size, (batch.lo,), ()).begins(keys, batch.lo), batch.lo)
    if order is not None:
        lo = batch.lo[order]
        hi = lo if is_of_points else batch.hi[order]
        batch, keys = Batch(tuple(column[order] for column in batch.columns), lo, hi), keys[order]
    again = None
    if is_of_points:
        others = [column for place, column in enumerate(batch.columns) if place not in by]
        again = _said_again(others, keys, batch.lo, pool)
        if again.any():
            batch, keys = batch.take(~again), keys[~again]
    return Rows(batch, keys, size, is_as_given=again is not None and not again.any())


def _said_again(columns: Sequence[Array], keys: Array, times: Array, pool: Pool) -> Array:
    """Which rows say by these columns what another one before has said, of the same key at the same time."""
    found = np.zeros(len(keys), np.bool_)
    near = np.flatnonzero((keys[1:] == keys[:-1]) & (times[1:] == times[:-1]))
    for distance in range(1, _NEIGHBOURS):
        if distance > 1:
            near = near[near + distance < len(keys)]
            near = near[(keys[near] == keys[near + distance]) & (times[near] == times[near + distance])]
        if not len(near):
            return found
        again = near
        for column in columns:
            again = again[column[again] == column[again + distance]]
        found[again + distance] = True
    many = np.unique(near[:, None] + np.arange(_NEIGHBOURS))
    (rows,), _ = keys_of([[column[many] for column in (keys, times, *columns)]], [len(many)], pool)
    found[many] = True
    found[many[np.unique(rows, return_index=True)[1]]] = False
    return found


@dataclass(frozen=True, slots=True)
class Frame:
    """The ends of windows that are told now: multiples of `step` in `first … last`. They reach from `size` before."""

    size: int
    step: int
    first: int
    last: int

    @property
    def until(self) -> int:
        """As far as the last of them is told."""
        return self.last if self.last >= POS else self.last - self.last % self.step + self.step - 1

    @property
    def following(self) -> Frame:
        """The windows that end behind these."""
        first = POS if self.last >= POS else NEG if self.last <= NEG else self.last - self.last % self.step + self.step
        return Frame(self.size, self.step, first, POS)

    @property
    def latest(self) -> Frame:
        """The last of these windows, and those behind it."""
        return Frame(self.size, self.step, self.last if self.last >= POS else self.last - self.last % self.step, POS)

    def up_to(self, last: int) -> Frame:
        """The windows of these that end at or before a time."""
        return Frame(self.size, self.step, self.first, last)

    def put_off(self, times: Array) -> Array:
        """The first ends at or behind some times."""
        if self.step > 1:
            later = -(-times // self.step) * self.step
            times = later if is_finite(times) else np.where(abs(times) < POS, later, times)
        return np.maximum(times, self.first)

    def leaving(self, hi: Array) -> Array:
        """The first ends of which the windows begin behind some times."""
        return self.put_off(moved(hi, self.size + 1))


@dataclass(slots=True, eq=False)
class Pieces:
    """Ranges of ends over which nothing happens, in order; each of a group, and behind the piece before."""

    places: Array
    keys: Array
    begins: Array
    ends: Array

    def take(self, there: Array) -> Pieces:
        """Some of them."""
        return Pieces(self.places[there], self.keys[there], self.begins[there], self.ends[there])


def pieces_between(axis: Axis, keys: Array, events: Sequence[Array], frame: Frame) -> Pieces:
    """The pieces that begin where something happens in groups; `keys` are those of all events."""
    places = np.concatenate([_placed(axis, keys, times, frame) for times in events])
    places.sort(kind="stable")  # of runs in order, nearly always
    places = _different(places)
    of = axis.keys(places)
    begins, _ = axis.times(of, places, places)
    ends = np.full(len(begins), frame.until, np.int64)
    same = of[1:] == of[:-1]
    ends[:-1][same] = begins[1:][same] - 1
    return Pieces(places, of, begins, ends)


def by_time_points(rows: Rows, frame: Frame) -> tuple[Axis, Pieces]:
    """The pieces of ends between which time points come in and leave alike, and the axis that they lie on."""
    lo, hi = rows.batch.lo, rows.batch.hi
    events = [frame.put_off(lo), frame.leaving(lo)]
    if not (lo == hi).all():
        events += [frame.put_off(moved(hi, 1)), frame.leaving(hi)]
    if frame.last < POS:
        events = [np.minimum(times, frame.last + 1) for times in events]
    axis = Axis(rows.size, (lo, *[times[times < POS] for times in events]), (hi,))
    return axis, pieces_between(axis, rows.keys, events, frame)


def is_finite(times: Array) -> bool:
    """Whether no time is endless."""
    return not len(times) or (int(times.min()) > NEG and int(times.max()) < POS)


def _placed(axis: Axis, keys: Array, times: Array, frame: Frame) -> Array:
    """The places of events, of which many are the same in turn."""
    there = times <= min(frame.last, POS - 1)
    there[1:] &= (times[1:] != times[:-1]) | (keys[1:] != keys[:-1])
    return axis.begins(keys[there], times[there])


def _different(places: Array) -> Array:
    """Places without those that are as the one before."""
    return places if len(places) < 2 else places[np.append(True, places[1:] != places[:-1])]


# --- what lies in a window ----------------------------------------------------------------------------------------------


class Weights:
    """How much rows weigh in windows: so many time points, and for each of these what a row weighs by some columns.

    Sums may run over 64 bits and around, as long as what weighs in one window does not.
    """

    def __init__(self, axis: Axis, rows: Rows, weights: Sequence[Array]) -> None:
        lo, hi = rows.batch.lo, rows.batch.hi
        self._axis = axis
        self._begins = axis.begins(rows.keys, lo)
        self._sums = [_summed(each) for each in weights]
        self.is_of_points = bool((lo == hi).all())
        if self.is_of_points:
            return
        ends = axis.ends(rows.keys, hi)
        order = np.argsort(ends, kind="stable")
        self._ends = ends[order]
        all_ = [np.ones(len(lo), np.int64), *weights]
        self._begun = [(_summed(each), _summed(each * (lo - 1))) for each in all_]
        self._ended = [(_summed(each[order]), _summed((each * hi)[order])) for each in all_]

    def at(self, keys: Array, ends: Array, size: int) -> list[Array]:
        """How many time points the windows of some ends have, and what these weigh."""
        if self.is_of_points:
            first, behind = self.span(keys, ends, size)
            return [behind - first, *(each[behind] - each[first] for each in self._sums)]
        now, before = self._by(keys, ends), self._by(keys, ends - size - 1)
        return [one - other for one, other in zip(now, before, strict=True)]

    def span(self, keys: Array, ends: Array, size: int) -> tuple[Array, Array]:
        """The first rows at one time that windows have, and those behind the last."""
        first, behind = self._axis.begins(keys, ends - size), self._axis.behind(keys, ends)
        return np.searchsorted(self._begins, first), np.searchsorted(self._begins, behind)

    def _by(self, keys: Array, times: Array) -> list[Array]:
        """What has been weighed by a time: what has begun as if it went on, less what has ended since then."""
        places = self._axis.behind(keys, times)
        begun, ended = np.searchsorted(self._begins, places), np.searchsorted(self._ends, places)
        return [
            times * (weights[begun] - gone[ended]) - moments[begun] + left[ended]
            for (weights, moments), (gone, left) in zip(self._begun, self._ended, strict=True)
        ]


def _summed(values: Array) -> Array:
    found = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=found[1:])
    return found


# --- the best that covers a piece -----------------------------------------------------------------------------------------


def greatest(values: Array, first: Array, behind: Array, size: int) -> Array:
    """For each of `size` places the greatest of the values that lie on it, each from its first place on; −∞ if none does.

    A value is noted for two stretches of places that are a power of two long and make up its own; these are halved then.

    >>> greatest(np.array([1.0, 5.0]), np.array([0, 1]), np.array([3, 2]), 4).tolist()
    [1.0, 5.0, 1.0, -inf]
    """
    levels = np.frexp((behind - first).astype(np.float64))[1] - 1
    table = np.full(size, -np.inf)
    for level in range(int(levels.max(initial=0)), -1, -1):
        here = levels == level
        length = 1 << level
        np.maximum.at(table, first[here], values[here])
        np.maximum.at(table, behind[here] - length, values[here])
        if level:
            halved = table.copy()
            np.maximum(halved[length // 2 :], table[: size - length // 2], out=halved[length // 2 :])
            table = halved
    return table


# --- the number at a place ------------------------------------------------------------------------------------------------


def in_rank(ranks: Array, first: Array, behind: Array, place: Array) -> Array:
    """The ranks that stand at a place, counted from 0, where `ranks[first:behind]` are in order: bit by bit.

    >>> in_rank(np.array([3, 0, 2, 1]), np.array([0, 1]), np.array([2, 4]), np.array([1, 0])).tolist()
    [3, 0]
    """
    found = np.zeros(len(place), np.int64)
    for bit in range(int(ranks.max(initial=0)).bit_length() - 1, -1, -1):
        is_one = ranks >> bit & 1 == 1
        zeros = _summed(~is_one)
        before, until = zeros[first], zeros[behind]
        goes = place >= until - before
        place = np.where(goes, place - (until - before), place)
        first = np.where(goes, zeros[-1] + first - before, before)
        behind = np.where(goes, zeros[-1] + behind - until, until)
        found |= goes.astype(np.int64) << bit
        ranks = np.concatenate([ranks[~is_one], ranks[is_one]])
    return found
