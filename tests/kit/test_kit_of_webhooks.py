"""Webhooks have what the kit asks of a sink, with a receiver that speaks HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tidelog.connectors.http.posting import Endpoint, Retries
from tidelog.connectors.http.webhook import WebhookSink
from tidelog.testing.connectors import PLAN, POISON, Arrival, SinkBench, SinkKit, alarm, number_in


class _Receiver(ThreadingHTTPServer):
    """Takes what is posted; refuses poison; may be deaf, or away."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[Arrival] = []
        self.mode = "here"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone is none."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        mode = self.server.mode
        if mode == "away":
            self.close_connection = True
            return
        number = number_in(body)
        if number == POISON:
            self._answer(422)
            return
        self.server.got.append(Arrival(number, self.headers["webhook-id"]))
        if mode == "deaf":
            self.close_connection = True
            return
        self._answer(204)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class WebhookBench(SinkBench):
    """A receiver of webhooks."""

    poison = alarm(POISON)

    def __init__(self, server: _Receiver) -> None:
        self._server = server

    def open(self) -> WebhookSink:
        retries = Retries(first=0.001, longest=0.01)
        return WebhookSink(Endpoint(f"http://127.0.0.1:{self._server.server_port}/hook", retries=retries), PLAN.schema)

    def arrived(self) -> Sequence[Arrival]:
        return list(self._server.got)

    def deafen(self) -> None:
        self._server.mode = "deaf"

    def leave(self) -> None:
        self._server.mode = "away"

    def come_back(self) -> None:
        self._server.mode = "here"


@contextmanager
def receiver() -> Iterator[_Receiver]:
    """It runs for the length of a `with` block."""
    with _Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class TestWebhookSink(SinkKit):
    """All that the kit asks."""

    @pytest.fixture
    def bench(self) -> Iterator[SinkBench]:
        with receiver() as server:
            yield WebhookBench(server)
