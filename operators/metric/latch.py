"""Latch: since without an end over a negation, in one step: what one predicate switches on holds until another one does."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, Final

from tidelog.operators.operator import Operator, matched, whole_row
from tidelog.operators.stores.by_time import ByTime
from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.presuming import presumed
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import POS

NEGATIVE: Final = 0
RIGHT: Final = 1


class Latch(Operator):
    """`M' ← ¬N S[0,∞) M`; what it switches on stands (`operators/stores/notices.py`).

    Intervals: M's, and from the end of each of them on as long as N has not held in between; on integers one time further,
    since nothing lies between. Port 0 is N, port 1 is M; `key` takes from a row of M what the negated atom mentions, and
    `match` the same from a row of N, or None where its constants differ. A row stands once M has ended, and until N begins.
    State: the rows that stand, by key; N, as far as it may end what comes; and when it is the turn of each of M's ends, and
    of each begin of N that concerns a standing row, which is as soon as N is known before it. Final: as far as both ports.

    >>> op = Latch(touch=1, key=lambda row: row, match=lambda row: row)
    >>> op.receive(1, [(("a",), 2, 2)], 1), op.receive(0, [], 1), op.told_notices().begun
    ([(('a',), 2, 3)], [], {('a',): 4})
    >>> op.receive(0, [(("a",), 7, 7)], 6), op.told_notices().ended
    ([], [(('a',), 4, 7)])
    """

    __slots__ = ("_key", "_match", "_touch", "_turns", "held", "negative")

    settles_by_port = False

    def __init__(self, touch: int, key: Callable[[Row], Row], match: Callable[[Row], Row | None]) -> None:
        super().__init__(2)
        self._touch = touch
        self._key = key
        self._match = match
        self._turns: ByTime[Row] = ByTime()  # by twice M's end or N's begin, and the port: rows, or keys
        # key → standing row → since when, and from when on it matters that N holds
        self.held: dict[Row, dict[Row, tuple[int, int]]] = {}
        self.negative = Coverage()

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        out: list[Fact] = []
        turns = self._turns
        if port == NEGATIVE:
            negated = matched(self._match, facts)
            self.negative.insert(negated)
            held = self.held
            for key, lo, _ in negated:
                if key in held:
                    turns.add(2 * lo + NEGATIVE, key)
            return out
        touch = self._touch
        for fact in facts:
            row, lo, hi = fact
            if hi >= POS:
                out.append(fact)
            else:
                out.append((row, lo, hi + touch))
                turns.add(2 * hi + RIGHT, row)
        return out

    def settle(self, port: int) -> list[Fact]:
        known, right = self.frontiers
        out: list[Fact] = []
        for turn, rows in self._turns.take(2 * (known + 1) + RIGHT):
            if turn & 1 == NEGATIVE:
                for key in rows:
                    if key in self.held:
                        self._end(key, turn >> 1, out)
            else:
                self._open(rows, turn >> 1, out)
        if known >= POS:
            for held in self.held.values():
                for row, (since, _) in held.items():
                    self.notices.end(row, since, POS, out)
            self.held.clear()
        self.frontier = known if known < right else right
        return out

    def tidy(self) -> None:
        self.negative.forget(self.frontier)

    def _end(self, key: Row, time: int, out: list[Fact]) -> None:
        """N begins: the standing rows end there, but those of which M ends later, and N before it matters to them."""
        until = time
        if bounds := self.negative.rows.get(key):
            at = bisect_left(bounds, time) & ~1  # the first range that ends then or later
            if at < len(bounds) and bounds[at] <= time:
                until = bounds[at + 1]
        kept: dict[Row, tuple[int, int]] = {}
        for row, opened in self.held.pop(key, {}).items():
            since, start = opened
            if start > until:
                kept[row] = opened
                continue
            self.notices.end(row, since, self._last(max(time, start)), out)
        if kept:
            self.held[key] = kept

    def _open(self, rows: Sequence[Row], time: int, out: list[Fact]) -> None:
        """M ends: each row goes on until N begins, unless it holds already where it first matters."""
        negative, held, key_of, known = self.negative.rows, self.held, self._key, self.frontiers[NEGATIVE]
        begin, start = time + self._touch + 1, time + 1 if self._touch else time | 1
        is_own_key = key_of is whole_row
        for row in rows:
            key, end = row if is_own_key else key_of(row), POS
            bounds = negative.get(key)
            if bounds and bounds[-1] >= start:
                end = bounds[bisect_left(bounds, start) & ~1]
                if end <= start:
                    continue
            if end <= known + 1 or known >= POS:
                out.append((row, begin, self._last(end)))
                continue
            if end < POS:
                self._turns.add(2 * end + NEGATIVE, key)
            opened = held.setdefault(key, {}).get(row)
            if opened is None:
                held[key][row] = begin, start
                self.notices.begin(row, begin)
                continue
            if begin < opened[0]:  # M is known later than N
                out.append((row, begin, opened[0] - 1))
            if start > opened[1]:
                held[key][row] = opened[0], start

    def _last(self, time: int) -> int:
        """The last time at which it does not matter that N holds from `time` on: nothing lies between M and there."""
        return time if self._touch or time >= POS else time - 1 + (time - 1 & 1)

    def presume(self, until: int) -> None:
        """What of N is known to hold behind its frontier does so without a gap, up to `until`."""
        self.negative.insert(presumed(self.negative, self.frontiers[NEGATIVE], until))

    def known(self) -> int:
        return self.frontiers[NEGATIVE]

    def deadline(self) -> tuple[int, int] | None:
        turn = self._turns.first()
        due = POS if turn is None else (turn >> 1) - 1
        if self.pieces is not None and self.pieces.standing:
            due = min(due, self.frontiers[NEGATIVE] + 1)
        return (NEGATIVE, due) if due < POS else None

    def standing_rows(self) -> list[tuple[Row, int]]:
        return [(row, since) for rows in self.held.values() for row, (since, _) in rows.items()]

    def entries(self) -> int:
        stored = len(self._turns) + sum(map(len, self.held.values())) + self.negative.entries()
        return stored if self.pieces is None else stored + self.pieces.entries()

    def state(self) -> dict[str, Any]:
        return {
            "turns": [[turn >> 1, turn & 1, list(row)] for turn, rows in self._turns.in_order() for row in rows],
            "held": [[list(row), *opened] for rows in self.held.values() for row, opened in rows.items()],
            "negative": self.negative.snapshot(),
        }

    def load(self, state: dict[str, Any]) -> None:
        self._turns.clear()
        for time, port, row in state["turns"]:
            self._turns.add(2 * time + port, tuple(row))
        self.held.clear()
        for row, since, start in state["held"]:
            self.held.setdefault(self._key(tuple(row)), {})[tuple(row)] = since, start
        self.negative.restore(state["negative"])
