"""The desk of one program: its open alarms as objects, which of them an address means, and their history."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from tidelog.connectors.formats.formatting import TimeFormatter, number_or_text
from tidelog.connectors.http.desk.actions import Actions
from tidelog.connectors.http.desk.history import History
from tidelog.plans.alarms.desk import Deed, Key, OpenAlarm, alarm_id, alarm_text
from tidelog.plans.alarms.entries import Entry, action_entries, change_entries
from tidelog.plans.alarms.pending import Pending
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.data.uncollected import uncollected
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.declared.alarms import ACTIONS, ActionName

MOST_PENDING: Final = 10_000
"""How many actions may lie ahead of the stream."""
_SPARE: Final = 1_000
"""So many alarms are kept as JSON beside twice as many as are open."""
_encode = msgspec.json.Encoder().encode


class Watched(Protocol):
    """What runs, and knows which alarms are open."""

    def open_alarms(self, present: int | None = None) -> list[OpenAlarm]: ...

    def open_alarm(self, identity: str, present: int | None = None) -> OpenAlarm | None: ...

    def alarms_version(self, present: int | None = None) -> tuple[int, int]: ...

    @property
    def frontier(self) -> int: ...


class Desk:
    """Told by a watch what its engine took and told; asked by who looks. Without alarms it has nothing to do."""

    def __init__(self, plan: Plan, history: Path | None) -> None:
        self.history = History(history)
        self._pending = Pending(MOST_PENDING)
        self._ended: dict[tuple[Key, ActionName], int] = {}
        self._run = secrets.token_hex(4)
        self.actions = Actions()
        """The source of what people do."""
        self.engine: Watched | None = None
        self.replace(plan)

    def replace(self, plan: Plan) -> None:
        """Another program runs now: what was seen of the old one stays."""
        self.plan = plan
        self._alarms = {alarm.name: alarm for alarm in plan.alarms}
        self._times = TimeFormatter(plan.timeline, plan.timeline.unit is not None)
        self._encoded: dict[str, tuple[OpenAlarm, tuple[Entry, ...], msgspec.Raw]] = {}
        """What was told of open alarms last, of which most stay as they are: some more than are open."""
        self._open = 0
        self._run_of_program = f"{self._run}-{secrets.token_hex(2)}"

    @property
    def has_alarms(self) -> bool:
        """Whether the program declares any, and its plan tells of them (`tidelog.compile(…, desk=True)`)."""
        return bool(self._alarms and self.plan.silent)

    def going_on(self, run: str, events: int) -> None:
        """A run begins, or goes on: what people did in it counts at once, also if the stream has not come to it yet."""
        is_same = self.history.going_on(run, events)
        done = [entry for entry in self.history if entry.kind in ACTIONS] if is_same else []
        done.sort(key=lambda entry: entry.at)
        self._pending.clear()
        self._pending.add(done[-MOST_PENDING:])
        self._note_ends(done[-MOST_PENDING:])

    # --- what happens ---------------------------------------------------------------------------------------------------

    def took(self, records: Sequence[Record]) -> None:
        """Facts were taken: what people did is among them."""
        if self._alarms:
            entries = [*action_entries(self.plan.alarms, self.plan.timeline, records)]
            self._note_ends(entries)
            self._pending.add(entries)
            self.history.add(entries)

    def _note_ends(self, entries: Iterable[Entry]) -> None:
        """When shelves and times out of service were ended last."""
        for entry in entries:
            if entry.kind in ("unshelve", "restore"):
                self._ended[(entry.alarm, entry.args), entry.kind] = entry.at
        while len(self._ended) > MOST_PENDING:
            del self._ended[next(iter(self._ended))]

    def told(self, answers: Sequence[object]) -> None:
        """Answers became known: the begins and ends of alarms are among them."""
        if self._alarms:
            self.history.add(change_entries(self._alarms, answers))

    # --- what is asked --------------------------------------------------------------------------------------------------

    def open_alarms(self, present: int | None = None) -> Sequence[OpenAlarm]:
        """All alarms that are not normal, the most urgent ones first; what people did counts at once. Where the present
        (encoded) is told, so does what has begun by then."""
        engine = self._watched()
        found = () if engine is None else self._pending.seen_all(engine.open_alarms(present))
        self._open = len(found)
        return found

    def tag(self, present: int | None = None) -> str:
        """What tells the open alarms, as they are told now, from those of all other times, and runs."""
        engine = self._watched()
        known = (0, 0) if engine is None else engine.alarms_version(present)
        return "-".join(map(str, (self._run_of_program, *known, self._pending.version, self.history.version)))

    def _watched(self) -> Watched | None:
        """What runs, where it has alarms; and let go of what was done by the time up to which its stream is complete."""
        if self.engine is None or not self._alarms:
            return None
        self._pending.come_to(self.engine.frontier)
        return self.engine

    def declared(self) -> dict[str, dict[str, Any]]:
        """The alarms that there may be, and what may be done with them; `longest` is in seconds where there is a unit."""
        unit, schemas = self.plan.timeline.unit or 1, self.plan.schema.alarms
        return {
            name: {
                "fields": [field.name for field in alarm.declared.fields],
                "priority": alarm.declared.priority,
                "latched": alarm.declared.latched,
                "longest": None if (longest := schemas[name].longest) is None else float(longest * unit),
                "shelf": schemas[name].shelf,
            }
            for name, alarm in self._alarms.items()
        }

    def find(self, identity: str, present: int | None = None) -> Key | None:
        """The alarm, and its arguments, that an address means: one that is open, or was of late."""
        item = self.get(identity, present)
        if item is not None:
            return item.key
        return self.history.key_of(identity)

    def get(self, identity: str, present: int | None = None) -> OpenAlarm | None:
        """The open alarm that an address means, with all that people did."""
        engine = self._watched()
        item = None if engine is None else engine.open_alarm(identity, present)
        return None if item is None else self._pending.seen(item)

    def begin(self, identity: str, present: int | None = None) -> Record | None:
        """The begin of an open alarm's condition, as a fact to be explained; None where it has none."""
        item = self.get(identity, present)
        return None if item is None or item.begins is None else (item.alarm, item.args, item.begins, item.begins)

    def next_time(self, key: Key, action: ActionName, present: int) -> Fraction:
        """At which time somebody acts on an alarm at the present (encoded): where facts can still come, and not before its
        begin.

        What is done at one time has no order, and what ends a shelf counts. So who shelves an alarm again, or takes it out
        of service again, does so one step behind the end of that.
        """
        step = 1 if self.plan.timeline.is_integer else 2
        frontier = NEG if self.engine is None else self.engine.frontier
        ended = self._ended.get((key, _ENDED_BY[action]), NEG) + step if action in _ENDED_BY else NEG
        item = self.get(alarm_id(*key), present)
        begin = NEG if item is None or item.begins is None else item.begins
        point = max(present, frontier + 1, ended, begin)
        point += point & 1 if step == 2 else 0
        return self.plan.timeline.decode_point(point)

    def named(self, key: Key) -> dict[str, Any]:
        """What tells an alarm from all others, for machines and for people."""
        alarm, args = key
        return {"id": alarm_id(alarm, args), "alarm": alarm, "args": list(args), "text": self._text(alarm, args)}

    @uncollected()
    def objects(self, items: Sequence[OpenAlarm]) -> list[msgspec.Raw]:
        """Open alarms as `GET /alarms` tells of them, as JSON."""
        found, known = list[msgspec.Raw](), self._encoded
        for item in items:
            said = (*self.history.comments(item.key),)
            told = known.get(item.id)
            if told is None or told[0] is not item or told[1] != said:
                told = known[item.id] = item, said, msgspec.Raw(_encode(self.object(item)))
            found.append(told[2])
        if len(known) > 2 * self._open + _SPARE:
            known.clear()
        return found

    def object(self, item: OpenAlarm) -> dict[str, Any]:
        """One of them."""
        return {
            "id": item.id,
            "alarm": item.alarm,
            "args": list(item.args),
            "text": item.text,
            "priority": item.priority,
            "state": item.state,
            "begins": self.time(item.begins),
            "ends": self.time(item.ends),
            "acknowledged": [self._deed(deed) for deed in item.acknowledged],
            "comments": [self._comment(entry) for entry in self._comments(item)],
            "shelved": [self._deed(deed) for deed in item.shelved],
            "shelved_until": self.time(item.shelved_until),
            "removed": [self._deed(deed) for deed in item.removed],
            "suppressed": item.is_suppressed,
            "cause": item.cause,
            "folded": item.folded,
        }

    def entry_object(self, entry: Entry) -> dict[str, Any]:
        """An entry of the history as `GET /alarms/history` tells of it."""
        found: dict[str, Any] = {
            "time": self.time(entry.at),
            "what": entry.kind,
            **self.named((entry.alarm, entry.args)),
        }
        if entry.kind not in ("began", "ended", "corrected"):
            found |= {"who": entry.who, "comment": entry.comment, "via": entry.via}
        if entry.began is not None:
            found["began"] = self.time(entry.began)
        if entry.until is not None:
            found["until"] = self.time(entry.until)
        return found

    def _text(self, name: str, args: Row) -> str:
        alarm = self._alarms.get(name)
        if alarm is None or len(alarm.declared.fields) != len(args):  # it was one of an earlier program
            return f"{name}({', '.join(map(str, args))})"
        return alarm_text(alarm, args)

    def _comments(self, item: OpenAlarm) -> list[Entry]:
        """What was said of it since it began, with all that was done."""
        begin = NEG if item.begins is None else item.begins
        return [entry for entry in self.history.comments(item.key) if entry.at >= begin]

    def _comment(self, entry: Entry) -> dict[str, Any]:
        return self._deed(Deed(entry.who, entry.comment, entry.via, entry.at)) | {"what": entry.kind}

    def _deed(self, deed: Deed) -> dict[str, Any]:
        return {"who": deed.who, "comment": deed.comment, "via": deed.via, "time": self.time(deed.at)}

    def time(self, point: int | None) -> Any:
        """A time as it is told; None where there is none."""
        if point is None or not NEG < point < POS:
            return None
        return number_or_text(self._times.point(point))


_ENDED_BY: Final[dict[ActionName, ActionName]] = {"shelve": "unshelve", "remove": "restore"}
