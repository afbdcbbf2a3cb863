"""How much is measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.spark.runs import Readings


@dataclass(frozen=True, slots=True)
class Sizes:
    """So many rows; over history of these numbers of keys, CSV on each of these numbers of cores, and Parquet on the last of
    them; as a stream in so many batches, of other numbers of keys, with these cores and buckets."""

    rows: int
    keys: Sequence[int]
    cores: Sequence[int]
    batches: int
    stream_keys: Sequence[int]
    streams: Sequence[tuple[int, int]]

    def readings(self, keys: Sequence[int]) -> Iterator[tuple[int, Readings]]:
        """The readings of each number of keys, there while they are measured."""
        for number in keys:
            with TemporaryDirectory() as folder:
                yield number, Readings(Path(folder), number, self.rows)


USUAL = Sizes(
    rows=1_000_000,
    keys=(10, 1_000, 100_000),
    cores=(1, 2),
    batches=10,
    stream_keys=(100, 10_000),
    streams=((1, 8), (2, 8), (2, 32)),
)
SMOKE = Sizes(20_000, keys=(10,), cores=(2,), batches=3, stream_keys=(10,), streams=((2, 4),))


def on_cores(number: int) -> str:
    """How a line is called."""
    return "1 core" if number == 1 else f"{number} cores"
