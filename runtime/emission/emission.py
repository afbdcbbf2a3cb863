"""Emission: in which form derived coverage leaves the engine (`run --emit`).

* `intervals`: at once, as it becomes known; each fact at each time at most once.
* `final`: maximal intervals, each once, when it can grow no more; those known together sorted by end, begin and text.
* `changes`: for each maximal interval, that it begins, and that it has ended, each once it is certain. Those of a predicate
  are told in order of time; at one time first what begins, then what has ended, as `final` sorts it.
* `points`: for each time point at which an input fact arrived, in order, what holds there (LARS's output stream; the answer
  over 𝕋 of Wałęga et al. 2023, Definition 3), sorted by text within a time point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import chain, groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any, TypeVar

from tidelog.operators.operator import shift
from tidelog.operators.stores.by_time import ByTime
from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.open_rows import OPEN, SHUT, ended_runs, join_under
from tidelog.operators.stores.room import NoRoomError, Room
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Fact, Record, Row, format_atom
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Announced
from tidelog.runtime.emission.agenda import Agenda
from tidelog.runtime.emission.growing import Growing
from tidelog.runtime.emission.points import Showing, Shown
from tidelog.runtime.ports.interfaces import EmitMode

R = TypeVar("R")
Ordered = tuple[int, int, object]
"""A change, behind its `order`. Its type is not told, since compiled code would make a plain tuple of a named one."""
_ORDER: Callable[[Ordered], tuple[int, int]] = itemgetter(0, 1)
_change: Callable[[Record], object] = partial(tuple.__new__, ChangeRecord)
_BEGINS = NEG - 1
"""What begins comes before what has ended."""
_END_AND_BEGIN: Callable[[Record], tuple[int, int]] = itemgetter(3, 2)
_BEGIN: Callable[[Fact], int] = itemgetter(1)
NOTHING: Mapping[str, Announced] = MappingProxyType({})


class Emission(ABC):
    """Turns new coverage of the output predicates, and their frontiers, into answers."""

    waits = True
    """Whether something may be told though nothing new comes."""
    follows_arrivals = False
    """Whether the arrival of input facts alone may have something told."""

    def __init__(self, outputs: Iterable[str], announced: Mapping[str, Announced] = NOTHING) -> None:
        self.frontiers = dict.fromkeys(outputs, NEG)
        self.room = Room()
        self.announced = announced
        """The predicates of which what goes on holding may be announced (`operators/stores/open_rows.py`), and how."""

    @abstractmethod
    def receive(self, predicate: str, facts: Sequence[Fact], frontier: int) -> list[Record]:
        """Take new coverage of an output predicate, and the frontier behind it."""

    def finish(self) -> list[Record]:
        """The stream has ended and all has been received: what recursion without end leaves open is as final as it gets."""
        answers: list[Record] = []
        for predicate, frontier in self.frontiers.items():
            announced = self.announced.get(predicate)
            known = frontier if announced is None else shift(frontier, announced.beyond)
            closed: list[Fact] = []
            for row, since in self.opened(predicate):
                closed += [(row, since, SHUT), (row, since, known)] if since <= known else [(row, since, SHUT)]
            answers += self.receive(predicate, closed, POS)
        return answers

    def opened(self, predicate: str) -> list[tuple[Row, int]]:
        """What is open of a predicate, and since when."""
        return []

    def rest(self) -> list[Record]:
        """The stream has stopped before its end: what is known, and was left untold."""
        return []

    def arrive(self, points: Sequence[int], watermark: int) -> list[Record]:
        """Input facts arrived at these time points, and none will arrive any more at or before the watermark."""
        return []

    def deadline(self, predicate: str) -> int:
        """The least frontier of a predicate at which there is something to tell of it; POS if nothing waits."""
        return POS

    def due(self, predicate: str) -> int:
        """The same, but that what goes on holding may wait to be told of until there is something else to tell."""
        return self.deadline(predicate)

    def entries(self) -> dict[str, int]:
        """How many ranges wait, by predicate."""
        return {}

    @abstractmethod
    def snapshot(self) -> dict[str, Any]:
        """The state as plain data."""

    @abstractmethod
    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""


class Intervals(Emission):
    """Everything at once; keeps nothing but what goes on holding until further notice."""

    def __init__(self, outputs: Iterable[str], announced: Mapping[str, Announced] = NOTHING) -> None:
        super().__init__(outputs, announced)
        self.waits = bool(announced)
        self._growing = {name: Growing(found.beyond, is_fed=found.is_fed) for name, found in announced.items()}

    def receive(self, predicate: str, facts: Sequence[Fact], frontier: int) -> list[Record]:
        growing = self._growing.get(predicate)
        if growing is not None:
            facts = growing.take(facts, frontier)
            self.frontiers[predicate] = max(frontier, self.frontiers[predicate])
        return [(predicate, row, lo, hi) for row, lo, hi in facts]

    def opened(self, predicate: str) -> list[tuple[Row, int]]:
        return self._growing[predicate].opened() if predicate in self._growing else []

    def rest(self) -> list[Record]:
        return [(predicate, *fact) for predicate, growing in self._growing.items() for fact in growing.rest()]

    def deadline(self, predicate: str) -> int:
        growing = self._growing.get(predicate)
        return POS if growing is None else growing.deadline()

    def due(self, predicate: str) -> int:
        growing = self._growing.get(predicate)
        return POS if growing is None else growing.due()

    def entries(self) -> dict[str, int]:
        return {predicate: growing.entries() for predicate, growing in self._growing.items()}

    def snapshot(self) -> dict[str, Any]:
        growing = {predicate: growing.snapshot() for predicate, growing in self._growing.items()}
        return {"frontiers": dict(self.frontiers), "growing": growing}

    def restore(self, data: dict[str, Any]) -> None:
        self.frontiers = dict(data["frontiers"])
        for predicate, growing in data["growing"].items():
            self._growing[predicate].restore(growing)


class Runs(Emission):
    """What is told once it can grow no more: keeps each row's runs, since when open rows hold, and when to look at each."""

    def __init__(self, outputs: Iterable[str], announced: Mapping[str, Announced] = NOTHING) -> None:
        super().__init__(outputs, announced)
        self.coverage = {predicate: Coverage(keeps=True) for predicate in self.frontiers}
        self._open: dict[str, dict[Row, int]] = {predicate: {} for predicate in self.frontiers}
        self._agendas = {predicate: Agenda() for predicate in self.frontiers}

    def receive(self, predicate: str, facts: Sequence[Fact], frontier: int) -> list[Record]:
        rows = self._store(predicate, facts) if facts else {}
        if frontier > self.frontiers[predicate]:
            self.frontiers[predicate] = frontier
            for row in self._agendas[predicate].reached(frontier):
                rows[row] = None
        return self.look(predicate, rows) if rows else []

    @abstractmethod
    def look(self, predicate: str, rows: Iterable[Row]) -> list[Record]:
        """What is certain of these rows by now, in order; they are scheduled for what is to come."""

    def _store(self, predicate: str, facts: Sequence[Fact]) -> dict[Row, None]:
        """Keep new coverage, and what is announced; returns the rows that this is about."""
        if predicate not in self.announced:
            self.coverage[predicate].insert(facts)
            return dict.fromkeys(row for row, _, _ in facts)
        rows: dict[Row, None] = {}
        open_rows = self._open[predicate]
        plain: list[Fact] = []
        for fact in facts:
            row, lo, kind = fact
            rows[row] = None
            if kind <= POS:
                plain.append(fact)
            elif kind == OPEN:
                open_rows[row] = lo
            else:
                del open_rows[row]
        if plain:
            plain.sort(key=_BEGIN)  # what a row held before it was shut comes behind what has come meanwhile
            store = self.coverage[predicate]
            store.insert(plain)
            for row, _, _ in plain:
                if row in open_rows and len(store.rows[row]) > 2:
                    join_under(store.rows[row], open_rows[row], self.frontiers[predicate])
        return rows

    def opened(self, predicate: str) -> list[tuple[Row, int]]:
        return list(self._open[predicate].items())

    def deadline(self, predicate: str) -> int:
        due = self._agendas[predicate].first()
        return POS if due is None else due

    def entries(self) -> dict[str, int]:
        return {predicate: store.entries() + len(self._open[predicate]) for predicate, store in self.coverage.items()}

    def _opened(self) -> dict[str, Any]:
        return {predicate: [[list(row), lo] for row, lo in rows.items()] for predicate, rows in self._open.items()}

    def _restore_opened(self, data: dict[str, Any]) -> None:
        for predicate, rows in data.items():
            self._open[predicate] = {tuple(row): lo for row, lo in rows}


