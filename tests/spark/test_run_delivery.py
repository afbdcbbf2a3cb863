"""What a program on Spark tells leaves it: as lines, as tables, and as what is said beside them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidelog
from tidelog.connectors.lake.places import uri_of
from tidelog.connectors.spark import read_delta
from tidelog.connectors.spark.cluster.queries import run_query
from tidelog.connectors.spark.running.outputs import taken
from tidelog.connectors.spark.running.outputs.delivery import FACTS, LETTERS, VIOLATIONS, Delivery
from tidelog.connectors.spark.running.outputs.folders import RemoteFolder, claim_tables
from tidelog.connectors.spark.running.outputs.taken import AT_ONCE
from tidelog.connectors.spark.running.parcels import COLUMNS, OUT, Parcels
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import Rejected, Told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.slow

PROGRAM = """
timeline rational, unit 1 s, resolution 1.
input temp(sensor: text, value: number).
output hot, 'a b', temp, off.
hot(S, V) :- temp(S, V), V > 2.
'a b'(S) :- temp(S, _).
off :- temp(_, V), V < 0.
"""
TOLD: list[Record] = [
    ("hot", ("s2", 3), 4, 9),
    ("hot", ("s1", 2.5), 4, 8),
    ("a b", ("Ä",), NEG, POS),
    ("temp", ("s1", 2.5), 8, 8),
    ("hot", ("s10", 2.5), 4, 8),
    ("hot", ("s1", 2.5), 0, 8),
]
"""On the timeline of the program 8 is the time 4, and 9 the gap behind it."""
LINES = """\
hot(s1,2.5)@[0,4]
hot(s1,2.5)@[2,4]
hot(s10,2.5)@[2,4]
temp(s1,2.5)@4
hot(s2,3)@[2,5)
'a b'("Ä")@(-inf,inf)
"""

Fill = Callable[[Parcels], None]


class Said:
    """A delivery, and what it says."""

    def __init__(self, sinks: Sequence[str], program: str | Plan = PROGRAM, **options: Any) -> None:
        self.letters: list[Rejected] = []
        self.violations: list[Told] = []
        plan = tidelog.compile(program) if isinstance(program, str) else program
        told = {"on_letters": self.letters.extend, "on_violation": self.violations.append}
        self.delivery = Delivery(plan, sinks, **told, **options)


def frame(spark: SparkSession, *fills: Fill) -> DataFrame:
    """Parcels, each filled in a partition of its own."""
    rows = []
    for fill in fills:
        parcels = Parcels()
        fill(parcels)
        rows += [tuple(row.values()) for row in parcels.take().to_pylist()]
    return spark.createDataFrame(rows, COLUMNS).repartition(len(fills))


def facts(records: Sequence[Record]) -> Fill:
    def fill(parcels: Parcels) -> None:
        for record in records:
            parcels.facts(OUT, 0, [record])

    return fill


def test_lines_in_order(spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Facts go out by end, begin and text, in each format, to standard output and to files."""
    files = [os.fspath(tmp_path / name) for name in ("a.facts", "b.jsonl")]
    said = Said(["facts+-", files[0], f"jsonl+file:{files[1]}"])
    said.delivery.deliver(frame(spark, facts(TOLD[::2]), facts(TOLD[1::2])))
    assert capfd.readouterr().out == LINES
    assert Path(files[0]).read_text("utf-8") == LINES
    assert Path(files[1]).read_text("utf-8").splitlines()[3:5] == [
        '{"predicate":"temp","args":["s1",2.5],"time":4}',
        '{"predicate":"hot","args":["s2",3],"interval":"[2,5)"}',
    ]
    assert said.delivery.counts == {FACTS: 6}


