"""A state directory that crashes at a commit, as a killed process does."""

from __future__ import annotations

from tidelog.connectors.state_store import StateDirectory
from tidelog.runtime.durability import Changes, Kept


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
