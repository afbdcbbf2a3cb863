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
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from types import MappingProxyType
from typing import Any, TypeVar

from tidelog.operators.operator import behind, shift
from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.room import Room
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Fact, Record, Row, format_atom
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Announced
from tidelog.runtime.emission.agenda import Agenda
from tidelog.runtime.emission.growing import Growing
from tidelog.runtime.emission.standing_runs import ended_runs, join_under

R = TypeVar("R")
Ordered = tuple[int, int, object]
"""A change, behind its `order`. Its type is not told, since compiled code would make a plain tuple of a named one."""
_ORDER: Callable[[Ordered], tuple[int, int]] = itemgetter(0, 1)
_change: Callable[[Record], object] = partial(tuple.__new__, ChangeRecord)
_BEGINS = NEG - 1
"""What begins comes before what has ended."""
_END_AND_BEGIN: Callable[[Record], tuple[int, int]] = itemgetter(3, 2)
NOTHING: Mapping[str, Announced] = MappingProxyType({})


class Emission(ABC):
    """Turns new coverage of the output predicates, and their frontiers, into answers."""

    follows_arrivals = False
    """Whether the arrival of input facts alone may have something told."""

    def __init__(self, outputs: Iterable[str], announced: Mapping[str, Announced] = NOTHING) -> None:
        self.frontiers = dict.fromkeys(outputs, NEG)
        self.room = Room()
        self.announced = announced
        """The predicates of which what goes on holding may be told by notices (`operators/stores/notices.py`), and how."""
        self.ahead: int | None = None
        """Where other outputs are told elsewhere, the least lead of all outputs (encoded): so far each of them is known.
        None where all are told here. It matters where several outputs are told together."""

    @abstractmethod
    def receive(self, predicate: str, facts: Sequence[Fact], frontier: int, notices: Notices | None = None) -> list[Record]:
        """Take new coverage of an output predicate, and the frontier behind it."""

    def finish(self) -> list[Record]:
        """The stream has ended and all has been received: what recursion without end leaves open is as final as it gets."""
        answers: list[Record] = []
        for predicate, frontier in self.frontiers.items():
            announced = self.announced.get(predicate)
            known = frontier if announced is None else shift(frontier, announced.beyond)
            ended = [(row, since, known) for row, since in self.standing(predicate)]
            answers += self.receive(predicate, (), POS, Notices((), ended) if ended else None)
        return answers

    def standing(self, predicate: str) -> list[tuple[Row, int]]:
        """The rows of a predicate that stand, and since when."""
        return []

    def rest(self) -> list[Record]:
        """The stream has stopped before its end: what is known, and was left untold."""
        return []

    def arrive(self, points: Sequence[int], watermark: int) -> list[Record]:
        """Input facts arrived at these time points, and none will arrive any more at or before the watermark."""
        return []

    def waits(self, predicate: str) -> bool:
        """Whether something of a predicate may be told though nothing new comes."""
        return True

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
        self._growing = {name: Growing(found.beyond, is_fed=found.is_fed) for name, found in announced.items()}

    def receive(self, predicate: str, facts: Sequence[Fact], frontier: int, notices: Notices | None = None) -> list[Record]:
        growing = self._growing.get(predicate)
        if growing is not None:
            # who was not woken by a frontier that moved may send again what has been known since
            facts = growing.take(behind(self.frontiers[predicate], list(facts)), frontier, notices)
            self.frontiers[predicate] = max(frontier, self.frontiers[predicate])
        whole: Iterable[tuple[Row, Any, Any]] = facts  # as in `Intake`: compiled code makes no new integers
        return [(predicate, row, lo, hi) for row, lo, hi in whole]

    def standing(self, predicate: str) -> list[tuple[Row, int]]:
        return self._growing[predicate].standing() if predicate in self._growing else []

    def rest(self) -> list[Record]:
        return [(predicate, *fact) for predicate, growing in self._growing.items() for fact in growing.rest()]

    def waits(self, predicate: str) -> bool:
        return predicate in self._growing

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
    """What is told once it can grow no more: keeps each row's runs, since when it stands, and when to look at it."""

    def __init__(self, outputs: Iterable[str], announced: Mapping[str, Announced] = NOTHING) -> None:
        super().__init__(outputs, announced)
        self.coverage = {predicate: Coverage(keeps=True) for predicate in self.frontiers}
        self._standing: dict[str, dict[Row, int]] = {predicate: {} for predicate in self.frontiers}
        self._agendas: dict[str, Agenda[Row]] = {predicate: Agenda() for predicate in self.frontiers}

    def receive(self, predicate: str, facts: Sequence[Fact], frontier: int, notices: Notices | None = None) -> list[Record]:
        rows = self._store(predicate, facts, notices) if facts or notices is not None else {}
        if frontier > self.frontiers[predicate]:
            self.frontiers[predicate] = frontier
            for row in self._agendas[predicate].reached(frontier):
                rows[row] = None
        return self.look(predicate, rows) if rows else []

    @abstractmethod
    def look(self, predicate: str, rows: Iterable[Row]) -> list[Record]:
        """What is certain of these rows by now, in order; they are scheduled for what is to come."""

    def _store(self, predicate: str, facts: Sequence[Fact], notices: Notices | None) -> dict[Row, None]:
        """Keep new coverage, and what stands; returns the rows that this is about."""
        store, standing = self.coverage[predicate], self._standing[predicate]
        rows: dict[Row, None] = {}
        if notices is not None:
            for row, _, _ in notices.ended:
                rows[row] = None
                del standing[row]
            ended = notices.ranges()
            facts = [*ended, *facts] if ended else facts
            standing.update(notices.begun)
            for row in notices.begun:
                rows[row] = None
        for fact in facts:
            rows[fact[0]] = None
        store.insert(facts)
        if standing:
            for row, _, _ in facts:
                if row in standing and len(store.rows[row]) > 2:
                    join_under(store.rows[row], standing[row], self.frontiers[predicate])
        return rows

    def standing(self, predicate: str) -> list[tuple[Row, int]]:
        return list(self._standing[predicate].items())

    def deadline(self, predicate: str) -> int:
        due = self._agendas[predicate].first()
        return POS if due is None else due

    def entries(self) -> dict[str, int]:
        return {predicate: store.entries() + len(self._standing[predicate]) for predicate, store in self.coverage.items()}

    def _standing_rows(self) -> dict[str, Any]:
        return {predicate: [[list(row), lo] for row, lo in rows.items()] for predicate, rows in self._standing.items()}

    def _restore_standing(self, data: dict[str, Any]) -> None:
        for predicate, rows in data.items():
            self._standing[predicate] = {tuple(row): lo for row, lo in rows}


