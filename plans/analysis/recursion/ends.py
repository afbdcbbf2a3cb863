"""Whether recursion comes to an end when all facts are there at once: how far each round of it moves in time.

A recursion whose every round comes back to the time where it began adds nothing after finitely many rounds (Wałęga,
Zawidzki and Cuenca Grau 2023, Finite materialisability in DatalogMTL): there are finitely many rows, and finitely many
distances. One that never looks ahead derives nothing before its facts, so up to any time it ends. Any other recursion
repeats itself in the end (`runtime/batch/saturation.py`), as long as it makes no new values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tidelog.plans.analysis.recursion.loops import computes
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import DilateShape, ErodeShape, PairShape, Shape, Step, SteppedShape, ThresholdShape
from tidelog.plans.plan.shapes import lead
from tidelog.plans.tree.components import components

Ending = Literal["finite", "forward", "periodic", "unbounded"]
"""`finite`: there is always an end; `forward`: there is one up to any time, and what comes then repeats itself; `periodic`:
it repeats itself; `unbounded`: it makes values, so that there need be neither."""


@dataclass(frozen=True, slots=True)
class _Edge:
    """A step takes from another what holds `low` … `high` (encoded) before it; below 0, what holds ahead."""

    source: str
    target: str
    low: int
    high: int


def ending_of(steps: Iterable[Step]) -> Ending:
    """What is known of a component's end, from its steps: those on no circle do not count."""
    by_name = {step.id: step for step in steps}
    rounds = [members for members in components(_successors(by_name)) if _is_round(members, by_name)]
    inside = [by_name[name] for members in rounds for name in members]
    if any(computes(step) for step in inside):
        return "unbounded"
    if all(_stays(members, list(_edges(members, by_name))) for members in rounds):
        return "finite"
    return "forward" if all(looks_back(step) for step in inside) else "periodic"


def looks_back(step: Step) -> bool:
    """Whether new coverage of a step begins no earlier than what it follows from."""
    return all(lead(step.shape, port) >= 0 for port in range(len(step.inputs)))


def _stays(members: Sequence[str], edges: Sequence[_Edge]) -> bool:
    """Whether every circle of a component leads back to the same time: then each member has one place in time."""
    if any(edge.low != edge.high for edge in edges):
        return False
    following: dict[str, list[_Edge]] = {name: [] for name in members}
    for edge in edges:
        following[edge.source].append(edge)
    place = {members[0]: 0}
    waiting = [members[0]]
    for name in waiting:
        for edge in following[name]:
            if edge.target not in place:
                place[edge.target] = place[name] + edge.low
                waiting.append(edge.target)
    return all(place[edge.target] == place[edge.source] + edge.low for edge in edges)


def _edges(members: Sequence[str], steps: Mapping[str, Step]) -> Iterator[_Edge]:
    inside = set(members)
    for name in members:
        step = steps[name]
        for port, feed in enumerate(step.inputs):
            if feed.kind == "step" and feed.name in inside:
                yield _Edge(feed.name, name, *_distances(step.shape, port))


def _distances(shape: Shape, port: int) -> tuple[int, int]:
    """How far before a step's times those lie that it looks at through a port."""
    match shape:
        case DilateShape(metric, future) | ErodeShape(metric, future):
            return (-metric.b, -metric.a) if future else (metric.a, metric.b)
        case PairShape(operator, metric):
            low = metric.a if port == 1 else 0
            return (-metric.b, -low) if operator == "until" else (low, metric.b)
        case SteppedShape(step):
            return 0, step - 1
        case ThresholdShape(size):
            return 0, size
    return (0, 0) if lead(shape, port) == 0 else (-POS, POS)


def _successors(steps: Mapping[str, Step]) -> dict[str, list[str]]:
    successors: dict[str, list[str]] = {name: [] for name in steps}
    for step in steps.values():
        for name in step.feeders:
            if name in successors:
                successors[name].append(step.id)
    return successors


def _is_round(members: Sequence[str], steps: Mapping[str, Step]) -> bool:
    return len(members) > 1 or members[0] in steps[members[0]].feeders
