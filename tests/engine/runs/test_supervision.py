"""Connectors that fail, engines that are stopped or cancelled, and sinks that do not take."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence

import anyio
import pytest

from engine.running import BACKENDS, SlowSource, plan_of, run, shown
from tidelog import Engine, MemorySink, MemorySource, PushSource
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.runtime.actors.supervision import RestartPolicy
from tidelog.runtime.ports.channels import CHANNEL_BOUND
from tidelog.runtime.ports.interfaces import Batch, Interrupted, SinkStatistics

PLAN = plan_of("timeline integer. seen(X) :- p(X).")
ONCE = RestartPolicy(attempts=3, delay=0)


def facts(count: int) -> list[Record]:
    return [("p", (i,), i, i) for i in range(count)]


class FailingSource(MemorySource):
    """Loses its connection whenever the script says so: `o` opens or delivers, `x` fails."""

    def __init__(self, script: str, count: int) -> None:
        super().__init__(facts(count), batch_size=1, name="flaky")
        self._script = itertools.chain(script, itertools.repeat("o"))
        self.opened = 0

    def _next(self) -> None:
        if next(self._script) == "x":
            raise ConnectionResetError("connection lost")

    async def __aenter__(self) -> FailingSource:
        self.opened += 1
        self._next()
        return self

    async def receive(self) -> Batch | None:
        self._next()
        return await super().receive()


class FailingSink(MemorySink):
    """Fails to open or to send whenever the script says so."""

    def __init__(self, script: str) -> None:
        super().__init__(name="flaky")
        self._script = itertools.chain(script, itertools.repeat("o"))
        self.attempts: list[float] = []

    def _next(self) -> None:
        if next(self._script) == "x":
            raise BrokenPipeError("pipe broken")

    async def __aenter__(self) -> FailingSink:
        self.attempts.append(anyio.current_time())
        self._next()
        return self

    async def send(self, answers: Sequence[Record]) -> None:
        self._next()
        await super().send(answers)


# --- restarts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("script", ["x", "ox", "xxoox", "oox" * 5])
def test_a_source_is_opened_again(backend: str, script: str, caplog: pytest.LogCaptureFixture) -> None:
    """A source that fails within the budget goes on where it was; the budget is renewed by each batch."""
    source, sink = FailingSource(script, 10), MemorySink()
    with caplog.at_level(logging.WARNING, "tidelog"):
        run(backend, Engine(PLAN, [source], [sink], restarts=ONCE).run)
    assert sorted(sink.answers) == [("seen", (i,), i, i) for i in range(10)]
    assert source.opened == 1 + script.count("x") == 1 + len(caplog.records)
    assert "flaky: connection lost" in caplog.text


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("script", ["x", "ox", "oxxox", "oox" * 5])
def test_a_sink_is_opened_again_and_loses_nothing(backend: str, script: str) -> None:
    """A sink that fails within the budget is sent again what it did not take: here nothing is lost or doubled."""
    sink = FailingSink(script)
    run(backend, Engine(PLAN, [MemorySource(facts(200), batch_size=1)], [sink], restarts=ONCE).run)
    assert sink.answers == [("seen", (i,), i, i) for i in range(200)]


class ForgetfulSink(FailingSink):
    """Takes all that it is sent, and says that it failed."""

    async def send(self, answers: Sequence[Record]) -> None:
        await MemorySink.send(self, answers)
        self._next()


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_sink_may_have_twice_is_counted(backend: str) -> None:
    """A sink that does not say what it took is sent the answers of a failed call again, and these are counted."""
    sink = ForgetfulSink("oxo")
    engine = Engine(PLAN, [MemorySource(facts(200), batch_size=1)], [sink], restarts=ONCE)
    run(backend, engine.run)
    assert set(sink.answers) == {("seen", (i,), i, i) for i in range(200)}
    [(name, told)] = engine.sink_statistics()
    assert (name, told.breaks, told.lost) == ("flaky", 1, 0)
    assert told.repeated == len(sink.answers) - 200 > 0


class KeepingSink(FailingSink):
    """Keeps what it was given and could not write, as `Interrupted` promises; takes `step` answers of each call."""

    def __init__(self, script: str, step: int) -> None:
        super().__init__(script)
        self.kept: list[Record] = []
        self._step = step

    async def send(self, answers: Sequence[Record]) -> None:
        self.kept += answers
        taken = self.kept[: self._step]
        try:
            self._next()
        except BrokenPipeError as error:
            del self.kept[: self._step]
            await super(FailingSink, self).send(taken)
            raise Interrupted("cut off", error, kept=len(self.kept), progressed=bool(taken)) from error
        await super(FailingSink, self).send(self.kept)
        self.kept.clear()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sink_that_keeps_its_answers_goes_on_by_itself(backend: str) -> None:
    """It is not sent again what it keeps, also where it is cut off behind the last answer; progress renews the budget."""
    sink = KeepingSink("o" + "xo" * 20, 1)
    engine = Engine(PLAN, [MemorySource(facts(200), batch_size=50)], [sink], restarts=RestartPolicy(attempts=1, delay=0))
    run(backend, engine.run)
    assert sink.answers == [("seen", (i,), i, i) for i in range(200)]
    assert engine.sink_statistics() == [("flaky", SinkStatistics())]


def test_a_sink_that_makes_no_progress_is_given_up() -> None:
    """Cut off again and again without taking anything, it spends its budget."""
    sink = KeepingSink("ox" * 99, 0)
    with pytest.raises(ConnectorError, match="flaky: cut off"):
        run("trio", Engine(PLAN, [MemorySource(facts(10))], [sink], restarts=ONCE).run)
    assert len(sink.attempts) == 4


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_source_that_fails_for_good_stops_the_engine(backend: str) -> None:
    """Once the budget is spent, a ConnectorError names the source and the reason, with its cause."""
    source = FailingSource("oo" + "x" * 9, 10)
    with pytest.raises(ConnectorError, match="flaky: connection lost") as caught:
        run(backend, Engine(PLAN, [source], [MemorySink()], restarts=ONCE).run)
    assert isinstance(caught.value.__cause__, ConnectionResetError)
    assert source.opened == 1 + 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sink_that_fails_for_good_stops_the_engine(backend: str) -> None:
    """The same for a sink: the error is its own, not one of those that follow from it."""
    sink = FailingSink("oo" + "x" * 9)
    with pytest.raises(ConnectorError, match="flaky: pipe broken"):
        run(backend, Engine(PLAN, [MemorySource(facts(5000), batch_size=1)], [sink], restarts=ONCE).run)


def test_back_off_doubles_up_to_the_longest() -> None:
    """Attempts wait 1, 2, 4, 5, 5 seconds, in virtual time."""
    sink = FailingSink("x" * 9)
    policy = RestartPolicy(attempts=5, delay=1, longest=5)
    with pytest.raises(ConnectorError):
        run("trio", Engine(PLAN, [MemorySource(facts(1))], [sink], restarts=policy).run)
    waits = [b - a for a, b in itertools.pairwise(sink.attempts)]
    assert waits == [1, 2, 4, 5, 5]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_source_that_fails_to_close_has_ended(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    """Once a source has said that it has ended, a failure to close it does not begin it anew."""

    class Unclosable(MemorySource):
        opened = 0

        async def __aenter__(self) -> Unclosable:
            self.opened += 1
            return self

        async def __aexit__(self, *exc: object) -> None:
            raise OSError("cannot close")

    source, sink = Unclosable(facts(3)), MemorySink()
    with caplog.at_level(logging.WARNING, "tidelog"):
        run(backend, Engine(PLAN, [source], [sink], restarts=ONCE).run)
    assert (source.opened, len(sink.answers)) == (1, 3)
    assert "cannot close" in caplog.text


# --- backpressure -------------------------------------------------------------------------------------------------------


class CountingSource(MemorySource):
    """Counts how often it was asked."""

    asked = 0

    async def receive(self) -> Batch | None:
        self.asked += 1
        return await super().receive()


class BlockedSink(MemorySink):
    """Takes nothing until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.released = anyio.Event()

    async def send(self, answers: Sequence[Record]) -> None:
        await self.released.wait()
        await super().send(answers)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "text",
    [
        "timeline integer. seen(X) :- p(X).",
        "timeline integer. seen(X) :- diamondminus[0,3] p(X). seen(X) :- p(X), not q(X).",
        "timeline integer. boxplus[1,1] seen(X) :- seen(X), on(X). seen(X) :- p(X).",
    ],
)
def test_a_sink_that_does_not_take_slows_down_the_source(backend: str, text: str) -> None:
    """The source is asked for what the channels hold and no more; once the sink takes, all of it arrives."""
    plan = plan_of(text)

    async def main() -> tuple[int, list[Record]]:
        source, sink = CountingSource(facts(3000), batch_size=1), BlockedSink()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Engine(plan, [source], [sink]).run)
            asked = -1
            while source.asked > asked:
                asked = source.asked
                for _ in range(200):
                    await anyio.lowlevel.checkpoint()
            sink.released.set()
        return asked, sink.answers

    asked, answers = run(backend, main)
    hops = len(plan.steps) + 4
    assert asked <= (2 * CHANNEL_BOUND + 2) * hops < 3000
    assert {record[1] for record in answers} == {(i,) for i in range(3000)}


