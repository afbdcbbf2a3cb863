"""Both ways in which an engine runs, as one: tests that hold without a state hold with one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from engine.running import DeadLetterList
from tidelog import Engine, MemorySink
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.durability import Changes, Input, Kept, Told
from tidelog.runtime.ports.interfaces import Listener, Source

KINDS = ["engine", "durable"]


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A durable run stores within the event loop: virtual time would jump ahead while it waits for a thread."""

    async def call(function: Callable[..., Any], *arguments: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return function(*arguments)

    monkeypatch.setattr(anyio.to_thread, "run_sync", call)


class MemoryStore:
    """A state that lives as long as the process."""

    name = "memory"

    def __init__(self) -> None:
        self._head: bytes | None = None
        self._plan = b""
        self._parts: dict[str, bytes] = {}
        self._journal: list[Input] = []
        self._answers: list[Told] = []

    def head(self) -> bytes | None:
        return self._head

    def plan(self) -> bytes:
        return self._plan

    def commit(self, changes: Changes) -> Kept:
        self._head = changes.head
        self._plan = self._plan if changes.plan is None else changes.plan
        self._journal += changes.journal
        self._answers += changes.answers
        for name, data in (changes.parts or {}).items():
            self._parts.pop(name, None)
            if data is not None:
                self._parts[name] = data
        return self.kept()

    def kept(self) -> Kept:
        return Kept(1, sum(len(block.data) for block in self._answers))

    def parts(self) -> Iterator[tuple[str, bytes]]:
        return iter(self._parts.items())

    def journal(self, first: int = 0) -> Iterator[Input]:
        return (block for block in self._journal if block.last >= first)

    def answers(self, first: int) -> Told | None:
        return next((block for block in self._answers if block.last >= first), None)

    def check(self) -> None:
        """Nothing can be lost."""


class MemoryLog:
    """A state, and the answers of the runs that go on with it."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.sink = MemorySink()

    @property
    def answers(self) -> list[Record]:
        return self.sink.answers


class Runner:
    """An engine without or with a state, with what it answers and what it refuses."""

    def __init__(
        self, kind: str, plan: Plan, sources: Sequence[Source | Listener], log: MemoryLog | None = None, **options: Any
    ) -> None:
        self.letters = DeadLetterList()
        self.log = log or MemoryLog()
        if kind == "durable":
            options |= {"state": self.log.store, "commit_every": 0.0}
        self.runtime = Engine(plan, sources, [self.log.sink], dead_letters=self.letters, **options)
        self.run, self.stop, self.statistics = self.runtime.run, self.runtime.stop, self.runtime.statistics

    @property
    def answers(self) -> list[Record]:
        return self.log.answers
