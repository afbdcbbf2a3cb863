"""Sources that are divided: each part has a watermark of its own, and falls idle by itself."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Sequence

import anyio
import msgspec
import pytest

from engine.runners import KINDS, Runner, no_threads  # noqa: F401 - a fixture
from engine.running import SlowSource, plan_of, run
from tidelog import MemorySource, Session
from tidelog.plans.data.timeline import NEG
from tidelog.runtime.intake import source_state
from tidelog.runtime.ports.interfaces import Batch, Part

pytestmark = pytest.mark.usefixtures("no_threads")

PLAN = plan_of("timeline integer. seen(X, I) :- p(X, I), not q(X, I).")
Reading = tuple[str, int]


def batch(readings: Sequence[Reading], first: int = 0, *, divided: bool = True) -> Batch:
    """Readings `(device, time)`, numbered; the heartbeat `-` names no device."""
    parts: list[Part] = [None if name == "-" else name for name, _ in readings]
    records = [("p", (name, first + i), time, time) for i, (name, time) in enumerate(readings)]
    return Batch(records, parts=parts if divided else None)


class Reference:
    """What is accepted, fact by fact, as the definitions say it: each part's promise, and the least of them."""

    def __init__(self, lateness: int, max_lead: int) -> None:
        self.behind, self.max_lead = lateness + 1, max_lead
        self.promised: dict[str, int] = {"": NEG}
        self.last: dict[str, int] = {}
        self.watermark, self.count = NEG, 0

    def take(self, name: str, time: int) -> bool:
        self.promised.setdefault(name, NEG)
        self.last.setdefault(name, self.count)
        if name != "-":
            self.promised.pop("", None)
        accepted = time > max(self.watermark, self.promised[name])
        if accepted:
            self.count += 1
            self.last[name] = self.count
            self.promised[name] = max(self.promised[name], time - self.behind)
        for silent in [part for part, last in self.last.items() if self.count - last > self.max_lead]:
            del self.promised[silent], self.last[silent]
        self.watermark = max(self.watermark, min(self.promised.values()))
        return accepted


def accepted_by_session(readings: Sequence[Reading], cut: int, lateness: int, max_lead: int, *, save: bool) -> list[int]:
    """The numbers of the readings that count."""
    session = Session(PLAN, lateness=lateness, max_lead=max_lead)
    refused: list[int] = []
    for i in range(0, len(readings), cut):
        late = session.take("session", batch(readings[i : i + cut], i))
        refused += [int(item.raw.decode().partition(",")[2].partition(")")[0]) for item in late]
        if save:
            state = json.loads(msgspec.json.encode(session.snapshot()))
            session = Session(PLAN, lateness=lateness, max_lead=max_lead)
            session.restore(state)
    return sorted(set(range(len(readings))) - set(refused))


def draw_readings(draw: random.Random) -> list[Reading]:
    """Devices with clocks of their own, some far behind, that come and fall silent."""
    devices = {name: draw.randint(0, 30) for name in "abcde"[: draw.randint(2, 5)]}
    readings: list[Reading] = []
    for second in range(draw.randint(20, 60)):
        for name, behind in devices.items():
            if draw.random() < 0.6 and not (name == "c" and second > 20):
                readings.append((name, 100 + second - behind + draw.randint(-2, 0)))
        if draw.random() < 0.1:
            readings.append(("-", 100 + second))
    return readings


@pytest.mark.parametrize("seed", range(60))
def test_what_is_late_follows_the_definition(seed: int) -> None:
    """Whatever the batching, and across snapshots, those facts count that lie behind no promise of their part or of all."""
    draw = random.Random(seed)
    readings = draw_readings(draw)
    lateness, max_lead = draw.choice([0, 3]), draw.choice([7, 20, 100_000])
    reference = Reference(lateness, max_lead)
    expected = [i for i, (name, time) in enumerate(readings) if reference.take(name if name != "-" else "-", time)]
    for cut in (1, 4, 10_000):
        assert accepted_by_session(readings, cut, lateness, max_lead, save=False) == expected
    assert accepted_by_session(readings, 3, lateness, max_lead, save=True) == expected


def test_a_device_with_a_slow_clock_loses_nothing() -> None:
    """Two devices, one two seconds behind: undivided, all that the slow one says is late; divided, nothing of it is."""
    readings = [
        ("fast", 100),
        ("slow", 98),
        *((name, t - 2 * (name == "slow")) for t in range(101, 150) for name in ("fast", "slow")),
    ]
    lost = {}
    for divided in (False, True):
        session = Session(PLAN, lateness=5 if divided else 0)
        lost[divided] = len(session.take("session", batch(readings, divided=divided)))
    assert lost == {False: 50, True: 0}
    session = Session(PLAN)
    late = session.take("session", batch(readings))
    assert [item.raw for item in late] == [b"p(slow,1)@98", b"p(slow,3)@99"]  # what lies behind the watermark on its arrival


