"""Sources that run ahead of the slowest are held back, until it speaks, is idle or ends; whoever is waited for is told."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from children import WAIT
from engine.runners import KINDS, Runner, no_threads  # noqa: F401 - a fixture
from engine.running import BACKENDS, SlowSource, plan_of, records, run
from tidelog import Engine, MemorySink, MemorySource, PushSource
from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.channels import CHANNEL_BOUND
from tidelog.runtime.ports.interfaces import Batch

pytestmark = pytest.mark.usefixtures("no_threads")

PLAN = plan_of("timeline integer. quiet(X) :- hot(X), not cold(X).")
LEAD = 100
OVERSHOOT = CHANNEL_BOUND + 4
"""How many batches may be on their way when a source is held back."""


class CountingSource(MemorySource):
    """Counts the facts that it was asked for."""

    given = 0

    async def receive(self) -> Batch | None:
        batch = await super().receive()
        self.given += len(batch.records) if batch is not None else 0
        return batch


def fast(count: int, *, first: int = 0, size: int = 1) -> CountingSource:
    facts = [("hot", ("a",), time, time) for time in range(first, first + count)]
    return CountingSource(facts, batch_size=size, name="fast")


def times(answers: Sequence[Record]) -> list[int]:
    return sorted(record[2] for record in answers)


async def settle(look: Callable[[], object]) -> None:
    """Wait until nothing changes any more."""
    before, rounds = look(), 0
    while rounds < 50:
        await anyio.lowlevel.checkpoint()
        rounds, before = (rounds + 1, before) if look() == before else (0, look())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_source_that_runs_ahead_is_held_back(backend: str, kind: str) -> None:
    """Of a fast source no more is read than may wait for the slow one; whatever the slow one says lets it go on as far."""

    async def main() -> None:
        ahead, behind = fast(2500), PushSource(name="behind")
        runner = Runner(kind, PLAN, [ahead, behind], max_lead=LEAD)
        with anyio.fail_after(WAIT):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(runner.run)
                await settle(lambda: ahead.given)
                assert LEAD < ahead.given <= LEAD + OVERSHOOT
                await behind.send([("cold", ("a",), 1000, 1000)])
                while ahead.given <= 1000:
                    await anyio.lowlevel.checkpoint()
                await settle(lambda: ahead.given)
                assert 1000 + LEAD < ahead.given <= 1000 + LEAD + OVERSHOOT
                assert runner.statistics().sources["0:fast"].lead > LEAD
                behind.close()
        assert times(runner.answers) == [time for time in range(2500) if time != 1000]
        assert runner.letters.rejected == []

    run(backend, main)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_sources_of_very_different_times_are_aligned(backend: str, kind: str) -> None:
    """A source whose facts all lie behind those of another waits for its end; nothing is lost, in either order."""
    for order in (1, -1):
        sources = [fast(2000, first=10**6, size=10), MemorySource(fast_records(2000), batch_size=10, name="old")][::order]
        runner = Runner(kind, PLAN, sources, max_lead=LEAD)
        run(backend, runner.run)
        assert times(runner.answers) == [*range(2000), *range(10**6, 10**6 + 2000)]
        assert runner.letters.rejected == []


def fast_records(count: int) -> list[Record]:
    return [("hot", ("b",), time, time) for time in range(count)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_idle_source_no_longer_holds_back_the_others(kind: str) -> None:
    """With `idle_after` a source that is held back goes on once the silent one is idle, and is not idle itself."""
    ahead, silent = fast(1000), SlowSource([Batch(records(PLAN, ["cold(a)@2000"]))], pause=0, delay=500, name="silent")
    runner = Runner(kind, PLAN, [ahead, silent], max_lead=LEAD, idle_after=5)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            await anyio.sleep(4)
            assert ahead.given <= LEAD + OVERSHOOT
            await anyio.sleep(2)
            assert ahead.given == 1000

    run("trio", main)
    assert times(runner.answers) == list(range(1000))


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_waited_for_is_told_once(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """After ten seconds without progress the log names the silent source, who waits for it, and the cure; and only once."""
    silent = SlowSource([Batch(records(PLAN, ["cold(a)@2000"]))], pause=0, delay=500, name="silent")
    with caplog.at_level(logging.WARNING, "tidelog"):
        run("trio", Runner(kind, PLAN, [fast(1000), silent], max_lead=LEAD).run)
    assert len(caplog.messages) == 1
    assert "fast is held back" in caplog.messages[0]
    assert "facts ahead of silent, which has brought nothing new for 10 s; --idle-after" in caplog.messages[0]


def test_a_source_that_is_slow_is_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    """Where the slowest source goes on, however slowly, others are held back without a word."""
    slow = SlowSource([Batch(records(PLAN, [f"cold(a)@{t}"])) for t in range(0, 400, 10)], pause=4, name="slow")
    with caplog.at_level(logging.WARNING, "tidelog"):
        run("trio", Runner("engine", PLAN, [fast(400), slow], max_lead=20).run)
    assert caplog.messages == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_stop_while_a_source_is_held_back(backend: str, kind: str) -> None:
    """An engine that is told to stop ends at once, and what has come is answered as far as it can be."""

    async def main() -> None:
        ahead = fast(2500)
        runner = Runner(kind, PLAN, [ahead, PushSource(name="silent")], max_lead=LEAD)
        with anyio.fail_after(WAIT):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(runner.run)
                await settle(lambda: ahead.given)
                runner.stop()
        assert runner.statistics().intake.accepted == ahead.given > LEAD

    run(backend, main)


class Writer:
    """Writes to two sources in the order of time, each time waiting until the source has taken it: one pipe for both."""

    def __init__(self) -> None:
        self.often, self.seldom = PushSource(name="often", capacity=0), PushSource(name="seldom", capacity=0)

    async def write(self) -> None:
        for time in range(3000):
            await self.often.send([("hot", ("a",), time, time)])
            if time % 1000 == 999:
                await self.seldom.send([("cold", ("a",), time, time)])
        self.often.close()
        self.seldom.close()


@pytest.mark.parametrize("kind", KINDS)
def test_one_writer_for_two_sources_goes_on_by_idle_after(kind: str) -> None:
    """A writer that waits at the source that is held back cannot feed the slowest; with `idle_after` it goes on."""
    writer = Writer()
    runner = Runner(kind, PLAN, [writer.often, writer.seldom], lateness=5, max_lead=LEAD, idle_after=5)

    async def main() -> None:
        with anyio.fail_after(WAIT):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(runner.run)
                tasks.start_soon(writer.write)

    run("trio", main)
    assert times(runner.answers) == [time for time in range(3000) if time % 1000 != 999]
    assert runner.letters.rejected == []


def test_lateness_is_no_lead() -> None:
    """What waits for a source's own lateness, or for a single source, holds it back never."""
    source = fast(1500)
    sink = MemorySink()
    run("trio", Engine(PLAN, [source], [sink], lateness=500, max_lead=LEAD).run)
    assert len(sink.answers) == 1500
    sink = MemorySink()
    both = [fast(1000), MemorySource([("cold", ("b",), time, time) for time in range(1000)], batch_size=1)]
    run("trio", Engine(PLAN, both, [sink], lateness=500, max_lead=LEAD).run)
    assert len(sink.answers) == 1000


@pytest.mark.parametrize(("lead", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError)])
def test_a_lead_is_a_number_of_facts(lead: int, error: type[Exception]) -> None:
    """Anything but a whole number above 0 is refused when the engine is made."""
    make: Callable[[], object] = partial(Engine, PLAN, [fast(1)], [MemorySink()], max_lead=lead)
    with pytest.raises(error, match="`max_lead` is"):
        make()
