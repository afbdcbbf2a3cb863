"""Durable runs: what they answer, how they go on, what they refuse, and what a full outbox does to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from engine.running import BACKENDS, DeadLetterList

import tidelog
from children import WAIT
from crashing import CrashError, CrashingDirectory
from outbox.boxes import PROGRAM, durable, held, opened, run_durably, source, untimed, write_csv
from tidelog import Engine, MemorySink, MemorySource, OperatorError, PushSource
from tidelog.connectors.outbox.outbox import Outbox, OutboxReader
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.connectors.transport.descriptors import Descriptor
from tidelog.operators.metric.dilate import Dilate
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ConnectorError, SnapshotError, SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.stored import is_same_program
from tidelog.runtime.actors.supervision import RestartPolicy
from tidelog.runtime.durable import ledger
from tidelog.runtime.ports import channels
from tidelog.runtime.ports.durability import Backlog, Changes
from tidelog.runtime.ports.interfaces import Batch, Source

TIMES = 500


@pytest.fixture(scope="module")
def plan() -> Plan:
    return tidelog.compile(PROGRAM)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read in small pieces, which end within lines, and each that brings an answer is committed at once."""
    read = Descriptor.read
    monkeypatch.setattr(Descriptor, "read", lambda descriptor: read(descriptor, 4096))
    monkeypatch.setattr(ledger, "MOST_NEW", 1)
    monkeypatch.setattr(channels, "CHANNEL_BOUND", 0)


def crash(plan: Plan, folder: Path, sources: Sequence[Source], at: int, is_after: bool, **options: Any) -> bool:
    """Run until the commit at which it crashes; returns whether it has come to its end before."""
    holds_changes = options.get("emit") == "changes"
    with (
        Outbox(str(folder), plan, holds_changes=holds_changes) as outbox,
        CrashingDirectory(str(folder)) as state,
    ):
        state.crash_at, state.is_after = at, is_after
        try:
            anyio.run(durable(plan, sources, outbox, state, commit_every=1000, **options).run, backend="trio")
        except CrashError:
            return False
        return True


def engine_answers(plan: Plan, sources: Sequence[Source], **options: Any) -> list[Record]:
    sink = MemorySink()
    anyio.run(Engine(plan, sources, [sink], **options).run, backend="trio")
    return [answer for answer in sink.answers if isinstance(answer[1], tuple)]


def as_rows(plan: Plan, answers: Sequence[Record], folder: Path) -> list[tuple[object, ...]]:
    """Answers as an outbox would hold them, in order, without numbers and what depends on the moment."""
    with Outbox(str(folder), plan, holds_changes=isinstance(answers[0], ChangeRecord)) as outbox:
        outbox.append(answers, 0)
        outbox.commit(b"")
    return sorted(map(repr, (row[1:7] for row in held(folder))))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("emit", ["intervals", "final", "changes", "points"])
def test_a_durable_run_answers_as_the_engine_does(tmp_path: Path, plan: Plan, backend: str, emit: Any) -> None:
    """Uninterrupted, an outbox holds what the engine sends to a sink, in each form of answers, on both backends."""
    path = write_csv(tmp_path / "temp.csv", 500)
    letters = DeadLetterList()
    run = run_durably(plan, tmp_path / "box", [source(plan, path)], backend=backend, emit=emit, dead_letters=letters)
    rows = held(tmp_path / "box")
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    expected = engine_answers(plan, [source(plan, path)], emit=emit)
    assert sorted(repr(row[1:7]) for row in rows) == as_rows(plan, expected, tmp_path / "expected")
    assert run.rejected == len(letters.rejected)


