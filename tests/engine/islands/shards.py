"""Shards for tests: one intake, and networks of one plan that each have the facts of other keys; and where the key is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

from engine.test_changes import intervals_of
from oracle.agreement import runs_of
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    Feed,
    JoinShape,
    LatchShape,
    LatestShape,
    PairShape,
    PeriodShape,
    Plan,
    Step,
    ThresholdShape,
)
from tidelog.plans.tree.syntax import Value, Variable
from tidelog.runtime.intake.intake import Delivery, Intake
from tidelog.runtime.islands.dividing import State, catch_up, divide, spread_plan, unite
from tidelog.runtime.network.network import Network
from tidelog.runtime.network.outlet import Outlet
from tidelog.runtime.network.state_bound import StateBound
from tidelog.runtime.ports.interfaces import Batch, EmitMode

SOURCE = "source"


@dataclass(frozen=True)
class Whole:
    """All of a plan as one island, with the first argument of each input as its key."""

    key: Mapping[str, int]
    columns: Mapping[str, int]


class NoKeyError(Exception):
    """A step does not show the key."""


def whole(plan: Plan) -> Whole:
    """Where the key is, followed from the stream through all steps. NoKeyError where a step does not show it."""
    columns: dict[str, int] = {}
    pending = list(plan.steps)
    while pending:
        later = []
        for step in pending:
            found = [_column(feed, columns) for feed in step.inputs]
            if all(at is None for at in found):
                later.append(step)
            else:
                columns[step.id] = _shown(step, found)
        if len(later) == len(pending):
            break
        pending = later
    for step in plan.steps:
        found = [_column(feed, columns) for feed in step.inputs]
        if step.id in columns and _shown(step, found) != columns[step.id]:
            raise NoKeyError(step.id)
    names = {feed.name for step in plan.steps for feed in step.inputs if feed.kind == "stream"}
    return Whole(dict.fromkeys(names, 0), columns)


def _column(feed: Feed, columns: Mapping[str, int]) -> int | None:
    if feed.kind == "stream":
        return 0
    return columns.get(feed.name) if feed.kind == "step" else None


def _shown(step: Step, ports: Sequence[int | None]) -> int:
    """The column of a step's rows in which the key of those of its ports is that have one."""
    port, at = next((port, at) for port, at in enumerate(ports) if at is not None)
    try:
        match step.shape:
            case JoinShape(head, atoms):
                found = {atom[i] for atom, i in zip(atoms, ports, strict=True) if i is not None}
                if len(found) > 1:
                    raise NoKeyError(step.id)
                return head.index(atoms[port][at])
            case PairShape(left=left, right=right):
                names = {side[i] for side, i in zip((left, right), ports, strict=True) if i is not None}
                if len(names) > 1:
                    raise NoKeyError(step.id)
                return (*right, *(name for name in left if name not in right)).index((left, right)[port][at])
            case AntiJoinShape(columns, negated) | LatchShape(columns, negated):
                sides = (tuple(map(Variable, columns)), negated)
                sides = sides if isinstance(step.shape, AntiJoinShape) else sides[::-1]
                terms = {side[i] for side, i in zip(sides, ports, strict=True) if i is not None}
                if len(terms) > 1:
                    raise NoKeyError(step.id)
                return [Variable(name) for name in columns].index(sides[port][at])  # type: ignore[arg-type]
            case AggregateShape(by=by) | PeriodShape(by=by) | ThresholdShape(by=by):
                return by.index(at)
            case LatestShape(by=by) if at not in by:
                raise NoKeyError(step.id)
            case _:
                return at
    except ValueError as error:
        raise NoKeyError(step.id) from error


def owner_of(shards: int) -> Callable[[Value], int]:
    """Who owns a key: the same in each process."""
    return lambda value: crc32(str(value).encode()) % shards


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
        self.network.restore(state["network"])
        self.outlet.restore(state["outlet"])


def plain(state: Any) -> Any:
    """A state after a journey through JSON: it is plain data indeed."""
    return json.loads(json.dumps(state))


def shard(plan: Plan, emit: EmitMode) -> Shard:
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

    def __init__(self, plan: Plan, emit: EmitMode, count: int) -> None:
        self.plan, self.emit = plan, emit
        self.spread = whole(plan)
        self.answers: list[Record] = []
        self.shards = self._made(count)

    def _made(self, count: int) -> list[Shard]:
        plan = self.plan if count == 1 else spread_plan(self.plan, self.spread)
        return [shard(plan, self.emit) for _ in range(count)]

    def deliver(self, delivery: Delivery) -> None:
        owner = owner_of(len(self.shards))
        for number, each in enumerate(self.shards):
            facts = {
                name: own
                for name, facts in delivery.facts.items()
                if (own := [fact for fact in facts if owner(fact[0][self.spread.key[name]]) == number])
            }
            each.network.deliver(replace(delivery, facts=facts))
        self._pull()

    def finish(self) -> None:
        for each in self.shards:
            each.outlet.finish()
        self._pull()

    def _pull(self) -> None:
        """The answers of each shard that are of its own keys; those that rest on no stream are the first one's."""
        owner = owner_of(len(self.shards))
        for number, each in enumerate(self.shards):
            for record in each.pull():
                at = self.spread.columns.get(self.plan.outputs[record[0]])
                if (0 if at is None else owner(record[1][at])) == number:
                    self.answers.append(record)

    def catch_up(self) -> None:
        for each in self.shards:
            catch_up(each.network)
        self._pull()

    def united(self) -> State:
        """The state of all; SnapshotError where it cannot be had now."""
        states = [each.state() for each in self.shards]
        return states[0] if len(states) == 1 else plain(unite(self.plan, self.spread, states, owner_of(len(states))))

    def become(self, count: int) -> None:
        """Go on with so many shards. SnapshotError, and as before, where that cannot be had now."""
        if len(self.shards) > 1:
            self.catch_up()
        state = self.united()
        owner = owner_of(count)
        states = [state] if count == 1 else divide(self.plan, self.spread, state, owner, count)
        self.shards = self._made(count)
        for each, own in zip(self.shards, states, strict=True):
            each.load(plain(own))


def told(answers: Sequence[Record], emit: EmitMode) -> Any:
    """What was told, in whatever order and pieces; fails where it was told twice."""
    if emit == "changes":
        return Counter(answers), runs_of(intervals_of(answers))
    return runs_of(answers) if emit == "intervals" else Counter(answers)