def test_lines_as_iso(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    """With `iso`, times are dates; JSON lines are what standard output gets by default."""
    Said(["-"], iso=True).delivery.deliver(frame(spark, facts(TOLD[3:4])))
    assert capfd.readouterr().out == '{"predicate":"temp","args":["s1",2.5],"time":"1970-01-01T00:00:04Z"}\n'


def test_lines_in_parts(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too much for the driver at once comes in parts, in the same order."""
    monkeypatch.setattr("tidelog.connectors.spark.running.outputs.lines.PART_BYTES", 100_000)
    file = tmp_path / "lines"
    records: list[Record] = [("hot", (f"s{place % 7}", place), 0, 2 * (place * 7919 % 10_007)) for place in range(10_007)]
    Said([os.fspath(file)]).delivery.deliver(frame(spark, facts(records)))
    ends = [int(line.rpartition(",")[2].rstrip("]")) for line in file.read_text().splitlines()[1:]]
    assert ends == list(range(1, 10_007))


def test_no_facts(spark: SparkSession, tmp_path: Path) -> None:
    """Where nothing follows, a file is empty, and each output has an empty table over history."""
    (tmp_path / "lines").write_text("from before\n")
    Said([os.fspath(tmp_path / "lines"), f"parquet:{tmp_path}/tables"]).delivery.deliver(frame(spark, facts([])))
    assert (tmp_path / "lines").read_text() == ""
    assert sorted(each.name for each in (tmp_path / "tables").iterdir()) == ["a b", "hot", "off", "temp"]
    table = spark.read.parquet(uri_of(f"{tmp_path}/tables/off"))
    assert (table.columns[:3], table.count()) == (["arguments", "start", "end"], 0)


def test_what_is_said(spark: SparkSession) -> None:
    """Letters, counts and notes come together; a violation that several buckets have found is told once."""
    letters = [Rejected(f"a:{place}", "it is late", b"\xff") for place in range(2500)]
    first, second = ("bottom :- p.", ("p",), "4", 8, 8), ("bottom :- q.", ("q",), "3", 6, 6)

    def fill(parcels: Parcels) -> None:
        parcels.violations([first, second])
        parcels.count("unused", 2)
        parcels.notes(["it goes on"])

    def fill_more(parcels: Parcels) -> None:
        parcels.letters(letters)
        parcels.violations([first])
        parcels.count("unused", 3)
        parcels.span(0, 0, 9)
        parcels.notes(["it goes on"])

    said = Said(["-"])
    said.delivery.deliver(frame(spark, fill, fill_more))
    assert sorted(said.letters, key=repr) == sorted(letters, key=repr)
    assert said.violations == [second, first]
    assert said.delivery.counts == {"unused": 5, LETTERS: 2500, VIOLATIONS: 2}
    assert list(said.delivery.notes) == ["it goes on"]


def test_tables_of_history(spark: SparkSession, tmp_path: Path) -> None:
    """Each output is a table: with exact times and dates, and a struct where the fields are declared."""
    folder = f"{tmp_path}/new folder"
    Said([f"parquet:{folder}"]).delivery.deliver(frame(spark, facts(TOLD)))
    temp = spark.read.parquet(uri_of(f"{folder}/temp")).collect()
    at = datetime.fromtimestamp(4, UTC).replace(tzinfo=None)
    assert [(row.arguments.asDict(), *row[1:]) for row in temp] == [
        ({"sensor": "s1", "value": 2.5}, "4", "4", at, at, False, False)
    ]
    hot = spark.read.parquet(uri_of(f"{folder}/hot")).orderBy("end", "start", "arguments").collect()
    assert [(row.arguments, row.start, row.end, row.end_open) for row in hot] == [
        (['"s1"', "2.5"], "0", "4", False),
        (['"s1"', "2.5"], "2", "4", False),
        (['"s10"', "2.5"], "2", "4", False),
        (['"s2"', "3"], "2", "5", True),
    ]
    always = spark.read.parquet(uri_of(f"{folder}/a b")).collect()
    assert [tuple(row) for row in always] == [(['"Ä"'], None, None, None, None, True, True)]
    with pytest.raises(SpecError, match="new folder` is not empty: choose another folder"):
        Said([f"parquet:{folder}"])


def test_times_without_a_unit(spark: SparkSession, tmp_path: Path) -> None:
    """Where the program declares no unit, times to compute with are numbers; far dates are as far as Parquet goes."""
    said = Said([f"parquet:{tmp_path}/numbers"], "timeline rational, resolution 1/2.\np(X) :- q(X).")
    said.delivery.deliver(frame(spark, facts([("p", (1,), 1, 10)])))
    [row] = spark.read.parquet(uri_of(f"{tmp_path}/numbers/p")).collect()
    assert tuple(row) == (["1"], "0", "5/2", 0.0, 2.5, True, False)
    said = Said([f"parquet:{tmp_path}/dates"], "timeline integer, unit 1 s.\np(X) :- q(X).")
    said.delivery.deliver(frame(spark, facts([("p", (1,), -62_135_596_800, 253_402_300_799)])))
    [row] = spark.read.parquet(uri_of(f"{tmp_path}/dates/p")).selectExpr("string(start_time)", "string(end_time)").collect()
    assert tuple(row) == ("0001-01-01 00:00:00", "9999-12-31 23:59:59")


def test_a_batch_again(spark: SparkSession, tmp_path: Path) -> None:
    """A stream's batch that is delivered again replaces itself, and its tables hold what it has facts of alone."""
    sink = [f"parquet:{tmp_path}/tables"]
    for batch, told in ((0, TOLD), (1, TOLD[:2]), (1, TOLD[:2]), (2, [])):
        Said(sink, checkpoint="c1").delivery.deliver(frame(spark, facts(told)), batch)
    hot = spark.read.parquet(uri_of(f"{tmp_path}/tables/hot"))
    assert sorted(row.batch for row in hot.collect()) == ["0"] * 4 + ["1"] * 2
    assert sorted(each.name for each in (tmp_path / "tables/temp").iterdir() if each.is_dir()) == ["batch=0"]
    assert not (tmp_path / "tables/off").exists()
    with pytest.raises(SpecError, match="holds something else than tables of this checkpoint"):
        Said(sink, checkpoint="c2")


def test_folders_that_spark_reaches(spark: SparkSession, tmp_path: Path) -> None:
    """A folder with a URI is looked at through Spark: it is one stream's, or has to be empty."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    stream, other = (RemoteFolder(spark, f"file://{tmp_path}/{name}") for name in ("a", "b"))
    claim_tables(stream, "c1")
    claim_tables(stream, "c1")
    claim_tables(other, "")
    (tmp_path / "b/x").touch()
    with pytest.raises(SpecError, match="holds something else than tables of this checkpoint"):
        claim_tables(stream, "c2")
    with pytest.raises(SpecError, match="b` is not empty"):
        claim_tables(other, "")


def test_nobody_reads(spark: SparkSession) -> None:
    """Once nobody reads standard output, the delivery ends, and keeps why."""
    read, write = os.pipe()
    os.close(read)
    before = os.dup(1)
    os.dup2(write, 1)
    said = Said(["-"])
    try:
        with pytest.raises(ConnectorError, match="cannot write to standard output"):
            said.delivery.deliver(frame(spark, facts(TOLD)))
    finally:
        os.dup2(before, 1)
        for descriptor in (write, before):
            os.close(descriptor)
    assert isinstance(said.delivery.failure, ConnectorError)
    assert isinstance(said.delivery.failure.__cause__, BrokenPipeError)


def test_a_batch_that_fails(spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Where a batch cannot be delivered, the query ends with the line that says why, and nothing else is said."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/x").write_text("x\n")

    def deliver(_: DataFrame, batch: int) -> None:
        raise ConnectorError("the disk is full")

    stream = spark.readStream.text(uri_of(f"{tmp_path}/in"))
    writer = stream.writeStream.foreachBatch(deliver).option("checkpointLocation", uri_of(f"{tmp_path}/a checkpoint"))
    with pytest.raises(ConnectorError, match=r"^Spark has given up: the disk is full$"):
        run_query(lambda: writer.trigger(availableNow=True).start(), lambda: False)
    assert (tmp_path / "a checkpoint/offsets").is_dir()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("told", [[], TOLD])
def test_a_batch_is_one_job(spark: SparkSession, tmp_path: Path, told: Sequence[Record]) -> None:
    """For a batch that tells little, Spark runs one job of one stage, whatever tables and lines it goes to."""

    parcels = Parcels()
    parcels.count("rows", 3)
    parcels.letters([Rejected("a:1", "it is late", b"x")])
    facts(told)(parcels)
    rows = [tuple(row.values()) for row in parcels.take().to_pylist()]
    said = Said([f"parquet:{tmp_path}/tables", f"delta:{tmp_path}/delta", "-"], checkpoint="x")
    batch = spark.createDataFrame(rows, COLUMNS).coalesce(1)
    spark.sparkContext.setJobGroup(os.fspath(tmp_path), "a batch that tells little")
    try:
        said.delivery.deliver(batch, 7)
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup(os.fspath(tmp_path))
    found = spark.sparkContext.statusTracker().getJobInfo(jobs[0])
    assert len(jobs) == 1
    assert found is not None
    assert len(found.stageIds) == 1
    assert said.delivery.counts[FACTS] == len(told)


def test_much_goes_as_little_does(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stays with Spark, since it is much, comes out as what is taken at once: lines, tables, and what is said."""

    def fill(parcels: Parcels) -> None:
        facts(TOLD[1:])(parcels)
        parcels.letters([Rejected(f"a:{place}", "it is late", b"x") for place in range(2)])
        parcels.violations([("bottom :- p.", ("p",), "4", 8, 8), ("bottom :- q.", ("q",), "3", 6, 6)])

    found = []
    for number in (AT_ONCE, 1):
        monkeypatch.setattr(taken, "AT_ONCE", number)
        place = tmp_path / str(number)
        place.mkdir()
        said = Said([f"{place}/lines", f"parquet:{place}/tables", f"delta:{place}/delta"], checkpoint="")
        said.delivery.deliver(frame(spark, facts(TOLD[:1]), fill))
        tables = [
            sorted(map(str, spark.read.parquet(uri_of(f"{place}/tables/{name}")).collect()))
            for name in ("a b", "hot", "off", "temp")
        ]
        delta = sorted(map(str, read_delta(spark, f"{place}/delta/hot").collect()))
        letters = sorted(said.letters, key=repr)
        found.append(((place / "lines").read_text(), tables, delta, letters, said.violations, said.delivery.counts))
    assert found[0] == found[1]
    assert found[0][0] == LINES


@pytest.mark.parametrize("left", ["new", "old"])
def test_a_batch_after_a_kill(spark: SparkSession, tmp_path: Path, left: str) -> None:
    """A batch that was cut off while its folder was written, or put in place of the one before, is written as a whole."""
    table = tmp_path / "tables/hot"
    sink = [f"parquet:{tmp_path}/tables"]
    Said(sink, checkpoint="c1").delivery.deliver(frame(spark, facts(TOLD)), 0)
    half = table / ".batch=0.new"
    if left == "new":
        (table / "batch=0").rename(half)
    else:
        half.mkdir()
        (half / "part-00000000.parquet").write_bytes(b"PAR1")
    Said(sink, checkpoint="c1").delivery.deliver(frame(spark, facts(TOLD)), 0)
    assert sorted(each.name for each in table.iterdir()) == ["batch=0"]
    assert spark.read.parquet(uri_of(os.fspath(table))).count() == 4
