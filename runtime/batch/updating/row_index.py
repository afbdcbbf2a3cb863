"""The rows of predicates by values of some columns, kept from one change to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tidelog.plans.data.facts import Row
from tidelog.runtime.batch.demand.bindings import Pattern


class RowIndex:
    """Finds the rows of a predicate that have certain values; `rows_of` lists all of one, when it is first looked at.

    >>> index = RowIndex(lambda name: [("a", 1), ("b", 1)], {"p": 2})
    >>> list(index.like("p", (1,), (1,))), list(index.like("p", (0,), ("c",)))
    ([('a', 1), ('b', 1)], [])
    >>> index.add("p", ("c", 2))
    >>> list(index.like("p", (0,), ("c",)))
    [('c', 2)]
    """

    def __init__(self, rows_of: Callable[[str], Iterable[Row]], widths: Mapping[str, int]) -> None:
        self._rows_of = rows_of
        self._widths = widths
        self._rows: dict[str, dict[Row, None]] = {}
        self._groups: dict[str, dict[Pattern, dict[Row, dict[Row, None]]]] = {}

    def rows(self, name: str) -> dict[Row, None]:
        """All rows of a predicate, which are not to be changed."""
        rows = self._rows.get(name)
        if rows is None:
            rows = self._rows[name] = dict.fromkeys(self._rows_of(name))
        return rows

    def like(self, name: str, pattern: Pattern, key: Row) -> Iterable[Row]:
        """The rows that have these values in these columns, which are not to be changed meanwhile."""
        rows = self.rows(name)
        if not pattern:
            return rows
        if len(pattern) == self._widths.get(name):
            return (key,) if key in rows else ()
        patterns = self._groups.setdefault(name, {})
        groups = patterns.get(pattern)
        if groups is None:
            groups = patterns[pattern] = {}
            for row in rows:
                groups.setdefault(tuple([row[i] for i in pattern]), {})[row] = None
        return groups.get(key, ())

    def add(self, name: str, row: Row) -> None:
        """A row is there from now on."""
        rows = self.rows(name)
        if row in rows:
            return
        rows[row] = None
        for pattern, groups in self._groups.get(name, {}).items():
            groups.setdefault(tuple([row[i] for i in pattern]), {})[row] = None

    def discard(self, name: str, row: Row) -> None:
        """A row is there no more."""
        self.rows(name).pop(row, None)
        for pattern, groups in self._groups.get(name, {}).items():
            key = tuple([row[i] for i in pattern])
            group = groups.get(key)
            if group is not None:
                group.pop(row, None)
                if not group:
                    del groups[key]
