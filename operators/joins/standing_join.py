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
from tidelog.operators.stores.coverage import Bounds, Coverage, merge
from tidelog.operators.stores.room import NoRoomError
from tidelog.operators.stores.time_index import Crowd, Piece, TimeIndex
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import JoinShape


class StandingJoin(Meeting):
    """`M' ← M1 ∧ … ∧ Mn ∧ comparisons`, where its ports take notices, and it tells what follows by notices, too.

    Intervals: those of `Join`, as far as all ports are known, which is as far as what stands holds. A row of the head
    begins to stand when the last of the rows that give it has begun, and ends when one of them has ended. A fact that passes
    is looked up once, with all that has held meanwhile. They meet by the code of `Join`. What facts give beyond what is
    known is told at once, too, by a `Join` of their own, which gets nothing while one port has no facts there. State,
    beyond that of `Meeting`: hash indexes over the rows that hold now, and the `Join`. Final: as far as all ports.
    """

    __slots__ = (
        "_computes",
        "_facts_alone",
        "_failed",
        "_fed",
        "_groups",
        "_is_plain",
        "_later",
        "_looked_up",
        "_most_later",
        "_pattern",
        "_probe",
    )

    def __init__(self, shape: JoinShape, slowest: int) -> None:
        super().__init__(len(shape.atoms), slowest)
        self._failed = [0]
        self._facts_alone = Join(shape)
        self._later: list[list[Fact]] = [[] for _ in shape.atoms]  # facts beyond, until all ports have some
        self._most_later = LIMITS.spare
        self._fed: list[tuple[int, Sequence[Fact]]] = []  # what has come since the frontiers were told, which is to follow
        code = write_join(shape)
        self._computes = bool(shape.comparisons)  # so that it may fail, which is counted, whatever holds
        self._is_plain = code.distinct and all(code.whole)  # whether each row of the head comes of one choice of rows
        self._looked_up = code.looked_up
        groups: list[dict[str, dict[Hashable, _Group]]] = [{name: {} for name in names} for names in code.indexes]
        self._groups = [
            [(positions, _key_of(positions), groups[port][name]) for name, positions in names.items()]
            for port, names in enumerate(code.indexes)
        ]
        scope = definitions(code, self.holding, groups)
        ports = range(len(shape.atoms))
        self._pattern: list[Callable[[Sequence[Fact]], list[Fact]] | None] = [scope.pop(f"pattern_{i}") for i in ports]
        self._probe: list[Callable[..., None]] = [scope.pop(f"probe_{i}") for i in ports]

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        pattern = self._pattern[port]
        self.take_facts(port, facts if pattern is None else pattern(facts))
        if self.is_followed:
            self._fed.append((port, facts))
            return []
        return self._look_ahead(port, facts)

    def advance(self, frontiers: Sequence[int]) -> list[Fact]:
        out = super().advance(frontiers)
        fed, self._fed = self._fed, []
        for port, facts in fed:
            ahead = self._look_ahead(port, facts)
            self.sent += len(ahead)
            out += ahead
        return out

    def _look_ahead(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        """What follows from facts alone beyond what is known; nothing does, and they wait, while a port has none there."""
        facts_alone, later, known = self._facts_alone, self._later, self._known
        beyond = self.beyond(facts)
        if not beyond:
            return []
        later[port] += beyond
        if not all(waiting or facts_alone.latest(i) > known for i, waiting in enumerate(later)):
            if len(later[port]) > self._most_later:
                later[port] = behind(known, later[port])
                self._most_later = max(self._most_later, 2 * len(later[port]) + LIMITS.spare)
            return []
        facts_alone.room = self.room
        out: list[Fact] = []
        for i, waiting in enumerate(later):
            if waiting:
                out += facts_alone.feed(i, behind(known, waiting))
                waiting.clear()
        return self.tell_ahead(out)

    def settle(self, port: int) -> list[Fact]:
        facts_alone, known = self._facts_alone, self._known
        if any(facts_alone.latest(i) > known for i in range(len(self._later))):  # else it has nothing to let go of
            facts_alone.advance([min(self.frontiers)] * len(self.frontiers))  # what waits has not met it yet
        return self.untold(super().settle(port))

    def tidy(self) -> None:
        self._facts_alone.tidy()

    def let_pass(self, passing: Sequence[Sequence[Fact]], out: list[Fact]) -> None:
        if not self._computes and not all(map(any, zip(self.holding, self.ended, passing, strict=True))):
            return  # there is a port at which nothing has held
        met: list[Fact] = []
        undo: list[_Undo] = []
        ports = sorted((port for port, facts in enumerate(passing) if facts), key=lambda port: len(passing[port]))
        try:
            for port, ended in enumerate(self.ended):
                self._enter_facts(port, ended, undo)
            for port in ports:
                self._probe[port](passing[port], POS, met, self._failed, self.room.rows, self)
                if port != ports[-1]:
                    self._enter_facts(port, passing[port], undo)
        finally:
            for store, key, entry in reversed(undo):
                if entry is None:
                    del store[key]
                else:
                    store[key] = entry
        out += met if self._is_plain else self._less_told(met, out)
        if len(out) > self.room.rows:
            raise NoRoomError(len(out))

    def _less_told(self, met: Sequence[Fact], out: Sequence[Fact]) -> list[Fact]:
        """What of some facts is told neither twice, nor by notices."""
        told = Coverage()
        told.insert(out)
        told.insert(self.notices.ranges())
        told.insert([(row, self._since[row], POS) for row, _, _ in met if row in self._since])
        return told.insert(met)

    def _enter_facts(self, port: int, facts: Sequence[Fact], undo: list[_Undo]) -> None:
        """Let facts be met, too, until that is undone."""
        if not facts:
            return
        if self._looked_up[port]:
            rows, entered = self.holding[port], dict[Row, Bounds]()
            for row, lo, hi in facts:
                if row not in entered:
                    undo.append((rows, row, rows.get(row)))
                    entered[row] = rows[row] = list(rows.get(row, ()))
                merge(entered[row], lo, hi, 1, row, [])
        for positions, _, groups in self._groups[port]:
            index = TimeIndex(positions)
            index.add(facts)
            for key, group in index.groups.items():
                standing = groups.get(key)
                undo.append((groups, key, standing))
                groups[key] = group if standing is None else _Both(standing, group)

    def entries(self) -> int:
        return super().entries() + self._facts_alone.entries() + sum(map(len, self._later))

    def narrow(self, port: int, fact: Fact) -> Row | None:
        pattern = self._pattern[port]
        if pattern is None:
            return fact[0]
        found = pattern([fact])
        return found[0][0] if found else None

    def begin(self, place: Place, held: dict[Row, bool]) -> None:
        for head in self._met(place, self._failed):
            self.gain(head, held)
        self.enter(place)

    def end(self, place: Place, held: dict[Row, bool]) -> None:
        self.leave(place)
        for head in self._met(place, [0]):
            self.lose(head, held)

    def enter(self, place: Place) -> None:
        super().enter(place)
        port, row = place
        for _, key_of, groups in self._groups[port]:
            members = groups.setdefault(key_of(row), _Members())
            if isinstance(members, _Members):
                members[row] = (row, self.holding[port][row][0], POS)

    def leave(self, place: Place) -> None:
        super().leave(place)
        port, row = place
        for _, key_of, groups in self._groups[port]:
            key = key_of(row)
            members = groups[key]
            if isinstance(members, _Members):
                del members[row]
                if not members:
                    del groups[key]

    def _met(self, place: Place, failed: list[int]) -> Iterator[Row]:
        """The rows of the head that a row gives with those that hold now, each as often as there are ways to it."""
        port, row = place
        found: list[Fact] = []
        self._probe[port]([(row, self.now, self.now)], POS, found, failed, self.room.rows, self)
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
            "beyond": self._facts_alone.snapshot(),
            "later": [[[list(row), lo, hi] for row, lo, hi in behind(self._known, waiting)] for waiting in self._later],
        }

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self._failed[0] = state["failed"]
        self._facts_alone.restore(state["beyond"])
        self._later = [[(tuple(row), lo, hi) for row, lo, hi in waiting] for waiting in state["later"]]


class _Members(dict[Row, Fact]):
    """The rows under one key that hold now, as generated code asks for them."""

    def near(self, lo: int, hi: int) -> list[Fact]:
        """All of them, each from when it holds."""
        return list(self.values())


class _Both:
    """The rows under one key that hold now, and facts, as generated code asks for them."""

    def __init__(self, standing: _Group, facts: _Group) -> None:
        self._parts = standing, facts

    def near(self, lo: int, hi: int) -> list[Piece]:
        """All that may meet `lo … hi`."""
        return [piece for part in self._parts for piece in (part if isinstance(part, tuple) else part.near(lo, hi))]


_Group = _Members | _Both | Crowd | tuple[Fact, ...]
_Undo = tuple[dict[Any, Any], Hashable, Any]
"""A store, a key there, and what is to be under it again; None if nothing is."""


def _key_of(positions: tuple[int, ...]) -> Callable[[Row], Hashable]:
    return itemgetter(*positions) if positions else lambda row: ()
