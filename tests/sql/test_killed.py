"""A gateway that writes to PostgreSQL, and the server, killed at ten moments: every answer is a row, once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from children import WAIT
from databases import Postgres, postgres
from waiting import eventually

PROGRAM = """timeline integer, unit 1 s.
input temp(machine: text, n: integer).
output hot(machine, n).
hot(M, N) :- temp(M, N).
"""
SETTINGS = """program = "plant.tide"
emit = "changes"
state = "state"
[[source]]
name = "floor"
type = "spec"
spec = "readings.jsonl"
[[sink]]
name = "history"
type = "sql"
url = "{url}"
"""
READINGS = 10_000
KILLS = 10
OF_SERVER = 4
"""Of so many kills all but one are those of the server, which is back sooner."""
OPEN = 2
"""The last readings, of which it is not certain that they have ended: more could come."""


def write(folder: Path, url: str) -> Path:
    """A gateway's file with its program and its readings."""
    (folder / "plant.tide").write_text(PROGRAM)
    (folder / "plant.toml").write_text(SETTINGS.format(url=url))
    facts = [{"predicate": "temp", "args": [f"m{n % 5}", n], "time": n} for n in range(READINGS)]
    (folder / "readings.jsonl").write_text("".join(json.dumps(fact) + "\n" for fact in facts))
    return folder / "plant.toml"


def count(server: Postgres) -> int:
    """How many rows there are; 0 before there is a table."""
    try:
        return int(server.query("SELECT count(*) FROM hot")[0][0])
    except psycopg.errors.UndefinedTable:
        return 0


@pytest.mark.slow
@pytest.mark.long
def test_a_gateway_and_a_database_that_are_killed_write_each_answer_once(tmp_path: Path) -> None:
    """Nothing is lost, nothing has two rows, and each row has its end."""
    draw = random.Random(int(os.environ.get("SEED", "1")))
    with postgres() as server:
        command = [sys.executable, "-m", "tidelog", "gateway", str(write(tmp_path, server.url))]
        log = (tmp_path / "log").open("ab")

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(command, stderr=log)

        def goes_on(before: int) -> Callable[[], bool]:
            return lambda: count(server) > before or gateway.poll() is not None

        gateway = start()
        try:
            for kill in range(KILLS):
                eventually(goes_on(count(server)))
                time.sleep(draw.uniform(0, 0.1))
                if kill % OF_SERVER:
                    server.kill()
                    server.start()
                else:
                    gateway.send_signal(signal.SIGKILL)
                    gateway.wait(WAIT)
                    gateway = start()
            assert gateway.wait(WAIT) == 0, (tmp_path / "log").read_text()
        finally:
            gateway.kill()
            gateway.wait(WAIT)
            log.close()
        found = server.query("SELECT n, begins = ends, extract(epoch FROM begins)::int FROM hot ORDER BY n")
        last = server.query("SELECT last FROM tidelog_delivery")
    assert found == [(n, True if n < READINGS - OPEN else None, n) for n in range(READINGS)]
    assert last == [(2 * READINGS - OPEN,)]
