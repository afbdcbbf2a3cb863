"""The list of open alarms, made from scratch of all that a session stores, and what people did on top; slow, and plain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from tidelog.plans.alarms.desk import PRIORITIES, Deed, OpenAlarm, alarm_id, alarm_text
from tidelog.plans.alarms.entries import Entry
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Plan

Key = tuple[str, tuple[Any, ...]]
Range = tuple[tuple[Any, ...], int, int]
HIDDEN = ("out_of_service", "shelved", "suppressed")


def stored(snapshot: dict[str, Any], output: str) -> list[Range]:
    """All ranges of an output in a session's snapshot; what stands has no end, and begins where that does which it
    continues."""
    coverage, standing = snapshot["outlet"]["held"][output]
    ranges = [(tuple(row), lo, hi) for row, bounds in coverage for lo, hi in zip(bounds[::2], bounds[1::2], strict=True)]
    for row, lo in standing:
        own = [each for each in ranges if each[0] == tuple(row)]
        begin = min([lo, *(first for _, first, last in own if first <= lo <= last + 1)])
        ranges = [each for each in ranges if each[0] != tuple(row) or each[2] < begin] + [(tuple(row), begin, POS)]
    return ranges


def open_alarms(plan: Plan, snapshot: dict[str, Any], frontier: int, present: int | None) -> list[OpenAlarm]:
    """All alarms that are not normal, in order."""
    parts: dict[Key, list[tuple[str, tuple[Any, ...], int]]] = {}
    found: dict[Key, dict[str, Any]] = {}
    for alarm in plan.alarms:
        size = len(alarm.declared.fields)
        for output in snapshot["outlet"]["held"]:
            if output != alarm.name and not output.startswith(f"{alarm.name} "):
                continue
            known = frontier if frontier in (NEG, POS) else min(frontier, frontier + plan.leads[plan.outputs[output]])
            part = output.removeprefix(alarm.name).strip()
            for row, lo, hi in stored(snapshot, output):
                if lo <= known <= hi:
                    parts.setdefault((alarm.name, row[:size]), []).append((part, row[size:], lo))
        for key, holding in parts.items():
            if key[0] == alarm.name and (state := _state({part for part, _, _ in holding})) is not None:
                found[key] = _described(plan, state, holding)
        leads = [plan.leads[plan.outputs[each]] for each in snapshot["outlet"]["held"] if each.split()[0] == alarm.name]
        known = frontier if frontier in (NEG, POS) else min(frontier, frontier + min(leads))
        for row, lo, hi in stored(snapshot, alarm.name) if present is not None else ():
            if known < lo <= present <= hi and (alarm.name, row) not in found:
                found[alarm.name, row] = {"state": "unacknowledged", "begins": lo}
    declared = {alarm.name: alarm for alarm in plan.alarms}
    for (name, row), item in found.items():
        alarm = declared[name]
        own = {"id": alarm_id(name, row), "text": alarm_text(alarm, row), "priority": alarm.declared.priority}
        item |= {"alarm": name, "args": row, **own}
    causes = {key: nearest(found, parts.get(key, [])) for key in found}
    for key, item in found.items():
        item["cause"] = None if first(causes, key) == key else found[first(causes, key)]["id"]
        item["folded"] = sum(first(causes, other) == key for other in found) - 1 if causes[key] is None else 0
    return [OpenAlarm(plan.timeline, **item) for item in sorted(found.values(), key=rank)]


def _state(parts: set[str]) -> str | None:
    if "removed" in parts:
        return "out_of_service"
    for part in ("shelved", "suppressed"):
        if part in parts:
            return part
    if "active" in parts:
        return "acknowledged" if "acknowledged" in parts else "unacknowledged"
    return "returned_unacknowledged" if "returned" in parts else None


def _described(plan: Plan, state: str, parts: Sequence[tuple[str, tuple[Any, ...], int]]) -> dict[str, Any]:
    def begin(*names: str) -> int | None:
        return min((lo for part, _, lo in parts if part in names), default=None)

    def deeds(name: str) -> tuple[Deed, ...]:
        done = [(lo, *map(str, told[:3])) for part, told, lo in parts if part == name]
        return tuple(Deed(who, comment, via, lo) for lo, who, comment, via in sorted(done))

    back = begin("returned")
    ends = [plan.timeline.encode_point(Fraction(told[-1])) for part, told, _ in parts if part == "shelved"]
    return {
        "state": state,
        "begins": begin("raised", "active") if begin("") is None else begin(""),
        "ends": back if back is None or not (plan.timeline.is_integer or back % 2) else back - 1,
        "acknowledged": deeds("acknowledged"),
        "shelved": deeds("shelved"),
        "removed": deeds("removed"),
        "shelved_until": max(ends, default=None),
        "is_suppressed": begin("suppressed") is not None,
    }


def rank(item: dict[str, Any]) -> tuple[Any, ...]:
    """What is shown first, then by priority, what is not acknowledged, what began last, and the text."""
    begin = -POS if item["begins"] is None else item["begins"]
    order = item["state"] in HIDDEN, PRIORITIES.index(item["priority"]), item["state"] == "acknowledged"
    return *order, -begin, item["text"], item["id"]


def nearest(found: dict[Key, dict[str, Any]], parts: Iterable[tuple[str, tuple[Any, ...], int]]) -> Key | None:
    """The most urgent of the causes that are open."""
    causes = [(part.split()[-1], told) for part, told, _ in parts if part.startswith(("folded into ", "after "))]
    return min((cause for cause in causes if cause in found), key=lambda cause: rank(found[cause]), default=None)


def first(causes: dict[Key, Key | None], key: Key) -> Key:
    """The last one along the causes."""
    cause = causes[key]
    return key if cause is None else first(causes, cause)


def with_actions(items: Iterable[OpenAlarm], entries: Iterable[Entry], frontier: int) -> list[OpenAlarm]:
    """The list once the stream has come to what was done behind its frontier, if nothing else happens until then."""
    names = OpenAlarm.__struct_fields__
    found = {(item.alarm, item.args): {name: getattr(item, name) for name in names} for item in items}
    for entry in sorted((entry for entry in entries if entry.at > frontier), key=lambda entry: entry.at):
        item = found.get((entry.alarm, entry.args))
        if item is not None and not _done(item, entry):
            del found[entry.alarm, entry.args]
    return [OpenAlarm(**item) for item in found.values()]


def _done(item: dict[str, Any], entry: Entry) -> bool:
    """Change an alarm as an action will; False where it is normal then."""
    deed = (Deed(entry.who, entry.comment, entry.via, entry.at),)
    if entry.kind == "acknowledge":
        if item["state"] in ("unacknowledged", "acknowledged"):
            item |= {"state": "acknowledged", "acknowledged": item["acknowledged"] + deed}
        return item["state"] != "returned_unacknowledged"
    if entry.kind == "shelve":
        until = max(entry.until or NEG, NEG if item["shelved_until"] is None else item["shelved_until"])
        item |= {"shelved": item["shelved"] + deed, "shelved_until": until}
    elif entry.kind == "unshelve":
        item |= {"shelved": (), "shelved_until": None}
    elif entry.kind == "remove":
        item |= {"removed": item["removed"] + deed}
    elif entry.kind == "restore":
        item |= {"removed": ()}
    else:
        return True
    hides = {"out_of_service": item["removed"], "shelved": item["shelved"], "suppressed": item["is_suppressed"]}
    hidden = [state for state in HIDDEN if hides[state]]
    if hidden:
        item["state"] = hidden[0]
    elif item["state"] in HIDDEN:
        item |= {"state": "unacknowledged", "acknowledged": ()}
        return item["begins"] is not None and item["ends"] is None
    return True
