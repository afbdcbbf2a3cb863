"""The kit finds what is wrong: each property fails with a connector that lacks it, and all hold with a sound one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tidelog.connectors.sinks.giving_up import GivingUp
from tidelog.runtime.actors.causes import first_cause
from tidelog.runtime.ports.durability import Heading, Promise
from tidelog.runtime.ports.interfaces import AnyAnswer, Batch, Rejected
from tidelog.testing.connectors import POISON, Arrival, SinkBench, SinkKit, SourceBench, SourceKit, driving
from tidelog.testing.connectors.source_kit import _Run

pytestmark = pytest.mark.anyio


class Inbox(SinkBench):
    """A receiver within the process."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.got: list[Arrival] = []
        self.mode = "here"
        self.openings = 0

    def open(self) -> Poster:
        self.openings += 1
        return Poster(self)

    def arrived(self) -> Sequence[Arrival]:
        return list(self.got)

    def deafen(self) -> None:
        self.mode = "deaf"

    def leave(self) -> None:
        self.mode = "away"

    def come_back(self) -> None:
        self.mode = "here"


class Poster(GivingUp):
    """A sink to it, with one fault or none."""

    promise: Promise = "at least once"
    name = "poster"

    def __init__(self, inbox: Inbox) -> None:
        self._inbox, self._heading, self._calls = inbox, Heading("", 1, 0), 0

    async def __aenter__(self) -> Poster:
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._inbox.fault == "never leaves" and any(exc):
            with anyio.CancelScope(shield=True):
                await anyio.sleep(2 * driving.PATIENCE)

    def number(self, heading: Heading) -> None:
        self._heading = heading

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        fault, first = self._inbox.fault, self._heading.first
        self._calls += 1
        for at, (_, row, _, _) in enumerate(reversed(answers) if fault == "out of order" else answers):
            await anyio.lowlevel.checkpoint()
            if row[0] == POISON:
                if fault == "fails on poison":
                    raise RuntimeError("what is that?")
                if fault == "drops poison":
                    continue
                await self._give_up(answers[at], "nobody wants it")
                continue
            if self._inbox.mode == "away":
                if fault == "gives up when alone":
                    continue
                raise ConnectionError("away")
            id = f"{self._inbox.openings}-{self._calls}-{at}" if fault == "new ids" else f"run-{first + at}"
            self._inbox.got.append(Arrival(int(row[0]), id))
            if self._inbox.mode == "deaf":
                raise ConnectionError("deaf")


