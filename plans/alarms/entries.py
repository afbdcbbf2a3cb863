"""Entries of the history of alarms: an alarm began, or ended, or somebody did something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Final, Literal

import msgspec

from tidelog.plans.data.changes import ChangeRecord, RetractedChange
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.tree.declared.alarms import ACTIONS, BY, ActionName, Alarm
from tidelog.plans.tree.syntax import Value

EntryKind = Literal["began", "ended", "corrected"] | ActionName
CORRECTED: Final = "corrected"
"""An alarm never was: a fact that it rested on was taken back."""


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What happened at a time (encoded): with which alarm, and, where somebody did it, who, what was said, from where.

    `began` is when the alarm began that has ended; `until` when a shelf is to end.
    """

    at: int
    kind: EntryKind
    alarm: str
    args: tuple[Value, ...] = ()
    who: str = ""
    comment: str = ""
    via: str = ""
    began: int | None = None
    until: int | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from all others."""
        return self.at, self.kind, self.alarm, self.args, self.who, self.comment, self.began


def action_entries(alarms: Iterable[Alarm], timeline: Timeline, facts: Iterable[Record]) -> Iterator[Entry]:
    """What people did, of the facts that were taken."""
    known = _actions(alarms)
    for predicate, row, lo, _ in facts if known else ():
        found = known.get(predicate)
        if found is None:
            continue
        alarm, action, size = found
        who, comment, via = (str(value) for value in row[size : size + len(BY)])
        until = timeline.encode_point(Fraction(str(row[-1]))) if action == "shelve" else None
        yield Entry(lo, action, alarm, row[:size], who, comment, via, until=until)


def change_entries(alarms: Mapping[str, Alarm], answers: Iterable[object]) -> Iterator[Entry]:
    """What became of alarms, of the changes that were told (`run --emit changes`)."""
    for answer in answers:
        if not isinstance(answer, ChangeRecord) or answer.predicate not in alarms:
            continue
        if isinstance(answer, RetractedChange):
            yield Entry(answer.lo, CORRECTED, answer.predicate, answer.row, began=answer.lo)
        elif answer.has_ended:
            yield Entry(answer.hi, "ended", answer.predicate, answer.row, began=answer.lo)
        else:
            yield Entry(answer.lo, "began", answer.predicate, answer.row)


def _actions(alarms: Iterable[Alarm]) -> dict[str, tuple[str, ActionName, int]]:
    return {alarm.part(action): (alarm.name, action, len(alarm.declared.fields)) for alarm in alarms for action in ACTIONS}
