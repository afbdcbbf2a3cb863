"""What a stage of a stream reads and writes of its state, beside Spark: a handle that counts."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from pyspark.sql import Row

import tidelog
from tidelog.connectors.spark.running.clock import ORIGIN, Clock
from tidelog.connectors.spark.running.job import Job, job_of, stream_buckets
from tidelog.connectors.spark.running.kept_state import unpack_state
from tidelog.connectors.spark.running.parcels import COUNT, FACT, LETTER, Parcels, Routes, facts_of, letter_of
from tidelog.connectors.spark.running.stream import StageProcessor, needs_quiet_batches, works_from_the_start
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG
from tidelog.runtime.ports.interfaces import StageMode
from tidelog.runtime.sessions.staged import open_stage

SILENT = """
timeline integer.
input temp(device, level).
output silent.
seen(X) :- sometime temp(X, _) in [1000].
silent(X) :- seen(X), not sometime temp(X, _) in [30].
"""
BOTH_ENDS = """
timeline integer.
input temp(device, room, celsius).
input seen(name).
output hot, cold.
hot(X) :- temp(X, _, C), C > 30, sometime seen(X) in [5].
cold(R) :- temp(_, R, C), C < 32, sometime seen(R) in [5].
"""
KNOWN = SILENT.replace("seen(X) :- sometime temp(X, _) in [1000].", "seen(wt1). seen(wt2).")


class Kept:
    """One group's state, what of it was read and written, and its timers."""

    def __init__(self) -> None:
        self.sessions: dict[int, bytes] = {}
        self.dues: tuple[bytes, int] | None = None
        self.timers: set[int] = set()
        self.read: list[int] = []
        self.written: list[int] = []
        self.noted = 0

    # as Spark's handle, with a map and a value in one

    def getMapState(self, *_: object) -> Kept:
        return self

    getValueState = getMapState

    def getValue(self, key: tuple[int]) -> tuple[bytes] | None:
        self.read.append(key[0])
        return (self.sessions[key[0]],) if key[0] in self.sessions else None

    def updateValue(self, key: tuple[int], value: tuple[bytes]) -> None:
        self.written.append(key[0])
        self.sessions[key[0]] = value[0]

    def get(self) -> tuple[bytes, int] | None:
        return self.dues

    def update(self, value: tuple[bytes, int]) -> None:
        self.noted += 1
        self.dues = value

    def registerTimer(self, at: int) -> None:
        self.timers.add(at)

    def deleteTimer(self, at: int) -> None:
        self.timers.remove(at)


class Now:
    """Spark's watermark."""

    def __init__(self, job: Job, watermark: int | None) -> None:
        found = None if watermark is None else Clock.of(job.plan.timeline).reaches(watermark)
        self.milliseconds = 0 if found is None else found

    def getCurrentWatermarkInMs(self) -> int:
        return self.milliseconds


class Group:
    """A stage of a program as Spark runs it, all buckets in one group."""

    def __init__(self, text: str, buckets: int, stage: int = 1) -> None:
        self.job = job_of(tidelog.compile(text), buckets, emit="final")
        self.kept = Kept()
        self._number = stage
        self._processor = StageProcessor(self.job, stage, open_stage)
        self._processor.init(self.kept)
        if works_from_the_start(self.job.stages[stage - 1]):
            self._processor.handleInitialState((0,), None, Now(self.job, None))

    def batch(self, facts: Iterable[Record], watermark: int | None) -> list[Row]:
        """A batch with these facts, which begins at this watermark: what comes out but counts."""
        self.kept.read, self.kept.written, self.kept.noted = [], [], 0
        now, parcels = Now(self.job, watermark), Parcels()
        Routes(self.job.stages, self.job.buckets).send_all(None, list(facts), parcels)
        rows = [Row(**row) for row in parcels.take().to_pylist() if row["stage"] == self._number]
        out = list(self._processor.handleInputRows((0,), iter(rows), now)) if rows else []
        for at in sorted(self.kept.timers):
            if at <= now.milliseconds and at in self.kept.timers:
                self.kept.timers.remove(at)
                out += self._processor.handleExpiredTimer((0,), now, None)
        return [row for row in out if row["kind"] != COUNT]


def told(rows: Iterable[Row]) -> list[Record]:
    return facts_of(row["row"] for row in rows if row["kind"] == FACT)


def temp(*devices: str, time: int) -> list[Record]:
    return [("temp", (device, "low"), time, time) for device in devices]


def test_a_batch_touches_what_it_has_facts_of() -> None:
    """Whatever is remembered, the buckets of a batch's facts alone are read and written."""
    group = Group(SILENT, 64)
    group.batch(temp(*(f"wt{i}" for i in range(1000)), time=1), None)
    assert len(group.kept.written) == 64
    group.batch(temp("wt7", time=2), 0)
    assert len(group.kept.read) == len(group.kept.written) == 1


def test_a_moment_at_which_nothing_is_due_costs_nothing() -> None:
    """The watermark moves: no timer before a deadline, at which the bucket that is due is woken, and no other."""
    group = Group(SILENT, 64)
    group.batch([*temp("wt1", time=1), *temp("wt2", time=2)], None)
    assert group.batch([], 2) == []  # the first watermark decides what the first facts leave open
    for watermark in (10, 20, 29):
        assert (group.batch([], watermark), group.kept.read, group.kept.noted) == ([], [], 0)
    assert (group.batch([], 40), len(group.kept.read)) == ([], 2)  # both have begun to be silent, and go on
    assert (group.batch([], 45), group.kept.read) == ([], [])
    assert told(group.batch(temp("wt1", time=47), 46)) == []
    assert told(group.batch([], 47)) == [("silent", ("wt1",), 32, 46)]
    assert len(group.kept.read) == 1


