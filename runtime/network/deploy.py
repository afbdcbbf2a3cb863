"""From a plan's steps to operators, and who feeds whom. Nothing is decided here: the plan has decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidelog.operators.grouped.aggregate import Aggregate
from tidelog.operators.grouped.latest import Latest
from tidelog.operators.grouped.levels import Levels
from tidelog.operators.grouped.periods import Periods
from tidelog.operators.grouped.threshold import Threshold
from tidelog.operators.joins.antijoin import AntiJoin
from tidelog.operators.joins.arrangement import Arranged
from tidelog.operators.joins.join import Join
from tidelog.operators.joins.standing_antijoin import StandingAntiJoin
from tidelog.operators.joins.standing_join import StandingJoin
from tidelog.operators.loops.hold import Hold
from tidelog.operators.loops.open_loop import OpenLoop
from tidelog.operators.metric.dilate import Dilate
from tidelog.operators.metric.erode import Erode
from tidelog.operators.metric.latch import Latch
from tidelog.operators.metric.pairing import RowPairing
from tidelog.operators.metric.since import Since
from tidelog.operators.metric.union import Union
from tidelog.operators.metric.until import Until
from tidelog.operators.operator import Operator, whole_row
from tidelog.operators.standing.assigned import Assigned
from tidelog.operators.standing.runs import Runs
from tidelog.operators.standing.spells import Spells
from tidelog.operators.standing.sweeping import Sweeping
from tidelog.operators.standing.told import DistinctPieces, Told
from tidelog.operators.stores.passing import Passing
from tidelog.operators.stores.pieces import Pieces
from tidelog.operators.windows.bind import Bind
from tidelog.operators.windows.calendar import Calendar
from tidelog.operators.windows.move import Move
from tidelog.operators.windows.stepped import Stepped
from tidelog.operators.windows.tuple_points import TuplePoints
from tidelog.operators.windows.tuple_window import TupleWindow
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.plan.plan import (
    AggregateShape,
    Announced,
    AntiJoinShape,
    AssignShape,
    BindShape,
    CalendarShape,
    DilateShape,
    ErodeShape,
    Feed,
    HoldShape,
    JoinShape,
    LatchShape,
    LatestShape,
    Loop,
    MoveShape,
    PairShape,
    PeriodShape,
    Plan,
    Step,
    SteppedShape,
    ThresholdShape,
    ToldShape,
    TupleShape,
    UnionShape,
)
from tidelog.plans.plan.shapes import lead_of_feed
from tidelog.plans.tree.syntax import Constant, Term, Variable


def build_operator(
    step: Step,
    timeline: Timeline,
    *,
    far_sighted: bool = False,
    announced: Announced | None = None,
    arranged: Arranged | None = None,
) -> Operator:
    """The operator of a step, with empty state; `far_sighted`, and telling by notices, where the plan says so.

    A join may read arrangements (`runtime/network/arranging.py`).
    """
    if arranged is not None and isinstance(step.shape, JoinShape):
        operator: Operator = Join(step.shape, arranged)
    elif announced is not None:
        operator = _announcing_operator_of(step, timeline, announced)
    else:
        operator = _operator_of(step, timeline)
    operator.far_sighted = far_sighted
    operator.takes_notices = announced is not None and announced.is_fed
    if isinstance(operator, AntiJoin | Assigned | Latest | Aggregate):
        operator.pieces = Pieces() if announced is None else None
    elif isinstance(operator, Latch):
        operator.pieces = DistinctPieces() if announced is None else None
    elif announced is not None and isinstance(operator, Union | Join):
        operator.passing = Passing(operator.image)
    elif announced is not None and isinstance(operator, Dilate):
        operator.passing = Passing(operator.image, operator.moved)
    return operator


def _announcing_operator_of(step: Step, timeline: Timeline, announced: Announced) -> Operator:
    match step.shape:
        case PairShape("since", metric):
            return Since(metric, timeline.touch, _pairing(step.shape), announced.slowest, announced.beyond)
        case JoinShape(atoms=atoms) if len(atoms) > 1:
            return StandingJoin(step.shape, announced.slowest)
        case AntiJoinShape() if announced.is_fed:
            return StandingAntiJoin(*_matching(step.shape), announced.slowest)
        case AggregateShape() as shape if announced.is_fed:
            return Aggregate(shape, _taking(shape.by), Spells())
        case AssignShape():
            return Assigned(timeline.touch, announced.slowest, is_circular=step.loop is not None)
        case ThresholdShape() as shape:
            key = _taking(shape.by)
            return Threshold(shape, key, Levels(shape, key))
        case LatestShape(size, by) if announced.is_fed:
            return Latest(_taking(by), size, Spells())
        case _:
            return _operator_of(step, timeline)


def _operator_of(step: Step, timeline: Timeline) -> Operator:  # noqa: PLR0911 - one for each shape
    match step.shape:
        case UnionShape(reach, passes):
            return Union(len(step.inputs), reach, passes=passes)
        case DilateShape(metric, future):
            return Dilate(metric, future)
        case ErodeShape(metric, future, clipped):
            return Erode(metric, future, clipped)
        case PairShape(operator, metric):
            return (Since if operator == "since" else Until)(metric, timeline.touch, _pairing(step.shape))
        case JoinShape():
            return Join(step.shape)
        case AntiJoinShape() | LatchShape():
            matching = _matching(step.shape)
            return AntiJoin(*matching) if isinstance(step.shape, AntiJoinShape) else Latch(timeline.touch, *matching)
        case AssignShape():
            return Assigned(timeline.touch, is_circular=step.loop is not None)
        case HoldShape() | ToldShape() as shape:
            return Hold(len(step.inputs)) if isinstance(shape, HoldShape) else Told(shape.beyond, shape.is_fed)
        case LatestShape() | AggregateShape() | ThresholdShape() | PeriodShape():
            return _grouped(step.shape)
        case _:
            return _lars_operator(step.shape)


def _grouped(shape: LatestShape | AggregateShape | ThresholdShape | PeriodShape) -> Operator:
    key = _taking(shape.by)
    if isinstance(shape, PeriodShape):
        return Periods(shape, key)
    if isinstance(shape, ThresholdShape):
        return Threshold(shape, key)
    return Latest(key, shape.size) if isinstance(shape, LatestShape) else Aggregate(shape, key)


def _lars_operator(shape: BindShape | MoveShape | SteppedShape | TupleShape | CalendarShape) -> Operator:
    match shape:
        case BindShape():
            return Bind()
        case CalendarShape(calendar, ahead, behind, since):
            return Calendar(calendar, ahead, behind, since)
        case MoveShape(by, back):
            return Move(by, back)
        case SteppedShape(step):
            return Stepped(step)
        case TupleShape():
            return _tuple_window(shape)


def build_open_loop(plan: Plan, loop: Loop, most: int) -> OpenLoop | None:
    """What takes notices for a loop, with empty state; None where it takes none, or its parts do (`build_group`)."""
    told = [i for i, name in enumerate(loop.members) if name in plan.announcing]
    if not told or loop.order:
        return None
    return _open_loop(plan, loop.members, loop.entries, told, most if loop.creates_values else None)


@dataclass(frozen=True, slots=True)
class Group:
    """Steps of a clocked loop that feed each other at one time, as one operator; its ports, by those of the steps."""

    operator: OpenLoop
    ports: dict[tuple[str, int], int]


def build_group(plan: Plan, members: Sequence[str], most: int | None) -> Group | None:
    """The operator of steps that feed each other at one time, with empty state; None for one that does not feed itself."""
    steps = [plan.step(name) for name in members]
    if len(members) == 1 and members[0] not in steps[0].feeders:
        return None
    ports = [(step.id, port) for step in steps for port in range(len(step.inputs))]
    entries = [(name, port) for name, port in ports if not _is_inner(plan.step(name).inputs[port], members)]
    operator = _open_loop(plan, members, entries, range(len(members)), most)
    return Group(operator, {entry: number for number, entry in enumerate(entries)})


def _is_inner(feed: Feed, members: Sequence[str]) -> bool:
    return feed.kind == "step" and feed.name in members


def _open_loop(
    plan: Plan, members: Sequence[str], entries: Sequence[tuple[str, int]], told: Sequence[int], most: int | None
) -> OpenLoop:
    number = {name: i for i, name in enumerate(members)}
    steps = [plan.step(name) for name in members]
    inner: list[list[tuple[int, int]]] = [[] for _ in steps]
    for i, step in enumerate(steps):
        for port, feed in enumerate(step.inputs):
            if _is_inner(feed, members):
                inner[number[feed.name]].append((i, port))
    feeds = [plan.step(name).inputs[port] for name, port in entries]
    return OpenLoop(
        [_member(step) for step in steps],
        [(number[name], port) for name, port in entries],
        inner,
        [i for i, (name, port) in enumerate(entries) if port and isinstance(plan.step(name).shape, AntiJoinShape)],
        told,
        min(range(len(feeds)), key=lambda i: lead_of_feed(feeds[i], plan.leads)),
        most,
    )


def _member(step: Step) -> Sweeping:
    """What a step of a loop gives at one time."""
    match step.shape:
        case JoinShape():
            return StandingJoin(step.shape, 0)
        case AntiJoinShape():
            return StandingAntiJoin(*_matching(step.shape), 0)
        case _:
            return Runs(len(step.inputs))


def _pairing(shape: PairShape) -> RowPairing:
    shared = [name for name in shape.right if name in shape.left]
    extra = [shape.left.index(name) for name in shape.left if name not in shape.right]
    return RowPairing(
        key_of_left=_columns([shape.left.index(name) for name in shared], len(shape.left)),
        key_of_right=_columns([shape.right.index(name) for name in shared], len(shape.right)),
        combine=lambda left, right: right + tuple(left[i] for i in extra) if extra else right,
        left_adds_columns=bool(extra),
    )


def _columns(positions: list[int], width: int) -> Callable[[Row], Row]:
    """A function that takes the columns at these positions from a row of this width."""
    if positions == list(range(width)):
        return whole_row
    if positions == list(range(1, width)):
        return lambda row: row[1:]
    return lambda row: tuple(row[i] for i in positions)


def _taking(positions: tuple[int, ...]) -> Callable[[Row], Row]:
    """A function that takes the columns at these positions from a row of any width."""
    if positions == tuple(range(len(positions))):
        width = len(positions)
        return lambda row: row[:width]
    return lambda row: tuple(row[i] for i in positions)


def _matching(shape: AntiJoinShape | LatchShape) -> tuple[Callable[[Row], Row], Callable[[Row], Row | None]]:
    """Two functions: one takes the negated atom's key from a row of M, the other takes it from a row of N, or None where the
    row does not match."""
    names, match = _match(shape.negated)
    return _columns([shape.columns.index(name) for name in names], len(shape.columns)), match


def _tuple_window(shape: TupleShape) -> TupleWindow | TuplePoints:
    _, match = _match((Constant(shape.predicate), *shape.terms))
    if shape.part == "points":
        return TuplePoints(shape.size, match, shape.of)
    return TupleWindow(shape.size, match, shape.of, timed=shape.mode == "at", left=shape.part == "left")


def _match(terms: Sequence[Term]) -> tuple[list[str], Callable[[Row], Row | None]]:
    """The variables of an atom, and what takes their values from a row; None where the atom does not stand for the row."""
    names: list[str] = []
    first: dict[str, int] = {}
    tests: list[tuple[int, object]] = []
    repeated: list[tuple[int, int]] = []
    for position, term in enumerate(terms):
        if isinstance(term, Constant):
            tests.append((position, term.value))
        elif isinstance(term, Variable):
            if term.name in first:
                repeated.append((position, first[term.name]))
            else:
                first[term.name] = position
                names.append(term.name)
    take = _columns([first[name] for name in names], len(terms))
    if not tests and not repeated:
        return names, take
    if len(tests) == 1 and not repeated:
        place, wanted = tests[0]
        return names, lambda row: take(row) if row[place] == wanted else None

    def match(row: Row) -> Row | None:
        if any(row[i] != value for i, value in tests) or any(row[i] != row[j] for i, j in repeated):
            return None
        return take(row)

    return names, match
