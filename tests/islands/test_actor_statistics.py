"""What is told of the actors of a run: while it runs, once it has ended, and of who waits for whom."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import anyio
import anyio.lowlevel
import pytest

import tidelog
from tidelog.connectors.sources.memory import MemorySink, MemorySource, PushSource
from tidelog.operators.operator import OperatorStatistics
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import OperatorError
from tidelog.runtime.islands.messages import Failed
from tidelog.runtime.islands.spreading import Layout, SpreadReasoner
from tidelog.runtime.ports.interfaces import Batch
from tidelog.runtime.sessions.settings import SOURCE, Settings

PLAN = tidelog.compile("""timeline integer, unit 1 s.
input temp(room: text, celsius: integer).
output too_warm(room), crowded(number).
warm(R) for 3 s :- temp(R, C), C > 5.
too_warm(R) :- warm(R) for 2 s.
crowded(N) :- N = count() over warm(R) in [5 s], N > 2.
""")
FACTS = [("temp", (f"room{i % 8}", i * 7 % 11), i // 4, i // 4) for i in range(400)]
COUNTED = ("received", "sent")


def batches() -> Iterator[Batch]:
    for first in range(0, len(FACTS), 40):
        yield Batch(FACTS[first : first + 40])


def counts(steps: dict[str, OperatorStatistics]) -> dict[str, list[int]]:
    return {name: [getattr(step, which) for which in COUNTED] for name, step in steps.items()}


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
@pytest.mark.parametrize(
    ("actors", "workers"),
    [("islands", 1), ("rule", 1), pytest.param("islands", 2, marks=pytest.mark.slow)],
)
async def test_what_was_done_is_known_once_a_run_has_ended(actors: str, workers: int, anyio_backend: str) -> None:
    """The actors are gone, and none is started to be asked."""
    plain = tidelog.Engine(PLAN, [MemorySource(FACTS)], [MemorySink()])
    engine = tidelog.Engine(PLAN, [MemorySource(FACTS)], [MemorySink()], actors=actors, workers=workers)  # type: ignore[arg-type]
    assert engine.actors() == plain.actors() == []
    assert counts(engine.statistics().steps) == {step.id: [0, 0] for step in PLAN.steps}
    await plain.run()
    await engine.run()
    found = engine.actors()
    assert [(actor.island, actor.shard) for actor in found] == sorted((actor.island, actor.shard) for actor in found)
    assert sum(actor.facts for actor in found) >= len(FACTS)
    assert all(actor.answered == actor.told > 0 for actor in found)
    assert all(actor.seconds > 0 and not actor.waits and actor.frontier >= POS - 1 for actor in found)
    assert counts(engine.statistics().steps) == counts(plain.statistics().steps)
    assert engine._session._network_of is None  # type: ignore[attr-defined] # of a run that is spread
    assert engine.unfinished() == []


@pytest.mark.slow
def test_who_waits_for_an_earlier_island_says_so() -> None:
    """While its workers stand still, an island is at work; the one that reads what it sends waits for it by name."""
    session = SpreadReasoner(PLAN, Settings(), Layout("islands", 2))
    first, *rest = batches()
    try:
        session.take(SOURCE, first)
        session.pull_records()
        assert {actor.waits_for for actor in session.actors()} == {"facts"}
        known = session.actors()[-1].frontier
        assert known > NEG
        workers = {actor.process for actor in session.actors()}
        for process in workers:
            os.kill(process, signal.SIGSTOP)
        session.take(SOURCE, rest[0])
        standing = [(actor.name, waits, waits_for) for actor, waits, _, waits_for in session._islands.standing()]
        frontiers = {frontier for *_, frontier, _ in session._islands.standing()}
        for process in workers:
            os.kill(process, signal.SIGCONT)
        assert standing == [("too_warm", 1, ""), ("too_warm", 1, ""), ("crowded", 0, "too_warm")]
        assert frontiers == {known}
        session.pull_records()
        assert {(actor.waits, actor.waits_for) for actor in session.actors()} == {(0, "facts")}
        assert session.actors()[-1].frontier > known
    finally:
        session.close()


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_who_asks_for_statistics_holds_up_no_answer(anyio_backend: str) -> None:
    """What has landed while somebody asked is passed on, though nothing else comes."""
    source, sink = PushSource(name="floor"), MemorySink()
    engine = tidelog.Engine(PLAN, [source], [sink], workers=2)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.run)
        await engine.wait_started()
        for batch in batches():
            await source.send(batch)
            while engine.intake_statistics().accepted < FACTS.index(batch.records[-1]):
                await anyio.lowlevel.checkpoint()
            engine.actors()
        told = engine._session._told  # type: ignore[attr-defined] # what it has told so far
        while len(sink.answers) < told:  # noqa: ASYNC110 - seen from outside
            await anyio.sleep(0.001)
        assert told > 10
        source.close()


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_what_fails_while_somebody_asks_ends_the_run(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks is told, and the run ends with the same error: it does not wait for ever."""
    source = PushSource(name="floor")
    engine = tidelog.Engine(PLAN, [source], [MemorySink()], actors="islands")
    caught: list[OperatorError] = []

    async def ask() -> None:
        await engine.wait_started()
        session = engine._session

        def fail(*_: object, **__: object) -> None:
            raise Failed("OperatorError", ("warm", "a rule", "a fact", "it fails")).as_error()

        monkeypatch.setattr(session, "_ask_all", fail)
        with pytest.raises(OperatorError, match="it fails"):
            engine.actors()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        try:
            await engine.run()
        except OperatorError as error:
            caught.append(error)
    assert [error.step for error in caught] == ["warm"]
