"""From a normalised rule to the shape of its operator: the one place that reads the normal form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Literal

from tidelog.plans.calendars.calendar import Calendar
from tidelog.plans.calendars.declared import calendar_named
from tidelog.plans.calendars.ticks import TickCalendar, on_timeline
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    AssignShape,
    BindShape,
    CalendarShape,
    DilateShape,
    ErodeShape,
    Feed,
    JoinShape,
    LatestShape,
    MoveShape,
    PairShape,
    PeriodShape,
    Shape,
    SteppedShape,
    ThresholdShape,
    TupleShape,
    UnionShape,
)
from tidelog.plans.tree.names import variables
from tidelog.plans.tree.syntax import (
    Aggregate,
    Arithmetic,
    Atom,
    Binary,
    Comparison,
    Formula,
    Interval,
    Latest,
    Negation,
    Period,
    Rule,
    Term,
    Threshold,
    TimePoint,
    Truth,
    Unary,
    Variable,
    Visits,
)
from tidelog.plans.tree.thresholds import least_count
from tidelog.plans.tree.traverse import subformulas

TOP = "top'"
"""The predicate without arguments that holds at all times; no program can name it, since names hold no quote."""


def shape_of(  # noqa: PLR0911 - one for each form
    rule: Rule, timeline: Timeline, calendars: Mapping[str, Calendar]
) -> tuple[Shape, tuple[str, ...]]:
    """The operator of a normalised rule, and the predicates on its ports in order; DataError if a number does not fit."""
    body = rule.body[0]
    if rule.assigns == "kept":
        return AssignShape(len(_atom(body).arguments)), (_read(body),)
    if isinstance(rule.head, Atom) and rule.head.at is not None:
        return _timed(_atom(body), rule.head.at, timeline), (_read(body),)
    if isinstance(body, Visits):
        return _tuple_window(body), ()
    if isinstance(body, Latest | Aggregate):
        return _held_or_aggregated(body, timeline, calendars)
    if isinstance(body, Unary) and body.step:
        return SteppedShape(timeline.encode_point(Fraction(body.step))), (_read(body.operand),)
    if isinstance(body, Unary):
        metric = timeline.encode_metric(body.interval)
        future = body.operator.endswith("plus")
        if body.operator.startswith("diamond"):
            return DilateShape(metric, future), (_read(body.operand),)
        return ErodeShape(metric, future, body.clipped), (_read(body.operand),)
    if isinstance(body, Binary):
        left, right = _atom(body.left), _atom(body.right)
        metric = timeline.encode_metric(body.interval)
        pair = PairShape(body.operator, metric, variables(left), variables(right))
        return pair, (_read(left), _read(right))
    if isinstance(rule.body[-1], Negation):
        positive, negated = _atom(body), _atom(rule.body[-1].operand)
        shape = AntiJoinShape(variables(positive), _terms(negated))
        return shape, (_read(positive), _read(negated))
    return _join(rule)


def _timed(body: Atom, at: TimePoint, timeline: Timeline) -> Shape:
    if body.at is not None:
        return BindShape()
    back = timeline.encode_point(at.back) if isinstance(at.back, Fraction) else POS
    return MoveShape(timeline.encode_point(Fraction(at.shift)), back)


def _tuple_window(visits: Visits) -> TupleShape:
    window, found = visits.window, visits.atom
    mode: Literal["sometime", "always", "at"] = "sometime" if visits.time is None else "at"
    if visits.part == "points":
        mode = "always"
    return TupleShape(mode, visits.part, int(window.size), window.of, found.predicate, _terms(found))


def _held_or_aggregated(
    body: Latest | Aggregate, timeline: Timeline, calendars: Mapping[str, Calendar]
) -> tuple[Shape, tuple[str, ...]]:
    window = body.window
    if isinstance(body, Aggregate) and isinstance(window, Period):
        return _per_period(body, on_timeline(calendar_named(window, calendars), timeline))
    if isinstance(window, Period):
        raise TypeError(f"not in normal form: {body!r}")
    size = timeline.encode_metric(Interval(Fraction(0), window.size)).b
    found, by, value = _grouping(body)
    if isinstance(body, Latest):
        return LatestShape(size, by), (_read(found),)
    if body.threshold is not None:
        return _threshold(body, body.threshold, size, by, value), (_read(found),)
    step = 1 if window.step is None else timeline.encode_point(Fraction(window.step))
    return AggregateShape(body.function, size, step, by, value, body.fraction), (_read(found),)


def _grouping(body: Latest | Aggregate) -> tuple[Atom, tuple[int, ...], int | None]:
    """The atom below, and the positions of the group's columns, and of the value, in it."""
    found = _atom(body.atom if isinstance(body, Latest) else body.operand)
    columns = variables(found)
    argument = None if isinstance(body, Latest) else body.argument
    value = columns.index(argument.name) if isinstance(argument, Variable) else None
    return found, tuple(columns.index(variable.name) for variable in body.by), value


