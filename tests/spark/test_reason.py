"""`tidelog.spark.reason`: frames of the caller in, frames of answers out, in the caller's session."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas
import pytest
from pyspark.sql import functions as F

import tidelog
from children import WAIT
from tidelog.connectors.spark import spark_session
from tidelog.plans.data.facts import format_record
from tidelog.plans.diagnostics.errors import ProgramError, SpecError
from tidelog.spark import STREAM_SETTINGS, explain, reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROGRAM = """
timeline integer, unit 1 s.
input temp(node: text, value: number).
output hot, mute.
hot(N, V) :- temp(N, V), V > 30.
mute(N) :- diamondminus[0,3] temp(N, _), not diamondminus[0,1] temp(N, _).
"""
COLUMNS = "node string, value double, time long"
READINGS = [(f"n{i % 3}", float(i), i) for i in range(40)]
HOT = "hot(node: text, value: number)"

Reading = tuple[str | None, float, int]


def frame(spark: SparkSession, readings: Sequence[Reading] = READINGS) -> DataFrame:
    return spark.createDataFrame(readings, COLUMNS)


def expected(readings: Sequence[Reading], predicate: str) -> list[str]:
    session = tidelog.Session(tidelog.compile(PROGRAM), emit="final")
    for node, value, time in readings:
        session.push("temp", (str(node), value), time)
    session.finish()
    return sorted(str(answer) for answer in session.pull() if answer.predicate == predicate)


def facts(rows: Sequence[Any], predicate: str, fields: Sequence[str]) -> list[str]:
    """Rows of a table of answers as texts of facts."""
    timeline = tidelog.compile(PROGRAM).timeline
    told = []
    for row in rows:
        values = tuple(
            value if isinstance(value, str) or value % 1 else int(value) for value in (row[name] for name in fields)
        )
        told.append(format_record((predicate, values, int(row.start), int(row.end)), timeline))
    return sorted(told)


def test_a_batch_answers_with_typed_columns(spark: SparkSession) -> None:
    """Declared fields are columns of their types, and the answers are those of one process."""
    told = reason(frame(spark), PROGRAM, output=HOT, buckets=2)
    assert dict(told.dtypes)["value"] == "double"
    assert told.columns == ["node", "value", "start", "end", "start_time", "end_time", "start_open", "end_open"]
    assert facts(told.collect(), "hot", ("node", "value")) == expected(READINGS, "hot")


def test_columns_follow_from_the_rules(spark: SparkSession) -> None:
    """Names and types of what the program does not declare are those of the columns that the values come from."""
    rules = "timeline integer. output top, high. top(N, V) :- temp(N, V), V > 30. "
    rules += "high(N, ok, A) :- top(N, _), A = count() over top(N, _) in [9] by N."
    typed = {}
    for output in ("top(*)", "high(*)"):
        told = reason(frame(spark).selectExpr("node", "int(value) value", "time"), rules, output=output, buckets=1)
        typed[output] = dict(told.dtypes[:3])
    assert typed == {
        "top(*)": {"node": "string", "value": "bigint", "start": "string"},
        "high(*)": {"node": "string", "arg2": "string", "a": "bigint"},
    }
    told = reason(frame(spark), PROGRAM, output="hot(*)", buckets=1)
    assert facts(told.collect(), "hot", ("node", "value")) == expected(READINGS, "hot")
    assert dict(told.dtypes)["value"] == "double"


def test_explain_tells_what_stays_in_spark(spark: SparkSession) -> None:
    """What Spark reads and passes over, and which of its nodes run which steps; the plan of Spark's own has these nodes."""
    rules = "input temp(node: text, value: number). input far_from(node: text). output warm, far. "
    rules += "warm(N) :- temp(N, V), V > 30. far(N) :- warm(N), far_from(N)."
    frames = {"temp": frame(spark).withColumn("other", F.lit(1)), "far_from": frame(spark).select("node", "time")}
    text = explain(frames, rules)
    assert text.splitlines() == [
        "temp: Spark reads node, value, time",
        "  Filter: value > 30, or no fact",
        "  MapInArrow read: Python makes facts of them, which go on in columns",
        "far_from: Spark reads node, time",
        "  Filter: none, since rules may need every row",
        "  MapInArrow read: Python makes facts of them, which go on in columns",
        "stage 1: far_from(K), temp(K, _) -> warm(K), far(K)",
        "  Exchange, Sort, MapInArrow run: Python runs union; join; join on N",
    ]
    own = str(reason(frames, rules)._jdf.queryExecution().executedPlan().toString())
    assert {"MapInArrow read", "MapInArrow run", "Exchange", "Sort", "Filter"} <= set(
        re.findall(r"MapInArrow \w+|[A-Z]\w+", own)
    )
    assert "  Filter: none, since the program needs the first and the last time of all rows" in explain(
        frame(spark), "timeline integer. output up. up(N) :- always temp(N, _) in [3]."
    )


