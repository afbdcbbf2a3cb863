"""Traces of Timescales: read from its CSV files, and drawn by the parameters that it publishes.

A file has a column `time` and one of 0 or 1 for each proposition. A row holds from behind the row before it up to its own
time: in a condensed trace, rows in which nothing changes are left out. A drawn trace repeats one episode of a property with
random lengths, so that the property holds at each row of it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from random import Random

from benchmarks.suites.monitors import TICK
from tidelog.plans.data.facts import Record

Episode = Callable[[Random, int, int], list[str]]
"""One run through a property with the bounds a and b: the propositions that hold at each row, a letter each."""
_AS_TRUTH = {"0": False, "1": True}
MOST_RECURRENCES = 7


@dataclass(frozen=True, slots=True)
class Row:
    """A stretch of the trace, from `begin` to `end`, both included, and the propositions that hold over it."""

    begin: int
    end: int
    holds: tuple[str, ...]

    def records(self) -> Iterator[Record]:
        """The facts of it, on a timeline of integers."""
        return ((name, (), self.begin, self.end) for name in (TICK, *self.holds))


def read_trace(path: Path) -> Iterator[Row]:
    """The rows of a file, in its order; ValueError with the line for one that cannot be read."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        header = next(lines, [])
        if header[:1] != ["time"] or len(header) < 2:
            raise ValueError(
                f"{path}:1: expected the columns `time` and one for each proposition, found `{','.join(header)}`"
            )
        last: int | None = None
        for values in lines:
            row = _row(f"{path}:{lines.line_num}", header, values, last)
            last = row.end
            yield row


def _row(place: str, header: Sequence[str], values: Sequence[str], last: int | None) -> Row:
    if len(values) != len(header) or not values[0].isdecimal() or not _AS_TRUTH.keys() >= set(values[1:]):
        raise ValueError(f"{place}: expected a time and {len(header) - 1} of 0 or 1, found `{','.join(values)}`")
    time = int(values[0])
    begin = min(time, 1) if last is None else last + 1  # a condensed trace begins at 1, too, without saying so
    if time < begin:
        raise ValueError(f"{place}: expected a time behind {last}, found {time}")
    return Row(begin, time, tuple(name for name, value in zip(header[1:], values[1:], strict=True) if _AS_TRUTH[value]))


@dataclass(frozen=True, slots=True)
class Property:
    """A property of the suite: its name, its formula with the bounds a and b, and an episode in which it holds."""

    name: str
    written: str
    episode: Episode
    is_inverted: bool = False

    def formula(self, a: int, b: int) -> str:
        """Its text, as the suite's grammar has it."""
        return self.written.replace("a:", f"{a}:").replace(":b]", f":{b}]").replace("[b:]", f"[{b}:]")

    def trace(self, a: int, b: int, duration: int, seed: int = 1) -> Iterator[Row]:
        """Episodes until the trace is so long, at least; `always` is `absence` of the opposite."""
        rng, last = Random(seed), 0
        while last < duration:
            for letters in self.episode(rng, a, b):
                last += 1
                yield Row(last, last, self._holds(letters))

    def _holds(self, row: str) -> tuple[str, ...]:
        return tuple(sorted(set(row) ^ {"p"} if self.is_inverted else set(row)))


def _maybe(rng: Random, rows: int) -> list[str]:
    return [rng.choice(("", "p")) for _ in range(rows)]


def _after(rng: Random, _: int, b: int) -> list[str]:
    return ["q", *[""] * b, *_maybe(rng, b)]


def _before(rng: Random, _: int, b: int) -> list[str]:
    return [*_maybe(rng, b), *[""] * b, "r"]


def _between(rng: Random, a: int, b: int) -> list[str]:
    return ["q", *[""] * rng.randint(max(a - 1, 0), b - 1), "r", *_maybe(rng, 1)]


def _recurring(rng: Random, _: int, b: int) -> list[str]:
    return ["p", *[""] * rng.randrange(b)]


def _recurring_between(rng: Random, _: int, b: int) -> list[str]:
    turns = ([*[""] * rng.randrange(b), "p"] for _ in range(rng.randint(1, MOST_RECURRENCES)))
    return ["q", *chain.from_iterable(turns), *[""] * rng.randrange(b), "r", *[""] * rng.randrange(b)]


def _responding(rng: Random, a: int, b: int) -> list[str]:
    return ["p", *[""] * (rng.randint(max(a, 1), b) - 1), "s"]


def _responding_between(rng: Random, a: int, b: int) -> list[str]:
    turns = ([*_responding(rng, a, b), ""] for _ in range(rng.randint(1, MOST_RECURRENCES)))
    return ["q", "", *chain.from_iterable(turns), "r"]


_BETWEEN = "historically ((r && !q && once q) -> ({}))"
_ANSWERED = "(s -> once[a:b] p) && !(!s since[b:] p)"
PROPERTIES = (
    Property("AbsentAQ", "historically ((once[:b] q) -> (!p since q))", _after),
    Property("AbsentBR", "historically (r -> historically[:b] !p)", _before),
    Property("AbsentBQR", _BETWEEN.format("!p since[a:b] q"), _between),
    Property("AlwaysAQ", "historically ((once[:b] q) -> (p since q))", _after, is_inverted=True),
    Property("AlwaysBR", "historically (r -> historically[:b] p)", _before, is_inverted=True),
    Property("AlwaysBQR", _BETWEEN.format("p since[a:b] q"), _between, is_inverted=True),
    Property("RecurGLB", "historically once[:b] p", _recurring),
    Property("RecurBQR", _BETWEEN.format("(once[:b] (p || q)) since q"), _recurring_between),
    Property("RespondGLB", f"historically ({_ANSWERED})", _responding),
    Property("RespondBQR", _BETWEEN.format(f"({_ANSWERED}) since q"), _responding_between),
)
"""The ten of the suite, under the names of its small one."""
