"""Workers that are slow, far behind, or gone, and the processes that a run leaves behind: none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Timer

import anyio
import anyio.lowlevel
import pytest
from engine.running import BACKENDS

import tidelog
from children import WAIT
from crashing import CrashError, CrashingDirectory, ReplayableSource
from tidelog import Engine, MemorySink, MemorySource
from tidelog.plans.data.facts import Record
from tidelog.runtime.durable import ledger
from tidelog.runtime.islands import framing
from tidelog.runtime.islands.spreading import Layout, SpreadReasoner
from tidelog.runtime.islands.supervision import Supervision
from tidelog.runtime.ports import channels
from tidelog.runtime.ports.interfaces import Batch
from tidelog.runtime.running.flights import Flights
from tidelog.runtime.sessions.settings import SOURCE, Settings
from waiting import INTERVAL, eventually

PLAN = tidelog.compile("timeline integer. input p(x). q(X) :- diamondminus[0,2] p(X). n(N) :- N = count() over q(_) in [3].")


def facts(time: int, count: int, width: int = 1) -> list[Record]:
    return [("p", (f"k{i}" * width,), time, time) for i in range(count)]


class ActingSource(MemorySource):
    """Does something before each of its batches, told how many came before."""

    def __init__(self, batches: Sequence[list[Record]], act: Callable[[int], Awaitable[None]]) -> None:
        super().__init__([Batch(batch) for batch in batches])
        self._act, self._number = act, 0

    async def receive(self) -> Batch | None:
        await self._act(self._number)
        self._number += 1
        return await super().receive()


def run_spread(
    batches: Sequence[list[Record]], act: Callable[[int, Engine, MemorySink], Awaitable[None]], backend: str = "asyncio"
) -> list[Record]:
    """Run over two workers; `act` comes before each batch."""
    sink = MemorySink()

    async def before(number: int) -> None:
        with anyio.fail_after(WAIT):
            await act(number, engine, sink)

    engine = Engine(PLAN, [ActingSource(batches, before)], [sink], workers=2)
    anyio.run(engine.run, backend=backend)
    return sink.answers


def in_one_task(batches: Sequence[list[Record]]) -> list[Record]:
    sink = MemorySink()
    anyio.run(Engine(PLAN, [MemorySource([Batch(batch) for batch in batches])], [sink], actors="one").run)
    return sink.answers


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - nobody tells
        await anyio.sleep(INTERVAL)


def workers_of(engine: Engine) -> list[int]:
    assert isinstance(engine._session, SpreadReasoner)
    return sorted({actor.process for actor in engine._session.actors()})


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_worker_that_is_killed_while_nobody_waits_for_it_costs_nothing(
    backend: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The end of its socket stays readable: the engine looked at it again and again. Another one is there at once.

    The log tells of it once, though several actors lived in it.
    """
    looks, land = [0], SpreadReasoner.land

    def counted(session: SpreadReasoner) -> None:
        looks[0] += 1
        land(session)

    monkeypatch.setattr(SpreadReasoner, "land", counted)

    async def act(number: int, engine: Engine, sink: MemorySink) -> None:
        if number == 1:
            await until(lambda: bool(sink.answers))
            before = workers_of(engine)
            os.kill(before[0], signal.SIGKILL)
            await until(lambda: before[0] not in workers_of(engine))
            looks[0] = 0
            await anyio.sleep(0.3)
            assert looks[0] < 10
            told = f"the worker with process id {before[0]} has ended: its actors are started anew in another one"
            assert caplog.messages == [told]

    batches = [facts(0, 4), facts(9, 4)]
    assert sorted(run_spread(batches, act, backend)) == sorted(in_one_task(batches))


def test_what_does_not_fit_into_a_socket_is_sent_though_nothing_else_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of a large delivery waited for the next one: a worker that had a part of it could not answer."""
    monkeypatch.setattr(framing, "BUFFER", 1 << 12)

    async def act(number: int, engine: Engine, sink: MemorySink) -> None:
        if number == 1:
            await anyio.sleep(0.2)  # what was told before is answered
        if number == 2:
            await until(lambda: any(answer[2] == 9 for answer in sink.answers))

    batches = [facts(0, 1), facts(9, 3000, 30), facts(30, 1)]
    assert sorted(run_spread(batches, act)) == sorted(in_one_task(batches))


def test_a_worker_that_stands_still_for_a_while_holds_up_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is stopped, deliveries much larger than buffers are on the way, both there and back."""
    monkeypatch.setattr(framing, "BUFFER", 1 << 12)

    async def act(number: int, engine: Engine, sink: MemorySink) -> None:
        if number == 1:
            stopped = workers_of(engine)[0]
            os.kill(stopped, signal.SIGSTOP)
            Timer(0.5, os.kill, (stopped, signal.SIGCONT)).start()

    batches = [facts(time, 1000, 40) for time in range(0, 60, 4)]
    assert sorted(run_spread(batches, act)) == sorted(in_one_task(batches))


