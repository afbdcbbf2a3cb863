"""Runs that crash at a commit, as a killed process does, and go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog import MemorySource
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.durability import Changes, Kept
from tidelog.runtime.ports.interfaces import Batch


class CrashError(Exception):
    """Stands for a killed process."""


class CrashingDirectory(StateDirectory):
    """Crashes at one of its commits: before it, or when it is done. What is left is what a killed process leaves."""

    crash_at = -1
    is_after = False

    def commit(self, changes: Changes) -> Kept:
        self.crash_at -= 1
        if self.crash_at == 0 and not self.is_after:
            raise CrashError
        kept = super().commit(changes)
        if self.crash_at == 0:
            raise CrashError
        return kept


class ReplayableSource(MemorySource):
    """Facts one by one, which can be read again."""

    is_replayable = True

    def __init__(self, facts: Sequence[Record]) -> None:
        self._facts = facts
        super().__init__(self._from(0))

    def _from(self, begin: int) -> list[Batch]:
        return [Batch([fact], position={"at": i + 1}) for i, fact in enumerate(self._facts) if i >= begin]

    def resume(self, position: dict[str, Any]) -> None:
        self._rest = iter(self._from(position["at"]))
