"""Recursive rules in which time does not move, where what feeds them is told with notices."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from tidelog.operators.operator import behind
from tidelog.operators.standing.sweeping import Place, Sweeping
from tidelog.operators.stores.coverage import Bounds
from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row

_NOW: Bounds = []


class EndlessError(Exception):
    """Rules go on creating values: the member that made the last row, and that row."""

    def __init__(self, member: int, row: Row) -> None:
        self.member = member
        self.row = row
        super().__init__(member, row)


class OpenLoop(Sweeping):
    """The least model of a loop's rules over the rows that hold now, kept while these begin and end.

    Rule form: the steps of a loop. A row here is a member's number, and a row of that member. Intervals: those of the loop,
    as far as all that feeds it is known. `entries` are the ports `(member, port)` fed from outside, `inner[i]` those that
    member i feeds, `negative` the entries that are negated, and `told` the members of which is told outside.
    When a row begins, what follows is derived from it alone. When one ends, all that rests on it is let go, and
    what has other grounds is derived again (delete and rederive); each member counts in how many ways its rows follow.
    State, beyond that of `Sweeping`: the members' rows that hold now; a snapshot has what feeds them alone.
    Where it `creates` values, EndlessError is raised beyond so many rows; without, it is None. Final: as far as all ports.
    """

    __slots__ = (
        "_creates",
        "_doubtful",
        "_entries",
        "_failed",
        "_inner",
        "_made",
        "_members",
        "_negative",
        "_sources",
        "_told",
    )

    def __init__(
        self,
        members: Sequence[Sweeping],
        entries: Sequence[tuple[int, int]],
        inner: Sequence[Sequence[tuple[int, int]]],
        negative: Sequence[int],
        told: Sequence[int],
        slowest: int,
        creates: int | None = None,
    ) -> None:
        super().__init__(len(entries), slowest)
        self._members = members
        self._entries = entries
        self._inner = inner
        self._negative = frozenset(negative)
        self._told = frozenset(told)
        self._creates = creates
        self._failed = 0
        self._made = 0  # rows, at this moment
        self._sources: list[dict[Place, int]] = [{} for _ in members]  # how many rows stand behind a narrowed one
        self._doubtful: dict[Row, None] = {}  # let go, perhaps with other grounds

    # --- what comes in, and what is told ---------------------------------------------------------------------------------

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        for member in self._members:
            member.room = self.room
        return super().feed(port, facts)

    def hear(self, port: int, facts: Sequence[Fact], notices: Notices) -> list[Fact]:
        for member in self._members:
            member.room = self.room
        return super().hear(port, facts, notices)

    def settle(self, port: int) -> list[Fact]:
        return self.untold(super().settle(port))

    def narrow(self, port: int, fact: Fact) -> Row | None:
        member, at = self._entries[port]
        return self._members[member].narrow(at, fact)

    def ahead(self, member: int, facts: Sequence[Fact]) -> list[Fact]:
        """What of a member's facts, that follow from facts alone, is to be told at once."""
        named: list[Fact] = [((member, *row), lo, hi) for row, lo, hi in behind(self.frontier, list(facts))]
        return [(row[1:], lo, hi) for row, lo, hi in self.tell_ahead(named)]

    def by_member(self, facts: Sequence[Fact], notices: Notices | None) -> dict[int, tuple[list[Fact], Notices | None]]:
        """What it has sent, as facts and notices of each member."""
        told: dict[int, list[Fact]] = {}
        for named, lo, hi in facts:
            told.setdefault(_number_of(named), []).append((named[1:], lo, hi))
        heard: dict[int, Notices] = {}
        if notices is not None:
            for named, lo, hi in notices.ended:
                heard.setdefault(_number_of(named), Notices()).ended.append((named[1:], lo, hi))
            for named, lo in notices.begun.items():
                heard.setdefault(_number_of(named), Notices()).begin(named[1:], lo)
        return {member: (told.get(member, []), heard.get(member)) for member in {**told, **heard}}

    def standing_of(self, member: int) -> list[tuple[Row, int]]:
        """The rows of a member that it has told to stand, and since when."""
        return [(row[1:], since) for row, since in self.standing_rows() if row[0] == member]

    # --- what holds now -------------------------------------------------------------------------------------------------

    def begin(self, place: Place, held: dict[Row, bool]) -> None:
        port, row = place
        self.holding[port][row] = _NOW
        self._change(place, held, begins=True)

    def end(self, place: Place, held: dict[Row, bool]) -> None:
        port, row = place
        del self.holding[port][row]
        self._change(place, held, begins=False)

    def finish(self, held: dict[Row, bool]) -> None:
        doubtful, self._doubtful = self._doubtful, {}
        for row in doubtful:
            member = _number_of(row)
            if row not in self.ways and row[1:] in self._members[member].ways:
                waiting: deque[tuple[int, Place]] = deque()
                self._admit(row, held, waiting)
                self._run(waiting, held, grows=True)
        self._made = 0

    def _change(self, place: Place, held: dict[Row, bool], *, begins: bool) -> None:
        """An entry's row begins or ends: a negated one lets go what it speaks against, and its end gives it back."""
        port, row = place
        member, at = self._entries[port]
        grows = begins != (port in self._negative)
        found: dict[Row, bool] = {}
        if begins:
            self._members[member].begin((at, row), found)
        else:
            self._members[member].end((at, row), found)
        waiting: deque[tuple[int, Place]] = deque()
        self._reckon(member, found, held, waiting, grows=grows)
        self._run(waiting, held, grows=grows)

    def _run(self, waiting: deque[tuple[int, Place]], held: dict[Row, bool], *, grows: bool) -> None:
        """Follow what has changed until nothing changes any more; all of it begins, or all of it ends."""
        while waiting:
            member, place = waiting.popleft()
            found: dict[Row, bool] = {}
            if grows:
                self._members[member].begin(place, found)
            else:
                self._members[member].end(place, found)
            self._reckon(member, found, held, waiting, grows=grows)

    def _reckon(
        self, member: int, found: dict[Row, bool], held: dict[Row, bool], waiting: deque[tuple[int, Place]], *, grows: bool
    ) -> None:
        """Rows of a member follow in more ways, or in fewer."""
        for row in found:
            named = (member, *row)
            if grows and named not in self.ways:
                self._admit(named, held, waiting)
            elif not grows and named in self.ways:
                self._let_go(named, held, waiting)

    def _admit(self, named: Row, held: dict[Row, bool], waiting: deque[tuple[int, Place]]) -> None:
        member = _number_of(named)
        self.ways[named] = 1
        self._made += 1
        self._check(member, named)
        if member in self._told:
            held.setdefault(named, False)
        for reader, place in self._read(named):
            sources = self._sources[reader]
            sources[place] = sources.get(place, 0) + 1
            if sources[place] == 1:
                waiting.append((reader, place))

    def _let_go(self, named: Row, held: dict[Row, bool], waiting: deque[tuple[int, Place]]) -> None:
        del self.ways[named]
        self._doubtful[named] = None
        if _number_of(named) in self._told:
            held.setdefault(named, True)
        for reader, place in self._read(named):
            sources = self._sources[reader]
            sources[place] -= 1
            if not sources[place]:
                del sources[place]
                waiting.append((reader, place))

    def _read(self, named: Row) -> list[tuple[int, Place]]:
        """Who reads a member's row inside, and what each takes of it."""
        fact: Fact = (named[1:], 0, 0)
        found = []
        for reader, port in self._inner[_number_of(named)]:
            row = self._members[reader].narrow(port, fact)
            if row is not None:
                found.append((reader, (port, row)))
        return found

    def _check(self, member: int, named: Row) -> None:
        if self._creates is not None and max(self._made, len(self.ways)) > self._creates:
            raise EndlessError(member, named[1:])
        if self._made > self.room.rows:
            raise NoRoomError(self._made)

    # --- what is held ---------------------------------------------------------------------------------------------------

    def entries(self) -> int:
        return super().entries() + sum(len(rows) for member in self._members for rows in member.holding)

    def failed_evaluations(self) -> int:
        return self._failed + sum(member.failed_evaluations() for member in self._members)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "failed": self.failed_evaluations()}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self.finish({})
        self._failed = 0
        self._failed = state["failed"] - self.failed_evaluations()


def _number_of(named: Row) -> int:
    """The member of a row, which is put before it here."""
    return int(named[0])
