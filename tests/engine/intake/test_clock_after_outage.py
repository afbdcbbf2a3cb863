"""The clock of a run that goes on: no duration begins anew, and silence counts only while somebody listened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from engine.intake.test_sources import TimedSink
from engine.running import plan_of
from engine.running import run as in_virtual_time
from tidelog import Engine, PushSource
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.plans.plan.plan import Plan

BEGIN = 1_700_000_000
HELD = """timeline integer, unit 1 s. input temp(sensor, value). input off(sensor). output alarm. output silent.
now(S, V) :- latest temp(S, V) by S in [2000].
alarm(S) :- boxminus[0,300] now(S, 90).
silent(S) :- diamondminus[0,2000] temp(S, _), not diamondminus[0,300] temp(S, _)."""


class Power:
    """A machine in virtual time: runs that follow each other, and the time of day over all of them."""

    def __init__(self, folder: Path) -> None:
        self.plan = plan_of(HELD)
        self.time = 0.0
        self._folder = str(folder / "state")

    def run(self, seconds: float, script: Callable[[PushSource, Plan], Any]) -> list[tuple[str, int, float]]:
        """A run of so many seconds, and its answers: each with its begin, and when it came."""
        source, sink = PushSource(), TimedSink()

        async def main() -> None:
            woken = anyio.current_time()
            with StateDirectory(self._folder) as store:
                engine = Engine(
                    self.plan, [source], [sink], clock=2, now=lambda: BEGIN + self.time + anyio.current_time() - woken,
                    state=store, at_end="stop", emit="changes",
                )  # fmt: skip
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(engine.run)
                    await engine.wait_started()
                    await script(source, self.plan)
                    await anyio.sleep_until(woken + seconds)
                    engine.stop()
            sink.times = [time - woken + self.time for time in sink.times]

        in_virtual_time("trio", main)
        self.time += seconds
        return [(a[0], a[2] - BEGIN, round(time)) for a, time in zip(sink.answers, sink.times, strict=True)]


@pytest.fixture
def power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Power:
    """The disk takes no virtual time: what a thread does would take all that there is."""

    async def at_once(call: Callable[[], Any]) -> Any:
        await anyio.lowlevel.checkpoint()
        return call()

    monkeypatch.setattr(anyio.to_thread, "run_sync", at_once)
    return Power(tmp_path)


def at(plan: Plan, second: int, value: int = 90) -> Any:
    return plan.record("temp", ("s1", value), time=BEGIN + second)


async def nothing(source: PushSource, plan: Plan) -> None:
    await anyio.lowlevel.checkpoint()


async def first(source: PushSource, plan: Plan) -> None:
    await source.send([at(plan, 0)])


def test_a_duration_goes_on_after_an_outage(power: Power) -> None:
    """Hot, and silent, for four of five minutes, then off for ten: both are told after one more minute of listening."""
    assert power.run(240, first) == []
    power.time += 600
    told = {(name, begin): time for name, begin, time in power.run(100, nothing)}
    assert sorted(told) == [("alarm", 300), ("silent", 301)]
    assert all(840 + 60 <= time <= 840 + 66 for time in told.values())


def test_nothing_is_claimed_because_nobody_listened(power: Power) -> None:
    """Off for ten minutes, then a sensor brings what it noted meanwhile: it was neither hot nor silent."""
    assert power.run(240, first) == []
    power.time += 600

    async def backlog(source: PushSource, plan: Plan) -> None:
        await anyio.sleep(1)
        for second in range(240, 841, 120):
            await source.send([at(plan, second, 20)])
            await anyio.sleep(1)
        await source.send([at(plan, 853, 20)])

    assert power.run(200, backlog) == []


def test_a_source_that_has_caught_up_ends_the_lag(power: Power) -> None:
    """Once it has brought something of now, the clock is that of the day: its silence is told when it is due."""
    assert power.run(240, first) == []
    power.time += 10

    async def back(source: PushSource, plan: Plan) -> None:
        await anyio.sleep(2)
        await source.send([at(plan, 252, 20)])

    assert [(name, begin, round(time)) for name, begin, time in power.run(320, back)] == [("silent", 553, 555)]


def test_the_lag_ends_once_as_much_time_has_passed(power: Power) -> None:
    """After an outage of 20 s, a silent source is believed to be silent after 20 s."""
    assert power.run(240, first) == []
    power.time += 20
    told = {name: time for name, _, time in power.run(60, nothing)}
    assert set(told) == {"alarm", "silent"}
    assert all(302 <= time <= 305 for time in told.values())
