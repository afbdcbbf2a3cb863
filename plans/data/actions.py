"""What people do with alarms, as facts: who did what with which alarm, when, and from where."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Final
from unicodedata import category

from tidelog.plans.data.facts import AlarmSchema, Record, Schema, ValueLike
from tidelog.plans.data.times import TimeLike, TimeReader
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.tree.declared.alarms import ActionName
from tidelog.plans.tree.literals import UNIT_SECONDS
from tidelog.plans.tree.numerals import shorten
from tidelog.plans.tree.syntax import AlarmDeclaration, Interval

_NO_TEXT: Final = ("Cc", "Cs")
"""The categories of control characters and of halves of characters."""
MAX_COMMENT: Final = 2_000
"""The most characters of a comment, and of a name."""


@dataclass(frozen=True, slots=True)
class Action:
    """What somebody does with an alarm: `args` in order, or by their names; `lasting` is how long a shelf lasts."""

    name: ActionName
    alarm: str
    args: Sequence[ValueLike] | Mapping[str, ValueLike] = ()
    who: str = ""
    comment: str = ""
    via: str = ""
    lasting: TimeLike | timedelta | None = None


def action_record(schema: Schema, times: TimeReader, action: Action, at: TimeLike) -> Record:
    """The fact that an action is, at a time; a shelf begins there, and holds for as long as it lasts.

    DataError for an alarm that the program does not declare, other arguments than it has, nobody who acts, a shelf that
    lasts longer than the alarm allows, and a comment without text.
    """
    known = schema.alarms.get(action.alarm)
    if known is None:
        near = suggest(action.alarm, schema.alarms)
        raise DataError(f"the program declares no alarm `{shorten(action.alarm)}`{near}")
    if not action.who.strip():
        raise DataError("`who` is missing: whoever acts has a name")
    for text, name in ((action.who, "who"), (action.comment, "comment"), (action.via, "via")):
        if len(text) > MAX_COMMENT:
            raise DataError(f"`{name}` has more than {MAX_COMMENT} characters")
        odd = next((c for c in text if category(c) in _NO_TEXT and (name != "comment" or c not in "\n\r\t")), None)
        if odd is not None:
            raise DataError(f"`{name}` has the character U+{ord(odd):04X}, which is no text")
    if action.name == "comment" and not action.comment.strip():
        raise DataError("the comment is empty")
    if action.name != "shelve" and action.lasting is not None:
        raise DataError(f"`{action.name}` does not last: only a shelf does")
    row = (*_arguments(known, action.args), action.who, action.comment, action.via)
    point = times.point(at)
    if action.name != "shelve":
        return known.actions[action.name], schema.check(known.actions[action.name], row), point, point
    begin = schema.timeline.decode_point(point)
    lasting = _lasting(known, times, action.lasting)
    try:
        schema.timeline.encode_point(lasting)
    except DataError:
        raise DataError(f"a shelf of `{action.lasting}` is finer than the program's times") from None
    end = begin + lasting
    begins, ends = schema.timeline.format_point(point), schema.timeline.format_point(schema.timeline.encode_point(end))
    lo, hi = schema.timeline.encode_interval(Interval(begin, end, right_open=True))
    return known.actions["shelve"], schema.check(known.actions["shelve"], (*row, begins, ends)), lo, hi


def alarm_schema(name: str, actions: Mapping[str, str], declared: AlarmDeclaration, unit: Fraction | None) -> AlarmSchema:
    """What people may do with a declared alarm; `unit` is what the number 1 means as a time, in seconds."""
    fields = tuple(field.name for field in declared.fields)
    longest = declared.longest
    if not isinstance(longest, Fraction):
        return AlarmSchema(name, fields, actions)
    seconds = UNIT_SECONDS[declared.longest_unit] / (unit or 1) if declared.longest_unit else 1
    return AlarmSchema(name, fields, actions, longest * seconds, f"{longest} {declared.longest_unit}".rstrip())


def _arguments(alarm: AlarmSchema, given: Sequence[ValueLike] | Mapping[str, ValueLike]) -> tuple[ValueLike, ...]:
    if not isinstance(given, Mapping):
        if isinstance(given, str) or len(given) != len(alarm.fields):
            expected = f"({', '.join(alarm.fields)})" if alarm.fields else "no arguments"
            raise DataError(f"alarm `{alarm.name}` has {expected}, got {len(given)}")
        return tuple(given)
    for name in given:
        if name not in alarm.fields:
            raise DataError(f"alarm `{alarm.name}` has no argument `{shorten(name)}`{suggest(name, alarm.fields)}")
    for name in alarm.fields:
        if name not in given:
            raise DataError(f"alarm `{alarm.name}` lacks its argument `{name}`")
    return tuple(given[name] for name in alarm.fields)


def _lasting(alarm: AlarmSchema, times: TimeReader, lasting: TimeLike | timedelta | None) -> Fraction:
    if alarm.longest is None:
        help = "the program says so with `shelve at most 8 h`"
        raise DataError(f"alarm `{alarm.name}` cannot be shelved: {help}")
    if lasting is None:
        raise DataError("`for` is missing: a shelf lasts for some time, such as `2 h`")
    if isinstance(lasting, float) and not math.isfinite(lasting):
        raise DataError("a shelf ends")
    length = times.length(lasting)
    if length <= 0:
        raise DataError("a shelf lasts longer than 0")
    if length > alarm.longest:
        raise DataError(f"alarm `{alarm.name}` is shelved for {alarm.shelf} at the most, got `{lasting}`")
    return length
