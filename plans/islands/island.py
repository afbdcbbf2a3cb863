"""What an island is, and who owns a key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from zlib import crc32

from tidelog.plans.analysis.horizons.calendar_reach import readers_of
from tidelog.plans.data.once import once_per_object
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.reaching import reachable
from tidelog.plans.tree.syntax import Value


@dataclass(frozen=True, slots=True)
class Island:
    """A part of a plan that runs by itself: it needs facts of the stream, and of earlier islands what their steps send.

    `name` is for people: the first output that it tells, or what it derives. `steps` are those that it runs, in the plan's
    order; steps that rest on no stream may be in several islands, all others are in one. `reads` are the predicates whose
    facts it needs from the stream. One that reads none, and imports nothing, tells what rests on no stream.

    With a `key` it may run many times, each time with the facts of other keys: `key` has the argument (from 0) of each
    predicate that it reads, and `columns` those of each step that rests on the stream, and of each imported one. An
    imported step may have had another key where it is run. Without a key, which is None, `prevented_by` tells the rule
    for which there is none, if it was looked for.

    `imports` are steps of earlier islands that its steps read, `exports` those of its own that later islands read. How far
    an imported step is known follows from the watermark alone, by `Plan.leads`. One that is `Plan.announcing` tells notices
    beside facts.
    """

    number: int
    name: str
    steps: tuple[str, ...]
    reads: tuple[str, ...]
    key: Mapping[str, int] | None
    columns: Mapping[str, int]
    imports: tuple[str, ...]
    exports: tuple[str, ...]
    prevented_by: str = ""


def owner(value: Value, shards: int) -> int:
    """Which of so many shards owns a key, from 0: the same in each process and run, and for numbers that are equal.

    >>> owner(1, 8) == owner(1.0, 8), {owner(f"room {i}", 4) for i in range(20)}
    (True, {0, 1, 2, 3})
    """
    return crc32(_canonical(value).encode("utf-8", "surrogatepass")) % shards


def _canonical(value: Value) -> str:
    if isinstance(value, str):
        return f"s{value}"
    if isinstance(value, float) and not (math.isfinite(value) and value.is_integer()):
        return f"n{value!r}"
    return f"n{int(value)}"


def _resting(plan: Plan) -> frozenset[str]:
    readers = readers_of({step.id: step for step in plan.steps})
    first = [step.id for step in plan.steps if any(feed.kind in ("stream", "arrivals") for feed in step.inputs)]
    return frozenset(reachable(first, readers.__getitem__))


resting_on_streams = once_per_object(_resting, most=4)
"""The steps of a plan that rest on facts of the stream, and not on time, calendars and stated facts alone."""
