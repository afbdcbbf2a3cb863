"""How a recursive component is run: admit, wait until nothing is in flight, and only then move its frontiers.

The protocol is the same for the synchronous session and for actors, so it is written once, as a generator: it yields what to
send into the loop, and is resumed when the loop is idle again (each message raises a counter when it is sent, and lowers
it when its handler is done). One batch at a time is admitted, so what is in flight stays bounded.

While the stream goes on, coverage behind the loop's **present** (the watermark, or the latest begin admitted from outside)
is held where the loop closes. When the stream has ended, the loop is followed to its own end, if it has one within
`END_ROUNDS` steps; otherwise it stops at the present, and says so: `boxplus[1,1] p :- p` has no end.

Recursion that computes new values (`n(Y) :- n(X), Y = X+1.`) need not come to rest even at one time. What such a loop sends
for one message admitted is counted, and it is stopped beyond `MOST_VALUES`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidelog.operators.loops.hold import Hold
from tidelog.operators.operator import Operator, shift
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Loop, Plan

END_ROUNDS = 10_000
"""How many steps in time a loop is followed beyond the end of the stream, to see whether it comes to an end."""

MOST_VALUES = 100_000
"""How many facts may be sent inside a loop that creates values, for one message admitted."""

RELEASE = -1
"""In place of a port: a hold lets pass what begins at or before the message's time."""
SETTLED = -2
"""In place of a port: the step's frontier has moved to the message's time, as far as those outside are concerned."""


LoopMessage = tuple[str, int, Sequence[Fact], int]
"""One message into a loop: a step, facts and a frontier for a port; or a control (`RELEASE`, `SETTLED`) with its time."""


class LoopControl:
    """The frontier arithmetic of one recursive component, and the order of events in it."""

    def __init__(self, loop: Loop, plan: Plan, operators: Mapping[str, Operator]) -> None:
        self.loop = loop
        self._origin_of = dict(zip(loop.entries, loop.origins, strict=True))
        self._reached = dict.fromkeys(loop.entries, NEG)
        self._behind = [loop.origins.count(origin) for origin in range(len(loop.origin_leads))]
        self.frontiers = [NEG] * len(loop.origin_leads)
        self.present = NEG
        self.withholding = False
        self.unfinished = False
        self._followed = POS
        self._sent = 0
        self._holds: dict[str, Hold] = {}
        for name in loop.holds:
            operator = operators[name]
            if isinstance(operator, Hold):
                self._holds[name] = operator
        members = set(loop.members)
        self._inner = [
            (step.id, port, feed.name)
            for step in plan.steps
            if step.id in members
            for port, feed in enumerate(step.inputs)
            if feed.kind == "step" and feed.name in members
        ]

    def begin(self) -> None:
        """A message from outside is admitted: count anew what is sent for it."""
        self._sent = 0

    def admit(self, step: str, port: int, facts: Sequence[Fact], frontier: int) -> Iterator[list[LoopMessage]]:
        """Take one message from outside; yields what to send, and expects the loop to be idle when resumed."""
        self.begin()
        moved = self._advance((step, port), frontier)
        if self._holds and self._come(facts):
            yield self._release()
        yield [(step, port, facts, frontier)]
        if moved:
            yield from self._move_on()

    def _come(self, facts: Sequence[Fact]) -> bool:
        """How far the stream has come, as these facts tell, too; returns whether it has come further."""
        before = self.present
        self.present = max(before, self._now(), *[lo for _, lo, _ in facts])
        return self.present > before

    def reached(self, step: str, port: int) -> int:
        """How far what feeds an entry is known, as it was told."""
        return self._reached[step, port]

    def _advance(self, entry: tuple[str, int], frontier: int) -> bool:
        """Note the frontier of an entry; returns whether its origin's has moved, that of the slowest of its entries."""
        before = self._reached[entry]
        if frontier <= before:
            return False
        self._reached[entry] = frontier
        origin = self._origin_of[entry]
        if before > self.frontiers[origin]:
            return False
        self._behind[origin] -= 1
        if self._behind[origin]:
            return False
        self._find_slowest(origin)
        return True

    def _find_slowest(self, origin: int) -> None:
        """The frontier of an origin, and how many of its entries are no further."""
        reached = [frontier for entry, frontier in self._reached.items() if self._origin_of[entry] == origin]
        self.frontiers[origin] = min(reached)
        self._behind[origin] = reached.count(self.frontiers[origin])

    def _now(self) -> int:
        """How far the stream has come, as the origins that follow it tell (each with its own delay)."""
        pairs = zip(self.frontiers, self.loop.origin_leads, strict=True)
        return min((shift(f, -lead) for f, lead in pairs if f < POS and NEG < lead < POS), default=NEG)

    def _release(self) -> list[LoopMessage]:
        return [(name, RELEASE, (), max(self.present, self.frontier_of(name))) for name in self._holds]

    def _move_on(self) -> Iterator[list[LoopMessage]]:
        """The frontiers outside have moved: let pass what is due, then tell every step."""
        ended = min(self.frontiers, default=POS) >= POS
        if self._holds and ended:
            self._followed = self.present
        if self._holds:
            yield self._release()
        if self._holds and ended:
            yield from self._follow_to_the_end()
        yield [(step, port, (), self.frontier_of(source)) for step, port, source in self._inner]
        yield [(step, SETTLED, (), self.frontier_of(step)) for step in self.loop.members]

    def _follow_to_the_end(self) -> Iterator[list[LoopMessage]]:
        """The stream has ended; answers are withheld until it is known that the loop comes to an end."""
        self.withholding = True
        for _ in range(END_ROUNDS):
            begins = [begin for hold in self._holds.values() if (begin := hold.next_begin()) is not None]
            if not begins:
                self.withholding = False
                self._followed = POS
                return
            yield [(name, RELEASE, (), min(begins)) for name in self._holds]
        self.unfinished = True

    def frontier_of(self, step: str) -> int:
        """How far a step of the loop is known."""
        leads, most = self.loop.leads[step], self._followed
        return min((shift(min(f, most), lead) for f, lead in zip(self.frontiers, leads, strict=True)), default=POS)

    def note_sent(self, count: int) -> bool:
        """So many facts have been sent inside a loop that creates values; returns whether these are beyond `MOST_VALUES`."""
        self._sent += count
        return self._sent > MOST_VALUES

    def snapshot(self) -> dict[str, Any]:
        """The frontiers and the present as plain data."""
        reached = [self._reached[entry] for entry in self.loop.entries]
        return {"reached": reached, "present": self.present, "unfinished": self.unfinished}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self._reached = dict(zip(self.loop.entries, data["reached"], strict=True))
        for origin in range(len(self.frontiers)):
            self._find_slowest(origin)
        self.present = data["present"]
        self.unfinished = data["unfinished"]
        self._followed = self.present if self.unfinished else POS
