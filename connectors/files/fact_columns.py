"""Facts kept by predicate in columns: rows of shared constants, and flat arrays of begins and ends.

This is what makes millions of facts fit: a fact costs its row, a pointer and two machine integers. Its lifecycle: **add**
(batch after batch) → **refine** (whenever a time turns out to be finer) → **drain** (once: the memory goes as facts go out).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import le

from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.refining import refine_begin, refine_end
from tidelog.plans.data.timeline import LIMIT, NEG, POS
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.ports.interfaces import MOST_NAMES

_WORD = "q"
"""64 bits with a sign: encoded times, `NEG` and `POS` fit."""


class _Columns:
    """The facts of one predicate, in the order in which they came."""

    __slots__ = ("begins", "ends", "rows")

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.begins = array(_WORD)
        self.ends = array(_WORD)

    def order(self) -> Iterable[int]:
        """The facts' numbers by time: stores take what extends the last range much faster than what lies before it."""
        begins = self.begins
        if all(map(le, begins, memoryview(begins)[1:])):
            return range(len(begins))
        return sorted(range(len(begins)), key=begins.__getitem__)

    def farthest(self) -> int:
        """The largest distance from 0 of a finite begin or end."""
        times = chain(self.begins, self.ends)
        return max((abs(time) for time in times if NEG < time < POS), default=0)

    def refine(self, factor: int) -> None:
        self.begins = array(_WORD, [refine_begin(time, factor) for time in self.begins])
        self.ends = array(_WORD, [refine_end(time, factor) for time in self.ends])


class FactColumns:
    """Facts of any predicates, or of those in `only` alone: others are counted in `passed`, the first of them by name in
    `passed_names`, and not kept.

    >>> facts = FactColumns()
    >>> facts.add([("p", ("a",), 2, 2), ("p", ("a",), 0, 1)])
    >>> facts.refine(3)
    >>> list(facts.drain()), len(facts)
    ([('p', ('a',), 0, 5), ('p', ('a',), 6, 6)], 0)
    """

    def __init__(self, only: frozenset[str] | None = None) -> None:
        self.passed = 0
        self.passed_names: dict[str, int] = {}
        self._only = only
        self._count = 0
        self._columns: dict[str, _Columns] = {}
        self._constants: dict[str, str] = {}

    def __len__(self) -> int:
        return self._count

    @property
    def predicates(self) -> frozenset[str]:
        """Those of the facts that are kept."""
        return frozenset(self._columns)

    def add(self, records: Iterable[Record]) -> None:
        """Keep these facts."""
        columns, shared, only = self._columns, self._constants.setdefault, self._only
        for predicate, row, lo, hi in records:
            kept = columns.get(predicate)
            if kept is None:
                if only is not None and predicate not in only:
                    self._pass_over(predicate)
                    continue
                kept = columns[predicate] = _Columns()
            kept.rows.append(tuple([shared(value, value) if isinstance(value, str) else value for value in row]))
            kept.begins.append(lo)
            kept.ends.append(hi)
            self._count += 1

    def _pass_over(self, predicate: str) -> None:
        names = self.passed_names
        self.passed += 1
        if predicate in names or len(names) < MOST_NAMES:
            names[predicate] = names.get(predicate, 0) + 1

    def refine(self, factor: int) -> None:
        """Encode all times for the rational timeline whose ticks are `factor` times as many.

        DataError, with nothing changed, where that timeline cannot hold them.
        """
        farthest = max((columns.farthest() for columns in self._columns.values()), default=0)
        if farthest * factor > LIMIT:
            raise DataError("facts before it lie beyond what the timeline can hold at the resolution that it needs")
        for columns in self._columns.values():
            columns.refine(factor)

    def drain(self) -> Iterator[Record]:
        """Hand out all facts, predicate by predicate, each predicate's in order of their begins, and keep none."""
        self._constants = {}
        while self._columns:
            predicate, columns = self._columns.popitem()
            self._count -= len(columns.rows)
            rows, begins, ends = columns.rows, columns.begins, columns.ends
            for i in columns.order():
                row, rows[i] = rows[i], ()
                lo, hi = begins[i], ends[i]
                yield predicate, row, lo, lo if lo == hi else hi  # one number for both ends of a point
