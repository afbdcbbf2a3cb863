"""Facts that pass by: facts that lie wholly behind the frontier, beside what goes on holding.

What spans the frontier is gone through in time, for it may yet change. A fact whose end is known by the time that its begin
is has no such turns: it **passes**. All that pass by one move of the frontier meet at once what has held meanwhile.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from tidelog.operators.standing.sweeping import Place, Sweeping
from tidelog.operators.stores.by_time import ByTime
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS


class Meeting(Sweeping):
    """Going through time, with facts that pass. State, beyond that of `Sweeping`: the facts whose begin is to come."""

    __slots__ = ("_fresh", "_waiting", "ended")

    def __init__(self, ports: int, slowest: int) -> None:
        super().__init__(ports, slowest)
        self._fresh: list[list[Fact]] = [[] for _ in range(ports)]  # facts of the last messages, as they came
        self._waiting: list[ByTime[Fact]] = [ByTime() for _ in range(ports)]  # facts that wait for their begin
        self.ended: list[list[Fact]] = [[] for _ in range(ports)]  # what held meanwhile, and does no more

    @abstractmethod
    def let_pass(self, passing: Sequence[Sequence[Fact]], out: list[Fact]) -> None:
        """Tell what follows from the facts of each port that pass, with what has held meanwhile: `holding` and `ended`."""

    def take_facts(self, port: int, facts: Sequence[Fact]) -> None:
        """Take facts whose rows are narrowed, until it is known whether they pass."""
        self._fresh[port] += facts

    def enter(self, place: Place) -> None:
        """A row holds, from the time on that is gone through."""
        port, row = place
        self.holding[port][row] = [self.now, POS]

    def leave(self, place: Place) -> None:
        """A row holds no more at the time that is gone through."""
        port, row = place
        since, _ = self.holding[port].pop(row)
        if self.now > NEG:  # else nothing passes: it is part of a loop
            self.ended[port].append((row, since, self.now - 1))

    def go_through(self, known: int, out: list[Fact]) -> None:
        passing = [
            self._passing(port, known) if fresh or waiting.at else []
            for port, (fresh, waiting) in enumerate(zip(self._fresh, self._waiting, strict=True))
        ]
        super().go_through(known, out)
        if any(passing):
            self.let_pass(passing, out)
        for ended in self.ended:
            ended.clear()

    def _passing(self, port: int, known: int) -> list[Fact]:
        """The facts at a port that pass by a move of the frontier; what spans it is taken, and all others wait."""
        fresh, waiting, before = self._fresh[port], self._waiting[port], self._known
        reached = waiting.reached(known)
        if fresh:
            reached += [fact for fact in fresh if before < fact[2] and fact[1] <= known]
            for fact in fresh:
                if fact[1] > known:
                    waiting.add(fact[1], fact)
            fresh.clear()
        if not reached:
            return reached
        if before > NEG and min([lo for _, lo, _ in reached]) <= before:
            reached = [(row, max(lo, before + 1), hi) for row, lo, hi in reached]
        if max([hi for _, _, hi in reached]) > known:
            self._take_spanning(port, [fact for fact in reached if fact[2] > known])
            reached = [fact for fact in reached if fact[2] <= known]
        return self._less_spells(port, reached) if self._spells[port] else reached

    def _take_spanning(self, port: int, facts: Sequence[Fact]) -> None:
        for row, lo, hi in facts:
            self._take((port, row), lo, hi)

    def _less_spells(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        """The facts beside what is gone through of their rows; the others lengthen that."""
        spells, passing = self._spells[port], list[Fact]()
        whole: Sequence[Any] = facts  # as in `Coverage.insert`
        for fact in whole:
            taken: Fact = fact
            row, lo, hi = taken
            spell = spells.get(row)
            if spell is None or spell.leaves(lo, hi):
                passing.append(fact)
            else:
                self._take_spanning(port, [taken])
        return passing

    def _wait(self) -> None:
        """Let the facts of the last messages wait for their begin."""
        known = self._known
        for fresh, waiting in zip(self._fresh, self._waiting, strict=True):
            for fact in fresh:
                if fact[2] > known:
                    waiting.add(max(fact[1], known + 1), fact)
            fresh.clear()

    def deadline(self) -> tuple[int, int] | None:
        self._wait()
        due = [first for waiting in self._waiting if (first := waiting.first()) is not None]
        if self._turns:
            due.append(self._turns[0][0])
        return (self._slowest, min(due)) if due else None

    def entries(self) -> int:
        return super().entries() + sum(map(len, self._waiting)) + sum(map(len, self._fresh))

    def state(self) -> dict[str, Any]:
        self._wait()
        waiting = [
            [[time, [[list(row), lo, hi] for row, lo, hi in facts]] for time, facts in waiting.in_order()]
            for waiting in self._waiting
        ]
        return {**super().state(), "waiting": waiting}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        for waiting, stored in zip(self._waiting, state["waiting"], strict=True):
            for time, facts in stored:
                for row, lo, hi in facts:
                    waiting.add(time, (tuple(row), lo, hi))
