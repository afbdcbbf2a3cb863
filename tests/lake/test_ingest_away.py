"""The pipeline where gateways are away: the others are ingested, and who comes later joins, each fact once."""

from __future__ import annotations

import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from tidelog.connectors.http import HttpServer, HttpSettings
from tidelog.connectors.lake.gateways.ingest import Ingestion
from tidelog.connectors.lake.gateways.origins import Access
from tidelog.connectors.outbox.client import OutboxClient
from tidelog.connectors.transport.addresses import TcpAddress
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from waiting import eventually

from .filling import Fill, facts, is_taken, read_tables, rows_of
from .golden import golden

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


class Plant:
    """Two gateways, and the tables that are made of them."""

    def __init__(self, fill: Fill, folder: Path) -> None:
        self.fill = fill
        self.boxes = [fill(node, facts(place, 40)) for place, node in enumerate(("n1", "n2"))]
        self.expected = rows_of(*self.boxes)
        self.ports = [free_port(), free_port()]
        self.tables = str(folder / "tables")
        self.said: list[str] = []

    def more(self, seed: int) -> None:
        """Each gateway tells more."""
        for place, node in enumerate(("n1", "n2")):
            self.fill(node, facts(seed + place, 40))
        self.expected += rows_of(*self.boxes)

    def ingestion(self) -> Ingestion:
        sources = list(map(address, self.ports))
        return Ingestion(sources, self.tables, rows=50, access=Access(TOKEN), tell=self.said.append)

    def once(self, *present: int) -> bool:
        with ExitStack() as servers:
            for place in present:
                servers.enter_context(served(self.boxes[place], self.ports[place]))
            with self.ingestion() as ingestion:
                return ingestion.run(once=True)


@pytest.mark.slow
def test_gateway_that_comes_later_joins(fill: Fill, tmp_path: Path) -> None:
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
            assert ingestion.run(every=0.1, is_stopped=is_stopped)
    assert read_tables(plant.tables) == golden(plant.expected)
    for port in plant.ports:
        told = [line for line in plant.said if address(port) in line]
        assert len(told) == 2, plant.said
        assert "is away since" in told[0]
        assert "answers, and joins" in told[1]


def test_restarts_while_one_is_away(fill: Fill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over restarts a gateway is away, there, away and there: nothing is lost, nothing is there twice.

    So it is where a batch was written, and nobody could be told.
    """
    plant = Plant(fill, tmp_path)
    assert not plant.once(0)
    assert [is_taken(box) for box in plant.boxes] == [True, False]
    plant.more(10)

    def fail(self: OutboxClient, upto: int) -> None:
        raise ConnectorError("the line is cut")

    with monkeypatch.context() as patch:
        patch.setattr(OutboxClient, "acknowledge", fail)
        assert not plant.once(0, 1)
    assert "the line is cut" in plant.said[-1]
    assert not plant.once(1)
    assert [is_taken(box) for box in plant.boxes] == [False, True]
    assert plant.once(0, 1)
    plant.more(20)
    assert not plant.once(0)
    assert plant.once(0, 1)
    assert read_tables(plant.tables) == golden(plant.expected)
    assert all(map(is_taken, plant.boxes))


def test_contradicting_gateway_is_set_aside_by_name(fill: Fill, tmp_path: Path) -> None:
    """A gateway whose fields are not those of the tables ends a job that starts; one that joins later is set aside."""
    plant = Plant(fill, tmp_path)
    program = "timeline rational, unit 1 s, resolution 1.\ninput hot(sensor: text, value: number).\noutput hot.\n"
    bad = fill("n3", [("hot", ("a", 1), 0, 0)], program)
    with served(plant.boxes[0], plant.ports[0]), plant.ingestion() as ingestion:
        ingestion.run(once=True)

        def is_told() -> bool:
            ingestion._look()
            return any(
                f"`{address(plant.ports[1])}` cannot join: the fields of `hot` are none" in line for line in plant.said
            )

        with served(bad, plant.ports[1]):
            eventually(is_told)
            plant.more(10)
            assert not ingestion.run(once=True)
            with pytest.raises(SpecError, match=f"`{address(plant.ports[1])}` cannot join"):
                plant.ingestion().__enter__()
    assert is_taken(plant.boxes[0])
    assert not is_taken(bad)


def test_file_of_sources_is_read_again(fill: Fill, tmp_path: Path) -> None:
    """Gateways that are added to the file while it runs are ingested, too; those that are taken out are left alone."""
    boxes = [fill(node, facts(place, 20)) for place, node in enumerate(("n1", "n2", "n3"))]
    expected = rows_of(*boxes)
    names, said = tmp_path / "sources", list[str]()
    names.write_text(f"# gateways\n{boxes[1]}\n")
    metrics = tmp_path / "ingest.prom"
    tables = str(tmp_path / "tables")
    files = {"sources_file": str(names), "metrics": str(metrics), "tell": said.append}
    with Ingestion([boxes[0]], tables, **files) as ingestion:
        looks = 0

        def is_stopped() -> bool:
            nonlocal looks
            if all(map(is_taken, boxes[:2])) and not looks:
                looks = 1
                names.write_text("s3://b/box\n")
            elif said and looks == 1:
                looks = 2
                names.write_text(f"{boxes[2]}\n")
            return is_taken(boxes[2])

        assert ingestion.run(every=0.05, is_stopped=is_stopped)
    assert len(said) == 1
    assert "named before still counts: `s3://b/box`: outboxes are in a folder of this machine" in said[0]
    assert read_tables(tables) == golden(expected)
    lines = metrics.read_text().splitlines()
    assert "tidelog_ingest_facts_total 60" in lines
    assert f'tidelog_ingest_up{{from="{boxes[2]}"}} 1' in lines
    assert f'tidelog_ingest_waiting{{from="{boxes[0]}"}} 0' in lines
    assert not any(boxes[1] in line for line in lines)
    with pytest.raises(SpecError, match=r"cannot read `.*nowhere`, which is to name outboxes"):
        Ingestion([], tables, sources_file=str(tmp_path / "nowhere"))


@pytest.mark.slow
def test_once_with_one_away_has_an_exit_code(fill: Fill, tmp_path: Path) -> None:
    """`--once` writes the facts of those that answer, tells who is away, and has the exit code 4."""
    plant = Plant(fill, tmp_path)
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    command = [sys.executable, "-m", "tidelog", "ingest", "--from", *map(address, plant.ports), "--once"]
    command += ["--to", plant.tables, "--token-file", str(tmp_path / "token")]
    with served(plant.boxes[0], plant.ports[0]):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 4, done.stderr
    assert done.stderr.count("is away since") == 1
    assert address(plant.ports[1]) in done.stderr
    assert read_tables(plant.tables) == golden([row for row in plant.expected if row[0] == "n1"])
