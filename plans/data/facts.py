"""Rows, facts and what a program expects of them.

A **row** is a plain tuple of constants. A **fact** is the plain tuple `(row, lo, hi)`: the row holds at every time of the
closed range `lo … hi` of the program's `Timeline`. A **record** adds the predicate: `(predicate, row, lo, hi)`; it is
what sources deliver and sinks take. They are plain tuples since millions of them pass through the engine.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, SupportsFloat

from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.tree.brief import cut
from tidelog.plans.tree.numerals import canonical, plain_number, shorten
from tidelog.plans.tree.syntax import FieldType, Interval, Time, Value

Row = tuple[Value, ...]
Fact = tuple[Row, int, int]
Record = tuple[str, Row, int, int]
ValueLike = Value | SupportsFloat
"""A constant as callers give it: text, a boolean, or a number of any type, such as NumPy's, a Decimal or a Fraction."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN_CONSTANT = re.compile(r"[A-Za-z][A-Za-z0-9_:/-]*\Z")
_PLAIN_PREDICATE = re.compile(r"(?!_\Z)[A-Za-z_][A-Za-z0-9_]*(?::[A-Za-z0-9_]+)?\Z")
RESERVED = frozenset(
    {
        *("not", "since", "until", "in", "mod", "top", "bottom", "sometime", "always"),
        *("diamondminus", "diamondplus", "boxminus", "boxplus"),
    }
)
"""Words of rules, in small letters: no rule has one for a name, but in quotes."""


@dataclass(frozen=True, slots=True)
class PredicateSchema:
    """What the program says of one predicate: its arity, its fields (none if undeclared), whether data may hold it.

    With `is_named`, it is an output whose arguments have names: its answers are written with them.
    """

    name: str
    arity: int
    fields: tuple[str, ...] = ()
    types: tuple[FieldType, ...] = ()
    accepts_input: bool = True
    is_named: bool = False

    def fits(self, row: Row) -> bool:
        """Whether a row has this predicate's arguments, of its types."""
        return len(row) == self.arity and all(TYPE_TESTS[kind](value) for value, kind in zip(row, self.types, strict=False))

    def is_within(self, other: PredicateSchema) -> bool:
        """Whether each row that fits this predicate fits the other, too."""
        if self.arity != other.arity:
            return False
        kinds: Sequence[FieldType] = self.types or ["any"] * self.arity
        wider = other.types or kinds
        return all(wide in ("any", kind) or _NARROWER.get(wide) == kind for kind, wide in zip(kinds, wider, strict=True))


@dataclass(frozen=True, slots=True)
class AlarmSchema:
    """What people may do with an alarm: the predicate of each action, and how long it may be shelved (None: not at all).

    `shelf` is the same as text, such as `8 h`.
    """

    name: str
    fields: tuple[str, ...]
    actions: Mapping[str, str]
    longest: Fraction | None = None
    shelf: str = ""