class Final(Runs):
    """Maximal intervals. One without an end, told of a row that may be announced anew, is kept, so that it is told once."""

    def __init__(self, outputs: Iterable[str], announced: Mapping[str, Announced] = NOTHING) -> None:
        super().__init__(outputs, announced)
        self._endless: dict[str, set[Row]] = {predicate: set() for predicate in announced}

    def look(self, predicate: str, rows: Iterable[Row]) -> list[Record]:
        frontier, stored, open_rows = self.frontiers[predicate], self.coverage[predicate].rows, self._open[predicate]
        agenda, endless = self._agendas[predicate], self._endless.get(predicate)
        answers: list[Record] = []
        for row in rows:
            bounds = stored.get(row)
            if not bounds or (endless is not None and row in endless):
                continue
            since = open_rows.get(row)
            if since is not None and bounds[-1] >= POS and bounds[-2] > since:
                if bounds[-2] <= frontier + 1:  # it goes on up to where it is known to have no end
                    join_under(bounds, since, POS)
                    bounds[-2] = min(bounds[-2], since)
                else:
                    agenda.schedule(row, bounds[-2] - 1)
            done, ended = 0, ended_runs(bounds, since)
            while done < ended and _is_final(bounds[done], bounds[done + 1], frontier):
                answers.append((predicate, row, bounds[done], bounds[done + 1]))
                done += 2
            if done == len(bounds) and endless is not None and bounds[-1] >= POS:
                endless.add(row)
                done -= 2
            elif done == len(bounds):
                del stored[row]
                continue
            elif done < ended:  # a run without end can grow on its left side alone
                agenda.schedule(row, bounds[done] - 1 if bounds[done + 1] >= POS else bounds[done + 1] + 1)
            del bounds[:done]
        return _in_order(answers, _END_AND_BEGIN, _text)

    def snapshot(self) -> dict[str, Any]:
        coverage = {predicate: store.snapshot() for predicate, store in self.coverage.items()}
        endless = {predicate: [list(row) for row in rows] for predicate, rows in self._endless.items()}
        return {"frontiers": dict(self.frontiers), "coverage": coverage, "open": self._opened(), "endless": endless}

    def restore(self, data: dict[str, Any]) -> None:
        self.frontiers = dict(data["frontiers"])
        self._restore_opened(data["open"])
        self._endless = {predicate: {tuple(row) for row in rows} for predicate, rows in data["endless"].items()}
        for predicate, stored in data["coverage"].items():
            self.coverage[predicate].restore(stored)
            self._agendas[predicate].clear()
            self.look(predicate, [*self.coverage[predicate].rows])  # schedules: all that is final was told before


