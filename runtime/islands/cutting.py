"""Cutting and joining: of the state of a plan what belongs to an island, and the state of the plan of those of its islands.

Steps keep their ids whatever the cut is; so a state taken under one cut is read under another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.plans.islands.island import Island
from tidelog.plans.islands.sub_plan import island_plan
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.islands.dividing import State
from tidelog.runtime.islands.forms import Agreed, Shares
from tidelog.runtime.islands.network_forms import SleepForm, awake
from tidelog.runtime.network.arranging import unshared

_ALONE = Shares(lambda value: 0, 1)


def cut_state(plan: Plan, island: Island, state: State) -> State:
    """Of the state of a plan what belongs to an island, as one of `island_plan`, not spread over shards.

    What was counted of violations is with the first island.
    """
    part, network, outlet = island_plan(plan, island), state["network"], state["outlet"]
    graph = unshared(network["graph"], plan)
    members = {loop.members: number for number, loop in enumerate(plan.loops)}
    cut = {
        "operators": {step.id: graph["operators"][step.id] for step in part.steps},
        "loops": [graph["loops"][members[loop.members]] for loop in part.loops],
        "prospects": _cut_prospects(part, graph["prospects"]),
        "arrangements": {},
    }
    violations = outlet["violations"]
    told = {
        "emission": {name: _of_outputs(part, found) for name, found in outlet["emission"].items()},
        "violations": {
            "known": {step: violations["known"][step] for step in part.constraints},
            "count": violations["count"] if island.number == 0 else 0,
        },
        "since": {step: time for step, time in outlet["since"].items() if step in cut["operators"]},
        "held": None if outlet["held"] is None else _of_outputs(part, outlet["held"]),
        "told": _of_outputs(part, outlet["told"]),
    }
    return {"network": {**network, "graph": cut}, "outlet": told}


def join_states(plan: Plan, islands: Sequence[Island], states: Sequence[State]) -> State:
    """The state of a plan, of what its islands have, all of them and each as a whole; the opposite of `cut_state`.

    All have been told the same frontiers and starts, and what an island imports has come to it: nothing is on its way.
    Raises SnapshotError where they have not come equally far, or some step is in none of them.
    """
    parts = [island_plan(plan, island) for island in islands]
    networks = [state["network"] for state in states]
    graphs = [unshared(network["graph"], part) for network, part in zip(networks, parts, strict=True)]
    network = {
        "graph": _joined_graph(plan, parts, graphs, networks[0]["watermark"]),
        "watermark": _agreed("the watermark", [network["watermark"] for network in networks]),
        "start": _agreed("whether the stream has started", [network["start"] for network in networks]),
    }
    return {"network": network, "outlet": _joined_outlet(plan, [state["outlet"] for state in states])}


def _agreed(what: str, found: Sequence[Any]) -> Any:
    return Agreed(what).unite(found, _ALONE)


# --- the network ----------------------------------------------------------------------------------------------------------


def _cut_prospects(part: Plan, state: Mapping[str, Any]) -> dict[str, Any]:
    prospects = part.prospects
    asked = {blocker.sleeper for blocker in prospects.rows.values()}
    return {
        "sleeps": {sleeper.step: state["sleeps"][sleeper.step] for sleeper in prospects.sleepers},
        "rows": {name: rows for name, rows in state["rows"].items() if name in asked},
        "gates": [gate for gate in state["gates"] if (gate[0], gate[1]) in prospects.gates],
        "seen": state["seen"],
    }


def _joined_graph(plan: Plan, parts: Sequence[Plan], graphs: Sequence[Any], watermark: int) -> dict[str, Any]:
    operators: dict[str, Any] = {}
    loops: dict[tuple[str, ...], Any] = {}
    for part, graph in zip(parts, graphs, strict=True):
        operators = {**graph["operators"], **operators}
        loops |= {loop.members: state for loop, state in zip(part.loops, graph["loops"], strict=True)}
    missing = [step.id for step in plan.steps if step.id not in operators]
    if missing:
        raise SnapshotError(f"the states are not those of all islands of the plan: nothing is known of {', '.join(missing)}")
    return {
        "operators": {step.id: operators[step.id] for step in plan.steps},
        "loops": [loops[loop.members] for loop in plan.loops],
        "prospects": _joined_prospects(plan, [graph["prospects"] for graph in graphs], watermark),
        "arrangements": {},
    }


def _joined_prospects(plan: Plan, states: Sequence[Any], watermark: int) -> dict[str, Any]:
    """One of which no island knows has seen its predicates so far; one of several predicates may be in several islands."""
    prospects = plan.prospects
    asked = {blocker.sleeper for blocker in prospects.rows.values()}
    sleeps, rows = {}, {}
    for sleeper in prospects.sleepers:
        name = sleeper.step
        found = [state["sleeps"][name] for state in states if name in state["sleeps"]]
        sleeps[name] = SleepForm(sleeper.shortest).unite(found, _ALONE) if found else awake(watermark)
        if name in asked:
            known = [state["rows"][name] for state in states if name in state["rows"]]
            rows[name] = known[0] if known else {"latest": [], "pruned": watermark}
    gates = {(name, port): state for each in states for name, port, state in each["gates"]}
    frontiers, nows, starts = zip(*(state["seen"] for state in states), strict=True)
    return {
        "sleeps": sleeps,
        "rows": rows,
        "gates": [[name, port, gates[name, port]] for name, port in prospects.gates],
        "seen": [_agreed("how far the stream is complete", frontiers), max(nows), _agreed("when the stream starts", starts)],
    }


# --- the outlet -----------------------------------------------------------------------------------------------------------


def _of_outputs(part: Plan, state: Any) -> Any:
    """A part of the outlet's state: by output, as records of outputs, or of all together."""
    if isinstance(state, dict):
        return {name: found for name, found in state.items() if name in part.outputs}
    if isinstance(state, list) and state and isinstance(state[0], list):
        return [record for record in state if record[0] in part.outputs]
    return state


