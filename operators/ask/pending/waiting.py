"""What is waited for: facts by predicate, time and row, and times at which something is decided.

A fact, or a time that has passed, finds those whom it concerns by looking them up, whatever else waits.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from operator import itemgetter
from typing import Any, NamedTuple

from tidelog.operators.ask.premises.awaited import Awaited, Binding, value_of
from tidelog.operators.ask.premises.partials import Answer, Partial
from tidelog.operators.ask.premises.patterns import Pattern
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.tree.syntax import Value


class Forgetting(NamedTuple):
    """Nobody will ask any more for the facts of a predicate at a time."""

    predicate: str
    time: int


class Refusal(NamedTuple):
    """A fact whose coming would close a way to an answer for which nothing has come yet: of this row, up to `last`."""

    predicate: str
    row: Row
    answer: Answer
    last: int


class Reminder(NamedTuple):
    """The deadline of an answer is near; or, of a partial answer, enough is absent."""

    answer: Answer
    partial: Partial | None = None


Concern = tuple[Partial, int]
"""A partial answer, and which of its premises: i for the one at i, −1−i for the negated one at i; of n, n+k for run k."""
_Key = tuple[int | None, Row]


class WaitingFor:
    """Who waits for which fact: for each set of known columns, a table from time and values to partial answers."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[tuple[bool, tuple[int, ...]], dict[_Key, dict[Concern, None]]]] = {}

    def add(self, concern: Concern, item: Awaited, binding: Binding) -> None:
        """Let a partial answer wait for one of its premises, as far as it is known."""
        signature, key = _place(item, binding)
        table = self._tables.setdefault(item.premise.predicate, {}).setdefault(signature, {})
        table.setdefault(key, {})[concern] = None

    def remove(self, concern: Concern, item: Awaited, binding: Binding) -> None:
        """It does not wait any more; `binding` is that with which it was added."""
        signature, key = _place(item, binding)
        tables = self._tables[item.premise.predicate]
        concerned = tables[signature][key]
        del concerned[concern]
        if not concerned:
            del tables[signature][key]
            if not tables[signature]:
                del tables[signature]

    def met_by(self, predicate: str, row: Row, time: int) -> list[Concern]:
        """Those for whom a fact is what they wait for, or may be."""
        found: list[Concern] = []
        for (timed, columns), table in self._tables.get(predicate, {}).items():
            values = row if len(columns) == len(row) else tuple(row[i] for i in columns)
            found += table.get((time if timed else None, values), ())
        return found


def _place(item: Awaited, binding: Binding) -> tuple[tuple[bool, tuple[int, ...]], _Key]:
    """Which columns of a premise are known, and what they are."""
    columns: list[int] = []
    values: list[Value] = []
    for i, term in enumerate(item.premise.arguments):
        value = value_of(term, binding)
        if value is not None:
            columns.append(i)
            values.append(value)
    time = None if item.width else item.at(binding)  # what must not come for a while waits for any time
    return (time is not None, tuple(columns)), (time, tuple(values))


class Relevant:
    """Which facts can matter at all: those with the constants of some premise, by predicate."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._tables: dict[str, list[tuple[Any, _Started]]] = {}
        tables: dict[tuple[str, tuple[int, ...]], _Started] = {}
        number = count()
        for pattern in patterns:
            for i, item in [*enumerate(pattern.premises), *((-1, item) for item in pattern.negated)]:
                positions = tuple(item.constants)
                values = tuple(item.constants.values())
                table = tables.setdefault((item.premise.predicate, positions), {})
                started = table.setdefault(values[0] if len(values) == 1 else values, [])
                if i >= 0:
                    started.append((pattern.lead(i), next(number), pattern, i))
        for table in tables.values():
            for started in table.values():
                started.sort(key=_lead_of)
        for (predicate, positions), table in tables.items():
            columns = itemgetter(*positions) if positions else _no_columns
            self._tables.setdefault(predicate, []).append((columns, table))

    def tests(self) -> dict[str, Callable[[Row], bool]]:
        """For each predicate whose facts can matter, whether one with this row can."""
        return {predicate: _test(tables) for predicate, tables in self._tables.items()}

    def started_by(self, predicate: str, row: Row, ahead: int) -> Iterator[tuple[Pattern, int]]:
        """The premises for which a fact may stand, so far ahead of the watermark, and with which an answer begins."""
        for columns, table in self._tables.get(predicate, ()):
            started = table.get(columns(row), ())
            enough = bisect_left(started, ahead, key=_lead_of)
            yield from ((pattern, i) for _, _, pattern, i in sorted(started[:enough], key=_number_of))


_Started = dict[Any, list[tuple[int, int, Pattern, int]]]
"""For values of some columns, the premises with which an answer can begin: by how far ahead the fact has to lie."""
_lead_of, _number_of = itemgetter(0), itemgetter(1)


def _test(tables: Sequence[tuple[Any, _Started]]) -> Callable[[Row], bool]:
    if len(tables) > 1:
        return lambda row: any(columns(row) in table for columns, table in tables)
    ((columns, table),) = tables
    return lambda row: columns(row) in table


def _no_columns(_: Row) -> Row:
    return ()


class Dormant:
    """The answers to be looked at again if a fact comes: for each row, from when to when it matters to whom."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, Row], dict[Answer, tuple[int, int]]] = {}

    def add(self, predicate: str, row: Row, answer: Answer, first: int, last: int) -> bool:
        """Look at an answer again if this fact comes within these times; whether they reach further than was known."""
        answers = self._rows.setdefault((predicate, row), {})
        known = answers.get(answer)
        if known is None:
            answers[answer] = first, last
            return True
        answers[answer] = min(first, known[0]), max(last, known[1])
        return last > known[1]

    def woken_by(self, predicate: str, row: Row, time: int) -> list[Answer]:
        """Those to whom a fact matters: they do not wait any more."""
        answers = self._rows.get((predicate, row))
        if not answers:
            return []
        found = [answer for answer, (first, last) in answers.items() if first <= time <= last]
        for answer in found:
            self._remove((predicate, row), answer)
        return found

    def forget(self, refusal: Refusal) -> None:
        """This fact can no longer come."""
        key = refusal.predicate, refusal.row
        known = self._rows.get(key, {}).get(refusal.answer)
        if known is not None and known[1] <= refusal.last:
            self._remove(key, refusal.answer)

    def _remove(self, key: tuple[str, Row], answer: Answer) -> None:
        del self._rows[key][answer]
        if not self._rows[key]:
            del self._rows[key]


