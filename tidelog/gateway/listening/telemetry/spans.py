"""Traces: a delivery of a source, the commit that stores it, and what sinks are given next.

A share of the deliveries is traced. The commit that stores one is a part of its trace, and linked to the others that it
stores; so is what each sink takes first after that commit. (Without a state there are no commits: a sink's span stands
behind the delivery.) Which answers follow from which delivery is not known to a gateway without a search, which is what
*why* is for.
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.trace import Link, SpanContext, set_span_in_context
from opentelemetry.trace import NonRecordingSpan as Known

from tidelog.connectors.http.watching.sources import source_name
from tidelog.runtime.ports.interfaces import AnyAnswer, Batch, Rejected
from tidelog.version import VERSION

MAX_SPANS: Final = 2048
"""How many spans wait to be sent; further ones are dropped, and counted."""
MAX_LINKS: Final = 32
"""Of how many traced deliveries a commit knows."""


class Spans(SpanProcessor):
    """Keeps spans that have ended until they are sent, up to a bound. Used in any thread."""

    def __init__(self, resource: Resource) -> None:
        self._waiting: deque[ReadableSpan] = deque()
        self._lock = threading.Lock()
        self.dropped = 0
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(self)
        self.tracer = provider.get_tracer("tidelog", VERSION)

    def on_end(self, span: ReadableSpan) -> None:
        """It waits from now on."""
        with self._lock:
            if len(self._waiting) < MAX_SPANS:
                self._waiting.append(span)
            else:
                self.dropped += 1

    def take(self) -> list[ReadableSpan]:
        """All that wait."""
        with self._lock:
            taken = list(self._waiting)
            self._waiting.clear()
        return taken


class Tracing:
    """An observer of one program that makes spans of a `share` of its deliveries."""

    def __init__(self, spans: Spans, program: str, share: float, draw: Callable[[], float] = random.random) -> None:
        self._spans, self._program, self._share, self._draw = spans, program, share, draw
        self._is_durable = False
        self._taken: list[SpanContext] = []
        self._storing: list[SpanContext] = []
        self._last: SpanContext | None = None
        self._given: set[str] = set()

    def took(self, source: str, batch: Batch | None, refused: Sequence[Rejected]) -> None:
        """A delivery, from when it came until all that follows from it was derived."""
        if batch is None or batch.received is None or self._draw() >= self._share or len(self._taken) >= MAX_LINKS:
            return
        name = source_name(source)
        told: dict[str, str | int] = {"source": name, "facts": len(batch.records), "refused": len(refused)}
        made = self._span(f"receive {name}", time.monotonic() - batch.received, told)
        if self._is_durable:
            self._taken.append(made)
        else:
            self._begin(made)

    def going_on(self, run: str, events: int) -> None:
        """It stores: sinks are given answers behind commits."""
        self._is_durable = True

    def committing(self, events: int) -> None:
        """What was taken by now is going to be stored."""
        self._storing += self._taken
        self._taken = []

    def committed(self, seconds: float) -> None:
        """It is, and that took so long."""
        if self._storing:
            first, *others = self._storing
            self._storing = []
            self._begin(self._span("commit", seconds, {"deliveries": 1 + len(others)}, first, others))

    def delivered(self, sink: str, answers: int, seconds: float) -> None:
        """A sink has taken so many answers, which took so long."""
        if self._last is not None and answers and sink not in self._given:
            self._given.add(sink)
            self._span(f"send {sink}", seconds, {"sink": sink, "answers": answers}, self._last)

    def told(self, answers: Sequence[AnyAnswer]) -> None:
        """That is no span: it is part of a delivery."""

    def gave_up(self, sink: str, letters: Sequence[Rejected]) -> None:
        """That is a figure, and a dead letter."""

    def _begin(self, made: SpanContext) -> None:
        self._last = made
        self._given.clear()

    def _span(
        self,
        name: str,
        seconds: float,
        told: dict[str, str | int],
        parent: SpanContext | None = None,
        others: Sequence[SpanContext] = (),
    ) -> SpanContext:
        """A span that ends now."""
        end = time.time_ns()
        span = self._spans.tracer.start_span(
            name,
            None if parent is None else set_span_in_context(Known(parent)),
            attributes={f"tidelog.{key}": value for key, value in {"program": self._program, **told}.items()},
            links=[Link(other) for other in others],
            start_time=end - int(seconds * 1e9),
        )
        span.end(end)
        return span.get_span_context()
