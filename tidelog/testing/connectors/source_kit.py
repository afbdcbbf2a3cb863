"""What a gateway relies on of each source, as tests."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import ClassVar

import anyio
import anyio.lowlevel
import pytest

from tidelog.connectors.sources.memory import MemorySink
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.runtime.actors.causes import first_cause
from tidelog.runtime.engine import Engine
from tidelog.runtime.ports.durability import Changes, Kept
from tidelog.runtime.ports.interfaces import AnyAnswer, Batch, Listener, Rejected
from tidelog.testing.connectors import driving
from tidelog.testing.connectors.benches import PLAN, SourceBench
from tidelog.testing.connectors.driving import AT_ONCE, promptly, until
from tidelog.testing.connectors.sink_kit import pass_over, turns_pass

_FEW, _MORE, _TIMES = 1_000, 3_000, 3
"""How many readings are sent while nobody receives, and how many more, so many times: what is held may not grow each time.
Once it may: Python's own tables, such as that of interned strings, grow by megabytes at once."""
_STILL, _NOISE = 10, 2_000
"""After so many looks at which no more than so many bytes had moved, a sender waits."""
_GROWTH = 600_000
"""By how many bytes it may grow none the less. 3,000 messages that were kept would be more."""


class SourceKit:
    """Derive `class TestMine(SourceKit)` from it, with a fixture `bench` that gives a `SourceBench`; each test has a new
    one."""

    cannot: ClassVar[Mapping[str, str]] = {}
    """The properties that this wire cannot have, by the names of their tests without `test_`, each with the reason."""
    has_latest_alone: ClassVar[bool] = False
    """Whether the other side keeps its latest value alone: then the kit sends one, and waits until it has come."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture(autouse=True)
    def _passed_over(self, request: pytest.FixtureRequest) -> None:
        pass_over(self.cannot, request)

    async def test_readings_arrive_in_order(self, bench: SourceBench) -> None:
        """All that is sent arrives, each once, as it was sent."""
        async with _running(bench) as run:
            await self._say(bench, run, range(1, 21))
            assert run.taken[: len(set(run.taken))] == list(range(1, 21)) or self.has_latest_alone
        assert run.letters == []

    async def test_poison_is_a_dead_letter_and_holds_up_nobody(self, bench: SourceBench) -> None:
        """What is no reading is told with its reason, and the readings before and behind it count."""
        async with _running(bench) as run:
            await self._say(bench, run, range(1, 4))
            await anyio.to_thread.run_sync(bench.say_poison)
            await self._say(bench, run, range(4, 7))
            await until(lambda: run.letters)
        assert all(letter.reason and letter.place for letter in run.letters)

    async def test_it_goes_on_when_a_connection_was_lost(self, bench: SourceBench) -> None:
        """What is sent after that arrives, too; nobody has to do anything."""
        async with _running(bench) as run:
            await self._say(bench, run, range(1, 4))
            bench.cut()
            await self._say(bench, run, range(4, 7))

    async def test_a_kill_between_receipt_and_commit_loses_nothing(self, bench: SourceBench, tmp_path: Path) -> None:
        """What was not committed comes again in the next run; what was does not."""
        path = str(tmp_path / "state-of-the-kit")
        with _Saying(bench) as saying:
            store = _BreakingStore(path)
            async with _running(bench, store) as first:
                saying.begin(range(1, 6))
                await until(lambda: set(first.stored) >= set(range(1, 6)))
                store.breaks = True
                saying.begin(range(6, 11))
                await until(lambda: first.ended)
            assert isinstance(first.error, ConnectorError), f"the run has not been killed: {first.error!r}"
            assert not set(first.stored) & set(range(6, 11))
            async with _running(bench, StateDirectory(path)) as second:
                await until(lambda: set(second.taken) >= set(range(6, 11)))
            assert sorted(second.taken) == list(range(6, 11))

    async def test_nothing_piles_up_while_nobody_receives(self, bench: SourceBench) -> None:
        """What it holds in memory does not grow with what is sent: the rest stays where it comes from."""
        tracemalloc.start()
        async with AsyncExitStack() as stack:
            stack.callback(tracemalloc.stop)
            with _Saying(bench) as saying:
                opened = bench.open()
                await stack.enter_async_context(opened)
                saying.begin([1])
                source = await opened.accept() if isinstance(opened, Listener) else opened
                if source is not opened:
                    await stack.enter_async_context(source)
                with promptly():
                    await source.receive()
                saying.begin(range(2, _FEW))
                held = [await _held(saying)]
                growth = _GROWTH
                while growth >= _GROWTH and len(held) <= _TIMES:
                    begin = _FEW + _MORE * (len(held) - 1)
                    saying.begin(range(begin, begin + _MORE))
                    held.append(await _held(saying))
                    growth = held[-1] - held[-2]
                saying.gives_up = True
        assert growth < _GROWTH, f"{growth} bytes more are held after {_MORE} more readings that nobody receives"

    async def test_it_may_be_cancelled_at_any_time(self, bench: SourceBench) -> None:
        """While it opens and while it waits; the next run brings what is sent then."""
        for turns in (0, 1, 2, 3, 5, 8, 13):
            with promptly():
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_Run(bench).run)
                    await turns_pass(turns)
                    tasks.cancel_scope.cancel()
        async with _running(bench) as run:
            await self._say(bench, run, range(1, 4))

    async def test_it_may_be_left_while_the_other_side_is_away(self, bench: SourceBench) -> None:
        """Who stops a gateway does not wait for a device."""
        with promptly():
            async with _running(bench) as run:
                await self._say(bench, run, range(1, 4))
                bench.leave()
                await turns_pass(13)

    async def _say(self, bench: SourceBench, run: _Run, numbers: Sequence[int]) -> None:
        """Send readings, and wait until they have come."""
        groups = [[number] for number in numbers] if self.has_latest_alone else [numbers]
        for some in groups:
            with _Saying(bench) as saying:
                saying.begin(some)
                await until(partial(_has_come, saying, run, set(some)))


def _has_come(saying: _Saying, run: _Run, numbers: set[int]) -> bool:
    """Whether all of these have been taken; raises what has kept them from being sent."""
    saying.check()
    return numbers <= set(run.taken)


class _Run:
    """An engine with the source of a bench, and what it was told."""

    def __init__(self, bench: SourceBench, store: StateDirectory | None = None) -> None:
        self.letters: list[Rejected] = []
        self.error: ConnectorError | None = None
        self.ended = False
        self._store, self._observer = store, _Heard()
        self._engine = Engine(
            PLAN,
            [bench.open()],
            [MemorySink()],
            emit="points",
            dead_letters=self,
            restarts=AT_ONCE,
            at_end="stop",
            state=store,
            commit_every=0,
            observer=self._observer,
        )

    @property
    def taken(self) -> list[int]:
        """The readings that the operators have taken."""
        return self._observer.numbers

    @property
    def stored(self) -> list[int]:
        """Those of them that are committed."""
        return self._observer.numbers[: self._observer.stored]

    async def run(self) -> None:
        try:
            await self._engine.run()
        except ConnectorError as error:
            self.error = error
        except BaseExceptionGroup as group:
            if not isinstance(cause := first_cause(group), ConnectorError):
                raise
            self.error = cause
        finally:
            self.ended = True
            if self._store is not None:
                self._store.close()

    async def send(self, rejected: Sequence[Rejected]) -> None:
        """Take dead letters."""
        await anyio.lowlevel.checkpoint()
        self.letters.extend(rejected)


class _Heard:
    """An observer that notes which readings were taken, and how many of them are stored."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.stored = self._storing = 0

    def took(self, source: str, batch: Batch | None, refused: Sequence[Rejected]) -> None:
        for predicate, row, _, _ in () if batch is None else batch.records:
            if predicate != "reading":
                raise AssertionError(f"the source brings `{predicate}`, and the kit's program reads `reading`")
            self.numbers.append(int(row[0]))

    def told(self, answers: Sequence[AnyAnswer]) -> None:
        pass

    def going_on(self, run: str, events: int) -> None:
        pass

    def committing(self, events: int) -> None:
        self._storing = len(self.numbers)

    def committed(self, seconds: float) -> None:
        self.stored = self._storing

    def gave_up(self, sink: str, letters: Sequence[Rejected]) -> None:
        pass


