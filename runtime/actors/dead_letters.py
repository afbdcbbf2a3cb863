"""Dead letters of a run: what its sources said and could not be used, and what its sinks can never deliver."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tidelog.runtime.ports.interfaces import DeadLetters, Observer, Rejected

logger = logging.getLogger("tidelog")


class Letters:
    """Passes dead letters on to whoever takes them. `rejected` is how many records of sources could not be used."""

    def __init__(self, taker: DeadLetters | None, observer: Observer | None) -> None:
        self._taker, self._observer = taker, observer
        self.rejected = 0

    async def reject(self, rejected: Sequence[Rejected]) -> None:
        """These records of sources could not be used."""
        self.rejected += len(rejected)
        await self._pass_on(rejected)

    async def give_up(self, sink: str, letters: Sequence[Rejected]) -> None:
        """A sink can never deliver these answers."""
        if self._observer is not None:
            self._observer.gave_up(sink, letters)
        await self._pass_on(letters)

    async def _pass_on(self, letters: Sequence[Rejected]) -> None:
        if self._taker is None:
            return
        try:
            await self._taker.send(letters)
        except OSError as error:  # a bad record is never fatal, nor is a full disk beside the stream
            logger.warning("dead letters cannot be written any more: %s", error)
            self._taker = None
