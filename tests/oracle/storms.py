"""Storms tick by tick: what a sink is told of alarms when more than so many begin within a minute.

A storm holds at a tick where more than `limit` alarms began within the last `minute` ticks, and goes on while more than half
as many did. An alarm is told while it is active, from the first tick without a storm on. Those that are urgent are told at
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from tidelog.plans.data.facts import Row

Key = tuple[str, Row]


@dataclass(frozen=True)
class Course:
    """Of each tick: whether there is a storm, how many alarms began in the whole minute before, and what is told."""

    storms: list[bool] = field(default_factory=list)
    counts: list[int | None] = field(default_factory=list)
    told: list[AbstractSet[Key]] = field(default_factory=list)


def course(active: Sequence[AbstractSet[Key]], first: int, minute: int, limit: int, urgent: AbstractSet[str]) -> Course:
    """What follows of the alarms that are active at each tick from `first` on; before it none is."""
    found = Course()
    begins = [len(now - before) for before, now in zip([frozenset(), *active], active, strict=False)]
    for i, now in enumerate(active):
        number = sum(begins[max(0, i - minute + 1) : i + 1])
        was_storm, was_told = (found.storms[-1], found.told[-1]) if i else (False, frozenset())
        is_storm = number > limit or (was_storm and number > limit // 2)
        last = i - (first + i) % minute  # where the last whole minute ended
        whole = sum(begins[max(0, last - minute + 1) : last + 1]) if last >= 0 else 0
        found.storms.append(is_storm)
        found.counts.append(whole if is_storm and whole else None)
        found.told.append({key for key in now if not is_storm or key[0] in urgent or key in was_told})
    return found
