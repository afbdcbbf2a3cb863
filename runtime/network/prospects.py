"""Prospects at work: predicates seen to be absent put operators to sleep, and gates keep from them what is of no use.

The plan tells who may sleep and where the gates stand (`plans/analysis/physical/prospects.py`); here is what happened so
far. The intake's deliveries tell when a predicate is absent: behind the frontier, where nothing can come any more. A gate
holds back whole messages, unread; it changes when an operator learns of a fact, and whether it ever does, but never an
answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from tidelog.plans.analysis.physical.prospects import STRANGERS
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.guards import Guard, Port, Prospects, Sleeper
from tidelog.runtime.intake.intake import Delivery
from tidelog.runtime.network.row_prospects import RowGate, RowSleep, Seen

MOST_WAITING = 100_000
"""How many facts wait at one gate; beyond that, all are let through, which is always right."""

_BEGIN, _END = itemgetter(1), itemgetter(2)
_SLEEP = ("asleep", "begin", "since", "absent", "reached", "latest", "slept")


class Sleep:
    """Whether one sleeper sleeps: its predicate was absent, first at `begin`, last at `absent`, with no whole run since.

    A delivery without the predicate is not told to it: `catch_up` looks how far the stream has come meanwhile.
    """

    __slots__ = ("_seen", "absent", "asleep", "begin", "latest", "reached", "since", "sleeper", "slept")

    def __init__(self, sleeper: Sleeper, seen: Seen) -> None:
        self._seen = seen
        self.sleeper = sleeper
        self.asleep = False
        self.begin = self.since = self.absent = self.latest = self.reached = NEG
        self.slept = 0

    def catch_up(self) -> None:
        """Nothing of the predicate has come behind `latest`, as far as the stream is known."""
        known = self._seen.frontier
        if known > self.latest:
            self._miss(known)

    def is_asleep(self) -> bool:
        """Whether it sleeps, by all that is known."""
        known = self._seen.frontier
        if known > self.latest:
            self._miss(known)
        return self.asleep

    def observe(self, delivery: Delivery, last: int) -> bool:
        """Take note of a delivery with the predicate, which holds until `last`; was the sleeper, or is it now, awake?"""
        begin = delivery.points[0] if delivery.points else NEG  # no later than the first of these facts
        known = delivery.frontier
        before = known if known < begin else begin - 1
        if before > self.latest:
            self._miss(before)
        self.latest = max(self.latest, last)
        if self.asleep and self.latest > self.absent + self.sleeper.shortest:
            self.asleep = False
            self.slept += self.absent + self.sleeper.shortest + 1 - self.since
        was_awake = not self.asleep
        if known > self.latest:
            self._miss(known)
        return was_awake

    def _miss(self, known: int) -> None:
        """All is known up to a time: if that lies behind the last presence, the predicate is absent there."""
        begin = self.latest + 1
        if self.sleeper.clipped:
            start = self._seen.start
            if start is None or known < start:
                return
            begin = max(begin, start)
        if not self.asleep:
            self.asleep, self.begin = True, begin
            self.since = begin if begin > NEG else known
        self.absent = known
        if known < POS:
            self.reached = known

    def asleep_now(self) -> int:
        """How long a sleep that has not ended has lasted."""
        self.catch_up()
        return max(0, self.reached - self.since + 1) if self.asleep and self.since > NEG else 0

    def snapshot(self) -> list[Any]:
        self.catch_up()
        return [getattr(self, name) for name in _SLEEP]

    def restore(self, data: Sequence[Any]) -> None:
        for name, value in zip(_SLEEP, data, strict=True):
            setattr(self, name, value)


class Gate:
    """Stands before a port: while its guard holds, messages wait here, and are dropped when they can be of no use any more.

    What waits holds back the frontier behind it. `dropped` counts the facts that no operator has seen. One that `gives_way`
    lets all go on.
    """

    __slots__ = ("_groups", "_held", "_least", "_waiting", "count", "dropped", "gives_way", "rows")

    def __init__(self, guard: Guard, sleeps: dict[str, Sleep], rows: RowGate | None = None) -> None:
        self.rows = rows
        self._groups = [
            [(None if item.sleeper is None else sleeps[item.sleeper], item.low, item.high) for item in group]
            for group in guard
        ]
        self._waiting: deque[tuple[int, int, Sequence[Fact]]] = deque()
        self._held, self._least = NEG, POS
        self.count = self.dropped = 0
        self.gives_way = False

    def give_way(self, *, gives_way: bool) -> None:
        """Let all go on from now on, or not any more."""
        self.gives_way = gives_way
        if self.rows is not None:
            self.rows.gives_way = gives_way

    def take(self, facts: Sequence[Fact], frontier: int) -> tuple[Sequence[Fact], int]:
        """What of a message, and of those before it, goes on to the operator: facts, and the frontier behind them."""
        self._held = max(self._held, frontier)
        facts, frontier = self._take(facts)
        return (facts, frontier) if self.rows is None else self.rows.take(facts, frontier)

    def _take(self, facts: Sequence[Fact]) -> tuple[Sequence[Fact], int]:
        useless = None if self.gives_way else self.useless()
        if useless is None or self._least < useless[0]:
            return self._release(facts) if self._waiting else (facts, self._held)
        low, high = useless
        self._drop(high)
        if facts:
            least, end = min(map(_BEGIN, facts)), max(map(_END, facts))
            if least < low:
                return facts, min(self._held, self._least - 1)
            self._keep(least, end, facts, high)
            if self.count > MOST_WAITING:
                return self._release(())
        return (), min(self._held, self._least - 1)

    @property
    def awaits_frontier(self) -> bool:
        """Whether something waits here that the next frontier decides."""
        return self.rows is not None and self.rows.awaits_frontier

    def is_open(self) -> bool:
        """Whether facts that wait here have to go on."""
        useless = self.useless()
        return useless is None or self._least < useless[0]

    def useless(self) -> tuple[int, int] | None:
        """Facts that begin in this range are of no use now; those that lie in it, never."""
        low, high = NEG, POS
        for group in self._groups:
            found = None
            for sleep, above, below in group:
                if sleep is None:
                    candidate = (above, below)
                elif sleep.is_asleep():
                    candidate = (_moved(sleep.begin, above), _moved(sleep.absent, below))
                else:
                    continue
                if found is None or candidate[1] > found[1]:
                    found = candidate
            if found is None:
                return None
            low, high = max(low, found[0]), min(high, found[1])
        return low, high

    def _keep(self, least: int, end: int, facts: Sequence[Fact], high: int) -> None:
        if end <= high:
            self.dropped += len(facts)
            return
        self._waiting.append((least, end, facts))
        self.count += len(facts)
        self._least = min(self._least, least)

    def _drop(self, high: int) -> None:
        waiting = self._waiting
        if not waiting or waiting[0][1] > high:
            return
        while waiting and waiting[0][1] <= high:
            facts = waiting.popleft()[2]
            self.count -= len(facts)
            self.dropped += len(facts)
        self._least = min((least for least, _, _ in waiting), default=POS)

    def _release(self, facts: Sequence[Fact]) -> tuple[Sequence[Fact], int]:
        facts = [fact for _, _, message in self._waiting for fact in message] + list(facts)
        self._waiting.clear()
        self.count, self._least = 0, POS
        return facts, self._held

    def snapshot(self) -> dict[str, Any]:
        waiting = [[least, end, [[list(row), lo, hi] for row, lo, hi in facts]] for least, end, facts in self._waiting]
        rows = None if self.rows is None else self.rows.snapshot()
        return {"waiting": waiting, "held": self._held, "dropped": self.dropped, "rows": rows}

    def restore(self, data: dict[str, Any]) -> None:
        self._waiting = deque(
            (least, end, [(tuple(row), lo, hi) for row, lo, hi in facts]) for least, end, facts in data["waiting"]
        )
        self._held, self.dropped = data["held"], data["dropped"]
        self._least = min((least for least, _, _ in self._waiting), default=POS)
        self.count = sum(len(facts) for _, _, facts in self._waiting)
        if self.rows is not None:
            self.rows.restore(data["rows"])


def _moved(time: int, distance: int) -> int:
    return time if time <= NEG or time >= POS else time + distance


class Watch:
    """The sleeps and the gates of one graph."""

    def __init__(self, prospects: Prospects) -> None:
        self._seen = seen = Seen()
        self._sleeps = {sleeper.step: Sleep(sleeper, seen) for sleeper in prospects.sleepers}
        asked = {blocker.sleeper for blocker in prospects.rows.values()}
        self._rows = {sleeper.step: RowSleep(sleeper, seen) for sleeper in prospects.sleepers if sleeper.step in asked}
        rows = {port: RowGate(blocker, self._rows[blocker.sleeper]) for port, blocker in prospects.rows.items()}
        self.gates: dict[Port, Gate] = {
            port: Gate(guard, self._sleeps, rows.get(port)) for port, guard in prospects.gates.items()
        }
        self._sleepers_of: dict[str, list[str]] = {}
        for sleeper in prospects.sleepers:
            for name in sleeper.predicates:
                self._sleepers_of.setdefault(name, []).append(sleeper.step)
        self._gates_of: dict[str, list[Port]] = {}
        for port, guard in prospects.gates.items():
            for name in dict.fromkeys(item.sleeper for group in guard for item in group if item.sleeper is not None):
                self._gates_of.setdefault(name, []).append(port)

    def observe(self, delivery: Delivery) -> list[Port]:
        """Take note of a delivery; returns the ports at which what waited has to go on."""
        seen, sleeps = self._seen, self._sleeps
        if delivery.start is not None:
            seen.start = delivery.start
        last: dict[str, int] = {}
        for name, facts in delivery.facts.items():
            sleepers = self._sleepers_of.get(name)
            if sleepers is not None:
                end = facts[0][2] if len(facts) == 1 else max(map(_END, facts))
                for sleeper in sleepers:
                    sleeps[sleeper].catch_up()
                    last[sleeper] = max(end, last.get(sleeper, NEG))
        seen.frontier = delivery.frontier
        if delivery.points:
            seen.now = max(seen.now, delivery.points[-1])
        return self._tell(delivery, last) if last else []

    def _tell(self, delivery: Delivery, last: Mapping[str, int]) -> list[Port]:
        """Tell sleepers until when their predicates hold; returns the ports at which what waited has to go on."""
        woke = [sleeper for sleeper, end in last.items() if self._sleeps[sleeper].observe(delivery, end)]
        for sleeper in last if self._rows else ():
            rows = self._rows.get(sleeper)
            if rows is not None:
                rows.observe(delivery.facts[rows.predicate], self._sleeps[sleeper].latest)
        ports = dict.fromkeys([port for sleeper in woke for port in self._gates_of.get(sleeper, ())])
        return [port for port in ports if self.gates[port].count and self.gates[port].is_open()]

    def let_by(self, frontier: int, now: int, start: int | None, until: Mapping[str, int]) -> None:
        """Facts have gone by unseen, the last of them at `now`; `until` is when each predicate was there last."""
        seen = self._seen
        seen.frontier, seen.now, seen.start = frontier, now, start
        for name, sleep in self._sleeps.items():
            sleep.latest = max([until.get(predicate, NEG) for predicate in sleep.sleeper.predicates], default=NEG)
            if name in self._rows:
                self._rows[name].pruned = sleep.latest

    def slept(self) -> dict[str, int]:
        """For each step that can sleep, how long it has slept (encoded)."""
        return {name: sleep.slept + sleep.asleep_now() for name, sleep in self._sleeps.items() if name != STRANGERS}

    def dropped(self) -> dict[str, int]:
        """For each step with a gate, how many facts it was spared."""
        found: dict[str, int] = {}
        for (name, _), gate in self.gates.items():
            found[name] = found.get(name, 0) + gate.dropped + (0 if gate.rows is None else gate.rows.spared())
        return found

    def snapshot(self) -> dict[str, Any]:
        """What is asleep and what waits, as plain data."""
        gates = [[name, port, gate.snapshot()] for (name, port), gate in self.gates.items()]
        rows = {name: sleep.snapshot() for name, sleep in self._rows.items()}
        return {
            "sleeps": {name: sleep.snapshot() for name, sleep in self._sleeps.items()},
            "rows": rows,
            "gates": gates,
            "seen": [self._seen.frontier, self._seen.now, self._seen.start],
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self._seen.frontier, self._seen.now, self._seen.start = data["seen"]
        for name, state in data["sleeps"].items():
            self._sleeps[name].restore(state)
        for name, state in data["rows"].items():
            self._rows[name].restore(state)
        for name, port, state in data["gates"]:
            self.gates[name, port].restore(state)
