"""`tidelog gateway FILE --healthy` asks the gateway that runs with this file, however it can be asked."""

from __future__ import annotations

import signal
import socket
import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from brokers import free_port
from children import child
from services import TIDELOG, hear, systemd
from tidelog.cli import main
from tidelog.gateway import health
from tidelog.gateway.starting import start

TLS = Path(__file__).parent.parent / "outbox"
CERTIFICATE, KEY = TLS / "test-server.pem", TLS / "test-server.key"


def plant(folder: Path, http: str) -> Path:
    """The file of `tidelog init`, with this in place of its `[http]`."""
    start(folder)
    file = folder / "plant.toml"
    file.write_text(file.read_text().replace('[http]\nlisten = "127.0.0.1:8080"', http))
    return file


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["page", "page for others", "no page"])
def test_a_gateway_that_runs_is_healthy(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its page, also by TLS with the name of another machine; without a page by the socket of `--tap`. Then it is not."""
    monkeypatch.setenv("TOKEN", "a-token-of-some-length")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    port = free_port()
    others = f'[http]\nlisten = "0.0.0.0:{port}"\ntoken = {{ env = "TOKEN" }}\ncertificate = "{CERTIFICATE}"\nkey = "{KEY}"'
    file = plant(tmp_path / "new", {"page": f'[http]\nlisten = "127.0.0.1:{port}"', "page for others": others}.get(kind, ""))
    assert ("[http]" in file.read_text()) == (kind != "no page")
    with systemd(tmp_path) as heard, child([*TIDELOG, "gateway", str(file)], stdout=subprocess.DEVNULL) as gateway:
        hear(heard, "READY=1")
        assert main(["gateway", str(file), "--healthy"]) == 0
        gateway.send_signal(signal.SIGTERM)
    assert main(["gateway", str(file), "--healthy"]) == 1


def test_who_is_no_gateway_is_not_healthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nobody, one who says nothing, and one who answers with something else: each is told, and the exit code is 1."""
    monkeypatch.setattr(health, "WAIT_SECONDS", 0.2)
    port = free_port()
    file = plant(tmp_path / "new", f'[http]\nlisten = "127.0.0.1:{port}"')
    assert main(["gateway", str(file), "--healthy"]) == 1
    assert "no gateway answers: " in capfd.readouterr().out
    with socket.create_server(("127.0.0.1", port)):
        assert main(["gateway", str(file), "--healthy"]) == 1
    assert "no answer within 0.2 s" in capfd.readouterr().out


class Elsewhere(BaseHTTPRequestHandler):
    """A server that has no `/healthz`."""

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Degraded(Elsewhere):
    """A gateway of which a part does not run."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"degraded: plant: 2 of its actors are set aside\n")


def healthy(folder: Path, kind: type[BaseHTTPRequestHandler]) -> tuple[int, int]:
    """The exit code of `--healthy` where this has the gateway's port, and the port."""
    with HTTPServer(("127.0.0.1", 0), kind) as server:
        file = plant(folder / "new", f'[http]\nlisten = "127.0.0.1:{server.server_port}"')
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            return main(["gateway", str(file), "--healthy"]), server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_a_server_of_another_kind_is_not_healthy(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What has the gateway's port, and is none, is told with its status."""
    code, port = healthy(tmp_path, Elsewhere)
    assert code == 1
    assert f"`/healthz` at 127.0.0.1:{port} answers with status 404" in capfd.readouterr().out


def test_a_gateway_of_which_a_part_does_not_run_is_degraded(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It is said, and the exit code is that of health: to start all anew would stop the rest, too."""
    assert healthy(tmp_path, Degraded)[0] == 0
    assert "degraded: plant: 2 of its actors are set aside\n" in capfd.readouterr().out
