"""Who feeds whom in a plan."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    BindShape,
    JoinShape,
    LatchShape,
    MoveShape,
    PairShape,
    PeriodShape,
    Plan,
    Shape,
    ThresholdShape,
    TupleShape,
    UnionShape,
)
from tidelog.plans.tree.syntax import Atom, Variable


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


def width_of(shape: Shape, widths: Sequence[int]) -> int:
    """How many arguments the rows of a step have, those of its ports having so many."""
    match shape:
        case JoinShape(head=head):
            return len(head)
        case AntiJoinShape(columns=columns) | LatchShape(columns=columns):
            return len(columns)
        case PairShape(left=left, right=right):
            return len(right) + len([name for name in left if name not in right])
        case AggregateShape(by=by) | PeriodShape(by=by):
            return len(by) + 1
        case ThresholdShape(by=by):
            return len(by)
        case TupleShape(mode=mode, part=part, terms=terms):
            names = {term.name for term in terms if isinstance(term, Variable)}
            return 1 if part == "left" else len(names) + (part == "entered") + (mode == "at")
        case BindShape():
            return widths[0] + 1
        case MoveShape():
            return widths[0] - 1
        case _:
            return widths[0]


def widths_of(plan: Plan) -> dict[tuple[str, str], int]:
    """How many arguments the rows of each feed have: of the stream's and the program's facts, and of each step."""
    widths: dict[tuple[str, str], int] = {("start", ""): 0, ("clock", ""): 0}
    for name, schema in plan.schema.predicates.items():
        widths["stream", name] = widths["facts", name] = schema.arity
    for rule in plan.normal.rules:
        if isinstance(rule.head, Atom):
            widths["facts", rule.head.predicate] = len(rule.head.arguments)
    for predicate, row, _, _ in plan.facts:
        widths["facts", predicate] = len(row)
    pending = list(plan.steps)
    while pending:
        later = []
        for step in pending:
            ports = [widths.get((feed.kind, feed.name)) for feed in step.inputs]
            known = [width for width in ports if width is not None]
            if isinstance(step.shape, UnionShape) and known:
                widths["step", step.id] = known[0]
            elif len(known) == len(ports) or isinstance(step.shape, JoinShape | AntiJoinShape | TupleShape):
                widths["step", step.id] = width_of(step.shape, known)
            else:
                later.append(step)
        if len(later) == len(pending):
            raise TypeError(f"no arity is known of {[step.id for step in later]}")
        pending = later
    return widths
