"""A run with a state: what it answers, how it goes on, and what it refuses."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

from children import WAIT
from crashing import CrashError, CrashingDirectory, ReplayableSource
from engine.running import plan_of, records
from tidelog import ConnectorError, Engine, MemorySink, MemorySource, RestartPolicy, Session, SpecError
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.actors.supervision import SinkActor
from tidelog.runtime.durable import ledger
from tidelog.runtime.durable.sink_feeds import OwedFeed
from tidelog.runtime.journal import delivery_queue as owed
from tidelog.runtime.ports import channels
from tidelog.runtime.ports.changelog import Group, pack_told, unpack_told
from tidelog.runtime.ports.durability import Backlog, Changes, Heading, Input, Kept, Told
from tidelog.runtime.ports.interfaces import AnyAnswer, Batch, Rejected

PROGRAM = """
timeline integer.
hot(X) :- temp(X, V), V > 22.
alarm(X) :- boxminus[0,2] hot(X).
spread(X) :- alarm(X).
spread(X) :- diamondminus[1,3] spread(X), hot(X).
quiet(X) :- diamondminus[0,1] temp(X, _), not hot(X).
"""


SOON = RestartPolicy(attempts=None, delay=0.01, longest=0.01)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(PROGRAM)


def facts(plan: Plan, count: int = 40) -> list[Record]:
    return [("temp", ("ab"[i % 2], 20 + i * 7 % 6), i // 2, i // 2) for i in range(count)]


def go(plan: Plan, store: StateDirectory, source: MemorySource, sink: MemorySink, **options: Any) -> Engine:
    engine = Engine(plan, [source], [sink], state=store, commit_every=0, **options)
    anyio.run(engine.run, backend=options.pop("backend", "trio"))
    return engine


def answers(plan: Plan, given: list[Record], **options: Any) -> list[Record]:
    sink = MemorySink()
    anyio.run(Engine(plan, [MemorySource(given)], [sink], **options).run, backend="trio")
    return sink.answers


@pytest.mark.parametrize("emit", ["intervals", "final", "changes", "points"])
def test_a_run_with_a_state_answers_as_one_without(tmp_path: Path, plan: Plan, emit: Any) -> None:
    """Uninterrupted, a sink gets the same answers, in the same order."""
    sink = MemorySink()
    with StateDirectory(str(tmp_path / "state")) as store:
        go(plan, store, MemorySource(facts(plan)), sink, emit=emit)
    assert sink.answers == answers(plan, facts(plan), emit=emit)


@pytest.mark.parametrize("is_after", [False, True])
def test_after_a_crash_at_any_commit_no_answer_is_lost(
    tmp_path: Path, plan: Plan, is_after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Crashed at its n-th commit, for each n, and run again: all sinks together got what one run would have told."""
    monkeypatch.setattr(ledger, "MOST_NEW", 2)
    monkeypatch.setattr(channels, "CHANNEL_BOUND", 0)
    given = facts(plan, 24)
    expected = answers(plan, given, emit="final")
    at, has_ended = 0, False
    while not has_ended:
        at += 1
        sinks = [MemorySink(), MemorySink()]
        with CrashingDirectory(str(tmp_path / f"{at}")) as store:
            store.crash_at, store.is_after = at, is_after
            try:
                go(plan, store, ReplayableSource(given), sinks[0], emit="final")
                has_ended = True
            except CrashError:
                pass
        with StateDirectory(str(tmp_path / f"{at}")) as store:
            go(plan, store, ReplayableSource(given), sinks[1], emit="final")
        found = sinks[0].answers + sinks[1].answers
        assert sorted(set(found)) == sorted(expected)
        assert len(found) <= 2 * len(expected)  # a sink that does its best may be given some twice, never more
    assert at > 3


class SlowDirectory(StateDirectory):
    """Each commit lasts until something more has been taken, as long as there is more; `facts` are those that are stored."""

    def __init__(self, path: str, most: int) -> None:
        super().__init__(path)
        self.most, self.facts = most, 0
        self.is_writing, self.has_more = threading.Event(), threading.Event()

    def commit(self, changes: Changes) -> Kept:
        self.has_more.clear()
        self.is_writing.set()
        facts = self.facts + sum(block.facts for block in changes.journal)
        assert facts >= self.most or self.has_more.wait(WAIT)
        kept = super().commit(changes)
        self.facts = facts
        return kept


class WhileWriting(MemorySource):
    """Gives its first fact at once, and each other one while a commit is written."""

    def __init__(self, given: Sequence[Record], store: SlowDirectory) -> None:
        super().__init__(given, batch_size=1)
        self._store = store
        self._is_first = True

    async def receive(self) -> Batch | None:
        if not self._is_first:
            await anyio.to_thread.run_sync(self._store.is_writing.wait, WAIT)
            self._store.is_writing.clear()
        self._is_first = False
        return await super().receive()


