"""Whether all messages have come that waited at a broker, by what the protocol says.

A broker sends what waits as soon as it lets the client in, and as far as its window reaches: so many messages of QoS 1 may
be on their way until the first of them is acknowledged. How wide the window is nobody says. But a broker answers in order.
So when it answers what was asked behind some acknowledgements, and fewer messages are on their way than have been at once
before, the window was open and nothing waited any more. What comes later has come by itself.
"""

from __future__ import annotations

from collections.abc import Callable


class CatchingUp:
    """Counts messages on one connection after the other. `ask` asks the broker for an answer: its number, 0 if it cannot."""

    def __init__(self, ask: Callable[[], int]) -> None:
        self._ask = ask
        self._is_proven = False
        self._came = self._handed = self._needed = 0
        self._counted = self._acknowledged = 0  # of QoS 1, on this connection
        self._most = 1
        self._asked = self._asked_at = 0

    @property
    def is_behind(self) -> bool:
        """Whether something waits at the broker, for all that is known, or has not been handed over."""
        return not self._is_proven or self._handed < self._needed

    @property
    def is_full(self) -> bool:
        """Whether as many are on their way as ever were at once, so that the broker's window may be full."""
        return self._counted - self._acknowledged >= self._most

    def begin(self) -> None:
        """A connection has begun, and what is wanted was subscribed to."""
        self._counted = self._acknowledged = 0
        self._most, self._asked = 1, 0
        self.look_again()

    def look_again(self) -> None:
        """Messages may wait at the broker again: it has to be asked once more."""
        self._is_proven = False
        self._try()

    def came(self, *, counts: bool) -> None:
        """A message has come, which `counts` if it has to be acknowledged."""
        self._came += 1
        if counts:
            self._counted += 1
            self._most = max(self._most, self._counted - self._acknowledged)

    def passed_over(self) -> None:
        """A message that has come is not handed over."""
        self._handed += 1

    def hand_over(self, count: int) -> None:
        """So many messages are in the engine's hands."""
        self._handed += count

    def acknowledged(self, count: int) -> None:
        """So many have been acknowledged."""
        self._acknowledged += count
        self._try()

    def answered(self, number: int) -> None:
        """The broker has answered what was asked with this number, or later."""
        if not self._asked or number < self._asked:
            return
        self._asked = 0
        if self._counted - self._asked_at < self._most:
            self._is_proven, self._needed = True, self._came
        elif self._acknowledged > self._asked_at:
            self._try()

    def _try(self) -> None:
        if not self._is_proven and not self._asked:
            self._asked, self._asked_at = self._ask(), self._acknowledged