def test_room_is_seen_by_whoever_waits_though_another_has_taken_what_landed() -> None:
    """As a commit does that has to have everything: then no worker answers any more, and nobody woke who waited."""

    async def main() -> None:
        session = SpreadReasoner(PLAN, Settings(), Layout(workers=1))
        flights = Flights(session, lambda arrival: None)
        flights.begin()
        time = 0
        session.drain()
        (process,) = {actor.process for actor in session.actors()}
        os.kill(process, signal.SIGSTOP)
        while not flights.is_full:
            session.take(SOURCE, Batch(facts(time, 1)))
            flights.depart(None, None)
            time += 1
        os.kill(process, signal.SIGCONT)
        with anyio.fail_after(WAIT):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(flights.wait_for_room)
                await anyio.lowlevel.checkpoint()
                flights.settle()
        session.close()

    anyio.run(main)


def test_what_waits_for_an_actor_that_is_set_aside_gets_on() -> None:
    """Also where it is found to be gone when something is sent to it, behind deliveries that are on the way."""
    session = SpreadReasoner(PLAN, Settings(), Layout(workers=1, supervision=Supervision(restarts=0)))
    session.take(SOURCE, Batch(facts(0, 1)))
    session.drain()
    (process,) = {actor.process for actor in session.actors()}
    os.kill(process, signal.SIGSTOP)
    for at in range(1, 4):
        session.take(SOURCE, Batch(facts(at, 1)))
    os.kill(process, signal.SIGKILL)
    eventually(lambda: not _is_alive(process))
    for at in range(4, 7):
        session.take(SOURCE, Batch(facts(at, 1)))
    session.end(SOURCE)
    session.pull_records()
    assert all(actor.aside for actor in session.actors())
    session.close()


def _is_alive(process: int) -> bool:
    """Whether it runs: one that has ended may wait for whoever has started it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_program_states_is_told_once_though_a_run_goes_on(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that goes on from a snapshot, or is told the journal again, has told all of it before."""
    monkeypatch.setattr(channels, "CHANNEL_BOUND", 0)
    monkeypatch.setattr(ledger, "MOST_NEW", 1)
    plan = tidelog.compile("timeline integer. input p(x). q(X) :- p(X). q(z)@5. output q.")
    given: list[Record] = [("p", (f"k{i}",), i, i) for i in range(10)]
    told: list[Record] = []
    for crash in (4, 3, -1, -1):
        with CrashingDirectory(tmp_path / "state") as store:
            store.crash_at = crash
            sink = MemorySink()
            source = ReplayableSource(given)
            engine = Engine(plan, [source], [sink], state=store, commit_every=0, actors="islands", workers=workers)
            with suppress(CrashError):
                anyio.run(engine.run)
            told += sink.answers
    assert {answer for answer in told if answer[1] == ("z",)} == {("q", ("z",), 5, 5)}
    assert sorted(set(told)) == sorted([*(("q", row, lo, hi) for _, row, lo, hi in given), ("q", ("z",), 5, 5)])
    assert sink.answers == []  # all was taken before


ENGINE = """
import sys, anyio, tidelog
from tidelog import Engine, MemorySource, MemorySink, PushSource
plan = tidelog.compile("timeline integer. input p(x). q(X) :- diamondminus[0,2] p(X).")
source = PushSource()
engine = Engine(plan, [source], [MemorySink()], workers=2)

async def main():
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.run)
        await source.send([("p", ("a",), 1, 1)])
        await engine.wait_started()
        print(*{actor.process for actor in engine._session.actors()}, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_engine_that_is_killed_leaves_no_process_behind(number: signal.Signals, tmp_path: Path) -> None:
    """Workers and nursery end when it does."""
    script = tmp_path / "engine.py"
    script.write_text(textwrap.dedent(ENGINE))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as run:
        assert run.stdout is not None
        workers = [int(found) for found in run.stdout.readline().split()]
        parents = {int(Path(f"/proc/{worker}/stat").read_text().rsplit(")", 1)[1].split()[1]) for worker in workers}
        assert len(workers) == 2 and len(parents) == 1
        run.send_signal(number)
        run.wait(WAIT)
    eventually(lambda: not any(map(_is_alive, (*workers, *parents))))