def _is_final(lo: int, hi: int, frontier: int) -> bool:
    """Whether a run can grow no more: new coverage begins behind the frontier, and must not touch it."""
    return frontier >= POS or hi < frontier or (hi >= POS and lo <= frontier + 1)


def _text(record: Record) -> str:
    return format_atom(record[0], record[1])


def _text_of_change(entry: Ordered) -> str:
    change: Any = entry[2]
    return _text(change)


def _in_order(answers: list[R], when: Callable[[R], tuple[int, int]], text: Callable[[R], str]) -> list[R]:
    """Answers of one predicate by time, and then by text, which is made only where it decides.

    They are of any type here: of a tuple that is known as one, compiled code would make a new one, which is no change.
    """
    answers.sort(key=when)
    if len(set(map(when, answers))) == len(answers):
        return answers
    at = 0
    while at + 1 < len(answers):
        time, end = when(answers[at]), at + 1
        while end < len(answers) and when(answers[end]) == time:
            end += 1
        if end > at + 1:
            answers[at:end] = sorted(answers[at:end], key=text)
        at = end
    return answers


class Changes(Runs):
    """When rows begin to hold, and when they have ended.

    A run begins at `lo` for certain once the frontier has reached what lies before it; it has ended at `hi` once the
    frontier is behind that. So of a row's runs that are kept, only the first may have begun; without an end, it goes then.
    """

    def __init__(self, outputs: Iterable[str], announced: Mapping[str, Announced] = NOTHING) -> None:
        super().__init__(outputs, announced)
        self._begun: dict[str, dict[Row, None]] = {predicate: {} for predicate in self.frontiers}

    def look(self, predicate: str, rows: Iterable[Row]) -> list[Record]:
        changes: list[Ordered] = []
        for row in rows:
            self._decide(predicate, row, changes)
        if len(changes) > 1:
            _in_order(changes, _ORDER, _text_of_change)
        told: list[Any] = [change for _, _, change in changes]
        return told

    def _decide(self, predicate: str, row: Row, changes: list[Ordered]) -> None:
        """Add what is certain of a row by now."""
        rows, begun, agenda = self.coverage[predicate].rows, self._begun[predicate], self._agendas[predicate]
        frontier, bounds = self.frontiers[predicate], rows.get(row)
        if bounds is None:  # a row without end may be scheduled still
            bounds = []
        since = self._open[predicate].get(row)
        ended = ended_runs(bounds, since)
        done = 0
        while done < ended or since is not None:
            is_open = done == ended
            if not is_open:
                lo, hi = bounds[done], bounds[done + 1]
            elif since is not None:
                lo, hi = since if done == len(bounds) else min(since, bounds[done]), POS - 1
            if row not in begun:
                if lo > frontier + 1:
                    agenda.schedule(row, lo - 1)
                    break
                begun[row] = None
                changes.append((lo, _BEGINS, _change((predicate, row, lo, POS))))
            if is_open:
                break
            if hi >= POS and predicate in self.announced:  # it may be announced anew, and has begun already
                break
            if hi < POS:
                if hi >= frontier:
                    agenda.schedule(row, hi + 1)
                    break
                changes.append((hi + 1, lo, _change((predicate, row, lo, hi))))
            del begun[row]
            done += 2
        del bounds[:done]
        if not bounds:
            rows.pop(row, None)

    def snapshot(self) -> dict[str, Any]:
        coverage = {predicate: store.snapshot() for predicate, store in self.coverage.items()}
        begun = {predicate: [list(row) for row in rows] for predicate, rows in self._begun.items()}
        return {"frontiers": dict(self.frontiers), "coverage": coverage, "begun": begun, "open": self._opened()}

    def restore(self, data: dict[str, Any]) -> None:
        self.frontiers = dict(data["frontiers"])
        self._restore_opened(data["open"])
        for predicate, stored in data["coverage"].items():
            self.coverage[predicate].restore(stored)
            self._begun[predicate] = {tuple(row): None for row in data["begun"][predicate]}
            self._agendas[predicate].clear()
            self.look(
                predicate, [*self.coverage[predicate].rows, *self._open[predicate]]
            )  # schedules: all that is certain was told before


