"""All keys on one axis: the times of one key behind those of the other, so that sorted numbers do the work.

Ranges here are half-open, `begin` to `end`: they touch where one ends as the next begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.operators.columns.arrays import Array, np, packs, radix_order, ranges, ranks
from tidelog.operators.stores.room import NoRoomError, Room
from tidelog.plans.data.timeline import NEG, POS

_ROOM = 1 << 62


@dataclass(slots=True, eq=False)
class Runs:
    """Maximal runs in order on an axis, and the place of a row that each of them is of."""

    begins: Array
    ends: Array
    places: Array


class Axis:
    """Where the times of keys below `size` lie; made for all ranges `lo … hi` that are to be laid on it.

    Where the keys' times do not fit into 62 bits one behind another, only those times have a place that a range begins or
    ends at.
    """

    __slots__ = ("_first", "_has_ends", "_known", "_last", "_span")

    def __init__(self, size: int, lo: Sequence[Array], hi: Sequence[Array]) -> None:
        bounds = [_finite(times, NEG) for times in lo if len(times)] + [_finite(times, POS) for times in hi if len(times)]
        firsts = [first for first, _, _ in bounds if first is not None]
        lasts = [last for _, last, _ in bounds if last is not None]
        self._first = min(firsts, default=0) - 1  # NEG
        self._last = max(lasts, default=0) + 2  # behind POS
        self._span = self._last - self._first + 1
        self._has_ends = all(is_finite for _, _, is_finite in bounds)
        self._known: Array | None = None
        if size * self._span >= _ROOM:
            self._known = np.unique(np.concatenate([*lo, *(times + 1 for times in hi)]))
            self._span = len(self._known)

    def begins(self, keys: Array, lo: Array) -> Array:
        """The places at which ranges begin."""
        if self._known is not None:
            return self._placed(keys, np.searchsorted(self._known, lo))
        return self._placed(keys, np.maximum(lo, self._first) - self._first)

    def ends(self, keys: Array, hi: Array) -> Array:
        """The places behind the ranges."""
        if self._known is not None:
            return self._placed(keys, np.searchsorted(self._known, hi + 1))
        return self._placed(keys, np.minimum(hi + 1, self._last) - self._first)

    def behind(self, keys: Array, times: Array) -> Array:
        """The places before which all lies that begins at or before some times, be they known or not."""
        if self._known is not None:
            return self._placed(keys, np.searchsorted(self._known, np.maximum(times, NEG) + 1))
        return self._placed(keys, np.clip(times, self._first, self._last - 1) + (1 - self._first))

    def laid(self, keys: Array, lo: Array, hi: Array) -> tuple[Array, Array]:
        """The places at which ranges begin, and those behind them."""
        if self._known is not None or not self._has_ends:
            return self.begins(keys, lo), self.ends(keys, hi)
        origins: Array = keys * self._span
        origins -= self._first
        begins: Array = origins + lo
        origins += hi
        origins += 1
        return begins, origins

    def _placed(self, keys: Array, times: Array) -> Array:
        found: Array = keys * self._span
        found += times
        return found

    def times(self, keys: Array, begins: Array, ends: Array) -> tuple[Array, Array]:
        """The closed ranges of time of ranges on the axis."""
        origins: Array = keys * self._span
        if self._known is not None:
            return self._known[begins - origins], self._known[ends - origins] - 1
        origins -= self._first
        lo: Array = begins - origins
        origins += 1
        hi: Array = ends - origins
        if not self._has_ends:
            lo[lo == self._first] = NEG
            hi[hi == self._last - 1] = POS
        return lo, hi

    def keys(self, places: Array) -> Array:
        """The keys in whose times places lie."""
        return places // self._span

    def runs(self, keys: Array, lo: Array, hi: Array) -> Runs:
        """The maximal runs of ranges with keys."""
        laid = Laid(self, keys, lo, hi)
        return united(laid.begins, laid.ends, laid.places)


def in_order(keys: Array, begins: Array, lo: Array) -> Array | None:
    """The order of the places at which ranges begin; None where they are in order."""
    if not len(begins) or (begins[1:] >= begins[:-1]).all():
        return None
    most = int(keys.max()) + 1
    if (lo[1:] >= lo[:-1]).all():
        return radix_order(keys, most)
    for places in (begins, lo):
        first = int(places.min())
        span = int(places.max()) - first + 1
        if packs(len(places), span):
            order = radix_order(places - first, span)
            return order if places is begins else order[radix_order(keys[order], most)]
    return np.argsort(begins, kind="stable")


def united(begins: Array, ends: Array, places: Array | None) -> Runs:
    """The maximal runs of ranges in the order of their begins."""
    if not len(begins):
        return Runs(begins, ends, np.empty(0, np.int64))
    reached = np.maximum.accumulate(ends)
    is_first = np.empty(len(begins), np.bool_)
    is_first[0] = True
    np.greater(begins[1:], reached[:-1], out=is_first[1:])
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], len(begins)) - 1
    return Runs(begins[first], reached[last], first if places is None else places[first])


def without(begins: Array, ends: Array, runs_begin: Array, runs_end: Array) -> tuple[Array, Array, Array]:
    """What of ranges, in order, lies outside of maximal runs: begins, ends, and which range each piece is of."""
    if not len(runs_begin):
        return begins, ends, np.arange(len(begins))
    first = ranks(runs_end, begins, "right")  # the first run that ends behind the begin
    run = np.minimum(first, len(runs_begin) - 1)
    is_free = (first == len(runs_begin)) | (runs_begin[run] >= ends)
    is_covered = ~is_free & (runs_begin[run] <= begins) & (runs_end[run] >= ends)
    free, cut = np.flatnonzero(is_free), np.flatnonzero(~(is_free | is_covered))
    if not len(cut):
        return begins[free], ends[free], free
    lo, hi, owner = _gaps(begins[cut], ends[cut], first[cut], runs_begin, runs_end)
    return np.concatenate([begins[free], lo]), np.concatenate([ends[free], hi]), np.concatenate([free, cut[owner]])


def _gaps(begins: Array, ends: Array, first: Array, runs_begin: Array, runs_end: Array) -> tuple[Array, Array, Array]:
    """The pieces of ranges between the runs that meet them, of which `first` is the first."""
    count = np.searchsorted(runs_begin, ends, "left") - first
    owner = np.repeat(np.arange(len(begins)), count + 1)
    number = ranges(np.zeros(len(begins), np.int64), count + 1)
    at = first[owner] + number
    lo = np.where(number == 0, begins[owner], runs_end[np.maximum(at - 1, 0)])
    hi = np.where(number == count[owner], ends[owner], runs_begin[np.minimum(at, len(runs_begin) - 1)])
    there = lo < hi
    return lo[there], hi[there], owner[there]


def meetings(begins: Array, ends: Array, other_begins: Array, other_ends: Array, room: Room) -> tuple[Array, Array]:
    """The pairs of ranges on either side that share a place, each once, by their numbers; each side is in order.

    Of two that meet, one begins within the other: the others that begin in each range are found, and then the ranges that
    begin behind the begin of each other one. NoRoomError where they are more than there is room for.
    """
    others_first = ranks(other_begins, begins, "left")
    others = np.searchsorted(other_begins, ends, "left") - others_first
    own_first = ranks(begins, other_begins, "right")
    own = np.maximum(np.searchsorted(begins, other_ends, "left") - own_first, 0)
    pairs = int(others.sum() + own.sum())
    if pairs > room.rows:
        raise NoRoomError(pairs)
    left, right = np.repeat(np.arange(len(begins)), others), ranges(others_first, others)
    more, against = ranges(own_first, own), np.repeat(np.arange(len(other_begins)), own)
    return np.concatenate([left, more]), np.concatenate([right, against])


class Laid:
    """Ranges with keys on an axis, in order; `places` are their numbers, None where they were in order."""

    __slots__ = ("begins", "ends", "places")

    def __init__(self, axis: Axis, keys: Array, lo: Array, hi: Array) -> None:
        self.begins, self.ends = axis.laid(keys, lo, hi)
        self.places = in_order(keys, self.begins, lo)
        if self.places is not None:
            self.begins, self.ends = self.begins[self.places], self.ends[self.places]

    def numbers(self, found: Array) -> Array:
        """The numbers of ranges that are found by their places in order."""
        return found if self.places is None else self.places[found]


def _finite(times: Array, endless: int) -> tuple[int | None, int | None, bool]:
    """The least and the greatest of times that are finite, and whether all of them are."""
    least, most = int(times.min()), int(times.max())
    if endless not in (least, most):
        return least, most, True
    found = times[times != endless]
    return (int(found.min()), int(found.max()), False) if len(found) else (None, None, False)
