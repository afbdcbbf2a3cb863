"""Sources that come and go while the engine runs: each has a watermark of its own, and is forgotten once it has ended."""

from __future__ import annotations

import logging
from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest

from children import WAIT
from engine.runners import KINDS, MemoryLog, Runner, no_threads  # noqa: F401 - a fixture
from engine.running import BACKENDS, plan_of, run
from tidelog import MemorySource, PushSource
from tidelog.connectors import ListenerSource, TcpAddress, TextDecoder
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.runtime.actors.supervision import RestartPolicy
from tidelog.runtime.ports.interfaces import Batch, Source

pytestmark = pytest.mark.usefixtures("no_threads")

PLAN = plan_of("timeline integer. input p(x, i). seen(X, I) :- p(X, I), not q(X, I). input q(x, i).")


class Door:
    """A listener in the program: whoever calls `let_in` is a source."""

    def __init__(self, *failures: OSError) -> None:
        self.name = "door"
        self.opened = 0
        self._failures = list(failures)
        self._sender, self._receiver = anyio.create_memory_object_stream[Source](1000)

    async def __aenter__(self) -> Door:
        self.opened += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    async def accept(self) -> Source:
        if self._failures:
            raise self._failures.pop(0)
        return await self._receiver.receive()

    def let_in(self, source: Source) -> None:
        self._sender.send_nowait(source)

    def come(self, name: str) -> PushSource:
        source = PushSource(name=name)
        self.let_in(source)
        return source

    def close(self) -> None:
        self._sender.close()
        self._receiver.close()


def fact(name: str, time: int) -> Batch:
    return Batch([("p", (name, time), time, time)])


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(WAIT):
        while not is_so():
            await anyio.lowlevel.checkpoint()


class Hall:
    """A runner with a door, and what has been answered so far."""

    def __init__(self, kind: str, *sources: Source, **options: object) -> None:
        self.door = Door()
        self.runner = Runner(kind, PLAN, [self.door, *sources], **options)

    async def accepted(self, count: int) -> None:
        await until(lambda: self.runner.statistics().intake.accepted >= count)

    async def told(self, *times: int) -> None:
        await until(lambda: sorted(record[2] for record in self.runner.answers) == sorted(times))

    async def counts(self, count: int) -> None:
        """Wait until so many connections count."""
        await until(lambda: len(self.runner.statistics().sources) == 1 + count)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_each_connection_has_a_watermark_of_its_own(backend: str, kind: str) -> None:
    """A client whose clock is behind loses nothing; once it has ended, the others go on without it, and it is forgotten."""

    async def main() -> None:
        hall = Hall(kind)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hall.runner.run)
            right, behind = hall.door.come("right"), hall.door.come("behind")
            await hall.counts(2)
            for time in range(100, 110):
                await right.send(fact("right", time))
                await behind.send(fact("behind", time - 50))
            await hall.accepted(20)
            await hall.told(*range(50, 59))
            behind.close()
            await hall.told(*range(50, 60), *range(100, 109))
            await hall.counts(1)
            right.close()
            await hall.counts(0)
            hall.runner.stop()
        assert hall.runner.letters.rejected == []
        hall.door.close()

    run(backend, main)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_new_connection_may_still_send(backend: str, kind: str) -> None:
    """From its coming on time waits for it, but never goes back: what lies behind the watermark by then is late."""

    async def main() -> None:
        hall = Hall(kind)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hall.runner.run)
            first = hall.door.come("first")
            await first.send(fact("first", 100))
            await hall.accepted(1)
            second = hall.door.come("second")
            await hall.counts(2)
            await first.send(fact("first", 200))
            await hall.accepted(2)
            for time in (98, 99, 100, 150):
                await second.send(fact("second", time))
            await hall.accepted(4)
            await hall.told(100, 100)
            assert sorted(item.raw for item in hall.runner.letters.rejected) == [b"p(second,98)@98", b"p(second,99)@99"]
            hall.runner.stop()
        hall.door.close()

    run(backend, main)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_listener_to_which_nobody_is_connected_holds_back_nobody(backend: str, kind: str) -> None:
    """Other sources go on as if it were not there; the stream does not end with them."""

    async def main() -> None:
        hall = Hall(kind, MemorySource([("p", ("file", t), t, t) for t in range(10)], name="file"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hall.runner.run)
            await hall.told(*range(9))
            late = hall.door.come("late")
            await late.send(fact("late", 100))
            await hall.told(*range(10))
            hall.runner.stop()
        hall.door.close()

    run(backend, main)


@pytest.mark.parametrize("kind", KINDS)
def test_a_silent_connection_is_idle_after_a_while(kind: str) -> None:
    """A client that connects and says nothing holds back the others for `idle_after` seconds, and no longer."""

    async def main() -> None:
        hall = Hall(kind, idle_after=5)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hall.runner.run)
            hall.door.come("silent")
            speaking = hall.door.come("speaking")
            for second in range(9):
                await speaking.send(fact("speaking", second))
                await anyio.sleep(0.5)
                assert len(hall.runner.answers) == (0 if second < 5 else second)
                await anyio.sleep(0.5)
            hall.runner.stop()
        hall.door.close()

    run("trio", main)


