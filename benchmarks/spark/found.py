"""What a run on Spark has found, as it passes from process to process: all in seconds."""

from __future__ import annotations

import msgspec


class History(msgspec.Struct, frozen=True):
    """A run over history: Spark's start; the first run, in which workers start and the JVM compiles, and one more; of this
    one decoding alone, and what operators take on all cores together. `told` is how many facts it tells."""

    told: int
    start: float
    first: float
    again: float
    decoding: float
    operators: float


class Stream(msgspec.Struct, frozen=True):
    """A stream: Spark's start; each batch, at the end those without facts; what operators take on all cores together."""

    told: int
    start: float
    batches: tuple[float, ...]
    operators: float
