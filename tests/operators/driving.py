"""Driving an operator as a channel would, while its promises are watched.

A driver feeds messages and checks, for each, what every operator promises: what comes out was never sent before, does not
lie at or before the frontier promised so far, and frontiers only grow. With `through_json` the operator is replaced, after
each message, by a fresh one that is restored from its snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tidelog.operators.operator import Operator
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS

FIRST, LAST = -40, 60
"""The encoded times at which results are compared; what is drawn lies in 0 … 20."""

Message = tuple[int, list[Fact], int]
Points = dict[Row, set[int]]


def points_of(facts: Sequence[Fact], first: int = FIRST, last: int = LAST) -> Points:
    """Coverage as sets of encoded times, as far as they are looked at."""
    points: Points = {}
    for row, lo, hi in facts:
        points.setdefault(row, set()).update(range(max(lo, first), min(hi, last) + 1))
    return {row: times for row, times in points.items() if times}


class Driver:
    """Feeds one operator, and fails as soon as it breaks a promise."""

    def __init__(self, build: Callable[[], Operator], through_json: bool = False) -> None:
        self._build = build
        self._through_json = through_json
        self.operator = build()
        self.sent: list[Fact] = []

    def feed(self, port: int, facts: Sequence[Fact], frontier: int = NEG) -> list[Fact]:
        """One message; returns what comes out."""
        promised = self.operator.frontier
        out = self.operator.receive(port, facts, frontier)
        for fact in out:
            self._check(fact, promised)
            self.sent.append(fact)
        assert self.operator.frontier >= promised
        if self._through_json:
            snapshot = json.loads(json.dumps(self.operator.snapshot()))
            assert snapshot == json.loads(json.dumps(self.operator.snapshot()))
            self.operator = self._build()
            self.operator.restore(snapshot)
        return out

    def _check(self, fact: Fact, promised: int) -> None:
        row, lo, hi = fact
        assert lo <= hi, f"empty: {fact}"
        assert lo > promised or promised <= NEG, f"{fact} breaks the promise that nothing at or before {promised} will come"
        again = [known for known in self.sent if known[0] == row and known[1] <= hi and lo <= known[2]]
        assert not again, f"{fact} was sent already: {again}"

    def feed_all(self, messages: Sequence[Message]) -> Points:
        """All messages; returns the points that were sent."""
        for port, facts, frontier in messages:
            self.feed(port, facts, frontier)
        return points_of(self.sent)


# --- what is fed --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class History:
    """What comes through the ports of an operator: messages in an order that the frontiers allow, ending with the end."""

    messages: list[Message]

    def coverage(self, port: int, first: int = FIRST - 100, last: int = LAST + 100) -> Points:
        """All that comes through one port, as points."""
        return points_of([fact for number, facts, _ in self.messages if number == port for fact in facts], first, last)


@st.composite
def ranges(draw: st.DrawFn, infinite: bool = True) -> list[tuple[int, int]]:
    """Disjoint ranges within 0 … 20, some of them touching; now and then without an end or a begin."""
    cuts = sorted(draw(st.sets(st.integers(0, 20), max_size=8)))
    found = []
    for i, lo in enumerate(cuts):
        most = cuts[i + 1] - 1 if i + 1 < len(cuts) else 20
        found.append((lo, draw(st.integers(lo, most))))
    if infinite and found and draw(st.integers(0, 9)) == 9:
        found[-1] = (found[-1][0], POS)
    if infinite and found and draw(st.integers(0, 9)) == 9:
        found[0] = (NEG, found[0][1])
    return found


@st.composite
def histories(draw: st.DrawFn, rows: Sequence[Sequence[Row]], infinite: bool = True) -> History:
    """For each port, coverage of its rows, cut into messages, in any order that the drawn frontiers allow."""
    pieces: list[tuple[int, int, Fact]] = []
    for port, names in enumerate(rows):
        for row in names:
            for lo, hi in draw(ranges(infinite)):
                when = max(lo, 0) + draw(st.integers(0, 8))  # out of order, but not wildly so
                pieces.append((when, port, (row, lo, hi)))
    pieces.sort(key=lambda piece: piece[0])
    messages: list[Message] = []
    frontiers = [NEG] * len(rows)
    while pieces:
        count = draw(st.integers(1, 3))
        now, pieces = pieces[:count], pieces[count:]
        for port in draw(st.permutations(range(len(rows)))):
            most = min([fact[1] - 1 for _, number, fact in pieces if number == port], default=POS)
            if most < POS or draw(st.booleans()):
                # no frontier lies in the future of all that has come: sources do not know it
                most = min(most, now[-1][0])
                frontiers[port] = max(frontiers[port], draw(st.sampled_from([NEG, most - 1, most])))
            elif draw(st.booleans()):
                frontiers[port] = POS
            messages.append((port, [fact for _, number, fact in now if number == port], frontiers[port]))
    messages += [(port, [], POS) for port in draw(st.permutations(range(len(rows))))]
    return History(messages)
