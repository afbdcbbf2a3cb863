"""Running programs in tests: on both backends, in virtual time where time is waited for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
from trio.testing import MockClock

import tidelog
from tidelog import Engine, MemorySink, MemorySource, Session
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import Batch, Rejected, Source

T = TypeVar("T")
BACKENDS = ["asyncio", "trio"]


def run(backend: str, main: Callable[[], Awaitable[T]]) -> T:
    """Run to the end; on trio time is virtual, and jumps ahead while all wait for it."""
    options = {"clock": MockClock(autojump_threshold=0)} if backend == "trio" else {}
    return anyio.run(main, backend=backend, backend_options=options)


def plan_of(text: str) -> Plan:
    return tidelog.compile(text)


def records(plan: Plan, facts: Iterable[str]) -> list[Record]:
    """Facts such as `hot(a)@3`, `hot@[1,2)` as the plan's records; arguments are text, or integers."""
    found: list[Record] = []
    for fact in facts:
        atom, _, when = fact.partition("@")
        name, _, rest = atom.partition("(")
        row = tuple(_constant(text) for text in rest[:-1].split(",")) if rest else ()
        session = Session(plan)
        interval = when if when[0] in "[(" else f"[{when},{when}]"
        found.append((name, row, *session._times.read(interval)))
    return found


def _constant(text: str) -> str | int:
    return int(text) if text.lstrip("-").isdigit() else text


def shown(plan: Plan, answers: Iterable[Record]) -> list[str]:
    """Answers as text, in order."""
    return [str(plan.answer(record)) for record in answers]


def session_answers(text: str, facts: Sequence[str], *, batch: int = 1, finish: bool = True, **options: Any) -> list[str]:
    """What a session says to facts pushed in batches."""
    plan = plan_of(text)
    session = Session(plan, **options)
    given = records(plan, facts)
    for i in range(0, len(given), batch):
        session.push_records(given[i : i + batch])
    if finish:
        session.finish()
    return shown(plan, session.pull_records())


def engine_answers(backend: str, plan: Plan, sources: Sequence[Source], **options: Any) -> list[Record]:
    """What an engine answers until all sources have ended."""
    sink = MemorySink()
    run(backend, Engine(plan, sources, [sink], **options).run)
    return sink.answers


def multiset(answers: Iterable[Record]) -> Counter[Record]:
    return Counter(answers)


class SlowSource(MemorySource):
    """Delivers its batches one each `pause` seconds, the first after `delay`."""

    def __init__(self, batches: Sequence[Batch], pause: float, delay: float = 0.0, name: str = "slow") -> None:
        super().__init__(batches, name=name)
        self._pause, self._delay = pause, delay

    async def receive(self) -> Batch | None:
        await anyio.sleep(self._delay)
        self._delay = self._pause
        return await super().receive()


class DeadLetterList:
    """Keeps what was refused."""

    def __init__(self) -> None:
        self.rejected: list[Rejected] = []

    async def send(self, rejected: Sequence[Rejected]) -> None:
        await anyio.lowlevel.checkpoint()
        self.rejected += rejected
