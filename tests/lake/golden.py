"""What tables must hold, worked out point by point: it shares no code with what it checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from tidelog.connectors.outbox.outbox import OutboxRow

FAR = 4000
"""Beyond every time of the tests, as a number of half ticks: it stands for no end."""

Golden = dict[tuple[str, str, str], list[tuple[str | None, str | None, bool, bool]]]


def points(start: str | None, end: str | None, start_open: bool, end_open: bool, *, integer: bool = False) -> set[int]:
    """The half ticks of an interval of whole numbers: even ones are times, odd ones the gaps behind them."""
    low = -FAR if start is None else 2 * int(start) + int(start_open)
    high = FAR if end is None else 2 * int(end) - int(end_open)
    if integer:  # there is nothing between two times
        high += 0 if end is None else 1
    return set(range(low, high + 1))


def intervals(covered: set[int], *, integer: bool = False) -> list[tuple[str | None, str | None, bool, bool]]:
    """The maximal intervals of some half ticks, in order."""
    found = []
    for point in sorted(covered):
        if point - 1 not in covered:
            begin = point
        if point + 1 not in covered:
            found.append(_interval(begin, point - 1 if integer and point < FAR else point))
    return found


def _interval(low: int, high: int) -> tuple[str | None, str | None, bool, bool]:
    start = None if low <= -FAR else str(Fraction(low - low % 2, 2))
    end = None if high >= FAR else str(Fraction(high + high % 2, 2))
    return start, end, start is None or low % 2 == 1, end is None or high % 2 == 1


def golden(rows: Iterable[tuple[str, OutboxRow]]) -> Golden:
    """The maximal intervals of each predicate, node and arguments."""
    covered: dict[tuple[str, str, str], set[int]] = {}
    for node, row in rows:
        key = (row.predicate, node, row.arguments)
        covered.setdefault(key, set()).update(points(row.start, row.end, row.start_open, row.end_open))
    return {key: intervals(each) for key, each in covered.items()}


def stored(rows: Iterable[Any], predicate: str) -> Golden:
    """The rows of a table, as the golden ones are written; in order, so that what is there twice shows."""
    found: Golden = {}
    for row in rows:
        key = (predicate, row["node"], "[" + ",".join(row["arguments"]) + "]")
        found.setdefault(key, []).append((row["start"], row["end"], row["start_open"], row["end_open"]))
    for each in found.values():
        each.sort(key=_order)
    return found


def _order(interval: Sequence[Any]) -> tuple[float, bool]:
    return (float("-inf") if interval[0] is None else float(Fraction(interval[0])), interval[2])
