"""Sources that know whether they hear: silence counts from when the last of them has caught up, row by row."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

import tidelog
from engine.intake.test_sources import TimedSink
from engine.running import plan_of
from engine.running import run as in_virtual_time
from tidelog import Engine, PushSource
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.plans.analysis.horizons.absences import absences
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.actors.clock import Clock
from tidelog.runtime.actors.hearing import PATIENCE, Ears
from tidelog.runtime.ports.interfaces import Batch, Hearing, Tick
from tidelog.runtime.sessions.session import Session

BEGIN = 1_700_000_000
SILENT = """timeline integer, unit 1 s. input beat(device). output silent.
silent(D) :- diamondminus beat(D), not diamondminus[0,15] beat(D)."""


class KeptSource(PushSource):
    """A source whose messages somebody keeps: it is told when it is away, and when it has got all of them."""

    def __init__(self, name: str = "push") -> None:
        super().__init__(name=name)
        self.is_behind = False
        self.asked = 0

    def listen_again(self) -> None:
        self.asked += 1
        self.is_behind = True


Script = Callable[["Machine", KeptSource], Awaitable[None]]


class Machine:
    """Virtual time, and the time of day over runs that follow each other."""

    def __init__(self, folder: Path, others: Sequence[PushSource] = ()) -> None:
        self.plan = plan_of(SILENT)
        self.time = 0.0
        self.others = list(others)
        self._folder = str(folder / "state")
        self._woken = 0.0

    def now(self) -> float:
        """Seconds since the first run began."""
        return self.time + anyio.current_time() - self._woken

    async def beat(self, source: PushSource, *devices: str) -> None:
        """Devices are heard; their time is that of their arrival."""
        moment = BEGIN + int(self.now())
        await source.send([self.plan.record("beat", [device], time=moment) for device in devices])

    def run(self, script: Script, *, is_behind: bool = False) -> list[tuple[str, int, int]]:
        """A run for as long as its script takes: who was told silent, since when, and when that was told."""
        source, sink = KeptSource(), TimedSink()
        source.is_behind = is_behind

        async def main() -> None:
            self._woken = anyio.current_time()
            with StateDirectory(self._folder) as store:
                engine = Engine(
                    self.plan, [source, *self.others], [sink], clock=1, now=lambda: BEGIN + self.now(), state=store,
                    at_end="stop", emit="changes",
                )  # fmt: skip
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(engine.run)
                    await engine.wait_started()
                    await script(self, source)
                    engine.stop()
            sink.times = [time - self._woken + self.time for time in sink.times]
            self.time = self.now()

        in_virtual_time("trio", main)
        return [(str(a[1][0]), a[2] - BEGIN, round(time)) for a, time in zip(sink.answers, sink.times, strict=True)]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The disk takes no virtual time."""

    async def at_once(call: Callable[[], Any]) -> Any:
        await anyio.lowlevel.checkpoint()
        return call()

    monkeypatch.setattr(anyio.to_thread, "run_sync", at_once)
    return Machine(tmp_path)


async def before(machine: Machine, source: KeptSource) -> None:
    """All three devices are heard, `old` long ago."""
    await machine.beat(source, "old")
    for _ in range(3):
        await anyio.sleep(10)
        await machine.beat(source, "live", "dead")
    await anyio.sleep(2)


async def caught_up(machine: Machine, source: KeptSource) -> None:
    """Two seconds pass until all is there that was kept; `live` is heard then, and on."""
    source.is_behind = True
    await anyio.sleep(2)
    await machine.beat(source, "live")
    await anyio.sleep(0.5)
    source.is_behind = False
    for _ in range(4):
        await anyio.sleep(10)
        await machine.beat(source, "live")


def test_silence_counts_from_when_a_run_has_caught_up(machine: Machine) -> None:
    """Killed for 30 s, `live` was not silent, `old` still is, and `dead` is told a window after the source has caught up."""
    assert machine.run(before) == [("old", 16, 17)]
    machine.time += 30
    ((device, begin, told),) = machine.run(caught_up, is_behind=True)
    assert device == "dead"
    assert 64 + 15 <= begin <= 64 + 17 and told - begin <= 2


