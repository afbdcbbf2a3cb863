"""Readings of wind turbines, drawn: the program of `examples/turbines` without its question, and files of readings.

All turbines send at each time; most readings are low. With one in 50 a run of high ones begins, of 1 to 5, and one in 1,000
of the others is `n/a`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "examples" / "turbines" / "turbines.tide"
HEADER = "device,level,time\n"

_RUN, _SILENT = 0.02, 0.001
_LONGEST = 5
_SEED = 2020


def write_program(path: Path) -> None:
    """The program that tells malfunctions, too, and is asked for none in advance: that needs one session for all."""
    lines = PROGRAM.read_text("utf-8").replace("output shdn.", "output shdn, malf.").splitlines()
    path.write_text("\n".join(line for line in lines if not line.startswith("ask ")), "utf-8")


WHOLE = """
timeline integer.
input temp(device: text, level: text).
output change, storm.
change(X)@T+1 :- temp(X, L)@T, temp(X, M)@T+1, L != M.
storm(X) :- count() over change(X) in [20] by X >= 5.
"""
"""Rules that need every reading: none of them is left out before it is joined."""


def levels(keys: int) -> Iterator[str]:
    """The levels of so many turbines, over and over in order; the same each time."""
    draw = random.Random(_SEED)
    left = [0] * keys
    while True:
        for key in range(keys):
            number = draw.random()
            if left[key]:
                left[key] -= 1
                yield "high"
            elif number < _RUN:
                left[key] = draw.randrange(_LONGEST)
                yield "high"
            else:
                yield "n/a" if number < _RUN + _SILENT else "low"


def readings(keys: int, rows: int) -> list[tuple[str, str, int]]:
    """So many readings of so many turbines, in order of time: device, level, time."""
    drawn = levels(keys)
    return [(f"wt{place % keys:06}", next(drawn), place // keys) for place in range(rows)]


def write_csv(folder: Path, found: Sequence[tuple[str, str, int]], files: int) -> None:
    """The readings, cut into so many files of CSV, named in order of time."""
    folder.mkdir()
    for number, piece in enumerate(_cut(found, files)):
        text = "".join(f"{device},{level},{time}\n" for device, level, time in piece)
        (folder / f"temp-{number:03}.csv").write_text(HEADER + text, "utf-8")


def write_parquet(folder: Path, found: Sequence[tuple[str, str, int]], files: int) -> None:
    """The same as Parquet."""
    import pyarrow as pa  # noqa: PLC0415 - the benchmarks that need no Spark do without
    import pyarrow.parquet as pq  # noqa: PLC0415 - the benchmarks that need no Spark do without

    folder.mkdir()
    for number, piece in enumerate(_cut(found, files)):
        columns = dict(zip(("device", "level", "time"), map(list, zip(*piece, strict=True)), strict=True))
        pq.write_table(pa.table(columns), folder / f"temp-{number:03}.parquet")


def _cut(found: Sequence[tuple[str, str, int]], files: int) -> Iterator[Sequence[tuple[str, str, int]]]:
    each = -(-len(found) // files)
    return (found[begin : begin + each] for begin in range(0, len(found), each))