@asynccontextmanager
async def _running(bench: SourceBench, store: StateDirectory | None = None) -> AsyncIterator[_Run]:
    """An engine with the bench's source runs."""
    async with anyio.create_task_group() as tasks:
        run = _Run(bench, store)
        tasks.start_soon(run.run)
        yield run
        tasks.cancel_scope.cancel()


class _BreakingStore(StateDirectory):
    """A state whose disk fails when told to, before it stores anything more of what was read."""

    breaks = False

    def commit(self, changes: Changes) -> Kept:
        if self.breaks and changes.journal:
            raise ConnectorError(f"state `{self.name}`: the kit has pulled the plug")
        return super().commit(changes)


class _Saying:
    """Lets a bench send readings, in a thread of its own, one group after the other."""

    def __init__(self, bench: SourceBench) -> None:
        self._bench = bench
        self._threads: list[threading.Thread] = []
        self._errors: list[BaseException] = []
        self.gives_up = False
        """Whether what has not been sent need not be."""

    def __enter__(self) -> _Saying:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.gives_up or any(exc):
            return
        for thread in self._threads:
            thread.join(driving.PATIENCE)
        self.check()

    def check(self) -> None:
        """Raise what has kept a bench from sending."""
        if self._errors:
            raise self._errors[0]

    @property
    def is_done(self) -> bool:
        """Whether all has been sent."""
        return not any(thread.is_alive() for thread in self._threads)

    def begin(self, numbers: Sequence[int]) -> None:
        """Send these behind the others."""
        before = self._threads[-1] if self._threads else None
        thread = threading.Thread(target=self._say, args=(before, list(numbers)), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _say(self, before: threading.Thread | None, numbers: Sequence[int]) -> None:
        if before is not None:
            before.join()
        try:
            self._bench.say(numbers)
        except BaseException as error:  # told where the test waits for it
            self._errors.append(error)


async def _held(saying: _Saying) -> int:
    """How many bytes this process holds once all was sent, or what was not has to wait: until nothing moves any more."""
    before, still = -1, 0
    with promptly():
        while still < _STILL:
            await anyio.sleep(0.01)
            held = tracemalloc.get_traced_memory()[0]
            still = still + 1 if saying.is_done or abs(held - before) < _NOISE else 0
            before = held
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
