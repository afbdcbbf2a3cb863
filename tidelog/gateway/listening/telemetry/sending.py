"""Sends figures and spans by OTLP over HTTP, every so many seconds. A collector that is away holds up nobody.

One request is under way at a time, in a thread of its own, and given up after a while. Figures are counted on, so that the
next request tells all of them; spans that cannot be sent are dropped, and counted.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import SpanExportResult
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from tidelog.gateway.file.settings import TelemetrySettings
from tidelog.gateway.listening.telemetry.figures import metrics_data
from tidelog.gateway.listening.telemetry.spans import Spans, Tracing
from tidelog.version import VERSION

logger = logging.getLogger("tidelog")
TIMEOUT: Final = 5.0
"""For how many seconds the collector may leave a request without answer, and it is tried again."""
LAST_SECONDS: Final = 2.0
"""For how long, at most, a gateway that stops waits until its last figures are sent."""
for _name in ("opentelemetry.exporter.otlp", "opentelemetry.exporter.http"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)  # what they say of each attempt is told here, once


class Telemetry(Collector):
    """Tells a collector what `registry` has, and the spans of its `tracing`. It is measured itself, in the same registry."""

    def __init__(self, settings: TelemetrySettings, gateway: str, folder: Path, registry: CollectorRegistry) -> None:
        self._settings, self._registry = settings, registry
        self._resource = Resource.create({"service.name": gateway, "service.version": VERSION})
        self._spans = Spans(self._resource)
        self._begin = time.time_ns()
        self._requests = self._errors = self._lost = 0
        self._is_away = False
        headers = {name: secret.reveal(folder) for name, secret in settings.headers.items()}
        certificate = str(folder / settings.ca) if settings.ca else None
        base = settings.endpoint.rstrip("/")
        self._metrics = OTLPMetricExporter(f"{base}/v1/metrics", certificate, headers=headers, timeout=TIMEOUT)
        self._traces = OTLPSpanExporter(f"{base}/v1/traces", certificate, headers=headers, timeout=TIMEOUT)
        registry.register(self)

    def tracing(self, program: str) -> Tracing | None:
        """The observer of a program, where deliveries are traced."""
        return Tracing(self._spans, program, self._settings.traces) if self._settings.traces else None

    async def run(self) -> None:
        """Send until cancelled; then what there is, if that is quickly done."""
        try:
            while True:
                await anyio.sleep(self._settings.every)
                await self._send()
        finally:
            with anyio.move_on_after(LAST_SECONDS, shield=True):
                await self._send()

    async def _send(self) -> None:
        data = metrics_data(self._registry.collect(), self._resource, self._begin, time.time_ns())
        sent = await self._sent(lambda: self._metrics.export(data) is MetricExportResult.SUCCESS)
        spans = self._spans.take()
        if spans and not (sent and await self._sent(lambda: self._traces.export(spans) is SpanExportResult.SUCCESS)):
            self._lost += len(spans)

    async def _sent(self, export: Callable[[], bool]) -> bool:
        """Whether the collector has taken it; said once where that changes."""
        self._requests += 1
        sent = await anyio.to_thread.run_sync(export, abandon_on_cancel=True)
        self._errors += not sent
        if sent == self._is_away:
            self._is_away = not sent
            state = "is there again" if sent else f"does not take figures: tried again every {self._settings.every:g} s"
            logger.log(logging.INFO if sent else logging.WARNING, "telemetry: %s %s", self._settings.endpoint, state)
        return sent

    # --- its own figures --------------------------------------------------------------------------------------------------

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        """How often it was sent, in vain, and what was lost by that."""
        lost = self._lost + self._spans.dropped
        yield CounterMetricFamily("tidelog_telemetry_requests", "Requests to the collector", value=self._requests)
        yield CounterMetricFamily("tidelog_telemetry_errors", "Those that it has not taken", value=self._errors)
        yield CounterMetricFamily("tidelog_telemetry_lost_spans", "Spans that were never sent", value=lost)
