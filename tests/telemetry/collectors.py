"""A collector for tests: takes OTLP over HTTP on a thread of its own, and decodes what it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

Labels = tuple[tuple[str, str], ...]


class Collector:
    """What was told last of each figure, by name and labels, and all spans. `answer` is the status that it answers with."""

    def __init__(self, port: int) -> None:
        self.port, self.answer = port, 200
        self.figures: dict[tuple[str, Labels], Any] = {}
        self.kinds: dict[str, str] = {}
        self.resources: list[dict[str, str]] = []
        self.headers: dict[str, str] = {}
        self.spans: list[Any] = []
        self.requests = 0
        self.hangs = threading.Event()
        self.hangs.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def take(self, path: str, body: bytes, headers: dict[str, str]) -> int:
        """What a request is answered."""
        self.requests += 1
        self.headers = headers
        self.hangs.wait(60)
        if self.answer == 200:
            self._metrics(body) if path == "/v1/metrics" else self._traces(body)
        return self.answer

    def _metrics(self, body: bytes) -> None:
        found: dict[tuple[str, Labels], Any] = {}
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            self.resources.append(_plain(resource.resource.attributes))
            for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                kind = metric.WhichOneof("data")
                self.kinds[metric.name] = kind
                for point in getattr(metric, kind).data_points:
                    labels = tuple(sorted(_plain(point.attributes).items()))
                    found[metric.name, labels] = point if kind == "histogram" else getattr(point, point.WhichOneof("value"))
        self.figures = found

    def _traces(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]


def told(span: Any) -> dict[str, str]:
    """What a span says of itself."""
    return _plain(span.attributes)


def _plain(attributes: Any) -> dict[str, str]:
    return {one.key: str(getattr(one.value, one.value.WhichOneof("value"))) for one in attributes}


@contextmanager
def collector(port: int = 0) -> Iterator[Collector]:
    """A collector for the length of a `with` block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(running.take(self.path, body, {name.lower(): text for name, text in self.headers.items()}))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *given: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    running = Collector(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield running
    finally:
        running.hangs.set()
        server.shutdown()
        thread.join()
        server.server_close()