@pytest.mark.parametrize("at", [1, 2])
def test_after_a_crash_devices_stand_where_they_stood(tmp_path: Path, plan: Plan, often: None, at: int) -> None:
    """A file with a clock for each sensor, one of them behind: what is late does not depend on where a run was cut."""
    path = tmp_path / "temp.csv"
    lines = [f"{time - 7 * (sensor == 'b')},{sensor},{15 + time % 13}" for time in range(20, 600) for sensor in "abc"]
    path.write_text("\n".join(["time,sensor,value", *lines]))
    spec = f"{path}?predicate=temp&by=sensor"
    golden = run_durably(plan, tmp_path / "golden", [tidelog.open_source(spec, plan.schema)], commit_every=1000)
    assert 0 < golden.statistics().intake.late < 20
    assert not crash(plan, tmp_path / "box", [tidelog.open_source(spec, plan.schema)], at, is_after=True)
    again = run_durably(plan, tmp_path / "box", [tidelog.open_source(spec, plan.schema)], commit_every=1000)
    assert again.statistics().intake == golden.statistics().intake
    assert untimed(held(tmp_path / "box")) == untimed(held(tmp_path / "golden"))


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("emit", ["intervals", "final", "changes", "points"])
def test_after_a_crash_at_any_commit_nothing_is_missing_and_nothing_is_there_twice(
    tmp_path: Path, plan: Plan, often: None, emit: Any
) -> None:
    """Crashed at its n-th commit, before it or right after it, for each n: the outbox is that of a run without a crash."""
    path = write_csv(tmp_path / "temp.csv", 400)
    run_durably(plan, tmp_path / "golden", [source(plan, path)], commit_every=1000, emit=emit)
    golden = untimed(held(tmp_path / "golden"))
    ended = [False, False]
    at = 0
    while not all(ended):
        at += 1
        for is_after in (False, True):
            folder = tmp_path / f"{at}-{is_after}"
            ended[is_after] = crash(plan, folder, [source(plan, path)], at, is_after, emit=emit)
            if not ended[is_after]:
                run_durably(plan, folder, [source(plan, path)], commit_every=1000, emit=emit)
            assert untimed(held(folder)) == golden
    assert at > 4


@pytest.mark.long
@pytest.mark.slow
def test_crash_after_crash(tmp_path: Path, plan: Plan, often: None) -> None:
    """A run that crashes again and again, each time at one of its first commits, comes to the same end."""
    path = write_csv(tmp_path / "temp.csv", 2000)
    run_durably(plan, tmp_path / "golden", [source(plan, path)], commit_every=1000)
    for turn in range(100):
        if crash(plan, tmp_path / "box", [source(plan, path)], 1 + turn % 3, turn % 2 == 0):
            break
    assert turn > 4
    assert untimed(held(tmp_path / "box")) == untimed(held(tmp_path / "golden"))


def test_several_sources_go_on_where_each_of_them_was(tmp_path: Path, plan: Plan, often: None) -> None:
    """Files of different formats and times, in different places when it crashed: each fact counts once, none is late."""
    first = write_csv(tmp_path / "temp.csv", TIMES, seed=1)
    second = tmp_path / "more.facts"
    second.write_text("".join(f"% a comment\ntemp(d,{20 + time % 7})@{time}\n" for time in range(0, TIMES, 2)))
    expected = as_rows(plan, engine_answers(plan, [source(plan, first), source(plan, second)], emit="final"), tmp_path / "e")
    for at in (1, 2, 3):
        folder = tmp_path / str(at)
        assert not crash(plan, folder, [source(plan, first), source(plan, second)], at, False, emit="final")
        run = run_durably(plan, folder, [source(plan, first), source(plan, second)], emit="final")
        assert sorted(repr(row[1:7]) for row in held(folder)) == expected
        assert run.statistics().intake.late == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_run_that_is_stopped_goes_on(tmp_path: Path, plan: Plan, often: None, backend: str) -> None:
    """Stopped in the middle, what was taken is committed, nothing is final before its time, and the rest follows."""
    path = write_csv(tmp_path / "temp.csv", TIMES)
    run_durably(plan, tmp_path / "golden", [source(plan, path)], emit="final")

    async def stop_soon(box: Outbox, state: StateDirectory) -> None:
        stopped = StoppingSource(source(plan, path))
        run = durable(plan, [stopped], box, state, emit="final", commit_every=1000)
        stopped.stop = run.stop
        await run.run()

    for turn in range(3):
        with opened(plan, tmp_path / "box") as ends:
            anyio.run(stop_soon, *ends, backend=backend)
        assert len(held(tmp_path / "box")) > turn
    assert held(tmp_path / "box")[-1].horizon != "inf"
    run_durably(plan, tmp_path / "box", [source(plan, path)], emit="final")
    assert [row[:7] for row in held(tmp_path / "box")] == [row[:7] for row in held(tmp_path / "golden")]


