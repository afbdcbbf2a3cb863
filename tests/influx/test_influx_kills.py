"""A gateway between clients that write points and InfluxDB, each of which is killed: every point is there, once."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import pytest

from brokers import free_port
from children import WAIT
from influxdb import DATABASE, influxdb, post
from services import NUMBERS, gateway_of
from waiting import eventually

FILE = """program = "plant.tide"
emit = "intervals"
lateness = "1 d"
state = "state"
[[source]]
name = "points"
type = "influx"
[[source.map]]
predicate = "seen"
topic = "count"
time = {{ path = "time", format = "ns" }}
[[sink]]
name = "answers"
type = "influx"
url = "{url}"
database = "{database}"
fields = {{ n = "{{n}}" }}
retry_longest = 0.1
[http]
listen = "127.0.0.1:{port}"
"""
KILLS = int(os.environ.get("KILLS", "20"))


class Client:
    """Writes numbers, one second of the stream each, and each request again until it is told that it is written."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/write?db=x&precision=s"
        self._thread = threading.Thread(target=self._work)
        self._is_ending = False
        self.written = 0

    def __enter__(self) -> Client:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._is_ending = True
        self._thread.join(WAIT)

    def _work(self) -> None:
        while not self._is_ending:
            numbers = range(self.written, self.written + 20)
            body = "".join(f"count n={n}i {n}\n" for n in numbers).encode()
            try:
                status, told = post(self._url, body)
            except OSError:
                time.sleep(0.01)
                continue
            if status == 204:
                self.written += 20
            else:
                assert status in (429, 503), told


@pytest.mark.slow
@pytest.mark.long
def test_a_gateway_and_an_influxdb_that_are_killed_have_every_point(tmp_path: Path) -> None:
    """What was answered with 204 stands in the database in the end; what came twice stands there once."""
    draw, port = random.Random(int(os.environ.get("SEED", "1"))), free_port()
    (tmp_path / "plant.tide").write_text(NUMBERS)
    with influxdb(tmp_path / "influxdb") as server:
        (tmp_path / "plant.toml").write_text(FILE.format(url=server.url, database=DATABASE, port=port))

        with gateway_of(tmp_path / "plant.toml") as gateway, Client(port) as client:
            for kill in range(KILLS):
                eventually(lambda before=client.written: client.written > before + 40, process=gateway)
                time.sleep(draw.uniform(0, 0.1))
                if kill % 4:
                    server.kill()
                    server.start()
                else:
                    gateway.restart()
            client.stop()
            eventually(lambda: len(server.query("SELECT n FROM told")) >= client.written, process=gateway)
            rows = server.query("SELECT n FROM told")
    assert [n for _, n in rows][: client.written] == list(range(client.written))
    assert all(moment == n * 10**9 for moment, n in rows)