@pytest.mark.parametrize("kind", KINDS)
def test_connections_are_held_back_one_by_one(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """A connection that runs ahead of another is not read on, and the log names the silent one."""

    async def main() -> None:
        hall = Hall(kind, max_lead=100)
        ahead = MemorySource([("p", ("ahead", t), t, t) for t in range(2000)], name="ahead", batch_size=1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hall.runner.run)
            silent = hall.door.come("silent")
            await hall.counts(1)
            hall.door.let_in(ahead)
            await anyio.sleep(30)
            assert 100 < hall.runner.statistics().intake.accepted < 130
            silent.close()
            await hall.told(*range(1999))
            hall.runner.stop()
        hall.door.close()

    with caplog.at_level(logging.WARNING, "tidelog"):
        run("trio", main)
    assert [message for message in caplog.messages if "is held back" in message and "silent" in message] == caplog.messages
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_connections_that_come_and_go_leave_nothing_behind(kind: str) -> None:
    """After many connections, while another holds back the time, only what concerns those there is kept."""

    async def main() -> None:
        hall = Hall(kind)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hall.runner.run)
            steady = hall.door.come("steady")
            await steady.send(fact("steady", 5))
            for i in range(500):
                source = hall.door.come("short")
                await source.send(fact("short", 10 + i))
                source.close()
                await hall.accepted(2 + i)
            await hall.counts(1)
            watermarks = hall.runner.runtime._alignment._watermarks
            assert len(watermarks._least._heap) < 200
            assert len(watermarks.snapshot()["sources"]) == 2
            hall.runner.stop()
        hall.door.close()

    run("trio", main)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_durable_run_forgets_the_connections_of_the_run_before(backend: str) -> None:
    """Connections do not outlive the process: what one had promised, or not yet, holds back nobody in the next run."""

    async def main() -> None:
        log = MemoryLog()
        for time in (100, 200):
            door = Door()
            runner = Runner("durable", PLAN, [door], log)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(runner.run)
                speaking = door.come("speaking")
                await speaking.send(fact("speaking", time))
                await until(lambda runner=runner, time=time: runner.statistics().intake.accepted == time // 100)  # type: ignore[misc]
                door.come("silent")
                await until(lambda runner=runner: len(runner.statistics().sources) == 3)  # type: ignore[misc]
                runner.stop()
            door.close()
        assert [record[2] for record in log.answers] == [100]

    run(backend, main)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_listener_that_fails_is_opened_again(backend: str, kind: str) -> None:
    """Within the budget it listens anew; beyond it the run ends with an error that names it."""

    async def main() -> None:
        door = Door(OSError("no"), OSError("not yet"))
        runner = Runner(kind, PLAN, [door], restarts=RestartPolicy(attempts=3, delay=0))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            source = door.come("late")
            await source.send(fact("late", 1))
            await until(lambda: runner.statistics().intake.accepted == 1)
            runner.stop()
        assert door.opened == 3
        door.close()
        broken = Door(*[OSError("no")] * 5)
        with pytest.raises(ConnectorError, match="door: no"):
            await Runner(kind, PLAN, [broken], restarts=RestartPolicy(attempts=3, delay=0)).run()
        broken.close()

    run(backend, main)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_clients_of_a_real_listener(backend: str, kind: str) -> None:
    """Two clients by TCP, one two seconds behind: all counts; a third that breaks off within a line costs only that line."""

    async def main() -> None:
        listener = ListenerSource(TcpAddress("127.0.0.1", 0), TextDecoder(PLAN.schema, "tcp"))
        runner = Runner(kind, PLAN, [listener])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            await until(lambda: listener.port is not None)
            clients = [await anyio.connect_tcp("127.0.0.1", listener.port or 0) for _ in range(3)]
            await until(lambda: len(runner.statistics().sources) == 4)
            for second in range(10):
                await clients[0].send(b"p(a,%d)@%d\n" % (second, 100 + second))
                await clients[1].send(b"p(b,%d)@%d\n" % (second, 98 + second))
            await clients[2].send(b"p(c,")
            await clients[2].aclose()
            await until(lambda: runner.statistics().intake.accepted == 20)
            await clients[1].aclose()
            await clients[0].aclose()
            await until(lambda: len(runner.statistics().sources) == 1)
            runner.stop()
        assert runner.statistics().intake.late == 0
        assert [item.raw for item in runner.letters.rejected] == [b"p(c,"]

    run(backend, main)
