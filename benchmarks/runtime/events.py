"""What an event costs that comes alone: pushed and pulled by itself, whatever else the program holds.

Each figure is a ratio to one unit of work, measured in the same run: to decode the event from a line of JSON, and to put it
into a dictionary. Beside other rules, which read other predicates or other constants, and beside rows that are open
(`p, not q`, nothing happening to them) an event should cost what it costs by itself: so the counts tell how many operators
were called for one event.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median, quantiles
from unittest.mock import patch

import msgspec

import tidelog
from benchmarks.figures import Figure, show
from tidelog.operators.operator import Operator
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.ports.interfaces import EmitMode
from tidelog.runtime.sessions.session import Session

EVENTS, WARM_UP = 3_000, 300
RULES = (1, 10, 100, 1_000)
OPEN = (0, 100, 1_000, 10_000)
SPREAD = 1.5
UNITS = 13.0
SWITCHES, RARELY = 26.0, 260.0
TICK_UNITS = 30.0
MODES: tuple[EmitMode, ...] = ("intervals", "changes")
_NAME = "events"

Event = tuple[str, list[Value], int]

ALIKE: dict[str, tuple[str, str, list[Value]]] = {
    "other predicates": ("alarm{i}(X) :- boxminus[0,3] hot{i}(X).\n", "hot0", ["a"]),
    "other constants": ("alarm(X, c{i}) :- temp(X, c{i}).\n", "temp", ["a", "c0"]),
    "other limits": ("alarm{i}(X) :- temp(X, V), V >= {i}.\n", "temp", ["a", 0]),
}


def run() -> list[Figure]:
    """The cost of an event by the number of rules, and of a tick by the number of open rows."""
    unit = _unit()
    figures = [Figure(_NAME, "decoding an event, and putting it into a dictionary", unit * 1e6, "µs")]
    for name, (rule, predicate, row) in ALIKE.items():
        costs = [_cost(among(rule, count), each(predicate, row)) for count in RULES]
        for count, cost in zip(RULES, costs, strict=True):
            target = UNITS if count == 1 else None
            figures.append(Figure(_NAME, f"one of {count} rules over {name} / unit", cost[0] / unit, target=target))
        figures += [
            Figure(_NAME, f"{name}: {RULES[-1]} rules / one", costs[-1][0] / costs[0][0], target=SPREAD),
            Figure(_NAME, f"{name}: calls of operators an event, {RULES[-1]} rules", costs[-1][1]),
        ]
    for mode in MODES:
        for count in OPEN:
            tick, calls = _ticks(count, mode)
            figures.append(Figure(_NAME, f"a tick beside {count} open rows, {mode} / unit", tick / unit, target=TICK_UNITS))
            figures.append(Figure(_NAME, f"a tick beside {count} open rows, {mode}: calls of operators", calls))
    rule, predicate, row = ALIKE["other predicates"]
    alone = latencies(among(rule, 1), each(predicate, row), "intervals")
    figures += _spread("one rule", alone, unit, UNITS)
    for mode in MODES:
        times = latencies(tidelog.compile(HYSTERESIS), switches, mode)
        figures += _spread(f"hysteresis, {mode}", times, unit, SWITCHES)
    return figures


def _spread(name: str, costs: Sequence[float], unit: float, target: float) -> list[Figure]:
    """The cost of an event, and what 99 of 100, and 999 of 1,000, stay below."""
    return [
        Figure(_NAME, f"{name} / unit", median(costs) / unit, target=target),
        Figure(_NAME, f"{name}, 99 of 100 / unit", quantiles(costs, n=100)[-1] / unit),
        Figure(_NAME, f"{name}, 999 of 1,000 / unit", quantiles(costs, n=1000)[-1] / unit, target=RARELY),
    ]


HYSTERESIS = "timeline integer. input on(s). input off(s). alarm(S) :- not off(S) since on(S)."


def switches(number: int) -> Event:
    """Fifty switches, of which half are on: by turns the one that is off longest is turned on, and one is turned off."""
    turn = number // 2
    return ("on", [f"s{turn % 50}"], number) if number % 2 else ("off", [f"s{(turn + 25) % 50}"], number)


def among(rule: str, count: int) -> tidelog.Plan:
    return tidelog.compile("timeline integer.\n" + "".join(rule.format(i=i) for i in range(count)))


def each(predicate: str, row: list[Value]) -> Callable[[int], Event]:
    return lambda number: (predicate, row, number)


def _unit() -> float:
    """The seconds that it takes to decode an event and to put it into a dictionary."""
    line, decode, seen = b'{"predicate":"hot0","args":["a"],"time":17}', msgspec.json.decode, {}
    times = []
    for _ in range(EVENTS):
        begin = time.perf_counter()
        event = decode(line)
        seen[tuple(event["args"])] = event["time"]
        times.append(time.perf_counter() - begin)
    return median(times)


def _cost(plan: tidelog.Plan, event: Callable[[int], Event]) -> tuple[float, float]:
    """The median seconds of an event, and how many operators are called for it."""
    return median(latencies(plan, event, "intervals")), _calls(Session(plan), [event(number) for number in range(100)])


def latencies(plan: tidelog.Plan, event: Callable[[int], Event], emit: EmitMode) -> list[float]:
    session = Session(plan, emit=emit)
    times = []
    for number in range(WARM_UP + EVENTS):
        predicate, row, at = event(number)
        begin = time.perf_counter()
        session.push(predicate, row, at)
        session.pull()
        times.append(time.perf_counter() - begin)
    return times[WARM_UP:]


def _calls(session: Session, events: Sequence[Event]) -> float:
    """How many operators are called for an event, on average."""
    before = _evaluations(session)
    for predicate, row, at in events:
        session.push(predicate, row, at)
    return (_evaluations(session) - before) / len(events)


def _evaluations(session: Session) -> int:
    return sum(step.evaluations for step in session.statistics().steps.values())


def _ticks(count: int, emit: EmitMode) -> tuple[float, float]:
    """The median seconds of a tick beside rows that are open, and how many operators are called at it."""
    session = Session(tidelog.compile("timeline integer. input p(x). input q(x). r(X) :- p(X), not q(X)."), emit=emit)
    for number in range(count):
        session.push("p", [f"x{number}"], interval="[0,1000000]")
    session.advance(1)
    session.pull()
    ticks = 200
    times = []
    for tick in range(2, ticks + 2):
        begin = time.perf_counter()
        session.advance(tick)
        session.pull()
        times.append(time.perf_counter() - begin)
    receive, advance, calls = Operator.receive, Operator.advance, Counter[str]()

    def counted(
        operator: Operator, port: int, facts: Sequence[Fact], frontier: int, notices: Notices | None = None
    ) -> list[Fact]:
        calls["receive"] += 1
        return receive(operator, port, facts, frontier, notices)

    def counted_advance(operator: Operator, frontiers: Sequence[int]) -> list[Fact]:
        calls["advance"] += 1
        return advance(operator, frontiers)

    with patch.object(Operator, "receive", counted), patch.object(Operator, "advance", counted_advance):
        for tick in range(ticks + 2, ticks + 12):
            session.advance(tick)
    return median(times), calls.total() / 10


if __name__ == "__main__":
    show(run)
