"""What is encoded in a plan, written in the program's own time: distances, intervals, operators."""

from __future__ import annotations

import math
from fractions import Fraction

from tidelog.plans.plan import DilateShape, ErodeShape, PairShape, Shape
from tidelog.plans.syntax import Interval, Time
from tidelog.plans.timeline import NEG, POS, Metric, Timeline, format_interval, format_time


def decode_distance(distance: int, timeline: Timeline) -> Time:
    """An encoded distance, or a lead over the watermark, as time; ±inf at the sentinels."""
    if distance >= POS or distance <= NEG:
        return math.inf if distance > 0 else -math.inf
    return Fraction(distance) if timeline.is_integer else Fraction(distance, 2) * timeline.resolution


def decode_metric(metric: Metric, timeline: Timeline) -> Interval:
    """An operator's interval as the program would write it (on integers, closed).

    >>> format_interval(decode_metric(Metric(0, 4, 0, 1), Timeline()))
    '[0,2)'
    """
    low, high = decode_distance(metric.a, timeline), decode_distance(metric.b, timeline)
    return Interval(low, high, bool(metric.left_open), bool(metric.right_open) or high == math.inf)


def operator_text(shape: Shape, timeline: Timeline) -> str:
    """The metric operator that a shape computes, such as `diamondminus[0,2]`; empty where it computes none."""
    match shape:
        case DilateShape(metric, future):
            name = "diamondplus" if future else "diamondminus"
        case ErodeShape(metric, clipped=True):
            return f"always in [{format_time(decode_distance(metric.b, timeline))}]"
        case ErodeShape(metric, future):
            name = "boxplus" if future else "boxminus"
        case PairShape(operator, metric):
            name = operator
        case _:
            return ""
    return name + format_interval(decode_metric(metric, timeline))
