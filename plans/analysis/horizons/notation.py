"""What is encoded in a plan, written in the program's own time: distances, intervals, operators."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from tidelog.plans.data.facts import format_predicate
from tidelog.plans.data.timeline import NEG, POS, Metric, Timeline, format_time
from tidelog.plans.diagnostics.errors import NOWHERE
from tidelog.plans.language.printing import format_formula, format_statement
from tidelog.plans.plan.plan import (
    AggregateShape,
    DilateShape,
    ErodeShape,
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
    TupleShape,
)
from tidelog.plans.tree.syntax import Binary, Interval, Rule, Time, Unary

_OPERATORS = ("diamondminus", "diamondplus", "boxminus", "boxplus")
_WORD_BEFORE = re.compile(r"\b(for|within)\s+$", re.IGNORECASE)
_NEAR = 40
"""How far before its length a word is looked for."""


def decode_distance(distance: int, timeline: Timeline) -> Time:
    """An encoded distance, or a lead over the watermark, as time; ±inf at the sentinels."""
    if distance >= POS or distance <= NEG:
        return math.inf if distance > 0 else -math.inf
    return Fraction(distance) if timeline.is_integer else Fraction(distance, 2) * timeline.resolution


def encode_distance(distance: Time, timeline: Timeline) -> int:
    """The encoded distance: what `decode_distance` has decoded."""
    if isinstance(distance, float):
        return POS if distance > 0 else NEG
    return int(distance if timeline.is_integer else distance * 2 / timeline.resolution)


def decode_metric(metric: Metric, timeline: Timeline) -> Interval:
    """An operator's interval as the program would write it (on integers, closed).

    >>> str(decode_metric(Metric(0, 4, 0, 1), Timeline()))
    '[0,2)'
    """
    low, high = decode_distance(metric.a, timeline), decode_distance(metric.b, timeline)
    return Interval(low, high, bool(metric.left_open), bool(metric.right_open) or high == math.inf)


def operator_text(shape: Shape, timeline: Timeline) -> str:
    """The metric operator or the window that a shape computes, such as `diamondminus[0,2]`; empty where it computes none."""
    match shape:
        case DilateShape(metric, future):
            name = "diamondplus" if future else "diamondminus"
        case ErodeShape(metric, clipped=True):
            return f"always in [{format_time(decode_distance(metric.b, timeline))}]"
        case ErodeShape(metric, future):
            name = "boxplus" if future else "boxminus"
        case PairShape(operator, metric):
            name = operator
        case LatchShape():
            name, metric = "since", Metric(0, POS)
        case SteppedShape(step):
            return f"in [0 step {format_time(decode_distance(step, timeline))}]"
        case TupleShape():
            word = "always" if shape.part == "points" else shape.part
            of = f" of {', '.join(map(format_predicate, shape.of))}" if shape.of else ""
            return f"{word} {format_predicate(shape.predicate)} in [#{shape.size}{of}]"
        case LatestShape(size):
            return f"latest in [{format_time(decode_distance(size, timeline))}]"
        case PeriodShape(function, calendar):
            return f"{function} per {calendar.calendar.each or 'interval of a calendar'}"
        case AggregateShape() | ThresholdShape():
            return _aggregate(shape, timeline)
        case MoveShape(by):
            sign = "+" if by > 0 else "-"
            return f"@T{sign}{format_time(decode_distance(abs(by), timeline))}" if by else "@T"
        case _:
            return ""
    return name + str(decode_metric(metric, timeline))


def _aggregate(shape: AggregateShape | ThresholdShape, timeline: Timeline) -> str:
    size = format_time(decode_distance(shape.size, timeline))
    if isinstance(shape, ThresholdShape):
        function = "count" if shape.value is None else "sum"
        return f"{function} in [{size}] {'>' if shape.is_strict else '>='} {shape.least}"
    step = "" if shape.step == 1 else f" step {format_time(decode_distance(shape.step, timeline))}"
    return f"{shape.function} in [{size}{step}]"


def written_operators(plan: Plan) -> dict[str, str]:
    """For each step its metric operator as the program writes it, units and all; as the plan has it where a pass made it.

    Empty where a step computes none.
    """
    rules = {format_statement(rule): rule for rule in plan.normal.rules}
    return {step.id: _written(plan, step, rules.get(step.rule)) for step in plan.steps}


def _written(plan: Plan, step: Step, rule: Rule | None) -> str:
    computed = operator_text(step.shape, plan.timeline)
    body = None if rule is None else rule.body[0]
    if rule is not None and isinstance(step.shape, MoveShape):
        return format_formula(rule.head)
    if not computed or not isinstance(body, Unary | Binary) or body.interval.span == NOWHERE:
        return computed
    place, text = body.interval.span, plan.program.text
    if not text[place.start : place.end].endswith(("]", ")")):  # the `2 min` of `p for 2 min`, or the `T+2` of `p@T+2`
        behind = _WORD_BEFORE.search(text, max(0, place.start - _NEAR), place.start)
        return f"{behind[0].lower() if behind else '@'}{text[place.start : place.end]}"
    before = text[body.span.start : place.start].strip()
    word = body.operator if isinstance(body, Binary) else before
    if not word.isalpha():
        return computed
    return (word.lower() if word.lower() in _OPERATORS else word) + text[place.start : place.end]
