"""The desk: all alarms that are not normal, from the answers that hold (`plans/tree/alarms.py` has their rules)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import blake2s
from typing import Final, Literal, get_args

from tidelog.plans.data.facts import Record, Row, format_constant
from tidelog.plans.data.timeline import POS, Timeline
from tidelog.plans.tree.alarms import Alarm
from tidelog.plans.tree.syntax import PriorityName

StateName = Literal["out_of_service", "shelved", "suppressed", "unacknowledged", "acknowledged", "returned_unacknowledged"]
PRIORITIES: Final[tuple[PriorityName, ...]] = get_args(PriorityName)
_ID_BYTES = 10


@dataclass(frozen=True, slots=True)
class Deed:
    """What somebody did: who, what was said, from where, and since when (encoded) it counts."""

    who: str
    comment: str
    via: str
    at: int


@dataclass(slots=True)
class OpenAlarm:
    """An alarm that is not normal. Times are encoded.

    `begins` is when its condition began to hold, None where it does not, and never did in this state; `ends` when it ended,
    where it waits to be acknowledged. `shelved_until` is the last end of its shelves.
    """

    id: str
    alarm: str
    args: Row
    priority: PriorityName
    text: str
    state: StateName = "unacknowledged"
    begins: int | None = None
    ends: int | None = None
    acknowledged: list[Deed] = field(default_factory=list)
    comments: list[Deed] = field(default_factory=list)
    shelved: list[Deed] = field(default_factory=list)
    shelved_until: int | None = None
    removed: list[Deed] = field(default_factory=list)
    is_suppressed: bool = False


def alarm_id(alarm: str, row: Sequence[object]) -> str:
    """The name of an alarm with its arguments in addresses: the same at all times, and on all machines."""
    return blake2s(json.dumps([alarm, *row]).encode(), digest_size=_ID_BYTES).hexdigest()


def alarm_text(alarm: Alarm, row: Row) -> str:
    """What is said of an alarm: its text with the arguments in place of their names, or else its atom."""
    declared = alarm.declared
    names = [item.name for item in declared.fields]
    values = [value if isinstance(value, str) else format_constant(value) for value in row]
    if not declared.text:
        return f"{alarm.name}({', '.join(values)})" if values else alarm.name
    text = declared.text
    for name, value in zip(names, values, strict=True):
        text = text.replace(f"{{{name}}}", value)
    return text


def open_alarms(alarms: Iterable[Alarm], timeline: Timeline, held: Iterable[Record]) -> list[OpenAlarm]:
    """All alarms that are not normal, of what is `held` of their conditions and parts: the most urgent ones first, and of
    these what began last."""
    known = {alarm.name: alarm for alarm in alarms}
    conditions: dict[tuple[str, Row], int] = {}
    found: dict[tuple[str, Row], OpenAlarm] = {}
    states: dict[tuple[str, Row], set[str]] = {}
    for predicate, row, lo, _ in held:
        name, _, part = (predicate, "", "") if predicate in known else predicate.rpartition(" ")
        alarm = known.get(name)
        if alarm is None:
            continue
        size = len(alarm.declared.fields)
        key = name, row[:size]
        if not part:
            conditions[key] = lo
            continue
        item = found.get(key)
        if item is None:
            item = found[key] = _open(alarm, key[1])
        states.setdefault(key, set()).add(part)
        _add(item, part, row[size:], lo, timeline)
    for key, item in found.items():
        item.state = _state(states[key])
        item.begins = conditions.get(key, item.begins)
    return sorted((item for key, item in found.items() if states[key] & _OPEN), key=_urgency)


def _open(alarm: Alarm, row: Row) -> OpenAlarm:
    return OpenAlarm(alarm_id(alarm.name, row), alarm.name, row, alarm.declared.priority, alarm_text(alarm, row))


def _add(item: OpenAlarm, part: str, told: Row, lo: int, timeline: Timeline) -> None:
    """Note one of the parts that hold."""
    deed = Deed(str(told[0]), str(told[1]), str(told[2]), lo) if told else None
    match part:
        case "raised":
            item.begins = lo
        case "returned":
            item.ends = lo
        case "suppressed":
            item.is_suppressed = True
        case "acknowledged" if deed is not None:
            item.acknowledged.append(deed)
        case "commented" if deed is not None:
            item.comments.append(deed)
        case "removed" if deed is not None:
            item.removed.append(deed)
        case "shelved" if deed is not None:
            item.shelved.append(deed)
            item.shelved_until = max(item.shelved_until or -POS, timeline.encode_point(Fraction(str(told[-1]))))


_OPEN: Final = frozenset(["raised", "suppressed", "shelved", "removed"])
"""An alarm of which none of these holds is normal."""


def _state(parts: set[str]) -> StateName:
    """The first that is so, as the rules have it."""
    if "removed" in parts:
        return "out_of_service"
    if "shelved" in parts:
        return "shelved"
    if "suppressed" in parts:
        return "suppressed"
    if "active" not in parts:
        return "returned_unacknowledged"
    return "acknowledged" if "acknowledged" in parts else "unacknowledged"


def _urgency(item: OpenAlarm) -> tuple[bool, int, bool, int]:
    hidden = item.state in ("out_of_service", "shelved", "suppressed")
    begin = item.begins if item.begins is not None else -POS
    return hidden, PRIORITIES.index(item.priority), item.state == "acknowledged", -begin
