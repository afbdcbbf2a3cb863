"""`points`: what holds at each time point of the input, in the order of its text.

A fact that comes or goes costs about its own place in that order.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import chain, groupby, repeat
from operator import itemgetter
from typing import Any

from tidelog.operators.operator import shift
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.by_time import ByTime
from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Record, Row, format_atom
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Announced
from tidelog.runtime.emission.emission import NOTHING, Emission

Shown = tuple[str, int, str, Row, int]
"""A fact's text, its end, its predicate and row, its begin."""
_TEXT = itemgetter(0)


class Block:
    """Facts sorted by text; their predicates and their rows stand by themselves, too, since answers are made of these."""

    __slots__ = ("facts", "predicates", "rows")

    def __init__(self, facts: list[Shown]) -> None:
        self.facts = facts
        self.predicates = [fact[2] for fact in facts]
        self.rows = [fact[3] for fact in facts]

    def insert(self, at: int, fact: Shown) -> None:
        self.facts.insert(at, fact)
        self.predicates.insert(at, fact[2])
        self.rows.insert(at, fact[3])

    def delete(self, at: int) -> None:
        del self.facts[at], self.predicates[at], self.rows[at]


class Showing:
    """Facts sorted by text, in short blocks; among the same text in the order in which they came.

    >>> showing = Showing()
    >>> b, a = ("p(b)", 9, "p", ("b",), 1), ("p(a)", 9, "p", ("a",), 1)
    >>> showing.add(b), showing.add(a), showing.at(5)
    (None, None, [('p', ('a',), 5, 5), ('p', ('b',), 5, 5)])
    >>> showing.remove(a)
    >>> list(showing) == [b]
    True
    """

    __slots__ = ("_lasts", "blocks")

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._lasts: list[str] = []  # the last text of each block

    def add(self, fact: Shown) -> None:
        text = fact[0]
        i = bisect_right(self._lasts, text)
        if i == len(self.blocks):
            if not i:
                self.blocks.append(Block([fact]))
                self._lasts.append(text)
                return
            i -= 1
        block = self.blocks[i]
        facts = block.facts
        block.insert(bisect_right(facts, text, key=_TEXT), fact)
        self._lasts[i] = facts[-1][0]
        if len(facts) > LIMITS.block:
            half = len(facts) >> 1
            self.blocks[i : i + 1] = Block(facts[:half]), Block(facts[half:])
            self._lasts.insert(i, facts[half - 1][0])

    def remove(self, fact: Shown) -> None:
        """Take out a fact that has been added."""
        i = bisect_left(self._lasts, fact[0])
        block = self.blocks[i]
        at = bisect_left(block.facts, fact[0], key=_TEXT)
        while block.facts[at] != fact:
            at += 1
            if at == len(block.facts):
                i, at = i + 1, 0
                block = self.blocks[i]
        block.delete(at)
        if block.facts:
            self._lasts[i] = block.facts[-1][0]
        else:
            del self.blocks[i], self._lasts[i]

    def at(self, point: int) -> list[Record]:
        """What is told at a time point."""
        told: list[Record] = []
        for block in self.blocks:
            told.extend(zip(block.predicates, block.rows, repeat(point), repeat(point), strict=False))
        return told

    def __iter__(self) -> Iterator[Shown]:
        return chain.from_iterable([block.facts for block in self.blocks])


