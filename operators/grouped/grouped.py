"""What operators share that tell, for each group of rows, an answer that goes on until something changes it.

Such an answer depends on what does not come, so it is known as far as the frontier alone. A group is looked at when one of
its facts begins, or when what it told ends; all others cost nothing. An answer that goes on **stands**: it is told
where it begins and where it ends, by notices (`operators/stores/notices.py`).

There may be very many groups, and each of them changes seldom. So what is known of a group lies in one object, with as few
containers as can be: garbage collection goes through all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, Generic, TypeVar

from tidelog.operators.operator import Operator
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import POS

MOST_RANGES = 1_000_000
"""More ranges from one message are refused: an answer that changes at each tick of so long a time is no use to anyone."""


class Failures:
    """How many values could not be computed, for all groups of an operator together."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Group(ABC):
    """The facts of one group, as far as they matter, and the answer that it has.

    `fresh` is the earliest time about which something may be told because of facts that have come since the group was
    looked at, `planned` when it is to be looked at by the operator's agenda; `POS` where there is none.
    """

    __slots__ = ("fresh", "key", "planned")

    def __init__(self, key: Row) -> None:
        self.key = key
        self.fresh = self.planned = POS

    @abstractmethod
    def look(self, known: int, until: int, out: list[Fact], notices: Notices) -> None:
        """Take in all that happens up to `known`; tell answers that have ended, and by notices those that go on.

        `until` is how far answers follow from that. At the stream's end, `POS`, all is told.
        """

    @abstractmethod
    def standing_rows(self) -> list[tuple[Row, int]]:
        """What it has told to stand, and since when."""

    @abstractmethod
    def following(self, known: int) -> int:
        """The earliest time beyond `known` at which something happens though nothing new comes; `POS` if nothing does."""

    @abstractmethod
    def is_empty(self, known: int) -> bool:
        """Whether nothing of it matters any more."""

    @abstractmethod
    def entries(self) -> int:
        """How many ranges are stored."""

    @abstractmethod
    def state(self) -> list[Any]:
        """All of it as plain data."""

    @abstractmethod
    def load(self, state: list[Any]) -> None:
        """Take over what `state` gave, into a group without facts."""


G = TypeVar("G", bound=Group)


class Grouped(Operator, Generic[G]):
    """The groups of one operator by key, and when each is to be looked at next."""

    __slots__ = ("_agenda", "_count", "_earliest", "_fresh", "_key", "groups")

    def __init__(self, key: Callable[[Row], Row]) -> None:
        super().__init__(1)
        self._key = key
        self.groups: dict[Row, G] = {}
        self._fresh: list[G] = []  # groups to which facts have come since the last frontier
        self._earliest = POS  # of what they may tell
        self._agenda: list[tuple[int, int, Row]] = []  # when groups are to be looked at; what they do not plan is void
        self._count = 0  # keys need not be comparable

    @abstractmethod
    def make(self, key: Row) -> G:
        """A group without facts."""

    def reach(self, known: int) -> int:
        """Up to when answers follow from what is known up to a frontier."""
        return known

    def note(self, group: G, time: int) -> None:
        """A fact of a group has come, about which something may be told at `time`."""
        if group.fresh >= POS:
            self._fresh.append(group)
        if time < group.fresh:
            group.fresh = time
            self._earliest = min(self._earliest, time)

    def _plan_for(self, group: G, time: int) -> None:
        """Look at a group when the frontier gets to `time`, or earlier; what is void does not pile up."""
        if time < group.planned:
            group.planned = time
            self._count += 1
            heappush(self._agenda, (time, self._count, group.key))
            if len(self._agenda) > 2 * len(self.groups) + LIMITS.spare:
                self._tidy()

    def _tidy(self) -> None:
        planned = [group for group in self.groups.values() if group.planned < POS]
        self._agenda[:] = [(group.planned, self._count + i, group.key) for i, group in enumerate(planned, 1)]
        heapify(self._agenda)
        self._count += len(planned)

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
        fresh, self._fresh, self._earliest = self._fresh, [], POS
        for group in fresh:
            time, group.fresh = group.fresh, POS
            if time > known:
                self._plan_for(group, time)
                continue
            if group.planned <= known:
                group.planned = POS
            self._look_at(group, known, until, out)
        agenda = self._agenda
        while agenda and agenda[0][0] <= known:
            time, _, key = heappop(agenda)
            due = self.groups.get(key)
            if due is not None and due.planned == time:
                due.planned = POS
                self._look_at(due, known, until, out)
        if known >= POS:
            for group in list(self.groups.values()):
                self._look_at(group, known, until, out)
        self.frontier = until
        return out

    def _look_at(self, group: G, known: int, until: int, out: list[Fact]) -> None:
        group.look(known, until, out, self.notices)
        if len(out) > self.room.rows:
            raise NoRoomError(len(out))
        following = group.following(known)
        if following < POS:
            if following < group.planned:
                self._plan_for(group, following)
        elif group.is_empty(known):
            self.groups.pop(group.key, None)

    def deadline(self) -> tuple[int, int] | None:
        """The port, and its least frontier at which there is something to tell though nothing new comes; None if none.

        At the stream's end, `POS`, all that stands is told in any case.
        """
        known = self.frontiers[0]
        if known >= POS:
            return None
        agenda, due = self._agenda, self._earliest
        while agenda and ((group := self.groups.get(agenda[0][2])) is None or group.planned != agenda[0][0]):
            heappop(agenda)
        if agenda and agenda[0][0] < due:
            due = agenda[0][0]
        if self.pieces is not None and self.pieces.standing:
            due = min(due, max(known, self.frontier) + 1)
        return (0, max(known + 1, due)) if due < POS else None

    def standing_rows(self) -> list[tuple[Row, int]]:
        return [item for group in self.groups.values() for item in group.standing_rows()]

    def entries(self) -> int:
        return sum(group.entries() for group in self.groups.values())

    def state(self) -> dict[str, Any]:
        return {"groups": [[list(key), *group.state()] for key, group in self.groups.items()]}

    def load(self, state: dict[str, Any]) -> None:
        self.groups = {}
        for key, *rest in state["groups"]:
            self.group(tuple(key)).load(rest)
        self._fresh, self._earliest, self._agenda, self._count = [], POS, [], 0
        for group in self.groups.values():
            self._plan_for(group, group.following(self.frontiers[0]))
