"""The syntax tree: one frozen dataclass for each rule of the grammar, each with its place in the text.

The same classes carry a program through every normalising pass: the normal form is this tree with the nesting gone
(`plans/normal/`), so that each stage can be printed as text (`plans/language/printing.py`). Places do not take part in
comparison: two formulas are equal when they read the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from tidelog.plans.diagnostics.errors import NOWHERE, Span

Value = str | int | float
"""A constant: text, or a finite number. Numbers compare by value; a whole float is stored as an int."""

Time = Fraction | float
"""An exact time or duration; the only floats are `math.inf` and `-math.inf`."""


def place() -> Span:
    """A node's span: never compared, never printed."""
    return field(default=NOWHERE, compare=False, repr=False)


# --- time ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class Interval:
    """An interval of times or of distances in time, as written: as text `[1,5/2)`, with units `[0,5min]`.

    `low_unit` and `high_unit` hold the unit after the number (`5 min`), until the pass `resolve_times` has
    expressed both in the program's own unit; afterwards they are empty.
    """

    low: Time
    high: Time
    left_open: bool = False
    right_open: bool = False
    low_unit: str = ""
    high_unit: str = ""
    span: Span = place()

    @property
    def is_punctual(self) -> bool:
        """Whether it holds one time alone."""
        return self.low == self.high

    def __str__(self) -> str:
        left = "(" if self.left_open or self.low == -math.inf else "["
        right = ")" if self.right_open or self.high == math.inf else "]"
        return f"{left}{self.low}{self.low_unit},{self.high}{self.high_unit}{right}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


EVER = Interval(Fraction(0), math.inf, False, True)
"""What a metric operator without an interval means: `[0,inf)`."""


# --- terms --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Wildcard:
    """The anonymous variable `_`: each occurrence is a variable of its own."""

    span: Span = place()


