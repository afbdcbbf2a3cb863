"""Answers of stretches in the form of `emit`: in columns where a form has one for them, and else by the emission of rows.

What each form tells is what `runtime/emission` tells, in the same order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat

from tidelog.operators.columns.arrays import stable_order
from tidelog.operators.columns.batch import Batch, empty, joined
from tidelog.operators.columns.pool import Pool
from tidelog.operators.stores.room import Room
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.runtime.columns.memory import ROW
from tidelog.runtime.emission.emission import Emission, put_in_final_order
from tidelog.runtime.emission.modes import check_mode, emission
from tidelog.runtime.ports.interfaces import EmitMode


class Telling(ABC):
    """Turns what outputs say of a stretch into answers."""

    follows_arrivals = False
    """Whether the arrival of input facts alone may have something told."""

    def size(self) -> int:
        """How many bytes the answers take that are kept until they are final."""
        return 0

    @abstractmethod
    def receive(self, predicate: str, batch: Batch, frontier: int) -> list[Record]:
        """Take what is new of an output, and how far that is known."""

    def finish(self) -> list[Record]:
        """The history has ended."""
        return []

    def arrive(self, points: Sequence[int], watermark: int) -> list[Record]:
        """Facts have come at these time points, and none comes any more at or before the watermark."""
        return []

    @abstractmethod
    def hand_over(self, frontiers: Mapping[str, int], to: Emission) -> None:
        """Let the emission of a stream that goes on know what is open of the outputs, which are known so far."""

    def limit(self, room: Room) -> None:  # noqa: B027 - no abstract method: most forms make about as much as they take
        """There is so much room for answers."""


class AsIntervals(Telling):
    """At once, in the order of their begins."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def receive(self, predicate: str, batch: Batch, frontier: int) -> list[Record]:
        if not len(batch):
            return []
        tidy = batch.tidied(self._pool)
        return _records(predicate, tidy.take(stable_order(tidy.lo)), self._pool)

    def hand_over(self, frontiers: Mapping[str, int], to: Emission) -> None:
        for predicate, frontier in frontiers.items():
            to.receive(predicate, (), frontier)


class AsFinal(Telling):
    """Maximal runs, once they can grow no more; the others are kept."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._open: dict[str, Batch] = {}

    def receive(self, predicate: str, batch: Batch, frontier: int) -> list[Record]:
        kept = self._open.get(predicate)
        runs = (batch if kept is None else joined([kept, batch], batch.width, self._pool)).tidied(self._pool)
        if frontier < POS:
            is_final = (runs.hi < frontier) | ((runs.hi >= POS) & (runs.lo <= frontier + 1))
            self._open[predicate] = runs.take(~is_final)
            runs = runs.take(is_final)
        else:
            self._open.pop(predicate, None)
        if not len(runs):
            return []
        order = stable_order(runs.lo)
        order = order[stable_order(runs.hi[order])]
        return put_in_final_order(_records(predicate, runs.take(order), self._pool))

    def size(self) -> int:
        return sum(batch.size for batch in self._open.values())

    def hand_over(self, frontiers: Mapping[str, int], to: Emission) -> None:
        for predicate, frontier in frontiers.items():
            runs = self._open.get(predicate)
            to.receive(predicate, [] if runs is None else runs.facts(self._pool), frontier)

    def finish(self) -> list[Record]:
        names = list(self._open)
        return [record for name in names for record in self.receive(name, empty(self._open[name].width), POS)]


class AsEmitted(Telling):
    """Row by row."""

    def __init__(self, inner: Emission, pool: Pool) -> None:
        self._emission = inner
        self._pool = pool
        self.follows_arrivals = inner.follows_arrivals
        inner.room = pool.room

    def receive(self, predicate: str, batch: Batch, frontier: int) -> list[Record]:
        tidy = batch.tidied(self._pool)
        return self._emission.receive(predicate, tidy.take(stable_order(tidy.lo)).facts(self._pool), frontier)

    def size(self) -> int:
        return sum(self._emission.entries().values()) * ROW

    def finish(self) -> list[Record]:
        return self._emission.finish()

    def arrive(self, points: Sequence[int], watermark: int) -> list[Record]:
        return self._emission.arrive(points, watermark)

    def hand_over(self, frontiers: Mapping[str, int], to: Emission) -> None:
        to.restore(self._emission.snapshot())

    def limit(self, room: Room) -> None:
        self._emission.room = room


def telling(mode: EmitMode, outputs: Iterable[str], pool: Pool) -> Telling:
    """What tells of these outputs in the form of a mode; ValueError where there is none."""
    check_mode(mode)
    match mode:
        case "intervals":
            return AsIntervals(pool)
        case "final":
            return AsFinal(pool)
        case _:
            return AsEmitted(emission(mode, outputs), pool)


def _records(predicate: str, batch: Batch, pool: Pool) -> list[Record]:
    """The rows of a batch as answers."""
    rows = zip(*map(pool.listed, batch.columns), strict=True) if batch.columns else [()] * len(batch)
    return list(zip(repeat(predicate), rows, batch.lo.tolist(), batch.hi.tolist(), strict=False))
