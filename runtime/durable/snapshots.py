"""Snapshots of a durable run's session: when one is worth its while, and how it is taken."""

from __future__ import annotations

import logging

import anyio

from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.runtime.journal.partitions import Parts
from tidelog.runtime.sessions.reasoner import Reasoner

logger = logging.getLogger("tidelog")

REPLAY_SECONDS = 2.0
"""How many seconds of work a run that goes on has to do again at least, before a snapshot is worth its while."""
MOST_REPLAYED = 2_000_000
"""How many facts a run that goes on is told again at most."""
_REPLAYED = 10
"""A snapshot is taken once a replay would cost so many times as much."""


class Snapshots:
    """Takes snapshots of a session in parts, of which those are stored that have changed.

    `worked` is how many seconds, and `replayed` how many facts, a run that goes on would be told again by now.
    """

    def __init__(self, session: Reasoner) -> None:
        self.parts = Parts()
        self.worked = 0.0
        self.replayed = 0
        self._session = session
        self._cost = 0.0
        self._told = ""

    @property
    def are_due(self) -> bool:
        """Whether to be told all again would cost so much that a snapshot is worth its while."""
        return self.worked >= max(REPLAY_SECONDS, _REPLAYED * self._cost) or self.replayed >= MOST_REPLAYED

    def take(self, *, must: bool) -> tuple[dict[str, bytes | None], dict[str, bytes]] | None:
        """A snapshot: the parts that have changed, and the digests of all.

        None where a part of the session can give none now: then the journal goes on from the last one. If it `must` be
        taken, SnapshotError.
        """
        began = anyio.current_time()
        try:
            found = self.parts.changed(self._session.state())
        except SnapshotError as error:
            if must:
                raise
            if str(error) != self._told:
                self._told = str(error)
                logger.warning("no snapshot was taken: %s", error)
            return None
        finally:
            self._cost = anyio.current_time() - began
            self.worked, self.replayed = 0.0, 0
        return found
