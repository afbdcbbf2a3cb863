"""A plan as bytes: what is stored with the state that a plan has come to, so that a later version can go on from both.

The same program may become another plan in another version of tidelog: of other steps, or with other names for them. A state
is of use to the steps alone that it was taken from. So it is stored with its plan, and nothing has to be compiled again as
it once was.

A dataclass becomes a map of its fields, behind its name; what is no plain data is marked (`_MARK`). Where something stands
in the program's text is left out, but for statements: it tells what an alarm stands for from what is written. A class or
field that a later version calls otherwise is brought up to date by a step of `PLAN` in `plans/data/forms.py`; a new field
has its default.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import cache
from hashlib import sha256
from typing import Any, get_args

import msgspec

from tidelog.plans.calendars import calendar, ticks
from tidelog.plans.calendars.calendar import Calendar
from tidelog.plans.calendars.declared import calendars_of
from tidelog.plans.data import facts, timeline
from tidelog.plans.data.forms import PLAN, brought_up
from tidelog.plans.data.once import once_per_object
from tidelog.plans.diagnostics import errors
from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.plans.language.printing import format_program
from tidelog.plans.normal import program
from tidelog.plans.plan import guards, plan, preconditions, questions
from tidelog.plans.plan.plan import CalendarShape, Plan
from tidelog.plans.tree import gates, syntax
from tidelog.plans.tree.declared import alarms, storms

_MODULES = (
    errors,
    syntax,
    alarms,
    storms,
    gates,
    facts,
    timeline,
    calendar,
    ticks,
    program,
    guards,
    preconditions,
    questions,
    plan,
)
"""Where the classes of a plan's parts are. No other class is ever made of stored data."""
_MARK = "is"
"""The key that tells of which class a map is; `map`, `set`, `number` are those of Python."""
_PLACE = "span"
_MOST_BITS = 63
_LEVEL = 6
_MOST_BYTES = 1 << 30
"""How many bytes a plan may have once it is unpacked."""
_WORDS = ("name", "program", "normal", "warnings")
"""The fields of a plan that no state depends on: what is there to be shown."""
_BY_EVENTS = ("leads", "over_calendars", "announcing", "loops")
"""The fields in which numbers follow from how long the events of calendars are."""

_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_Facts = list[tuple[str, tuple[str | int | float, ...], int, int]]


def pack_plan(plan: Plan) -> bytes:
    """A plan as bytes, without its warnings."""
    whole = {"version": PLAN.version, "plan": _plain(replace(plan, facts=(), warnings=())), "facts": plan.facts}
    return zlib.compress(_encode(whole), _LEVEL)


