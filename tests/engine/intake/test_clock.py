"""The machine's clock: absence is told when nothing comes, in virtual time; what is late by it, and what is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import anyio
import pytest

import tidelog
from engine.intake.test_sources import TimedSink
from engine.running import BACKENDS, DeadLetterList, SlowSource, plan_of, run, shown
from tidelog import Engine, MemorySink, MemorySource, PushSource
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.actors import clock as clocks
from tidelog.runtime.actors.clock import Clock
from tidelog.runtime.actors.supervision import SourceActor
from tidelog.runtime.ports.interfaces import Batch, Tick

BEGIN = 1_700_000_000
SILENT = """timeline integer, unit 1 s. input temp(sensor). output silent.
silent(S) :- diamondminus[0,60] temp(S), not diamondminus[0,5] temp(S)."""


def now() -> float:
    """The machine's clock, as far as the tests' programs know it."""
    return BEGIN + anyio.current_time() - run_began[0]


run_began = [0.0]


def engine_of(plan: Plan, sources: Sequence[Any], sink: MemorySink, clock: Any = 2, **options: Any) -> Engine:
    return Engine(plan, sources, [sink], clock=clock, now=now, **options)


def drive(engine: Engine, script: Callable[[], Any], backend: str = "trio") -> None:
    """Run an engine beside a script, from the script's beginning to the engine's end."""

    async def main() -> None:
        run_began[0] = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await script()

    run(backend, main)


def at(plan: Plan, predicate: str, second: int, *row: str) -> Record:
    return plan.record(predicate, row, time=BEGIN + second)


class Timed(TimedSink):
    """Notes when, after the beginning, each answer came."""

    def when(self) -> list[tuple[int, float]]:
        """For each answer when it begins and when it came, in seconds after the beginning."""
        return [
            (record[2] - BEGIN, round(time - run_began[0], 3)) for record, time in zip(self.answers, self.times, strict=True)
        ]


def test_absence_is_told_when_nothing_comes_at_all() -> None:
    """A sensor that falls silent is told of while the only source says nothing: when its window is over, and 2 s later."""
    plan, source, sink = plan_of(SILENT), PushSource(), Timed()

    async def script() -> None:
        await source.send([at(plan, "temp", 0, "s1")])
        await anyio.sleep(12.5)
        assert sink.when()[0] == (6, 8.001)
        source.close()

    drive(engine_of(plan, [source], sink), script)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_short_tick_is_told_at_a_bounded_rate(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a tick of 1 ms the clock is read some times a second; on both backends absence is told in time."""
    monkeypatch.setattr(clocks, "SHORTEST", 0.02)
    text = SILENT.replace("unit 1 s", "unit 1 ms").replace("[0,5]", "[0,30]")
    plan, source, sink = plan_of(text), PushSource(), MemorySink()
    reads: list[float] = []

    def counted() -> float:
        reads.append(now())
        return reads[-1]

    async def script() -> None:
        await source.send([plan.record("temp", ["s1"], time=BEGIN * 1000)])
        for _ in range(3000):
            if sink.answers:
                break
            await anyio.sleep(0.01)
        source.close()

    # so much later than its time a busy machine may take the fact
    drive(Engine(plan, [source], [sink], clock="2 s", now=counted), script, backend)
    assert sink.answers[0][2] == BEGIN * 1000 + 31
    gaps = [later - earlier for earlier, later in pairwise(reads)]
    assert min(gaps, default=1) >= 0.019


def test_a_tick_of_a_second_wakes_once_a_second() -> None:
    """A hundred quiet seconds cost a hundred looks at the clock; a tick of a day one a minute, since clocks are set."""
    for unit, most in (("1 s", 102), ("1 d", 3)):
        plan, source = plan_of(SILENT.replace("1 s", unit)), PushSource()
        reads: list[float] = []

        def counted(reads: list[float] = reads) -> float:
            reads.append(now())
            return reads[-1]

        async def script(source: PushSource = source) -> None:
            await anyio.sleep(100)
            source.close()

        drive(Engine(plan, [source], [MemorySink()], clock=0, now=counted), script)
        assert most - 3 <= len(reads) <= most