class Counting:
    """Behind each commit, how many facts are said to be stored, and how many are."""

    def __init__(self, store: SlowDirectory) -> None:
        self._store = store
        self._taken = self._storing = 0
        self.counts: list[tuple[int, int]] = []

    def took(self, source: str, batch: Batch | None, refused: Sequence[Rejected]) -> None:
        self._taken += 0 if batch is None else len(batch.records)
        self._store.has_more.set()

    def told(self, answers: Sequence[AnyAnswer]) -> None:
        pass

    def going_on(self, run: str, events: int) -> None:
        pass

    def committing(self, events: int) -> None:
        self._storing = self._taken

    def committed(self, seconds: float) -> None:
        self.counts.append((self._storing, self._store.facts))

    def gave_up(self, sink: str, letters: Sequence[Rejected]) -> None:
        pass


def test_what_is_taken_while_a_commit_is_written_is_not_said_to_be_stored(tmp_path: Path, plan: Plan) -> None:
    """It is in the next commit: a crash behind this one would lose it."""
    given = facts(plan, 5)
    with SlowDirectory(str(tmp_path / "state"), len(given)) as store:
        observer = Counting(store)
        go(plan, store, WhileWriting(given, store), MemorySink(), observer=observer)
    assert all(said == stored for said, stored in observer.counts)
    assert observer.counts[-1] == (len(given), len(given))


