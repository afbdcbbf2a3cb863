"""An open alarm: one that is not normal, from what holds of its parts (`plans/tree/declared/alarms.py` has their rules)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from fractions import Fraction
from hashlib import blake2s
from typing import Final, Literal, get_args

import msgspec

from tidelog.plans.data.facts import Row, format_atom, format_constant, moment_of
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.tree.brief import brief
from tidelog.plans.tree.declared.alarms import Alarm
from tidelog.plans.tree.syntax import PriorityName

StateName = Literal["out_of_service", "shelved", "suppressed", "unacknowledged", "acknowledged", "returned_unacknowledged"]
PRIORITIES: Final[tuple[PriorityName, ...]] = get_args(PriorityName)
_ID_BYTES = 10
_NAME: Final = re.compile(r"\{([^{}]*)\}")
_encode = msgspec.json.Encoder().encode
Key = tuple[str, Row]
"""An alarm with its arguments."""
Urgency = tuple[bool, int, bool, int, str, str]
"""How urgent an open alarm is: the least comes first, and no two are equal."""


class Deed(msgspec.Struct, frozen=True, gc=False):
    """What somebody did: who, what was said, from where, and since when (encoded) it counts."""

    who: str
    comment: str
    via: str
    at: int


class OpenAlarm(msgspec.Struct, frozen=True, gc=False):
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
    def key(self) -> Key:
        """The alarm with its arguments."""
        return self.alarm, self.args

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
    said = dict(zip(names, values, strict=True))
    return _NAME.sub(lambda found: said.get(found[1], found[0]), declared.text)  # a value may hold the name of another


def parts_of(alarms: Iterable[Alarm], silent: Iterable[str]) -> list[str]:
    """The outputs that a desk looks at: conditions, and of what is `silent` all but what only sinks are told."""
    alarms = [*alarms]
    told = tuple(alarm.part(part) for alarm in alarms for part in ("told", "calm "))
    return [*(alarm.name for alarm in alarms), *(name for name in silent if not name.startswith(told))]


def opened(
    alarm: Alarm, row: Row, timeline: Timeline, parts: Iterable[tuple[str, Row, int]], known: OpenAlarm | None = None
) -> OpenAlarm | None:
    """An alarm of which these parts hold now; None where it is normal.

    Each part has what it says beside the alarm's arguments, and since when it holds. The one without a name is the
    condition. What was `known` of the alarm before has its name and its text.
    """
    names: list[str] = []
    deeds: dict[str, list[Deed]] = {}
    condition = begins = ends = until = None
    for part, told, lo in parts:
        names.append(part)
        if told:
            deeds.setdefault(part, []).append(Deed(str(told[0]), str(told[1]), str(told[2]), lo))
            if part == "shelved":
                end = timeline.encode_point(Fraction(str(told[-1])))
                until = end if until is None else max(until, end)
        elif not part:
            condition = lo
        elif part == "returned":
            ends = lo - 1 if timeline.is_integer or lo & 1 else lo
        elif part != "suppressed":  # it is raised, or active
            begins = lo if begins is None else min(lo, begins)
    if _OPEN.isdisjoint(names):
        return None
    for done in deeds.values():
        done.sort(key=_turn)
    acknowledged, shelved, removed = (tuple(deeds.get(part, ())) for part in ("acknowledged", "shelved", "removed"))
    return OpenAlarm(
        timeline,
        alarm_id(alarm.name, row) if known is None else known.id,
        alarm.name,
        row,
        alarm.declared.priority,
        alarm_text(alarm, row) if known is None else known.text,
        _state(names),
        begins if condition is None else condition,
        ends,
        acknowledged,
        shelved,
        until,
        removed,
        "suppressed" in names,
    )


def begun(alarm: Alarm, row: Row, timeline: Timeline, lo: int) -> OpenAlarm:
    """An alarm whose condition has begun, as far as is known: nobody has acknowledged or hidden it."""
    return OpenAlarm(
        timeline, alarm_id(alarm.name, row), alarm.name, row, alarm.declared.priority, alarm_text(alarm, row), begins=lo
    )


def folded_as(item: OpenAlarm, cause: str | None, folded: int) -> OpenAlarm:
    """The same alarm, folded into the one of this `id`, or with so many that are folded into it."""
    return msgspec.structs.replace(item, cause=cause, folded=folded)


def urgency(item: OpenAlarm) -> Urgency:
    """What is shown comes before what is hidden, then by priority, what nobody has acknowledged, and what began last."""
    hidden = item.state in ("out_of_service", "shelved", "suppressed")
    begin = item.begins if item.begins is not None else -POS
    return hidden, PRIORITIES.index(item.priority), item.state == "acknowledged", -begin, item.text, item.id


def _turn(deed: Deed) -> tuple[int, str, str, str]:
    return deed.at, deed.who, deed.comment, deed.via


_OPEN: Final = frozenset(["active", "returned", "suppressed", "shelved", "removed"])
"""An alarm of which none of these holds is normal."""


def _state(parts: Collection[str]) -> StateName:
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
