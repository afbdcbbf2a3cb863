"""What it costs that rows stand until further notice, beside the same plan that tells them piece by piece.

Each figure is a ratio of times of one run: notices to pieces, beside few rows that stand and beside many. There are two
streams. In the first there is one event a moment; a quarter of the events end a row, and another quarter let one begin
again. In the second there are fifty events a moment, of which one in two hundred ends a row or lets one begin.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.figures import Figure, show
from tidelog import Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan

GIVEN = "timeline integer. input on(x). input off(x). input e(x). m(X) :- not off(X) since on(X). "
RULES = {
    "join": "o(X) :- m(X), e(X). output o.",
    "negation": "o(X) :- e(X), not m(X). output o.",
    "since": "o(X) :- m(X) since[0,3] e(X). output o.",
    "box": "o(X) :- boxminus[0,2] m(X), e(X). output o.",
    "count": "o(N) :- N = count() over (m(X), e(X)) in [3]. output o.",
    "threshold": "o() :- count() over (m(X), e(X)) in [3] >= 2. output o.",
    "loop": "o(X) :- m(X), e(X). o(X) :- o(X), m(X). output o.",
}
STANDING = (1, 20, 200, 2_000)
STREAMS = {
    "alone": (1, 800, 1, 4),
    "in batches of 500": (500, 3_000, 1, 4),
    "50 a moment, in batches of 1,000": (1_000, 20_000, 50, 400),
}
"""By the name of a stream how long its batches are, how many events it has, how many a moment, and how often a row changes:
of so many events one ends a row and one lets it begin again."""
TIMES = 3
TARGET = 1.1
_NAME = "standing"


def run() -> list[Figure]:
    """Time with notices / time with pieces, for each operator, by how many rows stand, alone and in batches."""
    figures: list[Figure] = []
    for name, rule in RULES.items():
        program = parse(GIVEN + rule)
        notices = compile_program(program)
        pieces = replace(notices, announcing={})
        for kind, (batch, number, at_once, change) in STREAMS.items():
            for count in STANDING:
                events = _events(notices, count, number, at_once, change)
                ratio = _ratio(notices, pieces, count, events, batch)
                figures.append(Figure(_NAME, f"{name} beside {count} standing rows, {kind} / pieces", ratio, target=TARGET))
    return figures


def _events(plan: Plan, count: int, number: int, at_once: int, change: int) -> list[Record]:
    changes = {change // 2: "off", change - 1: "on"}
    return [
        plan.record(
            changes.get(i % change, "e"), (i // change % count if i % change in changes else i % count,), 10 + i // at_once
        )
        for i in range(number)
    ]


def _ratio(notices: Plan, pieces: Plan, count: int, events: Sequence[Record], batch: int) -> float:
    """The least time of each, taken by turns."""
    turns = [(_cost(notices, count, events, batch), _cost(pieces, count, events, batch)) for _ in range(TIMES)]
    return min(first for first, _ in turns) / min(second for _, second in turns)


def _cost(plan: Plan, count: int, events: Sequence[Record], batch: int) -> float:
    session = Session(plan, emit="changes")
    session.push_records([plan.record("on", (i,), 0) for i in range(count)])
    session.pull_records()
    before = time.process_time()
    for i in range(0, len(events), batch):
        session.push_records(events[i : i + batch])
        session.pull_records()
    return time.process_time() - before


if __name__ == "__main__":
    show(run)
