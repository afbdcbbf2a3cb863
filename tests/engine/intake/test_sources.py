"""Several sources: their watermarks, idleness, lateness and dead letters."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from engine.running import BACKENDS, DeadLetterList, SlowSource, engine_answers, plan_of, records, run, shown
from tidelog import Engine, MemorySink, MemorySource
from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.interfaces import Batch

BOTH = "timeline integer. quiet(X) :- hot(X), not cold(X)."


def batches(plan_records: Sequence[Record]) -> list[Batch]:
    return [Batch([record]) for record in plan_records]


class TimedSink(MemorySink):
    """Notes when each answer came."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    async def send(self, answers: Sequence[Record]) -> None:
        await super().send(answers)
        self.times += [anyio.current_time()] * len(answers)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_slowest_source_holds_back_the_frontier(backend: str) -> None:
    """What is not there is known only once every source has passed: nothing is answered too early, at any speed."""
    plan = plan_of(BOTH)
    fast = MemorySource(records(plan, [f"hot(a)@{t}" for t in range(50)]), name="fast")
    slow = MemorySource(records(plan, [f"cold(a)@{t}" for t in range(0, 50, 2)]), name="slow", batch_size=1)
    answers = engine_answers(backend, plan, [fast, slow])
    assert sorted(record[2] for record in answers) == list(range(1, 50, 2))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_source_that_has_ended_no_longer_counts(backend: str) -> None:
    """With one source at its end, the other alone moves the frontier."""
    plan = plan_of(BOTH)
    first = MemorySource(records(plan, ["cold(a)@1"]))
    second = MemorySource(records(plan, ["hot(a)@1", "hot(a)@2", "hot(a)@3"]), batch_size=1)
    assert shown(plan, engine_answers(backend, plan, [first, second])) == ["quiet(a)@2", "quiet(a)@3"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_sources_of_disjoint_times(backend: str) -> None:
    """A source whose facts all lie behind those of another loses none of them."""
    plan = plan_of("timeline integer. seen(X) :- diamondminus[0,1] p(X).")
    old = MemorySource(records(plan, [f"p(old)@{t}" for t in range(5)]), batch_size=1)
    new = MemorySource(records(plan, [f"p(new)@{t}" for t in range(1000, 1005)]))
    answers = engine_answers(backend, plan, [new, old], emit="final")
    assert shown(plan, answers) == ["seen(old)@[0,5]", "seen(new)@[1000,1005]"]


def test_an_idle_source_is_ignored_until_it_speaks_again() -> None:
    """After `idle_after` seconds of silence the others move on; what the silent one then says in time still counts."""
    plan = plan_of(BOTH)
    steady = SlowSource(batches(records(plan, [f"hot(a)@{t}" for t in range(0, 100, 10)])), pause=1)
    silent = SlowSource([Batch(records(plan, ["cold(a)@0"])), Batch(records(plan, ["cold(a)@60"]))], pause=5.5)
    sink = TimedSink()
    engine = Engine(plan, [steady, silent], [sink], idle_after=2)
    run("trio", engine.run)
    assert [record[2] for record in sink.answers] == [10, 20, 30, 40, 50, 70, 80, 90]
    assert sink.times[0] == 2
    assert engine.statistics().intake.late == 0


def test_without_idle_after_a_silent_source_holds_back_everything() -> None:
    """Without the option the frontier waits for the silent source, however long."""
    plan = plan_of(BOTH)
    steady = SlowSource(batches(records(plan, ["hot(a)@0", "hot(a)@10", "hot(a)@20"])), pause=1)
    silent = SlowSource([Batch(records(plan, ["cold(a)@15"]))], pause=0, delay=100)
    sink = TimedSink()
    run("trio", Engine(plan, [steady, silent], [sink]).run)
    assert min(sink.times) == 100


def test_a_source_that_waits_to_be_heard_is_not_idle() -> None:
    """While the engine is slow, a source is not silent: it must not be ignored, and its facts not be late."""
    plan = plan_of("timeline integer. seen(X) :- p(X).")

    class Sluggish(MemorySink):
        async def send(self, answers: Sequence[Record]) -> None:
            await anyio.sleep(10)
            await super().send(answers)

    sources = [
        MemorySource(records(plan, [f"p({name})@{t}" for t in range(40)]), name=name, batch_size=1) for name in ("a", "b")
    ]
    sink = Sluggish()
    engine = Engine(plan, sources, [sink], idle_after=1)
    run("trio", engine.run)
    assert engine.statistics().intake.late == 0
    assert len(sink.answers) == 80


def test_an_idle_source_beside_one_that_has_ended_is_not_the_end() -> None:
    """Where all sources but an idle one have ended, the stream goes on: the idle one's facts are not late."""
    plan = plan_of(BOTH)
    ended = MemorySource(records(plan, ["hot(a)@0"]))
    silent = SlowSource(batches(records(plan, ["hot(a)@5", "cold(a)@6", "hot(a)@7"])), pause=20, delay=20)
    sink = MemorySink()
    engine = Engine(plan, [ended, silent], [sink], idle_after=3)
    run("trio", engine.run)
    assert [record[2] for record in sink.answers] == [0, 5, 7]
    assert engine.statistics().intake.late == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_late_facts_go_to_the_dead_letters_with_their_place(backend: str) -> None:
    """A fact behind the watermark is refused with its place and its reason; the rest of its batch counts."""
    plan = plan_of("timeline integer. seen(X) :- p(X).")
    first = Batch(records(plan, ["p(a)@10"]), places=["in.txt:1"])
    second = Batch(records(plan, ["p(b)@3", "p(c)@8", "p(d)@12"]), places=["in.txt:2", "in.txt:3", "in.txt:4"])
    letters, sink = DeadLetterList(), MemorySink()
    engine = Engine(plan, [MemorySource([first, second])], [sink], lateness=2, dead_letters=letters)
    run(backend, engine.run)
    assert sorted(shown(plan, sink.answers)) == ["seen(a)@10", "seen(c)@8", "seen(d)@12"]
    assert [(item.place, item.raw) for item in letters.rejected] == [("in.txt:2", b"p(b)@3")]
    assert "late" in letters.rejected[0].reason
    assert (engine.rejected, engine.statistics().intake.late) == (1, 1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lateness_reorders(backend: str) -> None:
    """Within the lateness, order does not matter: windows that negate are answered rightly."""
    plan = plan_of("timeline integer. first(X) :- p(X), not diamondminus[1,3] p(X).")
    order = [3, 1, 2, 0, 6, 4, 13, 11, 18]
    source = MemorySource(records(plan, [f"p(a)@{t}" for t in order]), batch_size=1)
    answers = engine_answers(backend, plan, [source], lateness=3)
    assert sorted(record[2] for record in answers) == [0, 11, 18]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sources_own_watermark_moves_the_frontier(backend: str) -> None:
    """A batch may promise more than its facts do; a batch without facts is a promise alone."""
    plan = plan_of(BOTH)
    source = MemorySource([Batch(records(plan, ["hot(a)@1"])), Batch(watermark=5), Batch(records(plan, ["cold(a)@4"]))])
    sink, letters = MemorySink(), DeadLetterList()
    run(backend, Engine(plan, [source], [sink], dead_letters=letters).run)
    assert shown(plan, sink.answers) == ["quiet(a)@1"]
    assert [item.raw for item in letters.rejected] == [b"cold(a)@4"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("start", "expected"), [(None, ["up@[3,5]"]), (1, ["up@[5,5]"]), (4, ["up@[4,5]"])])
def test_the_start_clips_windows(backend: str, start: int | None, expected: list[str]) -> None:
    """`always … in [n]` is clipped at the first fact of any source, or at the given start."""
    plan = plan_of("timeline integer. up :- always p in [2].")
    early = MemorySource(records(plan, ["p@[3,5]"]))
    late = MemorySource(records(plan, ["q@7"]))
    answers = engine_answers(backend, plan, [late, early], start=start, emit="final")
    assert shown(plan, answers) == [text.replace("[5,5]", "5") for text in expected]


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_sink_gets_every_answer(backend: str) -> None:
    """Several sinks get the same answers, in the same order."""
    plan = plan_of("seen(X) :- p(X).")
    sinks = [MemorySink(), MemorySink(), MemorySink()]
    source = MemorySource(records(plan, [f"p({t})@{t}" for t in range(100)]), batch_size=3)
    run(backend, Engine(plan, [source], sinks).run)
    assert len(sinks[0].answers) == 100
    assert sinks[0].answers == sinks[1].answers == sinks[2].answers