@dataclass(frozen=True, slots=True)
class Schema:
    """What decoders and encoders need of a program: its timeline and its predicates by name.

    A predicate that is not in here plays no part in what is computed: its facts are counted and passed over. But where the
    program declares its inputs, it has to be one of `others`: the program's predicates that are not needed, each with
    whether data may hold it. `questions` maps each question of the program to the variable that stands for the time in its
    answers. `alarms` says what people may do with each alarm. `hidden` are predicates of which nothing is written.
    """

    timeline: Timeline
    predicates: Mapping[str, PredicateSchema] = field(default_factory=dict)
    questions: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, bool] | None = None
    alarms: Mapping[str, AlarmSchema] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()

    def without_actions(self) -> Schema:
        """The same for data in which nobody acts: whoever hands it in would say who did it."""
        actions = {name for alarm in self.alarms.values() for name in alarm.actions.values()}
        if not actions:
            return self
        closed = {name: replace(self.predicates[name], accepts_input=False) for name in actions & self.predicates.keys()}
        return replace(self, predicates={**self.predicates, **closed}, alarms={})

    def check(self, predicate: str, values: tuple[object, ...]) -> Row:
        """The row of these values for this predicate, its numbers made canonical; DataError says what is wrong."""
        row = tuple(map(_constant, values))
        schema = self.admit(predicate)
        if schema is None:
            return row
        if len(row) != schema.arity:
            raise DataError(f"`{predicate}` takes {_count(schema.arity)}, got {len(row)}")
        if not schema.types:
            return row
        for value, name, kind in zip(row, schema.fields, schema.types, strict=False):
            _check_type(predicate, name, kind, value)
        return row

    def admit(self, predicate: str) -> PredicateSchema | None:
        """What is known of a predicate, None if it plays no part; DataError unless data may hold facts of it."""
        schema = self.predicates.get(predicate)
        if schema is None:
            self._check_other(predicate)
        elif not schema.accepts_input:
            raise _derived(predicate)
        return schema

    def _check_other(self, predicate: str) -> None:
        """DataError unless data may hold facts of a predicate of which nothing is computed."""
        if self.others is None or self.others.get(predicate):
            return
        if predicate in self.others:
            raise _derived(predicate)
        inputs = [name for name, known in self.predicates.items() if known.accepts_input]
        raise DataError(f"the program has no predicate `{shorten(predicate)}`{suggest(predicate, inputs)}")


def as_text(raw: str | bytes) -> str:
    """UTF-8 to text; DataError names the byte that is not."""
    try:
        return raw if isinstance(raw, str) else raw.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"not valid UTF-8 at byte {error.start + 1}") from None


def _derived(predicate: str) -> DataError:
    return DataError(f"`{predicate}` is derived, and not declared as an input")


def _count(arity: int) -> str:
    return "1 argument" if arity == 1 else f"{arity} arguments"


def _constant(value: object) -> Value:
    """A value as a plain constant: `true` and `false` become the constants of that name, numbers an int or a float."""
    kind = type(value)
    if kind is str and value.isascii():  # type: ignore[attr-defined] # its type has just been looked at
        return value  # type: ignore[return-value]
    if kind is int or kind is float:
        return canonical(value)  # type: ignore[arg-type] # its type has just been looked at
    if isinstance(value, bool) or _is_numpy_boolean(value):
        return "true" if value else "false"
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise DataError("text must not hold lone surrogates")
        return value if kind is str else str.__str__(value)
    number = plain_number(value)
    if number is not None:
        return number
    raise DataError(f"an argument must be text, a number or a boolean, got {type(value).__name__}")


def plain_row(row: Row) -> Row:
    """A row in which booleans of Python's are the constants of that name."""
    return tuple([("true" if value else "false") if value.__class__ is bool else value for value in row])


def _is_numpy_boolean(value: object) -> bool:
    """Whether a value is a boolean of NumPy, which is no `bool`. NumPy is not imported for that."""
    return getattr(value, "ndim", None) == 0 and getattr(getattr(value, "dtype", None), "kind", "") == "b"


TYPE_TESTS: Mapping[FieldType, Callable[[Value], bool]] = {
    "any": lambda value: True,
    "text": lambda value: isinstance(value, str),
    "number": lambda value: not isinstance(value, str),
    "integer": lambda value: isinstance(value, int),
    "boolean": lambda value: value in ("true", "false"),
}
"""Whether a constant is of a declared type."""
_NARROWER: Mapping[FieldType, FieldType] = {"text": "boolean", "number": "integer"}


def _check_type(predicate: str, name: str, kind: FieldType, value: Value) -> None:
    if not TYPE_TESTS[kind](value):
        raise DataError(f"`{predicate}` expects {kind} for `{name}`, got {format_constant(value)}")


def format_constant(value: Value) -> str:
    """A constant as data writes it: quoted where a plain name would not be read back as the same text."""
    if isinstance(value, str):
        return value if _PLAIN_CONSTANT.match(value) else quote(value)
    return repr(value)


