"""Shared stores: what several joins store of one step by one key, so that it has to be stored only once.

A join takes part with the ports outside loops that get all that the step sends, with nothing before them that withholds it
(prospects). One that has more than two ports there stores for itself, and so does one that leaves out columns, since several
rows become one there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tidelog.plans.analysis.physical.lookups import Key, keeps_rows, kept_columns, outline, partners
from tidelog.plans.plan.guards import Port
from tidelog.plans.plan.plan import JoinShape, Plan, Step
from tidelog.plans.tree.syntax import Constant

_MOST_PORTS = 2
"""So many ports of one join can be told apart by whether what is new is stored already."""


@dataclass(frozen=True, slots=True)
class SharedStore:
    """What joins that read a step at these ports store of it by one key."""

    key: Key
    readers: tuple[Port, ...]


def shared_stores(
    plan: Plan, outer: Mapping[str, Sequence[Port]] | None = None, gates: Collection[Port] | None = None
) -> dict[str, list[SharedStore]]:
    """For each step of which several ports store the same, the stores that they share.

    `outer` are the ports that each step feeds outside its loop; before `gates`, facts may be withheld. They are the plan's
    where none are given.
    """
    steps = {step.id: step for step in plan.steps}
    outer = _outer_ports(plan, steps) if outer is None else outer
    gates = plan.prospects.gates.keys() if gates is None else gates
    keys: dict[str, list[list[Key]]] = {}
    found = {}
    for name, ports in outer.items():
        readers: dict[Key, list[Port]] = {}
        for join, port in ports_of_joins(plan, steps, ports, gates):
            shape = steps[join].shape
            if join not in keys and isinstance(shape, JoinShape):
                keys[join] = _keys(outline(shape)[0])
            for key in keys[join][port]:
                readers.setdefault(key, []).append((join, port))
        stores = [SharedStore(key, tuple(having)) for key, having in readers.items() if len(having) > 1]
        if stores:
            found[name] = stores
    return found


def may_share(step: Step, plan: Plan) -> bool:
    """Whether a step is a join outside loops that goes by facts, not through time."""
    return isinstance(step.shape, JoinShape) and step.loop is None and step.id not in plan.announcing


def _outer_ports(plan: Plan, steps: Mapping[str, Step]) -> dict[str, list[Port]]:
    ports: dict[str, list[Port]] = {name: [] for name in steps}
    for step in plan.steps:
        for port, feed in enumerate(step.inputs):
            if feed.kind == "step" and (step.loop is None or step.loop != steps[feed.name].loop):
                ports[feed.name].append((step.id, port))
    return ports


def ports_of_joins(plan: Plan, steps: Mapping[str, Step], ports: Sequence[Port], gates: Collection[Port]) -> list[Port]:
    """Of ports that a step feeds, those that get all that it sends, of joins that may take part; each join's together."""
    found: dict[str, list[Port]] = {}
    for name, port in ports:
        step = steps[name]
        if not isinstance(step.shape, JoinShape) or not may_share(step, plan):
            continue
        if not any(isinstance(term, Constant) for term in step.shape.atoms[port]):
            found.setdefault(name, []).append((name, port))
    return [
        port
        for chosen in found.values()
        if len(chosen) <= _MOST_PORTS and not any(port in gates for port in chosen)
        for port in chosen
    ]


@lru_cache(maxsize=1024)
def _keys(shape: JoinShape) -> list[list[Key]]:
    """For each atom, by which columns its rows are found, where they are stored just as they come; whole rows last."""
    atoms = range(len(shape.atoms))
    columns = [kept_columns(shape, atom) for atom in atoms]
    found: list[dict[Key, None]] = [{} for _ in atoms]
    for atom in atoms:
        for other, key in partners(shape, columns, atom):
            found[other][key] = None
    return [sorted(keys, key=lambda key: key is None) if keeps_rows(shape, atom) else [] for atom, keys in enumerate(found)]
