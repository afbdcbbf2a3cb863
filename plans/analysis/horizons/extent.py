"""How far back the rules look, how short their shortest interval is, and what travels as `#`-facts because of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tidelog.plans.analysis.horizons.notation import decode_distance
from tidelog.plans.language.printing import format_statement
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.plan.plan import Plan, UnionShape
from tidelog.plans.tree.syntax import Aggregate, Binary, Interval, Latest, Time, Unary, WindowSize


@dataclass(frozen=True, slots=True)
class Sharp:
    """A predicate whose facts travel as `#`-facts: gaps of up to `reach` between two of its times are covered."""

    predicate: str
    reach: Time


@dataclass(frozen=True, slots=True)
class Extent:
    """What the intervals of the normalised rules come to, in the program's time (Wałęga et al. 2023, sections 5, 6).

    `window` is t_Π, the largest finite endpoint (0 if there is none); `granularity` the least length (inf if there is no
    interval); `least` K, the least endpoint above 0 (None if there is none). The rules are where each is found.
    """

    window: Fraction
    window_rule: str
    granularity: Time
    granularity_rule: str
    least: Fraction | None
    endpoints: tuple[Fraction, ...]
    sharps: tuple[Sharp, ...]


def extent_of(plan: Plan) -> Extent:
    """The window, the granularity and the `#`-facts of a plan."""
    window, window_rule = Fraction(0), ""
    granularity: Time = math.inf
    granularity_rule = ""
    for rule, interval in _intervals(plan.normal):
        longest = max(_finite(interval), default=Fraction(0))
        if longest > window:
            window, window_rule = longest, rule
        if interval.high - interval.low < granularity:
            granularity, granularity_rule = interval.high - interval.low, rule
    endpoints = sorted({end for _, interval in _intervals(plan.normal) for end in _finite(interval)})
    least = next((end for end in endpoints if end > 0), None)
    return Extent(window, window_rule, granularity, granularity_rule, least, tuple(endpoints), sharps_of(plan))


def _intervals(normal: NormalProgram) -> Iterator[tuple[str, Interval]]:
    """The interval of each normalised rule that has one, and the rule."""
    for rule in normal.rules:
        body = rule.body[0]
        if isinstance(body, Unary) and body.step:  # a window looks back by up to a step less one more than its size
            yield format_statement(rule), Interval(Fraction(0), Fraction(body.step - 1))
        elif isinstance(body, Latest | Aggregate):
            if isinstance(body.window, WindowSize) and body.window.size:  # a threshold of overlaps looks at one time
                step = Fraction(0) if body.window.step is None else Fraction(body.window.step) - 1
                yield format_statement(rule), Interval(Fraction(0), body.window.size + step)
        elif isinstance(body, Unary | Binary):
            yield format_statement(rule), body.interval


def _finite(interval: Interval) -> list[Fraction]:
    return [end for end in (interval.low, interval.high) if isinstance(end, Fraction)]


def sharps_of(plan: Plan) -> tuple[Sharp, ...]:
    """The predicates that travel as `#`-facts (Algorithm 6): those that only ◇ reads, over intervals of some length."""
    return tuple(
        Sharp(step.predicate, reach_of(step.shape, plan))
        for step in plan.steps
        if isinstance(step.shape, UnionShape) and step.shape.reach > 1
    )


def reach_of(shape: UnionShape, plan: Plan) -> Time:
    """The longest gap between two times that a union's `#`-facts cover, in the program's time."""
    reach = shape.reach if plan.timeline.is_integer else shape.reach & ~1  # two times are an even number apart
    return decode_distance(reach, plan.timeline)
