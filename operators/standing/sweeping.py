"""Going through time: what holds now meets what holds now, at each time at which that changes.

This is how joins, negations and loops take notices (`operators/stores/notices.py`). At each time at which rows begin or
end to hold, these meet the rows of the other ports that hold then; in between, nothing is done about them. What comes out is
told as far as all ports are known, each row in the order of time: by notices where it begins and where it ends.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import Any

from tidelog.operators.operator import Operator, behind
from tidelog.operators.stores.coverage import Bounds, Coverage, merge, overlapping
from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import BEGUN, NEG, POS

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
        "now",
        "ways",
    )

    settles_by_port = False

    def __init__(self, ports: int, slowest: int) -> None:
        super().__init__(ports)
        self._slowest = slowest
        self._ahead = Coverage()  # what facts alone have given beyond the frontier
        self._known = NEG  # all up to here has been gone through
        self.now = NEG  # the time that is gone through
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

    def follows_at(self, time: int) -> int:
        """From when on what has changed at a time holds, or does not."""
        return time

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
                _, lo, hi = fact
                self._take((port, row), lo, hi)
        return []

    def hear(self, port: int, facts: Sequence[Fact], notices: Notices) -> list[Fact]:
        for fact in notices.ended:
            row = self.narrow(port, fact)
            if row is not None:
                source, lo, hi = fact
                self._close((port, row), source, lo, hi)
        for source, lo in notices.begun.items():
            row = self.narrow(port, (source, lo, lo))
            if row is not None:
                self._open((port, row), source, lo)
        return self.feed(port, facts) if facts else []

    def _spell(self, place: Place) -> _Spell:
        port, row = place
        spell = self._spells[port].get(row)
        if spell is None:
            spell = self._spells[port][row] = _Spell([], ())
        return spell

    def _open(self, place: Place, source: Row, lo: int) -> None:
        """A row begins to stand."""
        if lo <= self._known > NEG:
            lo = self._known + 1
        self._spell(place).open(source, lo)
        self._look_at(place, lo)

    def _close(self, place: Place, source: Row, lo: int, hi: int) -> None:
        """A row that stood has ended."""
        spell = self._spell(place)
        spell.close(source)
        is_alone = not spell.is_open and not spell.bounds and place[1] in self.holding[place[0]]
        if is_alone and lo <= self._known < hi < POS:  # it goes on holding until then
            spell.bounds += (self._known + 1, hi)
            spell.due = hi + 1
            self._look_at(place, spell.due)
            return
        self._take(place, lo, hi)
        self._look_at(place, self._known + 1)

    def _take(self, place: Place, lo: int, hi: int) -> None:
        """A row holds over a range, most of which is to come."""
        if lo <= self._known > NEG:
            lo = self._known + 1
        if lo > hi:
            return  # all of it has been gone through
        begin, _ = merge(self._spell(place).bounds, lo, hi, 1, place[1], [])
        if begin >= lo:  # else it lengthens a run, which is looked at when it begins, and when it was to end
            self._look_at(place, lo)

    def lengthen(self, port: int, until: int) -> None:
        """What holds at a port behind what has been gone through does so without a gap, up to `until`."""
        begin = self._known + 1
        for row, spell in list(self._spells[port].items()):
            bounds = spell.bounds
            if spell.is_open:
                self._take((port, row), begin, until)
            elif (first := next(overlapping(bounds, begin, until), None)) is not None:
                self._take((port, row), max(bounds[first], begin), until)

    def beyond(self, facts: Sequence[Fact]) -> list[Fact]:
        """What goes beyond what has been gone through."""
        return behind(self._known, list(facts))

    def tell_ahead(self, facts: list[Fact]) -> list[Fact]:
        """What follows at once from facts alone, less what has been told of it."""
        return self._ahead.insert(behind(self.frontier, facts)) if facts else facts

    def untold(self, out: list[Fact]) -> list[Fact]:
        """What comes of going through time, less what has been told ahead."""
        if self._ahead.rows:
            out = self._ahead.insert(out)
            self._ahead.forget(self.frontier)
        return out

    def _look_at(self, place: Place, time: int) -> None:
        self._turn += 1
        heappush(self._turns, (time, self._turn, place))

    # --- going through time ---------------------------------------------------------------------------------------------

    def settle(self, port: int) -> list[Fact]:
        known = min(self.frontiers)
        if known <= self._known:
            return []
        out: list[Fact] = []
        self.go_through(known, out)
        if known >= POS:
            for row, since in self._since.items():
                self.notices.end(row, since, POS, out)
            self._since.clear()
        self._known = self.frontier = known
        return out

    def go_through(self, known: int, out: list[Fact]) -> None:
        """Take all that begins and ends up to a time."""
        turns = self._turns
        while turns and turns[0][0] <= known:
            time, _, place = heappop(turns)
            if turns and turns[0][0] == time:
                looked_at = {place: None}
                while turns and turns[0][0] == time:
                    looked_at[heappop(turns)[2]] = None
                self._pass(time, looked_at, out)
            elif not (self._holds(place, time) and place[1] in self.holding[place[0]]):  # else it goes on
                self._pass(time, (place,), out)

    def _pass(self, time: int, looked_at: Iterable[Place], out: list[Fact]) -> None:
        """Take what begins and ends at one time."""
        self.now = time
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
        time = self.follows_at(time)
        if time < BEGUN:
            time = NEG  # what follows right behind what holds since ever does so, too
        for row, did_hold in held.items():
            holds = row in self.ways
            if did_hold and not holds:
                self.notices.end(row, self._since.pop(row), time - 1, out)
            elif holds and not did_hold:
                self._since[row] = time
                self.notices.begin(row, time)
        if len(out) + len(self.notices) > self.room.rows:
            raise NoRoomError(len(out) + len(self.notices))

    def _holds(self, place: Place, time: int) -> bool:
        """Whether a row holds at this time, up to which all is known of it; it is looked at again when that may change."""
        port, row = place
        spell = self._spells[port].get(row)
        if spell is None:
            return False
        bounds = spell.bounds
        while bounds and bounds[1] < time:
            del bounds[:2]
        if spell.is_open and spell.since() <= time:
            return True
        if bounds and bounds[0] <= time:
            if bounds[1] < POS and not time < spell.due <= bounds[1] + 1:
                spell.due = bounds[1] + 1
                self._look_at(place, spell.due)
            return True
        if not bounds and not spell.is_open:
            del self._spells[port][row]
        return False

    def deadline(self) -> tuple[int, int] | None:
        return (self._slowest, self._turns[0][0]) if self._turns else None

    # --- what is held ---------------------------------------------------------------------------------------------------

    def standing_rows(self) -> list[tuple[Row, int]]:
        return list(self._since.items())

    def entries(self) -> int:
        stored = sum((len(spell.bounds) >> 1) + spell.count() for spells in self._spells for spell in spells.values())
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
                self._spells[port][tuple(row)] = _Spell(list(bounds), [(tuple(source), lo) for source, lo in opened])
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

    __slots__ = ("_more", "_since", "_source", "bounds", "due", "is_open")

    def __init__(self, bounds: Bounds, opened: Iterable[tuple[Row, int]]) -> None:
        self.bounds = bounds
        self.due = NEG
        self.is_open = False
        """Whether a row that it stands for is open: most often there is one, and so no dictionary is needed."""
        self._source: Row = ()
        self._since = POS
        self._more: dict[Row, int] | None = None
        for source, lo in opened:
            self.open(source, lo)

    def open(self, source: Row, lo: int) -> None:
        """A row for which it stands is open since a time."""
        if self._more is not None:
            self._more[source] = lo
        elif self.is_open and source != self._source:
            self._more = {self._source: self._since, source: lo}
        else:
            self.is_open, self._source, self._since = True, source, lo

    def close(self, source: Row) -> None:
        """A row for which it stands is not open any more, if it was."""
        if self._more is not None:
            self._more.pop(source, None)
            if not self._more:
                self._more, self.is_open = None, False
        elif self.is_open and source == self._source:
            self.is_open = False

    def since(self) -> int:
        """Since when one of these is open, where any is."""
        return self._since if self._more is None else min(self._more.values())

    def count(self) -> int:
        """How many of these are open."""
        return int(self.is_open) if self._more is None else len(self._more)

    def opened(self) -> list[tuple[Row, int]]:
        """The rows for which it stands that are open, each since when."""
        if self._more is not None:
            return [*self._more.items()]
        return [(self._source, self._since)] if self.is_open else []

    def leaves(self, lo: int, hi: int) -> bool:
        """Whether nothing of it meets a range."""
        at = bisect_left(self.bounds, lo - 1)
        if at & 1 or (at < len(self.bounds) and self.bounds[at] <= hi):
            return False
        return not self.is_open or self.since() > hi

    def state(self, row: Row) -> list[Any]:
        return [list(row), list(self.bounds), [[list(source), lo] for source, lo in self.opened()]]
