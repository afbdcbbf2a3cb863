"""What aggregates cost: a mean whatever the window's length, many groups, late facts, and thresholds beside a plain ◇.

The stream has a reading at each time point, in batches of 1,000; with many groups 50 of them, each of a random one.

One group and many are compared in three ways, since they do not tell the same. With one group, what comes in and what
leaves at a time point change one answer. With many, each reading ends the answer of a group of its own and begins another;
and as intervals, what goes on holding is told again now and then. So there is a figure a fact, a figure an answer, and one a
fact with as many answers on both sides: maximal intervals, one reading a time point, none of which leaves before the stream
ends. In the last, many groups make 1.3 times the calls; the rest is the memory that 10,000 groups take.

Beside it, a mean over a deque and a running sum, as one would write it by hand for one group: it tells a value for each
reading, in floats that drift, takes no late ones and tells no ends.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.measure import Run, cpu_by_turns, push_all
from tidelog.plans.data.facts import Record

READINGS, BATCH, REPEATS = 40_000, 1_000, 3
GROUPS, AT_ONCE = 10_000, 50
LATENESS, DELAY = 200, 150
FEW, MANY = "mean, window 1,000", "mean, 10,000 groups"
FEW_ALIKE, MANY_ALIKE = "mean, as many answers", "mean, 10,000 groups, as many answers"
HEAD = "timeline integer. input temp(s, v). output m. "
MEAN = HEAD + "m(S, A) :- A = avg(V) over temp(S, V) in [{}] by S."
COUNT = HEAD + "m(S) :- count() over temp(S, _) in [100] by S >= {}."
DIAMOND = HEAD + "m(S) :- sometime temp(S, _) in [100]."


def run() -> list[Figure]:
    """CPU a fact and an answer, and ratios to the same with another window, one group, or facts in order."""
    draw = random.Random(1)
    values = [round(draw.gauss(20, 5), 2) for _ in range(READINGS)]
    one: list[Record] = [("temp", ("a", value), time, time) for time, value in enumerate(values)]
    many: list[Record] = [
        ("temp", (f"s{draw.randrange(GROUPS)}", value), i // AT_ONCE, i // AT_ONCE) for i, value in enumerate(values)
    ]
    apart: list[Record] = [(name, row, time, time) for time, (name, row, _, _) in enumerate(many)]
    late = [record for _, record in sorted((record[2] + draw.randrange(DELAY), record) for record in one)]
    jobs = {
        "mean, window 10": partial(_job, MEAN.format(10), one),
        "mean, window 1,000": partial(_job, MEAN.format(1_000), one),
        "mean, window 100,000": partial(_job, MEAN.format(100_000), one),
        "mean, 10,000 groups": partial(_job, MEAN.format(1_000), many),
        FEW_ALIKE: partial(_to_the_end, one),
        MANY_ALIKE: partial(_to_the_end, apart),
        "mean, late facts": partial(_job, MEAN.format(1_000), late, LATENESS),
        "mean, in order": partial(_job, MEAN.format(1_000), one, LATENESS),
        "count() >= 5": partial(_job, COUNT.format(5), one),
        "◇": partial(_job, DIAMOND, one),
        "mean by hand": partial(_by_hand, values),
    }
    costs = dict(zip(jobs, cpu_by_turns(list(jobs.values()), REPEATS), strict=True))
    short, one_group, groups = (costs[name] for name in ("mean, window 10", FEW, MANY))
    told = {name: _answers(jobs[name]) for name in (FEW, MANY)}
    alike = costs[MANY_ALIKE] / costs[FEW_ALIKE]
    return [
        *(Figure("aggregates", f"{name}, a fact", cost / READINGS * 1e6, "µs", _most(name)) for name, cost in costs.items()),
        Figure("aggregates", "mean, window 1,000 / window 10", costs["mean, window 1,000"] / short, target=1.3),
        Figure("aggregates", "mean, window 100,000 / window 10", costs["mean, window 100,000"] / short, target=1.3),
        Figure("aggregates", "mean, 10,000 groups / one, a fact, as many answers", alike, target=1.5),
        Figure("aggregates", "mean, 10,000 groups / one, a fact", groups / one_group, target=1.5),
        *(Figure("aggregates", f"{name}, an answer", costs[name] / told[name] * 1e6, "µs") for name in (FEW, MANY)),
        Figure(
            "aggregates", "mean, 10,000 groups / one, an answer", groups / told[MANY] / (one_group / told[FEW]), target=1.5
        ),
        Figure("aggregates", "mean, late / in order", costs["mean, late facts"] / costs["mean, in order"], target=3),
        Figure("aggregates", "count() >= 5 / ◇", costs["count() >= 5"] / costs["◇"], target=2),
    ]


def _most(name: str) -> float | None:
    return 8 if name.startswith("mean, window") else None


def _job(program: str, records: Sequence[Record], lateness: int = 0) -> Run:
    session = tidelog.Session(tidelog.compile(program), lateness=lateness)
    return partial(push_all, session, [records[i : i + BATCH] for i in range(0, len(records), BATCH)])


def _to_the_end(records: Sequence[Record]) -> Run:
    session = tidelog.Session(tidelog.compile(MEAN.format(100_000)), emit="final")
    batches = [records[i : i + BATCH] for i in range(0, len(records), BATCH)]

    def run() -> int:
        told = push_all(session, batches)
        session.finish()
        return told + len(session.pull_records())

    return run


def _answers(job: Callable[[], Run]) -> int:
    """How many answers a job tells."""
    told = job()()
    return told if isinstance(told, int) else 0


def _by_hand(values: Iterable[float]) -> Run:
    def mean() -> list[float]:
        window: deque[tuple[int, float]] = deque()
        told, total = [], 0.0
        for time, value in enumerate(values):
            window.append((time, value))
            total += value
            while window[0][0] < time - 1_000:
                total -= window.popleft()[1]
            told.append(total / len(window))
        return told

    return mean


if __name__ == "__main__":
    show(run)
