"""The rows of predicates by values of some columns, kept from one change to the next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from operator import itemgetter

from tidelog.plans.data.facts import Row
from tidelog.runtime.batch.demand.bindings import Pattern

Finder = Callable[[Row], Collection[Row]]
"""The rows that have some values, which are not to be changed meanwhile."""
_NONE: Mapping[Row, None] = {}


def picker(places: Pattern) -> Callable[[Row], Row]:
    """What takes the values at some places of a row."""
    if not places:
        return lambda _: ()
    if len(places) == 1:
        place = places[0]
        return lambda row: (row[place],)
    return itemgetter(*places)


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

    def like(self, name: str, pattern: Pattern, key: Row) -> Collection[Row]:
        """The rows that have these values in these columns, which are not to be changed meanwhile."""
        return self.finder(name, pattern)(key)

    def finder(self, name: str, pattern: Pattern) -> Finder:
        """What `like` does, for one predicate and some columns: it stays right as rows come and go."""
        rows = self.rows(name)
        if not pattern:
            return lambda _: rows
        if len(pattern) == self._widths.get(name):
            return lambda key: (key,) if key in rows else ()
        patterns = self._groups.setdefault(name, {})
        groups = patterns.get(pattern)
        if groups is None:
            groups = patterns[pattern] = {}
            pick = picker(pattern)
            for row in rows:
                groups.setdefault(pick(row), {})[row] = None
        found = groups.get
        return lambda key: found(key, _NONE)

    def size(self, name: str, pattern: Pattern) -> float:
        """How many rows have the same values in these columns, in the mean."""
        rows = self.rows(name)
        if not pattern or len(pattern) == self._widths.get(name):
            return 1 if pattern else len(rows)
        groups = self._groups.get(name, {}).get(pattern)
        return len(rows) / max(1, len(set(map(picker(pattern), rows)) if groups is None else groups))

    def add(self, name: str, row: Row) -> None:
        """A row is there from now on."""
        rows = self.rows(name)
        if row in rows:
            return
        rows[row] = None
        for pattern, groups in self._groups.get(name, {}).items():
            key = tuple([row[i] for i in pattern])
            group = groups.get(key)
            if group is None:
                groups[key] = {row: None}
            else:
                group[row] = None

    def discard(self, name: str, gone: Iterable[Row]) -> None:
        """Some rows are there no more."""
        rows = self.rows(name)
        for row in gone:
            rows.pop(row, None)
        for pattern, groups in self._groups.get(name, {}).items():
            pick = picker(pattern)
            for row in gone:
                key = pick(row)
                group = groups.get(key)
                if group is not None:
                    group.pop(row, None)
                    if not group:
                        del groups[key]
