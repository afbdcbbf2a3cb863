"""Pass: numbers with units become numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from operator import is_

from tidelog.plans.data.timeline import format_time
from tidelog.plans.diagnostics.errors import Diagnostic, ProgramError, Span
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import rewrite_rules
from tidelog.plans.tree.literals import UNIT_SECONDS
from tidelog.plans.tree.syntax import (
    Aggregate,
    Binary,
    FactStatement,
    Formula,
    Input,
    Interval,
    Latest,
    Rule,
    Time,
    TimelineDeclaration,
    Unary,
    Window,
    WindowSize,
)
from tidelog.plans.tree.traverse import rebuild


def resolve_times(program: NormalProgram) -> NormalProgram:
    """Express every time in the program's unit, and on integers every operator's interval with closed ends.

    ProgramError if there is no unit, if an integer timeline cannot hold the time, or if an interval is empty.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("resolve_times", "timeline integer, unit 1 s. p :- diamondminus[0,5min) q."))
    timeline integer, unit 1 s.
    output p.
    p :- diamondminus[0,299] q.
    """
    times = _Times(program.timeline)
    resolved = rewrite_rules(program, lambda rule, _: times.rule(rule))
    declarations = tuple(map(times.declaration, program.declarations))
    return replace(resolved, facts=tuple(map(times.fact, program.facts)), declarations=declarations)


class _Times:
    """The unit and the kind of one program's timeline."""

    def __init__(self, timeline: TimelineDeclaration) -> None:
        self._unit = timeline.unit
        self._is_integer = timeline.kind == "integer"

    def rule(self, rule: Rule) -> Iterator[Rule]:
        head, body = self.formula(rule.head), tuple(map(self.formula, rule.body))
        yield rule if head is rule.head and all(map(is_, body, rule.body)) else replace(rule, head=head, body=body)

    def fact(self, fact: FactStatement) -> FactStatement:
        return fact if fact.interval is None else replace(fact, interval=self._plain(fact.interval))

    def declaration(self, declaration: Input) -> Input:
        if declaration.delay is None:
            return declaration
        delay = self._time(declaration.delay, declaration.delay_unit, declaration.span)
        return replace(declaration, delay=delay, delay_unit="")

    def formula(self, formula: Formula) -> Formula:
        formula = rebuild(formula, self.formula)
        if isinstance(formula, Unary | Binary):
            interval = self._distances(formula.interval)
            if isinstance(formula, Unary) and formula.word:  # from here on there are operators alone
                return replace(formula, interval=interval, word="")
            return formula if interval is formula.interval else replace(formula, interval=interval)
        if isinstance(formula, Window | Latest | Aggregate) and isinstance(formula.window, WindowSize):
            return replace(formula, window=self._window(formula.window))
        return formula

    def _window(self, window: WindowSize) -> WindowSize:
        if window.tuples:
            return window
        step = None if window.step is None else self._time(window.step, window.step_unit, window.span)
        size = self._whole(self._time(window.size, window.size_unit, window.span), window.span)
        return replace(window, size=size, size_unit="", step=step, step_unit="")

    def _distances(self, interval: Interval) -> Interval:
        plain = self._plain(interval)
        if self._is_integer:
            self._whole(plain.low, plain.span)
            self._whole(plain.high, plain.span)
            plain = _closed(plain)
        if plain.high == math.inf and not plain.right_open:
            plain = replace(plain, right_open=True)
        is_open = plain.left_open or plain.right_open
        if plain.low < 0 or plain.low > plain.high or (plain.low == plain.high and is_open):
            message = f"interval {interval} is empty or negative"
            raise ProgramError([Diagnostic("empty-interval", message, interval.span)])
        return plain

    def _plain(self, interval: Interval) -> Interval:
        if not interval.low_unit and not interval.high_unit:
            return interval
        low = self._time(interval.low, interval.low_unit, interval.span)
        high = self._time(interval.high, interval.high_unit, interval.span)
        return replace(interval, low=low, high=high, low_unit="", high_unit="")

    def _time(self, time: Time, unit: str, span: Span) -> Time:
        if not unit:
            return time
        if self._unit is None:
            message = f"`{format_time(time)}{unit}` needs to know what the number 1 means"
            help = "declare it, such as `timeline integer, unit 1 s`"
            raise ProgramError([Diagnostic("unit-undeclared", message, span, help=help)])
        return time * UNIT_SECONDS[unit] / self._unit

    def _whole(self, time: Time, span: Span) -> Time:
        if self._is_integer and isinstance(time, Fraction) and time.denominator != 1:
            message = f"time {format_time(time)} is not a whole number, as `timeline integer` needs"
            raise ProgramError([Diagnostic("not-whole", message, span)])
        return time


def _closed(interval: Interval) -> Interval:
    """An interval of whole numbers with its open ends taken away."""
    if not interval.left_open and not interval.right_open and interval.high != math.inf:
        return interval
    low, high = interval.low + interval.left_open, interval.high
    if interval.right_open and high != math.inf:
        high -= 1
    return replace(interval, low=low, high=high, left_open=False, right_open=high == math.inf)
