"""Events: facts of a single time point beside what goes on holding.

An **event** neither begins nor ends: once its time is reached, it meets what holds then by one look, and passes on as a
fact.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from tidelog.operators.standing.sweeping import Place, Sweeping
from tidelog.operators.stores.by_time import ByTime
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact


def _time(due: tuple[int, Fact]) -> int:
    """When an event is due that has come at a port."""
    return due[1][1]


class Meeting(Sweeping):
    """Going through time, with events that meet what holds. State, beyond that of `Sweeping`: events to come."""

    __slots__ = ("_events", "_fresh")

    def __init__(self, ports: int, slowest: int) -> None:
        super().__init__(ports, slowest)
        self._fresh: list[list[Fact]] = [[] for _ in range(ports)]  # events of the last messages, as they came
        self._events: list[ByTime[Fact]] = [ByTime() for _ in range(ports)]  # events that wait for their time

    @abstractmethod
    def meet(self, port: int, events: Sequence[Fact]) -> list[Fact]:
        """What follows from events at a port with all else that holds at their times."""

    @abstractmethod
    def enter(self, place: Place) -> None:
        """A row holds now, for others to meet it."""

    @abstractmethod
    def leave(self, place: Place) -> None:
        """A row that was entered does not hold any more."""

    def take_lasting(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        """Take the facts that hold at more than one time; returns the events."""
        events = [fact for fact in facts if fact[1] == fact[2]]
        if len(events) < len(facts):
            super().feed(port, [fact for fact in facts if fact[1] != fact[2]])
        return events

    def take_events(self, port: int, events: Sequence[Fact]) -> None:
        """Take facts of a single time point whose rows are narrowed: events, but for those of rows that change anyway."""
        spells = self._spells[port]
        if not spells:
            self._fresh[port] += events
            return
        fresh = self._fresh[port]
        whole: Sequence[Any] = events  # as in `Coverage.insert`
        for event in whole:
            taken: Fact = event
            row, time, _ = taken
            if row in spells:
                self._take((port, row), time, time)
            else:
                fresh.append(event)

    def go_through(self, known: int, out: list[Fact]) -> None:
        turns, due = self._turns, self._due(known)
        at = 0
        while at < len(due):
            super().go_through(due[at][1][1], out)
            end = bisect_left(due, turns[0][0], at, key=_time) if turns else len(due)
            self._meet_all(due[at:end], out)
            at = end
        super().go_through(known, out)

    def _due(self, known: int) -> list[tuple[int, Fact]]:
        """The events whose times have been reached, each with its port, in the order of time; all others wait."""
        before, due = self._known, list[tuple[int, Fact]]()
        for port, (fresh, waiting) in enumerate(zip(self._fresh, self._events, strict=True)):
            due += [(port, event) for event in waiting.reached(known)]
            due += [(port, event) for event in fresh if before < event[1] <= known]
            for event in fresh:
                if event[1] > known:
                    waiting.add(event[1], event)
            fresh.clear()
        due.sort(key=_time)
        return due

    def _meet_all(self, due: Sequence[tuple[int, Fact]], out: list[Fact]) -> None:
        """Tell what follows from events between two changes; those of one time meet each other, too."""
        ways, first = self.ways, due[0][0]
        if due[-1][0] == first and len({port for port, _ in due}) == 1:
            met = self.meet(first, [event for _, event in due])
            out += [fact for fact in met if fact[0] not in ways] if ways else met
        else:
            for _, group in groupby(due, _time):
                found: dict[Fact, None] = {}
                entered: dict[Place, None] = {}
                for port, event in group:
                    found.update(dict.fromkeys(self.meet(port, [event])))
                    place = port, event[0]
                    if place not in entered and event[0] not in self.holding[port]:
                        self.enter(place)
                        entered[place] = None
                for place in entered:
                    self.leave(place)
                out += [fact for fact in found if fact[0] not in ways]
        if len(out) > self.room.rows:
            raise NoRoomError(len(out))

    def _wait(self) -> None:
        """Let the events of the last messages wait for their times."""
        for fresh, waiting in zip(self._fresh, self._events, strict=True):
            for event in fresh:
                if event[1] > self._known:
                    waiting.add(event[1], event)
            fresh.clear()

    def deadline(self) -> tuple[int, int] | None:
        self._wait()
        due = [first for events in self._events if (first := events.first()) is not None]
        if self._turns:
            due.append(self._turns[0][0])
        return (self._slowest, min(due)) if due else None

    def entries(self) -> int:
        return super().entries() + sum(map(len, self._events)) + sum(map(len, self._fresh))

    def state(self) -> dict[str, Any]:
        self._wait()
        events = [
            [[list(row), time] for time, facts in waiting.in_order() for row, _, _ in facts] for waiting in self._events
        ]
        return {**super().state(), "events": events}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        for waiting, events in zip(self._events, state["events"], strict=True):
            for row, time in events:
                waiting.add(time, (tuple(row), time, time))
