"""A sink that is given no more than so many answers a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

import anyio

from tidelog.runtime.ports.durability import Heading
from tidelog.runtime.ports.interfaces import AnyAnswer

Group = tuple[Heading | None, Sequence[AnyAnswer]]


class Pace:
    """Lets `rate` answers pass a second, at most as many at once as that, or one. ValueError for no such number."""

    def __init__(self, rate: float) -> None:
        if not 0 < rate < inf:
            raise ValueError(f"`rate` is a number of answers a second, got {rate!r}")
        self._rate, self._most = rate, max(1, int(rate))
        self._due = -inf

    def pieces(self, groups: Sequence[Group]) -> Iterator[Group]:
        """The same answers, no more of them together than may pass in a second."""
        for heading, answers in groups:
            for at in range(0, len(answers), self._most):
                piece = answers[at : at + self._most]
                yield (None if heading is None else replace(heading, first=heading.first + at)), piece

    async def wait(self, count: int) -> None:
        """Wait until so many may pass."""
        now = anyio.current_time()
        if self._due > now:
            await anyio.sleep(self._due - now)
        self._due = max(now, self._due) + count / self._rate
