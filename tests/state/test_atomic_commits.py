"""A commit has an event together with what followed from it, or neither, whoever waits in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import anyio
import pytest
from engine.intake.test_listeners import Door, fact
from engine.runners import MemoryStore
from engine.running import BACKENDS, plan_of, run

from children import WAIT
from tidelog import Engine, MemorySink, MemorySource
from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.interfaces import Batch, Rejected

pytestmark = pytest.mark.usefixtures("no_threads")

PLAN = plan_of("timeline integer. input p(x, i). input q(x, i). seen(X, I) :- p(X, I), not q(X, I).")


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(WAIT):
        while True:
            if is_so():
                return
            await anyio.sleep(0.001)


class Batches(MemorySource):
    """Batches that can be read again from where each ends."""

    is_replayable = True

    def __init__(self, batches: Sequence[Batch]) -> None:
        self._batches = batches
        for i, batch in enumerate(batches, 1):
            batch.position = {"at": i}
        super().__init__(batches)

    def resume(self, position: dict[str, Any]) -> None:
        self._rest = iter(self._batches[position["at"] :])


class Left:
    """What a process that is killed has left: a state, and what its sink was given."""

    def __init__(self) -> None:
        self.store, self.sink = MemoryStore(), MemorySink()
        self.killed: tuple[MemoryStore, list[Record]] | None = None

    def kill(self) -> None:
        self.killed = deepcopy(self.store), list(self.sink.answers)

    def goes_on(self) -> tuple[MemoryStore, set[int]]:
        """The state of the process when it was killed, and the times of the answers that it had told."""
        assert self.killed is not None
        store, answers = self.killed
        return store, {record[2] for record in answers}


class SlowLetters(Left):
    """Takes so long that whatever can be committed is, then the process is killed."""

    async def send(self, rejected: Sequence[Rejected]) -> None:
        await anyio.sleep(5)
        self.kill()


def test_what_follows_from_a_batch_is_stored_with_it_though_refusing_takes_long() -> None:
    """A commit while dead letters are written has the answers of the batch that they come from: none is left out."""
    bad = Rejected("file:3", "no number", b"x")
    batches = [fact("a", 1), Batch([("p", ("a", 2), 2, 2)], [bad]), fact("a", 3)]
    left, sink = SlowLetters(), MemorySink()
    run("trio", Engine(PLAN, [Batches(batches)], [left.sink], state=left.store, commit_every=0, dead_letters=left).run)
    store, told = left.goes_on()
    run("trio", Engine(PLAN, [Batches(batches)], [sink], state=store, commit_every=0).run)
    assert told | {record[2] for record in sink.answers} == {1, 2, 3}


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_follows_from_the_end_of_a_lost_connection_is_told(backend: str) -> None:
    """Connections that a killed run has left end in the next: what waited for them alone is told then."""
    left, sink = Left(), MemorySink()

    async def be_killed() -> None:
        door = Door()
        engine = Engine(PLAN, [door], [left.sink], state=left.store, commit_every=0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            behind, fast = door.come("behind"), door.come("fast")
            await until(lambda: len(engine.statistics().sources) == 3)
            await behind.send(fact("behind", 1))
            await fast.send(fact("fast", 9))
            await until(lambda: engine.statistics().intake.accepted == 2)
            await until(lambda: sum(block.facts for block in left.store.journal()) == 2)
            left.kill()
            engine.stop()
        door.close()

    async def go_on() -> None:
        door = Door()
        engine = Engine(PLAN, [door], [sink], state=left.goes_on()[0], commit_every=0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await until(lambda: len(sink.answers) > 0)
            engine.stop()
        door.close()

    run(backend, be_killed)
    run(backend, go_on)
    assert left.goes_on()[1] == set()
    assert [record[2] for record in sink.answers] == [1]
