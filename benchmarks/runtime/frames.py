"""A year of readings as an Arrow table: what a row costs on its way to the operators, beside other ways of handing it in.

300,000 readings of fifty sensors, with timestamps. The way to the operators is reading the columns, and the intake:
watermark, and sorting by predicate. Run alone: `python -m benchmarks.runtime.frames`.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pyarrow as pa

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.measure import Job, cpu_by_turns
from tidelog.connectors import JsonDecoder
from tidelog.runtime.frames.arrow import stream_of
from tidelog.runtime.frames.reading import read_stream, reader_of
from tidelog.runtime.intake.intake import Intake

ROWS = 300_000
CALLS = 20_000
"""How many of the rows are handed in one by one, which takes so much longer."""
TARGET = 3.0
"""The most microseconds that a row may cost on its way to the operators."""
_PLAN = tidelog.compile(
    "timeline integer, unit 1 s. input temp(sensor: text, value: number). hot(S) :- temp(S, V), V > 99.5."
)


def readings(count: int) -> pa.Table:
    """Readings in order of time."""
    chance = random.Random(1)
    return pa.table(
        {
            "sensor": [f"s{i % 50}" for i in range(count)],
            "value": [round(chance.uniform(0, 100), 1) for _ in range(count)],
            "time": pa.array(range(1_700_000_000, 1_700_000_000 + count), pa.timestamp("s", "UTC")),
        }
    )


def run(rows: int = ROWS, repeats: int = 3) -> list[Figure]:
    """Microseconds a row, and how many times as much other ways cost."""
    table = readings(rows)
    calls = min(CALLS, rows)
    some = table.slice(0, calls).to_pylist()
    lines = [_line(row) for row in some]
    jobs: dict[str, tuple[Job, int]] = {
        "reading": (lambda: lambda: _read(table), rows),
        "to the operators": (lambda: lambda: _take(table), rows),
        "with the operators": (_job(lambda session: session.push_frame("temp", table)), rows),
        "JSON": (lambda: lambda: JsonDecoder(_PLAN.schema, "lines").decode(lines, 1), calls),
        "calls": (_job(lambda session: _push(session, some)), calls),
    }
    seconds = cpu_by_turns([job for job, _ in jobs.values()], repeats)
    cost = {name: 1e6 * time / count for (name, (_, count)), time in zip(jobs.items(), seconds, strict=True)}
    targets = {"to the operators": TARGET}
    figures = [Figure("frames", f"a row, {name}", cost[name], "µs", targets.get(name)) for name in list(cost)[:3]]
    ratio = cost["to the operators"] / cost["reading"]
    figures.append(Figure("frames", "a row to the operators, as so many readings of its columns", ratio, "×"))
    figures.append(
        Figure("frames", "decoding JSON lines, as so many readings of columns", cost["JSON"] / cost["reading"], "×")
    )
    ratio = cost["calls"] / cost["with the operators"]
    figures.append(Figure("frames", "calls of `push`, as so many frames", ratio, "×"))
    return figures


def _job(push: Callable[[tidelog.Session], object]) -> Job:
    def prepare() -> Callable[[], object]:
        session = tidelog.Session(_PLAN)
        return lambda: push(session)

    return prepare


def _read(table: pa.Table) -> None:
    stream = stream_of(table)
    for _ in read_stream(reader_of(_PLAN.schema, "temp", stream), stream, "temp"):
        pass


def _take(table: pa.Table) -> None:
    intake = Intake(_PLAN, ["frame"])
    stream = stream_of(table)
    for batch in read_stream(reader_of(_PLAN.schema, "temp", stream), stream, "temp"):
        intake.take("frame", batch)


def _push(session: tidelog.Session, rows: list[dict[str, object]]) -> None:
    for row in rows:
        session.push("temp", [row["sensor"], row["value"]], time=row["time"])


def _line(row: dict[str, object]) -> bytes:
    time = f"{row['time']:%Y-%m-%dT%H:%M:%SZ}"
    return f'{{"temp":{{"sensor":"{row["sensor"]}","value":{row["value"]}}},"time":"{time}"}}'.encode()


if __name__ == "__main__":
    show(run)
