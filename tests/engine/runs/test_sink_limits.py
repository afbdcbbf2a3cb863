"""Limits of single sinks: who is slow or away is spared, and holds nobody up."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
import trio
import trio.testing

from crashing import ReplayableSource
from engine.running import plan_of
from engine.runs.test_state import PROGRAM, SOON, AwaySink, StuckSink, answers, facts, until
from tidelog import Engine, MemorySink, MemorySource
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.actors.pacing import Pace
from tidelog.runtime.durable import ledger
from tidelog.runtime.journal import delivery_queue as owed
from tidelog.runtime.ports import channels
from tidelog.runtime.ports.durability import Backlog, Heading, SinkLimits


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(PROGRAM)


def commit_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each few answers are a commit, and a block, of their own."""
    monkeypatch.setattr(owed, "BLOCK", 5)
    monkeypatch.setattr(ledger, "MOST_NEW", 2)
    monkeypatch.setattr(channels, "CHANNEL_BOUND", 0)


@pytest.mark.parametrize("away", [AwaySink(), StuckSink()], ids=lambda sink: str(sink.name))
def test_a_sink_that_is_away_loses_its_own_answers_alone(
    tmp_path: Path, plan: Plan, away: AwaySink | StuckSink, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Sources would wait for it, as so little may wait; beyond its own limit its oldest answers go, and the others' stay."""
    commit_often(monkeypatch)
    given, near = facts(plan, 120), MemorySink()
    expected = answers(plan, given, emit="final")

    async def main(store: StateDirectory) -> Engine:
        backlog = Backlog(600, "block", {away.name: SinkLimits(waiting=7)})
        ends = [ReplayableSource(given)], [near, away]
        engine = Engine(plan, *ends, state=store, commit_every=0, emit="final", restarts=SOON, backlog=backlog)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await until(lambda: len(near.answers) == len(expected))
            assert lost(engine, away.name) > 0
            away.is_away = False
        return engine

    with StateDirectory(str(tmp_path)) as store:
        engine = anyio.run(main, store, backend="trio")
    assert lost(engine, near.name) == 0
    assert 0 < len(away.answers) == len(expected) - lost(engine, away.name)
    assert away.answers[-1] == near.answers[-1]
    assert f"{away.name}: " in caplog.text and "answers were dropped" in caplog.text


def lost(engine: Engine, name: str) -> int:
    """How many answers a sink has lost."""
    return dict(engine.sink_statistics())[name].dropped


def test_the_slowest_sink_is_named_while_sources_wait(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Once too much waits, the log says for whom; all of it is told in the end."""
    commit_often(monkeypatch)
    given, near, away = facts(plan, 120), MemorySink(), AwaySink()
    expected = answers(plan, given, emit="final")

    async def main(store: StateDirectory) -> None:
        ends = [ReplayableSource(given)], [near, away]
        engine = Engine(plan, *ends, state=store, commit_every=0, emit="final", restarts=SOON, backlog=Backlog(300))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await until(lambda: f"answers wait for {away.name}, the slowest" in caplog.text)
            away.is_away = False

    with StateDirectory(str(tmp_path)) as store:
        anyio.run(main, store, backend="trio")
    assert sorted(away.answers) == sorted(near.answers) == sorted(expected)


def test_a_rate_is_kept() -> None:
    """Ten answers a second, of which ten may come at once."""
    pace, times = Pace(10), list[float]()

    async def main() -> None:
        groups = [(Heading("r", 1, 0), [("p", (i,), 0, 0) for i in range(25)]), (None, [("p", (25,), 0, 0)])]
        pieces = [*pace.pieces(groups)]
        assert [(heading and heading.first, len(piece)) for heading, piece in pieces] == [
            (1, 10),
            (11, 10),
            (21, 5),
            (None, 1),
        ]
        for _, piece in pieces:
            await pace.wait(len(piece))
            times.append(anyio.current_time())

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert [round(time - times[0], 6) for time in times] == [0, 1, 2, 2.5]


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_no_rate_is_told(rate: float) -> None:
    """A number above zero."""
    with pytest.raises(ValueError, match="answers a second"):
        Pace(rate)


def test_a_rate_changes_no_answer(plan: Plan) -> None:
    """Also without a state: all of them come, in their order."""
    given, sink = facts(plan), MemorySink()
    expected = answers(plan, given, emit="final")
    backlog = Backlog(sinks={sink.name: SinkLimits(rate=100_000)})
    anyio.run(Engine(plan, [MemorySource(given)], [sink], emit="final", backlog=backlog).run, backend="trio")
    assert sink.answers == expected
