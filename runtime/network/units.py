"""Units: what a network runs as one, a step by itself or the steps of a loop together.

A unit is not told of each moment. What it has to take lies in `pending`; how far its ports have come follows from
the watermark (`Network`), and `deadline` tells until when it may be left alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from heapq import heappush

from tidelog.operators.loops.hold import Hold
from tidelog.operators.loops.open_loop import OpenLoop
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import AntiJoinShape, Feed, Loop, Step
from tidelog.runtime.network.graph import Graph, Message
from tidelog.runtime.network.loop_control import SETTLED, LoopMessage

Bring = Callable[[Sequence[Fact], Notices | None], None]
"""Leaves new coverage, and notices, with the units that read it."""
Tell = Callable[[str, Sequence[Fact], int, Notices | None], None]
"""Tells the outlet what a step has sent, and how far it is known."""
Reach = Callable[[Feed], int]
"""How far what feeds a port from outside has come."""


class Unit(ABC):
    """A step, or a loop: what waits for it, and how far it has come.

    `upstream` are the units that feed it, and `waits_for` those of them that have to catch up before it does: whose
    frontiers nobody knows but they themselves. `cost` bounds how many ports these have in all: so many facts it takes before
    it catches up only to forget. `version` is the move of the watermark up to which it has caught up, `due` the watermark at
    which the network looks at it by itself; without `waits` it has none. `is_irregular` tells that its frontier may be
    further than the plan's lead says, so that nobody knows beforehand when something is due; one that `is_steady` is known
    just as far as that, once all that is due has run. One that `is_quiet` needs no look once it has run; of one that
    `is_prompt` the watermark tells all about its ports, so that it takes facts and comes as far as it can in one.
    `watched` are its steps of which the outlet takes what they send. `made` is what has followed from facts that it took at
    once, since it reads an arrangement, and is still to be sent.
    """

    __slots__ = (
        "_bound",
        "_brings",
        "_graph",
        "_known",
        "_leads",
        "cost",
        "credit",
        "due",
        "index",
        "is_irregular",
        "is_prompt",
        "is_quiet",
        "is_steady",
        "made",
        "pending",
        "queued",
        "tell",
        "upstream",
        "version",
        "waits",
        "waits_for",
        "watched",
    )

    def __init__(self, index: int, graph: Graph, tell: Tell) -> None:
        self.index = index
        self._graph = graph
        self._bound = graph.bound
        self.tell = tell
        self._brings: Mapping[str, Bring] = {}
        self._leads = graph.plan.leads
        self._known: Mapping[Feed, int] = {}
        self.upstream: tuple[Unit, ...] = ()
        self.waits_for: tuple[Unit, ...] = ()
        self.watched: tuple[str, ...] = ()
        self.cost = LIMITS.often
        self.credit = 0
        self.version = -1
        self.due = POS
        self.is_irregular = self.is_quiet = self.is_steady = self.is_prompt = False
        self.waits = True
        self.queued = False
        self.pending: list[Message] = []
        self.made: list[Fact] = []

    @abstractmethod
    def refresh(self, step: str) -> None:
        """Messages go another way into one of its steps now."""

    @abstractmethod
    def take(self) -> None:
        """Take what waits."""

    @abstractmethod
    def settle(self, watermark: int | None, reach: Reach) -> None:
        """Come as far as what feeds the unit, by the watermark where that tells it, otherwise as far as `reach` says."""

    def follow(self, leads: Mapping[Feed, int]) -> None:
        """Tell how far what feeds the unit lies ahead of the watermark, where that is known beforehand."""
        self._known = leads

    def connect(self, brings: Mapping[str, Bring], watched: Sequence[str]) -> None:
        """Tell who reads what its steps send, and of which of them the outlet takes it."""
        self._brings = brings
        self.watched = tuple(watched)

    def send(self, step: str, facts: list[Fact], notices: Notices | None = None) -> None:
        """Pass on, outside the unit, what one of its steps has sent."""
        bring = self._brings.get(step)
        if bring is not None:
            bring(facts, notices)
        if step in self.watched:
            self.tell(step, facts, self.frontier(step), notices)

    def count_waiting(self, counts: Counter[str]) -> None:
        """Count the facts that wait here by the step that has made them."""
        for step, port, facts, _ in self.pending:
            feed = self._graph.steps[step].inputs[port]
            if feed.kind == "step":
                counts[feed.name] += len(facts)

    @abstractmethod
    def frontier(self, step: str) -> int:
        """How far one of its steps is known, by what has been sent."""

    @abstractmethod
    def deadline(self) -> int:
        """The least watermark at which something is due though nothing new has come; POS if nothing is."""

    def place(self, upstream: Sequence[Unit], ports: int, *, is_irregular: bool, is_steady: bool) -> None:
        """Tell who feeds it, through so many ports; whether its steps may promise more than planned, or just that."""
        self.upstream = tuple(upstream)
        self.is_irregular = is_irregular or any(unit.is_irregular for unit in upstream)
        self.is_steady = is_steady and not self.is_irregular and all(unit.is_steady for unit in upstream)
        self.waits_for = tuple(unit for unit in upstream if not unit.is_steady)
        self.cost = min(LIMITS.often + ports + sum(unit.cost for unit in self.waits_for), 1 << 20)

    def _lead(self, feed: Feed) -> int:
        """How far what feeds a port lies ahead of the watermark at the least."""
        return self._leads[feed.name] if feed.kind == "step" else 0


class StepUnit(Unit):
    """A step outside loops. Along a line of units one passes on what another has sent, by what is public of both.

    `after` is the unit that alone reads what the step sends, at this `port`, and `bring` leaves it with all others. The
    network's `agenda` has the units to be run.
    """

    __slots__ = (
        "_ahead",
        "_feeds",
        "_gates",
        "_port_leads",
        "after",
        "agenda",
        "bring",
        "operator",
        "port",
        "step",
        "way",
    )

    def __init__(self, index: int, graph: Graph, tell: Tell, step: Step, agenda: list[int]) -> None:
        super().__init__(index, graph, tell)
        self.step = step
        self.agenda = agenda
        self.operator = graph.operators[step.id]
        self._feeds = step.inputs
        self._port_leads = [self._lead(feed) for feed in step.inputs]
        self.waits = self.operator.waits()
        self._gates = [
            (port, gate) for port in range(len(step.inputs)) if (gate := graph.gates.get((step.id, port))) is not None
        ]
        self.way = graph.way_into(step.id)
        self.after: StepUnit | None = None
        self.port = 0
        self._ahead: list[int] | None = None  # of the watermark, what feeds each port, if that is known of all

    def connect(self, brings: Mapping[str, Bring], watched: Sequence[str]) -> None:
        super().connect(brings, watched)
        self.bring = brings.get(self.step.id)

    def refresh(self, step: str) -> None:
        self.way = self._graph.way_into(step)

    def go_on_with(self, after: StepUnit, port: int) -> None:
        """Nobody but this unit reads what the step sends; it does so at once where nobody on the agenda comes before."""
        self.after, self.port = after, port

    def take(self) -> None:
        pending, self.pending = self.pending, []
        if self.is_quiet and len(pending) == 1 and not self.made and pending[0][3] is None:
            self.take_along(pending[0][1], pending[0][2])
            return
        out = self._received(pending)
        made = self.operator.notices
        if made.begun or made.ended:
            self._hand_on(out, self.operator.frontier, self._graph.told_notices(self.step.id))
        elif out:
            self._pass_on(out)

    def _received(self, pending: Sequence[Message]) -> list[Fact]:
        """What follows from several messages, to be told in one."""
        out, self.made = self.made, []
        is_own = True
        for message in pending:
            _, port, facts, notices = message
            count = len(facts) if notices is None else len(facts) + len(notices)
            self.credit += count
            try:
                if self.way is None:
                    found = self.operator.receive(port, facts, NEG, notices)
                else:
                    found = self.way(port, facts, NEG, notices)
            except Exception as error:
                raise self._graph.failure(self.step.id, [message], error) from error
            self._bound.left -= count + len(found)
            if not out:
                out, is_own = found, False  # what an operator returns may be what it was given
            elif found and is_own:
                out += found
            elif found:
                out, is_own = [*out, *found], True
        if self._bound.left < 0:
            self._bound.count()
        return out

    def take_at_once(self, port: int, facts: Sequence[Fact]) -> None:
        """Take facts, and what waits before them, while an arrangement is as it has to be; send what follows later."""
        pending, self.pending = self.pending, []
        made, self.made = self.made, []
        made += self._received([*pending, (self.step.id, port, facts, None)])
        self.made = made

    def take_along(self, port: int, facts: Sequence[Fact]) -> None:
        """Take facts while nothing waits, and send what follows; along a line of quiet units go on as long as it goes."""
        unit: StepUnit = self
        while facts:
            count = len(facts)
            unit.credit += count
            operator = unit.operator
            try:
                if unit.way is not None:
                    out = unit.way(port, facts, NEG, None)
                elif operator.pieces is not None:
                    out = operator.receive(port, facts, NEG)
                else:  # what `receive` does for facts alone
                    operator.evaluations += 1
                    operator.received += count
                    out = operator.feed(port, facts)
                    operator.sent += len(out)
            except Exception as error:
                raise unit._graph.failure(unit.step.id, [(unit.step.id, port, facts, None)], error) from error
            bound = unit._bound
            bound.left -= count + len(out)
            if bound.left < 0:
                bound.count()
            agenda = unit.agenda
            if unit.credit >= unit.cost:  # it has much to forget
                unit.queued = True
                heappush(agenda, unit.index)
            if not out:
                return
            if unit.watched:
                unit.tell(unit.step.id, out, operator.frontier, None)
            after = unit.after
            if after is None or after.queued or (agenda and agenda[0] <= after.index):
                if unit.bring is not None:
                    unit.bring(out, None)
                return
            unit, port, facts = after, unit.port, out

    def count_waiting(self, counts: Counter[str]) -> None:
        super().count_waiting(counts)
        counts[self.step.id] += len(self.made)

    def run(self, watermark: int) -> None:
        """Take what waits, and come as far as the watermark tells, at once: so all that follows is told together."""
        operator, graph, name = self.operator, self._graph, self.step.id
        pending, self.pending = self.pending, []
        operator.is_followed = True
        out = self._received(pending)
        operator.is_followed = False
        try:
            more = operator.advance([watermark + lead for lead in self._ahead or ()])
        except Exception as error:
            raise graph.failure(name, (), error) from error
        if more:
            graph.made(name, more)
            out = [*out, *more]
        self.credit = 0
        made = operator.notices
        told = graph.told_notices(name) if made.begun or made.ended else None
        if self.watched:
            self.tell(name, out, operator.frontier, told)
        if self.bring is not None and (out or told is not None):
            self.bring(out, told)

    def _hand_on(self, facts: list[Fact], frontier: int, notices: Notices | None) -> None:
        if self.watched:
            self.tell(self.step.id, facts, frontier, notices)
        if self.bring is not None and (facts or notices is not None):
            self.bring(facts, notices)

    def _pass_on(self, facts: list[Fact]) -> None:
        """Leave what has been sent with those who read it."""
        if self.watched:
            self.tell(self.step.id, facts, self.operator.frontier, None)
        after, agenda = self.after, self.agenda
        if after is not None and not after.queued and not (agenda and agenda[0] <= after.index):
            after.take_along(self.port, facts)
        elif self.bring is not None:
            self.bring(facts, None)

    def follow(self, leads: Mapping[Feed, int]) -> None:
        super().follow(leads)
        if all(feed in leads for feed in self._feeds):
            self._ahead = [leads[feed] for feed in self._feeds]
            self.is_prompt = not self._gates and bool(self._feeds) and not self.waits_for

    def settle(self, watermark: int | None, reach: Reach) -> None:
        name, ahead = self.step.id, self._ahead
        if ahead is None or watermark is None:
            frontiers = [reach(feed) for feed in self._feeds]
        else:
            frontiers = [watermark + lead for lead in ahead]
        out = self._graph.advance(name, frontiers) if not self._gates else self._advanced(frontiers)
        made = self.operator.notices
        told = self._graph.told_notices(name) if made.begun or made.ended else None
        if out or told is not None:
            self.send(name, out, told)

    def _advanced(self, frontiers: Sequence[int]) -> list[Fact]:
        """What follows from how far the ports have come, where gates have a word in it."""
        out: list[Fact] = []
        way = self.way or self.operator.receive
        for port, frontier in enumerate(frontiers):
            try:
                out += way(port, (), frontier, None)
            except Exception as error:
                raise self._graph.failure(self.step.id, (), error) from error
        self._bound.moved(len(out))
        return out

    def frontier(self, step: str) -> int:
        return self.operator.frontier

    def deadline(self) -> int:
        due = POS
        wanted = self.operator.deadline()
        if wanted is not None:
            port, frontier = wanted
            due = NEG if self.is_irregular else frontier - self._port_leads[port]
        for _, gate in self._gates:
            if gate.awaits_frontier:
                due = NEG
        return due


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

    def __init__(self, index: int, graph: Graph, tell: Tell, loop: Loop) -> None:
        super().__init__(index, graph, tell)
        self._control = graph.controls[loop.number]
        self._members = loop.members
        self._entries = [(step, port, graph.steps[step].inputs[port]) for step, port in loop.entries]
        holds = (graph.operators[name] for name in loop.holds)
        self._holds = [hold for hold in holds if isinstance(hold, Hold)]
        self._told = dict.fromkeys(loop.members, NEG)
        self._ways = {name: graph.way_into(name) or graph.operators[name].receive for name in loop.members}
        self._waiting = [name for name in loop.members if graph.operators[name].waits()]
        self._in_flight: deque[LoopMessage] = deque()
        self._withheld: list[tuple[str, list[Fact]]] = []
        self._number = loop.number
        self._open = graph.open_loops.get(loop.number)
        self._ports = {entry: port for port, entry in enumerate(loop.entries)}
        negations = (name for name in loop.members if isinstance(graph.steps[name].shape, AntiJoinShape))
        self._silent = frozenset(negations if self._open is not None else ())  # facts alone do not decide them

    def refresh(self, step: str) -> None:
        self._ways[step] = self._graph.way_into(step) or self._graph.operators[step].receive

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
        inner = graph.inner
        in_flight.extend(messages)
        while in_flight:
            step, port, facts, time = in_flight.popleft()
            if facts and step in self._silent:
                continue
            if port < 0:
                out = self._obey(step, port, time)
            else:
                try:
                    out = ways[step](port, facts, time, None)
                except Exception as error:
                    raise graph.failure(step, [(step, port, facts, None)], error) from error
                bound.left -= len(facts) + len(out)
                if bound.left < 0:
                    bound.count()
                if out and control.note_sent(len(out)):
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
        due = min(begins, default=POS)
        if self._open is not None and (opened := self._open.deadline()) is not None:
            due = opened[1] - self._lead(self._entries[opened[0]][2])
        for name in self._waiting:
            wanted = self._graph.operators[name].deadline()
            if wanted is not None:
                port, frontier = wanted
                due = min(due, frontier - self._lead(self._graph.steps[name].inputs[port]))
        return NEG if self.is_irregular and due < POS else due
