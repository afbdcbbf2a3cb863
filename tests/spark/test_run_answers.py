"""A program on Spark answers as it does in one process: over history, and over a stream, also after a restart."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import tidelog
from oracle.agreement import records_of, runs_of
from oracle.programs import NON_RECURSIVE, programs, streams
from tidelog.connectors.files.batch_files import BatchLoader
from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.spark.cluster.requirements import STREAM_SETTINGS
from tidelog.connectors.spark.running.column_routes import ColumnRoutes
from tidelog.connectors.spark.running.history import run_history
from tidelog.connectors.spark.running.inputs.inputs import parse_input, read_input
from tidelog.connectors.spark.running.job import Job, job_of
from tidelog.connectors.spark.running.outputs.delivery import Delivery
from tidelog.connectors.spark.running.outputs.folders import LocalFolder
from tidelog.connectors.spark.running.parcels import (
    FACT,
    LETTER,
    NOTE,
    VIOLATION,
    Parcels,
    Routes,
    facts_of,
    letter_of,
    needs_places,
    violation_of,
)
from tidelog.connectors.spark.running.reached import Reached
from tidelog.connectors.spark.running.stream import run_stream
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record, format_atom, format_record
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.stages import stages_of
from tidelog.plans.tree.syntax import Program
from tidelog.runtime.columns.stages.flow import open_flow
from tidelog.runtime.columns.stages.staged import open_history
from tidelog.runtime.frames.columns import Pool, batch_of
from tidelog.runtime.ports.interfaces import Batch, StageMode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"


def answers_of(rows: Iterable[Row]) -> list[Record]:
    return facts_of(bytes(row.row) for row in rows if row.kind == FACT)


def texts(records: Iterable[Record], plan: Plan) -> list[str]:
    return sorted(format_record(record, plan.timeline) for record in records)


def in_one_process(plan: Plan, records: Iterable[Record], emit: StageMode = "final") -> list[Record]:
    session = tidelog.Session(plan, emit=emit)
    session.push_records(sorted(records, key=lambda record: record[2]))
    session.finish()
    return session.pull_records()


# --- history ------------------------------------------------------------------------------------------------------------


def loaded(plan: Plan, specs: Sequence[str]) -> list[Record]:
    loader = BatchLoader(plan.schema)
    for spec in specs:
        loader.load(spec)
    return list(loader.drain())


SIGNALS = (EXAMPLES / "network" / "signals.txt").read_text("utf-8").splitlines()
COOLING = [f"temp({value})@{time}" for time, value in enumerate([102, 120, 151, 99, 7, 40, 100, 5, 5, 5, 101, 130], 4)]
STOPS = [f"{name}(v{(7 * time + place) % 9})@{time}" for time in range(90) for place, name in enumerate(("Pos", "NotOnMap"))]
GATEWAY = [
    *(f"temp(m{time % 3},{70 + time % 40})@{time}/2" for time in range(0, 600, 3)),
    *(f"fan(m{time % 2})@{time}" for time in range(0, 300, 37)),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "facts"),
    [
        ("weather/weather.tide", None),
        ("network/network.tide", SIGNALS),
        ("cooling/cooling.tide", COOLING),
        ("shortstop/shortstop.tide", STOPS),
        ("gateway/gateway.tide", GATEWAY),
    ],
    ids=["weather", "network", "cooling", "shortstop", "gateway"],
)
def test_examples_over_history(spark: SparkSession, tmp_path: Path, example: str, facts: list[str] | None) -> None:
    """Whatever the program has (keys and none, background, recursion, clipped windows, negation), it answers the same."""
    plan = tidelog.compile_path(EXAMPLES / example)
    specs = [f"{EXAMPLES}/weather/{city}.csv?predicate=temp" for city in ("sf", "sea")]
    if facts is not None:
        file = tmp_path / "facts.txt"
        file.write_text("\n".join(facts), "utf-8")
        specs = [os.fspath(file)]
    job = job_of(plan, 3, emit="final")
    inputs = [read_input(spark, parse_input(spec, number), job, streaming=False) for number, spec in enumerate(specs)]
    rows = run_history(inputs, job, open_history).collect()
    expected = in_one_process(plan, loaded(plan, specs))
    assert expected
    assert texts(answers_of(rows), plan) == texts(expected, plan)


@pytest.mark.slow
def test_changes_over_history(spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each interval begins and ends, in the order of time, whichever bucket it is from: the lines of one process, sorted."""
    plan = tidelog.compile_path(EXAMPLES / "gateway/gateway.tide")
    file = tmp_path / "facts.txt"
    file.write_text("\n".join(GATEWAY), "utf-8")
    job = job_of(plan, 3, emit="changes")
    inputs = [read_input(spark, parse_input(os.fspath(file), 0), job, streaming=False)]
    delivery = Delivery(plan, ["facts+-"], emit="changes", on_letters=lambda _: None, on_violation=lambda _: None)
    delivery.deliver(run_history(inputs, job, open_history))
    found = capfd.readouterr().out.splitlines()
    expected = [
        plan.answer(record)
        for record in sorted(
            in_one_process(plan, loaded(plan, [os.fspath(file)]), "changes"),
            key=lambda change: (change.order, format_atom(*change[:2])),
        )
    ]
    assert any(line.endswith("..") for line in found)
    assert found == [str(change) for change in expected]


