"""A stream on Spark goes on with a changed program: what it tells, what is refused, and what a crash leaves."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from state.changing import KEEP, Memory, half

import tidelog
from crashing import CrashError
from spark.test_run_killed import Told, told
from tidelog.commands.spark.replacing import change_program
from tidelog.commands.spark.start import described, stream_settings
from tidelog.commands.spark.streaming import Streaming
from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.spark.running.changing.checkpoints import Checkpoint
from tidelog.connectors.spark.running.changing.spark_files import SparkFiles
from tidelog.connectors.spark.running.inputs.locations import parse_input
from tidelog.connectors.spark.running.job import job_of
from tidelog.connectors.spark.running.outputs.delivery import Delivery
from tidelog.connectors.spark.running.outputs.folders import LocalFolder
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATENESS = 2
QUIET = {"spark.sql.streaming.noDataMicroBatches.enabled": "true"}
"""What a session has by default, and others of its tests may have changed."""
FIRST = """
timeline integer.
input temp(sensor, celsius).
input open(room).
output hot, silent.
hot(S) :- temp(S, C), C >= 30.
silent(S) :- sometime temp(S, _) in [30], not sometime temp(S, _) in [4].
"""
UNRELATED = (
    FIRST
    + "output aired.\naired(R) :- open(R), diamondminus[1,6] open(R).\nbeside(S) :- temp(S, C), C < 30.\n"
    + ("output beside.\n")
)
LOWER = UNRELATED.replace("C >= 30", "C >= 25")
FEWER = LOWER.replace("output hot, silent.", "output hot.").replace("C >= 25", "C >= 28")
OTHER_KEY = LOWER.replace("hot(S) :- temp(S, C), C >= 25.", "hot(C) :- temp(_, C), temp(s1, C).")


class Stream:
    """Programs one after the other over one folder of facts, with one checkpoint and its tables."""

    def __init__(self, spark: SparkSession, folder: Path, keep: float | None) -> None:
        self._spark, self._folder, self._keep = spark, folder, keep
        (folder / "in").mkdir()
        self._files = 0

    def put(self, lines: Sequence[str]) -> None:
        """Let a file appear."""
        self._files += 1
        (self._folder / "draft").write_text("\n".join(lines), "utf-8")
        (self._folder / "draft").rename(self._folder / "in" / f"{self._files}.txt")

    def run(self, text: str, reload: str | None = None) -> int | None:
        """Start with a program, and go on until all is told that is there; the exit code of a check."""
        plan = tidelog.compile(text)
        job = job_of(plan, 2, keep=self._keep)
        for name, value in {**QUIET, **stream_settings(job, 1), "spark.sql.shuffle.partitions": "1"}.items():
            self._spark.conf.set(name, value)
        inputs = [parse_input(f"facts+file:{self._folder}/in", 0)]
        checkpoint = Checkpoint(LocalFolder(os.fspath(self._folder / "c")), described(job, inputs, LATENESS), job)
        options = Namespace(
            checkpoint=os.fspath(self._folder / "c"), once=True, every=None, files=None, token_file=None, tls_ca=None
        )
        stream = Streaming(self._spark, checkpoint, inputs, LATENESS, options, LocalFolder, lambda: False)
        if checkpoint.has_changed:
            before = checkpoint.before()
            stream.catch_up(before, self._delivery(before.plan, checkpoint))
            if (outcome := change_program(self._spark, checkpoint, stream, before, job, reload)) is not None:
                return outcome
        stream.run(job, self._delivery(plan, checkpoint))
        return None

    def _delivery(self, plan: Plan, checkpoint: Checkpoint) -> Delivery:
        sinks = [f"parquet:{self._folder}/tables"]
        quiet: Callable[[object], None] = lambda _: None  # noqa: E731
        delivery = Delivery(plan, sinks, checkpoint=checkpoint.claim.id, on_letters=quiet, on_violation=quiet)
        delivery.open(self._spark)
        return delivery

    def told(self) -> Told:
        """What the tables hold: how often it is told that a row holds at a time."""
        return told(self._folder / "tables")


def read(text: str, lines: Sequence[str]) -> list[Record]:
    plan = tidelog.compile(text)
    return make_decoder("facts", plan.schema, "lines", None).decode([line.encode() for line in lines], 1).records


def by_a_gateway(steps: Sequence[tuple[str, Sequence[str]]], keep: Any) -> Told:
    """What a run with a state tells that goes from program to program, the facts of each behind those before."""
    store, lines, found = Memory(), [], Told()
    for text, some in steps:
        lines += some
        answers, _ = half(
            tidelog.compile(text), store, read(text, lines), lateness=LATENESS, keep=keep, reload="drop", emit="intervals"
        )
        for name, row, lo, hi in answers:
            found.update((name, f'"{row[0]}"' if isinstance(row[0], str) else str(row[0]), at) for at in range(lo, hi + 1))
    return found


def known(right: Told, change: int) -> set[tuple[str, str, int]]:
    """What is known of it. An input that no rule has read is known from a change on: what follows from open(…) before it, a
    gateway alone knows."""
    return {item for item in right if item[0] != "aired" or item[2] >= change + 6}


def facts(begin: int, end: int) -> list[str]:
    """Readings of three sensors, one of which falls silent in between, and doors that open."""
    heard = (time for time in range(begin, end) if time % 3 or not 4 < time % 20 < 15)
    lines = [f"temp(s{time % 3},{20 + 7 * time % 17})@{time}" for time in heard]
    lines += [f"open(r{time % 2})@{time}" for time in range(begin, end, 3)]
    return sorted(lines, key=lambda line: int(line.rpartition("@")[2]))


@pytest.mark.long
def test_it_tells_what_a_gateway_tells(spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An unrelated rule is added, a threshold changed, an output taken away, and facts come in between and behind.

    With a journal, each is filled; all is told once. Another key is refused by name, and leaves all as it was.
    """
    stream = Stream(spark, tmp_path, 1e6)
    steps = [(FIRST, facts(0, 20)), (LOWER, facts(20, 40)), (FEWER, facts(40, 60))]
    for number, (text, some) in enumerate(steps):
        stream.put(some)
        if number == 2:
            assert stream.run(OTHER_KEY, "check") == 1
            seen = capfd.readouterr()
            assert "hot: changed, and" in seen.out
            assert "beside: new, filled from the journal" in seen.err
            with pytest.raises(
                SpecError, match=r"stored by another program .* would lose state: hot: changed, and .*--reload drop"
            ):
                stream.run(OTHER_KEY)
        stream.run(text, "drop" if text == FEWER else None)
    right = by_a_gateway(steps, KEEP)
    found = stream.told()
    assert set(found.values()) == {1}
    assert {*found} == known(right, 20)
    said = capfd.readouterr().err
    assert "hot: changed, filled from the journal" in said
    assert "silent: ended: " in said
    assert {name for name, *_ in found} == {"hot", "silent", "aired", "beside"}


