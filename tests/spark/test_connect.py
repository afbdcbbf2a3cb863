"""Spark Connect: what works by frames alone works with it, and all else is refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from children import WAIT
from spark.cluster import COMPILED, bare_python, install_tidelog
from spark.conftest import Fill
from spark.connect import server
from spark.test_reason import COLUMNS, HOT, PROGRAM, READINGS, expected, facts
from tidelog.connectors.spark import register, spark_session
from tidelog.connectors.spark.cluster.connect import is_connect
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from tidelog.spark import STREAM_SETTINGS, reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LAST = ("n9", 0.0, 1000)
"""A reading with which the watermark passes all others."""


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a server, and the folder of the Python of its workers, which have no tidelog."""
    folder = tmp_path_factory.mktemp("connect")
    python = bare_python(folder / "python", COMPILED)
    with pytest.MonkeyPatch.context() as patch, server(folder, python) as address:
        patch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")  # as in a process that has no other session
        yield address, folder / "python"


@pytest.fixture(scope="module")
def connected(behind: tuple[str, Path]) -> Iterator[SparkSession]:
    """A session of Spark Connect; the workers behind it have no tidelog."""
    session = begin(behind[0])
    yield session
    session.stop()


def begin(address: str) -> SparkSession:
    session: SparkSession = import_module("pyspark.sql.connect.session").SparkSession.builder.remote(address).create()
    return session


@pytest.mark.long
def test_a_batch_behind_connect(connected: SparkSession) -> None:
    """Workers get tidelog, typed columns and the answers are those of one process, and problems are told."""
    frame = connected.createDataFrame([*READINGS, (None, 1.0, 3)], COLUMNS)
    assert is_connect(connected)
    told = reason(frame, PROGRAM, output=HOT, buckets=2, problems="drop")
    assert dict(told.dtypes)["value"] == "double"
    assert facts(told.collect(), "hot", ("node", "value")) == expected(READINGS, "hot")
    everything = reason(frame, PROGRAM, buckets=2).collect()
    assert [row.problem for row in everything if row.problem] == ['temp: `node` is null: {"node":null,"value":1.0,"time":3}']
    with pytest.raises(SpecError, match="lacks the field `node`"):
        reason(frame.drop("node"), PROGRAM)


@pytest.mark.long
def test_a_stream_behind_connect(behind: tuple[str, Path], connected: SparkSession, tmp_path: Path) -> None:
    """State is kept behind the server, if that has tidelog itself; what is not set up for it is refused before."""
    connected.createDataFrame([*READINGS, LAST], COLUMNS).coalesce(1).write.parquet(f"{tmp_path}/in")
    stream = connected.readStream.schema(COLUMNS).parquet(f"{tmp_path}/in")
    with pytest.raises(SpecError, match=r"set `tidelog\.spark\.STREAM_SETTINGS`"):
        reason(stream, PROGRAM)
    for name, value in STREAM_SETTINGS.items():
        connected.conf.set(name, value)
    with pytest.raises(ConnectorError, match="`pip install tidelog` into the Python of the server, and begin a new session"):
        reason(stream, PROGRAM)
    install_tidelog(behind[1])
    another = begin(behind[0])
    try:
        check_stream(another, tmp_path)
    finally:
        another.stop()


def check_stream(connected: SparkSession, tmp_path: Path) -> None:
    for name, value in STREAM_SETTINGS.items():
        connected.conf.set(name, value)
    stream = connected.readStream.schema(COLUMNS).parquet(f"{tmp_path}/in")
    told = reason(stream, PROGRAM, output="mute(node: text)", emit="final", buckets=2)
    writer = told.writeStream.outputMode("append").option("checkpointLocation", f"{tmp_path}/checkpoint")
    query = writer.trigger(availableNow=True).start(f"{tmp_path}/out", format="parquet")
    assert query.awaitTermination(WAIT), query.exception()
    rows = connected.read.parquet(f"{tmp_path}/out").collect()
    assert facts(rows, "mute", ("node",)) == [fact for fact in expected([*READINGS, LAST], "mute") if "n9" not in fact]


@pytest.mark.long
def test_the_data_source_behind_connect(connected: SparkSession, fill: Fill) -> None:
    """An outbox is read by workers that got the source from here."""
    outbox = fill("n1", [("hot", ("s 1", 21.5), 2, 5), ("on", (), 4, 6)], frontier=9)
    register(connected)
    told = connected.read.format("tidelog").option("path", outbox).load().collect()
    assert [(row.node, row.seq, row.predicate, row.start) for row in told] == [("n1", 1, "hot", "1"), ("n1", 2, "on", "2")]


def test_what_cannot_be_had_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of its own needs Spark's process: neither an address nor the environment may name a server."""
    with pytest.raises(SpecError, match=r"`spark_session` calls Spark's own process, .*`sc://a:15002`.* use `tidelog"):
        spark_session(master="sc://a:15002")
    monkeypatch.setenv("SPARK_REMOTE", "sc://a")
    with pytest.raises(SpecError, match=r"starts a Spark of its own, and the variable `SPARK_REMOTE`.* unset it, or use"):
        spark_session()