def test_a_silent_part_is_dropped_after_so_many_facts(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing can be held back within a source: a part that is silent for `max_lead` facts is waited for no longer."""
    session = Session(PLAN, max_lead=10)
    with caplog.at_level(logging.WARNING, "tidelog"):
        session.take("session", batch([("silent", 0), ("gone", 0)]))
        for time in range(1, 11):
            session.take("session", batch([("a", time)], time))
        assert session.frontier == -1
        session.take("session", batch([("a", 11)], 11))
    source = session.statistics().sources["session"]
    assert (session.frontier, set(source.parts), source.dropped, source.accepted) == (10, {"a"}, 2, 13)
    assert len(caplog.messages) == 1
    assert "session: nobody waits any more for `silent`" in caplog.messages[0]
    assert session.take("session", batch([("silent", 5), ("silent", 12)])) != []
    assert set(session.statistics().sources["session"].parts) == {"a", "silent"}


def test_the_number_of_parts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one part too many, the one that has been silent longest is dropped; what it says in time still counts."""
    monkeypatch.setattr(source_state, "MAX_PARTS", 5)
    session = Session(PLAN)
    for i in range(1000):
        session.take("session", batch([(f"d{i}", i)], i))
        assert len(session.statistics().sources["session"].parts) <= 5
    state = session.snapshot()["intake"]["watermarks"]["sources"]["session"]
    assert len(state["tracks"]) == 5
    assert session.take("session", batch([("d0", 1000)], 1000)) == []


def test_what_names_no_part_has_a_clock_of_its_own() -> None:
    """A heartbeat beside devices is a part like them; the source as a whole counts only until a device has spoken."""
    session = Session(PLAN)
    session.take("session", batch([("a", 10)]))
    assert session.frontier == 9
    session.take("session", batch([("-", 20), ("a", 15)]))
    assert session.frontier == 14
    session.take("session", batch([("a", 30)]))
    assert session.frontier == 19


@pytest.mark.parametrize("kind", KINDS)
def test_each_part_falls_idle_by_itself(kind: str) -> None:
    """A device that is silent for `idle_after` seconds holds back nobody, though others go on; it may come again."""
    batches = [batch([("a", t), ("b", t)] if t in (0, 1, 20) else [("a", t)], 2 * t) for t in range(30)]
    runner = Runner(kind, PLAN, [SlowSource(batches, pause=1, name="source")], idle_after=5)

    async def main() -> dict[int, int]:
        told = {}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            for second in range(30):
                await anyio.sleep(0.9 if not second else 1)
                told[second] = max((record[2] for record in runner.answers), default=-1)
        return told

    told = run("trio", main)
    assert told[4] == 0  # waiting for b, which stands at 1
    assert told[8] == 7
    assert told[19] == 18
    assert told[22] == told[20] == 19  # b has come again
    assert told[28] == 27
    assert runner.letters.rejected == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_which_all_is_late_does_not_stop_time(kind: str) -> None:
    """A device whose clock stands in 1970 speaks, but nothing of it counts: after `idle_after` the others go on."""
    batches = [batch([("a", 1000 + t), ("stuck", 0)], 2 * t) for t in range(60)]
    runner = Runner(kind, PLAN, [SlowSource(batches, pause=1, name="source")], idle_after=5)

    async def main() -> int:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            await anyio.sleep(55.5)
            return max(record[2] for record in runner.answers)

    assert run("trio", main) >= 1045
    assert len(runner.letters.rejected) == 60


@pytest.mark.parametrize("kind", KINDS)
def test_a_divided_source_is_not_held_back_for_its_own_parts(kind: str) -> None:
    """Where the slowest is a part of the source itself, reading on is the only way to hear of it."""
    readings = [("slow", 0), *(("fast", t) for t in range(500)), ("slow", 499)]
    source = MemorySource([batch([reading], i) for i, reading in enumerate(readings)], name="pipe")
    runner = Runner(kind, PLAN, [source], max_lead=1000)
    run("trio", runner.run)
    assert len(runner.answers) == len(readings)
    other = MemorySource([("p", ("x", t), t, t) for t in range(500)], name="other", batch_size=1)
    source = MemorySource([batch([reading], i) for i, reading in enumerate(readings)], name="pipe")
    runner = Runner(kind, PLAN, [source, other], max_lead=600)
    run("trio", runner.run)
    assert len(runner.answers) == len(readings) + 500
