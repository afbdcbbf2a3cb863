"""What hypothetical answers cost beside the forward rules alone, on the program of the wind turbines.

10,000 turbines send one reading at each tick, and one in a hundred is high. "asked": a session whose program asks, and
derives nothing forward; "forward": the same rules as outputs; both with the facts made beforehand. Memory: the partial
answers that are open, and all facts and answers that are kept, along the stream, and with ten times as many high readings,
when ten times as many answers are open. Heartbeats: twenty nodes, each of which may be silent for so long after each beat;
`since`: what must have lasted since a start, or must not have come since then; two diamonds: two of three facts that may
come within thirty ticks; overheating: what has to stay hot for ten ticks; a join: 200 facts that each fit 200 others.
Where a fact changes many answers, each of them has a line, so the cost of a line is shown beside that of a fact.
"""

from __future__ import annotations

import random
from functools import partial
from itertools import pairwise

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.measure import Run, cpu_by_turns
from tidelog.plans.data.facts import Record

TURBINES, TICKS, HIGH = 10_000, 30, 0.01
LONG_TICKS, LONG_TURBINES = 2_000, 500
REPEATS, SEED = 5, 1
CPU_TARGET, FLAT_TARGET, PROPORTION_TARGET = 3.0, 1.25, 1.25
WINDOWS, NODES, BEATS = (10, 120), 20, 400
BETWEEN = ((5, 10), (15, 30), (30, 60))
WINDOW_TARGET, FACT_TARGET, BEAT_TARGET, DIAMONDS_TARGET = 1.5, 0.1, 0.05, 0.2
SHORT_BEATS, JOINED = 100, 200

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
        *_diamonds(),
        *_overheating(),
        *_join(),
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
        Figure("asking", f"a heartbeat, window {WINDOWS[0]}", short, "ms", target=BEAT_TARGET),
        Figure("asking", f"a heartbeat, window {WINDOWS[1]}", long, "ms", target=BEAT_TARGET),
    ]


def _since() -> list[Figure]:
    draw = random.Random(SEED)
    facts: _Ticks = [[("start" if draw.random() < 0.3 else "hot", ("m7",), time, time)] for time in range(BEATS)]
    rules = "timeline integer. input start(m). input hot(m). long(M) :- hot(M) since[{},{}] start(M)."
    figures = []
    for low, high in BETWEEN:
        figures += _fact_and_line(f"since [{low},{high}]", rules.format(low, high), "long(M)@T", facts, FACT_TARGET)
    rules = "timeline integer. input p(x). input q(x). free(X) :- (not p(X)) since[30,60] q(X)."
    quiet: _Ticks = [[(draw.choice("pq"), ("a",), time, time)] for time in range(SHORT_BEATS)]
    return [*figures, *_fact_and_line("(not p) since [30,60]", rules, "free(X)@T", quiet)]


def _diamonds() -> list[Figure]:
    draw = random.Random(SEED)
    facts: _Ticks = [[(draw.choice("pqr"), ("a",), time, time)] for time in range(BEATS)]
    rules = (
        "timeline integer. input p(x). input q(x). input r(x). a(X) :- p(X), diamondplus[1,30] q(X), diamondplus[1,30] r(X)."
    )
    return _fact_and_line("two diamondplus[1,30]", rules, "a(X)@T", facts, DIAMONDS_TARGET)


def _overheating() -> list[Figure]:
    draw = random.Random(SEED)
    facts: _Ticks = [
        [("temp", (f"m{machine}", draw.choice((60, 90, 95))), time, time) for machine in range(NODES)]
        for time in range(SHORT_BEATS)
    ]
    rules = "timeline integer. input temp(m, c). hot(M) :- temp(M, C), C >= 80. over(M) :- boxminus[0,9] hot(M)."
    return _fact_and_line("overheating", rules, "over(M)@T", facts)


def _join() -> list[Figure]:
    facts: _Ticks = [[(name, (f"{name}{i}",), time, time) for i in range(JOINED)] for time, name in enumerate("pq")]
    rules = "timeline integer. input p(x). input q(x). pair(X,Y)@T :- p(X)@T, q(Y)@T+1."
    return _fact_and_line(f"a join, {JOINED} x {JOINED}", rules, "pair(X,Y)@T", facts)


def _fact_and_line(name: str, rules: str, query: str, ticks: _Ticks, target: float | None = None) -> list[Figure]:
    """What a fact costs, and what each line that is told does."""
    (cost,) = cpu_by_turns([partial(_told, rules, query, ticks)], 1)
    lines = _lines(rules, query, ticks)
    facts = sum(map(len, ticks))
    return [
        Figure("asking", f"a fact, {name}", cost / facts * 1e3, "ms", target=target),
        Figure("asking", f"a line, {name}", cost / max(lines, 1) * 1e6, "µs"),
        Figure("asking", f"lines a fact, {name}", lines / facts),
    ]


def _lines(rules: str, query: str, ticks: _Ticks) -> int:
    session = tidelog.Session(tidelog.compile(rules, queries=[query], outputs=False))
    told = 0
    for facts in ticks:
        session.push_records(facts)
        told += len(session.pull_hypothetical())
    return told


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
