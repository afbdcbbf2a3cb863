"""Five programs of alarms as plain Python. Each takes one record at a time, in order of arrival, and returns what follows.

They do what their rules say and no more: no snapshots, no bound on memory, no error that names a fact, one program each.
Times are whole numbers. Answers are those of the session, as pairs of a row and its times.
"""

from __future__ import annotations

from collections import defaultdict, deque
from heapq import heappop, heappush

from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.timeline import POS
from tidelog.plans.tree.syntax import Value

Told = tuple[Row, int, int]
"""A row, and the first and the last time at which it holds; POS is a last time that is not known yet."""


class Duration:
    """`alarm(S) :- boxminus[0,9] hot(S).`, facts in order."""

    def __init__(self) -> None:
        self._runs: dict[Row, tuple[int, int]] = {}

    def take(self, record: Record) -> list[Told]:
        _, row, time, _ = record
        begin, last = self._runs.get(row, (time, time))
        if time > last + 1:
            begin = time
        self._runs[row] = (begin, time)
        return [(row, time, time)] if time - begin >= 9 else []

    def finish(self) -> list[Told]:
        return []


class Disorder:
    """The same of facts that come up to `LATENESS` behind others: a heap puts them in order first."""

    LATENESS = 20

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Row]] = []
        self._ordered = Duration()
        self._latest = -1

    def take(self, record: Record) -> list[Told]:
        _, row, time, _ = record
        heappush(self._waiting, (time, row))
        self._latest = max(self._latest, time)
        return self._release(self._latest - self.LATENESS)

    def _release(self, before: int) -> list[Told]:
        told: list[Told] = []
        while self._waiting and self._waiting[0][0] < before:
            time, row = heappop(self._waiting)
            told += self._ordered.take(("hot", row, time, time))
        return told

    def finish(self) -> list[Told]:
        return self._release(POS)


class Absence:
    """`gone(S) :- diamondminus[10,10] ping(S), not diamondminus[0,9] ping(S).`, facts in order."""

    def __init__(self) -> None:
        self._last: dict[Row, int] = {}
        self._due: deque[tuple[int, Row]] = deque()

    def take(self, record: Record) -> list[Told]:
        _, row, time, _ = record
        told = self._reach(time - 1)
        self._last[row] = time
        self._due.append((time + 10, row))
        return told

    def _reach(self, known: int) -> list[Told]:
        told: list[Told] = []
        while self._due and self._due[0][0] <= known:
            due, row = self._due.popleft()
            if self._last[row] == due - 10:
                told.append((row, due, due))
        return told

    def finish(self) -> list[Told]:
        return self._reach(POS)


class Join:
    """`pair(X, Y) :- diamondminus[0,10] left(K, X), diamondminus[0,10] right(K, Y).`, facts in order, no row twice."""

    def __init__(self) -> None:
        self._sides: dict[str, defaultdict[object, deque[tuple[Value, int]]]] = {
            "left": defaultdict(deque),
            "right": defaultdict(deque),
        }

    def take(self, record: Record) -> list[Told]:
        side, (key, value), time, _ = record
        self._sides[side][key].append((value, time))
        others = self._sides["right" if side == "left" else "left"][key]
        while others and others[0][1] < time - 10:
            others.popleft()
        if side == "left":
            return [((value, other), time, at + 10) for other, at in others]
        return [((other, value), time, at + 10) for other, at in others]

    def finish(self) -> list[Told]:
        return []


class Hysteresis:
    """`alarm(S) :- not off(S) since on(S).`, facts in order, as changes: an end is told once no `on` can join it."""

    def __init__(self) -> None:
        self._begins: dict[Row, int] = {}
        self._off: dict[Row, int] = {}
        self._ends: deque[tuple[int, Row]] = deque()

    def take(self, record: Record) -> list[Told]:
        name, row, time, _ = record
        told = self._reach(time - 1)
        if name == "off":
            if row in self._begins and row not in self._off:
                self._off[row] = time
                self._ends.append((time, row))
        elif row not in self._begins:
            self._begins[row] = time
            told.append((row, time, POS))
        else:
            self._off.pop(row, None)
        return told

    def _reach(self, known: int) -> list[Told]:
        told: list[Told] = []
        while self._ends and self._ends[0][0] < known:
            time, row = self._ends.popleft()
            if self._off.get(row) == time:
                del self._off[row]
                told.append((row, self._begins.pop(row), time))
        return told

    def finish(self) -> list[Told]:
        return self._reach(POS)
