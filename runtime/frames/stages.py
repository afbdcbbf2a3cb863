"""What a stage offers whoever brings its facts in columns."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tidelog.operators.columns.batch import Batch
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.interfaces import StageHistory, StageSession


@runtime_checkable
class ColumnHistory(StageHistory, Protocol):
    """One that takes facts in columns, too, and in any order: those behind a watermark wait for the next."""

    @property
    def pool(self) -> Pool:
        """That of all its columns."""
        ...

    def take_columns(self, name: str, batch: Batch) -> None:
        """Take facts of one predicate, named as the stage's program names it."""
        ...

    def pull_columns(self) -> list[tuple[str, Batch]]:
        """The facts for later stages that became known since the last call; `pull` has them no more."""
        ...


@runtime_checkable
class ColumnSession(StageSession, Protocol):
    """One over a stream that takes facts in columns, too."""

    @property
    def pool(self) -> Pool:
        """That of all its columns."""
        ...

    def take_columns(self, name: str, batch: Batch) -> list[tuple[Record, str]]:
        """Take facts of one predicate, named as the stage's program names it; returns those that are late, and says why."""
        ...
