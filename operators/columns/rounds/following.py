"""Steps in rounds over numbered rows: what follows from what is new on the ports, and from all that is known there.

Nothing here waits for a frontier: all of time is there at once. What follows may have been told before; whoever takes it
adds it to what is known (`Numbered`), and goes on with what was new.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from tidelog.operators.columns.arrays import Array, np
from tidelog.operators.columns.batch import Batch, empty, joined
from tidelog.operators.columns.grouped.aggregates import ColumnAggregate
from tidelog.operators.columns.grouped.holding import ColumnLatest
from tidelog.operators.columns.grouped.thresholds import ColumnThreshold
from tidelog.operators.columns.joining import Joining, matching, outside, variables_in
from tidelog.operators.columns.kernel import Kernel
from tidelog.operators.columns.keys import keys_of
from tidelog.operators.columns.lasting import ColumnErode, ColumnLatch, ColumnPair
from tidelog.operators.columns.moving import ColumnDilate, ColumnStepped
from tidelog.operators.columns.pool import Pool
from tidelog.operators.columns.rounds.numbered import Image, Numbered, Table
from tidelog.plans.data.timeline import POS, Timeline
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    DilateShape,
    ErodeShape,
    JoinShape,
    LatchShape,
    LatestShape,
    PairShape,
    Shape,
    SteppedShape,
    ThresholdShape,
    UnionShape,
)

WHOLE = LatchShape | LatestShape | AggregateShape | ThresholdShape
"""What is computed from all that there is on its ports."""

News = Sequence[Batch | None]
"""Of each port what is new, as a numbered batch; None where nothing is."""


class Following(ABC):
    """A step; its rows are those of `table`. `looks_back` are the ports of which it asks for what is known."""

    looks_back: tuple[int, ...] = ()

    def __init__(self, table: Table) -> None:
        self.table = table

    @abstractmethod
    def follow(self, new: News) -> Batch:
        """What follows, as a numbered batch; what is known has what is new, too."""


class _Moving(Following):
    """◇ and stepped windows: rows stay what they are."""

    def __init__(self, table: Table, kernel: ColumnDilate | ColumnStepped) -> None:
        super().__init__(table)
        self._kernel = kernel

    def follow(self, new: News) -> Batch:
        return self._kernel.give(0, _there(new[0]))


class _Rewriting(Following):
    """Unions, and joins of one atom: what a row becomes does not depend on when it holds."""

    def __init__(self, table: Table, images: Sequence[Image]) -> None:
        super().__init__(table)
        self._images = images

    def follow(self, new: News) -> Batch:
        found = [image.of(batch) for image, batch in zip(self._images, new, strict=True) if batch is not None]
        return joined(found, 1, self.table.pool)


class _Lasting(Following):
    """□: of each row that something is new of, all that follows."""

    def __init__(self, known: Sequence[Numbered], shape: ErodeShape) -> None:
        super().__init__(known[0].table)
        self.looks_back = tuple(range(len(known)))
        self._known = known
        self._kernel = ColumnErode(shape, 1, self.table.pool)

    def follow(self, new: News) -> Batch:
        whole, *start = [port.held for port in self._known]
        if new[0] is not None and not any(batch is not None for batch in new[1:]):
            whole = self._known[0].of_rows(new[0].columns[0])
        return self._kernel.compute([whole, *start], POS)


class _Joined(Following):
    """A join of several atoms: what is new of each meets all that is known of the others."""

    def __init__(self, table: Table, known: Sequence[Numbered], shape: JoinShape) -> None:
        super().__init__(table)
        self.looks_back = tuple(range(len(known)))
        self._known = known
        self._joining = Joining(shape, table.pool)
        self._laid: dict[int, tuple[Batch, Batch]] = {}

    def follow(self, new: News) -> Batch:
        every = [self._all(port, known.held) for port, known in enumerate(self._known)]
        if not all(map(len, every)):
            return empty(1)
        found = []
        for port, batch in enumerate(new):
            if batch is not None:
                found.append(self._joining.of([*every[:port], self._pattern(port, batch), *every[port + 1 :]]))
        return _numbered(joined(found, self._joining.width, self.table.pool), self.table)

    def _all(self, port: int, held: Batch) -> Batch:
        """All that is known of a port; what has not changed is laid out once."""
        if port not in self._laid or self._laid[port][0] is not held:
            self._laid[port] = held, self._pattern(port, held)
        return self._laid[port][1]

    def _pattern(self, port: int, batch: Batch) -> Batch:
        return self._joining.pattern(port, self._known[port].table.laid(batch)) if len(batch) else batch


class _Outside(Following):
    """M without N, where N is complete before the first round."""

    looks_back = (1,)

    def __init__(self, positive: Table, negative: Numbered, shape: AntiJoinShape) -> None:
        super().__init__(positive)
        self._negative = negative
        self._negated = shape.negated
        self._names = variables_in(shape.negated)
        self._places = [shape.columns.index(name) for name in self._names]
        self._runs: Batch | None = None

    def follow(self, new: News) -> Batch:
        pool = self.table.pool
        batch = new[0]
        if batch is None:
            return empty(1)
        if self._runs is None:
            negative = _whole(self._negative, len(self._negated))
            self._runs = matching(self._negated, self._names, negative, pool)
        if not len(self._runs):
            return batch
        laid = self.table.laid(batch)
        asked = [laid.columns[place] for place in self._places]
        rows = Batch((batch.columns[0], *asked), batch.lo, batch.hi)
        found = outside(rows, range(1, len(asked) + 1), self._runs, pool)
        return Batch(found.columns[:1], found.lo, found.hi)


class _Paired(Following):
    """Since and until: all that follows from the rows whose shared values something is new of."""

    looks_back = (0, 1)

    def __init__(self, table: Table, known: Sequence[Numbered], shape: PairShape, timeline: Timeline) -> None:
        super().__init__(table)
        self._known = known
        self._kernel = ColumnPair(shape, timeline, table.pool)
        shared = [name for name in shape.right if name in shape.left]
        self._shared = [[names.index(name) for name in shared] for names in (shape.left, shape.right)]

    def follow(self, new: News) -> Batch:
        held = [_whole(known, width) for known, width in zip(self._known, self._kernel.widths, strict=True)]
        fresh = [None if batch is None else known.table.laid(batch) for known, batch in zip(self._known, new, strict=True)]
        return _numbered(self._kernel.compute(self._touched(held, fresh), POS), self.table)

    def _touched(self, held: list[Batch], fresh: Sequence[Batch | None]) -> list[Batch]:
        """The rows of either side whose shared values are those of something new."""
        tables = [[side.columns[place] for place in self._shared[port]] for port, side in enumerate(held)]
        lengths = [len(side) for side in held]
        for port, side in enumerate(fresh):
            if side is not None:
                tables.append([side.columns[place] for place in self._shared[port]])
                lengths.append(len(side))
        keys, size = keys_of(tables, lengths, self.table.pool)
        is_touched = np.zeros(size, np.bool_)
        for some in keys[2:]:
            is_touched[some] = True
        return [side.take(is_touched[own]) for side, own in zip(held, keys, strict=False)]


class _Whole(Following):
    """A kernel that gets all of its ports anew: what is negated, counted or held is complete, so that is once. What has to
    come to a threshold may grow."""

    def __init__(self, table: Table, known: Sequence[Numbered], build: Callable[[int], Kernel]) -> None:
        super().__init__(table)
        self.looks_back = tuple(range(len(known)))
        self._known = known
        self._build = build

    def follow(self, new: News) -> Batch:
        kernel = self._build(len(self._known[0].table.columns))
        ports = [_whole(known, width) for known, width in zip(self._known, kernel.widths, strict=True)]
        return _numbered(kernel.advance(ports, [POS] * len(ports), POS), self.table)


def follow_step(shape: Shape, ports: Sequence[Numbered], table: Table, timeline: Timeline) -> Following:
    """A step whose ports bring these rows. `table` is for the rows that it makes; where it makes none, its own is
    that of its first port. NoRoomError, from its rounds, where it would make more than the pool has room for.
    TypeError for a shape that is not followed.
    """
    pool = table.pool
    match shape:
        case DilateShape(metric, future):
            return _Moving(ports[0].table, ColumnDilate(metric, future, 1, pool))
        case SteppedShape(step):
            return _Moving(ports[0].table, ColumnStepped(step, 1, pool))
        case ErodeShape():
            return _Lasting(ports, shape)
        case UnionShape():
            return _Rewriting(table, [Image(port.table, table) for port in ports])
        case JoinShape(atoms=(_,)):
            return _Rewriting(table, [Image(ports[0].table, table, _selecting(shape, pool))])
        case JoinShape():
            return _Joined(table, ports, shape)
        case AntiJoinShape():
            return _Outside(ports[0].table, ports[1], shape)
        case PairShape():
            return _Paired(table, ports, shape, timeline)
        case LatchShape() | LatestShape() | AggregateShape() | ThresholdShape():
            return _Whole(table, ports, lambda width: _kernel(shape, width, timeline, pool))
        case _:
            raise TypeError(f"{type(shape).__name__} is not followed in rounds")


def _kernel(shape: WHOLE, width: int, timeline: Timeline, pool: Pool) -> Kernel:
    match shape:
        case LatchShape():
            return ColumnLatch(shape, timeline, pool)
        case LatestShape():
            return ColumnLatest(shape, width, pool)
        case AggregateShape():
            return ColumnAggregate(shape, width, pool)
        case ThresholdShape():
            return ColumnThreshold(shape, width, pool)


def _whole(known: Numbered, width: int) -> Batch:
    """All that is known of a port."""
    return known.table.laid(known.held) if len(known.held) else empty(width)


def _selecting(shape: JoinShape, pool: Pool) -> Callable[[Batch], Batch]:
    joining = Joining(shape, pool)
    return lambda rows: joining.of([joining.pattern(0, rows)])


def _numbered(batch: Batch, table: Table) -> Batch:
    """A batch with its rows' numbers in place of their columns."""
    numbers: Array = table.numbers(batch.columns, len(batch))
    return Batch((numbers,), batch.lo, batch.hi)


def _there(batch: Batch | None) -> Batch:
    return empty(1) if batch is None else batch
