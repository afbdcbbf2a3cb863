"""Silence: how long a source has been listened to without a word, and when that is too long."""

from __future__ import annotations

import math
from numbers import Real

import anyio

_NEARLY = 1e-6
"""How many seconds are too few to wait for."""


class Silence:
    """A clock that runs only while the source is listened to, and what it says of the part that is silent longest.

    TypeError and ValueError for what is no number of seconds.
    """

    def __init__(self, idle_after: float) -> None:
        check_seconds("idle_after", idle_after)
        self._idle_after = idle_after
        self._before = 0.0
        self._since: float | None = None
        self._oldest: float | None = 0.0
        self._changed: anyio.Event

    def begin(self) -> None:
        """The source is listened to from now on, within the event loop."""
        self._changed = anyio.Event()
        self.listen(is_listening=True)

    def moment(self) -> float:
        """How many seconds the source has been listened to."""
        return self._before + (anyio.current_time() - self._since if self._since is not None else 0.0)

    def listen(self, *, is_listening: bool) -> None:
        """Whether the time counts that passes from now on."""
        if is_listening and self._since is None:
            self._since = anyio.current_time()
            self._change()
        elif not is_listening and self._since is not None:
            self._before, self._since = self.moment(), None

    def expect(self, oldest: float | None) -> None:
        """When the part that has been silent longest last spoke; None where nobody is waited for."""
        self._oldest = oldest
        self._change()

    async def wait(self) -> float:
        """Wait until a part has been silent for too long; returns the moment since when."""
        while True:
            changed = self._changed
            left = math.inf
            if self._since is not None and self._oldest is not None:
                left = self._oldest + self._idle_after - self.moment()
                if left < _NEARLY:
                    return max(self._oldest, self.moment() - self._idle_after)
            with anyio.move_on_after(left):
                await changed.wait()

    def _change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def check_seconds(name: str, seconds: object) -> None:
    """TypeError unless it is a number, ValueError unless it is 0 or more, and finite."""
    if not isinstance(seconds, Real) or isinstance(seconds, bool):
        raise TypeError(f"`{name}` is a number of seconds, got {type(seconds).__name__}")
    if not 0 <= float(seconds) < math.inf:
        raise ValueError(f"`{name}` is 0 s or more, got {seconds}")
