"""A plant at a moment that never changes, served on a thread of its own, for pictures that are compared."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import anyio
import trio

import tidelog
from children import WAIT
from tidelog.connectors.http import HttpServer, HttpSettings, Watch
from tidelog.connectors.http.settings import UserSettings
from tidelog.connectors.http.watching.watch import KEPT_FACTS
from tidelog.connectors.sources.memory import PushSource
from tidelog.connectors.transport.addresses import TcpAddress
from tidelog.runtime.ports.interfaces import Batch, Rejected

NOW = 1_767_614_400  # 2026-01-05, 12:00 in UTC
TOKEN = "the-token-of-the-plant"  # noqa: S105 - of these tests
PROGRAM = """
timeline integer, unit 1 s.
input temp(machine: text, celsius: number).
input fan(machine: text).
output overheated, uncooled, silent.
high(M) :- diamondminus[0,10] hot(M).
hot(M) :- temp(M, C), C >= 80.
overheated(M) :- boxminus[0,30] high(M).
uncooled(M) :- overheated(M), not diamondminus[0,60] fan(M).
silent(M) :- diamondminus[0,120] temp(M, _), not diamondminus[0,30] temp(M, _).
worn(M) :- hot(M), boxplus[1,4] hot(M).
bottom :- temp(_, C), C > 130.
ask worn(M)@T.
"""
MACHINES = ("press-1", "press-2", "oven-3", "saw-4")


@dataclass
class Plant:
    """What a test works with: `url` is the page's, and `post` hands in a reading of a machine at a time."""

    url: str
    token: trio.lowlevel.TrioToken
    watch: Watch
    source: PushSource

    def send(self, *records: tuple[str, list[str | float], int]) -> None:
        """Facts of the source."""
        self.send_batch(Batch([self.watch.plan.record(name, row, time) for name, row, time in records]))

    def send_batch(self, batch: Batch) -> None:
        """A batch of the source."""
        trio.from_thread.run(self.source.send, batch, trio_token=self.token)


@contextmanager
def plant() -> Iterator[Plant]:
    """Serve the plant as long as the block lasts."""
    plan = tidelog.compile(PROGRAM, name="plant")
    watch = Watch(plan, now=lambda: float(NOW), clock=lambda: 100.0)
    with served(watch, history(plan), token=TOKEN, lateness=5) as found:
        yield found


@contextmanager
def served(
    watch: Watch, facts: Batch, *, token: str | None = None, users: Sequence[UserSettings] = (), lateness: int = 0
) -> Iterator[Plant]:
    """Serve what is watched, on a thread of its own, once the facts are taken."""
    found: list[Plant] = []
    is_there = threading.Event()
    stop: list[trio.CancelScope] = []

    async def run() -> None:
        source = PushSource(name="mqtt plant/+/temp", capacity=100)
        engine = tidelog.Engine(
            watch.plan,
            [source, watch.ingest, *([watch.desk.actions] if watch.desk.has_alarms else [])],
            [],
            emit="changes",
            observer=watch,
            remember=KEPT_FACTS,
            on_violation=watch.violated,
            lateness=lateness,
        )
        watch.attach(engine)
        settings = HttpSettings(TcpAddress("127.0.0.1", 0), token=token, users=tuple(users))
        async with HttpServer([watch], settings) as server, anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await source.send(facts)
            while (intake := engine.statistics().intake).accepted + intake.unused < len(facts.records):  # noqa: ASYNC110 - seen from outside
                await anyio.sleep(0.01)
            watch.is_ready = True
            found.append(Plant(server.url, trio.lowlevel.current_trio_token(), watch, source))
            with trio.CancelScope() as scope:
                stop.append(scope)
                is_there.set()
                await trio.sleep_forever()
            tasks.cancel_scope.cancel()

    thread = threading.Thread(target=trio.run, args=(run,))
    thread.start()
    try:
        assert is_there.wait(WAIT)
        yield found[0]
    finally:
        if stop:
            found[0].token.run_sync_soon(stop[0].cancel)
        thread.join(WAIT)


def history(plan: tidelog.Plan) -> Batch:
    """Twenty minutes of readings: machines that run hot in turn, one that falls silent, some records of no use."""
    records = []
    for time in range(NOW - 1200, NOW - 1):
        for i, machine in enumerate(MACHINES):
            if time % 5 == 0 and not (machine == "saw-4" and NOW - 420 < time < NOW - 300):
                celsius = round(70 + 22 * math.sin((time - NOW + 130) / (60 + 15 * i)), 1)
                records.append(plan.record("temp", [machine, celsius], time))
            if time % 30 == 0 and machine != "press-2":
                records.append(plan.record("fan", [machine], time))
    hot = [plan.record("temp", ["oven-3", 131.5], NOW - 1)]
    hot += [plan.record("temp", ["press-1", 88.0 + step], NOW - 3 + step) for step in range(3)]
    rejected = [
        Rejected("plant/saw-4/temp:812", '`celsius`: expected number, got "err"', b'{"machine":"saw-4","celsius":"err"}'),
        Rejected("plant/press-1/temp:79", "not valid JSON at column 14: expecting value", b'{"machine":"p'),
    ]
    ordered = sorted([*records, *hot], key=lambda record: record[2])
    return Batch(ordered, rejected)
