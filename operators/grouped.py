"""What operators share that tell, for each group of rows, an answer that goes on until something changes it.

Such an answer depends on what does not come, so it is known as far as the frontier alone. A group is looked at when one of
its facts begins, or when what it told ends; all others cost nothing. What goes on when a group has been looked at is
**open**: it is announced behind what has been told of it (`operators/open_rows.py`), until the group is looked at again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Generic, Protocol, TypeVar

from tidelog.operators.open_rows import OPEN, SHUT
from tidelog.operators.operator import Operator
from tidelog.operators.room import NoRoomError
from tidelog.plans.facts import Fact, Row
from tidelog.plans.timeline import NEG, POS

MOST_RANGES = 1_000_000
"""More ranges from one message are refused: an answer that changes at each tick of so long a time is no use to anyone."""


class Failures:
    """How many values could not be computed, for all groups of an operator together."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Group(Protocol):
    """The facts of one group, as far as they matter, and the answer that it has."""

    def advance(self, known: int, out: list[Fact]) -> None:
        """Take in all that happens up to `known`; tell answers that have ended by then."""

    def tell(self, until: int, out: list[Fact]) -> None:
        """Tell the answer that goes on, as far as `until`."""

    def following(self, known: int) -> int:
        """The earliest time beyond `known` at which something happens though nothing new comes; `POS` if nothing does."""

    def is_open(self, known: int) -> bool:
        """Whether it has an answer at `known` that may go on."""

    def is_empty(self, known: int) -> bool:
        """Whether nothing of it matters any more."""

    def entries(self) -> int:
        """How many ranges are stored."""

    def state(self) -> list[Any]:
        """All of it as plain data."""


G = TypeVar("G", bound=Group)


class Grouped(Operator, Generic[G]):
    """The groups of one operator by key, and when each is to be looked at next."""

    __slots__ = ("_agenda", "_count", "_fresh", "_key", "_next", "announced", "groups")

    def __init__(self, key: Callable[[Row], Row]) -> None:
        super().__init__(1)
        self._key = key
        self.groups: dict[Row, G] = {}
        self._fresh: dict[Row, int] = {}  # groups to which facts have come since the last frontier, and the first begin
        self._next: dict[Row, int] = {}  # when a group is to be looked at
        self._agenda: list[tuple[int, int, Row]] = []  # the same by time; what `_next` does not say any more is passed over
        self._count = 0  # keys need not be comparable
        self.announced: dict[Row, tuple[int, list[Row]]] = {}  # by group, since when which rows are open

    @abstractmethod
    def make(self, key: Row) -> G:
        """A group without facts."""

    @abstractmethod
    def revive(self, key: Row, state: list[Any]) -> G:
        """A group from its state."""

    def reach(self, known: int) -> int:
        """Up to when answers follow from what is known up to a frontier."""
        return known

    def note(self, key: Row, time: int) -> None:
        """A fact of a group has come, about which something may be told at `time`."""
        known = self._fresh.get(key)
        if known is None or time < known:
            self._fresh[key] = time

    def _plan_for(self, key: Row, time: int) -> None:
        """Look at a group when the frontier gets to `time`, or earlier."""
        known = self._next.get(key)
        if known is None or time < known:
            self._next[key] = time
            self._count += 1
            heappush(self._agenda, (time, self._count, key))

    def group(self, key: Row) -> G:
        """The group of a key, which is made if there is none."""
        found = self.groups.get(key)
        if found is None:
            found = self.groups[key] = self.make(key)
        return found

    def settle(self, port: int) -> list[Fact]:
        out: list[Fact] = []
        known = self.frontiers[0]
        until = self.reach(known)
        due = self._due(known)
        if known >= POS:
            due.update(dict.fromkeys(self.announced))
        for key in due:
            self._look_at(key, known, until, out)
        self.frontier = until
        return out

    def _due(self, known: int) -> dict[Row, None]:
        """The groups to which something happens up to a frontier."""
        agenda, planned = self._agenda, self._next
        found: dict[Row, None] = {}
        for key, time in self._fresh.items():
            if time <= known:
                found[key] = None
            else:
                self._plan_for(key, time)
        self._fresh.clear()
        while agenda and agenda[0][0] <= known:
            time, _, key = heappop(agenda)
            if planned.get(key) == time:
                del planned[key]
                found[key] = None
        return found

    def _look_at(self, key: Row, known: int, until: int, out: list[Fact]) -> None:
        group = self.groups[key]
        since, rows = self.announced.pop(key, (NEG, []))
        out += [(row, since, SHUT) for row in rows]
        told: list[Fact] = []
        group.advance(known, told)
        group.tell(until, told)
        out += told
        if len(out) > self.room.rows:
            raise NoRoomError(len(out))
        following = group.following(known)
        if following < POS:
            self._plan_for(key, following)
        if group.is_open(known):
            if told or since != until + 1:
                rows = [row for row, _, hi in told if hi == until]
            if rows and until < POS:
                self.announced[key] = (until + 1, rows)
                out += [(row, until + 1, OPEN) for row in rows]
        elif following >= POS and group.is_empty(known):
            del self.groups[key]
            self._next.pop(key, None)

    def deadline(self) -> tuple[int, int] | None:
        """The port, and its least frontier at which there is something to tell though nothing new comes; None if none.

        At the stream's end, `POS`, all that is open is told in any case.
        """
        known = self.frontiers[0]
        if known >= POS:
            return None
        for key, time in self._fresh.items():
            self._plan_for(key, time)
        self._fresh.clear()
        while self._agenda and self._next.get(self._agenda[0][2]) != self._agenda[0][0]:
            heappop(self._agenda)
        times = [max(known + 1, self._agenda[0][0])] if self._agenda else []
        if self.pieces is not None and self.pieces.open:
            times.append(max(known, self.frontier) + 1)
        return (0, min(times)) if times else None

    def announced_rows(self) -> list[tuple[Row, int]]:
        return [(row, since) for since, rows in self.announced.values() for row in rows]

    def entries(self) -> int:
        return sum(group.entries() for group in self.groups.values())

    def state(self) -> dict[str, Any]:
        return {
            "groups": [[list(key), *group.state()] for key, group in self.groups.items()],
            "announced": [[list(key), since, [list(row) for row in rows]] for key, (since, rows) in self.announced.items()],
        }

    def load(self, state: dict[str, Any]) -> None:
        self.groups = {tuple(key): self.revive(tuple(key), rest) for key, *rest in state["groups"]}
        self.announced = {tuple(key): (since, [tuple(row) for row in rows]) for key, since, rows in state["announced"]}
        self._fresh, self._next, self._agenda, self._count = {}, {}, [], 0
        for key, group in self.groups.items():
            following = group.following(self.frontiers[0])
            if following < POS:
                self._plan_for(key, following)
