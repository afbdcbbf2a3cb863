"""What a large program costs before its first fact: to read it, to check and compile it, and to begin a session.

Programs of 100, 1,000 and 10,000 rules. "distinct": each rule has predicates of its own; "limits": the rules read one
predicate, and differ in a limit and a constant; "chain": each rule reads what the one before it derives; "operators": each
rule has predicates of its own, a comparison, a metric operator and a negation, and so becomes several steps; "facts": one
rule, and facts in the program's text, half of them with a time. CPU time, the median of the repeats. Memory: the most that
is held at once while a program is compiled and its session begins, as tracemalloc counts it. Start-up: `tidelog run` on a
program without statements, in a process of its own, by the clock.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.measure import Run, cpu_by_turns
from tidelog.plans.language.parser import parse

SIZES, REPEATS = (100, 1_000, 10_000), 3
MEASURED = 10_000
SECONDS_TARGET, GROWTH_TARGET, MEMORY_TARGET, START_TARGET = 1.0, 1.25, 50.0, 0.32
STARTS = 9


def _distinct(i: int) -> str:
    return f"pair{i}(X, Y) :- left{i}(X, Z), right{i}(Z, Y)."


def _limits(i: int) -> str:
    return f"alarm(X, {i}) :- temp(X, C), C > {i}, zone(X, z{i})."


def _chain(i: int) -> str:
    return f"p{i + 1}(X) :- p{i}(X), base(X, c{i})."


def _operators(i: int) -> str:
    return f"alarm{i}(X) :- temp{i}(X, C), C > 80, diamondminus[0,10] on{i}(X), not ok{i}(X)."


def _facts(i: int) -> str:
    return f"owner(m{i}, u{i % 100}, {i})@[{i},{i + 5}]." if i % 2 else f'owner(m{i}, "u {i % 100}", {i}).'


KINDS: dict[str, Callable[[int], str]] = {
    "distinct": _distinct,
    "limits": _limits,
    "chain": _chain,
    "operators": _operators,
    "facts": _facts,
}


def run() -> list[Figure]:
    """The cost of each kind of program at each size, how it grows, and what start-up takes."""
    return [*(figure for kind in KINDS for figure in _kind(kind)), _start_up()]


def write_program(kind: str, size: int) -> str:
    """A program of so many rules, or facts, of one kind."""
    head = "timeline integer.\n" + ("owned(M) :- owner(M, U, N), N > 5.\n" if kind == "facts" else "")
    return head + "".join(f"{KINDS[kind](i)}\n" for i in range(size))


def _kind(kind: str) -> Iterator[Figure]:
    wholes: list[float] = []
    for size in SIZES:
        text = write_program(kind, size)
        jobs = [partial(_parsing, text), partial(_compiling, text), partial(_beginning, text)]
        parse_time, compile_time, begin_time = cpu_by_turns(jobs, REPEATS)
        whole = compile_time + begin_time
        wholes.append(whole / size)
        of, each = f"{kind}, {size:,}", 1e6 / size
        yield Figure("large", f"{of}: read", parse_time * each, "µs each")
        yield Figure("large", f"{of}: check and compile", (compile_time - parse_time) * each, "µs each")
        yield Figure("large", f"{of}: begin a session", begin_time * each, "µs each")
        yield Figure("large", f"{of}: all", whole, "s", target=SECONDS_TARGET)
    yield Figure(
        "large", f"{kind}: one of {SIZES[-1]:,} / one of {SIZES[-2]:,}", wholes[-1] / wholes[-2], target=GROWTH_TARGET
    )
    peak = _peak(write_program(kind, MEASURED)) / MEASURED / 1e3
    yield Figure("large", f"{kind}, {MEASURED:,}: the most held", peak, "kB each", target=MEMORY_TARGET)


def _parsing(text: str) -> Run:
    return partial(parse, text)


def _compiling(text: str) -> Run:
    return partial(tidelog.compile, text)


def _beginning(text: str) -> Run:
    return partial(tidelog.Session, tidelog.compile(text))


def _peak(text: str) -> int:
    """The most bytes that are held at once between a program's text and its session."""
    tidelog.Session(tidelog.compile("p(X) :- q(X)."))  # what is loaded and read once is no part of it
    tracemalloc.start()
    try:
        tidelog.Session(tidelog.compile(text))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _start_up() -> Figure:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "empty.tide"
        program.write_text("", encoding="utf-8")
        times = [_seconds([sys.executable, "-m", "tidelog", "run", str(program)]) for _ in range(STARTS)]
    return Figure("large", "start and end of `tidelog run` without rules", median(times), "s", target=START_TARGET)


def _seconds(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


if __name__ == "__main__":
    show(run)