# --- stopping -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_stop_flushes_what_is_in_flight_and_leaves_frontiers_alone(backend: str) -> None:
    """What has come is answered; what could still change is not made final by stopping."""
    plan = plan_of("timeline integer. long(X) :- diamondminus[0,5] p(X).")

    async def main() -> list[Record]:
        source, sink = PushSource(), MemorySink()
        engine = Engine(plan, [source], [sink], emit="final")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await source.send([("p", ("a",), 0, 0), ("p", ("b",), 20, 20)])
            while not engine.statistics().intake.accepted:
                await anyio.lowlevel.checkpoint()
            engine.stop()
        return sink.answers

    assert shown(plan, run(backend, main)) == ["long(a)@[0,5]"]


class HangingSource(MemorySource):
    """Never gets its connection."""

    async def __aenter__(self) -> HangingSource:
        await anyio.sleep_forever()
        return self


@pytest.mark.parametrize("backend", BACKENDS)
def test_stop_before_and_again(backend: str) -> None:
    """An engine that is stopped before it runs, or twice, ends at once."""
    engine = Engine(PLAN, [HangingSource([]), MemorySource(facts(3))], [MemorySink()])
    engine.stop()
    engine.stop()
    run(backend, engine.run)
    assert engine.statistics().intake.accepted == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_stop_gives_up_a_source_that_is_being_opened(backend: str) -> None:
    """A source that hangs while it opens does not keep the engine from stopping."""

    async def main() -> int:
        engine = Engine(PLAN, [HangingSource([])], [MemorySink()])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await anyio.wait_all_tasks_blocked()
            engine.stop()
        return engine.statistics().intake.accepted

    assert run(backend, main) == 0


