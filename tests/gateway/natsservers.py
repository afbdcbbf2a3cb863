"""A real NATS server for a test, with JetStream and a store of its own, that can be killed and started again."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import nats
from nats.js import JetStreamContext

from brokers import free_port
from children import WAIT
from waiting import eventually

PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
T = TypeVar("T")


def program() -> str:
    """The program; a test that needs it fails where it is missing."""
    found = shutil.which("nats-server", path=PATH)
    assert found is not None, "NATS is not there: `.ci/server nats-server nats-server`, or `make test`, installs it"
    return found


class NatsServer:
    """One server: `port` stays the same whenever it is started again, and so does what it has stored."""

    def __init__(self, folder: Path, *lines: str) -> None:
        self.port = free_port()
        folder.mkdir(exist_ok=True)
        store = f'jetstream {{ store_dir: "{folder}/store" }}'
        self._config = folder / "nats.conf"
        self._config.write_text("\n".join([f"listen: 127.0.0.1:{self.port}", store, *lines]) + "\n")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._process = subprocess.Popen([program(), "-c", str(self._config)], stderr=subprocess.DEVNULL)
        eventually(self._listens, process=self._process)

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(WAIT)
            self._process = None

    def pause(self) -> None:
        """It takes nothing, and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def make(self, stream: str, subject: str, **settings: Any) -> None:
        """A stream with one subject."""
        self.ask(lambda js: js.add_stream(name=stream, subjects=[subject], **settings))

    def publish(self, subject: str, payloads: Sequence[bytes], *, headers: dict[str, str] | None = None) -> None:
        """Messages, each stored when this returns."""

        async def publish(js: JetStreamContext) -> None:
            for at in range(0, len(payloads), 500):
                sent = [await js.publish_async(subject, payload, headers=headers) for payload in payloads[at : at + 500]]
                await asyncio.gather(*sent)

        self.ask(publish)

    def ask(self, do: Callable[[JetStreamContext], Awaitable[T]], **options: Any) -> T:
        """What a client of the library's own gets, which is there for as long as that takes."""

        async def run() -> T:
            client = await nats.connect(self.url, **options)
            try:
                return await do(client.jetstream(timeout=WAIT))
            finally:
                await client.close()

        return asyncio.run(run())

    def _listens(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as probe:
                return probe.recv(4) == b"INFO"
        except OSError:
            return False


@contextmanager
def nats_server(folder: Path, *lines: str) -> Iterator[NatsServer]:
    """A server for the length of a `with` block."""
    running = NatsServer(folder, *lines)
    try:
        running.start()
        yield running
    finally:
        running.kill()
