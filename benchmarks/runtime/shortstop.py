"""The whole way of a fact, from bytes read to text printed, against decoding the same facts as JSON and nothing else.

The program is that of section 7.2 of Wałęga, Kaminski, Wang and Cuenca Grau, "Stream reasoning with DatalogMTL" (2023), over
made-up traffic like the paper's stream S1; over S1 itself too, where it lies in `shared/data` beside the repository. Facts
come from a file, as text or as JSON lines, and answers go to the null device as text: source, decoder, intake, operators,
emission, encoder, sink. The yardstick is `msgspec.json.decode` of each line, into dicts and lists; decoding into a typed
struct is quicker, so it is shown as well. "Many vehicles": hardly any vehicle reports twice, so that no cache helps.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import msgspec

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.measure import Job, Run, cpu_by_turns
from benchmarks.runtime.traffic import Report, as_json, as_text, traffic

PROGRAM = """
NotPos(V) :- NotOnMap(V)
ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]NotPos(V)
ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]Pos(V), Boxminus[3,3]NotPos(V)
ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]Pos(V), Boxminus[3,3]Pos(V), Boxminus[4,4]NotPos(V)
ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]Pos(V), Boxminus[3,3]Pos(V), Boxminus[4,4]Pos(V), \
Boxminus[5,5]NotPos(V)
output ShortStop
"""
S1 = Path(__file__).parents[3] / "shared" / "data" / "S1.txt"
TARGET = 12.0
REPEATS = 5

_S1_LINE = re.compile(r"(\w+)\((\w+)\)@\[(\d+),")


class _Fact(msgspec.Struct):
    """A JSON line of the traffic, typed."""

    predicate: str
    args: tuple[str, ...]
    time: int


def run() -> list[Figure]:
    """CPU per fact on both backends and in both formats, as multiples of msgspec's decoding."""
    figures = _measure("generated", list(traffic()))
    figures += _measure("many vehicles", list(traffic(vehicles=100_000)), target=None)
    if S1.exists():
        figures += _measure("S1", [Report(m[1], m[2], int(m[3])) for m in _S1_LINE.finditer(S1.read_text())])
    return figures


def _measure(stream: str, reports: list[Report], target: float | None = TARGET) -> list[Figure]:
    text, lines = as_text(reports), as_json(reports)
    with tempfile.TemporaryDirectory() as folder:
        facts, jsonl = Path(folder, "traffic.txt"), Path(folder, "traffic.jsonl")
        facts.write_text(text)
        jsonl.write_text(lines)
        ways = [(path, backend) for path in (facts, jsonl) for backend in ("trio", "asyncio")]
        yardsticks = _decoders(lines.encode().splitlines())
        untyped, typed, *times = cpu_by_turns([*yardsticks, *(partial(_reasoning, *way) for way in ways)], REPEATS)
    figures = [
        Figure("shortstop", f"{stream}, {_format(path)}, {backend}, CPU / msgspec untyped", spent / untyped, target=target)
        for (path, backend), spent in zip(ways, times, strict=True)
    ]
    figures += [
        Figure("shortstop", f"{stream}, {_format(path)}, {backend}, CPU / msgspec typed", spent / typed)
        for (path, backend), spent in zip(ways, times, strict=True)
    ]
    named = [("msgspec untyped", untyped), ("msgspec typed", typed)]
    named += [(f"{_format(path)}, {backend}", spent) for (path, backend), spent in zip(ways, times, strict=True)]
    return figures + [
        Figure("shortstop", f"{stream}, {name}, a fact", spent / len(reports) * 1e6, "µs") for name, spent in named
    ]


def _format(path: Path) -> str:
    return "jsonl" if path.suffix == ".jsonl" else "facts"


def _decoders(lines: list[bytes]) -> list[Job]:
    """What the engine is compared with: each line decoded, untyped and typed."""
    decodes: list[Callable[[bytes], object]] = [msgspec.json.decode, msgspec.json.Decoder(_Fact).decode]
    return [partial(partial, _decode_all, decode, lines) for decode in decodes]


def _decode_all(decode: Callable[[bytes], object], lines: list[bytes]) -> None:
    for line in lines:
        decode(line)


def _reasoning(path: Path, backend: str) -> Run:
    source = tidelog.open_source(f"{_format(path)}+file:{path}", _PLAN.schema)
    sink = tidelog.open_sink(f"facts+file:{os.devnull}", _PLAN.schema)
    return partial(anyio.run, tidelog.Engine(_PLAN, [source], [sink]).run, backend=backend)


_PLAN = tidelog.compile(PROGRAM, name="shortstop")

if __name__ == "__main__":
    show(run)
