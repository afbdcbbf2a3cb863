"""The cost of a fact does not depend on the length of the window that it falls into.

One ◇ or □ rule on the integer timeline, with 1,000 facts at each time point; CPU per fact with a window of 1,000 over that
with a window of 10, once both windows are full. "Recurring": the same 1,000 rows at each time point. "Coming and going":
each of 5,000 rows is there for 50 time points, then away for 200.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.measure import Run, cpu_by_turns, push_all
from tidelog.plans.data.facts import Record, Row

FACTS = 1_000
SHORT, LONG = 10, 1_000
TARGET = 1.2
TICKS = 50
REPEATS = 6
PRESENT, GROUPS = 50, 5

_PROGRAM = "timeline integer. output q. q(X) :- {operator}[0,{window}] p(X)."
_ROWS: list[Row] = [(f"row{i}",) for i in range(FACTS * GROUPS)]


def run() -> list[Figure]:
    """The ratio of the long window to the short one for each operator and each kind of rows, and the cost of a fact."""
    figures: list[Figure] = []
    for symbol, operator in (("◇", "diamondminus"), ("□", "boxminus")):
        for kind, rows_at in (("recurring", _recurring), ("coming and going", _coming_and_going)):
            windows = [_Window(_PROGRAM.format(operator=operator, window=window), rows_at) for window in (SHORT, LONG)]
            short, long = cpu_by_turns([window.next_ticks for window in windows], REPEATS)
            name = f"{symbol}, {kind} rows"
            figures += [
                Figure("windows", f"{name}, window {LONG:,} / window {SHORT}", long / short, target=TARGET),
                Figure("windows", f"{name}, window {LONG:,}, a fact", long / (TICKS * FACTS) * 1e6, "µs"),
            ]
    return figures


class _Window:
    """A session whose window is full, and the time that it has reached."""

    def __init__(self, program: str, rows_at: Callable[[int], list[Row]]) -> None:
        self._session = tidelog.Session(tidelog.compile(program))
        self._rows_at = rows_at
        self._now = 0
        while self._now <= LONG:
            self.next_ticks()()

    def next_ticks(self) -> Run:
        """Prepare the facts of the next `TICKS` time points."""
        ticks = range(self._now, self._now + TICKS)
        self._now += TICKS
        batches: list[list[Record]] = [[("p", row, tick, tick) for row in self._rows_at(tick)] for tick in ticks]
        return partial(push_all, self._session, batches)


def _recurring(tick: int) -> list[Row]:
    return _ROWS[:FACTS]


def _coming_and_going(tick: int) -> list[Row]:
    first = tick // PRESENT % GROUPS * FACTS
    return _ROWS[first : first + FACTS]


if __name__ == "__main__":
    show(run)