@pytest.mark.long
def test_what_columns_had_not_told_reaches_the_next_stage(spark: SparkSession, tmp_path: Path) -> None:
    """Behind a change stages go on row by row. What the first one has to say at once is told to the second, too."""
    text = "input on(x).\ninput off(x).\ninput at(x, place).\noutput seen.\nkept(X) :- not off(X) since on(X).\n"
    text = (
        f"timeline integer.\n{text}used(P) :- kept(X), diamondminus[0,9] at(X, P).\nseen(P) :- diamondminus[0,3] used(P).\n"
    )
    stream = Stream(spark, tmp_path, None)
    stream.put(["on(k)@1", "at(k,b)@2", "at(k,b)@3"])
    stream.run(text)
    stream.put(["on(k)@20", "on(k)@40"])
    stream.run(f"{text}output other.\nother(X) :- on(X).\n")
    found = stream.told()
    assert set(found.values()) == {1}
    assert {at for name, _, at in found if name == "seen"} == {*range(2, 16)}


@pytest.mark.long
def test_a_crash_in_the_midst_of_a_change(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it is cut off, the next start goes on: nothing is lost, nothing told twice, and before the change is stored
    the program before still can."""
    stream = Stream(spark, tmp_path, 1e6)
    stream.put(facts(0, 20))
    stream.run(FIRST)
    stream.put(facts(20, 30))

    def crash(place: type, name: str, *, behind: bool = False) -> None:
        real = getattr(place, name)

        def crashing(self: Any, *given: Any, **named: Any) -> None:
            if behind:
                real(self, *given, **named)
            raise CrashError

        with monkeypatch.context() as patched:
            patched.setattr(place, name, crashing)
            with pytest.raises(CrashError):
                stream.run(LOWER)

    crash(Checkpoint, "begin")
    stream.run(FIRST)
    stream.put(facts(30, 40))
    crash(Checkpoint, "begin", behind=True)
    crash(SparkFiles, "go_on_behind")
    crash(SparkFiles, "go_on_behind", behind=True)
    stream.run(LOWER)
    found = stream.told()
    assert {*found} == known(by_a_gateway([(FIRST, facts(0, 30)), (LOWER, facts(30, 40))], KEEP), 30)
    assert set(found.values()) == {1}
    assert not (tmp_path / "c/offsets").exists()