@dataclass(frozen=True, slots=True)
class Constant:
    value: Value
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`+ - * / // mod` with two operands, `min max` with two or more, `abs` and `neg` with one."""

    operator: Literal["+", "-", "*", "/", "//", "mod", "min", "max", "abs", "neg"]
    operands: tuple[Expression, ...]
    span: Span = place()


Term = Variable | Wildcard | Constant
Expression = Variable | Wildcard | Constant | Arithmetic


# --- formulas -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TimePoint:
    """The `T+2` of `p(X)@T+2`: a time variable and a shift.

    `back` is set by the passes alone, in a head: how far behind the body's time `T+2` may lie.
    """

    variable: Variable
    shift: int = 0
    span: Span = place()
    back: Time = math.inf


@dataclass(frozen=True, slots=True)
class Atom:
    """`p(a, X)` or `p(a, X)@T+2`. In a head the arguments may be expressions once comparisons are folded in."""

    predicate: str
    arguments: tuple[Expression, ...] = ()
    at: TimePoint | None = None
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Truth:
    """`top` or `bottom`."""

    value: bool
    span: Span = place()


UnaryOperator = Literal["diamondminus", "diamondplus", "boxminus", "boxplus"]


@dataclass(frozen=True, slots=True)
class Unary:
    """A metric operator over one formula. `SOMETIME` and `ALWAYS` are read as one of these.

    `clipped` is set by the passes alone: a `boxminus` whose window does not reach behind the stream's start (the
    meaning of `always M in [n]`). So is `step`: with it, the operator looks back from the last multiple of `step` at which
    the time is now or was (the meaning of `sometime M in [0 step d]`).

    `word` says that it was written as `M for 10 min` (a box) or `M within 10 min` (a diamond), behind what it is about.
    """

    operator: UnaryOperator
    interval: Interval
    operand: Formula
    clipped: bool = False
    step: int = 0
    word: Literal["", "for", "within"] = field(default="", compare=False)
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Binary:
    """`left since[a,b] right` or `left until[a,b] right`."""

    operator: Literal["since", "until"]
    interval: Interval
    left: Formula
    right: Formula
    span: Span = place()


@dataclass(frozen=True, slots=True)
class WindowSize:
    """The bracket after `in`: `[n]`, `[n step d]`, `[#n]` (`tuples`), `[#n of p, q]`."""

    size: Time
    size_unit: str = ""
    tuples: bool = False
    of: tuple[str, ...] = ()
    step: Time | None = None
    step_unit: str = ""
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Window:
    """`sometime M in [n]` (also without `sometime`), `always M in [n]`, `p(X)@T in [n]` (mode `at`)."""

    mode: Literal["sometime", "always", "at"]
    operand: Formula
    window: WindowSize
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Visits:
    """What a tuple window tells, made by the passes alone: a fact's stay in the window is a visit, and has a number.

    `entered`: the atom's columns, then `time` (of `p(X)@T in [#n]`) and `visit`, from when the visit begins. `left`: `visit`
    alone, from when it has ended. `points`: the atom's columns at the times at which `always p(X) in [#n]` holds.
    """

    part: Literal["entered", "left", "points"]
    atom: Atom
    window: WindowSize
    time: Variable | None = None
    visit: Variable | None = None
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Latest:
    """`latest P(S,V) by S in [n]`: P held at the last time point in [t−n, t] at which an atom with the same `by` held."""

    atom: Atom
    by: tuple[Variable, ...]
    window: WindowSize
    span: Span = place()


PeriodName = Literal["hour", "day", "week", "month", "year"]
"""The periods that every calendar has; weeks are those of ISO 8601, from Monday on."""


@dataclass(frozen=True, slots=True)
class Period:
    """`per day zone "Europe/Berlin"`, or `per shift`, where a calendar is so called."""

    name: str
    zone: str = ""
    span: Span = place()


ComparisonOperator = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Threshold:
    """The bound that an aggregate is compared with, where more facts can only make the comparison true: `>= 5`."""

    operator: ComparisonOperator
    limit: int | float


AggregateFunction = Literal["count", "distinct", "sum", "avg", "min", "max", "first", "last", "stddev", "quantile"]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`A = avg(V) over M in [n step d] by S`: `result` is the value, over the pairs (row of M, time point) in the window.

    With a `Period` for a window, `A = avg(V) over M per day by S`: over those of the day at hand.

    `argument` is what the function is of (none for `count`), `fraction` the Q of `quantile(Q,V)`. The variables of M but for
    those of `by` are local. The parser puts each aggregate beside its comparison, so that `result` always is a variable.
    `threshold` is set by the passes alone: it holds where the result is so, and `result` is of no use to others.
    """

    result: Variable
    function: AggregateFunction
    argument: Expression | None
    operand: Formula
    window: WindowSize | Period
    by: tuple[Variable, ...] = ()
    fraction: Fraction | None = None
    threshold: Threshold | None = None
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Conjunction:
    parts: tuple[Formula, ...]
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Negation:
    operand: Formula
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: ComparisonOperator
    left: Expression
    right: Expression
    span: Span = place()


Formula = Atom | Truth | Unary | Binary | Window | Visits | Latest | Aggregate | Conjunction | Negation | Comparison


