"""Check: intervals, windows and times are such as the timeline can hold."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction

from tidelog.plans.data.timeline import LIMIT, format_time
from tidelog.plans.diagnostics.errors import Diagnostic, Span
from tidelog.plans.tree import syntax
from tidelog.plans.tree.literals import UNIT_SECONDS
from tidelog.plans.tree.traverse import subformulas
from tidelog.plans.tree.walk import statements_of

_MIRROR = {
    "diamondminus": "diamondplus",
    "diamondplus": "diamondminus",
    "boxminus": "boxplus",
    "boxplus": "boxminus",
    "since": "until",
    "until": "since",
}

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def check_intervals(program: syntax.Program) -> Iterator[Diagnostic]:
    """Distances are not negative, no interval is empty, and integer timelines see whole numbers of ticks alone."""
    timelines = statements_of(program, syntax.TimelineDeclaration)
    timeline = timelines[0] if timelines else syntax.TimelineDeclaration()
    if timeline.kind == "integer" and timeline.resolution is not None:
        message = "a resolution belongs to `timeline rational`: on integers it is always 1"
        yield Diagnostic("bad-resolution", message, timeline.span, help="take `resolution` away")
    if timeline.rounding is not None:
        yield from _check_rounding(timeline)
    times = _Times(timeline, program.text)
    for statement in program.statements:
        if isinstance(statement, syntax.Rule):
            for formula in (statement.head, *statement.body):
                yield from times.check_formula(formula)
        elif isinstance(statement, syntax.FactStatement) and statement.interval is not None:
            yield from times.check_interval(statement.interval)
        elif isinstance(statement, syntax.Input):
            yield from times.check_delay(statement)


def _check_rounding(timeline: syntax.TimelineDeclaration) -> Iterator[Diagnostic]:
    """Only ticks are rounded to, and what a tick is has to be told."""
    if timeline.kind != "integer":
        message = "`round` belongs to `timeline integer`: a rational timeline has no ticks to round to"
        help = f"write `timeline integer, unit 1 s, round {timeline.rounding}`, or take `round` away"
        yield Diagnostic("bad-rounding", message, timeline.span, help=help)
    elif timeline.unit is None:
        message = "`round` needs a unit: the program does not say how long a tick is"
        help = f"declare it, such as `timeline integer, unit 1 s, round {timeline.rounding}`"
        yield Diagnostic("bad-rounding", message, timeline.span, help=help)


class _Times:
    """The checks of one program, whose timeline says what a number means."""

    def __init__(self, timeline: syntax.TimelineDeclaration, text: str) -> None:
        self._text = text
        self._unit = timeline.unit
        self._is_integer = timeline.kind == "integer"

    def check_formula(self, formula: syntax.Formula) -> Iterator[Diagnostic]:
        for part in subformulas(formula):
            if isinstance(part, syntax.Unary | syntax.Binary):
                yield from self.check_interval(part.interval, part.operator)
            elif isinstance(part, syntax.Window | syntax.Latest | syntax.Aggregate):
                yield from () if isinstance(part.window, syntax.Period) else self._check_window(part.window)

    def check_delay(self, declaration: syntax.Input) -> Iterator[Diagnostic]:
        if declaration.delay is None:
            return
        wrong = self._check_time(declaration.delay, declaration.delay_unit, declaration.span)
        if wrong is not None:
            yield wrong
        elif not 0 <= declaration.delay < math.inf:
            shown = format_time(declaration.delay) + declaration.delay_unit
            message = f"a delay is a finite time, and not below 0: got {shown}"
            help = "write how far behind the watermark its facts may come, such as `delay 2`"
            yield Diagnostic("bad-delay", message, declaration.span, help=help)

    def check_interval(self, interval: syntax.Interval, operator: str = "") -> Iterator[Diagnostic]:
        """At most one finding, for a fact's times or an operator's distances: the first makes the others moot."""
        wrong = self._check_time(interval.low, interval.low_unit, interval.span) or self._check_time(
            interval.high, interval.high_unit, interval.span
        )
        low = self._ticks(interval.low, interval.low_unit)
        high = self._ticks(interval.high, interval.high_unit)
        if wrong is not None:
            yield wrong
        elif operator and (low < 0 or high < 0):
            message = f"interval {interval} has a negative distance"
            help = f"distances are never negative; for the other direction use `{_MIRROR[operator]}`"
            yield Diagnostic("negative-interval", message, interval.span, help=help)
        elif self._is_empty(low, high, interval):
            message = f"interval {interval} is empty"
            yield Diagnostic("empty-interval", message, interval.span, help=_mend(low, high, self._is_integer))

    def _check_time(self, time: syntax.Time, unit: str, span: Span) -> Diagnostic | None:
        shown = self._shown(time, unit, span)
        if unit and self._unit is None:
            what = "is a date" if _DATE.match(shown.lstrip("[(")) else "has a unit"
            message = f"`{shown}` {what}, but the program does not say what the number 1 means"
            help = "declare it, such as `timeline integer, unit 1 s`"
            return Diagnostic("unit-undeclared", message, span, help=help)
        ticks = self._ticks(time, unit)
        if not isinstance(ticks, Fraction):
            return None
        if self._is_integer and ticks.denominator != 1:
            message = f"`{shown}` is not a whole number, as `timeline integer` needs"
            if unit:
                message = f"`{shown}` is not a whole number of the program's unit, as `timeline integer` needs"
            help = "declare a smaller unit, or `timeline rational`"
            return Diagnostic("not-whole", message, span, help=help)
        if abs(ticks) > LIMIT:
            return Diagnostic("bad-number", f"`{shown}` lies beyond what the timeline can hold", span)
        return None

    def _shown(self, time: syntax.Time, unit: str, span: Span) -> str:
        """A time as the program writes it, where it does so as a date."""
        written = self._text[span.start : span.end]
        return written if unit and _DATE.search(written) else format_time(time) + unit

    def _ticks(self, time: syntax.Time, unit: str) -> syntax.Time:
        if not unit or self._unit is None or not isinstance(time, Fraction):
            return time
        return time * UNIT_SECONDS[unit] / self._unit

    def _is_empty(self, low: syntax.Time, high: syntax.Time, interval: syntax.Interval) -> bool:
        if low == math.inf or high == -math.inf:
            return True
        if self._is_integer:
            return low + interval.left_open > high - interval.right_open
        return low > high or (low == high and (interval.left_open or interval.right_open))

    def _check_window(self, window: syntax.WindowSize) -> Iterator[Diagnostic]:
        sizes = [(window.size, window.size_unit)]
        if window.step is not None:
            sizes.append((window.step, window.step_unit))
        for time, unit in sizes:
            wrong = self._check_time(time, unit, window.span)
            if wrong is not None:
                yield wrong
                return
        if window.size < 0 or (window.tuples and window.size == 0):
            size = f"of the last {window.size}" if window.tuples else f"of length {format_time(window.size)}"
            help = "write `in [#1]`" if window.tuples else "`in [0]` holds the present time"
            yield Diagnostic("bad-window", f"a window {size} holds nothing", window.span, help=help)
        elif window.step is not None and (window.step <= 0 or window.step == math.inf):
            yield Diagnostic("bad-window", "the step of a window is a time above 0", window.span)


def _mend(low: syntax.Time, high: syntax.Time, is_integer: bool) -> str:
    if low > high:
        return "swap its ends"
    if low in (math.inf, -math.inf):
        return "begin it at a finite time"
    return "no whole number lies in it: use `[` and `]`" if is_integer and low != high else "use `[` and `]`"
