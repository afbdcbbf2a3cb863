"""Actions that count at once for who looks: their time may lie ahead of how far the stream is complete."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

import msgspec

from tidelog.plans.alarms.desk import Deed, Key, OpenAlarm, StateName
from tidelog.plans.alarms.entries import Entry


class Pending:
    """What people did that the stream has not come to yet: the last `most` actions."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.clear()

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        """Nobody has done anything."""
        self._count = 0
        self._entries: dict[int, Entry] = {}
        self._keys: dict[Key, list[int]] = {}
        self._times: list[tuple[int, int]] = []
        self._shown: dict[Key, tuple[OpenAlarm, OpenAlarm | None]] = {}
        self.version = 0
        """Another one whenever there are others."""

    def add(self, entries: Iterable[Entry]) -> None:
        """Somebody has done something."""
        for entry in entries:
            self._count += 1
            self._entries[self._count] = entry
            self._keys.setdefault((entry.alarm, entry.args), []).append(self._count)
            heappush(self._times, (entry.at, self._count))
            self._change(entry)
            if len(self._entries) > self._most:
                self._drop(next(iter(self._entries)))

    def come_to(self, frontier: int) -> None:
        """The stream is complete up to a time (encoded): what was done by then is known to the rules."""
        while self._times and self._times[0][0] <= frontier:
            self._drop(heappop(self._times)[1])

    def seen(self, item: OpenAlarm) -> OpenAlarm | None:
        """An open alarm as it will be once the stream has come to all that was done with it, if nothing else happens until
        then; None where it is normal then."""
        key = item.key
        numbers = self._keys.get(key)
        if numbers is None:
            return item
        known = self._shown.get(key)
        if known is not None and known[0] is item:
            return known[1]
        found = after(item, [self._entries[number] for number in numbers])
        self._shown[key] = item, found
        return found

    def seen_all(self, items: Sequence[OpenAlarm]) -> Sequence[OpenAlarm]:
        """All of them that are not normal then, in the same order."""
        if not self._keys:
            return items
        return [found for item in items if (found := self.seen(item)) is not None]

    def _drop(self, number: int) -> None:
        entry = self._entries.pop(number, None)
        if entry is None:  # there have been too many since
            return
        key = entry.alarm, entry.args
        self._keys[key].remove(number)
        if not self._keys[key]:
            del self._keys[key]
        self._change(entry)
        if len(self._times) > 2 * len(self._entries) + 64:
            self._times = [(entry.at, number) for number, entry in self._entries.items()]
            heapify(self._times)

    def _change(self, entry: Entry) -> None:
        self._shown.pop((entry.alarm, entry.args), None)
        self.version += 1


def after(item: OpenAlarm, entries: Iterable[Entry]) -> OpenAlarm | None:
    """An open alarm behind some actions; None where it is normal then.

    The rules (`plans/tree/declared/alarms.py`) say the same once the stream is complete up to them. That may take as
    long as facts may be late, and people see at once what they did.
    """
    for entry in sorted(entries, key=lambda each: each.at):
        found = _after(item, entry)
        if found is None:
            return None
        item = found
    return item


def _after(item: OpenAlarm, entry: Entry) -> OpenAlarm | None:
    deed, to = Deed(entry.who, entry.comment, entry.via, entry.at), msgspec.structs.replace
    match entry.kind:
        case "acknowledge":
            if item.state == "returned_unacknowledged":
                return None
            if item.state in ("unacknowledged", "acknowledged"):
                return to(item, state="acknowledged", acknowledged=(*item.acknowledged, deed))
        case "shelve" if entry.until is not None:
            until = entry.until if item.shelved_until is None else max(item.shelved_until, entry.until)
            state: StateName = "out_of_service" if item.state == "out_of_service" else "shelved"
            return to(item, state=state, shelved=(*item.shelved, deed), shelved_until=until)
        case "unshelve":
            return _back(to(item, shelved=(), shelved_until=None))
        case "remove":
            return to(item, state="out_of_service", removed=(*item.removed, deed))
        case "restore":
            return _back(to(item, removed=()))
        case _:
            pass
    return item


def _back(item: OpenAlarm) -> OpenAlarm | None:
    """One reason less to hide an alarm."""
    state: StateName | None = "out_of_service" if item.removed else "shelved" if item.shelved else None
    state = "suppressed" if state is None and item.is_suppressed else state
    if state is not None:
        return msgspec.structs.replace(item, state=state)
    if item.state not in ("out_of_service", "shelved", "suppressed"):
        return item
    is_open = item.begins is not None and item.ends is None
    return msgspec.structs.replace(item, state="unacknowledged", acknowledged=()) if is_open else None
