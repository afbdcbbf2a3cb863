"""Dividing and uniting: the state of an island among shards, of which each owns some keys, and of all shards in one.

A state is plain data: `{"network": Network.snapshot(), "outlet": Outlet.snapshot()}`. So N shards become M, by one state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tidelog.plans.islands.island import Island
from tidelog.plans.plan.guards import Prospects, RowBlocker
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.islands.forms import Fields, Form, Shares
from tidelog.runtime.islands.network_forms import network_form
from tidelog.runtime.islands.outlet_forms import outlet_form
from tidelog.runtime.islands.places import places_of
from tidelog.runtime.network.arranging import unshared
from tidelog.runtime.network.network import Network

State = dict[str, Any]
"""The state of an island, or of a shard."""

_EVER = 1 << 70
"""Longer than any time."""


def divide(plan: Plan, island: Island, state: State, owner: Callable[[Value], int], shards: int) -> list[State]:
    """The states of so many shards, which together have what an island has.

    `plan` is that of the island, and `owner` tells which shard has a key. Each shard gets the rows of its keys, and what
    rests on no stream; what was counted is with the first. Each goes on with the facts of its keys, and by the same
    frontiers, starts and time points as all others (`Delivery`), by the plan that `spread_plan` gives.

    Raises SnapshotError where the plan cannot be divided by this key.
    """
    state = unshared_state(plan, state)
    return _form(plan, island, state).divide(state, Shares(owner, shards))


def unite(plan: Plan, island: Island, states: Sequence[State], owner: Callable[[Value], int]) -> State:
    """The state of an island, of what its shards have; the opposite of `divide`.

    `owner` tells the shard, by its place in `states`, that has a key. All shards have been told the same frontiers, starts
    and time points; and behind the last of them, before its state was taken, each was let `catch_up`, and what that
    told was taken from the outlet.

    Raises SnapshotError where the states do not know all up to the same times. That may be so though all was done, where
    what all shards get alike ends at the watermark: what a fact that ends there has met differs by when others came. A
    moment later it is over.
    """
    states = [unshared_state(plan, state) for state in states]
    united: State = _form(plan, island, states[0]).unite(states, Shares(owner, len(states)))
    return united


def spread_plan(plan: Plan, island: Island) -> Plan:
    """The plan by which shards of an island run: what they know, they know by their frontiers alone, and so all alike.

    No step is far-sighted, for what one knows to be absent, another may have; and nothing that all get alike waits at a
    gate, or is dropped there, since it is of no use to one of them. Their states fit the plan of the island, and the
    other way.
    """
    places = {step.id: places_of(plan, step, island) for step in plan.steps}
    prospects = plan.prospects

    def is_common(step: str, port: int) -> bool:
        found = places[step]
        return found is None or found.columns[port] is None

    gates = {(step, port): ((),) if is_common(step, port) else guard for (step, port), guard in prospects.gates.items()}
    rows = {
        (step, port): _never(blocker) if is_common(step, port) else blocker
        for (step, port), blocker in prospects.rows.items()
    }
    return replace(plan, prospects=Prospects(prospects.sleepers, gates, rows, frozenset()))


def catch_up(network: Network) -> None:
    """Let a network come as far as its watermark allows with all that it has been given: so its state can be united with
    those of other shards. What that tells is at the outlet."""
    network.begin()
    with network.graph.open_gates() as messages:
        network.announce(messages)


def _never(blocker: RowBlocker) -> RowBlocker:
    """One that keeps nothing from its port: what it would keep begins behind all time."""
    return replace(blocker, low=_EVER)


def _form(plan: Plan, island: Island, state: State) -> Form:
    return Fields({"network": network_form(plan, island), "outlet": outlet_form(plan, island, state["outlet"])})


def unshared_state(plan: Plan, state: State) -> State:
    """A state in which each step has what it stores for itself."""
    network = state["network"]
    return {**state, "network": {**network, "graph": unshared(network["graph"], plan)}}