# --- statements ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    """`head :- body`. A head is an atom, boxes over an atom, or `bottom`; the body is never empty.

    `assigns` marks the rules of `mode(M) := running :- start(M)` (`plans/tree/declared/machines.py`): one that assigns
    a `value`, and those that the text has not, which tell what `holds`. The passes alone make one that has what is
    `kept`: the head holds from behind its literal until another value comes.
    """

    head: Formula
    body: tuple[Formula, ...]
    span: Span = place()
    assigns: Literal["", "value", "holds", "kept"] = ""


@dataclass(frozen=True, slots=True)
class FactStatement:
    """`p(a)@[1,2).`, `p(a)@3.`, or `p(a).`, which holds at all times (`interval` is None)."""

    atom: Atom
    interval: Interval | None = None
    span: Span = place()


Rounding = Literal["down", "nearest", "up"]
"""To which tick a finer time belongs: the last one before it, the nearest one (of two the later), or the next one."""


@dataclass(frozen=True, slots=True)
class TimelineDeclaration:
    """`timeline integer, unit 1 s, round down.` or `timeline rational, resolution 0.001.`

    `unit` is in seconds: what the number 1 means, or None where the program does not say. `rounding` is what becomes of
    times in data that are finer than a tick; without it they are refused.
    """

    kind: Literal["rational", "integer"] = "rational"
    unit: Fraction | None = None
    resolution: Fraction | None = None
    rounding: Rounding | None = None
    span: Span = place()


FieldType = Literal["text", "number", "integer", "boolean", "any"]


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: FieldType = "any"
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Input:
    """`input temp(sensor: text, value: number).` with an optional `delay 2`: so far behind the watermark may facts come.

    `delay_unit` holds the delay's unit, until the pass `resolve_times`.
    """

    predicate: str
    fields: tuple[Field, ...] = ()
    delay: Time | None = None
    delay_unit: str = ""
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Output:
    """`output alarm.` or `output alarm(room: text), spell.`

    `fields` has those of each predicate, none where its arguments have no names; it is empty where none of them has any.
    With `is_silent` only a desk is told of them.
    """

    predicates: tuple[str, ...]
    fields: tuple[tuple[Field, ...], ...] = ()
    is_silent: bool = False
    span: Span = place()

    @property
    def named(self) -> Iterator[tuple[str, tuple[Field, ...]]]:
        """The predicates whose arguments have names, with their fields."""
        return ((name, fields) for name, fields in zip(self.predicates, self.fields, strict=False) if fields)


@dataclass(frozen=True, slots=True)
class Background:
    """`background connect from "connect.csv".`"""

    predicate: str
    path: str
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Ask:
    """`ask malf(X)@T.`"""

    query: Atom
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Parameter:
    """`parameter LIMIT = 80.`: in rules, `LIMIT` stands for the constant; a run may give it another value."""

    name: str
    value: Value
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Daily:
    """`mon-fri 08:00-12:00 13:00-17:00`: at which times of which days a calendar holds.

    `days` are ranges of weekdays, Monday 0; `dates` ranges of dates as written, `2026-12-24`, or `12-24` of each year. A day
    is one of all that are given; without any, each day is. `times` are ranges of seconds of the day; one that does not end
    behind its begin ends on the next day. Without any it is the whole day.
    """

    days: tuple[tuple[int, int], ...] = ()
    dates: tuple[tuple[str, str], ...] = ()
    times: tuple[tuple[int, int], ...] = ()
    span: Span = place()


@dataclass(frozen=True, slots=True)
class CalendarDeclaration:
    """`calendar office = mon-fri 08:00-17:00, zone "Europe/Berlin", except holiday.`

    It holds as `daily` says; or in `each` period, whose name is its argument if it has one (`fields`); or as the file at
    `path` says, in the format iCalendar. Where one of the `excepted` calendars holds, it does not.

    `events` are those of the file, once it has been read: begin, end (seconds since 1970), and what it is called.
    """

    predicate: str
    fields: tuple[Field, ...] = ()
    daily: tuple[Daily, ...] = ()
    each: PeriodName | Literal[""] = ""
    path: str = ""
    zone: str = ""
    excepted: tuple[str, ...] = ()
    events: tuple[tuple[int, int, str], ...] | None = field(default=None, compare=False, repr=False)
    span: Span = place()


PriorityName = Literal["critical", "high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class AlarmDeclaration:
    """`alarm hot(room: text), priority high, text "{room} is hot", acknowledge, shelve at most 8 h, inhibited by night.`

    An output with a life cycle, for which `plans/tree/declared/alarms.py` has the rules. With `latched` it stays in the list
    until it is acknowledged, also after it has ended. It may be shelved for `longest` at the most, in `longest_unit`;
    without it, not at all. Where one of `inhibitors` holds, whose arguments are fields of the alarm, it is suppressed by
    design.
    """

    predicate: str
    fields: tuple[Field, ...] = ()
    priority: PriorityName = "medium"
    text: str = ""
    latched: bool = False
    longest: Time | None = None
    longest_unit: str = ""
    inhibitors: tuple[Atom, ...] = ()
    span: Span = place()


Statement = (
    Rule
    | FactStatement
    | TimelineDeclaration
    | Input
    | Output
    | Background
    | Ask
    | Parameter
    | CalendarDeclaration
    | AlarmDeclaration
)


@dataclass(frozen=True, slots=True)
class Program:
    """A parsed program: its statements in order, its file's name and its text (for messages)."""

    statements: tuple[Statement, ...]
    name: str = "<program>"
    text: str = field(default="", compare=False, repr=False)

    def _repr_html_(self) -> str:
        """The program as it was written, for notebooks."""
        from tidelog.plans.pictures.text import program_html  # noqa: PLC0415 - a run, which has to start at once, draws nothing

        return program_html(self.name, self.text)
