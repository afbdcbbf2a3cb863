"""What is presumed of what is negated: while nobody listened, what was there is not missed."""

from __future__ import annotations

from tidelog.operators.stores.coverage import Coverage, overlapping
from tidelog.plans.data.facts import Fact


def presumed(coverage: Coverage, known: int, until: int) -> list[Fact]:
    """For each row that holds behind `known`, that it does so from there on without a gap, up to `until`.

    >>> store = Coverage()
    >>> _ = store.insert([(("a",), 1, 6), (("b",), 1, 3)])
    >>> presumed(store, 4, 9)
    [(('a',), 5, 9)]
    """
    found: list[Fact] = []
    for row, bounds in coverage.rows.items():
        first = next(overlapping(bounds, known + 1, until), None)
        if first is not None:
            found.append((row, max(bounds[first], known + 1), until))
    return found