def test_what_is_late_does_not_depend_on_what_sleeps() -> None:
    """A fact at or before the batch's watermark is late, though its bucket was never told of it; behind it none is."""
    group = Group(SILENT, 4)
    group.batch(temp("wt1", time=1), None)
    rows = group.batch([*temp("wt1", time=20), *temp("wt1", time=21), *temp("wt2", time=3)], 20)
    letters = [letter_of(row["row"]) for row in rows if row["kind"] == LETTER]
    assert sorted(letter.raw.decode() for letter in letters) == ["temp(wt1,low)@20", "temp(wt2,low)@3"]
    assert {letter.reason for letter in letters} == {"late: facts before 21 can no longer come"}


def test_what_is_late_is_told_by_one_of_the_stages_that_get_it() -> None:
    """By the first of them to which it goes: not by one whose rules pass over it, and not by two."""
    late = [("temp", ("wt1", "hall", celsius), 3, 3) for celsius in (7, 31, 40)]
    told_by = {}
    for stage in (1, 2):
        group = Group(BOTH_ENDS, 4, stage)
        assert len(group.job.stages) == 2
        letters = [letter_of(row["row"]) for row in group.batch(late, 20) if row["kind"] == LETTER]
        told_by[stage] = {letter.raw.decode() for letter in letters}
    assert not told_by[1] & told_by[2]
    assert told_by[1] | told_by[2] == {f"temp(wt1,hall,{celsius})@3" for celsius in (7, 31, 40)}


def test_what_is_known_without_facts_is_told() -> None:
    """Where something may follow though no fact ever comes, buckets work from the first watermark on."""
    group = Group(KNOWN, 4)
    assert group.kept.timers == {1}
    assert told(group.batch([], 5)) == []
    assert told(group.batch(temp("wt1", time=6), 5)) == []
    assert told(group.batch([], 9)) == [("silent", ("wt1",), NEG, 5)]


def test_a_task_that_is_tried_again_gives_the_same() -> None:
    """All that a batch rests on is Spark's state: run again from what it was, it tells the same and keeps the same."""
    group = Group(SILENT, 8)
    group.batch(temp("wt1", "wt2", time=1), None)
    before = dict(group.kept.sessions), group.kept.dues, set(group.kept.timers)
    first = group.batch(temp("wt1", time=50), 45), dict(group.kept.sessions), group.kept.dues
    group.kept.sessions, group.kept.dues, group.kept.timers = dict(before[0]), before[1], set(before[2])
    again = group.batch(temp("wt1", time=50), 45), dict(group.kept.sessions), group.kept.dues
    assert first == again


@pytest.mark.parametrize("steps", [1, 200])
def test_buckets_follow_from_what_a_session_costs(steps: int) -> None:
    """A stream has 512 buckets, and fewer where a program is large; in columns 32."""
    rules = "timeline integer.\n" + "".join(f"a{i}(X) :- p(X, {i}).\n" for i in range(steps))
    assert stream_buckets(tidelog.compile(rules)) == 32
    buckets = stream_buckets(tidelog.compile(f"{rules} b(X) :- p(X, _). b(X)@T+1 :- b(X)@T, p(X, _)@T."))
    assert (buckets == 512) == (steps == 1)
    assert buckets >= 32


def test_reaches_is_the_first_that_is_not_before() -> None:
    """A deadline in Spark's time: one less would be too early."""
    clock = Clock.of(tidelog.compile("timeline rational, unit 1 s. p :- q.").timeline)
    for watermark in (-7, 0, 1, 2, 999_999, 10**12 + 1):
        at = clock.reaches(watermark)
        assert at is not None
        assert (clock.watermark(at) or 0) >= watermark > (clock.watermark(at - 1) or 0)
    assert clock.reaches(clock.limit + 1) is None
    assert clock.reaches(-(ORIGIN**2)) == 1


def test_large_snapshots_are_compressed() -> None:
    """What a bucket remembers is stored in fewer bytes, and what an older version stored as it was is still read."""
    devices = [f"wt{i:04}" for i in range(1000)]
    packed, plain = Group(SILENT, 1), Group(SILENT, 1)
    for group in (packed, plain):
        group.batch(temp(*devices, time=1), None)
    stored = packed.kept.sessions[0]
    plain.kept.sessions[0] = unpack_state(stored)
    assert len(stored) < len(plain.kept.sessions[0]) // 4
    answers = [told(group.batch(temp("wt0007", time=1500), 1400)) for group in (packed, plain)]
    assert len(answers[0]) == len(devices)
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("text", "emit", "needs"),
    [(BOTH_ENDS, "intervals", False), (BOTH_ENDS, "final", True), (SILENT, "intervals", True), (KNOWN, "intervals", True)],
)
def test_batches_without_facts(text: str, emit: StageMode, *, needs: bool) -> None:
    """They are run where an absence, the end of an interval or the start of the stream may have something to tell."""
    assert needs_quiet_batches(job_of(tidelog.compile(text), 8, emit=emit), open_stage) is needs
