"""The pipeline where gateways are away: the others are ingested, and who comes later joins, each fact once."""

from __future__ import annotations

import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import start_blocking_portal

from spark.quick import environment
from tidelog.connectors.http import HttpServer, HttpSettings
from tidelog.connectors.outbox.outbox import OutboxReader
from tidelog.connectors.spark import Access, Ingestion
from tidelog.connectors.spark.gateways import unfinished
from tidelog.connectors.transport.addresses import TcpAddress
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from waiting import eventually

from .conftest import Fill
from .golden import golden
from .test_ingest import facts, read_tables, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOKEN = secrets.token_hex(16)


@contextmanager
def served(box: str, port: int) -> Iterator[None]:
    """The outbox behind a real server on this port."""
    server = HttpServer([], HttpSettings(TcpAddress("127.0.0.1", port), token=TOKEN))
    server.outboxes["gw"] = box
    with start_blocking_portal("trio") as portal, portal.wrap_async_context_manager(server):
        yield


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def address(port: int) -> str:
    return f"http://127.0.0.1:{port}/outbox/gw"


def is_taken(box: str) -> bool:
    with OutboxReader(box) as reader:
        return reader.first() == reader.last() + 1


class Plant:
    """Two gateways, and the tables that are made of them."""

    def __init__(self, fill: Fill, folder: Path) -> None:
        self.fill = fill
        self.boxes = [fill(node, facts(place, 40)) for place, node in enumerate(("n1", "n2"))]
        self.expected = rows_of(*self.boxes)
        self.ports = [free_port(), free_port()]
        self.tables, self.checkpoint = str(folder / "tables"), str(folder / "checkpoint")
        self.said: list[str] = []

    def more(self, seed: int) -> None:
        """Each gateway tells more."""
        for place, node in enumerate(("n1", "n2")):
            self.fill(node, facts(seed + place, 40))
        self.expected += rows_of(*self.boxes)

    def ingestion(self) -> Ingestion:
        sources = list(map(address, self.ports))
        access = Access(TOKEN)
        return Ingestion(sources, self.tables, self.checkpoint, rows=50, access=access, tell=self.said.append)

    def once(self, spark: SparkSession, *present: int) -> bool:
        with ExitStack() as servers:
            for place in present:
                servers.enter_context(served(self.boxes[place], self.ports[place]))
            with self.ingestion() as ingestion:
                return ingestion.run(spark, once=True)


@pytest.mark.slow
def test_gateway_that_comes_later_joins(spark: SparkSession, fill: Fill, tmp_path: Path) -> None:
    """Both are away, then one comes, then the other: each is told, and all facts are in the tables once."""
    plant = Plant(fill, tmp_path)
    with ExitStack() as servers:
        started = 0

        def is_stopped() -> bool:
            nonlocal started
            if started < 2 and (not started or is_taken(plant.boxes[0])):
                servers.enter_context(served(plant.boxes[started], plant.ports[started]))
                started += 1
            return all(map(is_taken, plant.boxes))

        with plant.ingestion() as ingestion:
            assert ingestion.run(spark, every=0.1, is_stopped=is_stopped)
    assert read_tables(plant.tables) == golden(plant.expected)
    for port in plant.ports:
        told = [line for line in plant.said if address(port) in line]
        assert len(told) == 2, plant.said
        assert "is away since" in told[0]
        assert "answers, and joins" in told[1]


@pytest.mark.slow
@pytest.mark.long
def test_restarts_while_one_is_away(
    spark: SparkSession, fill: Fill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over restarts of one checkpoint a gateway is away, there, away and there: nothing is lost, nothing is there twice.

    A batch that failed waits for the gateways whose facts it has.
    """
    plant = Plant(fill, tmp_path)
    assert not plant.once(spark, 0)
    assert [is_taken(box) for box in plant.boxes] == [True, False]
    plant.more(10)

    def fail(self: Ingestion, frame: DataFrame, batch: int) -> None:
        raise RuntimeError("on purpose")

    with monkeypatch.context() as patch:
        patch.setattr(Ingestion, "_take", fail)
        with pytest.raises(ConnectorError, match="Spark has given up"):
            plant.once(spark, 0, 1)
    assert len(unfinished(plant.checkpoint)) == 2
    assert not plant.once(spark, 0)
    assert plant.said[-1] == "the batch to be run again needs a gateway that is away: nothing is written"
    assert plant.once(spark, 0, 1)
    plant.more(20)
    assert not plant.once(spark, 0)
    assert [is_taken(box) for box in plant.boxes] == [True, False]
    assert plant.once(spark, 0, 1)
    assert read_tables(plant.tables) == golden(plant.expected)
    assert all(map(is_taken, plant.boxes))


def test_contradicting_gateway_is_refused_by_name(fill: Fill, tmp_path: Path) -> None:
    """A gateway whose fields are not those of the others is named when it joins."""
    plant = Plant(fill, tmp_path)
    with served(plant.boxes[0], plant.ports[0]), plant.ingestion() as ingestion:
        program = "timeline rational, unit 1 s, resolution 1.\ninput hot(sensor: text, value: number).\noutput hot.\n"
        bad = fill("n3", [("hot", ("a", 1), 0, 0)], program)
        with served(bad, plant.ports[1]), pytest.raises(SpecError, match=f"`{address(plant.ports[1])}` cannot join"):
            eventually(ingestion._join)


@pytest.mark.slow
@pytest.mark.long
def test_once_with_one_away_has_an_exit_code(fill: Fill, tmp_path: Path) -> None:
    """`--once` writes the facts of those that answer, tells who is away, and has the exit code 4."""
    plant = Plant(fill, tmp_path)
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    command = [sys.executable, "-m", "tidelog", "spark", "ingest", "--from", *map(address, plant.ports), "--once"]
    command += ["--to", plant.tables, "--checkpoint", plant.checkpoint, "--cores", "1", "--token-file"]
    with served(plant.boxes[0], plant.ports[0]):
        done = subprocess.run([*command, tmp_path / "token"], check=False, capture_output=True, text=True, env=environment())
    assert done.returncode == 4, done.stderr
    assert done.stderr.count("is away since") == 1
    assert address(plant.ports[1]) in done.stderr
    assert read_tables(plant.tables) == golden([row for row in plant.expected if row[0] == "n1"])