def test_stop_gives_up_the_back_off() -> None:
    """A source that waits for its next attempt is not waited for."""

    async def main() -> float:
        engine = Engine(PLAN, [FailingSource("x" * 99, 1)], [MemorySink()], restarts=RestartPolicy(delay=1000))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await anyio.sleep(5)
            engine.stop()
        return anyio.current_time()

    assert run("trio", main) == 5


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("rounds", [0, 1, 2, 5, 20, 100])
def test_cancellation_leaves_nothing_running(backend: str, rounds: int) -> None:
    """Cancelled from outside at any moment, the engine's tasks and streams are gone, and nothing is raised."""
    plan = plan_of(
        "timeline integer. a(X) :- p(X), not q(X). boxplus[1,1] b(X) :- a(X). b(X) :- diamondminus[0,1] b(X), r(X)."
    )

    async def main() -> tuple[bool, int]:
        before = len(anyio.get_running_tasks())
        source = SlowSource([Batch([record]) for record in facts(1000)], pause=0)
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(Engine(plan, [source, PushSource()], [MemorySink()], idle_after=60).run)
                for _ in range(rounds):
                    await anyio.lowlevel.checkpoint()
                scope.cancel()
        return scope.cancelled_caught, len(anyio.get_running_tasks()) - before

    assert run(backend, main) == (True, 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_that_is_not_ours_is_raised_itself(backend: str) -> None:
    """A bug in a connector is raised as it is, not hidden in a group, nor behind what follows from it."""

    class Buggy(MemorySink):
        async def send(self, answers: Sequence[Record]) -> None:
            raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        run(backend, Engine(PLAN, [MemorySource(facts(5000), batch_size=1)], [Buggy()]).run)
