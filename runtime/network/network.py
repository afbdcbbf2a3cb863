"""The graph run to completion for each delivery of the intake, in one thread.

Time is kept in one place. The watermark is known to the network, and told to nobody: how far a step is known follows from
it by the step's lead. A unit runs when facts have come for it, or when its **deadline** has: the watermark at which it has
something to tell though nothing new has come (a negation that is decided, a fact that may pass on into a loop). So an event
costs what it changes, and a moment at which nothing happens costs nothing, however many rules there are.

Forgetting has no deadline: a unit catches up once it has taken as many facts as that costs, and then forgets when it is its
turn, with a delivery. So the fact with which a new moment begins does not pay for what all units forget.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from tidelog.operators.joins.antijoin import AntiJoin
from tidelog.operators.joins.standing_antijoin import StandingAntiJoin
from tidelog.operators.metric.latch import Latch
from tidelog.operators.operator import shift
from tidelog.operators.stores.amortised import LIMITS
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Feed, Plan
from tidelog.runtime.intake.intake import Delivery, Intake
from tidelog.runtime.network.ends import Ends
from tidelog.runtime.network.graph import Graph, Hear, Message, Port, Sent
from tidelog.runtime.network.outlet import Outlet
from tidelog.runtime.network.placing import Placing, units_of
from tidelog.runtime.network.readers import Readers
from tidelog.runtime.network.regularity import Regularity
from tidelog.runtime.network.state_bound import Holding, StateBound
from tidelog.runtime.network.units import StepUnit, Unit


class Network:
    """Drives a graph: what a delivery brings runs through it unit by unit, in the plan's order.

    While it is `eager`, every unit catches up at each move of the watermark, as the definition of a frontier has it; the
    answers and their order are the same. A port that is `muted` gets nothing from the step that feeds it. Loops that are
    `shared` are followed behind the stream's end together with other networks, which have other rows of them.
    """

    def __init__(
        self,
        plan: Plan,
        outlet: Outlet,
        bound: StateBound,
        prospects: bool = True,
        muted: Collection[Port] = (),
        exports: Collection[str] = (),
        shared: Collection[int] = (),
    ) -> None:
        self.graph = Graph(plan, prospects, bound, muted, exports)
        bound.watch("steps", self._holdings)
        self._outlet = outlet
        self.eager = False
        self.has_begun = False
        self._follows_arrivals = outlet.follows_arrivals
        self._watermark = self._start_frontier = NEG
        self._version = 0
        self._agenda: list[int] = []  # the units to run, by their place in the plan's order
        self._deadlines: list[tuple[int, int]] = []  # a watermark, and the unit that is due at it
        self._untidy: deque[StepUnit] = deque()  # those that may have something to forget
        self._wanted: list[tuple[int, str]] = []  # a watermark, and the output of which the outlet wants to hear then
        self._wanted_at = dict.fromkeys(self.graph.watched, POS)
        self._regularity = Regularity(self.graph)
        self._units, self._unit_of = units_of(self.graph, outlet, self._agenda, shared)
        self._placing = Placing(self.graph, outlet, self._unit_of, self._agenda, self._regularity)
        self.ends = Ends(self._units, self._unit_of, shared, self._come_anew)
        self._placing.place(self._units)
        stream = self.graph.stream_ports.items()
        self._entries = {name: Readers(self.graph, ports, self._unit_of, self._agenda) for name, ports in stream}
        remote = self.graph.remote_ports.items()
        self._remote = {name: Readers(self.graph, ports, self._unit_of, self._agenda) for name, ports in remote}
        self.takes_one = not (self._follows_arrivals or self.graph.gates)
        """Whether facts may come by `take_one`: nobody asks for more than the fact, and how far time has come."""

    def _know_start(self) -> None:
        """The stream's start is known: from now on calendars, which begin there, are known just as far as planned."""
        self._start_frontier = POS
        if self._regularity.learn_start():
            self._placing.place(self._units)

    # --- what comes in --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Send the program's own facts, which are complete from the start; at the latest the first delivery does."""
        if self.has_begun:
            return
        self.has_begun = True
        self._bring(self.graph.beginning())
        for unit in self._units:
            self._enqueue(unit)
        self._run()
        self._catch_up_all()
        self._judge()

    def deliver(self, delivery: Delivery, remote: Sequence[Sent] = ()) -> None:
        """Run a delivery of the intake through the graph, with what steps of other islands have sent of it."""
        if not self.has_begun:
            self.begin()
        has_points = self._follows_arrivals and self._outlet.arrive(delivery)
        moved = self._move(delivery.frontier)
        self._enter(delivery)
        for step, facts, notices in remote:
            self._remote[step].bring(facts, notices)
        if moved or self._agenda:
            self._run_what_is_due(moved)
        if has_points:
            self._look_at_outputs()
        if self._outlet.accused or (self._wanted and self._wanted[0][0] <= self._watermark):
            self._tell_what_is_due()
        if self._untidy:
            self._tidy(sum(map(len, delivery.facts.values())))

    def go_on(self, time: int, *, tells: bool) -> None:
        """Come up to a time at which nothing is brought; unless it `tells`, what goes on holding waits for a delivery."""
        self._move(time)
        self._enter(Delivery(frontier=time))
        self._run_what_is_due(moved=True)
        if tells or self._outlet.accused:
            self._tell_what_is_due()
        if self._untidy:
            self._tidy(1)

    def take_one(self, intake: Intake, source: str, record: Record, moment: float) -> bool:
        """Let the intake take a fact that comes by itself, and run it through the graph, where `takes_one`.

        False, and nothing done, where the intake has something to find out.
        """
        frontier = intake.take_one(source, record, moment)
        if frontier is None:
            return False
        if not self.has_begun:
            self.begin()
        known: tuple[str, Row, Any, Any] = record  # as in `Intake`: compiled code makes no new integers
        predicate, row, lo, hi = known
        waiting = len(self._outlet.answers)
        moved = frontier > self._watermark and self._move(frontier)
        entry = self._entries.get(predicate)
        if entry is not None:
            unit = entry.alone
            facts = [(row, lo, hi)]
            if unit is None or (self._deadlines and self._deadlines[0][0] <= self._watermark):
                entry.bring(facts)
            else:
                unit.take_along(entry.port, facts)
        if moved or self._agenda:
            self._run_what_is_due(moved)
        if self._outlet.accused or (self._wanted and self._wanted[0][0] <= self._watermark):
            self._tell_what_is_due()
        if self._untidy:
            self._tidy(1)
        bound = self.graph.bound
        bound.left -= len(self._outlet.answers) - waiting
        if bound.left < 0:
            bound.count()
        return True

    def _move(self, frontier: int) -> bool:
        """The watermark has moved up to a frontier, unless it was there before."""
        if frontier <= self._watermark:
            return False
        if frontier >= POS:
            self._follow_up()
            self.ends.come(self._watermark)
        self._watermark = frontier
        self._version += 1
        return True

    def _follow_up(self) -> None:
        """The stream ends: what recursion goes on without an end is followed up to now, whenever it was due last."""
        if self._watermark > NEG:
            for unit in self.ends.loops:
                self._catch_up(unit)
            self._run()

    def _run_what_is_due(self, moved: bool) -> None:
        if self._deadlines and self._deadlines[0][0] <= self._watermark:
            self._wake()
        if self._agenda:
            self._run()
        if moved and (self.eager or self._watermark >= POS):
            self._catch_up_all()

    def _tell_what_is_due(self) -> None:
        if self._wanted and self._watermark < POS:  # at the end all have been told how far they came
            self._tell_frontiers()
        if self._outlet.accused:
            self._judge()

    def _judge(self) -> None:
        """All that is due has run: tell what is violated."""
        self._outlet.judge(self._frontier_of)

    def _frontier_of(self, name: str) -> int:
        """How far a step is known, all that is due having run."""
        unit = self._unit_of[name]
        if unit.is_irregular or self._watermark >= POS:
            return unit.frontier(name)
        return shift(self._watermark, self.graph.plan.leads[name])

    @property
    def watermark(self) -> int:
        """How far time has come."""
        return self._watermark

    def next_round(self) -> int:
        """The least watermark at which recursion goes on by itself; POS where it does not, NEG where that is not known."""
        return min([unit.deadline() for unit in self.ends.loops], default=POS)

    def next_look(self) -> int:
        """The least watermark at which anything is done though nothing new comes; POS where nothing is.

        Until then nobody need be told how far time has come.
        """
        if not self.has_begun:
            return NEG
        return min(
            self._deadlines[0][0] if self._deadlines else POS,
            self._wanted[0][0] if self._wanted else POS,
        )

    def deadline(self) -> int:
        """The least watermark at which something is to be told though nothing new comes; POS where nothing is.

        What goes on holding may wait to be told of until then.
        """
        due = min([unit.due for unit in self._units], default=POS)
        for name in self.graph.watched:
            frontier = POS if self._unit_of[name].is_irregular else self._outlet.due(name)
            if frontier < POS:
                due = min(due, shift(frontier, -self.graph.plan.leads[name]))
        return max(due, self._watermark + 1)

    def _enter(self, delivery: Delivery) -> None:
        """Leave what a delivery brings with its readers."""
        starts = delivery.start is not None
        if starts or delivery.frontier >= POS:
            self._know_start()
            self._outlet.begin(delivery.start)
        if starts or self.graph.gates:
            self._bring(self.graph.preceding(delivery))
        for predicate, facts in delivery.facts.items():
            if predicate in self._entries:
                self._entries[predicate].bring(facts)
        if delivery.arrivals:
            self._bring(self.graph.counted(delivery.arrivals))

    def _wake(self) -> None:
        """Put on the agenda what is due."""
        deadlines = self._deadlines
        while deadlines and deadlines[0][0] <= self._watermark:
            due, index = heappop(deadlines)
            if self._units[index].due == due:
                self._units[index].due = POS
                self._enqueue(self._units[index])

    def presume(self, until: Mapping[str, int]) -> None:
        """Let steps that negate take it that what is there stays so, each until a time (encoded).

        All are told before how far time has come, so it does not matter when they looked last.
        """
        self._catch_up_all()
        for name, time in until.items():
            operator = self.graph.operators[name]
            if isinstance(operator, AntiJoin | StandingAntiJoin | Latch):
                operator.presume(time)

    def announce(self, messages: Sequence[Message]) -> None:
        """Let steps know what stands on their ports already; all come anew as far as the watermark allows."""
        self._version += 1
        self._bring(messages)
        self._run()
        self._catch_up_all()
        self._judge()

    def listen(self, step: str, hear: Hear | None) -> None:
        """Tell `hear` what a step takes and sends from now on; with None, nobody any more."""
        self.graph.listen(step, hear)
        self._unit_of[step].refresh(step)

    def hear_as(self, other: Network) -> None:
        """Whoever listens to steps of another network of the same plan listens to them here from now on."""
        for step, hear in other.graph.hearing.items():
            self.listen(step, hear)

    def rest(self) -> None:
        """The stream stops before its end: let all be told that is known."""
        self._catch_up_all()
        self._judge()
        self._outlet.rest()

    def _look_at_outputs(self) -> None:
        """What the outlet waits for has changed, though nothing was sent."""
        for unit in self._units:
            if unit.watched:
                self._enqueue(unit)
        self._run()

    def may_wait(self) -> bool:
        """Whether there may ever be a deadline."""
        return any(not isinstance(unit, StepUnit) or unit.waits or unit.awaited for unit in self._units)

    def _tell_frontiers(self) -> None:
        """All that is due has run, so each regular output is known as far as its lead says: tell who waits for it."""
        wanted = self._wanted
        while wanted and wanted[0][0] <= self._watermark:
            due, name = heappop(wanted)
            if self._wanted_at[name] == due:
                self._wanted_at[name] = POS
                self._outlet.receive(name, (), self._frontier_of(name))
                self._want(name, self._watermark + 1)

    def _want(self, name: str, earliest: int = NEG) -> None:
        """Note at which watermark the outlet wants to hear of a regular output."""
        frontier = self._outlet.deadline(name)
        if frontier < POS:
            due = max(earliest, shift(frontier, -self.graph.plan.leads[name]))
            if due < self._wanted_at[name]:
                self._wanted_at[name] = due
                heappush(self._wanted, (due, name))

    def _bring(self, messages: Sequence[Message]) -> None:
        unit_of, agenda = self._unit_of, self._agenda
        for message in messages:
            unit = unit_of[message[0]]
            unit.pending.append(message)
            if not unit.queued:
                unit.queued = True
                heappush(agenda, unit.index)

    # --- running --------------------------------------------------------------------------------------------------------

    def _enqueue(self, unit: Unit) -> None:
        if not unit.queued:
            unit.queued = True
            heappush(self._agenda, unit.index)

    def _run(self) -> None:
        agenda, units = self._agenda, self._units
        is_told = NEG < self._watermark < POS and not self.eager
        while agenda:
            unit = units[heappop(agenda)]
            unit.queued = False
            is_behind = unit.version != self._version
            if is_told and is_behind and unit.is_prompt and not unit.is_quiet and isinstance(unit, StepUnit):
                unit.version = self._version
                unit.run(self._watermark)
                if unit.tidies and not unit.is_untidy:
                    unit.is_untidy = True
                    self._untidy.append(unit)
                self._note(unit, self._deadline(unit) if unit.is_irregular else unit.deadline())
                continue
            if unit.pending or unit.made:
                unit.take()
            if not unit.is_quiet or unit.credit >= unit.cost:
                self._look_at(unit)

    def _look_at(self, unit: Unit) -> None:
        """Let a unit catch up if something is due, or much may be forgotten; then note when to look at it again."""
        next_move = self._watermark + 1
        is_known = unit.version == self._version and unit.due == next_move  # it can come no further before
        due = next_move if is_known else self._deadline(unit)
        if due <= self._watermark or unit.credit >= unit.cost:
            self._catch_up(unit)
            unit.credit = 0  # it has come as far as it can, if not just now then before
            due = self._deadline(unit)
        self._note(unit, due)

    def _note(self, unit: Unit, due: int) -> None:
        """Note when to look at a unit again that has come as far as it can."""
        if due <= self._watermark:  # it waits for something that no lead tells: perhaps the next move brings it
            due = self._watermark + 1
        if due < unit.due:
            unit.due = due
            heappush(self._deadlines, (due, unit.index))
        if not unit.is_irregular:
            for name in unit.awaited:
                self._want(name)

    def _deadline(self, unit: Unit) -> int:
        if unit.is_irregular and unit.awaited and any(self._outlet.deadline(name) < POS for name in unit.awaited):
            return NEG
        return POS if unit.is_quiet else unit.deadline()

    def _catch_up(self, unit: Unit) -> None:
        """Come as far as the watermark allows: what is upstream first, and what that sends before its frontier.

        What is steady need not: all that was due upstream has run. But at the stream's end nothing is due: all catch up.
        """
        if unit.waits_for or self.eager or self._watermark >= POS:
            self._catch_up_behind(unit)
        elif unit.version != self._version:
            self._settle(unit)

    def _catch_up_behind(self, unit: Unit) -> None:
        stack = [unit]
        while stack:
            top = stack[-1]
            first = top.upstream if self.eager or self._watermark >= POS else top.waits_for
            behind = [found for found in first if found.version != self._version]
            if behind:
                stack += behind
                continue
            stack.pop()
            if top.version != self._version:
                self._settle(top)

    def _settle(self, unit: Unit) -> None:
        unit.version = self._version
        unit.credit = 0
        if unit.pending or unit.made:
            unit.take()
        unit.settle(self._watermark if NEG < self._watermark < POS and not self.eager else None, self._reach)
        for name in unit.watched:
            self._outlet.receive(name, (), unit.frontier(name))
        if unit.tidies and not unit.is_untidy and isinstance(unit, StepUnit):
            unit.is_untidy = True
            self._untidy.append(unit)

    def _reach(self, feed: Feed) -> int:
        """How far what feeds a port has come, where the watermark alone does not tell."""
        if feed.kind == "step":
            unit = self._unit_of[feed.name]
            if unit.is_steady and not self.eager and self._watermark < POS:
                return shift(self._watermark, self.graph.plan.leads[feed.name])
            return unit.frontier(feed.name)  # at the end a loop that has none is not known for all times
        if feed.kind == "remote":
            known = shift(self._watermark, self.graph.plan.leads[feed.name])
            return min(known, self.ends.remote(feed.name))
        if feed.kind == "start":
            return self._start_frontier
        return POS if feed.kind == "facts" else self._watermark

    def _come_anew(self) -> None:
        self._version += 1
        self._catch_up_all()
        self._judge()

    def _catch_up_all(self) -> None:
        for unit in self._units:
            self._catch_up(unit)
            self._run()

    def _holdings(self) -> Iterator[Holding]:
        """What each step stores, with what it has made and nobody has taken yet; what may be let go does not count."""
        self._tidy(LIMITS.spread)
        way = Counter[str]()
        for unit in self._units:
            unit.count_waiting(way)
        for name in self.graph.steps:
            yield self.graph.holding_of(name, way[name])

    def _tidy(self, facts: int) -> None:
        """So many facts have come: let some units forget, those first that have waited longest. At the end all do."""
        left = len(self._untidy)
        if self._watermark < POS and not self.eager:
            left = min(left, 1 + left * facts // LIMITS.spread)
        for _ in range(left):
            unit = self._untidy.popleft()
            unit.is_untidy = False
            unit.operator.tidy()

    # --- state ----------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """The state of the graph, between two deliveries, as plain data."""
        self.begin()
        self._tidy(LIMITS.spread)
        return {"graph": self.graph.snapshot(), "watermark": self._watermark, "start": self._start_frontier}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self.has_begun = True
        self.graph.restore(data["graph"])
        self._watermark = data["watermark"]
        if data["start"] >= POS:
            self._know_start()
        self._version += 1
        self._deadlines.clear()
        for unit in self._units:
            unit.restore_frontiers()
        for unit in self._units:
            unit.due = POS
            due = max(self._deadline(unit), self._watermark + 1)
            if due < POS:
                unit.due = due
                self._deadlines.append((due, unit.index))
        heapify(self._deadlines)
        self._wanted.clear()
        self._wanted_at = dict.fromkeys(self.graph.watched, POS)
        for name in self.graph.watched:
            if not self._unit_of[name].is_irregular:
                self._want(name)
