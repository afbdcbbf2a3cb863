"""What was told to have begun, in the state of an emission: since when, and that it goes on as it was told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidelog.plans.data.facts import Row

Begun = Mapping[str, Mapping[Row, int]]
"""For each output that is told by changes the rows that have begun and not ended, as was told, and when (encoded)."""


def begun_of(emission: Mapping[str, Any]) -> dict[str, dict[Row, int]]:
    """The rows that were told to have begun, from the state of an emission; empty where it tells no changes."""
    found: dict[str, dict[Row, int]] = {}
    for output, rows in emission.get("begun", {}).items():
        begins = {tuple(row): lo for row, lo in emission["open"][output]}
        for row, (lo, *_) in emission["coverage"][output]:
            begins[tuple(row)] = min(lo, begins.get(tuple(row), lo))
        found[output] = {tuple(row): begins[tuple(row)] for row in rows}
    return found


def begin_as_told(emission: Mapping[str, Any], output: str, row: Row, lo: int) -> bool:
    """Let what has begun have begun at another time, which was told; False where it has ended before that."""
    for entry in emission["coverage"][output]:
        if tuple(entry[0]) == row:
            bounds = entry[1]
            if lo > bounds[1]:
                return False
            bounds[0] = lo
            return True
    for entry in emission["open"][output]:
        if tuple(entry[0]) == row:
            entry[1] = lo
    return True


def go_on_from(emission: Mapping[str, Any], output: str, row: Row, lo: int) -> None:
    """Let a row hold from the begin that was told, where the new program knows nothing of that time yet."""
    emission["begun"][output].append(list(row))
    for entry in emission["open"][output]:
        if tuple(entry[0]) == row and entry[1] <= lo + 1:
            entry[1] = lo
            return
    stored = emission["coverage"][output]
    bounds = next((bounds for other, bounds in stored if tuple(other) == row), None)
    if bounds is None:
        stored.append([list(row), [lo, lo]])
    elif bounds[0] > lo + 1:
        bounds[:0] = [lo, lo]
    else:
        bounds[:2] = [lo, max(lo, bounds[1])]
