"""The desk: all alarms that are not normal, from the answers that hold (`plans/tree/alarms.py` has their rules)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from hashlib import blake2s
from typing import Final, Literal, get_args

import msgspec

from tidelog.plans.data.facts import Record, Row, format_atom, format_constant, moment_of
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.data.uncollected import uncollected
from tidelog.plans.tree.alarms import Alarm
from tidelog.plans.tree.brief import brief
from tidelog.plans.tree.syntax import PriorityName

StateName = Literal["out_of_service", "shelved", "suppressed", "unacknowledged", "acknowledged", "returned_unacknowledged"]
PRIORITIES: Final[tuple[PriorityName, ...]] = get_args(PriorityName)
_ID_BYTES = 10
_encode = msgspec.json.Encoder().encode
Key = tuple[str, Row]
"""An alarm with its arguments."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What somebody did: who, what was said, from where, and since when (encoded) it counts."""

    who: str
    comment: str
    via: str
    at: int


@dataclass(slots=True, repr=False)
class OpenAlarm:
    """An alarm that is not normal. Times are encoded (`timeline.decode_point`); `begins_at` and so on are times in UTC.

    `begins` is when its condition began to hold, None where it does not, and never did in this state; `ends` when it ended,
    where it waits to be acknowledged. `shelved_until` is the last end of its shelves. `cause` is the `id` of the alarm into
    which it is folded, and `folded` how many are folded into this one.
    """

    timeline: Timeline
    id: str
    alarm: str
    args: Row
    priority: PriorityName
    text: str
    state: StateName = "unacknowledged"
    begins: int | None = None
    ends: int | None = None
    acknowledged: tuple[Deed, ...] = ()
    shelved: tuple[Deed, ...] = ()
    shelved_until: int | None = None
    removed: tuple[Deed, ...] = ()
    is_suppressed: bool = False
    cause: str | None = None
    folded: int = 0

    @property
    def begins_at(self) -> datetime | None:
        """When it began; None where that is not known. ValueError where the program declares no unit."""
        return self._moment(self.begins)

    @property
    def ends_at(self) -> datetime | None:
        """When it ended, where it waits to be acknowledged; otherwise as `begins_at`."""
        return self._moment(self.ends)

    @property
    def shelved_until_at(self) -> datetime | None:
        """When its last shelf ends; otherwise as `begins_at`."""
        return self._moment(self.shelved_until)

    def _moment(self, point: int | None) -> datetime | None:
        if point is None or not NEG < point < POS:
            return None
        return moment_of(self.timeline, self.timeline.decode_point(point))

    def __repr__(self) -> str:
        cause = "" if self.cause is None else "folded"
        folded = f"{self.folded} folded into it" if self.folded else ""
        return brief(self, format_atom(self.alarm, self.args), self.priority, self.state, cause, folded)


def alarm_id(alarm: str, row: Sequence[object]) -> str:
    """The name of an alarm with its arguments in addresses: the same at all times, and on all machines."""
    return blake2s(_encode([alarm, *row]), digest_size=_ID_BYTES).hexdigest()


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


def parts_of(alarms: Iterable[Alarm], silent: Iterable[str]) -> list[str]:
    """The outputs that a desk looks at: conditions, and of what is `silent` all but what only sinks are told."""
    alarms = [*alarms]
    told = {alarm.part("told") for alarm in alarms}
    return [*(alarm.name for alarm in alarms), *(name for name in silent if name not in told)]


@uncollected()
def open_alarms(
    alarms: Iterable[Alarm], timeline: Timeline, held: Iterable[Record], begun: Iterable[Record] = ()
) -> list[OpenAlarm]:
    """All alarms that are not normal, of what is `held` of their conditions and parts: the most urgent ones first, and of
    these what began last. Conditions that have `begun` since then count as alarms that nobody has acknowledged or hidden."""
    known = {alarm.name: alarm for alarm in alarms}
    conditions: dict[Key, int] = {}
    causes: dict[Key, list[Key]] = {}
    found: dict[Key, OpenAlarm] = {}
    states: dict[Key, set[str]] = {}
    for predicate, row, lo, _ in held:
        name, _, part = predicate.partition(" ")
        alarm = known.get(name)
        if alarm is None:
            continue
        size = len(alarm.declared.fields)
        key = name, row[:size]
        if not part:
            conditions[key] = lo
            continue
        if part.startswith(("folded into ", "after ")):
            causes.setdefault(key, []).append((part.rpartition(" ")[2], row[size:]))
            continue
        item = found.get(key)
        if item is None:
            item = found[key] = _open(alarm, key[1], timeline)
        states.setdefault(key, set()).add(part)
        _add(item, part, row[size:], lo, timeline)
    for key, item in found.items():
        item.state = _state(states[key])
        item.begins = conditions.get(key, item.begins)
    for key in [key for key in found if not states[key] & _OPEN]:
        del found[key]
    for name, row, lo, _ in begun:
        if (name, row) not in found:
            found[name, row] = _open(known[name], row, timeline)
            found[name, row].begins = lo
    _fold(found, causes)
    return sorted(found.values(), key=_urgency)


def _fold(found: Mapping[Key, OpenAlarm], causes: Mapping[Key, Sequence[Key]]) -> None:
    """Fold each alarm into the most urgent one of its causes, and so into what that one is folded into."""

    def cause_of(key: Key) -> Key | None:
        is_open = [each for each in causes.get(key, ()) if each in found]
        return min(is_open, key=lambda each: _urgency(found[each]), default=None)

    nearest = {key: cause_of(key) for key in found}
    for key, cause in nearest.items():
        first = cause
        while first is not None and nearest[first] is not None:  # there is no circle: see `Causes.pairs`
            first = nearest[first]
        if first is not None:
            found[key].cause = found[first].id
            found[first].folded += 1


def _open(alarm: Alarm, row: Row, timeline: Timeline) -> OpenAlarm:
    return OpenAlarm(timeline, alarm_id(alarm.name, row), alarm.name, row, alarm.declared.priority, alarm_text(alarm, row))


def _add(item: OpenAlarm, part: str, told: Row, lo: int, timeline: Timeline) -> None:
    """Note one of the parts that hold."""
    deed = Deed(str(told[0]), str(told[1]), str(told[2]), lo) if told else None
    match part:
        case "raised" | "active":
            item.begins = lo if item.begins is None else min(lo, item.begins)
        case "returned":
            item.ends = lo - 1 if timeline.is_integer or lo & 1 else lo
        case "suppressed":
            item.is_suppressed = True
        case "acknowledged" if deed is not None:
            item.acknowledged = (*item.acknowledged, deed)
        case "removed" if deed is not None:
            item.removed = (*item.removed, deed)
        case "shelved" if deed is not None:
            item.shelved = (*item.shelved, deed)
            item.shelved_until = max(item.shelved_until or -POS, timeline.encode_point(Fraction(str(told[-1]))))


_OPEN: Final = frozenset(["active", "returned", "suppressed", "shelved", "removed"])
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