class StoppingSource:
    """A file that stops the run behind its first batch."""

    stop: Any
    is_replayable = True

    def __init__(self, file: Source) -> None:
        self.name, self._file = file.name, file

    def resume(self, position: dict[str, Any]) -> None:
        self._file.resume(position)

    async def __aenter__(self) -> StoppingSource:
        await self._file.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._file.__aexit__(*exc)

    async def receive(self) -> Batch | None:
        batch = await self._file.receive()
        self.stop()
        return batch


def test_a_stream_that_has_ended_stays_so(tmp_path: Path, plan: Plan, caplog: pytest.LogCaptureFixture) -> None:
    """Run again, nothing is added, and it is said; a source that cannot be read again is refused, since it would be lost."""
    path = write_csv(tmp_path / "temp.csv", 50)
    run_durably(plan, tmp_path / "box", [source(plan, path)])
    before = held(tmp_path / "box")
    run_durably(plan, tmp_path / "box", [source(plan, path)])
    assert held(tmp_path / "box") == before
    assert "has ended in an earlier run, and is not read again" in caplog.text
    memory = [MemorySource([("temp", ("a", 1), 0, 0)])]
    run_durably(plan, tmp_path / "other", memory)
    with pytest.raises(SpecError, match="has ended: choose another directory"):
        run_durably(plan, tmp_path / "other", memory)


def test_going_on_needs_the_same_run(tmp_path: Path, plan: Plan, often: None) -> None:
    """Another program, other sources or options, a file that has changed, a damaged checkpoint: each is told."""
    path = write_csv(tmp_path / "temp.csv", TIMES)
    crash(plan, tmp_path / "box", [source(plan, path)], 2, True)
    with pytest.raises(SpecError, match="was filled by another program"):
        run_durably(tidelog.compile(PROGRAM + "spread(X) :- hot(X)."), tmp_path / "box", [source(plan, path)])
    with pytest.raises(SpecError, match=r"was stored with facts from .*temp.csv: go on with the same sources"):
        run_durably(plan, tmp_path / "box", [source(plan, path), MemorySource([])])
    with pytest.raises(SpecError, match=r"was stored with another `emit`|was filled with another"):
        run_durably(plan, tmp_path / "box", [source(plan, path)], emit="final")
    with pytest.raises(SpecError, match="was stored with another `start`"):
        run_durably(plan, tmp_path / "box", [source(plan, path)], start=-1)
    text = path.read_bytes()
    for changed in (text.replace(b"0,a", b"0,d", 1), text[:2000]):
        path.write_bytes(changed)
        with pytest.raises(SnapshotError, match="is not what was read before"):
            run_durably(plan, tmp_path / "box", [source(plan, path)])
    path.write_bytes(text)
    with StateDirectory(str(tmp_path / "box")) as state:
        state.commit(Changes(b"\x00"))
    with pytest.raises(SnapshotError, match="its head is damaged"):
        run_durably(plan, tmp_path / "box", [source(plan, path)])


def test_background_facts_are_part_of_the_program() -> None:
    """A plan with other facts from the beginning is that of another program; one of the same text is not."""
    one, other = "p(X) :- q(X), r(X). r(a).", "p(X) :- q(X), r(X). r(b)."
    assert is_same_program(tidelog.compile(one), tidelog.compile(one))
    assert not is_same_program(tidelog.compile(one), tidelog.compile(other))