def quote(text: str) -> str:
    """Text between double quotes, with `\\\\`, `\\"`, `\\n`, `\\r` and `\\t` escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def format_predicate(name: str) -> str:
    """A predicate's name as rules and data write it: in single quotes where it is no plain name, or a reserved word.

    One that holds a quote is of the normal form's own, and no program writes it.
    """
    is_plain = "'" in name or (_PLAIN_PREDICATE.match(name) is not None and name.lower() not in RESERVED)
    return name if is_plain else f"'{name}'"


def format_atom(predicate: str, row: Row) -> str:
    """`p(a,21.5)`, or `p` for a predicate without arguments."""
    if not row:
        return format_predicate(predicate)
    return f"{format_predicate(predicate)}({','.join(map(format_constant, row))})"


def format_record(record: Record, timeline: Timeline) -> str:
    """A fact as data writes it: `p(a)@17` or `p(a)@[1,5/2)`."""
    predicate, row, lo, hi = record
    return f"{format_atom(predicate, row)}@{timeline.format_range(lo, hi)}"


def moment_of(timeline: Timeline, time: Time) -> datetime | None:
    """A time in UTC, rounded down to a microsecond; None for what is infinite. ValueError where there is no unit, and beyond
    the years 1 to 9999."""
    if timeline.unit is None:
        raise ValueError("the program declares no unit, such as `timeline integer, unit 1 s`: times are numbers")
    if isinstance(time, float):
        return None
    try:
        return _EPOCH + timedelta(microseconds=math.floor(time * timeline.unit * 1_000_000))
    except OverflowError:
        raise ValueError(f"`{time}` lies beyond the years 1 to 9999") from None


class Answer:
    """A derived fact: it is guaranteed to hold over the whole interval. As text it is a fact as in data.

    `interval` is exact: `low` and `high` are fractions or ±infinity. It is worked out when it is asked for, as the text is.
    Where the output names its arguments (`output alarm(room: text).`), they are attributes, too (`answer.room`), unless an
    answer has another of that name.
    """

    __slots__ = ("_fields", "_record", "_timeline")

    def __init__(self, record: Record, timeline: Timeline, fields: tuple[str, ...] = ()) -> None:
        self._record = record
        self._timeline = timeline
        self._fields = fields

    if not TYPE_CHECKING:  # a checker would take it that every name is there; `tidelog types` writes classes for it

        def __getattr__(self, name: str) -> Value:
            if name in Answer.__slots__ or name not in self._fields:
                known = f"; its arguments are {', '.join(self._fields)}" if name[:1] != "_" and self._fields else ""
                raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}{known}", name=name, obj=self)
            return self._record[1][self._fields.index(name)]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def as_dict(self) -> dict[str, Value]:
        """The arguments by name. ValueError where the program does not name them (`output alarm(room: text).`)."""
        if len(self._fields) != len(self._record[1]):
            raise ValueError(f"the program names no arguments of `{self.predicate}`: write `output {self.predicate}(…).`")
        return dict(zip(self._fields, self._record[1], strict=True))

    @property
    def predicate(self) -> str:
        """The predicate's name."""
        return self._record[0]

    @property
    def row(self) -> Row:
        """The constants."""
        return self._record[1]

    @property
    def interval(self) -> Interval:
        """When it holds."""
        return self._timeline.decode_interval(self._record[2], self._record[3])

    @property
    def begins_at(self) -> datetime | None:
        """When it begins, in UTC; None where it has always held.

        A time between two microseconds is rounded down. ValueError where the program declares no unit, or the time is
        beyond the years 1 to 9999; `interval.left_open` tells whether it holds then.
        """
        return self._moment(self.interval.low)

    @property
    def ends_at(self) -> datetime | None:
        """When it ends, in UTC; None where no end is known. Otherwise as `begins_at`."""
        return self._moment(self.interval.high)

    def _moment(self, time: Time) -> datetime | None:
        return moment_of(self._timeline, time)

    @property
    def text(self) -> str:
        """The fact as data writes it."""
        return format_record(self._record, self._timeline)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {cut(self.text)}>"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._record == other._record and self._timeline == other._timeline

    def __hash__(self) -> int:
        return hash(self._record)
