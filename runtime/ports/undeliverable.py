"""Answers that a sink can never deliver: counted, logged and passed on as dead letters, while the others go on."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import anyio

from tidelog.runtime.ports.interfaces import GivesUp, Rejected, Sink, SinkStatistics, TakeSinkLetters

logger = logging.getLogger("tidelog")

_TOLD_EVERY = 60.0
"""How many seconds lie at least between two warnings about one sink."""


class Undelivered:
    """What one sink gives up. `pass_on` has dead letters when it returns; without it they are only counted and logged."""

    def __init__(self, sink: Sink, pass_on: TakeSinkLetters | None) -> None:
        self._name, self._pass_on = sink.name, pass_on
        self._count = self._untold = 0
        self._silent_until = 0.0
        if isinstance(sink, GivesUp):
            sink.give_up_to(self._take)

    def statistics(self) -> SinkStatistics:
        """How many there were."""
        return SinkStatistics(undelivered=self._count)

    async def _take(self, letters: Sequence[Rejected]) -> None:
        self._count += len(letters)
        self._untold += len(letters)
        if letters and anyio.current_time() >= self._silent_until:
            what = "an answer" if self._untold == 1 else f"{self._untold} answers"
            logger.warning("%s: %s cannot be delivered: %s", self._name, what, letters[-1].reason)
            self._untold, self._silent_until = 0, anyio.current_time() + _TOLD_EVERY
        if self._pass_on is not None:
            await self._pass_on(self._name, letters)
