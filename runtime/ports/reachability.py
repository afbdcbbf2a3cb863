"""Whether an end of a run is open, and whether the other side is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.runtime.ports.interfaces import Connected


class Standing:
    """How one source, sink or listener stands. `has_ended` once it has come to its end."""

    def __init__(self, end: object) -> None:
        self._connected = end if isinstance(end, Connected) else None
        self._is_open = self.has_ended = False

    @property
    def is_connected(self) -> bool:
        """Whether it is open and, where it tells, the other side is there."""
        return self._is_open and (self._connected is None or self._connected.is_connected)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """It is open for so long."""
        self._is_open = True
        try:
            yield
        finally:
            self._is_open = False
