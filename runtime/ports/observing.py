"""What an observer may be told beside what `Observer` says."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class ObservesSinks(Protocol):
    """An observer that is told, too, what sinks have taken."""

    def delivered(self, sink: str, answers: int, seconds: float) -> None:
        """A sink has taken so many answers, for which it needed so long. Returns at once."""
        ...
