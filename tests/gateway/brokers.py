"""A real broker for a test: Mosquitto, with a store of its own, that can be killed and started again."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from children import WAIT
from waiting import eventually

PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])


def mosquitto() -> str:
    """The program; a test that needs it fails where it is missing."""
    found = shutil.which("mosquitto", path=PATH)
    assert found is not None, "Mosquitto is not there: `.ci/mosquitto`, or `make test`, installs it"
    return found


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Broker:
    """One broker: `port` stays the same whenever it is started again, and so does what it has stored, if it `keeps` it."""

    def __init__(self, folder: Path, *lines: str, keeps: bool = True) -> None:
        self.port = free_port()
        self._config = folder / "mosquitto.conf"
        folder.mkdir(exist_ok=True)
        store = ["persistence true", f"persistence_location {folder}/", "autosave_interval 1", "autosave_on_changes true"]
        store = store if keeps else []
        given = lines or (f"listener {self.port} 127.0.0.1", "allow_anonymous true")
        text = [*given, *store, "max_inflight_messages 0", "max_queued_messages 0", f"user {_user()}"]
        self._config.write_text("\n".join(line.format(port=self.port) for line in text) + "\n")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._process = subprocess.Popen([mosquitto(), "-c", str(self._config)], stderr=subprocess.DEVNULL)
        eventually(self._listens, process=self._process)

    def stop(self) -> None:
        """End it in order, so that it has stored all that it has acknowledged."""
        self._end(lambda process: process.terminate())

    def kill(self) -> None:
        """End it at once."""
        self._end(lambda process: process.kill())

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _end(self, how: object) -> None:
        if self._process is not None:
            how(self._process)  # type: ignore[operator]
            self._process.wait(WAIT)
            self._process = None


def _user() -> str:
    return "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")


@contextmanager
def broker(folder: Path, *lines: str, keeps: bool = True) -> Iterator[Broker]:
    """A broker for the length of a `with` block; it `keeps` what it has over a restart, or forgets it."""
    running = Broker(folder, *lines, keeps=keeps)
    running.start()
    try:
        yield running
    finally:
        running.kill()