def _joined_outlet(plan: Plan, states: Sequence[Any]) -> dict[str, Any]:
    known = {step: found for state in states for step, found in state["violations"]["known"].items()}
    held = [state["held"] for state in states]
    _agreed("whether it is kept what holds", [each is None for each in held])
    return {
        "emission": _joined_emission(plan, [state["emission"] for state in states]),
        "violations": {
            "known": {step: known[step] for step in plan.constraints},
            "count": sum(state["violations"]["count"] for state in states),
        },
        "since": {step: time for state in states for step, time in state["since"].items()},
        "held": None if held[0] is None else _by_output(plan, held),
        "told": _by_output(plan, [state["told"] for state in states]),
    }


def _by_output(plan: Plan, states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found = {name: part for state in states for name, part in state.items()}
    return {name: found[name] for name in plan.outputs if name in found}


def _joined_emission(plan: Plan, states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    joined: dict[str, Any] = {
        name: _by_output(plan, [state[name] for state in states])
        for name, part in states[0].items()
        if isinstance(part, dict)
    }
    if "points" in states[0]:
        joined |= _joined_points(plan, states) | {"already": _already(states)}
    return {name: joined[name] for name in states[0]}


def _joined_points(plan: Plan, states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Each island tells of a point when it knows all that holds there of its outputs; all together, when all do."""
    slowest = min(states, key=lambda state: state["seen"])
    return {
        "points": slowest["points"],
        "seen": slowest["seen"],
        "watermark": _agreed("the watermark", [state["watermark"] for state in states]),
        "records": [record for state in states for record in state["records"]],
    }


def _already(states: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Up to which point outputs have been told that are further than others."""
    least = min(state["seen"] for state in states)
    found = {name: state["seen"] for state in states for name in state["frontiers"] if state["seen"] > least}
    for state in states:
        for name, upto in state["already"].items():
            found[name] = max(upto, found.get(name, upto))
    return found
