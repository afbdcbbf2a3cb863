"""Answers on which a broker ends the connection without a word: found by sending them alone.

MQTT 3.1.1 brokers do not say how large a packet may be, and end the connection on one that is larger; others do so, too.
The answers behind it would wait for ever. So when connections are lost again and again, and nothing is taken in between,
what is on its way is held back, and sent one by one, each time when the connection has been steady without it. An answer
that ends a steady connection each time is to blame, and a broker that is not well blames none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

LOST = 3
"""After so many connections in a row on which nothing was taken, answers are tried one by one."""
STEADY = 5.0
"""For so many seconds a connection lasts before an answer is tried on it."""
MOST_BREAKS = 3
"""An answer that has ended so many steady connections is to blame."""


@dataclass(eq=False, slots=True)
class Tried:
    """An answer on its way to the broker: its size, and how many connections it has ended when it was sent alone."""

    size: int
    breaks: int


class Trials:
    """Those of a sink's answers that are held back, and the one that is tried at the moment."""

    def __init__(self) -> None:
        self._held: deque[Tried] = deque()
        self._tried: Tried | None = None
        self._lost = 0
        self.due = inf
        """When the next one is to be tried, if the connection lasts until then."""

    def __len__(self) -> int:
        return len(self._held)

    @property
    def are_on(self) -> bool:
        """Whether answers are sent one by one now."""
        return bool(self._held) or self._tried is not None

    def hold(self, item: Tried) -> None:
        """Send this one later, alone."""
        self._held.append(item)

    def lost(self, on_the_way: Iterable[Tried], now: float) -> tuple[bool, Tried | None]:
        """There is a connection again, in place of one on which these were on their way.

        Returns whether they are held back now, and the one that is to blame.
        """
        items = sorted(on_the_way, key=lambda item: item.size)
        self._lost += bool(items)
        self.due = now + STEADY
        if not self.are_on and self._lost <= LOST:
            return False, None
        guilty: Tried | None = None
        if self._tried is not None:
            self._tried.breaks += 1
            guilty = self._tried if self._tried.breaks >= MOST_BREAKS else None
            self._tried = None
        self._held.extend(item for item in items if item is not guilty)
        return True, guilty

    def next(self, now: float) -> Tried | None:
        """The one that is to be tried now, if it is time."""
        if self._tried is not None or not self._held or now < self.due:
            return None
        self._tried = self._held.popleft()
        return self._tried

    def taken(self, item: Tried, now: float) -> None:
        """The broker has answered to this one: the next one need not wait."""
        self._lost = 0
        if item is self._tried:
            self._tried, self.due = None, now