class Outbox(SourceBench):
    """A sender within the process, which keeps what was not acknowledged."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.kept: list[int] = []
        self.acknowledged = 0
        self.cuts = 0
        self.is_away = False

    def open(self) -> Fetcher:
        return Fetcher(self)

    def say(self, numbers: Sequence[int]) -> None:
        self.kept += numbers

    def say_poison(self) -> None:
        self.kept.append(-1)

    def cut(self) -> None:
        self.cuts += 1

    def leave(self) -> None:
        self.is_away = True


class Fetcher:
    """A source of it, with one fault or none."""

    name = "fetcher"

    def __init__(self, outbox: Outbox) -> None:
        self._outbox, self._cuts, self._at = outbox, outbox.cuts, 0
        self._hoard: list[bytes] = []
        self._tasks: Any = None

    async def __aenter__(self) -> Fetcher:
        self._cuts, self._at = self._outbox.cuts, self._outbox.acknowledged
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        if self._outbox.fault == "hoards":
            self._tasks.start_soon(self._read_ahead)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._outbox.fault == "breaks when cancelled":
            raise RuntimeError("cannot be left in peace")
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(None, None, None)
        if self._outbox.fault == "never leaves" and self._outbox.is_away:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(2 * driving.PATIENCE)

    async def _read_ahead(self) -> None:
        while True:
            self._hoard += [b"x" * 200 + b"%d" % number for number in self._outbox.kept[len(self._hoard) :]]
            await anyio.sleep(0.001)

    async def receive(self) -> Batch | None:
        outbox = self._outbox
        while self._at >= len(outbox.kept):
            await anyio.sleep(0.001)
            if outbox.cuts > self._cuts:
                if outbox.fault == "ends when cut":
                    return None
                raise ConnectionError("cut")
        number = outbox.kept[self._at]
        if number < 0:
            self._at += 1
            if outbox.fault == "skips poison":
                return Batch()
            return Batch(rejected=[Rejected("fetcher:1", "no reading", b"-1")])
        some = [n for n in outbox.kept[self._at :][:2] if n >= 0]
        self._at += len(some)
        if outbox.fault == "out of order":
            some.reverse()
        if outbox.fault == "acknowledges early":
            outbox.acknowledged = self._at
        return Batch([("reading", (n,), n, n) for n in some], position={"at": self._at})

    def acknowledge(self, position: dict[str, Any]) -> None:
        self._outbox.acknowledged = max(self._outbox.acknowledged, position["at"])


class TestSoundSink(SinkKit):
    """A sink without a fault."""

    @pytest.fixture
    def bench(self) -> SinkBench:
        return Inbox()


class TestSoundSource(SourceKit):
    """A source without a fault."""

    @pytest.fixture
    def bench(self) -> SourceBench:
        return Outbox()


SINK_FAULTS = {
    "answers_arrive_in_order": "out of order",
    "poison_is_a_dead_letter_and_holds_up_nobody": "drops poison",
    "a_repeat_has_the_same_id": "new ids",
    "it_goes_on_when_the_other_side_comes_back": "gives up when alone",
    "it_may_be_left_while_the_other_side_is_away": "never leaves",
    "it_may_be_cancelled_at_any_time": "new ids",
}
SOURCE_FAULTS = {
    "readings_arrive_in_order": "out of order",
    "poison_is_a_dead_letter_and_holds_up_nobody": "skips poison",
    "it_goes_on_when_a_connection_was_lost": "ends when cut",
    "a_kill_between_receipt_and_commit_loses_nothing": "acknowledges early",
    "nothing_piles_up_while_nobody_receives": "hoards",
    "it_may_be_cancelled_at_any_time": "breaks when cancelled",
    "it_may_be_left_while_the_other_side_is_away": "never leaves",
}


async def fails(kit: SinkKit | SourceKit, name: str, *given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of the kit fails. It waits no longer than it has to for what never comes."""
    monkeypatch.setattr(driving, "PATIENCE", 0.3)
    with pytest.raises(BaseException) as caught:
        await getattr(kit, f"test_{name}")(*given)
    told = first_cause(caught.value) if isinstance(caught.value, BaseExceptionGroup) else caught.value
    assert isinstance(told, AssertionError | TimeoutError | RuntimeError), told


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(("name", "fault"), SINK_FAULTS.items())
async def test_the_kit_finds_the_fault_of_a_sink(name: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the test that is of this property."""
    await fails(SinkKit(), name, Inbox(fault), monkeypatch=monkeypatch)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(("name", "fault"), SOURCE_FAULTS.items())
async def test_the_kit_finds_the_fault_of_a_source(
    name: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the test that is of this property."""
    given = [tmp_path] if "kill" in name else []
    await fails(SourceKit(), name, Outbox(fault), *given, monkeypatch=monkeypatch)


@pytest.mark.parametrize(("kit", "faults"), [(SinkKit, SINK_FAULTS), (SourceKit, SOURCE_FAULTS)])
def test_each_property_has_a_fault(kit: type, faults: dict[str, str]) -> None:
    """A test that is added to the kit needs a connector that fails it."""
    assert {name.removeprefix("test_") for name in vars(kit) if name.startswith("test_")} == set(faults)


class Stubborn(Fetcher):
    """A source that cannot be interrupted while it reads, as one that asks in a thread."""

    async def receive(self) -> Batch | None:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.02)
        return Batch([("reading", (1,), 1, 1)])


class StubbornOutbox(Outbox):
    def open(self) -> Fetcher:
        return Stubborn(self)


async def test_a_source_that_notices_late_may_be_cancelled() -> None:
    """What it still brings is heard by nobody, and is no error."""
    for turns in range(0, 60, 12):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_Run(StubbornOutbox()).run)
            for _ in range(turns):
                await anyio.sleep(0.001)
            tasks.cancel_scope.cancel()
