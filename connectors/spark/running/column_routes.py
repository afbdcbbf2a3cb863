"""Facts in columns on their way to stages: addressed as `Routes` addresses rows, without an object a fact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.connectors.spark.running.parcels import PACK_BYTES, Parcels, bucket_of
from tidelog.plans.stages.needed import Condition, Needed, needed_rows
from tidelog.plans.stages.stages import Stage
from tidelog.plans.tree.arithmetic import COMPARE
from tidelog.plans.tree.numerals import EXACT_FLOAT
from tidelog.plans.tree.syntax import ComparisonOperator, Value
from tidelog.runtime.frames.columns import (
    Array,
    Batch,
    Pool,
    is_number,
    joined,
    np,
    packed,
    radix_order,
    stable_order,
)

_COMPARE: Mapping[ComparisonOperator, Any] = COMPARE  # what compares numbers compares arrays, too
PACK = 1 << 15
"""How many facts a pack of columns holds, at most."""


@dataclass(slots=True, eq=False)
class _Route:
    """One stage's input: what it is called there, by which argument its facts are dealt into buckets, and which it needs."""

    stage: int
    name: str
    position: int | None
    needed: Needed | None
    gathered: list[tuple[Batch, Array | None]] = field(default_factory=list)


class ColumnRoutes:
    """Where facts go: from the stream, or from a stage, to those stages that read them; with `whole`, also such as no rule
    there can match. They are gathered, then sent."""

    def __init__(self, stages: Sequence[Stage], buckets: int, pool: Pool, *, whole: bool = False) -> None:
        self._pool, self._buckets = pool, buckets
        self._bucket = _OfValue(pool, lambda value: bucket_of(value, buckets), np.int64)
        self._tests: dict[Condition, _OfValue] = {}
        self._routes: dict[tuple[int | None, str], list[_Route]] = {}
        self._size = 0
        for stage in stages:
            for item in stage.inputs:
                needed = None if whole else needed_rows(stage.program, item.name)
                route = _Route(stage.number, item.name, item.position, needed)
                self._routes.setdefault((item.source, item.predicate), []).append(route)

    def __len__(self) -> int:
        """How many facts have been gathered, for each stage that they go to."""
        return self._size

    def send(self, source: int | None, predicate: str, batch: Batch) -> bool:
        """Address facts of the stream (`source` is None) or of a stage, but to no stage whose rules pass over them.

        Returns whether any stage reads the predicate at all.
        """
        routes = self._routes.get((source, predicate))
        for route in routes or ():
            own = batch if route.needed is None else batch.take(self._passes(route.needed, batch))
            if len(own):
                bucket = None if route.position is None else self._bucket.of(own.columns[route.position])
                route.gathered.append((own, bucket))
                self._size += len(own)
        return routes is not None

    def drain(self, parcels: Parcels) -> None:
        """Add what has been gathered, as packs: those of a bucket in the order of their begins."""
        for routes in self._routes.values():
            for route in routes:
                for bucket, batch in self._dealt(route):
                    self._pack(route, bucket, batch, parcels)
                route.gathered = []
        self._size = 0

    def _dealt(self, route: _Route) -> Iterator[tuple[int, Batch]]:
        """The facts of each bucket."""
        if not route.gathered:
            return
        batch = joined([batch for batch, _ in route.gathered], route.gathered[0][0].width, self._pool)
        is_ordered = not (batch.lo[1:] < batch.lo[:-1]).any()
        order = None if is_ordered else stable_order(batch.lo)
        batch = batch if order is None else batch.take(order)
        if route.position is None:
            yield 0, batch
            return
        buckets = np.concatenate([bucket for _, bucket in route.gathered if bucket is not None])
        buckets = buckets if order is None else buckets[order]
        batch = batch.take(radix_order(buckets, self._buckets))
        ends = np.cumsum(np.bincount(buckets, minlength=self._buckets)).tolist()
        for bucket, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
            if begin < end:
                yield bucket, batch.part(begin, end)

    def _pack(self, route: _Route, bucket: int, batch: Batch, parcels: Parcels) -> None:
        for begin in range(0, len(batch), PACK):
            part = batch.part(begin, begin + PACK)
            for each, row in _halved(part, self._pool):
                parcels.columns(route.stage, bucket, route.name, len(each), (int(each.lo[0]), int(each.lo[-1])), row)

    def _passes(self, needed: Needed, batch: Batch) -> Array:
        found = np.zeros(len(batch), np.bool_)
        for case in needed.cases:
            own = np.ones(len(batch), np.bool_)
            for condition in case:
                own &= self._meets(condition, batch.columns[condition.place])
            found |= own
        return found

    def _meets(self, condition: Condition, column: Array) -> Array:
        value = condition.value
        if is_number(column) and not isinstance(value, str) and abs(value) < EXACT_FLOAT:
            compare: Callable[[Array, float], Array] = _COMPARE[condition.operator]
            return compare(column, float(value))
        test = self._tests.get(condition)
        if test is None:
            test = self._tests[condition] = _OfValue(self._pool, condition.holds_of, np.bool_)
        return test.of(column)


class _OfValue:
    """What a function says of the values of a column; of each value of the pool it is asked once."""

    def __init__(self, pool: Pool, tell: Callable[[Value], Any], kind: type) -> None:
        self._pool, self._tell, self._kind = pool, tell, kind
        self._known: Array = np.empty(0, kind)

    def of(self, column: Array) -> Array:
        """What it says, row by row."""
        if is_number(column):
            found, places = np.unique(column, return_inverse=True)
            return self._told(self._pool.listed(found))[places]
        unknown = self._pool.values[len(self._known) :]
        if unknown:
            self._known = np.concatenate((self._known, self._told(unknown)))
        return self._known[column]

    def _told(self, values: Sequence[Value]) -> Array:
        return np.array([self._tell(value) for value in values], self._kind)


def _halved(batch: Batch, pool: Pool) -> Iterator[tuple[Batch, bytes]]:
    """A batch in packs, none larger than `PACK_BYTES` unless one fact is."""
    row = packed(batch, pool)
    if len(row) <= PACK_BYTES or len(batch) == 1:
        yield batch, row
        return
    half = len(batch) // 2
    yield from _halved(batch.part(0, half), pool)
    yield from _halved(batch.part(half, len(batch)), pool)