class NotedDirectory(StateDirectory):
    """Notes when its state is read."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.noted: list[str] = []

    def parts(self, event: int | None = None, names: Iterable[str] | None = None) -> Iterator[tuple[str, bytes]]:
        self.noted.append("read")
        return super().parts(event, names)

    def journal(self, first: int = 0) -> Iterator[Input]:
        self.noted.append("read")
        return super().journal(first)


class ToldOfRun(Counting):
    """Notes when it is told of the run."""

    def __init__(self, store: NotedDirectory) -> None:
        self._noted = store.noted

    def took(self, source: str, batch: Batch | None, refused: Sequence[Rejected]) -> None:
        pass

    def going_on(self, run: str, events: int) -> None:
        self._noted.append(f"going on behind {events} events")

    def committing(self, events: int) -> None:
        pass

    def committed(self, seconds: float) -> None:
        pass


def test_an_observer_is_told_of_a_run_before_its_state_is_restored(tmp_path: Path, plan: Plan) -> None:
    """Who asked meanwhile was shown an acknowledged alarm as if nobody had acknowledged it."""
    with StateDirectory(str(tmp_path / "state")) as store:
        go(plan, store, ReplayableSource(facts(plan)), MemorySink())
    with NotedDirectory(str(tmp_path / "state")) as again:
        go(plan, again, ReplayableSource(facts(plan)), MemorySink(), observer=ToldOfRun(again))
    assert re.fullmatch("going on behind [1-9][0-9]* events", again.noted[0])
    assert set(again.noted[1:]) == {"read"}


class AwaySink(MemorySink):
    """Is away until it is let back."""

    def __init__(self) -> None:
        super().__init__(name="away")
        self.is_away = True
        self.attempts = 0

    async def __aenter__(self) -> AwaySink:
        self.attempts += 1
        if self.is_away:
            raise OSError("nobody there")
        return self


class StuckSink(MemorySink):
    """Holds what it was given first until it is let go on, as a sink does that tries to reach somebody."""

    def __init__(self) -> None:
        super().__init__(name="stuck")
        self.is_away = True

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        await until(lambda: not self.is_away)
        await super().send(answers)


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(WAIT):
        while True:
            if is_so():
                return
            await anyio.sleep(0.01)


def test_a_sink_that_is_away_holds_nothing_up(tmp_path: Path, plan: Plan) -> None:
    """The others are told meanwhile; it is tried without end, and told all once it is back, by a later run, too."""
    given, near, away = facts(plan), MemorySink(), AwaySink()
    expected = answers(plan, given, emit="final")

    async def main(store: StateDirectory) -> None:
        ends = [ReplayableSource(given)], [near, away]
        engine = Engine(plan, *ends, state=store, commit_every=0, emit="final", restarts=SOON)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            if away.is_away:
                await until(lambda: away.attempts > 20 and len(near.answers) == len(expected))
                engine.stop(0)

    for is_away in (True, False):
        away.is_away = is_away
        with StateDirectory(str(tmp_path)) as store:
            anyio.run(main, store, backend="trio")
    assert sorted(away.answers) == sorted(near.answers) == sorted(expected)


@pytest.mark.parametrize("away", [AwaySink(), StuckSink()], ids=lambda sink: str(sink.name))
def test_the_oldest_answers_may_be_dropped(
    tmp_path: Path, plan: Plan, away: AwaySink | StuckSink, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Beyond the bound a sink that is away loses the oldest answers; how many is counted and told while it is still away."""
    monkeypatch.setattr(owed, "BLOCK", 5)  # however many answers one commit has, there is more than the last block
    given = facts(plan, 120)
    expected = answers(plan, given, emit="final")

    async def main(store: StateDirectory) -> Engine:
        backlog = Backlog(300, "drop-oldest")
        engine = Engine(
            plan,
            [ReplayableSource(given)],
            [away],
            state=store,
            commit_every=0,
            emit="final",
            restarts=SOON,
            backlog=backlog,
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await until(lambda: engine.statistics().intake.accepted == len(given))
            await until(lambda: dropped(engine) > 0)
            assert "were dropped, since too many waited" in caplog.text
            away.is_away = False
        return engine

    with StateDirectory(str(tmp_path)) as store:
        engine = anyio.run(main, store, backend="trio")
    assert dropped(engine) + len(away.answers) == len(expected)
    told = re.findall(r"(\d+) answers were dropped", caplog.text)
    assert sum(map(int, told)) == dropped(engine)


def dropped(engine: Engine) -> int:
    ((_, found),) = engine.sink_statistics()
    return found.dropped


@pytest.mark.parametrize("found", [None, Told(4, 6, b"")])
def test_what_is_dropped_while_it_is_read_is_passed_over(found: Told | None) -> None:
    """A sink that reads an answer from the disk while a commit drops it hears that it is gone, and does not fail."""

    async def main() -> None:
        async def read(number: int) -> Told | None:
            return found

        waiting = owed.Owed("run", read, Backlog(1, "drop-oldest"))
        waiting.begin()
        waiting.go_on(6)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(drop, waiting)
            assert await waiting.behind(0) == []
        assert waiting.first_kept == 4

    async def drop(waiting: owed.Owed) -> None:
        await anyio.wait_all_tasks_blocked()
        waiting.stored([], Kept(4, 1))

    anyio.run(main, backend="trio")


class NumberedSink(MemorySink):
    """Is told the numbers of its answers, and learns only later that they were taken."""

    def number(self, heading: Heading) -> None:
        """They are of no interest here."""

    def confirmed(self) -> int:
        return 0


@given(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=5), taken=st.integers(0, 20), confirms=st.booleans())
def test_what_a_commit_has_for_a_sink_comes_as_one(sizes: list[int], taken: int, confirms: bool) -> None:
    """Behind what it has taken, numbered from there; one by one where a sink confirms each part."""
    taken %= sum(sizes)

    async def receive() -> Sequence[tuple[Heading | None, Sequence[AnyAnswer]]]:
        queue = owed.Owed("run", never, Backlog())
        queue.begin()
        for frontier, size in enumerate(sizes):
            queue.tell([("p", (queue.told + i + 1,), 0, 0) for i in range(size)], frontier)
        queue.stored(queue.take_new(), Kept(1, 0))
        actor = SinkActor(NumberedSink() if confirms else MemorySink(), RestartPolicy())
        return await OwedFeed(queue, taken, actor).receive()

    async def never(number: int) -> Told | None:
        raise AssertionError("all of it is in memory")

    groups = anyio.run(receive)
    following, frontiers = taken + 1, []
    for heading, told in groups:
        assert heading is not None and heading.first == following
        assert [answer[1][0] for answer in told if isinstance(answer, tuple)] == [*range(following, following + len(told))]
        following += len(told)
        frontiers.append(heading.frontier)
    assert following == sum(sizes) + 1
    behind = [i for i in range(len(sizes)) if sum(sizes[: i + 1]) > taken]
    assert frontiers == (behind if confirms else behind[:1])


