"""What a machine costs, beside the same automaton by hand: a state that is carried from each time to the next.

Each figure is a ratio of times of one run, the machine's to the automaton's, at few and at many machines. There is one event
a moment, for one of the machines in turn.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from benchmarks.figures import Figure, show
from tidelog import Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan

GIVEN = "timeline integer. input begin(m). input go(m, from, to). output state. "
MACHINE = "state(M) := a :- begin(M). state(M) := T :- go(M, F, T), state(M, F)."
BY_HAND = (
    "state(M, a) :- diamondminus[1] begin(M). "
    "state(M, T) :- diamondminus[1] (go(M, F, T), state(M, F)). "
    "state(M, V) :- diamondminus[1] state(M, V), not diamondminus[1] go(M, _, _)."
)
"""It holds as long as each event finds its state, as here: what finds another would end it."""
MACHINES = (1, 20, 200)
EVENTS = 1_500
TIMES = 3
_NAME = "machines"


def run() -> list[Figure]:
    """Time of the machine / time of the automaton by hand, by how many machines there are."""
    machine, by_hand = (compile_program(parse(GIVEN + rules)) for rules in (MACHINE, BY_HAND))
    return [
        Figure(_NAME, f"{count} machines, an event a moment / by hand", _ratio(machine, by_hand, count), target=1.0)
        for count in MACHINES
    ]


def _ratio(machine: Plan, by_hand: Plan, count: int) -> float:
    """The least time of each, taken by turns."""
    events = _events(machine, count)
    times = [(_time(machine, events), _time(by_hand, events)) for _ in range(TIMES)]
    return min(own for own, _ in times) / min(other for _, other in times)


def _events(plan: Plan, count: int) -> list[Record]:
    begins = [plan.record("begin", (number,), 0) for number in range(count)]
    around = ("a", "b", "c")
    return begins + [
        plan.record("go", (i % count, around[i // count % 3], around[(i // count + 1) % 3]), 5 + i) for i in range(EVENTS)
    ]


def _time(plan: Plan, events: Sequence[Record]) -> float:
    session = Session(plan, emit="changes")
    begin = time.process_time()
    for event in events:
        session.push_records([event])
    session.pull_records()
    return time.process_time() - begin


if __name__ == "__main__":
    show(run)
