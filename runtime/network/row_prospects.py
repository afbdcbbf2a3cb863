"""Prospects at work for single rows: facts whose partner is absent are dropped before an operator sees them.

Looking at each fact costs something, so a gate that finds little to spare stops looking for a while, and so does the sleep
that it asks, if no other gate does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidelog.operators.stores.amortised import LIMITS
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.guards import RowBlocker, Sleeper


class Seen:
    """What all sleeps know of the stream: its frontier, the last time at which a fact arrived, its start if it is known."""

    __slots__ = ("frontier", "now", "start")

    def __init__(self) -> None:
        self.frontier = self.now = NEG
        self.start: int | None = None


class RowSleep:
    """When each row of a sleeper's predicate was last there: all that are not listed, at `pruned` at the latest."""

    __slots__ = ("_clipped", "_limit", "askers", "latest", "predicate", "pruned", "seen", "shortest")

    def __init__(self, sleeper: Sleeper, seen: Seen) -> None:
        (self.predicate,) = sleeper.predicates
        self.seen = seen
        self.shortest = sleeper.shortest
        self._clipped = sleeper.clipped
        self._limit = LIMITS.round
        self.askers = 0
        self.pruned = NEG
        self.latest: dict[Row, int] = {}

    @property
    def known(self) -> int:
        """Up to when it is known which rows were there."""
        seen = self.seen
        is_far_enough = not self._clipped or (seen.start is not None and seen.frontier >= seen.start)
        return seen.frontier if is_far_enough else NEG

    def observe(self, facts: Sequence[Fact], last: int) -> None:
        """Take note of the facts of a delivery; `last` is when any row was last there."""
        if not self.askers:
            self.pruned = last
            return
        latest = self.latest
        for row, _, hi in facts:
            if hi > latest.get(row, NEG):
                latest[row] = hi
        if len(latest) > self._limit:
            self._prune()

    def leave(self) -> None:
        """A gate does not ask any more; without any, rows are not told apart."""
        self.askers -= 1
        if not self.askers:
            self.pruned = max([self.pruned, *self.latest.values()])
            self.latest.clear()

    def _prune(self) -> None:
        known = self.known
        gone = [row for row, hi in self.latest.items() if hi < known]
        for row in gone:
            self.pruned = max(self.pruned, self.latest.pop(row))
        self._limit = max(LIMITS.round, 2 * len(self.latest))

    def snapshot(self) -> dict[str, Any]:
        latest = [[list(row), hi] for row, hi in self.latest.items()]
        return {"latest": latest, "pruned": self.pruned}

    def restore(self, data: dict[str, Any]) -> None:
        self.latest = {tuple(row): hi for row, hi in data["latest"]}
        self.pruned = data["pruned"]


class RowGate:
    """Lets go of single facts while the row that they would meet is absent.

    A fact of which this would be known if the row were absent at the fact's begin waits for the next frontier, no longer.
    One that `gives_way` lets all go on.
    """

    __slots__ = (
        "_blocker",
        "_known",
        "_pause",
        "_seen",
        "_sleep",
        "_spared",
        "_waiting",
        "dropped",
        "gives_way",
        "held",
        "partner",
    )

    def __init__(self, blocker: RowBlocker, sleep: RowSleep) -> None:
        self._blocker, self._sleep = blocker, sleep
        self.partner = _partner(blocker)
        self._waiting: list[Fact] = []
        self._known = self.held = NEG
        self._pause = self._seen = self._spared = self.dropped = 0
        self.gives_way = False
        sleep.askers += 1

    def take(self, facts: Sequence[Fact], frontier: int) -> tuple[Sequence[Fact], int]:
        """What of a message, and of those that waited, goes on, and the frontier behind it."""
        self.held = max(self.held, frontier)
        if self.gives_way:
            waiting, self._waiting = self._waiting, []
            return [*waiting, *facts], self.held
        if self._pause:
            self._rest(len(facts))
            return facts, self.held
        passed = self._judge_waiting()
        for fact in facts:
            verdict = self._judge(fact)
            if verdict is None:
                self._waiting.append(fact)
            elif verdict:
                self._spared += 1
            else:
                passed.append(fact)
        self._weigh(len(facts), passed)
        return passed, min([self.held, *(lo - 1 for _, lo, _ in self._waiting)])

    def _judge_waiting(self) -> list[Fact]:
        """Once more is known, those that waited are dropped, or go on."""
        if self._sleep.known <= self._known and self._waiting:
            return []
        self._known = self._sleep.known
        waiting, self._waiting = self._waiting, []
        passed = [fact for fact in waiting if not self._judge(fact)]
        self._spared += len(waiting) - len(passed)
        return passed

    def _judge(self, fact: Fact) -> bool | None:
        """Whether a fact is of no use; None if that may turn out with the next frontier."""
        row, lo, hi = fact
        sleep, blocker = self._sleep, self._blocker
        latest = sleep.latest.get(self.partner(row), sleep.pruned)
        known = sleep.known
        if latest >= known or lo <= latest + blocker.low:
            return False
        if hi <= known + blocker.high or known >= POS:
            return True
        may_wait = lo > known and hi <= lo + blocker.high and sleep.seen.now <= known + sleep.shortest
        return None if may_wait else False

    def _weigh(self, count: int, passed: list[Fact]) -> None:
        """Now and then, see whether it is worth looking at each fact."""
        if self._sleep.known <= self._sleep.pruned:
            return  # it is not known yet which rows are there
        self._seen += count
        if self._seen < LIMITS.sample:
            return
        if 4 * self._spared < self._seen:
            self._pause = LIMITS.patience
            passed += self._waiting
            self._waiting = []
            self._sleep.leave()
        self.dropped += self._spared
        self._seen = self._spared = 0

    def _rest(self, count: int) -> None:
        self._pause = max(0, self._pause - count)
        if not self._pause:
            self._sleep.askers += 1

    @property
    def awaits_frontier(self) -> bool:
        """Whether facts wait here for the next frontier."""
        return bool(self._waiting)

    def spared(self) -> int:
        """How many facts no operator has seen."""
        return self.dropped + self._spared

    def snapshot(self) -> dict[str, Any]:
        waiting = [[list(row), lo, hi] for row, lo, hi in self._waiting]
        numbers = [self._known, self.held, self._pause, self._seen, self._spared, self.dropped]
        return {"waiting": waiting, "numbers": numbers}

    def restore(self, data: dict[str, Any]) -> None:
        self._waiting = [(tuple(row), lo, hi) for row, lo, hi in data["waiting"]]
        was_paused = bool(self._pause)
        self._known, self.held, self._pause, self._seen, self._spared, self.dropped = data["numbers"]
        self._sleep.askers += was_paused - bool(self._pause)


def _partner(blocker: RowBlocker) -> Callable[[Row], Row]:
    """What gives the row to be met."""
    if blocker.columns is None:
        return lambda row: row
    columns = [(-1 if position is None else position, value) for position, value in blocker.columns]
    if all(value is None for _, value in columns):
        return lambda row: tuple([row[i] for i, _ in columns])
    return lambda row: tuple([row[i] if value is None else value for i, value in columns])