def parcels_of(job: Job, records: Sequence[Record], *, in_columns: bool = False) -> pa.Table:
    """What an input makes of these facts: rows, or columns for all but every third, where their order does not matter."""
    parcels, routes, pool = Parcels(), Routes(job.stages, job.buckets), Pool()
    columns = records if in_columns and not needs_places(job.stages) else []
    routes.send_all(None, [record for i, record in enumerate(records) if not columns or i % 3 == 0], parcels)
    column_routes = ColumnRoutes(job.stages, job.buckets, pool)
    for name, *fact in (record for i, record in enumerate(columns) if i % 3):
        column_routes.send(None, name, batch_of([tuple(fact)], len(fact[0]), pool))
    column_routes.drain(parcels)
    if records:
        parcels.span(0, min(record[2] for record in records), max(record[2] for record in records))
    return pa.Table.from_batches([parcels.take()])


COUNTED = """
timeline integer.
input temp(sensor, value).
input zone(sensor, zone).
output mean, kept, busy, quiet.
mean(S, A) :- A = avg(V) over temp(S, V) in [5] by S.
kept(S, V) :- latest temp(S, V) by S in [4].
warm(S) :- mean(S, A), A > 30.
busy(Z) :- N = count() over (warm(S), zone(S, Z)) in [3] by Z, N >= 5.
quiet(Z) :- zone(_, Z), not busy(Z).
"""
"""Aggregates and held values by one key, and, in a later stage, by another."""