def test_a_full_backlog_may_stop_the_run(tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound the run ends with an error; what was told by then is not lost."""
    monkeypatch.setattr(ledger, "MOST_NEW", 1)
    monkeypatch.setattr(channels, "CHANNEL_BOUND", 0)
    given, away = facts(plan, 400), AwaySink()
    with StateDirectory(str(tmp_path)) as store:
        with pytest.raises(ConnectorError, match="too many answers wait for the sinks"):
            go(plan, store, ReplayableSource(given), away, emit="final", restarts=SOON, backlog=Backlog(300, "stop"))
        away.is_away = False
        go(plan, store, ReplayableSource(given), away, emit="final")
    assert sorted(away.answers) == sorted(answers(plan, given, emit="final"))


def test_hypothetical_answers_are_stored_as_they_were(tmp_path: Path) -> None:
    """What a program that asks tells is the same through the disk: evidence, hypotheses, conditions."""
    plan = plan_of(
        "timeline integer. input temp(x, v). hot(X) :- temp(X, V), V >= 80. "
        "malf(X) :- hot(X), diamondminus[1,1] hot(X), not ok(X). input ok(x). ask malf(X)@T."
    )
    given = records(plan, ["temp(a,90)@0", "temp(a,85)@1", "ok(b)@3", "temp(c,99)@9"])
    expected = MemorySink()
    anyio.run(Engine(plan, [MemorySource(given)], [expected], min_evidence=1).run, backend="trio")
    assert expected.hypothetical
    group = Group(7, 3, [*expected.answers, *expected.hypothetical])
    assert unpack_told(pack_told([group])) == [group]


def test_only_the_same_run_goes_on(tmp_path: Path, plan: Plan) -> None:
    """A program that drops state, another lateness, another emit mode: each is told."""
    given = facts(plan)
    with StateDirectory(str(tmp_path)) as store:
        go(plan, store, ReplayableSource(given), MemorySink(), at_end="stop")
        for other, options, message in (
            (plan_of(PROGRAM.partition("quiet")[0]), {}, "by another program .* would lose state: quiet: ended: "),
            (
                plan_of(PROGRAM.replace("V > 22", "V > 23")),
                {},
                r"\(`hot\(X\) :- temp\(X, ?V\), V > 22.` is gone\), and would ",
            ),
            (plan, {"lateness": 5}, "was stored with another `lateness`"),
            (plan, {"emit": "final"}, "was stored with another `emit`: it was intervals, now final: go on with the same"),
            (plan, {"prospects": False}, "was stored with another `prospects`: it was on, now off: go on with the same"),
        ):
            with pytest.raises(SpecError, match=message):
                go(other, store, ReplayableSource(given), MemorySink(), **options)


def test_comments_and_spaces_change_nothing(tmp_path: Path, plan: Plan) -> None:
    """A run goes on, from its snapshot, with a program that says the same."""
    given = facts(plan)
    sinks = [MemorySink(), MemorySink()]
    same = plan_of("% hot pumps\n" + PROGRAM.replace(":- ", ":-   ").replace(".\n", ". % as before\n\n"))
    for program, count, sink in ((plan, 20, sinks[0]), (same, 40, sinks[1])):
        with StateDirectory(str(tmp_path)) as store:
            go(program, store, ReplayableSource(given[:count]), sink, at_end="stop", emit="final")
    expected = MemorySink()
    anyio.run(Engine(plan, [MemorySource(given)], [expected], emit="final", at_end="stop").run, backend="trio")
    assert sorted(sinks[0].answers + sinks[1].answers) == sorted(expected.answers)


def test_a_snapshot_of_an_engine_is_that_of_a_session(plan: Plan) -> None:
    """A session goes on where an engine was."""
    engine = Engine(plan, [MemorySource(facts(plan))], [MemorySink()], at_end="stop")
    anyio.run(engine.run, backend="trio")
    session = Session(plan, sources=["0:memory"])
    session.restore(engine.snapshot())
    assert session.statistics() == engine.statistics()


def test_a_state_that_lies_in_a_folder_within_is_named(tmp_path: Path) -> None:
    """Of a gateway's directory, which has a folder for each program, the message says where the states are."""
    StateDirectory(str(tmp_path / "state/plant")).close()
    with pytest.raises(SpecError, match=r"there is no state in `[^`]*state`; there is one in `[^`]*state/plant`$"):
        StateDirectory(str(tmp_path / "state"), read_only=True)


def test_what_cannot_be_read_again_is_told_after_a_crash(
    tmp_path: Path, plan: Plan, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that goes on says which sources may have lost something; one that was stopped in order says nothing."""
    monkeypatch.setattr(ledger, "MOST_NEW", 1)
    monkeypatch.setattr(channels, "CHANNEL_BOUND", 0)

    def one_by_one() -> MemorySource:
        return MemorySource(facts(plan), batch_size=1)

    for i, (begin, told) in enumerate(((lambda: ReplayableSource(facts(plan)), 0), (one_by_one, 1))):
        with CrashingDirectory(str(tmp_path / str(i))) as store, pytest.raises(CrashError):
            store.crash_at, store.is_after = 2, True
            go(plan, store, begin(), MemorySink(), at_end="stop")
        caplog.clear()
        for _ in range(2):
            with StateDirectory(str(tmp_path / str(i))) as store:
                go(plan, store, begin(), MemorySink(), at_end="stop")
        lost = "what it said after the last commit is lost if the run before was killed; what was answered as stored is kept"
        assert caplog.text.count(f"memory: cannot be read again: {lost}") == told
