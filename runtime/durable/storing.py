"""The ends of a run, and how the run is stored: what a ledger is made for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidelog.runtime.actors.supervision import SinkActor, SourceActor
from tidelog.runtime.ports.durability import Backlog, Keep, Reload, StateStore
from tidelog.runtime.ports.interfaces import Listener, Source


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