def test_time_does_not_move_with_the_first_message(machine: Machine) -> None:
    """What is heard while a source is behind tells nothing about the others, also where the run is killed once more then."""
    machine.run(before)
    machine.time += 30

    async def killed_again(machine: Machine, source: KeptSource) -> None:
        await machine.beat(source, "live")
        await anyio.sleep(5)

    assert machine.run(killed_again, is_behind=True) == []
    machine.time += 30
    assert [device for device, _, _ in machine.run(caught_up, is_behind=True)] == ["dead"]


def test_a_connection_that_is_lost_is_no_silence(machine: Machine) -> None:
    """The source is away for a minute within the run: nobody is told silent for that."""

    async def away(machine: Machine, source: KeptSource) -> None:
        await before(machine, source)
        source.is_behind = True
        await anyio.sleep(60)
        await caught_up(machine, source)

    assert [device for device, _, _ in machine.run(away)] == ["old", "dead"]


def test_a_process_that_was_stopped_asks_its_sources(machine: Machine) -> None:
    """The clock has gone on by 30 s at once: what has come meanwhile is read first, as the source is asked."""

    async def stopped(machine: Machine, source: KeptSource) -> None:
        await before(machine, source)
        machine.time += 30
        await machine.beat(source, "live")
        await anyio.sleep(0.2)
        assert source.asked == 1
        await caught_up(machine, source)

    assert [device for device, _, _ in machine.run(stopped)] == ["old", "dead"]


