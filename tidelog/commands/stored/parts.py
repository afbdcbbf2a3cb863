"""What of a state each part of a run has that is spread over islands and workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from tidelog.plans.islands.island import Island, owner
from tidelog.plans.islands.islands import islands_of
from tidelog.plans.islands.sub_plan import island_plan
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.islands.cutting import cut_state
from tidelog.runtime.islands.dividing import divide, spread_plan
from tidelog.runtime.islands.messages import Count, Counted, Failed, Load
from tidelog.runtime.islands.part import Part, Work
from tidelog.runtime.ports.actors import Actors


@dataclass(frozen=True, slots=True)
class Spread:
    """Over what a run is spread."""

    actors: Actors
    workers: int


@dataclass(frozen=True, slots=True)
class StatePart:
    """What one of the `shards` of an island has of a state: so many rows, and bytes."""

    island: Island
    shard: int
    shards: int
    rows: int
    size: int


def parts_of(plan: Plan, state: Mapping[str, Any], options: Mapping[str, Any], spread: Spread) -> Iterator[StatePart]:
    """The parts of a state, as a session tells it, in the order of the islands; `options` are those of the run.

    Raises the TidelogError of a part that cannot go on from its state.
    """
    whole = {"network": state["network"], "outlet": state["outlet"]}
    for island in islands_of(plan, "rule" if spread.actors == "rule" else "islands"):
        own, found = island_plan(plan, island), cut_state(plan, island, whole)
        shards = spread.workers if island.key is not None else 1
        states = [found] if shards == 1 else divide(own, island, found, partial(owner, shards=shards), shards)
        work = Work(own if shards == 1 else spread_plan(own, island), options["emit"], island.exports, options["prospects"])
        for shard, each in enumerate(states):
            data = msgspec.msgpack.encode(each)
            yield StatePart(island, shard, shards, _rows(work, data), len(data))


def _rows(work: Work, state: bytes) -> int:
    """How many rows the steps of a part store that goes on from a state."""
    part = Part(work)
    for message in (Load(state), Count()):
        reply = part.tell(message)
        if isinstance(reply, Failed):
            raise reply.as_error()
    return sum(step["entries"] for step in reply.steps.values()) if isinstance(reply, Counted) else 0
