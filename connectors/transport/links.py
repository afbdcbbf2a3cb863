"""How the connection of an end stands that asks, or is told, by a protocol of requests: for metrics."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class LinkStatistics:
    """Whether the other side is there, since when (seconds since 1970; None while it is not), how often it was found, how
    many requests it was sent, and how many of these had no answer, or an error as answer."""

    is_connected: bool
    since: float | None
    connections: int
    requests: int
    errors: int


@runtime_checkable
class Linked(Protocol):
    """An end that counts what passes on its connection."""

    def link(self) -> LinkStatistics:
        """How the connection stands."""
        ...


class Link:
    """Counts for one connection. Only whoever uses the connection writes; others read at any time."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._since: float | None = None
        self.connections = self.requests = self.errors = 0

    @property
    def is_up(self) -> bool:
        """Whether the other side is there."""
        return self._since is not None

    def up(self) -> None:
        """The other side is there now."""
        self._since = self._now()
        self.connections += 1

    def down(self) -> None:
        """It is not there any more."""
        self._since = None

    def statistics(self) -> LinkStatistics:
        """What was counted so far."""
        since = self._since
        return LinkStatistics(since is not None, since, self.connections, self.requests, self.errors)
