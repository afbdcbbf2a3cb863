"""Who is told events: a session, as those know it who keep what it was told and tell it again."""

from __future__ import annotations

from typing import Protocol

from tidelog.runtime.ports.interfaces import Batch, Rejected, Tick


class TakesEvents(Protocol):
    """Takes what sources and clocks say, one event after the other; the same events bring it to the same state."""

    def open(self, source: str) -> None:
        """A further source has come."""
        ...

    def take(self, source: str, batch: Batch, moment: float = 0.0) -> list[Rejected]:
        """A source has said something, at a moment of any clock; returns what was refused of it."""
        ...

    def ignore(self, source: str, before: float) -> list[Rejected]:
        """A source, or those of its parts that said nothing after the moment `before`, is idle; returns what was refused."""
        ...

    def leave(self, source: str) -> list[Rejected]:
        """A source will say nothing more, though the stream has not ended; returns what was refused."""
        ...

    def end(self, source: str) -> list[Rejected]:
        """A source has ended; returns what was refused."""
        ...

    def pass_time(self, tick: Tick) -> None:
        """The clock has gone on."""
        ...
