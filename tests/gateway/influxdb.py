"""A real InfluxDB for a test, with a store of its own, that can be killed and started again."""

from __future__ import annotations

import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from brokers import free_port
from children import WAIT
from waiting import eventually

CONFIG = """reporting-disabled = true
bind-address = "127.0.0.1:{rpc}"
[meta]
dir = "{folder}/meta"
[data]
dir = "{folder}/data"
wal-dir = "{folder}/wal"
[http]
bind-address = "127.0.0.1:{port}"
log-enabled = false
[logging]
level = "error"
[monitor]
store-enabled = false
"""
DATABASE = "plant"


class InfluxDb:
    """One server: `port` stays the same whenever it is started again, and so does what it has stored."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        folder.mkdir(exist_ok=True)
        self._config = folder / "influxdb.conf"
        self._config.write_text(CONFIG.format(rpc=free_port(), port=self.port, folder=folder))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        program = shutil.which("influxd")
        assert program is not None, "InfluxDB is not there: `.ci/server influxd influxdb`, or `make test`, installs it"
        output = subprocess.DEVNULL
        self._process = subprocess.Popen([program, "-config", str(self._config)], stdout=output, stderr=output)
        eventually(self._answers, process=self._process)

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(WAIT)
            self._process = None

    def write(self, lines: str, *, precision: str = "ns") -> tuple[int, dict[str, Any]]:
        """The status, and what it says."""
        return post(f"{self.url}/write?db={DATABASE}&precision={precision}", lines.encode())

    def query(self, text: str) -> list[list[Any]]:
        """The rows of an answer to a query, of all its series; times in nanoseconds."""
        told = urllib.parse.urlencode({"db": DATABASE, "epoch": "ns", "q": text})
        status, found = post(f"{self.url}/query?{told}", b"")
        assert status == 200 and "error" not in found["results"][0], found
        return [row for series in found["results"][0].get("series", []) for row in series["values"]]

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/ping", timeout=WAIT) as answer:  # noqa: S310 - it is this machine
                return bool(answer.status == 204)
        except OSError:
            return False


def post(url: str, body: bytes, **headers: str) -> tuple[int, dict[str, Any]]:
    """The status, and what a server says of a request."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    request = urllib.request.Request(url, body, named)  # noqa: S310 - it is this machine
    try:
        with urllib.request.urlopen(request, timeout=WAIT) as answer:  # noqa: S310 - likewise
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            status, text = error.code, error.read()
    return status, msgspec.json.decode(text) if text.strip() else {}


@contextmanager
def influxdb(folder: Path) -> Iterator[InfluxDb]:
    """A server with a database, for the length of a `with` block."""
    running = InfluxDb(folder)
    try:
        running.start()
        running.query(f"CREATE DATABASE {DATABASE}")
        yield running
    finally:
        running.kill()
