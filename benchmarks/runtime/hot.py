"""Where a fact spends its time: joins, points, JSON lines, recursion, rules by constants, garbage collection.

Beside each cost stands its ratio to the least that a fact can cost, measured by turns with it: decoding its JSON line into a
typed struct, and one insertion into a dict. "Host's collector" is a program with Python's own thresholds, as one that embeds
a session has; the other figures are with garbage collected as seldom as by `tidelog run`.
"""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections.abc import Sequence
from functools import partial

import msgspec

import tidelog
import tidelog.connectors
from benchmarks.figures import Figure, show
from benchmarks.lars.laser import JOIN
from benchmarks.lars.sessions import FullWindow, collecting_seldom
from benchmarks.lars.streams import pairs
from benchmarks.measure import Run, cpu_by_turns
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.emission.modes import emission

WINDOW, TICKS, REPEATS = 20, 20, 5
RATE, THIN = 800, 200
RULES = 10
HOLDING, ROWS = 80, 100
LINES = 20_000
JOIN_TARGET, JOINS_TARGET, POINTS_TARGET, LINE_TARGET, LINK_TARGET, CONSTANT_TARGET = 8.0, 60.0, 5.0, 1.0, 30.0, 5.0
CONSTANTS, BATCH = 1_000, 100
LINKS, NODES = 2_000, 60
"""Of links between so many nodes, half as many hold at a time: an event brings about three new answers."""

_INPUT = "timeline integer. input p(a, b).\n"
_REACHABILITY = """
timeline integer.
input link(x, y).
output reach.
up(X, Y) :- diamondminus[0,30] link(X, Y).
reach(X, Y) :- up(X, Y).
reach(X, Z) :- reach(X, Y), up(Y, Z).
"""


class _Fact(msgspec.Struct, gc=False):
    """A JSON line, typed."""

    predicate: str
    args: tuple[str, str | int | float]
    time: int


def run() -> list[Figure]:
    """Each cost of a fact in µs, and over the least that it can cost."""
    with collecting_seldom():
        figures = [*_joins("join of two windows", 1, RATE, JOIN_TARGET)]
        figures += [figure for rate in (THIN, RATE) for figure in _joins(f"{RULES} joins", RULES, rate, JOINS_TARGET)]
        figures += [*_points(), *_lines(), *_reachability()]
        figures += [figure for constants in (1, BATCH, CONSTANTS) for figure in _constants(constants)]
    figures += [*_joins("host's collector, join of two windows", 1, RATE, None)]
    return [*figures, _memory()]


def _joins(name: str, rules: int, rate: int, target: float | None) -> list[Figure]:
    session = FullWindow(_plan(rules), pairs("p", rate), WINDOW, TICKS)
    spent, least = cpu_by_turns([session.next_ticks, _least], REPEATS)
    return _figures(f"{name}, {rate} facts a time point", spent / (rate * TICKS), least / LINES, target)


def _plan(rules: int) -> Plan:
    return tidelog.compile(_INPUT + "".join(JOIN.replace("q(", f"q{i}(", 1).format(n=WINDOW) for i in range(rules)))


def _points() -> list[Figure]:
    """What emission does beside making the answers themselves, with `HOLDING` time points' facts holding."""
    points, alone, least = cpu_by_turns([_telling, _telling_alone, _least], REPEATS)
    beside = (points - alone) / (HOLDING * ROWS)
    return _figures(
        f"points, {HOLDING} time points' facts holding, beside the answers", beside, least / LINES, POINTS_TARGET
    )


def _telling() -> Run:
    """A window is filled, and gone through once."""
    told = emission("points", ["q"])
    ticks = [_rows(tick) for tick in range(2 * HOLDING)]

    def tell(first: int, last: int) -> None:
        for tick in range(first, last):
            told.receive("q", ticks[tick], tick)
            told.arrive([tick], tick)

    tell(0, HOLDING)
    return partial(tell, HOLDING, 2 * HOLDING)


def _telling_alone() -> Run:
    """The answers of a window, made of what is known."""
    holding = [row for tick in range(HOLDING) for row, _, _ in _rows(tick)]

    def make() -> None:
        for tick in range(HOLDING):
            [("q", row, tick, tick) for row in holding]

    return make