def test_one_table_holds_all_answers_and_each_problem(spark: SparkSession) -> None:
    """A row that is no fact is a row with its reason, and costs no other row."""
    told = reason({"temp": frame(spark, [*READINGS, (None, 1.0, 3)])}, tidelog.compile(PROGRAM), buckets=2).collect()
    assert [row.problem for row in told if row.problem] == ['temp: `node` is null: {"node":null,"value":1.0,"time":3}']
    hot = [f"{row.arguments[0]}@{row.start}" for row in told if row.predicate == "hot"]
    assert sorted(hot) == sorted(f'"{node}"@{time}' for node, value, time in READINGS if value > 30)
    assert {row.predicate for row in told} == {"hot", "mute", None}


def test_a_problem_fails_the_table_of_one_output_unless_it_is_dropped(spark: SparkSession) -> None:
    """By default nothing is lost in silence."""
    bad = frame(spark, [(None, 1.0, 3), ("a", 99.0, 4)])
    with pytest.raises(Exception, match="`node` is null"):
        reason(bad, PROGRAM, output="hot", buckets=1).collect()
    (kept,) = reason(bad, PROGRAM, output="hot", problems="drop", buckets=1).collect()
    assert kept.arguments == ['"a"', "99"]


def test_frames_and_options_that_do_not_fit_are_refused(spark: SparkSession) -> None:
    """Each with its reason, before Spark runs anything."""
    some = frame(spark)
    refused: list[tuple[str, dict[str, Any]]] = [
        ("no predicate `tmp`.*did you mean `temp`", {"data": {"tmp": some}}),
        ("no output `hit`.*did you mean `hot`", {"output": "hit"}),
        ("no frame", {"data": {}}),
        ("expected a DataFrame of PySpark for `temp`, got builtins.list", {"data": {"temp": READINGS}}),
        ("got pandas.*: make one of it with `spark.createDataFrame`", {"data": {"temp": pandas.DataFrame()}}),
        ("frames are named by their predicates, .* got `5`", {"data": {5: some}}),
        ("`program` is a text or a compiled plan, got int", {"program": 5}),
        ("`lateness` is for streams", {"lateness": "5s"}),
        ("`start`: ", {"start": "soon"}),
        ("`buckets` is a positive number", {"buckets": 0}),
        ("`buckets` is a positive number, got '4'", {"buckets": "4"}),
        ("`emit` is `intervals` or `final`", {"emit": "changes"}),
        ("has 2 arguments, and `hot.node: text.` names 1", {"output": "hot(node: text)"}),
        ("field `start` of `hot`", {"output": "hot(start: text, value: number)"}),
        ("`problems` is `fail` or `drop`", {"output": "hot", "problems": "ignore"}),
        ("`x` is no type", {"output": "hot(node: x, value: number)"}),
        ("`output` is text, such as", {"output": 5}),
        ("declares `node` of `hot` as number, which the rules", {"output": "hot(node: number, value: number)"}),
        ("declares `value` of `hot` as boolean, which the rules", {"output": "hot(node: text, value: boolean)"}),
        (r"needs a column `time`.* .declared at <program>:3:1", {"data": {"temp": some.drop("time")}}),
        (r"lacks the field `node` of `temp` .declared at <program>:3:1", {"data": some.withColumnRenamed("node", "nod")}),
        ("`value`, and the column is of type string", {"data": some.withColumn("value", some.node)}),
    ]
    jobs = spark.sparkContext.statusTracker()
    before = jobs.getJobIdsForGroup()
    for message, options in refused:
        with pytest.raises(SpecError, match=message):
            reason(**{"data": some, "program": PROGRAM, **options})
    with pytest.raises(SpecError, match="reads b, c of data: pass a frame for each"):
        reason(some, "output a. a(X) :- b(X), c(X).")
    with pytest.raises(ProgramError, match="<program>:1:6: syntax"):
        reason(some, "hot(X :- ")
    assert jobs.getJobIdsForGroup() == before


