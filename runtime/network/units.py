"""Units: what a network runs as one, a step by itself or the steps of a loop together (`runtime/network/loop_unit.py`).

A unit is not told of each moment. What it has to take lies in `pending`; how far its ports have come follows from
the watermark (`Network`), and `deadline` tells until when it may be left alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from heapq import heappush

from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Feed, Step
from tidelog.runtime.network.graph import Graph, Message
from tidelog.runtime.network.outlet import Outlet

Reach = Callable[[Feed], int]
"""How far what feeds a port from outside has come."""


class Bearer(ABC):
    """Who leaves what a step sends with the units that read it: `runtime/network/readers.py`."""

    __slots__ = ()

    @abstractmethod
    def bring(self, facts: Sequence[Fact], notices: Notices | None = None) -> None:
        """Leave new coverage, and notices, with the units that read it."""


class Unit(ABC):
    """A step, or a loop: what waits for it, and how far it has come.

    `upstream` are the units that feed it, and `waits_for` those of them that have to catch up before it does: whose
    frontiers nobody knows but they themselves. `cost` bounds how many ports these have in all: so many facts it takes before
    it catches up only to forget. `version` is the move of the watermark up to which it has caught up, `due` the watermark at
    which the network looks at it by itself; without `waits` it has none. `is_irregular` tells that its frontier may be
    further than the plan's lead says, so that nobody knows beforehand when something is due; one that `is_steady` is known
    just as far as that, once all that is due has run. One that `is_quiet` needs no look once it has run; of one that
    `is_prompt` the watermark tells all about its ports, so that it takes facts and comes as far as it can in one.
    One that `tidies` may have something to forget when it has come further, and `is_untidy` until it has had its turn.
    `watched` are its steps of which the outlet takes what they send, `awaited` those of them of which it may have more to
    tell though nothing new comes. `made` is what has followed from facts that it took at once, since it reads an
    arrangement, and is still to be sent.
    """

    __slots__ = (
        "_bearers",
        "_bound",
        "_graph",
        "_known",
        "_leads",
        "awaited",
        "cost",
        "credit",
        "due",
        "index",
        "is_irregular",
        "is_prompt",
        "is_quiet",
        "is_steady",
        "is_untidy",
        "made",
        "outlet",
        "pending",
        "queued",
        "tidies",
        "upstream",
        "version",
        "waits",
        "waits_for",
        "watched",
    )

    def __init__(self, index: int, graph: Graph, outlet: Outlet) -> None:
        self.index = index
        self._graph = graph
        self._bound = graph.bound
        self.outlet = outlet
        self._bearers: Mapping[str, Bearer] = {}
        self._leads = graph.plan.leads
        self._known: Mapping[Feed, int] = {}
        self.upstream: tuple[Unit, ...] = ()
        self.waits_for: tuple[Unit, ...] = ()
        self.watched: tuple[str, ...] = ()
        self.awaited: tuple[str, ...] = ()
        self.cost = LIMITS.often
        self.credit = 0
        self.version = -1
        self.due = POS
        self.is_irregular = self.is_quiet = self.is_steady = self.is_prompt = False
        self.waits = True
        self.queued = self.tidies = self.is_untidy = False
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

    def connect(self, bearers: Mapping[str, Bearer], watched: Sequence[str]) -> None:
        """Tell who reads what its steps send, and of which of them the outlet takes it."""
        self._bearers = bearers
        self.watched = tuple(watched)

    def send(self, step: str, facts: list[Fact], notices: Notices | None = None) -> None:
        """Pass on, outside the unit, what one of its steps has sent."""
        bearer = self._bearers.get(step)
        if bearer is not None:
            bearer.bring(facts, notices)
        if step in self.watched:
            self.outlet.receive(step, facts, self.frontier(step), notices)

    def restore_frontiers(self) -> None:  # noqa: B027 - no abstract method: a step's frontier is its operator's
        """The steps have been restored: they are known as far as their operators, or the control of their loop, say."""

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

    `after` is the unit that alone reads what the step sends, at this `port`, and `bearer` leaves it with all others. One
    that `is_leaf` is quiet, hears of each step at one port, and feeds nobody, or such a one alone. The network's `agenda`
    has the units to be run.
    """

    __slots__ = (
        "_ahead",
        "_feeds",
        "_gates",
        "_port_leads",
        "after",
        "agenda",
        "bearer",
        "is_leaf",
        "operator",
        "port",
        "step",
        "way",
    )

    def __init__(self, index: int, graph: Graph, outlet: Outlet, step: Step, agenda: list[int]) -> None:
        super().__init__(index, graph, outlet)
        self.step = step
        self.agenda = agenda
        self.operator = graph.operators[step.id]
        self._feeds = step.inputs
        self._port_leads = [self._lead(feed) for feed in step.inputs]
        self.waits, self.tidies = self.operator.waits(), self.operator.tidies()
        self._gates = [
            (port, gate) for port in range(len(step.inputs)) if (gate := graph.gates.get((step.id, port))) is not None
        ]
        self.way = graph.way_into(step.id)
        self.after: StepUnit | None = None
        self.bearer: Bearer | None = None
        self.port = 0
        self.is_leaf = False
        self._ahead: list[int] | None = None  # of the watermark, what feeds each port, if that is known of all

    def connect(self, bearers: Mapping[str, Bearer], watched: Sequence[str]) -> None:
        super().connect(bearers, watched)
        self.bearer = bearers.get(self.step.id)

    def refresh(self, step: str) -> None:
        self.way = self._graph.way_into(step)

    def go_on_with(self, after: StepUnit, port: int) -> None:
        """Nobody but this unit reads what the step sends; it does so at once where nobody on the agenda comes before."""
        self.after, self.port = after, port

    def take(self) -> None:
        pending, self.pending = self.pending, []
        # a message without facts bids the gates to look again at what waits there
        if self.is_quiet and len(pending) == 1 and not self.made and pending[0][2] and pending[0][3] is None:
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
            agenda, after = unit.agenda, unit.after
            if out:
                if unit.watched:
                    unit.outlet.receive(unit.step.id, out, operator.frontier, None)
                if after is None or after.queued or (agenda and agenda[0] <= after.index):
                    after = None
                    if unit.bearer is not None:
                        unit.bearer.bring(out, None)
            if unit.credit >= unit.cost:  # it has much to forget, once others have had their turn
                unit.queued = True
                heappush(agenda, unit.index)
            if after is None:
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
            self.outlet.receive(name, out, operator.frontier, told)
        if self.bearer is not None and (out or told is not None):
            self.bearer.bring(out, told)

    def _hand_on(self, facts: list[Fact], frontier: int, notices: Notices | None) -> None:
        if self.watched:
            self.outlet.receive(self.step.id, facts, frontier, notices)
        if self.bearer is not None and (facts or notices is not None):
            self.bearer.bring(facts, notices)

    def _pass_on(self, facts: list[Fact]) -> None:
        """Leave what has been sent with those who read it."""
        if self.watched:
            self.outlet.receive(self.step.id, facts, self.operator.frontier, None)
        after, agenda = self.after, self.agenda
        if after is not None and not after.queued and not (agenda and agenda[0] <= after.index):
            after.take_along(self.port, facts)
        elif self.bearer is not None:
            self.bearer.bring(facts, None)

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
