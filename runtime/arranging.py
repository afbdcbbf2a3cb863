"""Which joins share what they store: those that read one step by one key have one arrangement (`operators/arrangement.py`).

A join takes part with the ports outside loops that get all that the step sends, with nothing before them that withholds it
(prospects). When something new comes, its first port there takes it before it is stored, and its second port behind that:
so new facts meet old ones at either port, and each other once. A join that has more than two ports there stores for itself,
and so does one that leaves out columns, since several rows become one there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.operators.arrangement import Arranged, Arrangement, Key, with_own_stores
from tidelog.operators.join_code import JoinCode, write_join
from tidelog.plans.guards import Port
from tidelog.plans.plan import JoinShape, Plan, Step
from tidelog.plans.syntax import Constant

_MOST_PORTS = 2
"""So many ports of one join can be told apart by whether what is new is stored already."""


@dataclass(slots=True)
class Sharing:
    """The arrangements of what one step sends; the ports that take it before it is stored there, and behind that."""

    arrangements: list[Arrangement] = field(default_factory=list)
    before: list[Port] = field(default_factory=list)
    after: list[Port] = field(default_factory=list)

    def clear(self) -> None:
        """Forget what is stored, before states are restored."""
        for arrangement in self.arrangements:
            arrangement.clear()


def arrange(
    plan: Plan, outer: Mapping[str, Sequence[Port]], gates: Collection[Port]
) -> tuple[dict[str, Sharing], dict[str, Arranged]]:
    """For each step that feeds some, the arrangements; for joins beside others, their code, and what they read of these.

    `outer` are the ports that each step feeds outside its loop; before `gates`, facts may be withheld.
    """
    steps = {step.id: step for step in plan.steps}
    codes: dict[str, JoinCode] = {}
    sharing: dict[str, Sharing] = {}
    shared: dict[str, dict[tuple[int, Key], Arrangement]] = {}
    for name, ports in outer.items():
        joins = _joins(plan, steps, ports, gates)
        if sum(map(len, joins.values())) < 2:
            continue
        for join in joins:
            shape = steps[join].shape
            if join not in codes and isinstance(shape, JoinShape):
                codes[join] = write_join(shape)
        found = _share(name, joins, codes, shared)
        if found.arrangements:
            sharing[name] = found
    return sharing, {join: Arranged(code, shared.get(join, {})) for join, code in codes.items()}


def _joins(plan: Plan, steps: Mapping[str, Step], ports: Sequence[Port], gates: Collection[Port]) -> dict[str, list[int]]:
    """The joins that may take part, each with its ports that get all that the step sends."""
    found: dict[str, list[int]] = {}
    for name, port in ports:
        step = steps[name]
        if not isinstance(step.shape, JoinShape) or not _may_share(step, plan):
            continue
        if not any(isinstance(term, Constant) for term in step.shape.atoms[port]):
            found.setdefault(name, []).append(port)
    return {
        name: chosen
        for name, chosen in found.items()
        if len(chosen) <= _MOST_PORTS and not any((name, port) in gates for port in chosen)
    }


def _may_share(step: Step, plan: Plan) -> bool:
    """Whether a step is a join outside loops that goes by facts, not through time."""
    return isinstance(step.shape, JoinShape) and step.loop is None and step.id not in plan.announcing


def _share(
    step: str,
    joins: Mapping[str, Sequence[int]],
    codes: Mapping[str, JoinCode],
    shared: dict[str, dict[tuple[int, Key], Arrangement]],
) -> Sharing:
    """Make an arrangement of each key that several ports have which a step feeds."""
    readers: dict[Key, list[Port]] = {}
    for join, ports in joins.items():
        for port in ports:
            for key in _keys(codes[join], port):
                readers.setdefault(key, []).append((join, port))
    sharing = Sharing()
    taking: dict[str, None] = {}
    for key, having in readers.items():
        if len(having) > 1:
            arrangement = Arrangement(f"{step} by {'row' if key is None else key}", key)
            sharing.arrangements.append(arrangement)
            for join, port in having:
                shared.setdefault(join, {})[port, key] = arrangement
                taking[join] = None
    for join in joins:
        if join in taking:
            first, *rest = joins[join]
            sharing.before.append((join, first))
            sharing.after += [(join, port) for port in rest]
    return sharing


def _keys(code: JoinCode, port: int) -> list[Key]:
    """By which columns a port's rows are found, where they are stored just as they come."""
    if not code.keeps_rows(port):
        return []
    keys: list[Key] = [*code.indexes[port].values()]
    return [*keys, None] if code.looked_up[port] else keys


def unshared(graph: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """The state of a graph as if its joins shared nothing, so that each step's state can be taken for itself."""
    stored, operators = graph.get("arrangements", {}), graph["operators"]  # version 9 had none
    joins = [step.id for step in plan.steps if _may_share(step, plan)] if stored else []
    own = {name: {**operators[name], "state": with_own_stores(operators[name]["state"], stored)} for name in joins}
    return {**graph, "operators": {**operators, **own}, "arrangements": {}}
