"""The form of a network's state: of its operators, loops, sleeps and gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidelog.plans.islands.island import Island
from tidelog.plans.plan.guards import Sleeper
from tidelog.plans.plan.plan import Loop, Plan
from tidelog.runtime.islands.forms import (
    COUNTED,
    EITHER,
    FIRST,
    GREATEST,
    LEAST,
    Agreed,
    Alike,
    Best,
    Each,
    Every,
    Fields,
    Form,
    Grouped,
    Perhaps,
    Place,
    Shares,
    rows_at,
)
from tidelog.runtime.islands.operator_forms import operator_form, reached_form, snapshot_form, sweeping_parts
from tidelog.runtime.islands.places import Places, by_member, column, places_of
from tidelog.runtime.network.deploy import build_group, build_open_loop
from tidelog.runtime.network.graph import Graph


def network_form(plan: Plan, island: Island) -> Form:
    """The form of `Network.snapshot`, where its joins share nothing (`unshared`).

    Raises SnapshotError where a step rests on the stream whose operator has no state of single keys.
    """
    graph = Graph(plan)
    places = {step.id: found for step in plan.steps if (found := places_of(plan, step, island)) is not None}
    operators: dict[str, Form] = {
        name: operator_form(type(operator), places[name]) if name in places else FIRST
        for name, operator in graph.operators.items()
    }
    loops = [_loop(plan, loop, places) if loop.members[0] in places else FIRST for loop in plan.loops]
    parts: dict[str, Form] = {
        "operators": Fields(operators),
        "loops": Each(loops),
        "prospects": _prospects(plan, places, island),
        "arrangements": Fields({}),
    }
    return Fields(
        {"graph": Fields(parts), "watermark": Agreed("the watermark"), "start": Agreed("whether the stream has started")}
    )


# --- loops ----------------------------------------------------------------------------------------------------------------


def _loop(plan: Plan, loop: Loop, places: Mapping[str, Places]) -> Form:
    common: dict[str, Form] = {
        "reached": Every(Agreed(f"how far all is known that feeds the loop of step {loop.members[0]}")),
        "present": GREATEST,
        "unfinished": EITHER,
    }
    if not loop.order:
        built = build_open_loop(plan, loop, 0)
        opened = FIRST if built is None else _open_loop(loop.members, loop.entries, places)
        return Fields({**common, "open": Perhaps(opened)})
    inboxes: list[Form] = []
    groups: list[Form] = []
    for members in loop.order:
        group = build_group(plan, members, None)
        entries = [(members[0], port) for port in range(len(plan.step(members[0]).inputs))]
        if group is not None:
            entries = sorted(group.ports, key=group.ports.__getitem__)
            groups.append(_open_loop(members, entries, places))
        inboxes.append(_Inbox([places[name].ports[port] for name, port in entries]))
    known = Agreed(f"how far the loop of step {loop.members[0]} has gone through time")
    return Fields({**common, "known": known, "inboxes": Each(inboxes), "groups": Each(groups)})


def _open_loop(members: Sequence[str], entries: Sequence[tuple[str, int]], places: Mapping[str, Places]) -> Form:
    """The form of what takes notices for a loop: its rows have the number of a member before them."""
    own = by_member([places[name].own for name in members])
    ports = [places[name].narrowed[port] for name, port in entries]
    reached = reached_form(places[members[0]])
    return snapshot_form(Fields({**sweeping_parts(members[0], ports, own, reached), "failed": COUNTED}), own, reached)


class _Inbox(Form):
    """The messages that wait inside a clocked loop: a port, facts, and perhaps rows that begin and that end."""

    __slots__ = ("_ports",)

    def __init__(self, ports: Sequence[Place]) -> None:
        self._ports = ports

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        found: list[list[Any]] = [[] for _ in range(shares.count)]
        for port, *parts in state:
            divided = [rows_at(self._ports[port]).divide(part, shares) for part in parts]
            for shard in range(shares.count):
                own = [part[shard] for part in divided]
                if any(own):
                    found[shard].append([port, *own])
        return found

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        found = []
        for shard, state in enumerate(states):
            for port, *parts in state:
                place = self._ports[port]
                if place is None:
                    found += [[port, *parts]] if shard == 0 else []
                    continue
                own = [[entry for entry in part if shares.owns(shard, place(entry[0]))] for part in parts]
                found += [[port, *own]] if any(own) else []
        return found


# --- sleeps and gates -----------------------------------------------------------------------------------------------------


def _prospects(plan: Plan, places: Mapping[str, Places], island: Island) -> Form:
    sleepers = {sleeper.step: sleeper for sleeper in plan.prospects.sleepers}
    asked = {blocker.sleeper for blocker in plan.prospects.rows.values()}
    rows = {name: _row_sleep(sleepers[name], island) for name in sleepers if name in asked}
    return Fields(
        {
            "sleeps": Fields({name: SleepForm(sleeper.shortest) for name, sleeper in sleepers.items()}),
            "rows": Fields(rows),
            "gates": _Gates([_gate(places.get(name), port) for name, port in plan.prospects.gates]),
            "seen": Each([Agreed("how far the stream is complete"), GREATEST, Agreed("when the stream starts")]),
        }
    )


def _row_sleep(sleeper: Sleeper, island: Island) -> Form:
    at = (island.key or {}).get(sleeper.predicates[0])
    place = None if at is None else column(at)
    return Fields({"latest": Best(place, max), "pruned": GREATEST})


def _gate(places: Places | None, port: int) -> Form:
    if places is None:
        return FIRST
    place = places.ports[port]
    alike = Alike(f"what waits before port {port} of step {places.step.id}, to which all shards get the same,")
    waiting = alike if place is None else Grouped(2, rows_at(place))
    waiting_rows = alike if place is None else rows_at(place)
    numbers = Each([LEAST, LEAST, LEAST, COUNTED, COUNTED, COUNTED])
    rows = Perhaps(Fields({"waiting": waiting_rows, "numbers": numbers}))
    return Fields({"waiting": waiting, "held": LEAST, "dropped": COUNTED, "rows": rows})


class _Gates(Form):
    """The gates, each behind the step and the port at which it is."""

    __slots__ = ("_forms",)

    def __init__(self, forms: Sequence[Form]) -> None:
        self._forms = forms

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        return Each([Each([FIRST, FIRST, form]) for form in self._forms]).divide(state, shares)

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        return Each([Each([FIRST, FIRST, form]) for form in self._forms]).unite(states, shares)


class SleepForm(Form):
    """Whether a sleeper sleeps (`Sleep.snapshot`): all together do where each of them does, as long as that is of use.

    A run of its predicate is one of a row, which belongs to one shard. So where no shard has had a whole run, there was
    none; it was absent at the times at which it was absent in all. One that is awake falls asleep by itself, when it is
    known that its predicate is not there.
    """

    __slots__ = ("_shortest",)

    def __init__(self, shortest: int) -> None:
        self._shortest = shortest

    def divide(self, state: Any, shares: Shares) -> list[Any]:
        *told, slept = state
        return [[*told, slept if shard == 0 else 0] for shard in range(shares.count)]

    def unite(self, states: Sequence[Any], shares: Shares) -> Any:
        asleep, begins, since, absent, reached, latest, slept = zip(*states, strict=True)
        begin, until, last = max(begins), min(absent), max(latest)
        is_asleep = all(asleep) and begin <= until and last <= until + self._shortest
        return [is_asleep, begin, max(since), until, max(reached), last, sum(slept)]


def awake(last: int) -> list[Any]:
    """A sleeper of which nothing is known but that its predicate was there until a time at the latest."""
    return [False, last, last, last, last, last, 0]