class Calendar:
    """What is to be looked at once the watermark has reached a time."""

    def __init__(self) -> None:
        self._times: list[tuple[int, int]] = []
        self._items: dict[int, list[Any]] = {}
        self._count = count()

    def add(self, time: int, item: object) -> None:
        """Look at this at the given time."""
        items = self._items.get(time)
        if items is None:
            self._items[time] = [item]
            heappush(self._times, (time, next(self._count)))
        else:
            items.append(item)

    @property
    def next(self) -> int:
        """The first time at which something is to be looked at; POS where nothing is."""
        return self._times[0][0] if self._times else POS

    def due(self, watermark: int) -> Iterator[tuple[int, list[Any]]]:
        """What has become due, time by time; what is added meanwhile counts, too."""
        while self._times and self._times[0][0] <= watermark:
            time, _ = heappop(self._times)
            yield time, self._items.pop(time)


class Arrived:
    """The facts that have come and may still be asked for, by predicate and time."""

    def __init__(self) -> None:
        self._facts: dict[str, dict[int, set[Row]]] = {}
        self._count = 0
        self.newest = NEG
        """The latest time of a fact."""

    def add(self, predicate: str, row: Row, time: int) -> tuple[bool, bool]:
        """Keep a fact; tells whether it is new, and whether it is the first of its predicate and time."""
        times = self._facts.setdefault(predicate, {})
        self.newest = max(self.newest, time)
        rows = times.get(time)
        if rows is None:
            times[time] = {row}
            self._count += 1
            return True, True
        if row in rows:
            return False, False
        rows.add(row)
        self._count += 1
        return True, False

    def has(self, predicate: str, row: Row, time: int) -> bool:
        """Whether a fact has come."""
        return row in self._facts.get(predicate, {}).get(time, ())

    def has_any(self, predicate: str, row: Row, times: range) -> bool:
        """Whether a fact has come at one of these times."""
        found = self._facts.get(predicate)
        if not found:
            return False
        if len(times) > len(found):
            return any(time in times and row in rows for time, rows in found.items())
        return any(row in found.get(time, ()) for time in times)

    def forget(self, predicate: str, time: int) -> None:
        """Nobody will ask for what has come at this time."""
        self._count -= len(self._facts.get(predicate, {}).pop(time, ()))

    def entries(self) -> int:
        """How many facts are kept."""
        return self._count

    def snapshot(self) -> list[list[Any]]:
        """The facts as plain data."""
        return [
            [name, time, [list(row) for row in rows]] for name, times in self._facts.items() for time, rows in times.items()
        ]

    def restore(self, data: Iterable[Sequence[Any]]) -> list[tuple[str, int]]:
        """Take over facts; tells of which predicates and times."""
        self._facts.clear()
        for name, time, rows in data:
            self._facts.setdefault(name, {})[time] = {tuple(row) for row in rows}
            self.newest = max(self.newest, time)
        self._count = sum(len(rows) for times in self._facts.values() for rows in times.values())
        return [(name, time) for name, times in self._facts.items() for time in times]
