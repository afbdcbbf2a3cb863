"""Histories to measure with, as files: Parquet and CSV with the same rows.

1,000 sensors, or as many as one says, are read every ten seconds with a chance of one in four; a reading is a text, a time
and a number of two decimals. No sensor is read twice at one time. Edges lie between the nodes of small groups, forward only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

KEYS, EVERY, CHANCE = 1_000, 10, 0.25
DELAY = 100
"""So many seconds at most a reading comes late, where the history is out of order."""
NODES = 4
_PART = 1_000_000


def write_history(kind: str, rows: int, folder: Path, keys: int = KEYS) -> Path:
    """A history of about so many rows: `temp`, `late` (the same out of order) or `edge`; its path without an ending."""
    path = folder / f"{kind}_{rows}_{keys}"
    first = next(_parts(kind, 1, keys))
    with (
        pa.parquet.ParquetWriter(f"{path}.parquet", first.schema) as parquet,
        pa.csv.CSVWriter(f"{path}.csv", first.schema, write_options=pa.csv.WriteOptions(quoting_style="needed")) as lines,
    ):
        for part in _parts(kind, rows, keys):
            parquet.write_table(part)
            lines.write_table(part)
    return path


def _parts(kind: str, rows: int, keys: int) -> Iterator[Any]:
    """Tables of a history, one behind the other."""
    draw = np.random.default_rng(1)
    done = ticks = 0
    while done < rows:
        some = min(_PART, rows - done)
        count = max(1, round(some / (keys * CHANCE)))
        there = draw.random((count, keys)) < CHANCE
        tick, key = np.nonzero(there)
        times = (ticks + tick) * EVERY
        ticks += count
        done += some
        yield _edges(key, times, draw) if kind == "edge" else _readings(key, times, draw, is_late=kind == "late")


def _readings(key: Any, times: Any, draw: np.random.Generator, *, is_late: bool) -> Any:
    values = np.round(draw.normal(80, 10, len(key)), 2)
    if is_late:
        order = np.argsort(times + draw.integers(0, DELAY, len(times)), kind="stable")
        key, times, values = key[order], times[order], values[order]
    return pa.table({"r": _names("sensor", key, int(key.max(initial=0)) + 1), "v": values, "time": times})


def _edges(key: Any, times: Any, draw: np.random.Generator) -> Any:
    begin = draw.integers(0, NODES - 1, len(key))
    end = begin + 1 + (draw.random(len(key)) * (NODES - 1 - begin)).astype(np.int64)
    x, y = (key * NODES + node for node in (begin, end))
    nodes = int(y.max(initial=0)) + 1
    return pa.table({"x": _names("n", x, nodes), "y": _names("n", y, nodes), "time": times})


def _names(stem: str, numbers: Any, count: int) -> Any:
    words = pa.array([f"{stem}{number}" for number in range(count)])
    return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32)), words).cast(pa.string())
