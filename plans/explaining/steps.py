"""What each way of showing a plan says of a step: everything in the program's own time and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tidelog.plans.analysis.horizons.extent import reach_of
from tidelog.plans.analysis.horizons.notation import decode_distance, decode_metric, operator_text
from tidelog.plans.analysis.physical.shared_stores import SharedStore, shared_stores
from tidelog.plans.data.facts import format_predicate
from tidelog.plans.data.timeline import format_time
from tidelog.plans.plan.plan import (
    AggregateShape,
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
from tidelog.plans.tree.syntax import Term, Time, Variable


@dataclass(frozen=True, slots=True)
class PortView:
    """One input of a step: the port's number (from 0), what the operator takes it for, and what feeds it."""

    port: int
    role: str
    feed: Feed


@dataclass(frozen=True, slots=True)
class StepView:
    """A step for people and programs.

    `operator` is union, dilate, erode, since, until, join, antijoin, latch, bind, move, stepped, tuples, latest,
    aggregate, threshold, hold or told (piece by piece, for those who take no notices); `parameters` says
    what it computes (`diamondminus[0,2]`). `lead` is how far its frontier lies ahead of the watermark (below 0: behind),
    `reach` the longest gap that its `#`-facts cover, or None. `sleeps` names the input predicate whose absence puts it to
    sleep, or is empty; `spared` are the ports at which facts are kept from it while they can be of no use. `shared` is what
    several joins store of what it sends, and is stored once; `fused` names the operators that it is in one.
    """

    id: str
    predicate: str
    operator: str
    parameters: str
    inputs: tuple[PortView, ...]
    loop: int | None
    lead: Time
    reach: Time | None
    rule: str
    source: str
    sleeps: str = ""
    spared: tuple[int, ...] = ()
    shared: tuple[SharedStore, ...] = ()
    fused: tuple[str, ...] = ()

    @property
    def delay(self) -> Time:
        """How far the frontier lies behind the watermark."""
        return -self.lead if self.lead < 0 else Fraction(0)

    def lines(self) -> list[str]:
        """What a picture's box says of it: its id, what it computes, and for how long it waits."""
        lines = [self.id, f"{self.operator} {self.parameters}".rstrip()]
        if self.delay:
            lines.append(f"delay {format_time(self.delay)}")
        if self.reach is not None:
            lines.append(f"#-facts over gaps of up to {format_time(self.reach)}")
        return lines


def views_of(plan: Plan) -> list[StepView]:
    """What is to be said of each step, in the order in which they run."""
    shared = shared_stores(plan)
    return [_view_of(plan, step, shared.get(step.id, ())) for step in plan.steps]


def _view_of(plan: Plan, step: Step, shared: Sequence[SharedStore]) -> StepView:
    shape = step.shape
    roles = _roles(shape, len(step.inputs))
    return StepView(
        id=step.id,
        predicate=step.predicate,
        operator=_operator(shape),
        parameters=_parameters(shape, plan),
        inputs=tuple(PortView(i, roles[i], feed) for i, feed in enumerate(step.inputs)),
        loop=step.loop,
        lead=decode_distance(plan.leads[step.id], plan.timeline),
        reach=reach_of(shape, plan) if isinstance(shape, UnionShape) and shape.reach > 1 else None,
        rule=step.rule,
        source=step.source,
        sleeps=next((sleeper.predicates[0] for sleeper in plan.prospects.sleepers if sleeper.step == step.id), ""),
        spared=tuple(sorted(port for name, port in plan.prospects.gates if name == step.id)),
        shared=tuple(shared),
        fused=_PARTS_OF_LATCH if isinstance(shape, LatchShape) else (),
    )


def feed_text(feed: Feed) -> str:
    """What feeds a port: a step's id, `stream p`, `facts p`, `stream start`, `stream clock`, `stream arrivals`."""
    if feed.kind in ("start", "clock", "arrivals"):
        return f"stream {feed.kind}"
    return feed.name if feed.kind == "step" else f"{feed.kind} {format_predicate(feed.name)}"


