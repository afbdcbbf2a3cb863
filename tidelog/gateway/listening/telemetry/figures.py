"""The figures of `/metrics` as OTLP has them: the same families are read, so both tell the same.

A counter is a sum that only grows, a gauge and what Prometheus calls an info a gauge, a histogram a histogram. Names are
those of `/metrics` without `_total`, which Prometheus puts behind a counter again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client.core import Metric as Family
from prometheus_client.core import Sample

from tidelog.version import VERSION

SCOPE: Final = InstrumentationScope("tidelog", VERSION)
_CUMULATIVE: Final = AggregationTemporality.CUMULATIVE
_UNITS: Final = {"seconds": "s", "bytes": "By"}
"""The unit of figures whose names end so."""


def metrics_data(families: Iterable[Family], resource: Resource, begin: int, now: int) -> MetricsData:
    """All figures, counted since `begin` (nanoseconds since 1970), as they are `now`."""
    metrics = [made for family in families if family.samples and (made := _metric(family, begin, now)) is not None]
    scopes = [ScopeMetrics(SCOPE, metrics, "")]
    return MetricsData([ResourceMetrics(resource, scopes, "")])


def _metric(family: Family, begin: int, now: int) -> Metric | None:
    name, samples = family.name, [one for one in family.samples if not one.name.endswith("_created")]
    unit = _UNITS.get(name.rpartition("_")[2], "")
    if family.type == "histogram":
        return Metric(name, family.documentation, unit, Histogram(_histograms(samples, begin, now), _CUMULATIVE))
    points = [NumberDataPoint(dict(one.labels), begin, now, _number(one.value)) for one in samples]
    if family.type == "counter":
        return Metric(name, family.documentation, unit, Sum(points, _CUMULATIVE, is_monotonic=True))
    return Metric(samples[0].name, family.documentation, unit, Gauge(points)) if samples else None


def _histograms(samples: Sequence[Sample], begin: int, now: int) -> list[HistogramDataPoint]:
    """One for each set of labels. Prometheus counts in each bucket what is in those below it, too."""
    buckets: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
    sums: dict[tuple[tuple[str, str], ...], float] = {}
    for one in samples:
        labels = tuple((name, value) for name, value in one.labels.items() if name != "le")
        if one.name.endswith("_bucket"):
            buckets.setdefault(labels, []).append((float(one.labels["le"]), one.value))
        elif one.name.endswith("_sum"):
            sums[labels] = one.value
    found = []
    for labels, cumulative in buckets.items():
        counts = [int(count) for _, count in cumulative]
        own = [count - before for count, before in zip(counts, [0, *counts], strict=False)]
        bounds = [bound for bound, _ in cumulative[:-1]]
        unknown: Any = None  # the least and the greatest, which are not kept
        total = sums.get(labels, 0.0)
        found.append(HistogramDataPoint(dict(labels), begin, now, counts[-1], total, own, bounds, unknown, unknown))
    return found


def _number(value: float) -> int | float:
    """Counts are whole numbers."""
    return int(value) if float(value).is_integer() and abs(value) < 1 << 53 else value