class Final(Runs):
    """Maximal intervals. One without an end, told of a row that may be announced anew, is kept, so that it is told once."""

    def __init__(self, outputs: Iterable[str], announced: Mapping[str, Announced] = NOTHING) -> None:
        super().__init__(outputs, announced)
        self._endless: dict[str, set[Row]] = {predicate: set() for predicate in announced}

    def look(self, predicate: str, rows: Iterable[Row]) -> list[Record]:
        frontier, stored, standing = self.frontiers[predicate], self.coverage[predicate].rows, self._standing[predicate]
        agenda, endless = self._agendas[predicate], self._endless.get(predicate)
        answers: list[Record] = []
        for row in rows:
            bounds = stored.get(row)
            if not bounds or (endless is not None and row in endless):
                continue
            since = standing.get(row)
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
        return put_in_final_order(answers)

    def snapshot(self) -> dict[str, Any]:
        coverage = {predicate: store.snapshot() for predicate, store in self.coverage.items()}
        endless = {predicate: [list(row) for row in rows] for predicate, rows in self._endless.items()}
        return {"frontiers": dict(self.frontiers), "coverage": coverage, "open": self._standing_rows(), "endless": endless}

    def restore(self, data: dict[str, Any]) -> None:
        self.frontiers = dict(data["frontiers"])
        self._restore_standing(data["open"])
        self._endless = {predicate: {tuple(row) for row in rows} for predicate, rows in data["endless"].items()}
        for predicate, stored in data["coverage"].items():
            self.coverage[predicate].restore(stored)
            self._agendas[predicate].clear()
            self.look(predicate, [*self.coverage[predicate].rows])  # schedules: all that is final was told before


def put_in_final_order(answers: list[Record]) -> list[Record]:
    """Answers of one predicate by end, begin and text; they are put in order where they are."""
    return _in_order(answers, _END_AND_BEGIN, _text)


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
        since = self._standing[predicate].get(row)
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
        return {"frontiers": dict(self.frontiers), "coverage": coverage, "begun": begun, "open": self._standing_rows()}

    def restore(self, data: dict[str, Any]) -> None:
        self.frontiers = dict(data["frontiers"])
        self._restore_standing(data["open"])
        for predicate, stored in data["coverage"].items():
            self.coverage[predicate].restore(stored)
            self._begun[predicate] = {tuple(row): None for row in data["begun"][predicate]}
            self._agendas[predicate].clear()
            self.look(
                predicate, [*self.coverage[predicate].rows, *self._standing[predicate]]
            )  # schedules: all that is certain was told before