def shared_text(store: SharedStore) -> str:
    """By what the rows of a shared store are found, and which steps read it.

    >>> shared_text(SharedStore((0, 2), (("p", 0), ("q", 0), ("q", 1))))
    'by columns 1 and 3, for p and q'
    """
    names = list(dict.fromkeys(step for step, _ in store.readers))
    columns = [str(position + 1) for position in store.key or ()]
    key = f"column{'s' if len(columns) > 1 else ''} {listed(columns)}" if columns else "time alone"
    more = names[_MOST_NAMES:]
    shown = [*names[:_MOST_NAMES], f"{len(more)} more"] if len(more) > 1 else names
    return f"by {'whole rows' if store.key is None else key}, for {listed(shown)}"


def listed(names: Sequence[str]) -> str:
    """Names in words: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


_MOST_NAMES = 4
"""So many steps are named in a line."""


_PARTS_OF_LATCH = ("dilate", "antijoin", "since")
"""What `not N since[0,inf) M` is in normal form (`plans/compiling/fusing.py`)."""


_OPERATORS: Mapping[type[Shape], str] = {
    UnionShape: "union",
    DilateShape: "dilate",
    ErodeShape: "erode",
    JoinShape: "join",
    AntiJoinShape: "antijoin",
    LatchShape: "latch",
    AssignShape: "assign",
    HoldShape: "hold",
    BindShape: "bind",
    MoveShape: "move",
    SteppedShape: "stepped",
    TupleShape: "tuples",
    LatestShape: "latest",
    AggregateShape: "aggregate",
    ThresholdShape: "threshold",
    CalendarShape: "calendar",
    PeriodShape: "per period",
    ToldShape: "told",
}


def _operator(shape: Shape) -> str:
    return shape.operator if isinstance(shape, PairShape) else _OPERATORS[type(shape)]


def _parameters(shape: Shape, plan: Plan) -> str:
    match shape:
        case JoinShape(atoms=atoms) if len(atoms) > 1:
            return _on(_shared(atoms))
        case LatchShape(negated=negated):
            return f"{operator_text(shape, plan.timeline)} {_on(_variables(negated))}"
        case AntiJoinShape(negated=negated):
            return _on(_variables(negated))
        case LatestShape(size):
            return f"in [{format_time(decode_distance(size, plan.timeline))}]"
        case PairShape(metric=metric, left=left, right=right):
            interval = str(decode_metric(metric, plan.timeline))
            return f"{interval} {_on([name for name in right if name in left])}"
    return operator_text(shape, plan.timeline)


def _on(names: list[str]) -> str:
    return f"on {', '.join(names)}" if names else "on time alone"


def _shared(atoms: tuple[tuple[Term, ...], ...]) -> list[str]:
    """The variables that more than one atom has, in order of occurrence."""
    each = [_variables(terms) for terms in atoms]
    names = dict.fromkeys(name for own in each for name in own)
    return [name for name in names if sum(name in own for own in each) > 1]


def _variables(terms: tuple[Term, ...]) -> list[str]:
    return list(dict.fromkeys(term.name for term in terms if isinstance(term, Variable)))


def _roles(shape: Shape, ports: int) -> list[str]:
    match shape:
        case PairShape():
            return ["left", "right"]
        case AntiJoinShape():
            return ["positive", "negated"]
        case LatchShape():
            return ["negated", "since"]
        case AssignShape():
            return ["assigned"]
        case ErodeShape(clipped=True) | PeriodShape() | TupleShape(part="points"):
            return ["facts", "start"]
        case BindShape():
            return ["facts", "clock"]
        case CalendarShape():
            return ["start", "clock"]
        case JoinShape() if ports > 1:
            return [f"atom {i + 1}" for i in range(ports)]
    return [""] * ports
