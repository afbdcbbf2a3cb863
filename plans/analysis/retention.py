"""Retention: how long each store of the plan keeps an entry, told from the frontiers by which the operators forget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidelog.plans.analysis.delay import port_lead
from tidelog.plans.analysis.notation import decode_distance
from tidelog.plans.normal.names import expression_variables
from tidelog.plans.plan import (
    AntiJoinShape,
    DilateShape,
    ErodeShape,
    HoldShape,
    JoinShape,
    PairShape,
    Plan,
    Step,
    UnionShape,
)
from tidelog.plans.syntax import Time, Variable, Wildcard
from tidelog.plans.timeline import POS


@dataclass(frozen=True, slots=True)
class StoreRetention:
    """One store of a step, and how far the watermark moves beyond an entry's end before the entry may go.

    `keeps` is in the program's time; below 0 the entry goes so long before the watermark gets there. `predicate` is the
    one whose rows the store holds. An entry without an end stays (`plans/analysis/growth.py`).
    """

    step: str
    store: str
    predicate: str
    keeps: Time


def retention_of(plan: Plan) -> tuple[StoreRetention, ...]:
    """Every store that can hold something while the stream goes on, in the order of the steps."""
    steps = {step.id: step for step in plan.steps}
    return tuple(
        StoreRetention(step.id, store, predicate, decode_distance(-bound, plan.timeline))
        for step in plan.steps
        for store, predicate, bound in _stores(step, steps, plan.leads)
        if bound < POS
    )


def longest_by_predicate(stores: tuple[StoreRetention, ...]) -> dict[str, Time]:
    """For each predicate that is stored anywhere, the longest that one of its rows is kept."""
    longest: dict[str, Time] = {}
    for store in stores:
        longest[store.predicate] = max(store.keeps, longest.get(store.predicate, store.keeps))
    return longest


def _stores(step: Step, steps: Mapping[str, Step], leads: Mapping[str, int]) -> Iterator[tuple[str, str, int]]:
    """A step's stores: name, predicate, and the lead over the watermark of the bound behind which entries go."""
    own = leads[step.id]
    ports = [port_lead(feed, leads) for feed in step.inputs]
    reads = [steps[feed.name].predicate if feed.kind == "step" else feed.name for feed in step.inputs]
    match step.shape:
        case UnionShape():
            yield "union", step.predicate, own
        case DilateShape(metric) if not metric.is_punctual:
            yield "sent", step.predicate, own
        case ErodeShape():
            yield "runs", reads[0], ports[0]
        case PairShape():
            yield "left", reads[0], min(ports)
            yield "right", reads[1], ports[0]
            yield "sent", step.predicate, own
        case AntiJoinShape():
            yield "waiting", reads[0], ports[1]
            yield "negated", reads[1], min(ports)
        case HoldShape():
            yield "waiting", reads[0], ports[0]
        case JoinShape():
            yield from _join_stores(step.shape, step.predicate, reads, ports)


def _join_stores(
    shape: JoinShape, predicate: str, reads: list[str], ports: list[int]
) -> Iterator[tuple[str, str, int]]:
    """An atom's rows stay until no other atom can meet them, and where columns are left out, until they cannot return."""
    for i, read in enumerate(reads):
        others = min((bound for j, bound in enumerate(ports) if j != i), default=POS)
        yield f"atom {i + 1}", read, others if _is_whole(shape, i) else min(others, ports[i])
    if not _kept(shape) <= {term.name for term in shape.head if isinstance(term, Variable)}:
        yield "sent", predicate, min(ports)


def _is_whole(shape: JoinShape, atom: int) -> bool:
    """Whether different rows of an atom stay different once what nothing else mentions is left out."""
    terms = shape.atoms[atom]
    return _names(terms) <= _kept(shape) and not any(isinstance(term, Wildcard) for term in terms)


def _kept(shape: JoinShape) -> set[str]:
    """The variables of the atoms that the head, a comparison or a second atom mentions."""
    everywhere = [_names(terms) for terms in shape.atoms]
    needed = _names(shape.head)
    for comparison in shape.comparisons:
        needed |= {*expression_variables(comparison.left), *expression_variables(comparison.right)}
    shared = {name for i, names in enumerate(everywhere) for name in names if any(name in o for o in everywhere[:i])}
    return set().union(*everywhere) & (needed | shared)


def _names(terms: tuple[object, ...]) -> set[str]:
    return {term.name for term in terms if isinstance(term, Variable)}
