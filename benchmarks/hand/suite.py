"""What the engine costs beside what a person would write by hand for one program: `python -m benchmarks.hand.suite`.

Both see the same records, one at a time and in batches, and have to give the same answers. The ratio is what generality
costs; `hand.programs` says what the other side leaves out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.hand.programs import Absence, Disorder, Duration, Hysteresis, Join, Told
from benchmarks.measure import Run, cpu_by_turns
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import EmitMode

FACTS, BATCH, REPEATS, TARGET = 6_000, 100, 5, 5.0
_NAME = "hand"


class _ByHand(Protocol):
    def take(self, record: Record) -> list[Told]: ...

    def finish(self) -> list[Told]: ...


@dataclass(frozen=True, slots=True)
class Case:
    """A program, what does the same by hand, and the facts."""

    name: str
    text: str
    by_hand: Callable[[], _ByHand]
    facts: list[Record]
    emit: EmitMode = "intervals"
    lateness: int = 0

    @property
    def plan(self) -> Plan:
        """The program."""
        return tidelog.compile("timeline integer.\n" + self.text)

    def session(self, plan: Plan) -> tidelog.Session:
        """A session with nothing in it yet."""
        return tidelog.Session(plan, emit=self.emit, lateness=self.lateness)


def cases(facts: int = FACTS) -> list[Case]:
    """The five programs."""
    chance = random.Random(1)
    hot = [("hot", (f"s{i % 50}",), i // 50, i // 50) for i in range(facts) if chance.random() > 0.01]
    late = sorted(hot, key=lambda fact: fact[2] + chance.randrange(Disorder.LATENESS))
    pings = [("ping", (f"s{chance.randrange(50)}",), i // 10, i // 10) for i in range(facts)]
    sides = [(chance.choice(["left", "right"]), (f"k{chance.randrange(50)}", i), i // 10, i // 10) for i in range(facts)]
    switches: list[Record] = [(("off", "on")[i % 2], (f"s{chance.randrange(50)}",), i, i) for i in range(facts)]
    duration = "input hot(s). alarm(S) :- boxminus[0,9] hot(S)."
    absence = "input ping(s). gone(S) :- diamondminus[10,10] ping(S), not diamondminus[0,9] ping(S)."
    join = (
        "input left(k, v). input right(k, v). pair(X, Y) :- diamondminus[0,10] left(K, X), diamondminus[0,10] right(K, Y)."
    )
    hysteresis = "input on(s). input off(s). alarm(S) :- not off(S) since on(S)."
    return [
        Case("duration", duration, Duration, hot),
        Case("disorder", duration, Disorder, late, lateness=Disorder.LATENESS),
        Case("absence", absence, Absence, pings),
        Case("join", join, Join, sides),
        Case("hysteresis", hysteresis, Hysteresis, switches, emit="changes"),
    ]


def run() -> list[Figure]:
    """For each program the ratio, one event at a time and in batches."""
    return [figure for case in cases() for figure in _figures(case)]


def _figures(case: Case) -> list[Figure]:
    plan = case.plan
    check(case, plan)
    figures = []
    for way, size in (("each alone", 1), (f"in batches of {BATCH}", BATCH)):
        batches = [case.facts[i : i + size] for i in range(0, len(case.facts), size)]
        ways = [partial(_engine, case, plan, batches), partial(_hand, case, batches)]
        engine, hand = (seconds / len(case.facts) * 1e6 for seconds in cpu_by_turns(ways, REPEATS))
        figures += [
            Figure(_NAME, f"{case.name}, {way}", engine, "µs"),
            Figure(_NAME, f"{case.name}, {way}, by hand", hand, "µs"),
            Figure(_NAME, f"{case.name}, {way} / by hand", engine / hand, target=TARGET),
        ]
    return figures


def check(case: Case, plan: Plan) -> int:
    """How many answers there are; ValueError unless both give the same."""
    session, by_hand = case.session(plan), case.by_hand()
    session.push_records(case.facts)
    session.finish()
    told = [answer for fact in case.facts for answer in by_hand.take(fact)] + by_hand.finish()
    found = [(row, lo, hi) for _, row, lo, hi in session.pull_records()]
    if _comparable(found, case.emit) != _comparable(told, case.emit):
        raise ValueError(f"the answers of `{case.name}` differ from those that were found by hand")
    return len(told)


def _comparable(told: Sequence[Told], emit: EmitMode) -> object:
    """What is told, as a set: of changes, or else of the times at which each row holds, however they were cut."""
    if emit == "changes":
        return sorted(told)
    return {(row, time) for row, lo, hi in told for time in range(lo, hi + 1)}


def _engine(case: Case, plan: Plan, batches: Sequence[Sequence[Record]]) -> Run:
    session = case.session(plan)
    return partial(_push_each if len(batches[0]) == 1 else _push_batches, session, batches)


def _push_each(session: tidelog.Session, batches: Sequence[Sequence[Record]]) -> int:
    push, pull = session.push, session.pull_records
    answers = 0
    for ((predicate, row, time, _),) in batches:
        push(predicate, row, time)
        answers += len(pull())
    return answers


def _push_batches(session: tidelog.Session, batches: Sequence[Sequence[Record]]) -> int:
    answers = 0
    for batch in batches:
        session.push_records(batch)
        answers += len(session.pull_records())
    return answers


def _hand(case: Case, batches: Sequence[Sequence[Record]]) -> Run:
    take = case.by_hand().take

    def run() -> int:
        answers = 0
        for batch in batches:
            told: list[Told] = []
            for record in batch:
                told += take(record)
            answers += len(told)
        return answers

    return run


if __name__ == "__main__":
    show(run)