def _rows(tick: int) -> list[tuple[tuple[str, str], int, int]]:
    chance = random.Random(tick)
    return [((f"a{chance.randrange(1_000_000)}", f"b{i}"), tick, tick + HOLDING - 1) for i in range(ROWS)]


def _lines() -> list[Figure]:
    """Decoding lines none of which repeats another's row."""
    spent, least = cpu_by_turns([_decoding, _least], REPEATS)
    return _figures("a JSON line that does not repeat", spent / LINES, least / LINES, LINE_TARGET)


def _decoding() -> Run:
    decoder = tidelog.connectors.JsonDecoder(_plan(1).schema, "lines")
    lines = _json()
    batches = [lines[i : i + 500] for i in range(0, LINES, 500)]
    return lambda: [decoder.decode(batch, 1) for batch in batches]


def _reachability() -> list[Figure]:
    """Recursion over links that hold for a while, each event pushed and pulled by itself."""
    spent, least = cpu_by_turns([_reaching, _least], REPEATS)
    name = "reachability over expiring links, each event alone"
    return _figures(name, spent / LINKS, least / LINES, LINK_TARGET)


def _reaching() -> Run:
    chance = random.Random(1)
    links = [(f"n{chance.randrange(NODES)}", f"n{chance.randrange(NODES)}") for _ in range(LINKS)]
    session = tidelog.Session(tidelog.compile(_REACHABILITY))

    def reach() -> None:
        for time, link in enumerate(links):
            session.push("link", link, time)
            session.pull_records()

    return reach


def _constants(constants: int) -> list[Figure]:
    """Rules that differ in a constant; facts with so many of these, drawn at random, in batches."""
    plan = tidelog.compile(
        "timeline integer. input temp(sensor, kind).\n"
        + "".join(f"alarm(S, c{i}) :- temp(S, c{i}).\n" for i in range(CONSTANTS))
    )
    spent, least = cpu_by_turns([partial(_choosing, plan, constants), _least], REPEATS)
    name = f"{CONSTANTS:,} rules by constants, {constants:,} of them in batches of {BATCH}"
    return _figures(name, spent / LINES, least / LINES, CONSTANT_TARGET)


def _choosing(plan: Plan, constants: int) -> Run:
    chance = random.Random(2)
    rows = [(f"s{chance.randrange(50)}", f"c{chance.randrange(constants)}") for _ in range(LINES)]
    facts = [("temp", row, i // BATCH, i // BATCH) for i, row in enumerate(rows)]
    session = tidelog.Session(plan)

    def choose() -> None:
        for i in range(0, LINES, BATCH):
            session.push_records(facts[i : i + BATCH])
            session.pull_records()

    return choose


def _least() -> Run:
    """Decode each line, and insert it into a dict."""
    return partial(_decode_and_insert, _json())


def _decode_and_insert(lines: Sequence[bytes]) -> None:
    decode = msgspec.json.Decoder(_Fact).decode
    known: dict[tuple[str, str | int | float], int] = {}
    for line in lines:
        fact = decode(line)
        known[fact.args] = fact.time


def _json() -> list[bytes]:
    chance = random.Random(0)
    return [b'{"predicate":"p","args":["n%d",%.6f],"time":%d}' % (i % 50, 100 * chance.random(), i) for i in range(LINES)]


def _figures(name: str, cost: float, least: float, target: float | None) -> list[Figure]:
    return [Figure("hot", name, cost * 1e6, "µs", target), Figure("hot", f"{name}, over the least", cost / least)]


def _memory() -> Figure:
    """What a rule more holds of each fact of its windows, its answers included."""
    one, many = _held(1), _held(RULES)
    each = (many - one) / (RULES - 1) / (THIN * (WINDOW + 1))
    return Figure("hot", f"{RULES} joins, {THIN} facts a time point, held for a fact and rule", each, "B")


def _held(rules: int) -> int:
    plan = _plan(rules)
    gc.collect()
    tracemalloc.start()
    try:
        session = FullWindow(plan, pairs("p", THIN), WINDOW, 2 * WINDOW)
        session.next_ticks()()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


if __name__ == "__main__":
    show(run)
