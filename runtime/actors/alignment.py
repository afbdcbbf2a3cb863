"""Alignment: a source that runs far ahead of the slowest is held back, so that what waits for the slowest stays bounded.

How far ahead a source is, is counted in facts: those of it that were accepted and wait for time to come to where the source
is. One with more than `max_lead` is not asked for more until the slowest has come nearer, is idle, or has ended. The slowest
itself waits for nobody, so there is always one that may go on. Where it says nothing, time does not move until it does, and
whoever is held back has to wait: the log tells of it, once for each such source. (`idle_after` is the cure: it also is where
both sources hang on one writer, which waits to be read at the one that is held back before it writes to the other.)
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

import anyio

from tidelog.runtime.actors.supervision import SourceActor
from tidelog.runtime.intake.watermarks import Watermarks, plain_name

logger = logging.getLogger("tidelog")

PATIENCE = 10.0
"""After how many seconds without progress the log tells which source the others wait for."""


class Alignment:
    """Holds back and releases the actors of sources, by what the intake knows of them after each event."""

    def __init__(self, watermarks: Watermarks, actors: Mapping[str, SourceActor], max_lead: int) -> None:
        self._watermarks = watermarks
        self._actors = actors
        self._max_lead = max_lead
        self._held: set[str] = set()
        self._left: set[str] = set()
        self._told: set[str] = set()
        self._holds: anyio.Event | None = None

    def leave(self, name: str) -> None:
        """This source will say nothing more, though it has not ended for the intake: nobody is held back for it."""
        self._left.add(name)

    def taken(self, name: str) -> None:
        """An event of this source has been taken: let it go on, and those that waited for it, or hold it back."""
        actor = self._actors.get(name)
        if actor is not None:
            actor.taken(self._watermarks.oldest(name))
            if self._is_too_far(name):
                actor.hold()
                self._held.add(name)
                if self._holds is not None:
                    self._holds.set()
        if self._held:
            self._release()

    def _release(self) -> None:
        for held in [held for held in self._held if not self._is_too_far(held)]:
            self._held.discard(held)
            if held in self._actors:
                self._actors[held].release()

    def _is_too_far(self, name: str) -> bool:
        return self._watermarks.lead(name) > self._max_lead and self._watermarks.slowest() not in self._left

    async def watch(self) -> None:
        """Tell, until cancelled, for which source the others have to wait."""
        while True:
            if not self._held:
                self._holds = anyio.Event()
                await self._holds.wait()
            watermark = self._watermarks.watermark
            await anyio.sleep(PATIENCE)
            if self._held and self._watermarks.watermark == watermark:
                self._tell()

    def _tell(self) -> None:
        slowest = self._watermarks.slowest()
        self._told &= set(self._actors)
        if slowest is None or slowest in self._told or slowest not in self._actors or self._actors[slowest].is_waiting:
            return
        self._told.add(slowest)
        held = min(self._held)
        logger.warning(
            "%s is held back, being %d facts ahead of %s, which has brought nothing new for %g s; "
            "--idle-after S goes on without a source that is silent for S seconds",
            plain_name(held),
            self._watermarks.lead(held),
            plain_name(slowest),
            PATIENCE,
        )