def test_a_source_is_waited_for_so_long(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    """One that stays away for longer than that is silent as any other, and a warning says so; once back, it counts again."""

    async def gone(machine: Machine, source: KeptSource) -> None:
        await before(machine, source)
        source.is_behind = True
        await anyio.sleep(PATIENCE + 20)
        await caught_up(machine, source)
        source.is_behind = True
        await anyio.sleep(60)
        await caught_up(machine, source)

    with caplog.at_level(logging.WARNING):
        told = [(device, begin) for device, begin, _ in machine.run(gone) if device == "live"]
    assert told[0] == ("live", 46)
    assert len(told) == 2  # its begin, and its end: not silent again
    assert [record.getMessage() for record in caplog.records] == ["push: away for 300 s: its silence counts from now on"]


def test_another_source_still_tells_while_one_is_away(machine: Machine) -> None:
    """What needs no absence is told at once; an idle source, and one of a run that begins, is not waited for."""

    async def never_there(machine: Machine, source: KeptSource) -> None:
        await machine.beat(machine.others[0], "old")
        await anyio.sleep(30)

    machine.others.append(PushSource(name="other"))
    assert machine.run(never_there, is_behind=True) == [("old", 16, 17)]


NEGATIONS = {
    "antijoin": "silent(D) :- device(D), not diamondminus[0,15] beat(D).",
    "a box over not": "silent(D) :- device(D), boxminus[0,15] not beat(D).",
    "a threshold": "silent(D) :- device(D), not count() over beat(D) in [15] by D >= 1.",
    "announced": "here(D) :- latest beat(D) by D in [15]. silent(D) :- device(D), not here(D).",
    "through rules": "here(D) :- diamondminus[0,10] beat(D), diamondminus[0,5] known(D). "
    "known(D) :- diamondminus[0,10] beat(D). silent(D) :- device(D), not here(D).",
}


@pytest.mark.parametrize("rule", NEGATIONS)
def test_every_absence_in_a_window_counts_from_then(rule: str) -> None:
    """However it is written, what was there when nobody listened any more is missed a window after somebody does again."""
    plan = tidelog.compile(
        f"timeline integer, unit 1 s. input beat(device). input device(device). output silent. {NEGATIONS[rule]}"
    )
    session = Session(plan, emit="changes", sources=["a"])
    assert list(absences(plan).values()) == [15]
    session.take("a", Batch([plan.record("device", ["d"], interval="[0,inf)"), plan.record("beat", ["d"], time=2)]))
    session.pass_time(Tick(4, 5))
    session.pass_time(Tick(4, 40, holds=True))
    session.take("a", Batch([plan.record("beat", ["e"], time=40)]))
    restored = Session(plan, emit="changes", sources=["a"])
    earlier = session.pull_records()
    restored.restore(session.snapshot())
    restored.pass_time(Tick(38, 40, unheard=POS))
    restored.pass_time(Tick(80, 80))
    told = [record for record in (*earlier, *restored.pull_records()) if record[2] > 2]
    assert [(record[1], record[2]) for record in told] == [(("d",), 56)]


@pytest.mark.parametrize(("unheard", "until"), [(0, 40), (POS, 38)])
def test_a_latch_does_not_begin_while_nobody_listened(unheard: int, until: int) -> None:
    """`since` over an absence in a window, switched on at 37; the device was heard at 20 and 40, nobody listened between."""
    text = "silent(D) :- not diamondminus[0,15] beat(D) since check(D)."
    plan = tidelog.compile(f"timeline integer, unit 1 s. input beat(device). input check(device). output silent. {text}")
    session = Session(plan, sources=["a"], emit="final")
    session.take("a", Batch([plan.record("beat", ["d"], time=20)]))
    session.pass_time(Tick(24, 25, holds=True))
    session.take("a", Batch([plan.record("check", ["d"], time=37), plan.record("beat", ["d"], time=40)]))
    session.pass_time(Tick(60, 40, unheard=unheard))
    assert [record[2:] for record in session.pull_records()] == [(37, until)]


def test_only_what_knows_is_asked() -> None:
    """A source of which nobody keeps what comes is no such source."""
    assert isinstance(KeptSource(), Hearing)
    assert not isinstance(PushSource(), Hearing)


def plan_without_windows() -> Plan:
    return tidelog.compile("timeline integer. on(X) :- a(X), not b(X). off(X) :- a(X), not diamondplus[0,3] b(X).")


def test_what_looks_at_no_window_of_the_past_goes_on() -> None:
    """A negation at one time, or of what is to come, tells of no time in which somebody had to listen."""
    assert absences(plan_without_windows()) == {}


def test_a_stall_is_seen_though_the_clock_is_looked_at_later() -> None:
    """A process that goes on has messages at once: the clock, which has to wait for these, notes the stall nevertheless."""
    time, source = [0.0], KeptSource()
    ears = Ears(lambda: time[0], behind=0)
    ears.begin({"push": source}, goes_on=False)
    assert not ears.begins()
    ears.expect(1.0)
    time[0] = 8.0
    ears.expect(0.1)  # sources have something to say, so that time is not asked for
    assert source.asked == 1
    assert ears.begins()
    assert ears.holds
    source.is_behind = False
    assert ears.ends() == 7.0


def test_a_tick_that_was_on_its_way_does_not_let_time_go_on() -> None:
    """The clock has sent a tick when a source is found to be behind: it is taken as one that holds, until it is released."""
    time, source = [0.0], KeptSource()
    timer = Clock(plan_of(SILENT).timeline, 2, lambda: time[0])
    timer._ears = ears = Ears(lambda: time[0], behind=2)
    ears.begin({"push": source}, goes_on=False)
    sent = Tick(10, 12)
    assert timer.before(sent) == (None, sent)
    ears.begins()
    ears.expect(1.0)
    time[0] = 9.0
    first, batch = timer.before(Batch([]))
    assert first is not None
    assert first.holds
    assert batch == Batch([])
    assert timer.before(sent) == (None, Tick(10, 12, holds=True))
    source.is_behind = False
    assert ears.ends() is not None
    assert timer.before(sent) == (None, sent)
