"""What is stored neither grows with the stream nor with how close together its timestamps lie.

"Along the stream": a program with every operator over 1,000 lengths of its window, with new rows in each; the most entries
stored in the second half over the most in the first (without its first tenth). "Denser": the monitoring network of Wałęga
et al. 2023 (Example 1), whose granularity is above zero (Theorem 15), with timestamps 10, 100 and 1,000 times closer
together than at first. With a lateness, facts wait, and only `#`-facts keep them few. "Punctual": a punctual interval makes
the granularity zero; there memory may grow, and does.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import tidelog
from benchmarks.figures import Figure, show
from tidelog.plans.data.facts import Record

WINDOWS, WINDOW, ROWS = 1_000, 10, 10
ALONG_TARGET = 1.1
DENSITIES = (1, 10, 100, 1_000)
SIGNALS, UNITS = 2, 20
DENSE_TARGET = 2.0

EVERY_OPERATOR = """
timeline integer.
output alarm.
recent(X) :- diamondminus[0,10] event(X).
lasting(X) :- boxminus[0,5] recent(X).
pair(X, Y) :- lasting(X), diamondminus[0,10] owner(X, Y).
since(X) :- recent(X) since[0,10] event(X).
chain(X, Y) :- pair(X, Y).
chain(X, Z) :- chain(X, Y), owner(Y, Z).
boxplus[1,2] alarm(X) :- chain(X, Y), since(X), not owner(Y, X).
"""

NETWORK = """
timeline rational, resolution 0.001.
output Flag, Monit.
Connect(a, b). Connect(b, c). Connect(c, a). Connect(b, a).
Flag(X, Z) :- Monit(X, Z), boxminus[0,4] diamondminus[0,2] Signal(Z).
boxplus[0,3] Monit(X, Z) :- Flag(Y, Z), Connect(X, Y).
"""

PUNCTUAL = """
timeline rational, resolution 0.001.
output Again.
Again(Z) :- Signal(Z), diamondminus[2,2] Signal(Z).
"""


def run() -> list[Figure]:
    """How flat memory stays along the stream, and against the density of timestamps."""
    return [*_along_the_stream(), *_denser()]


def _along_the_stream() -> list[Figure]:
    session = tidelog.Session(tidelog.compile(EVERY_OPERATOR))
    stored: list[int] = []
    for window in range(WINDOWS):
        for tick in range(window * WINDOW, (window + 1) * WINDOW):
            session.push_records(_rows(tick))
            session.pull_records()
        stored.append(session.statistics().entries)
    early, late = max(stored[WINDOWS // 10 : WINDOWS // 2]), max(stored[WINDOWS // 2 :])
    return [
        Figure("memory", f"along the stream, {WINDOWS:,} windows, late / early", late / early, target=ALONG_TARGET),
        Figure("memory", "along the stream, the most stored", late, "entries"),
    ]


def _rows(tick: int) -> list[Record]:
    """New rows at each time; each row says who owns it, and is heard of for a few ticks."""
    names = [(f"row{tick - tick % 3}-{i}", f"row{tick - tick % 3}-{(i + 1) % ROWS}") for i in range(ROWS)]
    return [fact for name, other in names for fact in (("event", (name,), tick, tick), ("owner", (name, other), tick, tick))]


def _denser() -> Iterator[Figure]:
    programs = (("network", NETWORK, "0"), ("network, lateness 5", NETWORK, "5"), ("punctual", PUNCTUAL, "0"))
    for name, program, lateness in programs:
        most = [_most_stored(program, density, lateness) for density in DENSITIES]
        target = None if program == PUNCTUAL else DENSE_TARGET
        title = f"{name}, timestamps {DENSITIES[-1]:,} times denser"
        yield Figure("memory", f"{title}, entries over those at first", most[-1] / most[0], target=target)
        for density, entries in zip(DENSITIES, most, strict=True):
            yield Figure("memory", f"{name}, {density:,} a time unit, the most stored", entries, "entries")


def _most_stored(program: str, density: int, lateness: str) -> int:
    """The most entries in the second half of a stream with so many timestamps in a time unit."""
    plan = tidelog.compile(program)
    session = tidelog.Session(plan, lateness=lateness)
    most = 0
    for step in range(UNITS * density):
        now = plan.timeline.encode_point(Fraction(step, density))
        facts: list[Record] = [("Signal", (f"s{i}",), now, now) for i in range(SIGNALS)]
        if step == 0 and program == NETWORK:
            facts += [("Monit", ("a", f"s{i}"), now, now + 2 * 5_000) for i in range(SIGNALS)]
        session.push_records(facts)
        session.pull_records()
        if step * 2 >= UNITS * density and step % density == 0:
            most = max(most, session.statistics().entries)
    return most


if __name__ == "__main__":
    show(run)
