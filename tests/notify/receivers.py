"""Who is told, on the machine of the test: servers of HTTP and of mail, and Prometheus Alertmanager itself."""

from __future__ import annotations

import email
import email.policy
import json
import shutil
import socket
import ssl
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from brokers import free_port
from children import WAIT
from waiting import eventually


@dataclass
class Request:
    """What was posted."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Reply = tuple[int, Mapping[str, str], bytes]
TAKEN: Reply = (200, {}, b"ok")


class HttpReceiver(ThreadingHTTPServer):
    """Answers posts as `reply` says; it may be deaf, so that it takes what comes and says nothing, or away."""

    daemon_threads = True

    def __init__(self, reply: Callable[[Request], Reply] = lambda request: TAKEN, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.reply, self.mode = reply, "here"
        self.requests: list[Request] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone is none."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: HttpReceiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        request = Request(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        mode = self.server.mode
        if mode == "away":
            self.close_connection = True
            return
        status, headers, said = self.server.reply(request)
        self.server.requests.append(request)
        if mode == "deaf":
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def http(reply: Callable[[Request], Reply] = lambda request: TAKEN, port: int = 0) -> Iterator[HttpReceiver]:
    """It runs for the length of a `with` block."""
    with HttpReceiver(reply, port) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


# --- mail ----------------------------------------------------------------------------------------------------------------


@dataclass
class Post:
    """A mail that was taken: for whom, and what it says."""

    sender: str
    to: Sequence[str]
    message: EmailMessage


@dataclass
class Mailbox:
    """What a server for mail does: it takes all that `refuse` and `refuse_data` have no words for."""

    posts: list[Post] = field(default_factory=list)
    refuse: Callable[[str], str | None] = lambda recipient: None
    refuse_data: Callable[[Post], str | None] = lambda post: None
    refuse_sender: Callable[[str], str | None] = lambda sender: None
    taken: Callable[[], None] = lambda: None
    """Called when it has a mail, before it says so."""
    encrypted: list[bool] = field(default_factory=list)

    async def handle_MAIL(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]) -> str:
        if refused := self.refuse_sender(address):
            return refused
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]) -> str:
        if refused := self.refuse(address):
            return refused
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        data = envelope.content
        assert isinstance(data, bytes) and envelope.mail_from is not None
        message = email.message_from_bytes(data, policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        post = Post(envelope.mail_from, list(envelope.rcpt_tos), message)
        if refused := self.refuse_data(post):
            return refused
        self.posts.append(post)
        self.encrypted.append(server.transport is not None and server.transport.get_extra_info("ssl_object") is not None)
        self.taken()
        return "250 OK"


def _login(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: object) -> AuthResult:
    is_right = isinstance(data, LoginPassword) and (data.login, data.password) == (b"plant", b"right")
    return AuthResult(success=is_right, handled=False)


@contextmanager
def mail_server(
    box: Mailbox,
    *,
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    is_implicit: bool = False,
    needs_login: bool = False,
    most: int = 1_000_000,
) -> Iterator[int]:
    """A server for mail; its port."""
    options: dict[str, Any] = {"data_size_limit": most}
    if needs_login:
        options |= {"authenticator": _login, "auth_required": True}
    if tls is not None and not is_implicit:
        options |= {"tls_context": tls, "require_starttls": True}
    elif needs_login:
        options |= {"auth_require_tls": False}
    chosen = port or free_port()
    context = tls if is_implicit else None
    controller = Controller(box, "127.0.0.1", chosen, ready_timeout=WAIT, ssl_context=context, **options)
    controller.start()
    try:
        yield chosen
    finally:
        controller.stop()


# --- Alertmanager ---------------------------------------------------------------------------------------------------------

_CONFIG = """
route: {{receiver: hook, group_by: ['...'], group_wait: 10ms, group_interval: 20ms, repeat_interval: 1h}}
receivers: [{{name: hook, webhook_configs: [{{url: '{hook}', send_resolved: true}}]}}]
"""


class Alertmanager:
    """Alertmanager itself: `port` stays the same whenever it is started again. It tells `hook` of alerts."""

    def __init__(self, folder: Path, hook: str = "http://127.0.0.1:9/") -> None:
        self.port, self._folder = free_port(), folder
        folder.mkdir(exist_ok=True)
        (folder / "alertmanager.yml").write_text(_CONFIG.format(hook=hook))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        program = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
        assert program is not None, "Alertmanager is not there: `.ci/alertmanager`, or `make test`, installs it"
        options = [f"--web.listen-address=127.0.0.1:{self.port}", "--cluster.listen-address="]
        files = [f"--config.file={self._folder}/alertmanager.yml", f"--storage.path={self._folder}/data"]
        self._process = subprocess.Popen([program, *options, *files], stderr=subprocess.DEVNULL)
        eventually(self._is_ready, process=self._process)

    def _is_ready(self) -> bool:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", self.port)):
                return False
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=WAIT) as answer:  # noqa: S310 - an address of this machine
                return bool(answer.status == 200)
        except OSError:
            return False

    def alerts(self) -> dict[str, Any]:
        """The alerts that it takes to be active, by the label `n`, or `alertname`."""
        with urllib.request.urlopen(f"{self.url}/api/v2/alerts", timeout=WAIT) as answer:  # noqa: S310 - an address of this machine
            found = json.loads(answer.read())
        return {one["labels"].get("n", one["labels"]["alertname"]): one for one in found}

    def kill(self) -> None:
        """End it at once: it forgets all alerts."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(WAIT)
            self._process = None


@contextmanager
def alertmanager(folder: Path, hook: str = "http://127.0.0.1:9/") -> Iterator[Alertmanager]:
    """Alertmanager for the length of a `with` block."""
    running = Alertmanager(folder, hook)
    running.start()
    try:
        yield running
    finally:
        running.kill()
