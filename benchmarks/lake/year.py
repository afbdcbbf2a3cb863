"""A year of gateways in a table: `python -m benchmarks.lake.year PLACE [--nodes N] [--days N] [--batches N] [--facts N]`.

Each day has so many batches, each of so many facts in all, of drawn nodes and sensors, in the day's own times. After each
thirtieth part of the days it prints: batches, seconds of CPU a commit in this part, and files and bytes there are, with what
the log or the snapshots take; in the end what `optimize` and `vacuum` make of it. PLACE is that of `tidelog ingest`.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Iterator, Sequence

from tidelog.connectors.lake.arguments import parse_fields
from tidelog.connectors.lake.opening import open_lake
from tidelog.connectors.lake.upkeep import compact
from tidelog.connectors.lake.writing import Parcel, TableWriter
from tidelog.connectors.outbox.file import OutboxRow, OutboxSchema

DAY = 86_400
START = 20_454 * DAY
"""1 January 2026."""
SENSORS = 40


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table, and print what it costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place")
    parser.add_argument("--folder", help="where its files are, to count them: by default PLACE")
    for name, number in (("nodes", 50), ("days", 365), ("batches", 4), ("facts", 1_000_000)):
        parser.add_argument(f"--{name}", type=int, default=number)
    options = parser.parse_args(arguments)
    lake = open_lake(options.place)
    writer = TableWriter(lake, "hot", dates=True)
    folder = options.folder or options.place
    commits = options.days * options.batches
    numbers = dict.fromkeys(range(options.nodes), 0)
    draw = random.Random(7)
    spent, begun = 0.0, 0
    for number in range(commits):
        parcels = list(_parcels(draw, numbers, number / options.batches, options.facts // commits))
        before = time.process_time()
        writer.write(parcels)
        spent += time.process_time() - before
        if (number + 1) % max(1, commits // 12) == 0 or number + 1 == commits:
            _print(folder, f"{number + 1} batches, {spent / (number + 1 - begun):.3f} s of CPU each")
            spent, begun = 0.0, number + 1
    table = lake.open("hot")
    if table is None:
        raise SystemExit("the table is gone")
    for what, work in (("optimize", lambda: compact(table, 128 << 20)), ("vacuum", lambda: table.vacuum(0))):
        before = time.process_time()
        done = work()
        _print(folder, f"{what}: {done}, {time.process_time() - before:.1f} s of CPU, {len(table.files())} files")


def _parcels(draw: random.Random, numbers: dict[int, int], day: float, facts: int) -> Iterator[Parcel]:
    rows: dict[int, list[OutboxRow]] = {}
    for _ in range(facts):
        node = draw.randrange(len(numbers))
        numbers[node] += 1
        low = START + int(day * DAY) + draw.randrange(DAY // 4)
        text = f'["s{draw.randrange(SENSORS)}",{draw.randrange(600) / 10}]'
        moment = low * 1_000_000
        ends = (str(low), str(low + draw.randrange(600)), False, False)
        rows.setdefault(node, []).append(OutboxRow(numbers[node], "hot", text, *ends, str(low), moment))
    column = parse_fields("sensor: text, value: number")
    for node, own in rows.items():
        schema = OutboxSchema(f"gw{node}", f"box{node:04}", "integer", "1", {})
        yield Parcel(schema, column, own, own[-1].seq)


def _print(folder: str, what: str) -> None:
    kinds = {"data": [0, 0], "log": [0, 0]}
    for path, _, names in os.walk(folder):
        for name in names:
            kind = kinds["log" if "_delta_log" in path or "metadata" in path else "data"]
            kind[0] += 1
            kind[1] += os.path.getsize(os.path.join(path, name))
    told = ", ".join(f"{kind}: {count} files, {size / 1e6:.1f} MB" for kind, (count, size) in kinds.items())
    print(f"{what}; {told}", flush=True)


if __name__ == "__main__":
    main()
