"""The ends of a run, and how the run is stored: what a ledger is made for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidelog.runtime.actors.supervision import SinkActor, SourceActor
from tidelog.runtime.ports.durability import Acknowledging, Backlog, Keep, Reload, StateStore
from tidelog.runtime.ports.interfaces import Listener, OfNow, Replayable, Source


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
