"""Who feeds whom in a plan."""

from __future__ import annotations

from tidelog.plans.plan.plan import Plan


def consumers_of(plan: Plan) -> dict[str, list[tuple[str, int]]]:
    """For each step, the ports `(step, port)` that it feeds."""
    consumers: dict[str, list[tuple[str, int]]] = {step.id: [] for step in plan.steps}
    for step in plan.steps:
        for port, feed in enumerate(step.inputs):
            if feed.kind == "step":
                consumers[feed.name].append((step.id, port))
    return consumers


def ports_fed_by(plan: Plan, kind: str) -> dict[str, list[tuple[str, int]]]:
    """For each predicate, the ports fed by its `stream` or `facts`; under no name, those fed by a feed of another kind."""
    ports: dict[str, list[tuple[str, int]]] = {}
    for step in plan.steps:
        for port, feed in enumerate(step.inputs):
            if feed.kind == kind:
                ports.setdefault(feed.name, []).append((step.id, port))
    return ports
