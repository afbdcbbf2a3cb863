"""Going through time: what holds now meets what holds now, at each time at which that changes.

This is how operators with several ports take announcements (`operators/stores/open_rows.py`). At each time at which rows
begin or end to hold, these meet the rows of the other ports that hold then; in between, nothing is done about them. What
comes out is told as far as all ports are known: announced when it begins, taken back when it ends, each row in the order of
time.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import Any

from tidelog.operators.operator import Operator, behind
from tidelog.operators.stores.coverage import Bounds, Coverage, merge, overlapping
from tidelog.operators.stores.open_rows import OPEN, SHUT
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS

Place = tuple[int, Row]
"""A port, and a row there, narrowed to what matters of it."""


class Sweeping(Operator):
    """The ports' rows that hold now and those to come, and the rows that follow from those that hold now.

    State: for each row that holds or is to hold its ranges, and since when the rows that it stands for are open; when each
    is to be looked at; the rows that follow, since when, and in how many ways. `slowest` is the port that is
    known last.
    """

    __slots__ = (
        "_ahead",
        "_known",
        "_since",
        "_slowest",
        "_spells",
        "_turn",
        "_turns",
        "holding",
        "ways",
    )

    settles_by_port = False

    def __init__(self, ports: int, slowest: int) -> None:
        super().__init__(ports)
        self._slowest = slowest
        self._ahead = Coverage()  # what facts alone have given beyond the frontier
        self._known = NEG  # all up to here has been gone through
        self.holding: list[dict[Row, Bounds]] = [{} for _ in range(ports)]
        self._spells: list[dict[Row, _Spell]] = [{} for _ in range(ports)]
        self._turns: list[tuple[int, int, Place]] = []  # when a row may begin or end to hold
        self._turn = 0  # rows need not be comparable
        self.ways: dict[Row, int] = {}  # what follows now, and in how many ways
        self._since: dict[Row, int] = {}  # since when that is announced

    @abstractmethod
    def narrow(self, port: int, fact: Fact) -> Row | None:
        """What matters of a row at a port; None if it does not matter."""

    @abstractmethod
    def begin(self, place: Place, held: dict[Row, bool]) -> None:
        """A row begins to hold: enter it, and tell what it changes by `gain` and `lose`."""

    @abstractmethod
    def end(self, place: Place, held: dict[Row, bool]) -> None:
        """A row does not hold any more."""

    def finish(self, held: dict[Row, bool]) -> None:
        """All that begins and ends at one time has done so."""

    def gain(self, row: Row, held: dict[Row, bool]) -> None:
        """A row follows in one more way."""
        count = self.ways.get(row, 0)
        held.setdefault(row, count > 0)
        self.ways[row] = count + 1

    def lose(self, row: Row, held: dict[Row, bool]) -> None:
        """A row follows in one way less."""
        held.setdefault(row, True)
        self.ways[row] -= 1
        if not self.ways[row]:
            del self.ways[row]

    # --- what comes in --------------------------------------------------------------------------------------------------

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        for fact in facts:
            row = self.narrow(port, fact)
            if row is not None:
                source, lo, hi = fact
                self._take((port, row), source, lo, hi)
        return []

    def _take(self, place: Place, source: Row, lo: int, hi: int) -> None:
        port, row = place
        if lo <= self._known > NEG:
            lo = self._known + 1
        if lo > hi:
            return  # all of it has been gone through
        spell = self._spells[port].get(row)
        if spell is None:
            spell = self._spells[port][row] = _Spell([], {})
        if hi == OPEN:
            spell.opened[source] = lo
        elif hi == SHUT:
            spell.opened.pop(source, None)
            lo = self._known + 1
        else:
            begin, _ = merge(spell.bounds, lo, hi, 1, row, [])
            if begin < lo:
                return  # it lengthens a run, which is looked at when it begins, and when it was to end
        self._look_at(place, lo)

    def lengthen(self, port: int, until: int) -> None:
        """What holds at a port behind what has been gone through does so without a gap, up to `until`."""
        begin = self._known + 1
        for row, spell in list(self._spells[port].items()):
            bounds = spell.bounds
            if spell.opened:
                self._take((port, row), row, begin, until)
            elif (first := next(overlapping(bounds, begin, until), None)) is not None:
                self._take((port, row), row, max(bounds[first], begin), until)

    def run(self, row: Row, end: int) -> tuple[int, int] | None:
        """The run of a row at port 0 that an end of a fact lies in, with what has been gone through of it."""
        bounds = self._spells[0][row].bounds if row in self._spells[0] else []
        for i in overlapping(bounds, end, end):
            lo, hi = bounds[i], bounds[i + 1]
            return (self._since[row] if lo <= self._known + 1 and row in self._since else lo), hi
        return None

    def bounded(self) -> list[Fact]:
        """The runs at port 0 that facts alone have given."""
        return [
            (row, bounds[i], bounds[i + 1])
            for row, spell in self._spells[0].items()
            for bounds in (spell.bounds,)
            for i in range(0, len(bounds), 2)
        ]

    def beyond(self, facts: Sequence[Fact]) -> list[Fact]:
        """What goes beyond what has been gone through; but not of rows that are taken back, which is told in its turn."""
        shut = {row for row, _, hi in facts if hi == SHUT}
        if shut:
            facts = [fact for fact in facts if fact[0] not in shut]
        return behind(self._known, [fact for fact in facts if fact[2] <= POS])

    def tell_ahead(self, facts: list[Fact]) -> list[Fact]:
        """What follows at once from facts alone, less what has been told of it."""
        return self._ahead.insert(behind(self.frontier, facts)) if facts else facts

    def untold(self, out: list[Fact]) -> list[Fact]:
        """What comes of going through time, less what has been told ahead; but whole where something is taken back."""
        if self._ahead.rows:
            shut = {row for row, _, hi in out if hi == SHUT}
            told, out = out, []
            for fact in told:
                out += [fact] if fact[2] > POS or fact[0] in shut else self._ahead.insert([fact])
            self._ahead.forget(self.frontier)
        return out

    def _look_at(self, place: Place, time: int) -> None:
        self._turn += 1
        heappush(self._turns, (time, self._turn, place))

    # --- going through time ---------------------------------------------------------------------------------------------

    def settle(self, port: int) -> list[Fact]:
        known = self.reached()
        if known <= self._known:
            return []
        out: list[Fact] = []
        begun: dict[Row, None] = {}
        self.go_through(known, begun, out)
        if known >= POS:
            for row, since in self._since.items():
                out += [(row, since, POS)] if row in begun else [(row, since, SHUT), (row, since, POS)]
            self._since.clear()
        else:
            out += [(row, self._since[row], OPEN) for row in begun]
        self._known, self.frontier = known, self.promised(known)
        return out

    def go_through(self, known: int, begun: dict[Row, None], out: list[Fact]) -> None:
        """Take all that begins and ends up to a time."""
        while self._turns and self._turns[0][0] <= known:
            self._pass(self._turns[0][0], begun, out)

    def reached(self) -> int:
        """How far can be gone through time."""
        return min(self.frontiers)

    def promised(self, known: int) -> int:
        """The frontier that follows when all has been gone through up to `known`."""
        return known

    def _pass(self, time: int, begun: dict[Row, None], out: list[Fact]) -> None:
        """Take what begins and ends at one time. What begins is announced later, if it has not ended by then."""
        looked_at: dict[Place, None] = {}
        while self._turns and self._turns[0][0] == time:
            looked_at[heappop(self._turns)[2]] = None
        begins: list[Place] = []
        held: dict[Row, bool] = {}
        for place in looked_at:
            port, row = place
            if self._holds(place, time):
                if row not in self.holding[port]:
                    begins.append(place)
            elif row in self.holding[port]:
                self.end(place, held)
        for place in begins:
            self.begin(place, held)
        self.finish(held)
        for row, did_hold in held.items():
            holds = row in self.ways
            if did_hold and not holds:
                since = self._since.pop(row)
                if row in begun:
                    del begun[row]
                else:
                    out.append((row, since, SHUT))
                out.append((row, since, time - 1))
            elif holds and not did_hold:
                self._since[row] = time
                begun[row] = None
        if len(out) + len(begun) > self.room.rows:
            raise NoRoomError(len(out) + len(begun))

    def _holds(self, place: Place, time: int) -> bool:
        """Whether a row holds at this time, up to which all is known of it; it is looked at again when that may change."""
        port, row = place
        spell = self._spells[port].get(row)
        if spell is None:
            return False
        bounds = spell.bounds
        while bounds and bounds[1] < time:
            del bounds[:2]
        if spell.opened and min(spell.opened.values()) <= time:
            return True
        if bounds and bounds[0] <= time:
            if bounds[1] < POS and not time < spell.due <= bounds[1] + 1:
                spell.due = bounds[1] + 1
                self._look_at(place, spell.due)
            return True
        if not bounds and not spell.opened:
            del self._spells[port][row]
        return False

    def deadline(self) -> tuple[int, int] | None:
        return (self._slowest, self._turns[0][0]) if self._turns else None

    # --- what is held ---------------------------------------------------------------------------------------------------

    def announced_rows(self) -> list[tuple[Row, int]]:
        return list(self._since.items())

    def entries(self) -> int:
        stored = sum((len(spell.bounds) >> 1) + len(spell.opened) for spells in self._spells for spell in spells.values())
        return stored + len(self.ways) + self._ahead.entries()

    def state(self) -> dict[str, Any]:
        return {
            "spells": [[spell.state(row) for row, spell in spells.items()] for spells in self._spells],
            "holding": [[list(row) for row in rows] for rows in self.holding],
            "turns": [[time, port, list(row)] for time, _, (port, row) in sorted(self._turns, key=itemgetter(0, 1))],
            "since": [[list(row), since] for row, since in self._since.items()],
            "known": self._known,
            "ahead": self._ahead.snapshot(),
        }

    def load(self, state: dict[str, Any]) -> None:
        held: dict[Row, bool] = {}
        for port, (spells, rows) in enumerate(zip(state["spells"], state["holding"], strict=True)):
            for row, bounds, opened in spells:
                self._spells[port][tuple(row)] = _Spell(list(bounds), {tuple(source): lo for source, lo in opened})
            for row in rows:
                self.begin((port, tuple(row)), held)
        self._turns = [(time, i, (port, tuple(row))) for i, (time, port, row) in enumerate(state["turns"])]
        heapify(self._turns)
        self._turn = len(self._turns)
        self._since = {tuple(row): since for row, since in state["since"]}
        self._known = state["known"]
        self._ahead.restore(state["ahead"])


class _Spell:
    """What is to come of one row: when it holds, since when the rows that it stands for are open, and when it is looked at
    for its end: once for many facts that lengthen it."""

    __slots__ = ("bounds", "due", "opened")

    def __init__(self, bounds: Bounds, opened: dict[Row, int]) -> None:
        self.bounds = bounds
        self.opened = opened
        self.due = NEG

    def state(self, row: Row) -> list[Any]:
        return [list(row), list(self.bounds), [[list(source), lo] for source, lo in self.opened.items()]]