def unpack_plan(data: bytes, place: str, now: Plan | None = None) -> Plan:
    """What was packed, also by an older version; SnapshotError where it is anything else, SpecError for a newer one.

    The calendars whose files `now` reads, too, have the events that it has read.
    """
    files = {} if now is None else {item.file: item for item in calendars_of(now.normal.calendars).values() if item.file}
    try:
        found = msgspec.msgpack.decode(zlib.decompressobj().decompress(data, _MOST_BYTES))
        found = brought_up(PLAN, found, found["version"], place)
        made: Plan = _made(found["plan"], files)
        known = msgspec.convert(found["facts"], _Facts)
        return replace(made, facts=tuple(known))
    except (
        zlib.error,
        msgspec.MsgspecError,
        UnicodeDecodeError,
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise SnapshotError(f"{place}: its plan is damaged: {error!r}") from error


def _digest(plan: Plan) -> str:
    steps = tuple(replace(step, rule="", source="") for step in plan.steps)
    whole = _plain(replace(plan, facts=(), steps=steps))
    reads_files = any(item.path for item in plan.normal.calendars)
    for name in _WORDS + (_BY_EVENTS if reads_files else ()):
        del whole[name]
    return sha256(_encode([_settled(whole), plan.facts])).hexdigest()


plan_digest = once_per_object(_digest, most=16)
"""What tells a plan from all others whose state it cannot take: a hash of all that is decided in it, and of its facts.

What the file of a calendar holds takes no part: other events of it are like other facts of a stream.
"""


def _settled(data: Any) -> Any:
    """The plain data of a plan, its maps in one order, without what follows from the events of calendars' files."""
    if isinstance(data, list):
        return list(map(_settled, data))
    if not isinstance(data, dict):
        return data
    if data[_MARK] == "map":
        return sorted(map(_settled, data["of"]), key=_encode)
    if data[_MARK] == Calendar.__name__ and data["file"]:
        data = {**data, "events": [], "longest_event": 0}
    elif data[_MARK] == CalendarShape.__name__ and data["calendar"]["calendar"]["file"]:
        data = {**data, "ahead": 0, "behind": 0, "since": 0}
    return {name: _settled(item) for name, item in data.items() if name != _PLACE}


def is_same_program(one: Plan, other: Plan) -> bool:
    """Whether two plans are those of one program: of the same statements, facts and questions, for the same desk."""
    return _program_of(one) == _program_of(other)


def _program_of(plan: Plan) -> object:
    asked = [(question.name, question.depth) for question in plan.questions]
    return format_program(plan.program), _encode(plan.facts), asked, bool(plan.silent), plan.storms


def can_stand_in(stored: Plan, now: Plan) -> bool:
    """Whether who has made one plan can go on with another one of the same program: facts, answers and times are the same.

    A desk knows the rules of alarms by their names; where these have others, it cannot.
    """
    return is_same_program(stored, now) and _face(stored) == _face(now)


def _face(plan: Plan) -> object:
    shown = {name: item for name, item in plan.schema.predicates.items() if item.accepts_input or name in plan.told}
    questions = [(question.name, question.query) for question in plan.questions]
    return shown, plan.timeline, plan.told, plan.silent, plan.spoken, questions, list(plan.constraints.values())


def _plain(value: object) -> Any:
    """A part of a plan as plain data."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _MOST_BITS else {_MARK: "number", "of": str(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {_MARK: "float", "of": str(value)}
    if type(value) is tuple:
        return [_plain(item) for item in value]
    if isinstance(value, Fraction):
        return {_MARK: "fraction", "of": str(value)}
    if isinstance(value, Mapping):
        return {_MARK: "map", "of": [[_plain(key), _plain(item)] for key, item in value.items()]}
    if isinstance(value, frozenset):
        return {_MARK: "set", "of": sorted(map(_plain, value), key=_encode)}
    kind = type(value)
    if _classes().get(kind.__name__) is not kind:
        raise TypeError(f"no part of a plan: {value!r}")
    return {_MARK: kind.__name__} | {name: _plain(getattr(value, name)) for name in _stored_fields(kind.__name__)}


def _made(data: Any, files: Mapping[str, Calendar]) -> Any:
    """What plain data was made of."""
    if isinstance(data, list):
        return tuple(_made(item, files) for item in data)
    if not isinstance(data, dict):
        return data
    kind: str = data[_MARK]
    of: Any = data.get("of")
    match kind:
        case "number":
            return int(of)
        case "float":
            return float(of)
        case "fraction":
            return Fraction(of)
        case "set":
            return frozenset(_made(item, files) for item in of)
        case "map":
            return {_made(key, files): _made(item, files) for key, item in of}
    found = _classes()[kind](**{name: _made(item, files) for name, item in data.items() if name != _MARK})
    return files.get(found.file, found) if isinstance(found, Calendar) else found


@cache
def _classes() -> Mapping[str, type]:
    known = [kind for module in _MODULES for kind in vars(module).values() if isinstance(kind, type)]
    return {kind.__name__: kind for kind in known if is_dataclass(kind) or issubclass(kind, tuple)}


@cache
def _stored_fields(name: str) -> tuple[str, ...]:
    """The fields that make an object of a class what it is; of statements, also where they stand in the text."""
    kind: Any = _classes()[name]
    if not is_dataclass(kind):
        named: tuple[str, ...] = kind._fields
        return named
    has_place = kind in get_args(syntax.Statement)
    return tuple(item.name for item in fields(kind) if item.init and (has_place or item.name != _PLACE))