@pytest.mark.long
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_full_outbox_holds_back_the_sources(tmp_path: Path, plan: Plan, often: None, backend: str) -> None:
    """Nothing is taken while there is no room: not even a source that could go on for ever is read far ahead."""
    facts = [("temp", ("a", 30), time, time) for time in range(1000)]
    memory = MemorySource(facts, batch_size=1)

    async def main(outbox: Outbox, state: StateDirectory, reader: OutboxReader) -> None:
        run = durable(plan, [memory], outbox, state, commit_every=0, backlog=Backlog(1))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run.run)
            await until(lambda: reader.last() >= 5)
            await anyio.sleep(0.1)
            full = reader.last()
            assert 5 <= full < 12
            reader.acknowledge(full)
            await until(lambda: reader.last() >= full + 5)
            await anyio.sleep(0.1)
            assert reader.last() < full + 12
            run.stop()

    with opened(plan, tmp_path, max_rows=5) as ends, OutboxReader(str(tmp_path)) as reader:
        anyio.run(main, *ends, reader, backend=backend)
        assert sum(1 for _ in memory._rest) > 900


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another thread or process brings about."""
    with anyio.fail_after(WAIT):
        while True:
            if condition():
                return
            await anyio.sleep(0.01)


def test_a_full_outbox_may_stop_the_run(tmp_path: Path, plan: Plan, often: None) -> None:
    """With `full=stop` what was taken is committed, and the run ends with an error; with room it goes on."""
    path = write_csv(tmp_path / "temp.csv", 1000)
    run_durably(plan, tmp_path / "golden", [source(plan, path)])
    taken = []
    for _ in range(100):
        with opened(plan, tmp_path / "box", max_rows=1, full="stop") as ends:
            try:
                anyio.run(durable(plan, [source(plan, path)], *ends).run, backend="trio")
            except ConnectorError as error:
                assert "is full" in str(error)
            else:
                break
        with OutboxReader(str(tmp_path / "box")) as reader:
            taken += reader.read(reader.first() - 1, 10**9)
            reader.acknowledge(reader.last())
    assert len(taken) > 10
    taken += held(tmp_path / "box")
    assert untimed(taken) == untimed(held(tmp_path / "golden"))


def test_a_source_that_fails_costs_nothing_that_was_taken(tmp_path: Path, plan: Plan) -> None:
    """Where a source fails for good, all that was taken of it is committed, and told by the next run."""

    class FailingSource(MemorySource):
        async def receive(self) -> Batch | None:
            batch = await super().receive()
            if batch is None:
                raise OSError("gone")
            return batch

    failing = FailingSource([("temp", ("a", 30), time, time) for time in range(100)])
    with pytest.raises(ConnectorError, match="gone"):
        run_durably(plan, tmp_path, [failing], commit_every=1000, restarts=RestartPolicy(attempts=0))
    run_durably(plan, tmp_path, [MemorySource([])])
    assert sum(row.predicate == "alarm" for row in held(tmp_path)) == 98


@pytest.mark.pure
def test_an_operator_that_fails_commits_nothing_of_its_batch(
    tmp_path: Path, plan: Plan, often: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state between a batch's begin and its end belongs to no position: it is not stored, and the batch comes again."""
    path = write_csv(tmp_path / "temp.csv", TIMES)
    run_durably(plan, tmp_path / "golden", [source(plan, path)])
    calls = 0
    receive = Dilate.receive

    def fail_late(self: Dilate, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise RuntimeError("broken")
        return receive(self, *arguments)

    monkeypatch.setattr(Dilate, "receive", fail_late)
    with pytest.raises(OperatorError, match="broken"):
        run_durably(plan, tmp_path / "box", [source(plan, path)], commit_every=0)
    monkeypatch.setattr(Dilate, "receive", receive)
    run_durably(plan, tmp_path / "box", [source(plan, path)])
    assert untimed(held(tmp_path / "box")) == untimed(held(tmp_path / "golden"))


def test_what_cannot_be_read_again_goes_on_with_what_comes(tmp_path: Path, plan: Plan) -> None:
    """A source without a position is at a new beginning in the next run; the state goes on, so the past still counts."""

    async def push(box: Outbox, state: StateDirectory, times: range) -> None:
        pushed = PushSource()
        run = durable(plan, [pushed], box, state)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run.run)
            await pushed.send(Batch([("temp", ("a", 30), time, time) for time in times]))
            await until(lambda: run.statistics().intake.accepted == times.stop)
            run.stop()

    for times in (range(2), range(2, 4)):
        with opened(plan, tmp_path) as ends:
            anyio.run(push, *ends, times, backend="trio")
    assert [(row.start, row.end) for row in held(tmp_path) if row.predicate == "alarm"] == [("2", "2"), ("3", "3")]


def test_the_programs_own_facts_are_told_once(tmp_path: Path, often: None) -> None:
    """What follows from the program alone is in the first commit, and not told again in a later run."""
    plan = tidelog.compile("timeline integer. fixed(X) :- known(X). known(a). seen(X) :- p(X).")
    path = tmp_path / "p.facts"
    path.write_text("".join(f"p({time})@{time}\n" for time in range(2_000)))
    assert not crash(plan, tmp_path / "box", [source(plan, path)], 3, False)
    run_durably(plan, tmp_path / "box", [source(plan, path)])
    rows = held(tmp_path / "box")
    assert [row.seq for row in rows if row.predicate == "fixed"] == [1]
    assert len(rows) == 2_001
