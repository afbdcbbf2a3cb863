"""Runs that crash at a commit, as a killed process does, and go on."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from children import WAIT
from tidelog import MemorySource
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.durability import Changes, Kept
from tidelog.runtime.ports.interfaces import Batch


def make_shim(folder: Path) -> Path:
    """The library that ends a process at its n-th call that changes a file or sends something."""
    library, source = folder / "shim.so", Path(__file__).parent / "state/shim.c"
    command = ["gcc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=WAIT)
    except FileNotFoundError:
        pytest.fail("gcc is missing: the kills need it")
    return library


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
