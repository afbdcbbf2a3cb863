"""What became known, line by line, for all who listen: one ring, and a place in it for each of them.

A listener that is slow, or comes back, goes on from its place; where the ring has gone on without it, it is told how many
lines it has missed. So however many listen, and however slowly, there is one bounded buffer.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import anyio


@dataclass(frozen=True, slots=True)
class Line:
    """An answer as JSON: its number, its predicate or question, its text."""

    number: int
    name: str
    text: str


class Feed:
    """The last lines, `most` of them and so many bytes (`size`) at most; numbers begin with 1."""

    def __init__(self, most: int, size: int) -> None:
        self._most, self._size = most, size
        self._lines: deque[Line] = deque()
        self._bytes = 0
        self._changed = anyio.Event()
        self.last = 0

    @property
    def first(self) -> int:
        """The number of the first line that is still there, or will be the next."""
        return self._lines[0].number if self._lines else self.last + 1

    def append(self, name: str, text: str) -> None:
        """A line is there for everyone; the oldest go."""
        self.last += 1
        self._lines.append(Line(self.last, name, text))
        self._bytes += len(text)
        while len(self._lines) > self._most or (self._bytes > self._size and len(self._lines) > 1):
            self._bytes -= len(self._lines.popleft().text)

    def wake(self) -> None:
        """Whoever waits for lines looks again."""
        if self._lines:
            self._changed.set()
            self._changed = anyio.Event()

    def behind(self, number: int, most: int = 100) -> list[Line]:
        """The first lines behind this number that are there."""
        start = max(0, number + 1 - self.first)
        return [self._lines[i] for i in range(start, min(len(self._lines), start + most))]

    async def wait_behind(self, number: int) -> None:
        """Wait until there is a line behind this number."""
        while self.last <= number:
            await self._changed.wait()


@dataclass(slots=True)
class Place:
    """How far one listener has come; it begins behind `number`, or with None, with what is next."""

    feed: Feed
    number: int

    @classmethod
    def of(cls, feed: Feed, number: int | None) -> Place:
        """Behind this number; a number of an earlier run, which has not been reached yet, begins with all there is."""
        if number is None:
            return cls(feed, feed.last)
        return cls(feed, number if 0 <= number <= feed.last else 0)

    def take(self) -> tuple[int, list[Line]]:
        """How many lines are missed for good, and the next ones."""
        missed = max(0, self.feed.first - 1 - self.number)
        lines = self.feed.behind(self.number)
        self.number = lines[-1].number if lines else self.number + missed
        return missed, lines

    async def wait(self) -> None:
        """Wait until `take` has something to give."""
        await self.feed.wait_behind(self.number)