class Points(Emission):
    """What holds at each time point of the input; keeps what begins later, and what still holds."""

    follows_arrivals = True

    def __init__(self, outputs: Iterable[str], announced: Mapping[str, Announced] = NOTHING) -> None:
        super().__init__(outputs, announced)
        self._points: list[int] = []
        self._watermark = NEG
        self._seen = NEG
        self._later: ByTime[Shown] = ByTime()
        self._ends: ByTime[Shown] = ByTime()
        self._holding = Showing()
        self._open: dict[tuple[str, Row], Shown] = {}

    def arrive(self, points: Sequence[int], watermark: int) -> list[Record]:
        for point in points:
            heappush(self._points, point)
        self._watermark = max(self._watermark, watermark)
        return self._decided()

    def receive(self, predicate: str, facts: Sequence[Fact], frontier: int) -> list[Record]:
        if facts:
            self._take(predicate, facts)
        if frontier <= self.frontiers[predicate]:
            return []
        self.frontiers[predicate] = frontier
        return self._decided()

    def _take(self, predicate: str, facts: Sequence[Fact]) -> None:
        for row, lo, hi in facts:
            if hi == SHUT:
                self._shut(self._open.pop((predicate, row)))
                continue
            begin = max(lo, self._seen + 1) if hi == OPEN else lo
            shown = (format_atom(predicate, row), hi, predicate, row, begin)
            self._later.add(begin, shown)
            if hi == OPEN:
                self._open[predicate, row] = shown

    def opened(self, predicate: str) -> list[tuple[Row, int]]:
        return [(row, shown[4]) for (name, row), shown in self._open.items() if name == predicate]

    def _shut(self, shown: Shown) -> None:
        if shown[4] <= self._seen:
            self._holding.remove(shown)
        else:
            self._later.remove(shown[4], shown)

    def deadline(self, predicate: str) -> int:
        return self._points[0] if self._points else POS

    def _decided(self) -> list[Record]:
        """What holds at the points that are known: no earlier one can arrive, and no output can change there."""
        answers: list[Record] = []
        frontier = min(self.frontiers.values(), default=POS)
        frontier = min(frontier, self._watermark)
        while self._points and self._points[0] <= frontier:
            point = heappop(self._points)
            if point > self._seen:
                self._seen = point
                answers += self._at(point)
                if len(answers) > self.room.rows:
                    raise NoRoomError(len(answers))
        return answers

    def _at(self, point: int) -> list[Record]:
        holding = self._holding
        for shown in self._ends.reached(point - 1):
            holding.remove(shown)
        for shown in self._later.reached(point):
            if shown[1] >= point:
                holding.add(shown)
                if shown[1] < POS:
                    self._ends.add(shown[1], shown)
        found = holding.at(point)
        return (
            [record for record, _ in groupby(found)] if self.announced else found
        )  # what is open may have come as facts, too

    def _kept(self) -> Iterator[Shown]:
        return chain(self._later, self._holding)

    def entries(self) -> dict[str, int]:
        return dict(Counter(predicate for _, _, predicate, _, _ in self._kept()))

    def snapshot(self) -> dict[str, Any]:
        return {
            "frontiers": dict(self.frontiers),
            "points": sorted(self._points),
            "seen": self._seen,
            "watermark": self._watermark,
            "records": [[predicate, list(row), lo, hi] for _, hi, predicate, row, lo in self._kept()],
        }

    def restore(self, data: dict[str, Any]) -> None:
        self.frontiers = dict(data["frontiers"])
        self._points = list(data["points"])
        self._seen = data["seen"]
        self._watermark = data["watermark"]
        self._later, self._ends, self._holding, self._open = ByTime(), ByTime(), Showing(), {}
        for predicate, row, lo, hi in data["records"]:
            self._take(predicate, [(tuple(row), lo, hi)])


def emission(mode: EmitMode, outputs: Iterable[str], announced: Mapping[str, Announced] = NOTHING) -> Emission:
    """The emission of a mode for these output predicates, some of them announced; ValueError for any other mode."""
    check_mode(mode)
    return _KINDS[mode](outputs, announced)


def check_mode(mode: EmitMode) -> None:
    """ValueError for anything but a mode."""
    if mode not in _KINDS:
        raise ValueError(f"unknown emit mode {mode!r}: expected {', '.join(_KINDS)}")


_KINDS: dict[EmitMode, type[Emission]] = {"intervals": Intervals, "final": Final, "changes": Changes, "points": Points}