def test_a_silent_source_does_not_hold_back_another() -> None:
    """The clock is a floor for every source: with one of two silent, what waits is told 2 s after its time."""
    plan = plan_of("timeline integer, unit 1 s. input hot(x). input cold(x). quiet(X) :- hot(X), not cold(X).")
    steady, silent, sink = PushSource(), PushSource(), Timed()

    async def script() -> None:
        for second in range(5):
            await steady.send([at(plan, "hot", second, "a")])
            await anyio.sleep(1)
        await anyio.sleep(3)
        steady.close()
        silent.close()

    drive(engine_of(plan, [steady, silent], sink), script)
    assert sink.when() == [(second, pytest.approx(second + 2.001)) for second in range(5)]


def test_what_is_late_by_the_clock_says_so() -> None:
    """A fact exactly as far behind as allowed counts; one further behind is a dead letter that names the clock."""
    plan, source, sink, letters = plan_of(SILENT), PushSource(), MemorySink(), DeadLetterList()

    async def script() -> None:
        await anyio.sleep(10)
        await source.send([at(plan, "temp", 8, "in-time")])
        await anyio.sleep(0.5)
        await source.send([at(plan, "temp", 8, "late")])
        await source.send([at(plan, "temp", 20, "s1"), at(plan, "temp", 19, "unordered")])
        source.close()

    engine = engine_of(plan, [source], sink, dead_letters=letters)
    drive(engine, script)
    reasons = [item.reason for item in letters.rejected]
    assert reasons[0] == f"late: by the clock, facts before {BEGIN + 9} can no longer come"
    assert reasons[1] == f"late: facts before {BEGIN + 20} can no longer come"
    assert engine.statistics().intake.accepted == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_clock_speaks_first(backend: str) -> None:
    """Whether an old fact is late does not depend on who is started first."""
    plan, source, letters = plan_of(SILENT), PushSource(), DeadLetterList()

    async def script() -> None:
        await source.send([at(plan, "temp", -3, "s1"), at(plan, "temp", -1, "s1")])
        source.close()

    drive(engine_of(plan, [source], MemorySink(), dead_letters=letters), script, backend)
    assert [item.raw for item in letters.rejected] == [f"temp(s1)@{BEGIN - 3}".encode()]


def test_lateness_and_clock_both_hold() -> None:
    """What a source's facts promise less the lateness, or the clock, whichever is further, is what is known."""
    plan, source, sink, letters = plan_of(SILENT), PushSource(), MemorySink(), DeadLetterList()

    async def script() -> None:
        await source.send([at(plan, "temp", 0, "s1")])
        await anyio.sleep(10)
        await source.send([at(plan, "temp", 10, "s1")])
        await source.send([at(plan, "temp", 5, "within both")])
        await source.send([at(plan, "temp", 3, "behind the clock"), at(plan, "temp", 1, "behind both")])
        source.close()

    drive(engine_of(plan, [source], sink, clock=5, lateness=8, dead_letters=letters), script)
    assert [item.reason.split(",")[0] for item in letters.rejected] == ["late: by the clock"] * 2


def test_how_far_ahead_a_fact_may_lie_is_measured_from_the_clock() -> None:
    """After a long silence a fact of now is not ahead; one from a clock that is wrong is, be it the source's first."""
    plan, source, sink, letters = plan_of(SILENT), PushSource(), MemorySink(), DeadLetterList()

    async def script() -> None:
        await anyio.sleep(1)
        await source.send([at(plan, "temp", 500, "first")])
        await source.send([at(plan, "temp", 1, "s1")])
        await anyio.sleep(100)
        await source.send([at(plan, "temp", 101, "s1"), at(plan, "temp", 115, "ahead")])
        source.close()

    engine = engine_of(plan, [source], sink, clock=60, max_ahead=10, dead_letters=letters)
    drive(engine, script)
    assert [item.raw.decode().partition("@")[0] for item in letters.rejected] == ["temp(first)", "temp(ahead)"]
    assert letters.rejected[1].reason == f"ahead: begins more than 10 after {BEGIN + 101}, where the clock stood"
    assert engine.statistics().intake.accepted == 2


