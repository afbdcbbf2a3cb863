"""Workers that hang: they are ended and replaced, what is asked meanwhile is answered, and what hangs twice is set aside."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from engine.running import BACKENDS

import tidelog
from children import WAIT
from crashing import ReplayableSource
from tidelog import Engine, MemorySink, MemorySource, PushSource, StateDirectory, Supervision
from tidelog.plans.data.facts import Record
from tidelog.runtime.durable import ledger, snapshots
from tidelog.runtime.islands.lines import Opened
from tidelog.runtime.islands.nursery import Worker
from tidelog.runtime.islands.spreading import Layout, SpreadReasoner
from tidelog.runtime.ports.interfaces import Batch
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import SOURCE, Settings
from waiting import INTERVAL

PLAN = tidelog.compile("timeline integer. input p(x). q(X) :- diamondminus[0,2] p(X). n(N) :- N = count() over q(_) in [3].")
SOON = Supervision(answers_within=2.0)
"""Long enough for a worker that is only slow."""
NEVER = Supervision(answers_within=1_000.0)


def facts(time: int, count: int) -> list[Record]:
    return [("p", (f"k{i}",), time, time) for i in range(count)]


def in_one_task(records: list[Record]) -> list[Record]:
    sink = MemorySink()
    anyio.run(Engine(PLAN, [MemorySource([Batch(records)])], [sink], actors="one", emit="final").run)
    return sorted(sink.answers)


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(WAIT):
        while not condition():  # noqa: ASYNC110 - nobody tells
            await anyio.sleep(INTERVAL)


def a_worker(engine: Engine) -> int:
    """The process of one that has facts."""
    return next(actor.process for actor in engine.actors() if actor.facts)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_worker_that_hangs_is_replaced_and_nothing_is_lost(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    """It held up the answers of all others for good."""
    given = [*facts(0, 8), *facts(9, 8), *facts(30, 8)]
    sink, source = MemorySink(), PushSource()
    engine = Engine(PLAN, [source], [sink], workers=2, emit="final", supervision=SOON)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await source.send(given[:8])
            await source.send(given[8:16])
            await until(lambda: bool(sink.answers))
            os.kill(hanging := a_worker(engine), signal.SIGSTOP)
            await source.send(given[16:])
            await until(lambda: all(actor.process != hanging for actor in engine.actors()))
            source.close()

    anyio.run(main, backend=backend)
    assert sorted(sink.answers) == in_one_task(given)
    assert "has not answered, and was ended" in caplog.messages[0]
    assert not engine.set_aside()


@pytest.mark.parametrize("backend", BACKENDS)
def test_figures_are_told_while_a_worker_hangs(backend: str) -> None:
    """Those that were known last, and what is waited for; nobody who asks for them waits until it answers."""
    sink, source = MemorySink(), PushSource()
    engine = Engine(PLAN, [source], [sink], workers=2, emit="final", supervision=NEVER)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await source.send(facts(0, 8))
            await source.send(facts(9, 8))
            await until(lambda: bool(sink.answers))
            before = engine.statistics()
            assert sum(step.received for step in before.steps.values()) > 8
            os.kill(hanging := a_worker(engine), signal.SIGSTOP)
            await source.send(facts(30, 8))
            await until(lambda: any("has not answered for" in actor.waits_for for actor in engine.actors()))
            found = {actor.waits_for for actor in engine.actors() if actor.process == hanging}
            assert found and all(told.startswith("its process, which has not answered for ") for told in found)
            assert engine.statistics().steps == before.steps
            os.kill(hanging, signal.SIGCONT)
            await until(lambda: not any("has not answered for" in actor.waits_for for actor in engine.actors()))
            assert sum(step.received for step in engine.statistics().steps.values()) > 16
            source.close()

    anyio.run(main, backend=backend)
    assert sorted(sink.answers) == in_one_task([*facts(0, 8), *facts(9, 8), *facts(30, 8)])


def test_what_hangs_twice_behind_the_same_facts_is_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trial would take as long again; the others go on."""
    opened = Worker.open
    hangs = [False]

    def opening(worker: Worker, part: int, *, anew: bool = False) -> Opened:
        found = opened(worker, part, anew=anew)
        if hangs[0]:
            os.kill(found.process, signal.SIGSTOP)
        return found

    monkeypatch.setattr(Worker, "open", opening)
    supervision = Supervision(answers_within=0.3)
    session = SpreadReasoner(PLAN, Settings(), Layout(workers=1, supervision=supervision))
    session.take(SOURCE, Batch(facts(0, 1)))
    session.drain()
    hangs[0] = True
    os.kill(next(actor.process for actor in session.actors()), signal.SIGSTOP)
    session.take(SOURCE, Batch(facts(9, 1)))
    session.end(SOURCE)
    session.pull_records()
    assert {reason for _, reason in session.set_aside()} <= {
        "it did not answer within 0.3 s, twice behind the same facts",
        "it reads what `q` sends, which was set aside",
    }
    assert session.set_aside()
    session.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_nobody_stands_still_for_a_snapshot_while_a_worker_hangs(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A snapshot needs the states of all: it is taken once the worker answers, and everything else goes on meanwhile."""
    monkeypatch.setattr(snapshots, "MOST_REPLAYED", 1)
    monkeypatch.setattr(ledger, "MOST_NEW", 1)
    come_up = Reasoner.come_up
    waited: list[bool] = []

    def coming_up(session: SpreadReasoner) -> None:
        waited.append(session.keeps_waiting)
        spread_up(session)

    spread_up = SpreadReasoner.come_up
    assert come_up is not spread_up
    monkeypatch.setattr(SpreadReasoner, "come_up", coming_up)
    given = [fact for at in range(0, 120, 4) for fact in facts(at, 4)]
    sink = MemorySink()
    with StateDirectory(tmp_path / "state") as store:
        source = ReplayableSource(given)
        engine = Engine(PLAN, [source], [sink], state=store, commit_every=0, workers=2, emit="final", supervision=SOON)

        async def main() -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(engine.run)
                await engine.wait_started()
                await until(lambda: bool(sink.answers))
                os.kill(a_worker(engine), signal.SIGSTOP)

        anyio.run(main, backend=backend)
    assert sorted(sink.answers) == in_one_task(given)
    assert waited and not any(waited)
