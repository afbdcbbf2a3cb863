"""Facts that touch or overlap become one: maximal intervals of each row, exact, in whatever order the facts come.

A run is a union of facts of one key, and the union knows nothing of the order or the grouping in which it was made: merging
is associative, commutative and idempotent (a join of semilattices). So facts that are merged twice change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from tidelog.connectors.lake.times import exact

Time = int | Fraction | float
"""Exact; the only floats are ±inf."""
Key = tuple[str | int | float | bool | None, ...]
"""What tells rows apart: the same for the same arguments, of which None is one that its program does not have."""


@dataclass(frozen=True, slots=True)
class Run:
    """A maximal interval of one key, and of the facts that it is made of the first and last number, and the newest horizon.

    `start` and `end` are exact times as text, None where the interval has no end on that side. `outbox` is the identity of
    the outbox that has told the fact of the last number, so both together are no other run's.
    """

    key: Key
    start: str | None
    end: str | None
    start_open: bool
    end_open: bool
    first_seq: int
    last_seq: int
    horizon: str | None
    emitted_at: int
    outbox: str = ""

    @property
    def low(self) -> tuple[Time, bool]:
        """Where it begins, in order."""
        return (-math.inf if self.start is None else exact(self.start), self.start_open)

    @property
    def high(self) -> tuple[Time, bool]:
        """Where it ends, in order."""
        return (math.inf if self.end is None else exact(self.end), not self.end_open)


def coalesce(runs: Iterable[Run], *, integer: bool) -> list[Run]:
    """The maximal runs of the same facts, sorted by end, then by begin, then by first fact.

    On an integer timeline the times k and k+1 are neighbours; there the ends are closed whole numbers.
    """
    groups: dict[Key, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.key, []).append(run)
    merged = [joined for group in groups.values() for joined in _merge(sorted(group, key=_low), integer)]
    return sorted(merged, key=lambda run: (run.high, run.low, run.first_seq))


def _low(run: Run) -> tuple[Time, bool]:
    return run.low


def _merge(runs: list[Run], integer: bool) -> Iterator[Run]:
    """The maximal runs of one key's, given in the order of their begins."""
    last = runs[0]
    for run in runs[1:]:
        if touches(last.high, run.low, integer=integer):
            last = _join(last, run)
        else:
            yield last
            last = run
    yield last


def touches(high: tuple[Time, bool], low: tuple[Time, bool], *, integer: bool) -> bool:
    """Whether what ends at `high` leaves nothing out before what begins at `low`, or later than that."""
    if low[0] < high[0]:
        return True
    if integer:
        return low[0] <= high[0] + 1
    return low[0] == high[0] and (high[1] or not low[1])


def _join(left: Run, right: Run) -> Run:
    """The union of two runs that touch, `left` beginning no later."""
    longest = max(left, right, key=lambda run: run.high)
    newest = max(left, right, key=lambda run: (run.last_seq, run.outbox))
    return replace(
        left,
        end=longest.end,
        end_open=longest.end_open,
        first_seq=min(left.first_seq, right.first_seq),
        last_seq=newest.last_seq,
        horizon=newest.horizon,
        emitted_at=max(left.emitted_at, right.emitted_at),
        outbox=newest.outbox,
    )
