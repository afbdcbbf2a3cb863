"""What join, since, negation and recursion cost, and that the cost follows what is new, not what is stored.

Each program runs in a session whose state is filled with rows that stay stored but that the measured facts do not touch;
then again with twice as many rows stored. A ratio near 1 says that the stored rows cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.measure import Run, cpu_by_turns, push_all
from tidelog.plans.data.facts import Record

STORED = 20_000
TICKS, ROWS = 20, 100
REPEATS = 7
FOREVER = 1_000_000

Facts = Callable[[str, int, int], list[Record]]
"""The facts of a row (its name, how long they hold) that begin at a time."""


def run() -> list[Figure]:
    """For each program the cost of a fact, and the ratio of the costs with twice as many rows stored."""
    figures: list[Figure] = []
    for name, (program, facts) in _PROGRAMS.items():
        states = [_State(program, facts, stored) for stored in (STORED, 2 * STORED)]
        once, twice = cpu_by_turns([state.next_ticks for state in states], REPEATS)
        figures += [
            Figure("operators", f"{name}, a fact", once / (states[0].pushed) * 1e6, "µs"),
            Figure("operators", f"{name}, {2 * STORED:,} rows stored / {STORED:,}", twice / once),
        ]
    return figures


class _State:
    """A session with so many rows stored, and the time that it has reached."""

    def __init__(self, program: str, facts: Facts, stored: int) -> None:
        self._session = tidelog.Session(tidelog.compile(f"timeline integer. {program}"))
        self._facts = facts
        self._now = 1
        self.pushed = 0
        self._session.push_records([fact for i in range(stored) for fact in facts(f"stored{i}", 0, FOREVER)])
        self._session.pull_records()

    def next_ticks(self) -> Run:
        """Prepare the facts of the next `TICKS` time points."""
        ticks = range(self._now, self._now + TICKS)
        self._now += TICKS
        batches = [[fact for i in range(ROWS) for fact in self._facts(f"row{i}", tick, 0)] for tick in ticks]
        self.pushed = sum(map(len, batches))
        return partial(push_all, self._session, batches)


def _of(*predicates: str) -> Facts:
    """Facts of these predicates, each about the row alone."""
    return lambda name, begin, length: [(predicate, (name,), begin, begin + length) for predicate in predicates]


def _keyed(name: str, begin: int, length: int) -> list[Record]:
    """Two rows under one key, on either side of a join."""
    left: list[Record] = [("p", (name, side), begin, begin + length) for side in "ab"]
    return left + [("q", (name, side), begin, begin + length) for side in "ab"]


def _blocked(name: str, begin: int, length: int) -> list[Record]:
    """A row that holds at once, and what keeps every other such row from counting, for longer."""
    at_once: list[Record] = [("p", (name,), begin, begin)]
    return [*at_once, ("q", (name,), begin, begin + length)] if name[-1] in "02468" else at_once


def _path(name: str, begin: int, length: int) -> list[Record]:
    """The edges of a path through four nodes."""
    return [("edge", (f"{name}-{i}", f"{name}-{i + 1}"), begin, begin + length) for i in range(3)]


_PROGRAMS: dict[str, tuple[str, Facts]] = {
    "join on the row": ("out(X) :- p(X), q(X).", _of("p", "q")),
    "join on a key": ("out(X, Y) :- p(K, X), q(K, Y).", _keyed),
    "since": ("out(X) :- p(X) since[0,inf) q(X).", _of("p", "q")),
    "negation": ("out(X) :- p(X), not q(X).", _blocked),
    "recursion": ("path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z).", _path),
}

if __name__ == "__main__":
    show(run)
