"""What is waited for: facts by predicate, time and row, and times at which something is decided.

A fact, or a time that has passed, finds those whom it concerns by looking them up, whatever else waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from operator import itemgetter
from typing import Any, NamedTuple

from tidelog.operators.ask.partials import Answer, Partial
from tidelog.operators.ask.patterns import Awaited, Binding, Pattern, value_of
from tidelog.plans.facts import Row
from tidelog.plans.syntax import Value


class Forgetting(NamedTuple):
    """Nobody will ask any more for the facts of a predicate at a time."""

    predicate: str
    time: int


class Refusal(NamedTuple):
    """A fact whose coming would close a way to an answer for which nothing has come yet."""

    predicate: str
    row: Row
    time: int


class Reminder(NamedTuple):
    """The deadline of an answer is near; or, of a partial answer, enough is absent."""

    answer: Answer
    partial: Partial | None = None


Concern = tuple[Partial, int]
"""A partial answer, and which of its premises: i for the one at i, −1−i for the negated one at i."""
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
        self._tables: dict[str, list[tuple[Any, dict[Any, list[tuple[Pattern, int]]]]]] = {}
        tables: dict[tuple[str, tuple[int, ...]], dict[Any, list[tuple[Pattern, int]]]] = {}
        for pattern in patterns:
            for i, item in [*enumerate(pattern.premises), *((-1, item) for item in pattern.negated)]:
                positions = tuple(item.constants)
                values = tuple(item.constants.values())
                table = tables.setdefault((item.premise.predicate, positions), {})
                started = table.setdefault(values[0] if len(values) == 1 else values, [])
                if i >= 0:
                    started.append((pattern, i))
        for (predicate, positions), table in tables.items():
            columns = itemgetter(*positions) if positions else _no_columns
            self._tables.setdefault(predicate, []).append((columns, table))

    def tests(self) -> dict[str, Callable[[Row], bool]]:
        """For each predicate whose facts can matter, whether one with this row can."""
        return {predicate: _test(tables) for predicate, tables in self._tables.items()}

    def started_by(self, predicate: str, row: Row) -> Iterator[tuple[Pattern, int]]:
        """The premises for which a fact may stand."""
        for columns, table in self._tables.get(predicate, ()):
            yield from table.get(columns(row), ())


def _test(tables: Sequence[tuple[Any, dict[Any, list[tuple[Pattern, int]]]]]) -> Callable[[Row], bool]:
    if len(tables) > 1:
        return lambda row: any(columns(row) in table for columns, table in tables)
    ((columns, table),) = tables
    return lambda row: columns(row) in table


def _no_columns(_: Row) -> Row:
    return ()


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

    def add(self, predicate: str, row: Row, time: int) -> tuple[bool, bool]:
        """Keep a fact; tells whether it is new, and whether it is the first of its predicate and time."""
        times = self._facts.setdefault(predicate, {})
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
        self._count = sum(len(rows) for times in self._facts.values() for rows in times.values())
        return [(name, time) for name, times in self._facts.items() for time in times]
