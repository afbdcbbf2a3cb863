"""Erode: □, the times at which a fact has held (or will hold) for the whole of a stretch."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from tidelog.operators.operator import Operator, behind, shift
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.coverage import Bounds, Coverage, merge, overlapping
from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.pieces import without
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS, Metric


class Erode(Operator):
    """`M' ← □ϱ M`, `M' ← □⁺ϱ M`, and clipped, LARS's `always M in [n]`.

    Intervals: a maximal run over ϱ₁ gives ϱ₁ ⊕ ϱ = {t | t − ϱ ⊆ ϱ₁} (future: t + ϱ ⊆ ϱ₁); as a run grows, only what is
    new is sent, whatever ϱ's length. Clipped, a run that reaches back to the stream's start counts as endless to the
    left, from the start on: port 1 brings the start as a fact. What stands gives what stands once it has held for the whole
    of ϱ, not where its run begins: it may end before. State: the runs that may still grow, one or two ranges a row; the rows
    that stand, with the begins of their runs, and those that are told to stand. Final: ϱ⁻ beyond the input's frontier
    (future: ϱ⁺ behind it); far-sighted, ϱ⁺ beyond it while nothing holds there.

    >>> erode = Erode(Metric(0, 4), future=False)  # □[0,2] at resolution 1
    >>> erode.receive(0, [(("a",), 2, 5)], 5), erode.receive(0, [(("a",), 6, 8)], 8)
    ([], [(('a',), 6, 8)])
    >>> erode.receive(0, [], 14, Notices([(("b",), 9)])), erode.told_notices().begun
    ([], {('b',): 13})
    """

    __slots__ = (
        "_ahead",
        "_coming",
        "_count",
        "_high",
        "_high_open",
        "_is_plain",
        "_latest",
        "_low",
        "_low_open",
        "_standing",
        "_told",
        "clipped",
        "coverage",
        "start",
    )

    def __init__(self, metric: Metric, future: bool, clipped: bool = False) -> None:
        super().__init__(2 if clipped else 1)
        if future:
            self._low, self._low_open = -metric.a, metric.left_open
            self._high, self._high_open = -metric.b, metric.right_open
        else:
            self._low, self._low_open = metric.b, metric.right_open
            self._high, self._high_open = metric.a, metric.left_open
        self.clipped = clipped
        self.start: int | None = None
        self._is_plain = not (clipped or self._low_open or self._high_open or self._low >= POS or self._high <= NEG)
        self.coverage = Coverage()
        self._latest = NEG  # the end of the last run
        self._standing: dict[Row, tuple[int, int]] = {}  # since when a row stands, and since when its run holds
        self._told: dict[Row, int] = {}  # the rows that are told to stand, and since when
        self._ahead = Coverage()  # what facts have given of these and was told, beyond the frontier
        self._coming: list[tuple[int, int, Row]] = []  # when rows that stand will have lasted long enough
        self._count = 0  # rows need not be comparable

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if port == 1:
            return self._begin(facts[0][1])
        out: list[Fact] = []
        if self._standing:
            facts = self._beside(facts, out)
        rows, fresh, latest, low, high = self.coverage.rows, self.coverage.fresh, self._latest, self._low, self._high
        is_plain = self._is_plain
        for row, lo, hi in facts:
            if hi > latest:  # noqa: PLR1730 - a call would cost more than all the rest
                latest = hi
            bounds = rows.get(row)
            if bounds is None:
                rows[row] = [lo, hi]
                fresh.append(row)
                self._send(row, lo, hi, (), out)
            elif lo == bounds[-1] + 1:
                before, end = bounds[-2], bounds[-1]
                bounds[-1] = hi
                if is_plain and before > NEG and hi < POS:
                    if end - before >= low - high:  # what ended here was long enough already
                        out.append((row, lo + high, hi + high))
                    elif hi - before >= low - high:
                        out.append((row, before + low, hi + high))
                else:
                    self._send(row, before, hi, (before, end), out)
            elif lo > bounds[-1]:
                bounds += (lo, hi)
                self._send(row, lo, hi, (), out)
            else:
                self._merge(row, bounds, lo, hi, out)
        self._latest = latest
        self.coverage.grown += len(facts)
        return out

    def _merge(self, row: Row, bounds: Bounds, lo: int, hi: int, out: list[Fact]) -> None:
        first = end = bisect_left(bounds, lo - 1) & ~1
        while end < len(bounds) and bounds[end] <= hi + 1:
            end += 2
        before = bounds[first:end]
        run_lo, run_hi = merge(bounds, lo, hi, 1, row, [])
        self._send(row, run_lo, run_hi, before, out)

    # --- what stands ----------------------------------------------------------------------------------------------------

    def hear(self, port: int, facts: Sequence[Fact], notices: Notices) -> list[Fact]:
        out: list[Fact] = []
        for row, _, hi in notices.ended:
            since, begin = self._standing.pop(row)
            told = self._told.pop(row, None)
            if told is not None:
                _, end = self.eroded(begin, hi)
                self.notices.end(row, told, end, out)
                if since <= hi and self._lengthen(row, begin, since, hi):
                    continue  # that is all that it has given
            if begin < since:  # what it gives has been told
                self._store(row, begin, since - 1)
            given: list[Fact] = []
            if since <= hi:
                self._take(row, since, hi, given)
            if given:
                out += self._untold(given if told is None else without(given, {row: [(told, end)]}))
        if facts:
            out += self.feed(port, facts)
        for row, lo in notices.begun.items():
            self._standing[row] = lo, lo
            self._note_told(row)
            self._reach_back(row)
            self._await(row)
        return out

    def _beside(self, facts: Sequence[Fact], out: list[Fact]) -> list[Fact]:
        """The facts of rows that do not stand; those of others tell at once what follows from them ahead of time."""
        known = self.frontiers[0]
        plain: list[Fact] = []
        for fact in facts:
            row, lo, hi = fact
            stands = self._standing.get(row)
            if stands is None:
                plain.append(fact)
                continue
            since, _ = stands
            if lo < since:
                given: list[Fact] = []
                self._take(row, lo, min(hi, since - 1), given)
                out += self._untold(given)
                self._reach_back(row)
                self._await(row)
            if hi > known and hi >= since:
                begin, end = self._store(row, max(lo, since), hi)
                if begin <= known + 1:
                    begin = self._standing[row][1]
                first, last = self.eroded(begin, end)
                if self.is_ready() and first <= last:
                    out += self._untold([(row, first, last)])
        return plain

    def _take(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        """Take one fact, whether its row stands or not."""
        self._latest = max(self._latest, hi)
        bounds = self.coverage.rows.get(row)
        if bounds is None:
            self.coverage.extend([(row, lo, hi)])
            self._send(row, lo, hi, (), out)
        else:
            self._merge(row, bounds, lo, hi, out)
            self.coverage.grown += 1

    def _lengthen(self, row: Row, begin: int, since: int, hi: int) -> bool:
        """Keep a run that has stood since then; False, and nothing is done, where more than what led there is stored."""
        rows, fresh = self.coverage.rows, self.coverage.fresh
        bounds = rows.get(row)
        if bounds is None:
            rows[row] = [begin, hi]
            fresh.append(row)
        elif bounds[-1] < begin - 1:
            bounds += (begin, hi)
        elif bounds[-1] == since - 1:
            bounds[-1] = hi
        else:
            return False
        self.coverage.grown += 1
        self._latest = max(self._latest, hi)
        return True

    def _untold(self, facts: list[Fact]) -> list[Fact]:
        """What of some facts about rows that stand was not told ahead of time."""
        return self._ahead.insert(behind(self.frontier, facts))

    def _note_told(self, row: Row) -> None:
        """What is stored of a row that begins to stand has given what it gives; note what of that lies ahead."""
        bounds = self.coverage.rows.get(row)
        if bounds is not None and self.is_ready() and self.eroded(bounds[-2], bounds[-1])[1] > self.frontier:
            ranges = [self.eroded(bounds[i], bounds[i + 1]) for i in range(0, len(bounds), 2)]
            self._untold([(row, lo, hi) for lo, hi in ranges if lo <= hi])

    def _store(self, row: Row, lo: int, hi: int) -> tuple[int, int]:
        """Keep a range of which nothing is to be sent; returns its run."""
        self.coverage.extend([(row, lo, hi)])
        bounds = self.coverage.rows[row]
        run = next(overlapping(bounds, lo, hi))
        return bounds[run], bounds[run + 1]

    def _reach_back(self, row: Row) -> None:
        """What is stored of a row may lead up to where it begins to stand."""
        bounds = self.coverage.rows.get(row)
        if bounds is None:
            return
        since, begin = self._standing[row]
        self._standing[row] = since, min([begin, *(bounds[i] for i in overlapping(bounds, since - 1, since))])

    def _await(self, row: Row) -> None:
        """Look at a standing row when it has lasted long enough."""
        begin = self._begin_of(row)
        if self.is_ready() and begin < POS:
            self._count += 1
            heappush(self._coming, (begin, self._count, row))
            if len(self._coming) > 2 * len(self._standing) + LIMITS.spare:
                self._await_all()

    def _await_all(self) -> None:
        """Forget when to look at rows that stand no longer, or are told to."""
        rows = [row for row in self._standing if row not in self._told] if self.is_ready() else []
        coming = [(self._begin_of(row), self._count + i, row) for i, row in enumerate(rows, 1)]
        self._count += len(rows)
        self._coming = [item for item in coming if item[0] < POS]
        heapify(self._coming)

    def _begin_of(self, row: Row) -> int:
        """Since when what follows from a standing row is to be told; POS if it never is."""
        since, begin = self._standing[row]
        lo, hi = self.eroded(begin, POS)
        if begin < since:  # as far as that, its run has given what it gives
            first, last = self.eroded(begin, since - 1)
            if first <= last:
                lo = max(lo, last + 1)
        return lo if lo <= hi else POS

    def _tell_begun(self, out: list[Fact]) -> None:
        """Tell of the rows that have lasted long enough; at the end of the stream these have done so for ever."""
        while self._coming and self._coming[0][0] <= self.frontier:
            begin, _, row = heappop(self._coming)
            if row in self._standing and row not in self._told and self._begin_of(row) == begin:
                self._told[row] = begin
                self.notices.begin(row, begin)
        if self.frontier >= POS:
            for row, begin in self._told.items():
                self.notices.end(row, begin, POS, out)
            self._standing.clear()
            self._told.clear()

    def _send(self, row: Row, lo: int, hi: int, before: Sequence[int], out: list[Fact]) -> None:
        """Send what the run `lo … hi` gives beyond what the runs `before`, now part of it, gave."""
        if not self.is_ready():
            return
        low, high = self.eroded(lo, hi)
        for i in range(0, len(before), 2):
            sent_low, sent_high = self.eroded(before[i], before[i + 1])
            if sent_low > sent_high:
                continue
            if low < sent_low:
                out.append((row, low, sent_low - 1))
            low = sent_high + 1
        if low <= high:
            out.append((row, low, high))

    def is_ready(self) -> bool:
        """Whether it is known where a clipped window ends."""
        return not self.clipped or self.start is not None

    def eroded(self, lo: int, hi: int) -> tuple[int, int]:
        """ϱ₁ ⊕ ϱ as a closed range, empty if its begin lies behind its end."""
        if hi < POS:
            if self._high <= NEG:
                return 0, -1
            hi = hi + self._high + 1 & ~1 if self._high_open else hi + self._high
        if self.start is not None and lo <= self.start:
            return self.start, hi  # the window is clipped where the stream starts
        if lo > NEG:
            if self._low >= POS:
                return 0, -1
            lo = lo + self._low & ~1 if self._low_open else lo + self._low
        return lo, hi

    def _begin(self, start: int) -> list[Fact]:
        """The start is known: send what the runs so far give."""
        self.start = start
        out: list[Fact] = []
        for row, bounds in self.coverage.rows.items():
            for i in range(0, len(bounds), 2):
                self._send(row, bounds[i], bounds[i + 1], (), out)
        for row in self._standing:
            self._note_told(row)
            self._await(row)
        return out

    def settle(self, port: int) -> list[Fact]:
        out: list[Fact] = []
        if self.is_ready() or self.frontiers[1] == POS:
            known = self.frontiers[0]
            self.frontier = max(self.frontier, shift(known, self._high))
            if self.far_sighted and self._latest < known and (self.start is None or self.start <= known):
                self.frontier = max(self.frontier, shift(known, self._low))  # no run before the next time to come
            if self._coming or self._standing or self._ahead.rows:
                self._tell_begun(out)
        return out

    def tidy(self) -> None:
        if self.is_ready() or self.frontiers[1] == POS:
            # a run that ends behind the frontier cannot grow any more; one that ends at it still can
            self.coverage.forget(shift(self.frontiers[0], -1))
            self._ahead.forget(self.frontier)

    def waits(self) -> bool:
        return self.takes_notices

    def deadline(self) -> tuple[int, int] | None:
        return (0, self._coming[0][0] - self._high) if self._coming else None

    def standing_rows(self) -> list[tuple[Row, int]]:
        return list(self._told.items())

    def entries(self) -> int:
        return self.coverage.entries() + len(self._standing) + len(self._coming) + self._ahead.entries()

    def state(self) -> dict[str, Any]:
        return {
            "coverage": self.coverage.snapshot(),
            "start": self.start,
            "latest": self._latest,
            "standing": [[list(row), since, begin] for row, (since, begin) in self._standing.items()],
            "told": [[list(row), begin] for row, begin in self._told.items()],
            "ahead": self._ahead.snapshot(),
        }

    def load(self, state: dict[str, Any]) -> None:
        self.coverage.restore(state["coverage"])
        self.start = state["start"]
        self._latest = state["latest"]
        self._standing = {tuple(row): (since, begin) for row, since, begin in state["standing"]}
        self._told = {tuple(row): begin for row, begin in state["told"]}
        self._ahead.restore(state["ahead"])
        self._await_all()
