"""Spells: what comes at a port that takes notices, in the order in which it begins, each time once."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import Any

from tidelog.operators.operator import behind, shift
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.coverage import Coverage, overlapping
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS


def earlier(due: tuple[int, int] | None, begin: int | None) -> tuple[int, int] | None:
    """The deadline of an operator with one port, at which something may begin before it is due."""
    return due if begin is None or (due is not None and due[1] <= begin) else (0, begin)


class Spells:
    """The facts at a port, and the rows that go on, handed on where they begin; of the latter it is told when they end.

    What is handed on is disjoint, whatever comes twice. A row that goes on is no fact beside that. What is new in the last
    message, `fresh`, is also told at once, with what of it lies up to `back` before the frontier. State: what of each row
    lies beyond that; the rows that go on, and those that are handed on to beyond the frontier.

    >>> spells = Spells()
    >>> spells.hear(Notices([(("a",), 3)])), spells.take([(("b",), 5, 9)]), spells.begun(4), spells.begun(6)
    ([], None, ([], [(('a',), 3)]), ([(('b',), 5, 9)], []))
    >>> spells.hear(Notices([(("b",), 7)], [(("a",), 3, 8)])), spells.begun(9), spells.begun(10)
    ([(('a',), 8)], ([], []), ([], [(('b',), 10)]))
    """

    __slots__ = ("_ahead", "_back", "_coming", "_count", "_coverage", "_going", "_known", "_most", "_until", "fresh")

    def __init__(self, back: int = 0) -> None:
        self._back = back
        self.fresh: list[Fact] = []
        self._known = NEG  # all up to here has been handed on
        self._coverage = Coverage()
        self._coming: list[tuple[int, int, Row, int | None]] = []  # begin, number, row, and its end, but where it will go on
        self._count = 0  # rows need not be comparable
        self._ahead: dict[Row, int] = {}  # rows that will go on, and from when on
        self._going: dict[Row, int] = {}  # rows that go on
        self._until: dict[Row, int] = {}  # until when rows have been handed on, if that is beyond the frontier
        self._most = LIMITS.spare

    def take(self, facts: Sequence[Fact]) -> None:
        """Take facts."""
        self._expect(list(facts))

    def hear(self, notices: Notices) -> list[tuple[Row, int]]:
        """Take notices; returns the rows that went on, and do so no longer, with their ends."""
        begun = dict(notices.begun)
        for row, _, _ in notices.ended:
            self._ahead.pop(row, None)
        self._expect(notices.ranges())
        ended = [(row, self._end(row)) for row, _, _ in notices.ended if row in self._going]
        ended = [(row, end) for row, end in ended if begun.get(row, POS) > end + 1]
        for row, end in ended:
            del self._going[row]
            self._until[row] = end
        for row, lo in begun.items():
            if row not in self._going:
                self._open(row, lo)
        return ended

    def _expect(self, facts: list[Fact]) -> None:
        known = self._known
        self.fresh = self.insert(facts)
        for row, lo, hi in self.fresh:
            if hi > known:
                self._await(row, lo if lo > known else known + 1, hi)

    def insert(self, facts: list[Fact]) -> list[Fact]:
        """What is new in some coverage of rows, with what holds of open ones; nothing of it is handed on."""
        return self._coverage.insert(behind(shift(self._known, -self._back - 1), facts))

    def _await(self, row: Row, lo: int, hi: int | None) -> None:
        self._count += 1
        heappush(self._coming, (lo, self._count, row, hi))

    def _end(self, row: Row) -> int:
        """When a row ends that has held as far as is known: where the facts end that have come for it."""
        bounds = self._coverage.rows.get(row, [])
        return max((bounds[i + 1] for i in overlapping(bounds, self._known, self._known)), default=self._known)

    def _open(self, row: Row, lo: int) -> None:
        begin = lo if self._known <= NEG else max(lo, self._known + 1, self._until.get(row, NEG) + 1)
        if begin <= POS:
            self._ahead[row] = begin
            self._await(row, begin, None)

    def begun(self, known: int) -> tuple[list[Fact], list[tuple[Row, int]]]:
        """What begins up to a frontier, in that order: facts, and rows that go on, each with its begin."""
        coming, out, going = self._coming, list[Fact](), list[tuple[Row, int]]()
        while coming and coming[0][0] <= known:
            lo, _, row, hi = heappop(coming)
            if hi is not None:
                self._hand_on(row, lo, hi, known, out)
            elif self._ahead.get(row) == lo:
                self._going[row] = self._ahead.pop(row)
                going.append((row, lo))
        self._known = known
        self._coverage.forget(shift(known, -self._back))
        if len(self._until) > 2 * self._most:
            self._until = {row: until for row, until in self._until.items() if until > known}
            self._most = max(LIMITS.spare, len(self._until))
        return out, going

    def _hand_on(self, row: Row, lo: int, hi: int, known: int, out: list[Fact]) -> None:
        """A fact begins, which may be part of what goes on, or be followed by that."""
        if row in self._until:
            lo = max(lo, self._until[row] + 1)
        if row in self._going or lo > hi:
            return
        since = self._ahead.get(row)
        if since is not None and since <= known:
            hi = min(hi, since - 1)
        elif since is not None and since <= hi:
            self._ahead[row] = hi + 1
            self._await(row, hi + 1, None)
        if lo <= hi:
            out.append((row, lo, hi))
            if hi > known:
                self._until[row] = hi

    def deadline(self) -> int | None:
        """The least frontier up to which something begins; None if nothing is known to begin."""
        return self._coming[0][0] if self._coming else None

    def has_open(self) -> bool:
        """Whether a row goes on, or is to."""
        return bool(self._going or self._ahead)

    def entries(self) -> int:
        """How many ranges are stored."""
        return self._coverage.entries() + len(self._coming) + len(self._going) + len(self._until)

    def state(self) -> dict[str, Any]:
        """All of it as plain data."""
        coming = [[lo, list(row), hi] for lo, _, row, hi in sorted(self._coming, key=itemgetter(0, 1))]
        ahead, going, until = (
            [[list(row), time] for row, time in times.items()] for times in (self._ahead, self._going, self._until)
        )
        rows = self._coverage.snapshot()
        return {"known": self._known, "rows": rows, "coming": coming, "ahead": ahead, "going": going, "until": until}

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state that `state` gave."""
        self._known = state["known"]
        self._coverage.restore(state["rows"])
        self._coming = [(lo, i, tuple(row), hi) for i, (lo, row, hi) in enumerate(state["coming"])]
        heapify(self._coming)
        self._count = len(self._coming)
        self._ahead, self._going, self._until = (
            {tuple(row): time for row, time in state[name]} for name in ("ahead", "going", "until")
        )
        self._most = max(LIMITS.spare, len(self._until))
