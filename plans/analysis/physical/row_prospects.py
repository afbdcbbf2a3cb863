"""Prospects for single rows: whose partner is absent though its predicate is not (Laser2, 2021, names it as future work).

Where facts of `p(X)` lead to a join with `□[a,b] q(X)` alone, and a fact's row tells the row of q that it would meet, it is
of no use while that row of q is absent, whatever others do. The way from the gate to the join, and from the sleeper to
it, must keep rows as they are: unions, diamonds and boxes do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tidelog.plans.data.timeline import LIMIT
from tidelog.plans.plan.guards import Port, RowBlocker, Sleeper
from tidelog.plans.plan.plan import DilateShape, ErodeShape, Feed, JoinShape, Shape, Step, UnionShape
from tidelog.plans.tree.syntax import Constant, Term, Value, Variable

Column = tuple[int, None] | tuple[None, Value]


def find_row_blocker(
    port: Port,
    steps: Mapping[str, Step],
    readers: Mapping[str, Sequence[Port]],
    sleepers: Mapping[str, Sleeper],
    watched: Collection[str],
) -> RowBlocker | None:
    """The first partner in the next join whose row follows from a row at this port: while it is absent, that row is of no
    use. None if there is no such partner."""
    name, number = port
    low = high = 0
    while not isinstance(shape := steps[name].shape, JoinShape):
        moved = _effect(shape)
        if moved is None or name in watched or len(readers[name]) != 1:
            return None
        low, high = low - moved[0], high - moved[1]
        name, number = readers[name][0]
    for other, feed in enumerate(steps[name].inputs):
        found = None if other == number else _sleeper_behind(feed, steps, sleepers)
        columns = _columns(shape.atoms[number], shape.atoms[other])
        if found is not None and columns is not None:
            sleeper, begin, end = found
            own = tuple((i, None) for i in range(len(shape.atoms[number])))
            return RowBlocker(sleeper, low + begin, high + end, None if columns == own else columns)
    return None


def _effect(shape: Shape) -> tuple[int, int] | None:
    """How far the answers that a fact changes lie behind its begin and its end, where rows stay as they are."""
    match shape:
        case UnionShape():
            return 0, 0
        case DilateShape(metric, future) | ErodeShape(metric, future):
            if metric.b >= LIMIT or metric.left_open or metric.right_open:
                return None
            return (-metric.b, -metric.a) if future else (metric.a, metric.b)
    return None


def _sleeper_behind(feed: Feed, steps: Mapping[str, Step], sleepers: Mapping[str, Sleeper]) -> tuple[str, int, int] | None:
    """The sleeper whose rows come through a feed, and how far its predicate's absence reaches there."""
    low = high = 0
    while feed.kind == "step":
        step = steps[feed.name]
        if not isinstance(step.shape, DilateShape | ErodeShape):
            return None
        moved = _effect(step.shape)
        if moved is None:
            return None
        if isinstance(step.shape, DilateShape):
            moved = moved[1], moved[0]  # a diamond must see nothing at all
        low, high = low + moved[0], high + moved[1]
        if step.id in sleepers:
            return step.id, low, high
        feed = step.inputs[0]
    return None


def _columns(own: Sequence[Term], other: Sequence[Term]) -> tuple[Column, ...] | None:
    """Where the other atom's row stands in a row of one's own; None if it is not all there."""
    first: dict[str, int] = {}
    for position, term in enumerate(own):
        if isinstance(term, Variable):
            first.setdefault(term.name, position)
    columns: list[Column] = []
    for term in other:
        if isinstance(term, Constant):
            columns.append((None, term.value))
        elif isinstance(term, Variable) and term.name in first:
            columns.append((first[term.name], None))
        else:
            return None
    return tuple(columns)
