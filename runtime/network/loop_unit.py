"""The unit of a loop: its steps run together, one message from outside after the other."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence

from tidelog.operators.loops.hold import Hold
from tidelog.operators.loops.open_loop import OpenLoop
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import AntiJoinShape, Loop
from tidelog.runtime.network.graph import Graph
from tidelog.runtime.network.loop_control import SETTLED, LoopMessage
from tidelog.runtime.network.outlet import Outlet
from tidelog.runtime.network.units import Reach, Unit


class LoopUnit(Unit):
    """The steps of a loop: one message is admitted at a time, and followed until nothing is in flight."""

    __slots__ = (
        "_control",
        "_entries",
        "_holds",
        "_in_flight",
        "_members",
        "_number",
        "_open",
        "_ports",
        "_silent",
        "_told",
        "_waiting",
        "_ways",
        "_withheld",
    )

    def __init__(self, index: int, graph: Graph, outlet: Outlet, loop: Loop) -> None:
        super().__init__(index, graph, outlet)
        self._control = graph.loop_control(loop.number)
        self._members = loop.members
        self._entries = [(step, port, graph.steps[step].inputs[port]) for step, port in loop.entries]
        holds = (graph.operators[name] for name in loop.holds)
        self._holds = [hold for hold in holds if isinstance(hold, Hold)]
        self._told = dict.fromkeys(loop.members, NEG)
        self._ways = {name: graph.way_into(name) for name in loop.members}
        self._waiting = [name for name in loop.members if graph.operators[name].waits()]
        self._in_flight: deque[LoopMessage] = deque()
        self._withheld: list[tuple[str, list[Fact]]] = []
        self._number = loop.number
        self._open = graph.open_loops.get(loop.number)
        self._ports = {entry: port for port, entry in enumerate(loop.entries)}
        negations = (name for name in loop.members if isinstance(graph.steps[name].shape, AntiJoinShape))
        self._silent = frozenset(negations if self._open is not None else ())  # facts alone do not decide them

    def refresh(self, step: str) -> None:
        self._ways[step] = self._graph.way_into(step)

    def take(self) -> None:
        pending, self.pending = self.pending, []
        for step, port, facts, notices in pending:
            self.credit += len(facts) if notices is None else len(facts) + len(notices)
            if self._open is not None:
                self._open.receive(self._ports[step, port], facts, NEG, notices)
                facts = self._open.beyond(facts)
            if self._holds:
                self._admit(step, port, facts, NEG)
            else:  # the control has nothing to say to it
                self._control.begin()
                self._follow([(step, port, facts, NEG)])

    def settle(self, watermark: int | None, reach: Reach) -> None:
        for step, port, feed in self._entries:
            ahead = self._known.get(feed)
            frontier = reach(feed) if ahead is None or watermark is None else watermark + ahead
            if frontier > self._control.reached(step, port):
                self._admit(step, port, (), frontier)
        if self._open is not None:
            self._go_through()

    def _go_through(self) -> None:
        """Announce, and take back, what begins and ends to follow from what holds."""
        frontiers = [self._control.reached(step, port) for step, port, _ in self._entries]
        out = self._graph.go_through(self._number, frontiers)
        if self._open is not None:
            for member, (facts, notices) in self._open.by_member(out, self._open.told_notices()).items():
                self.send(self._members[member], facts, notices)

    def _admit(self, step: str, port: int, facts: Sequence[Fact], frontier: int) -> None:
        """Let the loop take a message from outside, and run it until nothing is in flight, as its control says."""
        for messages in self._control.admit(step, port, facts, frontier):
            if self._withheld and not self._control.withholding:
                self._send_withheld()
            self._follow(messages)

    def _follow(self, messages: Sequence[LoopMessage]) -> None:
        """Handle messages until nothing is in flight: what a step sends to others inside is, too."""
        in_flight, graph, control, ways, bound = self._in_flight, self._graph, self._control, self._ways, self._bound
        inner, operators, is_endless = graph.inner, graph.operators, bool(control.loop.creates_values)
        in_flight.extend(messages)
        while in_flight:
            step, port, facts, time = in_flight.popleft()
            if facts and step in self._silent:
                continue
            if port < 0:
                out = self._obey(step, port, time)
            else:
                try:
                    way = ways[step]
                    out = operators[step].receive(port, facts, time) if way is None else way(port, facts, time, None)
                except Exception as error:
                    raise graph.failure(step, [(step, port, facts, None)], error) from error
                bound.left -= len(facts) + len(out)
                if bound.left < 0:
                    bound.count()
                if is_endless and out and control.note_sent(len(out)):
                    raise graph.creates_values(control, step, out[-1])
            if not out:
                continue
            if control.withholding:
                self._withheld.append((step, out))
            elif self._open is None:
                self.send(step, out)
            else:
                self._send_ahead(self._open, step, out)
            for reader, at in inner[step]:
                in_flight.append((reader, at, out, NEG))

    def _send_ahead(self, loop: OpenLoop, step: str, out: list[Fact]) -> None:
        """What follows from facts is told at once, and not told again in the turn of a loop that takes notices."""
        out = loop.ahead(self._members.index(step), out) if step in self._graph.plan.announcing else []
        if out:
            self.send(step, out)

    def _obey(self, step: str, port: int, time: int) -> list[Fact]:
        """A message of the control: a step is known up to a time, or a hold lets pass what begins by then."""
        if port == SETTLED:
            self._told[step] = max(self._told[step], time)
            return []
        return self._graph.release(step, time)

    def count_waiting(self, counts: Counter[str]) -> None:
        super().count_waiting(counts)
        for step, port, facts, _ in self._in_flight:
            if facts:
                counts[self._graph.steps[step].inputs[port].name] += len(facts)
        for name, facts in self._withheld:
            counts[name] += len(facts)

    def _send_withheld(self) -> None:
        """The loop has come to its end, so what was withheld until then is an answer."""
        withheld, self._withheld = self._withheld, []
        for name, out in withheld:
            self.send(name, out)

    def frontier(self, step: str) -> int:
        return self._told[step]

    def restore_frontiers(self) -> None:
        """The control has been restored: its steps are known as far as it says."""
        self._told = {name: self._control.frontier_of(name) for name in self._members}

    def deadline(self) -> int:
        begins = [begin for hold in self._holds if (begin := hold.next_begin()) is not None]
        due = min(begins) if begins else POS
        if self._open is not None and (opened := self._open.deadline()) is not None:
            due = opened[1] - self._lead(self._entries[opened[0]][2])
        for name in self._waiting:
            wanted = self._graph.operators[name].deadline()
            if wanted is not None:
                port, frontier = wanted
                due = min(due, frontier - self._lead(self._graph.steps[name].inputs[port]))
        return NEG if self.is_irregular and due < POS else due
