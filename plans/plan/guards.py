"""What a plan says about sleep: who can sleep, and which facts are of no use meanwhile.

The analysis is in `plans/analysis/physical/prospects.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.plans.tree.syntax import Value

Port = tuple[str, int]
"""A step and the number of one of its ports."""


@dataclass(frozen=True, slots=True)
class Sleeper:
    """An erode over an input predicate: asleep from when that is absent until a run can be complete.

    `step` is its id, `shortest` (encoded) how much longer than one time the shortest run is that gives anything. Clipped, it
    sleeps only where its window cannot begin with the stream.
    """

    step: str
    predicates: tuple[str, ...]
    shortest: int
    clipped: bool


@dataclass(frozen=True, slots=True)
class Blocker:
    """A range in which facts are of no use: while a sleeper sleeps, or, without a sleeper, for ever.

    With the sleeper's predicate absent first at `begin` and last at `absent`, it is `begin + low … absent + high`; without a
    sleeper, it is `low … high` (all encoded).
    """

    sleeper: str | None
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class RowBlocker:
    """A range in which a single row is of no use, while the row of a sleeper's predicate that it would meet is absent.

    That row is `columns`: positions in the row at hand, or (behind None) constants; without `columns`, it is the same row.
    It was last there at `latest`, and is known to be absent at `known`; the range is `latest + 1 + low … known + high`.
    """

    sleeper: str
    low: int
    high: int
    columns: tuple[tuple[int, None] | tuple[None, Value], ...] | None


Guard = tuple[tuple[Blocker, ...], ...]
"""When facts are of no use: each group needs one blocker that holds; the range is common to the groups."""


@dataclass(frozen=True, slots=True)
class Prospects:
    """The sleepers of a plan, and the gates: the ports at which facts may be of no use, and when.

    `rows` tell at which gates single rows can be of no use while their sleeper is awake for others; `far_sighted` are the
    operators that may promise more than their ports do, since they know what cannot hold.
    """

    sleepers: tuple[Sleeper, ...] = ()
    gates: Mapping[Port, Guard] = field(default_factory=dict)
    rows: Mapping[Port, RowBlocker] = field(default_factory=dict)
    far_sighted: frozenset[str] = frozenset()
