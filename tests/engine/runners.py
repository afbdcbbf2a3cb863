"""The two runtimes that read sources, as one: tests that hold for an engine hold for a durable run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from engine.running import DeadLetterList
from tidelog import Engine, MemorySink
from tidelog.plans.facts import Record
from tidelog.plans.plan import Plan
from tidelog.runtime.durable import DurableRun
from tidelog.runtime.interfaces import Listener, Source

KINDS = ["engine", "durable"]


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A durable run stores within the event loop: virtual time would jump ahead while it waits for a thread."""

    async def call(function: Callable[[bytes], None], checkpoint: bytes) -> None:
        await anyio.lowlevel.checkpoint()
        function(checkpoint)

    monkeypatch.setattr(anyio.to_thread, "run_sync", call)


class MemoryLog:
    """An answer log that lives as long as the process."""

    name = "memory"
    full: Literal["block", "stop"] = "block"

    def __init__(self) -> None:
        self.answers: list[Record] = []
        self._stored: bytes | None = None

    @property
    def pending(self) -> int:
        return 0

    def append(self, records: Sequence[Record], frontier: int) -> None:
        self.answers += records

    def commit(self, checkpoint: bytes) -> None:
        self._stored = checkpoint

    def checkpoint(self) -> bytes | None:
        return self._stored

    def check(self) -> None:
        """Nothing can be lost."""

    def has_room(self) -> bool:
        return True


class Runner:
    """An engine, or a durable run, with what it answers and what it refuses."""

    def __init__(
        self, kind: str, plan: Plan, sources: Sequence[Source | Listener], log: MemoryLog | None = None, **options: Any
    ) -> None:
        self.letters = DeadLetterList()
        self.log = log or MemoryLog()
        self._sink = MemorySink()
        self._is_engine = kind == "engine"
        self.runtime: Engine | DurableRun
        if self._is_engine:
            self.runtime = Engine(plan, sources, [self._sink], dead_letters=self.letters, **options)
        else:
            self.runtime = DurableRun(plan, sources, self.log, dead_letters=self.letters, **options)
        self.run, self.stop, self.statistics = self.runtime.run, self.runtime.stop, self.runtime.statistics

    @property
    def answers(self) -> list[Record]:
        return self._sink.answers if self._is_engine else self.log.answers
