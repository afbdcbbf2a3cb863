"""Retention: how long after its own time a fact may still matter, and how long each store of the plan keeps an entry.

A fact matters as long as an operator that reads it can still use it: a diamond for as long as it looks back, a join
until its partners have passed that time. `predicate_retention` tells that for each of the program's own predicates;
`retention_of` tells for each store how far the watermark moves before the operator forgets an entry, which is never later.
What an operator derives is a fact of another predicate, with a retention of its own; only where the operator is nested
in another one is the predicate in between the compiler's, and counts for the one that it is made of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidelog.plans.analysis.horizons.notation import decode_distance, written_operators
from tidelog.plans.data.timeline import NEG, POS, format_time
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    AssignShape,
    BindShape,
    DilateShape,
    ErodeShape,
    HoldShape,
    JoinShape,
    LatchShape,
    LatestShape,
    MoveShape,
    PairShape,
    PeriodShape,
    Plan,
    Shape,
    Step,
    SteppedShape,
    ThresholdShape,
    ToldShape,
    TupleShape,
    UnionShape,
)
from tidelog.plans.plan.shapes import lead_of_feed
from tidelog.plans.tree.names import expression_variables
from tidelog.plans.tree.syntax import Time, Variable, Wildcard


@dataclass(frozen=True, slots=True)
class PredicateRetention:
    """How long after its own time a fact of a predicate may still matter, in the program's time, and what to.

    `most` is how many facts may, where it is the number that is bounded.
    """

    predicate: str
    keeps: Time
    why: str
    most: int | None = None


@dataclass(frozen=True, slots=True)
class _Life:
    """How long a fact matters, how much of that is waiting (both encoded), the steps that look back for it, the rule's."""

    length: int = 0
    waits: int = 0
    operators: tuple[str, ...] = ()
    cause: Step | None = None


@dataclass(frozen=True, slots=True)
class StoreRetention:
    """One store of a step, and how far the watermark moves beyond an entry's end before the entry may go.

    `keeps` is in the program's time; below 0 the entry goes so long before the watermark gets there. `predicate` is the
    one whose rows the store holds. An entry without an end stays (`plans/analysis/horizons/growth.py`), and so does what a
    tuple window counts until enough facts have come.
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


def predicate_retention(plan: Plan) -> tuple[PredicateRetention, ...]:
    """The retention of each predicate of the program that changes while the stream goes on, in the order of the steps."""
    lives = _Lives(plan)
    found = {
        step.predicate: lives.of_predicate(step)
        for step in plan.steps
        if step.id == step.predicate and step.predicate not in plan.normal.origins and plan.leads[step.id] < POS
    }
    for step in plan.steps:
        if isinstance(step.shape, TupleShape) and step.shape.part != "left":
            name, size = step.shape.predicate, step.shape.size
            why = f"as long as it is among the last {size} facts, in {step.source}"
            found[name] = PredicateRetention(name, math.inf, why, None if name in found else size)
    return tuple(found.values())


class _Lives:
    """How long the facts of each step matter, worked out from the readers backwards."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._steps = {step.id: step for step in plan.steps}
        self._written = written_operators(plan)
        self._known: dict[str, _Life] = {}
        self._readers: dict[str, list[tuple[Step, int]]] = {step.id: [] for step in plan.steps}
        for step in plan.steps:
            for port, feed in enumerate(step.inputs):
                if feed.kind == "step":
                    self._readers[feed.name].append((step, port))

    def of_predicate(self, step: Step) -> PredicateRetention:
        """The longest of its readers' needs; at least until its own answers are final."""
        life = self._life(step.id)
        delay = -self._plan.leads[step.id]
        if delay > life.length:
            return PredicateRetention(step.predicate, decode_distance(delay, self._plan.timeline), "until it is final")
        return PredicateRetention(step.predicate, decode_distance(life.length, self._plan.timeline), self._why(life))

    def _life(self, name: str) -> _Life:
        """How long what a step derives matters to its readers."""
        if name not in self._known:
            self._known[name] = _Life()  # recursion comes back here only through a predicate with a figure of its own
            uses = [self._use(reader, port) for reader, port in self._readers[name]]
            self._known[name] = max(uses, key=lambda item: item.length, default=_Life())
        return self._known[name]

    def _use(self, step: Step, port: int) -> _Life:
        """How long a fact on this port matters: as long as the step looks back, and then what becomes of it."""
        look, after = looks_back(step.shape, port), self._after(step)
        waits = _waits(step, port, self._plan.leads)
        if waits > after.length:
            after = _Life(waits, waits, (), step)
        operators = (step.id, *after.operators) if look > 0 else after.operators
        length = POS if look >= POS else max(0, min(POS, look + after.length))
        return _Life(length, after.waits, operators, after.cause or step)

    def _after(self, step: Step) -> _Life:
        """How long a fact still matters once a step has passed it on. It is the same fact where the step's predicate is the
        compiler's own, or where the step only holds it back."""
        passes_on = step.predicate in self._plan.normal.origins or isinstance(step.shape, HoldShape | ToldShape)
        return self._life(step.id) if passes_on else _Life()

    def _why(self, life: _Life) -> str:
        if life.cause is None or life.length == 0:
            return "matters at its own time alone"
        rule, last = life.cause.source, self._steps[(life.operators or (life.cause.id,))[0]]
        names = " below ".join(f"`{self._written[name]}`" for name in life.operators)
        if life.length >= POS and not names:
            return f"waits for what looks ahead without end, in {rule}"
        if life.length >= POS and isinstance(last.shape, AssignShape):
            return f"holds until something else is assigned, in {rule}"
        if life.length >= POS and isinstance(last.shape, PairShape | LatchShape):
            return f"{names} reaches back to it as long as its left side holds, in {rule}"
        if life.length >= POS:
            return f"{names} keeps each row for ever, as one range a row, in {rule}"
        if not names:
            return f"waits for the rest of {rule}"
        waits = format_time(decode_distance(life.waits, self._plan.timeline))
        return f"{names} and a wait of {waits} in {rule}" if life.waits else f"{names} in {rule}"