@pytest.mark.slow
@pytest.mark.parametrize("emit", ["final", "changes"])
def test_what_is_counted_and_held_over_history(spark: SparkSession, emit: StageMode) -> None:
    """Aggregates and held values in several stages are what they are in one process, in either form."""
    plan = tidelog.compile(COUNTED)
    records: list[Record] = [("temp", (f"s{n % 6}", n * 37 % 53), n // 4, n // 4) for n in range(240) if n % 11]
    records += [("zone", (f"s{n}", f"z{n % 2}"), 0, 90) for n in range(6)]
    job = job_of(plan, 3, emit=emit)
    assert len(job.stages) > 1
    rows = run_history([spark.createDataFrame(parcels_of(job, records))], job, open_history).collect()
    expected = in_one_process(plan, records, emit)
    assert sorted(answers_of(rows)) == sorted(tuple(record) for record in expected)
    assert {record[0] for record in expected} == {"mean", "kept", "busy", "quiet"}


@pytest.mark.slow
@given(program=programs("rational", NON_RECURSIVE), data=st.data())
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_program_over_history(spark: SparkSession, program: Program, data: st.DataObject) -> None:
    """Programs as they come, with facts as they come: answers and violations are those of one session."""
    try:
        plan = compile_program(program)
    except ProgramError:
        assume(False)
        raise
    assume(not stages_of(plan).problems)
    records = records_of(plan, data.draw(streams(program, last=6)))
    job = job_of(plan, 2)
    given = parcels_of(job, records, in_columns=data.draw(st.booleans()))
    rows = run_history([spark.createDataFrame(given)], job, open_history).collect()
    session = tidelog.Session(plan, lateness=math.inf)
    session.push_records(records)
    session.finish()
    assert runs_of(answers_of(rows)) == runs_of(session.pull_records())
    violated = {violation_of(row.row, row.lo, row.hi)[:2] for row in rows if row.kind == VIOLATION}
    assert violated == {(found.rule, found.facts) for found in session.pull_violations()}


def drawn(*facts: tuple[str, int, int]) -> list[str]:
    """For each predicate, its arity and how many: facts at random."""
    draw = random.Random(3)
    found = []
    for name, arity, number in facts:
        for _ in range(number):
            row = ",".join(str(draw.randrange(4)) for _ in range(arity))
            found.append(f"{name}({row})@{draw.randrange(60)}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            """timeline rational. input s(x,y). input q(x,y). m(Y) :- s(X,Y), not q(X,Y). a(X) :- m(X).
            a(X) :- diamondminus[5,5] a(X). b(X,Y) :- a(X), diamondplus[0,3] q(Y,X), q(X,Y).""",
            drawn(("s", 2, 4), ("q", 2, 60)),
        ),
        (
            """timeline integer. input s(x,y). w(X,T) :- s(X,Y)@T in [5]. v(Y,T) :- w(X,T), s(X,Y).
            u(Y) :- not v(Y,_), s(_,Y). z(Y) :- always v(Y,_) in [3].""",
            drawn(("s", 2, 60)),
        ),
        (
            """timeline integer. input s(x,y). input e(x). w(X) :- s(X,Y) in [#3 of s].
            y(Y) :- w(X), s(X,Y), not e(Y).""",
            drawn(("s", 2, 60), ("e", 1, 20)),
        ),
        (
            """timeline rational. input s(x,y). boxplus[0,20] m(Y) :- s(X,Y). n(X) :- s(X,Y), boxplus[1,4] m(Y).
            k(Y) :- boxminus[0,3] m(Y), not n(Y).""",
            drawn(("s", 2, 60)),
        ),
    ],
    ids=["recursion without an end", "times as values", "the last facts", "rows that move between keys"],
)
def test_what_needs_to_know_of_all_time_or_order(spark: SparkSession, tmp_path: Path, text: str, facts: list[str]) -> None:
    """What follows the stream to its end, and no further; what counts facts as they come; answers far ahead of the facts."""
    plan = tidelog.compile(text)
    lines = sorted(facts, key=lambda fact: int(fact.partition("@")[2]))
    (tmp_path / "facts.txt").write_text("\n".join(lines), "utf-8")
    job = job_of(plan, 3, emit="final")
    spec = parse_input(os.fspath(tmp_path / "facts.txt"), 0)
    rows = run_history([read_input(spark, spec, job, streaming=False)], job, open_history).collect()
    records = [record for line in lines for record in read(plan, line)]
    session = tidelog.Session(plan, emit="final")
    session.push_records(records)
    session.finish()
    assert texts(answers_of(rows), plan) == texts(session.pull_records(), plan) != []
    assert {row.name for row in rows if row.kind == NOTE} == set(session.unfinished())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("timeline rational. a(X) :- always p(X) in [2].", ["p(1)@(1,9]"]),
        (
            "timeline integer. input q(x). a(X) :- always q(X) in [4]. b(X) :- q(X), not a(X).",
            ["q(2)@(-inf,3]", "q(1)@[0,9]", "q(3)@[1,9]"],
        ),
        (
            "timeline rational, resolution 1. input q. input r. boxplus[1,1] a :- a. a :- q. b :- r, a.",
            ["q@0", "r@(2,5)"],
        ),
    ],
    ids=["in a gap", "never", "and ends in a gap"],
)
def test_where_the_stream_starts(spark: SparkSession, text: str, facts: list[str]) -> None:
    """Behind a time that is excluded, or nowhere: all buckets agree with one process."""
    plan = tidelog.compile(text)
    records = [record for fact in facts for record in read(plan, fact)]
    job = job_of(plan, 5, emit="final")
    rows = run_history([spark.createDataFrame(parcels_of(job, records))], job, open_history).collect()
    assert texts(answers_of(rows), plan) == texts(in_one_process(plan, records), plan) != []


def read(plan: Plan, fact: str) -> list[Record]:
    return make_decoder("facts", plan.schema, "facts", None).decode([fact.encode()], 1).records


# --- streams ------------------------------------------------------------------------------------------------------------

MOVING = """
    timeline integer.
    input a(x, y).
    input e(x).
    known(1). known(2). known(9).
    b(Y) :- a(X, Y), diamondminus[0,3] a(X, Y).
    c(X, Y) :- a(X, Y), not d(X) in [3].
    d(X) :- sometime a(X, _) in [5], e(X).
    f(Y) :- b(Y), not c(Y, Y).
    silent(X) :- known(X), not diamondminus[0,4] e(X).
    bottom :- b(1), e(1).
"""


class Stream:
    """A program over two folders of files, started and stopped, and what it tells."""

    def __init__(self, spark: SparkSession, folder: Path, plan: Plan, lateness: int, emit: StageMode) -> None:
        self._spark, self._folder, self._plan, self._lateness = spark, folder, plan, lateness
        self._job = job_of(plan, 3, emit=emit)
        self._files = 0
        self.answers: list[Record] = []
        self.letters: list[str] = []
        self.violated: set[tuple[str, ...]] = set()
        for number in range(2):
            (folder / f"in{number}").mkdir()
        for key, value in {**STREAM_SETTINGS, "spark.sql.shuffle.partitions": "1"}.items():
            spark.conf.set(key, value)

    def run(self, files: Sequence[Sequence[Sequence[str]]]) -> None:
        """Start where the last run stopped, and take these files, those of both folders together."""
        checkpoint = os.fspath(self._folder / "checkpoint")
        reached = Reached(checkpoint, LocalFolder)
        parcels = []
        for number in range(2):
            spec = parse_input(f"facts+file:{self._folder}/in{number}", number)
            found = read_input(self._spark, spec, self._job, streaming=True)
            parcels.append(found.unionAll(reached.tell(self._spark, number)))
        told = run_stream(parcels, self._job, open_flow, self._lateness)
        delivery = Delivery(self._plan, [], checkpoint="c", on_letters=lambda _: None, on_violation=lambda _: None)

        def take(batch: DataFrame, number: int) -> None:
            self._take(batch)
            delivery.deliver(batch, number)
            reached.remember(delivery.reached)

        query = told.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint).start()
        try:
            for together in files:
                self._put(together)
                query.processAllAvailable()
        finally:
            query.stop()

    def _put(self, together: Sequence[Sequence[str]]) -> None:
        self._files += 1
        for number, lines in enumerate(together):
            if lines:
                draft = self._folder / "draft"
                draft.write_text("\n".join(lines), "utf-8")
                draft.rename(self._folder / f"in{number}" / f"{self._files}.txt")

    def _take(self, parcels: DataFrame) -> None:
        rows = parcels.collect()
        self.answers += answers_of(rows)
        self.letters += [letter_of(row.row).raw.decode() for row in rows if row.kind == LETTER]
        self.violated |= {violation_of(row.row, row.lo, row.hi)[1] for row in rows if row.kind == VIOLATION}


@pytest.mark.long
@pytest.mark.parametrize("emit", ["final", "changes"])
def test_a_stream_goes_on_from_its_checkpoint(spark: SparkSession, tmp_path: Path, emit: StageMode) -> None:
    """Several stages and inputs, facts out of order within the lateness, a restart: the answers are those of one process.

    A key of which nothing comes any more, or never did, learns of time as the others do. An input that says nothing after
    the restart counts as it stood before. What is late is told.
    """
    plan = tidelog.compile(MOVING)
    several = [f"a({time % 5},{time * time % 7})@{time - time % 4}" for time in range(4, 80)]
    single = [f"e({time % 3})@{time}" for time in range(0, 80, 5)]
    stream = Stream(spark, tmp_path, plan, 4, emit)
    stream.run([(several, single[:8])])
    stream.run([((), single[8:]), ((), ["e(1)@3"])])
    session = tidelog.Session(plan, emit=emit, lateness=4, sources=("a", "e"))
    for source, facts in (("a", several), ("e", single)):
        assert not session.take(source, Batch([record for fact in facts for record in read(plan, fact)]))
    assert texts(stream.answers, plan) == texts(session.pull_records(), plan)
    assert {name for name, *_ in stream.answers} >= {"b", "c", "d", "f"}
    assert max(lo for _, _, lo, _ in stream.answers) > 60
    assert stream.letters == ["e(1)@3"]
    assert stream.violated == {found.facts for found in session.pull_violations()} != set()