@pytest.mark.parametrize("told", [None, math.inf])
def test_a_fact_from_a_clock_that_is_years_ahead_is_refused_unless_told_otherwise(told: float | None) -> None:
    """However many such facts come, time goes on where the machine's clock is, and what is of now is taken."""
    plan, source, sink, letters = plan_of(SILENT), PushSource(), MemorySink(), DeadLetterList()

    async def script() -> None:
        await anyio.sleep(1)
        await source.send([at(plan, "temp", 1_000_000 + second, "wrong") for second in range(50)])
        await source.send([at(plan, "temp", 304, "far")])
        await anyio.sleep(1)
        await source.send([at(plan, "temp", 2, "s1")])
        source.close()

    engine = engine_of(plan, [source], sink, clock=60, lateness=2, max_ahead=told, dead_letters=letters)
    engine.write_times(TimeFormatter(plan.timeline, iso=True))
    drive(engine, script)
    reasons = [item.reason for item in letters.rejected]
    if told is None:
        assert engine.statistics().intake.accepted == 1 and len(reasons) == 51
        assert reasons[-1] == "ahead: begins more than 302 s after 2023-11-14T22:13:21Z, where the clock stood"
        assert letters.rejected[-1].raw == b"temp(far)@2023-11-14T22:18:24Z"
    else:
        assert [reason.partition(":")[0] for reason in reasons] == ["late"] * 2


def test_a_clock_tells_the_time_also_while_sources_are_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts of now are not ahead, though a source has had more to say than was taken for long."""
    plan, source, sink, letters = plan_of(SILENT), PushSource(), MemorySink(), DeadLetterList()
    monkeypatch.setattr(SourceActor, "is_passing_on", True)

    async def script() -> None:
        for second in range(10, 200, 10):
            await anyio.sleep(10)
            await source.send([at(plan, "temp", second, "s1")])
        source.close()

    engine = engine_of(plan, [source], sink, clock=60, max_ahead=20, dead_letters=letters)
    drive(engine, script)
    assert not letters.rejected


def test_what_is_recorded_is_read_before_the_clock_counts() -> None:
    """A file's old facts are not late beside a live source: the clock waits until the file has been read."""
    plan, live, sink, letters = plan_of(SILENT), PushSource(), Timed(), DeadLetterList()
    history = SlowSource([Batch([at(plan, "temp", second, "old")]) for second in range(-1000, -994)], pause=2)

    async def script() -> None:
        await anyio.sleep(20)
        await live.send([at(plan, "temp", 20, "s1")])
        await anyio.sleep(10)
        live.close()

    drive(engine_of(plan, [history, live], sink, dead_letters=letters), script)
    assert not letters.rejected
    assert sink.when()[0][0] == -989
    assert (26, 28.001) in sink.when()


def test_files_alone_are_read_as_without_a_clock() -> None:
    """Where all that comes is recorded, the answers are those that there are without a clock."""
    plan = plan_of(SILENT)
    facts = [at(plan, "temp", -second, "s1") for second in (1000, 990, 100)]
    sinks = MemorySink(), MemorySink()
    drive(engine_of(plan, [MemorySource(facts)], sinks[0]), anyio.lowlevel.checkpoint)
    run("trio", Engine(plan, [MemorySource(facts)], [sinks[1]]).run)
    assert sinks[0].answers == sinks[1].answers != []


def test_what_came_in_time_is_not_late_because_the_engine_is_slow() -> None:
    """While a source waits to be heard the clock stands still."""
    plan = plan_of("timeline integer, unit 1 s. input temp(sensor). seen(S) :- temp(S).")

    class Sluggish(MemorySink):
        async def send(self, answers: Sequence[Any]) -> None:
            await anyio.sleep(10)
            await super().send(answers)

    source, sink, letters = PushSource(), Sluggish(), DeadLetterList()

    async def script() -> None:
        for second in range(60):
            await source.send([at(plan, "temp", second, f"s{second}")])
            await anyio.sleep(0 if anyio.current_time() - run_began[0] > second else 1)
        source.close()

    engine = engine_of(plan, [source], sink, clock=3, dead_letters=letters)
    drive(engine, script)
    assert not letters.rejected
    assert len(sink.answers) == 60


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_clock_ends_with_the_sources_and_with_a_stop(backend: str) -> None:
    """It holds up neither the stream's end nor a shutdown, and after a shutdown nothing more is claimed."""
    plan = plan_of(SILENT)
    for is_stopped in (False, True):
        source, sink = PushSource(), MemorySink()
        engine = engine_of(plan, [source], sink)

        async def script(engine: Engine = engine, source: PushSource = source, is_stopped: bool = is_stopped) -> None:
            await source.send([at(plan, "temp", 0, "s1")])
            await anyio.sleep(0.05)
            engine.stop() if is_stopped else source.close()

        drive(engine, script, backend)
        assert bool(sink.answers) is not is_stopped


