"""Join where some of its atoms are told with announcements."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from tidelog.operators.joins.join import Join
from tidelog.operators.joins.join_code import write_join
from tidelog.operators.joins.join_scope import definitions
from tidelog.operators.standing.sweeping import Place, Sweeping
from tidelog.operators.stores.coverage import Bounds
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import JoinShape

_NOW: Bounds = [0, 0]
"""The times of a row that holds now, for code that is written for rows with times."""


class OpenJoin(Sweeping):
    """`M' ← M1 ∧ … ∧ Mn ∧ comparisons`, with announcements at its ports and in what it sends.

    Intervals: those of `Join`, as far as all ports are known, which is as far as what is announced holds. A row of the head
    is announced when the last of the rows that give it has begun, and taken back when one of them has ended. They meet by
    the code of `Join`. What facts give beyond that is told at once, too. State, beyond that of `Sweeping`: hash indexes over
    the rows that hold now, and a `Join` of what is beyond. Final: as far as all ports.
    """

    __slots__ = ("_beyond", "_failed", "_groups", "_pattern", "_probe")

    def __init__(self, shape: JoinShape, slowest: int) -> None:
        super().__init__(len(shape.atoms), slowest)
        self._failed = [0]
        self._beyond = Join(shape)
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
        super().feed(port, facts)
        beyond = self.beyond(facts)
        self._beyond.room = self.room
        return self.tell_ahead(self._beyond.feed(port, beyond)) if beyond else []

    def settle(self, port: int) -> list[Fact]:
        self._beyond.advance(self.frontiers)
        return self.untold(super().settle(port))

    def entries(self) -> int:
        return super().entries() + self._beyond.entries()

    def narrow(self, port: int, fact: Fact) -> Row | None:
        pattern = self._pattern[port]
        if pattern is None:
            return fact[0]
        found = pattern([fact])
        return found[0][0] if found else None

    def begin(self, place: Place, held: dict[Row, bool]) -> None:
        port, row = place
        for head in self._met(place, self._failed):
            self.gain(head, held)
        self.holding[port][row] = _NOW
        for key_of, groups in self._groups[port]:
            groups.setdefault(key_of(row), _Members())[row] = (row, 0, 0)

    def end(self, place: Place, held: dict[Row, bool]) -> None:
        port, row = place
        del self.holding[port][row]
        for key_of, groups in self._groups[port]:
            key = key_of(row)
            del groups[key][row]
            if not groups[key]:
                del groups[key]
        for head in self._met(place, [0]):
            self.lose(head, held)

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
        return {**super().state(), "failed": self._failed[0], "beyond": self._beyond.snapshot()}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self._failed[0] = state["failed"]
        self._beyond.restore(state["beyond"])


class _Members(dict[Row, Fact]):
    """The rows under one key, as generated code asks for them."""

    def near(self, lo: int, hi: int) -> list[Fact]:
        """All of them hold now."""
        return list(self.values())


def _key_of(positions: tuple[int, ...]) -> Callable[[Row], Hashable]:
    return itemgetter(*positions) if positions else lambda row: ()
