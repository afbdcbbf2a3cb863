"""Streams: a file a batch, with more cores, buckets and keys, and whether batches take longer along the stream.

The first batch does not count for throughput: in it workers start, and the JVM compiles.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

from benchmarks.figures import Figure
from benchmarks.lars.panels import Findings, Panel
from benchmarks.spark.found import Stream
from benchmarks.spark.sizes import Sizes, on_cores

NAME = "spark_stream"

_Found = dict[tuple[int, int], dict[int, Stream]]
"""What was found, by cores and buckets, then by keys."""


@dataclass(frozen=True, slots=True)
class _Batches:
    """The batches of a stream in seconds: the first one, those that have facts, and the others."""

    first: float
    others: tuple[float, ...]
    idle: tuple[float, ...]

    @property
    def early(self) -> float:
        """The median of the first quarter, without the first of all."""
        return median(self.others[: max(1, len(self.others) // 4)])

    @property
    def late(self) -> float:
        """The median of the last quarter."""
        return median(self.others[-max(1, len(self.others) // 4) :])


def measure(sizes: Sizes) -> Findings:
    """AssertionError where a stream tells other facts with other cores or buckets."""
    found: _Found = {case: {} for case in sizes.streams}
    for keys, readings in sizes.readings(sizes.stream_keys):
        for cores, buckets in found:
            print(f"stream, {keys:,} keys, {_line(cores, buckets)} …", file=sys.stderr, flush=True)
            found[cores, buckets][keys] = readings.stream(sizes.batches, cores, buckets)
        told = {line[keys].told for line in found.values()}
        if len(told) > 1:
            raise AssertionError(f"a stream tells {told} facts, with other cores or buckets")
    title = f"The turbine program over a stream of {sizes.rows:,} rows, {sizes.rows // sizes.batches:,} a batch"
    return Findings(NAME, title, _panels(found, sizes), list(_ratios(found, sizes)))


def _line(cores: int, buckets: int) -> str:
    return f"{on_cores(cores)}, {buckets} buckets"


def _batches(stream: Stream, count: int) -> _Batches:
    return _Batches(stream.batches[0], stream.batches[1:count], stream.batches[count:])


def _panels(found: _Found, sizes: Sizes) -> list[Panel]:
    each = sizes.rows / sizes.batches

    def panel(title: str, unit: str, pick: Callable[[_Batches], float]) -> Panel:
        lines = {
            _line(*case): {keys: pick(_batches(stream, sizes.batches)) for keys, stream in line.items()}
            for case, line in found.items()
        }
        return Panel(title, "keys", unit, lines)

    return [
        panel("throughput", "rows/s", lambda batches: each / median(batches.others)),
        panel("first batch", "s", lambda batches: batches.first),
        panel("a batch, early", "s", lambda batches: batches.early),
        panel("a batch, late", "s", lambda batches: batches.late),
        panel("a batch without facts", "s", lambda batches: median(batches.idle or (0.0,))),
        Panel("operators, share of all cores", "keys", "%", _operators(found)),
    ]


def _operators(found: _Found) -> dict[str, dict[int, float]]:
    return {
        _line(cores, buckets): {keys: 100 * stream.operators / cores / sum(stream.batches) for keys, stream in line.items()}
        for (cores, buckets), line in found.items()
    }


def _ratios(found: _Found, sizes: Sizes) -> Iterator[Figure]:
    for (cores, buckets), line in found.items():
        for keys, stream in line.items():
            batches = _batches(stream, sizes.batches)
            yield Figure(
                NAME, f"{keys:,} keys, {_line(cores, buckets)}, a batch, late / early", batches.late / batches.early
            )
