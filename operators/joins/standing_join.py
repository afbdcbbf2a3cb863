"""Join where rows of its atoms stand: it goes through time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from tidelog.operators.joins.join import Join
from tidelog.operators.joins.join_code import write_join
from tidelog.operators.joins.join_scope import definitions
from tidelog.operators.operator import behind
from tidelog.operators.standing.meeting import Meeting
from tidelog.operators.standing.sweeping import Place
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.coverage import Bounds
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import JoinShape

_NOW: Bounds = [NEG, POS]
"""The times of a row that holds now, for code that is written for rows with times."""


class StandingJoin(Meeting):
    """`M' ← M1 ∧ … ∧ Mn ∧ comparisons`, where its ports take notices, and it tells what follows by notices, too.

    Intervals: those of `Join`, as far as all ports are known, which is as far as what stands holds. A row of the head
    begins to stand when the last of the rows that give it has begun, and ends when one of them has ended. They meet by
    the code of `Join`; an event is looked up once, when its time is reached. What facts give beyond that is told at once,
    too. State, beyond that of `Meeting`: hash indexes over the rows that hold now, and a `Join` of what is beyond, which
    gets nothing while one port has no facts beyond. Final: as far as all ports.
    """

    __slots__ = ("_beyond", "_failed", "_groups", "_later", "_most_later", "_pattern", "_probe")

    def __init__(self, shape: JoinShape, slowest: int) -> None:
        super().__init__(len(shape.atoms), slowest)
        self._failed = [0]
        self._beyond = Join(shape)
        self._later: list[list[Fact]] = [[] for _ in shape.atoms]  # facts beyond, until all ports have some
        self._most_later = LIMITS.spare
        code = write_join(shape)
        groups: list[dict[str, dict[Hashable, _Members]]] = [{name: {} for name in names} for names in code.indexes]
        self._groups = [
            [(_key_of(positions), groups[port][name]) for name, positions in names.items()]
            for port, names in enumerate(code.indexes)
        ]
        scope = definitions(code, self.holding, groups)
        ports = range(len(shape.atoms))
        self._pattern: list[Callable[[Sequence[Fact]], list[Fact]] | None] = [scope.pop(f"pattern_{i}") for i in ports]
        self._probe: list[Callable[..., None]] = [scope.pop(f"probe_{i}") for i in ports]

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        pattern = self._pattern[port]
        events = self.take_lasting(port, facts)
        if events:
            self.take_events(port, events if pattern is None else pattern(events))
        beyond = self.beyond(facts)
        return self._tell_beyond(port, beyond) if beyond else []

    def _tell_beyond(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        """What follows from facts alone beyond what is known; nothing does, and they wait, while a port has none there."""
        beyond, later, known = self._beyond, self._later, self._known
        beyond.room = self.room
        later[port] += facts
        if not all(waiting or beyond.latest(i) > known for i, waiting in enumerate(later)):
            return []
        out: list[Fact] = []
        for i, waiting in enumerate(later):
            if waiting:
                out += beyond.feed(i, behind(known, waiting))
                waiting.clear()
        return self.tell_ahead(out)

    def settle(self, port: int) -> list[Fact]:
        self._beyond.advance(self.frontiers)
        out = self.untold(super().settle(port))
        if sum(map(len, self._later)) > self._most_later:
            self._later = [behind(self._known, waiting) for waiting in self._later]
            self._most_later = 2 * sum(map(len, self._later)) + LIMITS.spare
        return out

    def entries(self) -> int:
        return super().entries() + self._beyond.entries() + sum(map(len, self._later))

    def narrow(self, port: int, fact: Fact) -> Row | None:
        pattern = self._pattern[port]
        if pattern is None:
            return fact[0]
        found = pattern([fact])
        return found[0][0] if found else None

    def meet(self, port: int, events: Sequence[Fact]) -> list[Fact]:
        holding, found = self.holding[port], list[Fact]()
        if holding:
            events = [event for event in events if event[0] not in holding]
        self._probe[port](events, POS, found, self._failed, self.room.rows, self)
        return list(dict.fromkeys(found))

    def begin(self, place: Place, held: dict[Row, bool]) -> None:
        for head in self._met(place, self._failed):
            self.gain(head, held)
        self.enter(place)

    def end(self, place: Place, held: dict[Row, bool]) -> None:
        self.leave(place)
        for head in self._met(place, [0]):
            self.lose(head, held)

    def enter(self, place: Place) -> None:
        port, row = place
        self.holding[port][row] = _NOW
        for key_of, groups in self._groups[port]:
            groups.setdefault(key_of(row), _Members())[row] = (row, NEG, POS)

    def leave(self, place: Place) -> None:
        port, row = place
        del self.holding[port][row]
        for key_of, groups in self._groups[port]:
            key = key_of(row)
            del groups[key][row]
            if not groups[key]:
                del groups[key]

    def _met(self, place: Place, failed: list[int]) -> Iterator[Row]:
        """The rows of the head that a row gives with those that hold now, each as often as there are ways to it."""
        port, row = place
        found: list[Fact] = []
        self._probe[port]([(row, 0, 0)], POS, found, failed, self.room.rows, self)
        return (head for head, _, _ in found)

    def relieve(self, out: list[Fact]) -> None:
        """Called by the generated code when `out` is long."""
        if len(out) > self.room.rows:
            raise NoRoomError(len(out))

    def failed_evaluations(self) -> int:
        return self._failed[0]

    def state(self) -> dict[str, Any]:
        return {
            **super().state(),
            "failed": self._failed[0],
            "beyond": self._beyond.snapshot(),
            "later": [[[list(row), lo, hi] for row, lo, hi in behind(self._known, waiting)] for waiting in self._later],
        }

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self._failed[0] = state["failed"]
        self._beyond.restore(state["beyond"])
        self._later = [[(tuple(row), lo, hi) for row, lo, hi in waiting] for waiting in state["later"]]


class _Members(dict[Row, Fact]):
    """The rows under one key, as generated code asks for them."""

    def near(self, lo: int, hi: int) -> list[Fact]:
        """All of them hold now."""
        return list(self.values())


def _key_of(positions: tuple[int, ...]) -> Callable[[Row], Hashable]:
    return itemgetter(*positions) if positions else lambda row: ()
