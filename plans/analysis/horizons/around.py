"""Around a window: from when to when facts may lie on which depends what holds within it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tidelog.plans.analysis.horizons.looking_back import added_up, looking_back
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    DilateShape,
    ErodeShape,
    JoinShape,
    LatestShape,
    PairShape,
    Plan,
    Shape,
    SteppedShape,
    ThresholdShape,
    ToldShape,
    UnionShape,
)

_BESIDE = 4
"""So much further (encoded): what holds right beside the window tells whether it goes on, and open ends see a bit more."""


@dataclass(frozen=True, slots=True)
class Around:
    """The first and the last time (encoded) of what is needed of a history; `NEG` and `POS` where it is all of it."""

    first: int = NEG
    last: int = POS

    @property
    def is_all(self) -> bool:
        """Whether the whole history is needed."""
        return self.first == NEG and self.last == POS

    def meets(self, lo: int, hi: int) -> bool:
        """Whether some of a range is needed."""
        return hi >= self.first and lo <= self.last


def around(plan: Plan, predicates: Collection[str], begin: int | None, end: int | None) -> Around:
    """What of a history tells all that holds of these predicates from `begin` to `end` (encoded), and right beside.

    It is all of it where nothing bounds how far rules look: recursion through time, `since` without an end, a value that is
    held, calendars and windows that count facts.
    """
    drawn = [step for step in plan.steps if step.predicate in predicates and step.predicate not in plan.normal.origins]
    back, ahead = looking_back(plan), added_up(plan, _own_look_ahead)
    before = max((back[step.id] for step in drawn), default=0)
    behind = max((ahead[step.id] for step in drawn), default=0)
    first = NEG if begin is None or max(before, behind) >= POS else max(NEG, begin - before - _BESIDE)
    last = POS if end is None or max(before, behind) >= POS else min(POS, end + behind + _BESIDE)
    return Around(first, last)


def _own_look_ahead(shape: Shape) -> int:
    """How far ahead of a time a single step looks; `POS` for those that ask for more than what lies around a time."""
    match shape:
        case UnionShape(reach):
            return reach - 1
        case ErodeShape(clipped=True):
            return POS
        case DilateShape(metric, future) | ErodeShape(metric, future):
            return min(POS, metric.b + 1) if future else 0
        case PairShape(operator, metric):
            return min(POS, metric.b + 1) if operator == "until" else 0
        case AggregateShape() | ThresholdShape() | LatestShape() | SteppedShape() | ToldShape():
            return 0
        case JoinShape() | AntiJoinShape():
            return 0
        case _:
            return POS
