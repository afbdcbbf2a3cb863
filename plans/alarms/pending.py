"""Actions that count at once for who looks: their time may lie ahead of how far the stream is complete."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.plans.alarms.desk import Deed, OpenAlarm
from tidelog.plans.alarms.entries import Entry


def with_pending(items: Iterable[OpenAlarm], entries: Iterable[Entry]) -> list[OpenAlarm]:
    """The open alarms as they will be once the stream has come to these actions, if nothing else happens until then.

    What the rules say (`plans/tree/alarms.py`) is said once the stream is complete up to an action, which may take as long
    as facts may be late. People see at once what they did.
    """
    found = {(item.alarm, item.args): item for item in items}
    for entry in sorted(entries, key=lambda each: each.at):
        item = found.get((entry.alarm, entry.args))
        if item is not None and not _apply(item, entry):
            del found[entry.alarm, entry.args]
    return [*found.values()]


def _apply(item: OpenAlarm, entry: Entry) -> bool:
    """Change an alarm as an action will; False where it is normal then."""
    deed = Deed(entry.who, entry.comment, entry.via, entry.at)
    match entry.kind:
        case "acknowledge":
            if item.state == "returned_unacknowledged":
                return False
            if item.state in ("unacknowledged", "acknowledged"):
                item.state = "acknowledged"
                item.acknowledged = (*item.acknowledged, deed)
        case "shelve" if entry.until is not None:
            item.shelved = (*item.shelved, deed)
            item.shelved_until = entry.until if item.shelved_until is None else max(item.shelved_until, entry.until)
            item.state = "out_of_service" if item.state == "out_of_service" else "shelved"
        case "unshelve":
            item.shelved = ()
            item.shelved_until = None
            return _comes_back(item)
        case "remove":
            item.removed = (*item.removed, deed)
            item.state = "out_of_service"
        case "restore":
            item.removed = ()
            return _comes_back(item)
        case _:
            pass
    return True


def _comes_back(item: OpenAlarm) -> bool:
    """One reason less to hide an alarm."""
    if item.removed:
        item.state = "out_of_service"
    elif item.shelved:
        item.state = "shelved"
    elif item.is_suppressed:
        item.state = "suppressed"
    elif item.state in ("out_of_service", "shelved", "suppressed"):
        item.state = "unacknowledged"
        item.acknowledged = ()
        return item.begins is not None and item.ends is None
    return True
