"""Tracks: where each part of a source stands in time, and whether its clock is to be believed.

A **part** is what has a clock of its own: a source as a whole, or a device among those of a source that is divided (`by` in
a SPEC). Its track holds the part's **promise**: no fact of it that begins at or before it will be taken any more.

With `max_ahead` a fact may begin by so much at most beyond where its part stands. Where a part stands nowhere yet, its first
facts are held until most of them agree (until they lie within `max_ahead` of each other), so that a first fact without sense
decides nothing. Where the part's time is wrong nevertheless, `MAJORITY` more refused facts than accepted ones that agree
with each other move it. All of it depends on the order of the facts alone, not on how they were batched.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, Generic, Protocol, TypeVar

from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.runtime.ports.interfaces import Part

MAJORITY = 16
"""By how many facts those that agree on another time must outnumber the others before time goes on there."""
MOST_HELD = 16
"""How many first facts of a part are held at most: then the largest group that agrees decides."""


class Verdict(Enum):
    """What becomes of a fact; `MOVED` is one that is taken and with which its part's time leaps forward."""

    TAKEN = 0
    MOVED = 1
    LATE = 2
    AHEAD = 3
    HELD = 4


@dataclass(frozen=True, slots=True)
class Rules:
    """`lateness` and `max_ahead` (None: any distance), encoded; `gap` is 1 where odd numbers are the gaps behind times."""

    lateness: int
    max_ahead: int | None
    gap: int

    @property
    def behind(self) -> int:
        """By how much a promise lies behind the latest fact."""
        return self.lateness + 1

    @property
    def leap(self) -> int:
        """By how much more than this a fact may not begin after a promise; without `max_ahead`, more than any does."""
        return 4 * POS if self.max_ahead is None else self.behind + self.max_ahead + self.gap

    def promise(self, lo: int) -> int:
        """The promise that follows from a fact that begins at `lo`. A fact in a gap counts as arriving at the time before
        the gap."""
        return max(NEG, lo - (lo & self.gap) - self.behind)


class Track:
    """One part: its promise, when it last brought a fact, the votes for another time, and first facts that are held."""

    __slots__ = (
        "accepted",
        "ahead",
        "candidate",
        "gone",
        "heard",
        "held",
        "last",
        "late",
        "moment",
        "part",
        "promised",
        "votes",
    )

    def __init__(self, part: Part, promised: int, last: int = 0, moment: float = 0.0) -> None:
        self.part = part
        self.promised = promised
        self.last, self.moment = last, moment
        self.heard = self.gone = False
        self.candidate = self.votes = 0
        self.held: list[tuple[Record, str]] | None = []
        self.accepted = self.late = self.ahead = 0

    def judge(self, lo: int, delay: int, watermark: int, rules: Rules) -> Verdict:
        """What becomes of a fact that begins at `lo`, of an input with this delay; the promise moves with it."""
        limit = max(watermark, self.promised)
        if rules.max_ahead is not None and lo > NEG:
            if limit <= NEG and self.held is not None:
                return Verdict.HELD
            if limit > NEG and lo - limit > rules.leap:
                return self._vote(lo, rules.max_ahead, rules)
        if limit > NEG and lo <= limit - delay:
            return Verdict.LATE
        self.promised = max(self.promised, rules.promise(lo))
        self.votes = max(0, self.votes - 1)
        return Verdict.TAKEN

    def judge_first(self, lo: int, delay: int, low: int, high: int, rules: Rules) -> Verdict:
        """The same of a fact that was held: until one is taken, those within the range that was agreed on are."""
        if self.promised <= NEG:
            if lo < low:
                return Verdict.LATE
            if lo > high:
                return Verdict.AHEAD
        return self.judge(lo, delay, NEG, rules)

    def agreed(self, max_ahead: int, *, at_once: bool) -> int | None:
        """The earliest begin of those held facts that outnumber the others; None while none do, unless `at_once`."""
        begins = sorted(record[2] for record, _ in self.held or ())
        sizes = [sum(low <= lo <= low + max_ahead for lo in begins) for low in begins]
        largest = max(sizes)
        if at_once or len(begins) >= MOST_HELD or (largest > 1 and 2 * largest > len(begins)):
            return begins[sizes.index(largest)]
        return None

    def _vote(self, lo: int, max_ahead: int, rules: Rules) -> Verdict:
        """Majority voting (Boyer and Moore): a fact that is too far ahead speaks for its time, or against another one."""
        if not self.votes:
            self.candidate = lo
        agrees = abs(lo - self.candidate) <= max_ahead
        self.votes += 1 if agrees else -1
        if agrees:
            self.candidate = max(self.candidate, lo)
        if self.votes < MAJORITY:
            return Verdict.AHEAD
        self.votes = 0
        self.promised = rules.promise(lo)
        return Verdict.MOVED

    def snapshot(self) -> dict[str, Any]:
        """Its state as plain data."""
        return {
            "part": self.part,
            "promised": self.promised,
            "last": self.last,
            "heard": self.heard,
            "votes": [self.candidate, self.votes],
            "held": None if self.held is None else [[list(record), place] for record, place in self.held],
            "counters": [self.accepted, self.late, self.ahead],
        }

    @classmethod
    def restored(cls, data: dict[str, Any]) -> Track:
        """A track as it was when the snapshot was taken."""
        track = cls(data["part"], data["promised"], data["last"])
        track.heard = data["heard"]
        track.candidate, track.votes = data["votes"]
        held = data["held"]
        track.held = None if held is None else [((name, tuple(row), lo, hi), place) for (name, row, lo, hi), place in held]
        track.accepted, track.late, track.ahead = data["counters"]
        return track


class _Promising(Protocol):
    promised: int
    gone: bool


M = TypeVar("M", bound=_Promising)


class Least(Generic[M]):
    """Finds the member with the least promise. A change costs log n, and only once it matters.

    A member whose promise has become less, or that was `gone` and is there again, is added anew.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, M]] = []
        self._serial = 0
        self._bound = 64

    def add(self, member: M) -> None:
        self._serial += 1
        heappush(self._heap, (member.promised, self._serial, member))
        if len(self._heap) > self._bound:
            self._sweep()

    def first(self) -> M | None:
        """A member with the least promise; None where there is none."""
        heap = self._heap
        while heap:
            promised, serial, member = heap[0]
            if member.gone:
                heappop(heap)
            elif member.promised != promised:
                heapreplace(heap, (member.promised, serial, member))
            else:
                return member
        return None

    def _sweep(self) -> None:
        """Leave out members that are gone, or there twice, so that the heap is no larger than twice what it holds."""
        there = {id(member): (member.promised, serial, member) for _, serial, member in self._heap if not member.gone}
        self._heap = list(there.values())
        heapify(self._heap)
        self._bound = 2 * len(self._heap) + 64
