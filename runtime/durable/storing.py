"""The ends of a run, and how the run is stored: what a ledger is made for."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidelog.plans.diagnostics.errors import DataError, SnapshotError, SpecError
from tidelog.runtime.actors.supervision import SinkActor, SourceActor
from tidelog.runtime.journal.manifest import Head, SourceStanding
from tidelog.runtime.ports.durability import Acknowledging, Backlog, Keep, Reload, StateStore
from tidelog.runtime.ports.interfaces import Listener, OfNow, Replayable, Source

logger = logging.getLogger("tidelog")


@dataclass(frozen=True, slots=True)
class Ends:
    """A run's sources by the names under which they are told, the actors of those that are there now, and its sinks."""

    sources: Mapping[str, Source | Listener]
    actors: Mapping[str, SourceActor]
    sinks: Sequence[SinkActor]


@dataclass(frozen=True, slots=True)
class Storing:
    """Where a run is stored, and how: with so many seconds between two commits at least; what becomes of a changed program;
    and whether facts can be taken back.
    """

    store: StateStore
    every: float
    keep: Keep | None
    backlog: Backlog
    reload: Reload = "refuse"
    corrections: bool = False


def can_replay(source: Source | Listener) -> bool:
    """Whether a source can be read again, or sends again what it got no receipt for."""
    return isinstance(source, Acknowledging) or (isinstance(source, Replayable) and source.is_replayable)


def is_passing(source: Source | Listener) -> bool:
    """Whether a run may go on without a source: nothing of what it brings, such as what people do, could be read again."""
    return isinstance(source, Listener) and isinstance(source, OfNow) and source.is_of_now


def resume(source: Source | Listener, standing: SourceStanding, head: Head, place: str, is_finished: bool) -> None:
    """Let a source go on from where it stood in the run with this head; may wait for the disk.

    SpecError where the stream has ended, SnapshotError where the source cannot go on from there.
    """
    if standing.ended:
        if is_finished and not can_replay(source):
            raise SpecError(f"the stream of state `{place}` has ended: choose another directory")
        logger.warning("%s: has ended in an earlier run, and is not read again", source.name)
    elif standing.position is not None and isinstance(source, Replayable):
        try:
            source.resume(standing.position)
        except DataError as error:
            raise SnapshotError(f"state `{place}`: a position is damaged: {error}") from error
    elif head.snapshot < head.events and not (standing.passing or can_replay(source)):
        # the run before did not come to its end
        lost = "what it said after the last commit is lost if the run before was killed; what was answered as stored is kept"
        logger.warning("%s: cannot be read again: %s", source.name, lost)
