"""A lone event is taken in the turn of its source: what an engine promises otherwise holds for it, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import pairwise

import anyio
import anyio.lowlevel
import pytest

from engine.running import BACKENDS, DeadLetterList, plan_of, run
from tidelog import Engine, MemorySink, PushSource
from tidelog.plans.data.facts import Record
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.ports.interfaces import Batch

PLAN = plan_of("timeline integer. seen(X) :- p(X). bottom :- q(X).")


class Script:
    """Delivers batches without ever waiting, and notes how many facts its engine had accepted when it was asked again."""

    name = "script"
    engine: Engine

    def __init__(self, batches: Sequence[Batch], *, waits: bool = False) -> None:
        self._rest, self._waits = iter(batches), waits
        self.accepted: list[int] = []
        self.entered = self.left = 0

    async def __aenter__(self) -> Script:
        self.entered += 1
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self.left += kind is not None and issubclass(kind, Exception)

    async def receive(self) -> Batch | None:
        self.accepted.append(self.engine.intake_statistics().accepted)
        if self._waits:
            await all_others()
        return next(self._rest, None)


async def all_others() -> None:
    """Let others run until they wait: it takes fewer turns than this."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()


def lone(name: str, *times: int) -> list[Batch]:
    return [Batch([(name, ("a",), time, time)]) for time in times]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_lone_event_is_taken_before_its_source_is_asked_again(backend: str) -> None:
    """Nobody else has to have a turn between; a batch of many facts goes through the channel."""
    many: list[Record] = [("p", (i,), 9, 9) for i in range(100)]
    source = Script([*lone("p", 1, 2, 3), Batch(many)], waits=True)
    source.engine = Engine(PLAN, [source], [sink := MemorySink()])
    run(backend, source.engine.run)
    assert source.accepted == [0, 1, 2, 3, 3]
    assert len(sink.answers) == 103


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_source_that_never_waits_lets_others_have_their_turn(backend: str) -> None:
    """What is taken in turns of the source is bounded, so that others run, and the engine can be stopped."""
    source = Script(lone("p", *range(3000)))
    source.engine = Engine(PLAN, [source], [sink := MemorySink()])
    turns: list[int] = []

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(source.engine.run)
            while not turns or turns[-1] < 1000:
                await anyio.lowlevel.checkpoint()
                turns.append(source.engine.intake_statistics().accepted)
            source.engine.stop()

    run(backend, main)
    assert max(later - turn for turn, later in pairwise(turns)) < 100
    assert 1000 <= len(sink.answers) < 1100


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_of_what_follows_is_not_the_sources(backend: str) -> None:
    """Where telling a violation fails, the engine fails with that; the source is neither tried again nor told of it."""

    def tell(violation: Violation) -> None:
        raise ConnectionResetError("nobody listens")

    source = Script([*lone("p", 1), *lone("q", 2, 3)], waits=True)
    source.engine = Engine(PLAN, [source], [sink := MemorySink()], on_violation=tell)
    with pytest.raises(ConnectionResetError, match="nobody listens"):
        run(backend, source.engine.run)
    assert (source.entered, source.left) == (1, 0)
    assert [record[2] for record in sink.answers] == [1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_lone_event_that_is_refused_becomes_a_dead_letter(backend: str) -> None:
    """It is counted, and those behind it are taken."""
    letters, source, sink = DeadLetterList(), PushSource(), MemorySink()
    engine = Engine(PLAN, [source], [sink], dead_letters=letters)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            for batch in lone("p", 5, 3, 6):
                await all_others()
                await source.send(batch)
            source.close()

    run(backend, main)
    assert [rejected.record for rejected in letters.rejected] == [("p", ("a",), 3, 3)]
    assert engine.rejected == 1
    assert [record[2] for record in sink.answers] == [5, 6]


# --- what other tasks hand over -----------------------------------------------------------------------------------------


async def run_beside(engine: Engine, push: Callable[[], Awaitable[None]]) -> None:
    """Run an engine, and, once it waits, what hands facts to it."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.run)
        await all_others()
        await push()


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_pushed_is_taken_in_the_turn_of_who_pushes(backend: str) -> None:
    """A lone event counts once it is sent; what came before it, and needed another's turn, is taken before it."""
    source, sink = PushSource(), MemorySink()
    engine = Engine(PLAN, [source], [sink])

    async def push() -> None:
        for batch in lone("p", 1, 2):
            await source.send(batch)
            assert engine.intake_statistics().accepted == batch.records[0][2]
        await source.send([("p", (i,), 3, 3) for i in range(100)])
        await source.send(lone("p", 4)[0])
        assert engine.intake_statistics().accepted == 2
        source.close()

    run(backend, partial(run_beside, engine, push))
    assert [record[2] for record in sink.answers] == [1, 2, *[3] * 100, 4]


@pytest.mark.parametrize("backend", BACKENDS)
def test_who_pushes_without_waiting_is_held_up(backend: str) -> None:
    """So many in a row are taken as channels hold; then others have their turn, and sinks take what follows."""
    source, sink = PushSource(), MemorySink()
    ahead: list[int] = []

    async def push() -> None:
        for number, batch in enumerate(lone("p", *range(2000))):
            await source.send(batch)
            ahead.append(number - len(sink.answers))
        source.close()

    run(backend, partial(run_beside, Engine(PLAN, [source], [sink]), push))
    assert len(sink.answers) == 2000
    assert max(ahead) < 100


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_pushed_behind_the_stop_is_not_taken(backend: str) -> None:
    """Who pushes after `stop`, though in the same turn, is not heard."""
    source, sink = PushSource(), MemorySink()
    engine = Engine(PLAN, [source], [sink])

    async def push() -> None:
        await source.send(lone("p", 1)[0])
        engine.stop()
        await source.send(lone("p", 2)[0])

    run(backend, partial(run_beside, engine, push))
    assert [record[2] for record in sink.answers] == [1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_of_what_follows_is_not_that_of_who_pushes(backend: str) -> None:
    """The engine fails with it, and who pushes goes on."""

    def tell(violation: Violation) -> None:
        raise ConnectionResetError("nobody listens")

    source = PushSource()
    engine = Engine(PLAN, [source], [MemorySink()], on_violation=tell)
    gone_on: list[bool] = []

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fails)
            await all_others()
            await source.send(lone("q", 1)[0])
            gone_on.append(True)

    async def fails() -> None:
        with pytest.raises(ConnectionResetError, match="nobody listens"):
            await engine.run()

    run(backend, main)
    assert gone_on == [True]
