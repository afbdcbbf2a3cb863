"""Many gateways that come and go, an ingestion that is killed now and then: in the end tables have each fact once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import pytest

from tidelog.connectors.lake.opening import open_lake
from waiting import eventually

from .filling import table_rows
from .golden import intervals, points

TESTS = Path(__file__).parents[1]


@contextmanager
def plant(gateways: int, facts: int) -> Iterator[int]:
    """A process that serves so many outboxes; its port."""
    command = [sys.executable, "-m", "lake.plant", "0", str(gateways), str(facts), "7"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TESTS) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def expected(port: int) -> dict[tuple[str, str, str], list[tuple[str | None, str | None]]]:
    """The maximal intervals of each predicate, node and argument, worked out point by point."""
    with urlopen(f"http://127.0.0.1:{port}/expected") as reply:
        told = json.load(reply)
    covered: dict[tuple[str, str, str], set[int]] = {}
    for node, facts in told.items():
        for fact in facts:
            ends = (fact["start"], fact["end"], False, False)
            covered.setdefault((fact["predicate"], node, fact["arguments"][0]), set()).update(points(*ends, integer=True))
    return {key: [each[:2] for each in intervals(found, integer=True)] for key, found in covered.items()}


def held(tables: str) -> dict[tuple[str, str, str], list[tuple[str | None, str | None]]]:
    found: dict[tuple[str, str, str], list[tuple[str | None, str | None]]] = {}
    for predicate in open_lake(tables).predicates():
        for row in table_rows(tables, predicate):
            key = (predicate, row["node"], row["arguments"]["sensor"])
            found.setdefault(key, []).append((row["start"], row["end"]))
    return {key: sorted(each, key=lambda row: int(row[0] or 0)) for key, each in found.items()}


def start(sources: Path, tables: str, rows: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tidelog", "ingest", "--from-file", os.fspath(sources), "--to", tables]
    command += ["--every", "0.1", "--rows", str(rows), "--metrics", f"{tables}.prom"]
    with open(f"{tables}.said", "w") as said:
        return subprocess.Popen(command, stderr=said, text=True)


def taken(tables: str) -> int:
    """How many facts are in the tables, by the metrics."""
    path = Path(f"{tables}.prom")
    lines = path.read_text().splitlines() if path.exists() else []
    return sum(int(line.rsplit(" ")[-1]) for line in lines if line.startswith("tidelog_ingest_taken{"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gateways", "facts"), [(40, 60), pytest.param(1000, 8, marks=pytest.mark.long)], ids=["some", "many"]
)
def test_many_gateways_and_kills(tmp_path: Path, gateways: int, facts: int) -> None:
    """Each gateway is away now and then, some replies are lost, gateways come later, the process is killed twice."""
    tables, sources = os.fspath(tmp_path / "tables"), tmp_path / "sources"
    with plant(gateways, facts) as port:
        names = [f"http://127.0.0.1:{port}/outbox/gw{number}\n" for number in range(gateways)]
        whole = gateways * facts
        for share, known in ((0.2, gateways // 2), (0.6, gateways), (1.0, gateways)):
            sources.write_text("".join(names[:known]))
            process = start(sources, tables, rows=max(200, whole // 8))
            try:
                eventually(partial(_has, tables, share * whole, process), 300)
            finally:
                process.kill()
                process.wait()
            said = Path(f"{tables}.said").read_text()
            assert "error:" not in said, said[-2000:]
        assert held(tables) == expected(port)


def _has(tables: str, number: float, process: subprocess.Popen[str]) -> bool:
    time.sleep(0.2)  # to look costs the processes time that are looked at
    return taken(tables) >= number or process.poll() is not None