def test_what_a_program_reads_and_nobody_passes_is_told(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    """Not refused, since nothing may have come of it yet; one frame is of the one predicate that no rule derives."""
    told = reason(frame(spark), "output up. up(N) :- warm(N). warm(N) :- temp(N, V), V > 36.", output="up(n: text)")
    assert sorted(row.n for row in told.collect()) == ["n0", "n1", "n2"]
    assert caplog.messages == []
    reason({"temp": frame(spark)}, "output a. a(N) :- temp(N, V), not open(N).")
    assert caplog.messages == ["the program also reads `open`, of which there is no frame, and so no fact"]


def test_a_session_that_is_there_stays_as_it_is(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    """It is returned, none of its settings is changed, and which are otherwise than asked for is told."""
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    assert spark_session("other", cores=7, settings={name: "77"}) is spark
    assert spark.conf.get(name) == before
    assert caplog.messages == [f"the session that is there stays as it is: {name}={before}"]


@pytest.fixture
def streaming(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, set up for state."""
    for name, value in STREAM_SETTINGS.items():
        spark.conf.set(name, value)
    yield spark
    for name in STREAM_SETTINGS:
        spark.conf.unset(name)


def test_a_stream_needs_state_in_rocksdb(spark: SparkSession, tmp_path: Path) -> None:
    """A session that is not set up is refused, and told what to set."""
    frame(spark).write.parquet(f"{tmp_path}/in")
    stream = spark.readStream.schema(COLUMNS).parquet(f"{tmp_path}/in")
    with pytest.raises(SpecError, match=r"set `tidelog\.spark\.STREAM_SETTINGS`"):
        reason(stream, PROGRAM)
    with pytest.raises(SpecError, match="some frames are streams and some are not"):
        reason({"temp": stream, "hot": frame(spark)}, PROGRAM)


@pytest.mark.slow
@pytest.mark.long
def test_a_stream_goes_on_at_its_checkpoint(streaming: SparkSession, tmp_path: Path) -> None:
    """Answers of two runs over files that come one after the other are those of one process over all readings."""
    half = len(READINGS) // 2
    last = ("n9", 0.0, 1000)  # so that the watermark passes all other readings
    for number, part in enumerate((READINGS[:half], [*READINGS[half:], last])):
        frame(streaming, part).coalesce(1).write.mode("append").parquet(f"{tmp_path}/in")
        stream = streaming.readStream.schema(COLUMNS).parquet(f"{tmp_path}/in")
        told = reason(stream, PROGRAM, output="mute(node: text)", emit="final", lateness="2s", buckets=4)
        query = (
            told.writeStream.outputMode("append")
            .option("checkpointLocation", f"{tmp_path}/checkpoint")
            .format("parquet")
            .option("path", f"{tmp_path}/out")
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(WAIT), f"run {number} has not ended"
    rows = streaming.read.parquet(f"{tmp_path}/out").collect()
    assert facts(rows, "mute", ("node",)) == [fact for fact in expected([*READINGS, last], "mute") if "n9" not in fact]
