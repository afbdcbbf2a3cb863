"""The cold store of the film: its gateway, a broker, who is on duty, and a simulator whose pump trips."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from pages.recipes import ROOT

EXAMPLE = ROOT / "examples" / "coldstore"
PATH = f"{os.environ['PATH']}{os.pathsep}/usr/sbin{os.pathsep}/usr/local/sbin"
"""Where Mosquitto is: Debian puts it where only root looks."""
PATIENCE = 120
"""How many seconds a program may take to be there."""


@contextmanager
def cold_store() -> Iterator[str]:
    """The address of the page, while the plant lives; its pump trips ten seconds later. All of it ends with the block."""
    with TemporaryDirectory() as name, _on_duty() as duty:
        folder = Path(name)
        broker, page = _free_port(), _free_port()
        shutil.copytree(EXAMPLE, folder / "coldstore")
        _settle(folder / "coldstore" / "coldstore.toml", folder, broker, page)
        (folder / "mosquitto.conf").write_text(
            f"listener {broker} 127.0.0.1\nallow_anonymous true\nmax_inflight_messages 0\n"
        )
        told = dict.fromkeys(("DUTY", "HELP", "CHIEF"), f"http://127.0.0.1:{duty}/")
        gateway = [sys.executable, "-m", "tidelog", "gateway", str(folder / "coldstore" / "coldstore.toml")]
        with _process([_mosquitto(), "-c", str(folder / "mosquitto.conf")]), _process(gateway, told):
            _wait_for(f"http://127.0.0.1:{page}/ready")
            with _process([sys.executable, str(EXAMPLE / "simulate.py"), "--port", str(broker), "--trip"]):
                yield f"http://127.0.0.1:{page}"


def token(name: str) -> str:
    """The token of a user of the example."""
    return (EXAMPLE / "tokens" / name).read_text("utf-8").strip()


def _settle(file: Path, folder: Path, broker: int, page: int) -> None:
    """Give the gateway's file its own ports and its own state."""
    text = file.read_text("utf-8")
    for old, new in (
        (":1883", f":{broker}"),
        ("127.0.0.1:8080", f"127.0.0.1:{page}"),
        ("/tmp/coldstore", str(folder / "state")),  # noqa: S108 - what the example says
    ):
        if old not in text:
            raise ValueError(f"{EXAMPLE / file.name} does not say {old} any more: tell {__name__} what it says")
        text = text.replace(old, new)
    file.write_text(text, "utf-8")


def _mosquitto() -> str:
    found = shutil.which("mosquitto", path=PATH)
    if found is None:
        raise FileNotFoundError("mosquitto is not there: .ci/mosquitto installs it")
    return found


@contextmanager
def _process(command: Sequence[str], environment: dict[str, str] | None = None) -> Iterator[None]:
    """A process as long as the block lasts; it writes nothing here."""
    options = {**os.environ, **(environment or {})}
    with subprocess.Popen(command, env=options, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)


@contextmanager
def _on_duty() -> Iterator[int]:
    """The port of a receiver of webhooks that takes all that it is sent."""

    class Takes(BaseHTTPRequestHandler):
        """Answers that it has taken it."""

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Takes) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def _wait_for(url: str) -> None:
    """Until there is an answer that all is well; TimeoutError when it takes too long."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310 - an address of this machine
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
        else:
            return
    raise TimeoutError(f"{url} does not answer: run the gateway by hand, and see what it says")