def looks_back(shape: Shape, port: int) -> int:  # noqa: PLR0911 - one for each operator
    """How long after a fact's time a step may still read it on this port (encoded); below 0 where it looks ahead.

    That is ϱ⁺ for a diamond, a box and the right side of since; −ϱ⁻ for what looks ahead. The left side of since and until
    is read at its own time.
    """
    match shape:
        case DilateShape(metric, future) | ErodeShape(metric, future) if port == 0:
            return -metric.a if future else min(metric.b, POS)
        case PairShape("since", metric) if port == 1:
            return min(metric.b, POS)
        case LatchShape() if port == 1:
            return POS
        case AssignShape():
            return POS
        case PairShape("until", metric) if port == 1:
            return -metric.a
        case SteppedShape(step):
            return step - 1
        case LatestShape(size) | ThresholdShape(size):
            return size
        case AggregateShape(size=size, step=step):
            return size + step - 1
        case PeriodShape(calendar=calendar):
            return calendar.longest
    return 0


def _waits(step: Step, port: int, leads: Mapping[str, int]) -> int:
    """How far behind a fact's time the frontiers are that it still has to meet in this step (encoded), as `_stores` says."""
    ports = [lead_of_feed(feed, leads) for feed in step.inputs]
    match step.shape:
        case JoinShape():
            return -_meets(step.shape, port, ports)
        case AntiJoinShape():
            return -(ports[1] if port == 0 else min(ports))
        case LatchShape() | PairShape():
            return -(min(ports) if port == 0 else ports[0])
        case DilateShape() | BindShape() | MoveShape() | SteppedShape() | ThresholdShape() | ToldShape():
            return 0
        case _:
            return -ports[port]


def _stores(step: Step, steps: Mapping[str, Step], leads: Mapping[str, int]) -> Iterator[tuple[str, str, int]]:
    """A step's stores: name, predicate, and the lead over the watermark of the bound behind which entries go."""
    own = leads[step.id]
    ports = [lead_of_feed(feed, leads) for feed in step.inputs]
    reads = [steps[feed.name].predicate if feed.kind == "step" else feed.name for feed in step.inputs]
    match step.shape:
        case UnionShape(passes=False):
            yield "union", step.predicate, own
        case DilateShape(metric) if not metric.is_punctual:
            yield "sent", step.predicate, own
        case ErodeShape():
            yield "runs", reads[0], ports[0]
        case PairShape():
            yield "left", reads[0], min(ports)
            yield "right", reads[1], ports[0]
            yield "sent", step.predicate, own
        case AntiJoinShape() | LatchShape():
            positive, negated = (1, 0) if isinstance(step.shape, LatchShape) else (0, 1)
            yield "waiting", reads[positive], ports[negated]
            yield "negated", reads[negated], min(ports)
        case HoldShape():
            yield "waiting", reads[0], ports[0]
        case BindShape():
            yield "waiting", reads[0], ports[1]
        case MoveShape() | ToldShape(is_fed=True):
            yield "sent", step.predicate, own
        case TupleShape(predicate=predicate):
            yield "window", predicate, NEG
        case LatestShape() | AggregateShape() | ThresholdShape() | PeriodShape():
            size = step.shape.calendar.longest if isinstance(step.shape, PeriodShape) else step.shape.size
            yield "window", reads[0], ports[0] - size if size < POS else NEG
        case JoinShape():
            yield from _join_stores(step.shape, step.predicate, reads, ports)


def _join_stores(shape: JoinShape, predicate: str, reads: list[str], ports: list[int]) -> Iterator[tuple[str, str, int]]:
    """An atom's rows stay until no other atom can meet them, and where columns are left out, until they cannot return."""
    for i, read in enumerate(reads):
        yield f"atom {i + 1}", read, _meets(shape, i, ports)
    if not _kept(shape) <= {term.name for term in shape.head if isinstance(term, Variable)}:
        yield "sent", predicate, min(ports)


def _meets(shape: JoinShape, atom: int, ports: list[int]) -> int:
    """The lead over the watermark of what the rows of an atom may still meet."""
    others = min((bound for j, bound in enumerate(ports) if j != atom), default=POS)
    return others if _is_whole(shape, atom) else min(others, ports[atom])


def _is_whole(shape: JoinShape, atom: int) -> bool:
    """Whether different rows of an atom stay different once what nothing else mentions is left out."""
    terms = shape.atoms[atom]
    return _names(terms) <= _kept(shape) and not any(isinstance(term, Wildcard) for term in terms)


def _kept(shape: JoinShape) -> set[str]:
    """The variables of the atoms that the head, a comparison or a second atom mentions."""
    everywhere = [_names(terms) for terms in shape.atoms]
    needed = _names(shape.head)
    for comparison in shape.comparisons:
        needed.update(expression_variables(comparison.left, comparison.right))
    shared = {name for i, names in enumerate(everywhere) for name in names if any(name in o for o in everywhere[:i])}
    return set().union(*everywhere) & (needed | shared)


def _names(terms: tuple[object, ...]) -> set[str]:
    return {term.name for term in terms if isinstance(term, Variable)}