def test_questions_are_decided_by_the_clock() -> None:
    """What `ask` waits for is rejected when the clock has passed it by, with nothing coming."""
    text = "timeline integer, unit 1 s. input temp(x). malf(X) :- temp(X), diamondminus[1,1] temp(X). ask malf(X)@T."
    plan = tidelog.compile(text)
    source, sink = PushSource(), MemorySink()

    async def script() -> None:
        await source.send([at(plan, "temp", 0, "s1")])
        await anyio.sleep(5)
        assert [answer.status for answer in sink.hypothetical] == ["possible", "rejected"]
        source.close()

    drive(engine_of(plan, [source], sink), script)


def test_a_clock_that_is_set_back_takes_nothing_back() -> None:
    """What has been promised stays promised."""
    plan, source, sink, letters = plan_of(SILENT), PushSource(), MemorySink(), DeadLetterList()
    readings = iter([BEGIN + 100.0])

    async def script() -> None:
        await anyio.sleep(5)
        await source.send([at(plan, "temp", 50, "s1")])
        source.close()

    engine = Engine(plan, [source], [sink], clock=2, now=lambda: next(readings, BEGIN + 1.0), dead_letters=letters)
    drive(engine, script)
    reason = f"late: by the clock, facts before {BEGIN + 98} can no longer come"
    assert [item.reason for item in letters.rejected] == [reason]


@pytest.mark.parametrize(
    ("timeline", "told"),
    [
        (Timeline("integer", unit=Fraction(1)), [7, 7, 8, 8]),
        (Timeline("integer", unit=Fraction(1), rounding="up"), [7, 7, 8, 8]),
        (Timeline("integer", unit=Fraction(1), rounding="down"), [6, 7, 7, 7]),
        (Timeline("integer", unit=Fraction(1), rounding="nearest"), [7, 7, 7, 8]),
        (Timeline("rational", Fraction(1, 2), Fraction(1)), [31, 31, 33, 33]),
    ],
)
def test_what_the_clock_promises(timeline: Timeline, told: list[int]) -> None:
    """At 9.75, 10, 10.25 and 10.5, 2 s behind: the last encoded time at which no fact of those to come can begin."""
    readings = iter([9.75, 10.0, 10.25, 10.5])
    clock = Clock(timeline, 2, lambda: next(readings))
    assert [clock._tick(clock._units()).watermark for _ in told] == told


@pytest.mark.parametrize("rounding", [None, "down", "nearest", "up"])
def test_the_clock_is_looked_at_when_its_promise_moves(rounding: Any) -> None:
    """Right behind the moment told, the watermark has moved; right before it, it has not."""
    timeline = Timeline("integer", unit=Fraction(1), rounding=rounding)
    clock = Clock(timeline, "0.3 s", lambda: 0)
    for step in range(-40, 40):
        time = Fraction(step, 16)
        wait = Fraction(clock._until_next(time)).limit_denominator(10**6)
        before, after = (clock._tick(time + wait + Fraction(shift, 10**6)).watermark for shift in (-1, 1))
        assert wait >= 0
        assert after == before + 1
        assert clock._tick(time).watermark in ((before,) if wait else (before, after))


def test_a_clock_needs_a_unit_and_a_length() -> None:
    """What is no clock is told when the engine is made."""
    with pytest.raises(tidelog.DataError, match="what a unit of time is"):
        Engine(plan_of("timeline integer. q :- p."), [], [], clock=2)
    for wrong in ("-1 s", "soon", float("inf")):
        with pytest.raises(tidelog.DataError):
            Engine(plan_of(SILENT), [], [], clock=wrong)


def test_a_session_takes_the_clock_as_the_engine_does() -> None:
    """The floor is for all sources, and outlives none of them."""
    session = tidelog.Session(plan_of(SILENT), sources=("a", "b"))
    session.push("temp", ["s1"], time=0)
    session.pass_time(Tick(10, 12))
    assert session.frontier == 10
    assert shown(session.plan, session.pull_records())[:1] == ["silent(s1)@[6,10]"]
    assert [item.reason for item in session.take("b", Batch([session.plan.record("temp", ["s1"], 9)]))] == [
        "late: by the clock, facts before 11 can no longer come"
    ]