def _per_period(body: Aggregate, calendar: TickCalendar) -> tuple[Shape, tuple[str, ...]]:
    found, by, value = _grouping(body)
    return PeriodShape(body.function, calendar, by, value, body.fraction), (_read(found),)


def _threshold(body: Aggregate, threshold: Threshold, size: int, by: tuple[int, ...], value: int | None) -> Shape:
    limit = Fraction(threshold.limit)
    if body.function == "sum" and (limit > 0 or (limit == 0 and threshold.operator == ">")):
        return ThresholdShape(size, by, value, limit, threshold.operator == ">")
    least = 1 if body.function == "sum" else least_count(threshold)  # a sum is never below 0, if there is one
    return ThresholdShape(size, by, value if body.function == "sum" else None, Fraction(least))


def _join(rule: Rule) -> tuple[JoinShape, tuple[str, ...]]:
    positive = [part for part in rule.body if isinstance(part, Atom | Truth)]
    comparisons = tuple(part for part in rule.body if isinstance(part, Comparison))
    atoms = tuple(_terms(_atom(part)) for part in positive)
    return JoinShape(_terms(_atom(rule.head)), atoms, comparisons), tuple(map(_read, positive))


def names_read(formula: Formula) -> Iterator[str]:
    """The predicates that a formula in a body reads, `top` included."""
    return (_read(part) for part in subformulas(formula) if isinstance(part, Atom | Truth))


def _read(formula: Formula) -> str:
    return _atom(formula).predicate


def _atom(formula: Formula) -> Atom:
    if isinstance(formula, Atom):
        return formula
    if isinstance(formula, Truth) and formula.value:
        return Atom(TOP)
    raise TypeError(f"not in normal form: {formula!r}")


def _terms(atom: Atom) -> tuple[Term, ...]:
    terms = []
    for argument in atom.arguments:
        if isinstance(argument, Arithmetic):
            raise TypeError(f"not in normal form: {atom!r}")
        terms.append(argument)
    return tuple(terms)


def lead(shape: Shape, port: int) -> int:
    """How far a step's frontier lies ahead of that of a port (encoded): what new coverage can reach at the earliest.

    `NEG` where it can reach back without end, so that nothing is ever final.
    """
    match shape:
        case JoinShape() | UnionShape():  # most are
            return 0
        case DilateShape(metric, future=True) | ErodeShape(metric, future=True):
            return _back(metric.b)
        case DilateShape(metric) | ErodeShape(metric):
            return metric.a if port == 0 else 0
        case PairShape("until", metric):
            return _back(metric.b)
        case PairShape("since", metric):
            return metric.a if port == 1 else 0
        case MoveShape(back=back):
            return _back(back)
        case CalendarShape(ahead=ahead):
            return ahead
        case PeriodShape(calendar=calendar):
            return -calendar.longest
        case _:
            return 0


def lead_of_feed(feed: Feed, leads: Mapping[str, int]) -> int:
    """How far the frontier of what feeds a port lies ahead of the watermark (encoded); `POS` where no stream does."""
    if feed.kind in ("step", "remote"):
        return leads[feed.name]
    return 0 if feed.kind in ("stream", "clock", "arrivals") else POS


def _back(distance: int) -> int:
    return NEG if distance >= POS else -distance


def moves_in_time(shape: Shape) -> bool:
    """Whether coverage can come out at other times than it went in."""
    return isinstance(
        shape,
        DilateShape | ErodeShape | PairShape | AssignShape | MoveShape | SteppedShape | ThresholdShape | PeriodShape,
    )


def awaits(shape: Shape) -> bool:
    """Whether an operator waits without end for something that makes it certain: `diamondplus[a,inf)`, `until[a,inf)`."""
    match shape:
        case DilateShape(metric, future):
            return future and metric.b >= POS
        case PairShape("until", metric):
            return metric.b >= POS
    return False