class Points(Emission):
    """What holds at each time point of the input; keeps what begins later, and what still holds."""

    follows_arrivals = True

    def __init__(self, outputs: Iterable[str], announced: Mapping[str, Announced] = NOTHING) -> None:
        super().__init__(outputs, announced)
        self._points: list[int] = []
        self._watermark = NEG
        self._seen = NEG
        self._later: ByTime[Shown] = ByTime()
        self._ends: ByTime[Shown] = ByTime()
        self._holding = Showing()
        self._passing: list[Shown] = []  # what held at the last point, where all that did held nowhere else
        self._standing: dict[tuple[str, Row], Shown] = {}
        self._already: dict[str, int] = {}  # up to which point others have told of an output, which told some on their own

    def arrive(self, points: Sequence[int], watermark: int) -> list[Record]:
        for point in points:
            heappush(self._points, point)
        self._watermark = max(self._watermark, watermark)
        return self._decided()

    def receive(self, predicate: str, facts: Sequence[Fact], frontier: int, notices: Notices | None = None) -> list[Record]:
        if notices is not None:
            for row, _, _ in notices.ended:
                self._end(self._standing.pop((predicate, row)))
            self._take(predicate, notices.ranges())
            for row, lo in notices.begun.items():
                self._stand(predicate, row, lo)
        if facts:
            self._take(predicate, facts)
        if frontier <= self.frontiers[predicate]:
            return []
        self.frontiers[predicate] = frontier
        return self._decided()

    def _take(self, predicate: str, facts: Sequence[Fact]) -> None:
        for row, lo, hi in facts:
            self._later.add(lo, (format_atom(predicate, row), hi, predicate, row, lo))

    def _stand(self, predicate: str, row: Row, lo: int) -> None:
        begin = max(lo, self._seen + 1)  # what has been told of it needs no more
        shown = self._standing[predicate, row] = (format_atom(predicate, row), POS, predicate, row, begin)
        self._later.add(begin, shown)

    def standing(self, predicate: str) -> list[tuple[Row, int]]:
        return [(row, shown[4]) for (name, row), shown in self._standing.items() if name == predicate]

    def _end(self, shown: Shown) -> None:
        if shown[4] <= self._seen:
            self._holding.remove(shown)
        else:
            self._later.remove(shown[4], shown)

    def finish(self) -> list[Record]:
        self.ahead = None
        return super().finish() + self._decided()

    def deadline(self, predicate: str) -> int:
        return self._points[0] if self._points else POS

    def _decided(self) -> list[Record]:
        """What holds at the points that are known: no earlier one can arrive, and no output can change there."""
        answers: list[Record] = []
        frontier = min(self.frontiers.values(), default=POS)
        frontier = min(frontier, self._watermark)
        if self.ahead is not None:  # at the end, what recurs elsewhere may leave points open until all is told
            frontier = min(frontier, shift(self._watermark, self.ahead)) if self._watermark < POS else NEG
        while self._points and self._points[0] <= frontier:
            point = heappop(self._points)
            if point > self._seen:
                self._seen = point
                answers += self._at(point) if not self._already else self._untold(point)
                if len(answers) > self.room.rows:
                    raise NoRoomError(len(answers))
        return answers

    def _at(self, point: int) -> list[Record]:
        holding = self._holding
        for shown in self._ends.reached(point - 1):
            holding.remove(shown)
        come = [shown for shown in self._later.reached(point) if shown[1] >= point]
        is_passing = not holding.blocks and all(shown[1] == point for shown in come)
        self._passing = sorted(come, key=_TEXT) if is_passing else []
        if is_passing:
            found = [(predicate, row, point, point) for _, _, predicate, row, _ in self._passing]
        else:
            self._hold(come)
            found = holding.at(point)
        return (
            [record for record, _ in groupby(found)] if self.announced else found
        )  # what stands may have come as facts, too

    def _untold(self, point: int) -> list[Record]:
        """The same, but for outputs of which others have told what holds there."""
        found = [record for record in self._at(point) if point > self._already.get(record[0], NEG)]
        self._already = {name: upto for name, upto in self._already.items() if upto > point}
        return found

    def _hold(self, come: Iterable[Shown]) -> None:
        """These hold from the point on that is told."""
        for shown in come:
            self._holding.add(shown)
            if shown[1] < POS:
                self._ends.add(shown[1], shown)

    def _kept(self) -> Iterator[Shown]:
        return chain(self._later, self._holding, self._passing)

    def _records(self) -> Iterator[list[Any]]:
        """What is kept as plain data; what stands has no end."""
        standing = Counter(self._standing.values())
        for shown in self._kept():
            _, hi, predicate, row, lo = shown
            stands = standing[shown] > 0
            standing[shown] -= stands
            yield [predicate, list(row), lo, None if stands else hi]

    def entries(self) -> dict[str, int]:
        found = Counter(predicate for _, _, predicate, _, _ in self._kept())
        if self._points and self.frontiers:  # they wait for the output that is known last
            found[min(self.frontiers, key=self.frontiers.__getitem__)] += len(self._points)
        return dict(found)

    def snapshot(self) -> dict[str, Any]:
        return {
            "frontiers": dict(self.frontiers),
            "points": sorted(self._points),
            "seen": self._seen,
            "watermark": self._watermark,
            "records": [*self._records()],
            "already": dict(self._already),
        }

    def restore(self, data: dict[str, Any]) -> None:
        self.frontiers = dict(data["frontiers"])
        self._points = list(data["points"])
        self._seen = data["seen"]
        self._watermark = data["watermark"]
        self._already = dict(data.get("already", {}))
        self._later, self._ends, self._holding, self._passing, self._standing = ByTime(), ByTime(), Showing(), [], {}
        for predicate, row, lo, hi in data["records"]:
            if hi is None:
                self._stand(predicate, tuple(row), lo)
            else:
                self._take(predicate, [(tuple(row), lo, hi)])
