"""Arrangements at work: those that a plan's joins share (`plans/analysis/physical/shared_stores.py`), and who reads them.

When something new comes, a join's first port takes it before it is stored, and its second port behind that: so new facts
meet old ones at either port, and each other once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.operators.joins.arrangement import Arranged, Arrangement, with_own_stores
from tidelog.operators.joins.join_code import write_join
from tidelog.plans.analysis.physical.lookups import Key
from tidelog.plans.analysis.physical.shared_stores import SharedStore, may_share, ports_of_joins, shared_stores
from tidelog.plans.plan.guards import Port
from tidelog.plans.plan.plan import JoinShape, Plan


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
    """For each step that feeds some, the arrangements; for the joins that read them, their code, and what they read.

    `outer` are the ports that each step feeds outside its loop; before `gates`, facts may be withheld.
    """
    steps = {step.id: step for step in plan.steps}
    sharing: dict[str, Sharing] = {}
    shared: dict[str, dict[tuple[int, Key], Arrangement]] = {}
    for name, stores in shared_stores(plan, outer, gates).items():
        sharing[name] = Sharing([_arrangement(name, store, shared) for store in stores])
        taking = {join for store in stores for join, _ in store.readers}
        seen: set[str] = set()
        for join, port in ports_of_joins(plan, steps, outer[name], gates):
            if join in taking:
                (sharing[name].after if join in seen else sharing[name].before).append((join, port))
                seen.add(join)
    shapes = {name: steps[name].shape for name in shared}
    return sharing, {
        name: Arranged(write_join(shape), shared[name]) for name, shape in shapes.items() if isinstance(shape, JoinShape)
    }


def _arrangement(step: str, store: SharedStore, shared: dict[str, dict[tuple[int, Key], Arrangement]]) -> Arrangement:
    """An arrangement of what a step sends, noted for its readers."""
    arrangement = Arrangement(f"{step} by {'row' if store.key is None else store.key}", store.key)
    for join, port in store.readers:
        shared.setdefault(join, {})[port, store.key] = arrangement
    return arrangement


def unshared(graph: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """The state of a graph as if its joins shared nothing, so that each step's state can be taken for itself."""
    stored, operators = graph["arrangements"], graph["operators"]
    joins = [step.id for step in plan.steps if may_share(step, plan)] if stored else []
    own = {name: {**operators[name], "state": with_own_stores(operators[name]["state"], stored)} for name in joins}
    return {**graph, "operators": {**operators, **own}, "arrangements": {}}
