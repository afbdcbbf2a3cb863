"""Shards for tests: one intake, and networks of one plan that each have the facts of other keys."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.test_changes import intervals_of

from oracle.agreement import runs_of
from tidelog.plans.data.facts import Record
from tidelog.plans.islands.island import Island, owner
from tidelog.plans.islands.islands import islands_of
from tidelog.plans.islands.sub_plan import island_plan
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.intake.intake import Delivery, Intake
from tidelog.runtime.islands.cutting import cut_state, join_states
from tidelog.runtime.islands.dividing import State, catch_up, divide, spread_plan, unite
from tidelog.runtime.network.network import Network
from tidelog.runtime.network.outlet import Outlet
from tidelog.runtime.network.state_bound import StateBound
from tidelog.runtime.ports.interfaces import Batch, EmitMode

SOURCE = "source"


def owner_of(shards: int) -> Callable[[Value], int]:
    """Who owns a key among so many."""
    return lambda value: owner(value, shards)


def plain(state: Any) -> Any:
    """A state after a journey through JSON: it is plain data indeed."""
    return json.loads(json.dumps(state))


def without_order(state: Any) -> Any:
    """A state of which lists of lists have no order, and messages that wait at a gate, or in a loop, are what they bring."""
    if isinstance(state, dict):
        found = {name: without_order(part) for name, part in state.items()}
        if "inboxes" in found:
            found["inboxes"] = [
                sorted(
                    repr((port, kind, entry)) for port, *parts in inbox for kind, part in enumerate(parts) for entry in part
                )
                for inbox in state["inboxes"]
            ]
        if {"waiting", "held", "dropped"} <= found.keys():
            found["waiting"] = sorted(repr(fact) for *_, facts in found["waiting"] for fact in facts)
        return found
    if isinstance(state, list) and all(isinstance(part, list) for part in state):
        return sorted(map(without_order, state), key=repr)
    return list(map(without_order, state)) if isinstance(state, list) else state


@dataclass
class Shard:
    """One network, and its outlet."""

    network: Network
    outlet: Outlet

    def pull(self) -> list[Record]:
        answers, self.outlet.answers = self.outlet.answers, []
        return answers

    def state(self) -> State:
        return plain({"network": self.network.snapshot(), "outlet": self.outlet.snapshot()})

    def load(self, state: State) -> None:
        self.network.restore(plain(state["network"]))
        self.outlet.restore(plain(state["outlet"]))


def shard(plan: Plan, emit: EmitMode) -> Shard:
    """A network of a plan that has been told nothing."""
    bound = StateBound(None)
    outlet = Outlet(plan, emit, bound, keeps_held=True)
    return Shard(Network(plan, outlet, bound), outlet)


def deliveries(plan: Plan, records: Sequence[Record], batch: int, lateness: int = 0) -> list[Delivery]:
    """What an intake makes of some records."""
    intake = Intake(plan, [SOURCE], lateness)
    found = [intake.take(SOURCE, Batch(list(records[i : i + batch]))) for i in range(0, len(records), batch)]
    return [*found, *intake.finish(SOURCE)]


class Fleet:
    """The shards of one island, which may become more or fewer on the way."""

    def __init__(self, plan: Plan, island: Island, emit: EmitMode, count: int) -> None:
        self.plan, self.island, self.emit = island_plan(plan, island), island, emit
        self.answers: list[Record] = []
        self.violated: list[str] = []
        self.shards = self._made(count)

    def _made(self, count: int) -> list[Shard]:
        plan = self.plan if count == 1 else spread_plan(self.plan, self.island)
        return [shard(plan, self.emit) for _ in range(count)]

    def deliver(self, delivery: Delivery) -> None:
        key, owns = self.island.key, owner_of(len(self.shards))
        for number, each in enumerate(self.shards):
            facts = {
                name: own
                for name, facts in delivery.facts.items()
                if name in self.island.reads
                and (own := facts if key is None else [fact for fact in facts if owns(fact[0][key[name]]) == number])
            }
            each.network.deliver(replace(delivery, facts=facts))
        self._pull()

    def finish(self) -> None:
        for each in self.shards:
            each.outlet.finish()
        self._pull()

    def _pull(self) -> None:
        for each in self.shards:
            self.answers += each.pull()
            self.violated += map(str, each.outlet.violated)
            each.outlet.violated = []

    def catch_up(self) -> None:
        for each in self.shards:
            catch_up(each.network)
        self._pull()

    def state(self) -> State:
        """The state of all together."""
        if len(self.shards) == 1:
            return self.shards[0].state()
        self.catch_up()
        states = [each.state() for each in self.shards]
        return plain(unite(self.plan, self.island, states, owner_of(len(states))))

    def divided(self, state: State, count: int) -> list[State]:
        """What so many shards have of a state."""
        return [state] if count == 1 else divide(self.plan, self.island, state, owner_of(count), count)

    def become(self, state: State, count: int) -> None:
        """Go on with so many shards, from a state."""
        shards = self._made(count)
        for each, own in zip(shards, self.divided(state, count), strict=True):
            each.load(own)
        self.shards = shards


class Archipelago:
    """All islands of a plan, none of which imports anything; or all of it in one network."""

    def __init__(self, plan: Plan, emit: EmitMode) -> None:
        self.plan, self.emit = plan, emit
        self.islands = islands_of(plan)
        self.whole: Shard | None = shard(plan, emit)
        self.fleets: list[Fleet] = []
        self._answers: list[Record] = []
        self._violated: list[str] = []

    def deliver(self, delivery: Delivery) -> None:
        if self.whole is not None:
            self.whole.network.deliver(delivery)
        for fleet in self.fleets:
            fleet.deliver(delivery)

    def finish(self) -> None:
        if self.whole is not None:
            self.whole.outlet.finish()
        for fleet in self.fleets:
            fleet.finish()

    def cut(self, count: int) -> None:
        """Go on with islands, with so many shards where they can have them. They are one network, or whole."""
        state = self.state()
        self._gather()
        self.whole = None
        self.fleets = [Fleet(self.plan, island, self.emit, 1) for island in self.islands]
        for fleet in self.fleets:
            fleet.become(plain(cut_state(self.plan, fleet.island, state)), 1 if fleet.island.key is None else count)

    def join(self) -> None:
        """Go on with one network."""
        state = self.state()
        self._gather()
        self.fleets = []
        self.whole = shard(self.plan, self.emit)
        self.whole.load(state)

    def state(self) -> State:
        """The state of all as that of the plan."""
        if self.whole is not None:
            return self.whole.state()
        return plain(join_states(self.plan, self.islands, [fleet.state() for fleet in self.fleets]))

    def _gather(self) -> None:
        if self.whole is not None:
            self._answers += self.whole.pull()
            self._violated += map(str, self.whole.outlet.violated)
            self.whole.outlet.violated = []
        for fleet in self.fleets:
            self._answers += fleet.answers
            self._violated += fleet.violated
            fleet.answers, fleet.violated = [], []

    @property
    def answers(self) -> list[Record]:
        self._gather()
        return self._answers

    @property
    def violated(self) -> list[str]:
        self._gather()
        return self._violated


def told(answers: Sequence[Record], violated: Sequence[str], emit: EmitMode) -> Any:
    """What was told, in whatever order and pieces; fails where it was told twice."""
    found: Any = Counter(answers)
    if emit == "changes":
        found = found, runs_of(intervals_of(answers))
    elif emit == "intervals":
        found = runs_of(answers)
    return found, Counter(violated)
