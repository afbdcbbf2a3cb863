"""What hypothetical answers cost beside the forward rules alone, on the program of the wind turbines.

10,000 turbines send one reading at each tick, and one in a hundred is high. "asked": a session whose program asks, and
derives nothing forward; "forward": the same rules as outputs; both with the facts made beforehand. Memory: the partial
answers that are open, and all facts and answers that are kept, along the stream, and with ten times as many high readings,
when ten times as many answers are open. Heartbeats: twenty nodes, each of which may be silent for so long after each beat;
`since`: what must have lasted since a start.
"""

from __future__ import annotations

import random
from functools import partial
from itertools import pairwise

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.measure import Run, cpu_by_turns
from tidelog.plans.facts import Record

TURBINES, TICKS, HIGH = 10_000, 30, 0.01
LONG_TICKS, LONG_TURBINES = 2_000, 500
REPEATS, SEED = 5, 1
CPU_TARGET, FLAT_TARGET, PROPORTION_TARGET = 3.0, 1.25, 1.25
WINDOWS, NODES, BEATS = (10, 120), 20, 400
BETWEEN = ((5, 10), (15, 30), (30, 60))
WINDOW_TARGET, FACT_TARGET = 1.5, 0.1

RULES = """
timeline integer.
input temp(device, level).
flag(X)@T :- temp(X, high)@T.
cool(X)@T+1 :- flag(X)@T, flag(X)@T+1.
shdn(X)@T+1 :- cool(X)@T, flag(X)@T+1.
malf(X)@T-2 :- shdn(X)@T.
"""
QUERY = "malf(X)@T"

_Ticks = list[list[Record]]


def run() -> list[Figure]:
    """CPU a reading, asked over forward, and how memory follows what is open."""
    ticks = _readings(TURBINES, TICKS, HIGH)
    readings = TURBINES * TICKS
    forward, asked = cpu_by_turns([partial(_forward, ticks), partial(_asked, ticks)], REPEATS)
    return [
        Figure("asking", "a reading, asked / forward rules alone", asked / forward, target=CPU_TARGET),
        Figure("asking", "a reading, asked", asked / readings * 1e6, "µs"),
        Figure("asking", "a reading, forward rules alone", forward / readings * 1e6, "µs"),
        *_memory(),
        *_heartbeats(),
        *_since(),
    ]


def _readings(turbines: int, ticks: int, high: float) -> _Ticks:
    draw = random.Random(SEED)
    names = [f"wt{number}" for number in range(turbines)]
    return [
        [("temp", (name, "high" if draw.random() < high else "low"), tick, tick) for name in names] for tick in range(ticks)
    ]


def _forward(ticks: _Ticks) -> Run:
    session = tidelog.Session(tidelog.compile(RULES + "output malf."))

    def push() -> None:
        for facts in ticks:
            session.push_records(facts)
            session.pull_records()

    return push


def _asked(ticks: _Ticks) -> Run:
    return _told(RULES, QUERY, ticks)


def _heartbeats() -> list[Figure]:
    """A fact's cost does not depend on how long an absence lasts."""
    beats = [[("heard", (f"n{node}",), time, time) for node in range(time % 3, NODES, 3)] for time in range(BEATS)]
    rules = "timeline integer. input heard(node). silent(N) :- heard(N), boxplus[1,{}] not heard(N)."
    costs = cpu_by_turns([partial(_told, rules.format(window), "silent(N)@T", beats) for window in WINDOWS], REPEATS)
    short, long = (cost / sum(map(len, beats)) * 1e3 for cost in costs)
    return [
        Figure("asking", f"a heartbeat, window {WINDOWS[1]} / {WINDOWS[0]}", long / short, target=WINDOW_TARGET),
        Figure("asking", f"a heartbeat, window {WINDOWS[1]}", long, "ms", target=FACT_TARGET),
    ]


def _since() -> list[Figure]:
    draw = random.Random(SEED)
    facts: _Ticks = [[("start" if draw.random() < 0.3 else "hot", ("m7",), time, time)] for time in range(BEATS)]
    rules = "timeline integer. input start(m). input hot(m). long(M) :- hot(M) since[{},{}] start(M)."
    runs = [partial(_told, rules.format(low, high), "long(M)@T", facts) for low, high in BETWEEN]
    costs = cpu_by_turns(runs, 1)
    return [
        Figure("asking", f"a fact, since [{low},{high}]", cost / BEATS * 1e3, "ms", target=FACT_TARGET)
        for (low, high), cost in zip(BETWEEN, costs, strict=True)
    ]


def _told(rules: str, query: str, ticks: _Ticks) -> Run:
    session = tidelog.Session(tidelog.compile(rules, queries=[query], outputs=False))

    def push() -> None:
        for facts in ticks:
            session.push_records(facts)
            session.pull_hypothetical()

    return push


def _memory() -> list[Figure]:
    early, late, open_at_end = _stored(HIGH)
    _, dense, open_when_dense = _stored(10 * HIGH)
    growth = (dense / late) / (open_when_dense / open_at_end)
    return [
        Figure("asking", f"stored along the stream, {LONG_TICKS:,} ticks, late / early", late / early, target=FLAT_TARGET),
        Figure("asking", "stored for each that is open, ten times as many / at first", growth, target=PROPORTION_TARGET),
        Figure("asking", "open partial answers, mean", open_at_end),
        Figure("asking", "open partial answers, mean, ten times as many high readings", open_when_dense),
    ]


def _stored(high: float) -> tuple[float, float, float]:
    """The mean of what is stored in the second quarter and in the last, and of the partial answers open in the last."""
    session = tidelog.Session(tidelog.compile(RULES, queries=[QUERY], outputs=False))
    stored: list[int] = []
    opened: list[int] = []
    for facts in _readings(LONG_TURBINES, LONG_TICKS, high):
        session.push_records(facts)
        session.pull_hypothetical()
        for statistics in session.statistics().questions.values():
            stored.append(statistics.open + statistics.facts + statistics.answers)
            opened.append(statistics.open)
    cuts = [len(stored) * i // 4 for i in range(5)]
    means = [sum(stored[begin:end]) / (end - begin) for begin, end in pairwise(cuts)]
    last = opened[cuts[3] :]
    return means[1], means[3], sum(last) / len(last)


if __name__ == "__main__":
    show(run)
