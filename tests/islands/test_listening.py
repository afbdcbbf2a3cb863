"""What steps take and send is heard wherever they run: in one process or in several, also once one of these is killed."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import anyio
import msgspec
import pytest

import tidelog
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.sources.memory import MemorySink, PushSource
from tidelog.gateway.listening.step_taps import StepTaps
from tidelog.gateway.listening.taps import Taps
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact, Row
from tidelog.runtime.islands import actors
from tidelog.runtime.islands.spreading import Layout, SpreadReasoner
from tidelog.runtime.ports.interfaces import Batch
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import SOURCE, Settings

RULES = """timeline integer, unit 1 s.
input temp(room: text, celsius: integer).
output too_warm(room), crowded(number), usual.
warm(R) for 3 s :- temp(R, C), C > 5.
too_warm(R) :- warm(R) for 2 s.
crowded(N) :- N = count() over warm(R) in [5 s], N > 2.
usual :- diamondminus[0,3] known.
known@5. known@9.
"""
PLAN = tidelog.compile(RULES)
STEPS = [step.id for step in PLAN.steps]
LAYOUTS = [
    Layout("islands"),
    Layout("rule"),
    pytest.param(Layout("islands", 2), marks=pytest.mark.slow),
    pytest.param(Layout("rule", 2), marks=pytest.mark.long),
]
Heard = Counter[tuple[str, str, Row, int]]
"""For each step from whom it took what, or what it sent, at which time."""


def batches() -> Iterator[Batch]:
    """What eight rooms tell."""
    for time in range(0, 60, 3):
        rows = [(f"room{(time + i) % 8}", (time * 7 + i * 3) % 11, time + i % 3) for i in range(9)]
        rows.sort(key=lambda row: row[2])
        yield Batch([PLAN.record("temp", [room, celsius], at) for room, celsius, at in rows])


def note(heard: Heard, step: str, source: str, facts: Sequence[Fact], notices: Notices | None) -> None:
    """Note each time apart: what follows may come in other pieces. What goes on holding is no fact yet."""
    ended = [] if notices is None else notices.ended
    for row, lo, hi in (*facts, *ended):
        for time in range(max(lo, -1), min(hi, 70) + 1):
            heard[step, source, row, time] = 1 if ended else heard[step, source, row, time] + 1


@contextmanager
def running(layout: Layout | None) -> Iterator[Reasoner]:
    """A reasoner that is spread so, or not."""
    session = Reasoner(PLAN, Settings()) if layout is None else SpreadReasoner(PLAN, Settings(), layout)
    try:
        yield session
    finally:
        session.close()


def heard_by(session: Reasoner, *, kill_at: Sequence[int] = ()) -> Heard:
    """What is heard of all steps until the stream ends; processes are killed behind these batches."""
    heard: Heard = Counter()
    session.pull_records()
    for step in STEPS:
        session.listen(step, partial(note, heard, step))
    for number, batch in enumerate(batches()):
        session.take(SOURCE, batch)
        if number in kill_at:
            session.pull_records()
            os.kill(session.actors()[0].process, signal.SIGKILL)
    session.end(SOURCE)
    session.pull_records()
    return heard


@pytest.fixture(scope="module")
def plain() -> Heard:
    """What is heard where all is in one."""
    with running(None) as session:
        return heard_by(session)


@pytest.mark.parametrize("layout", LAYOUTS, ids=["islands", "rules", "islands in workers", "rules in workers"])
def test_all_that_steps_take_and_send_is_heard_once(layout: Layout, plain: Heard) -> None:
    """Of a step in two processes what both take and send; of one that all have, what one of them does."""
    with running(layout) as session:
        heard = heard_by(session)
    assert {step for step, *_ in heard} == {step for step, *_ in plain}
    assert heard == plain


@pytest.mark.slow
def test_who_was_killed_is_heard_again(plain: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its state was saved since somebody began to listen; what it takes again was heard before."""
    monkeypatch.setattr(actors, "MOST_TOLD", 10)
    with running(Layout("islands", 2)) as session:
        heard = heard_by(session, kill_at=[4, 12])
        assert sum(actor.restarts for actor in session.actors()) >= 2
    assert heard == plain


@pytest.mark.long
def test_nobody_is_heard_any_more() -> None:
    """What has been listened to goes on, and others are still heard."""
    heard: Heard = Counter()
    with running(Layout("islands", 2)) as session:
        session.listen("warm", partial(note, heard, "warm"))
        session.listen("too_warm", partial(note, heard, "too_warm"))
        first, *rest = batches()
        session.take(SOURCE, first)
        session.pull_records()
        before = {key for key in heard if key[0] == "warm"}
        assert before
        session.listen("warm", None)
        for batch in rest:
            session.take(SOURCE, batch)
        session.end(SOURCE)
        session.pull_records()
    assert {key for key in heard if key[0] == "warm"} == before
    assert any(key[0] == "too_warm" and key[3] > 10 for key in heard)


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", [pytest.param("asyncio", marks=pytest.mark.long), "trio"])
async def test_a_tap_at_a_step_in_two_processes_shows_both(anyio_backend: str) -> None:
    """`--tap` at a rule while the engine runs: it is begun and ended as anybody comes and goes."""
    source, sink, taps = PushSource(name="floor"), MemorySink(), Taps()
    engine = tidelog.Engine(PLAN, [source], [sink], workers=2)
    steps = StepTaps(PLAN, taps, engine.listen, TimeFormatter(PLAN.timeline, iso=False), taken=[], prefix="")
    rooms: set[str] = set()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.run)
        await engine.wait_started()
        steps.start(engine.plan)
        with taps.listener("warm") as tap:
            for batch in batches():
                await source.send(batch)
            while len(rooms) < 8:
                for line in (await tap.next()).splitlines():
                    told = msgspec.json.decode(line)
                    if "sends" in told:
                        rooms.add(told["args"][0])
        owners = {actor.shard for actor in engine.actors() if actor.name == "too_warm" and actor.facts}
        source.close()
    steps.stop()
    assert owners == {0, 1}
    assert sink.answers
