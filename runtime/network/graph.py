"""A plan deployed: its operators with empty state, and who feeds whom. How it is driven is another matter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from tidelog.operators.loops.hold import Hold
from tidelog.operators.loops.open_loop import EndlessError, OpenLoop
from tidelog.operators.operator import Operator, OperatorStatistics
from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row, format_atom, format_record
from tidelog.plans.data.timeline import NEG
from tidelog.plans.diagnostics.errors import OperatorError, TidelogError
from tidelog.plans.language.places import place_of
from tidelog.plans.plan.feeds import consumers_of, ports_fed_by
from tidelog.plans.plan.guards import Prospects
from tidelog.plans.plan.plan import Loop, Plan, Step
from tidelog.plans.tree.names import head_predicate
from tidelog.runtime.intake.intake import Delivery
from tidelog.runtime.network.arranging import arrange, unshared
from tidelog.runtime.network.clock import Clock, Part
from tidelog.runtime.network.deploy import build_group, build_open_loop, build_operator
from tidelog.runtime.network.loop_control import MOST_VALUES, LoopControl
from tidelog.runtime.network.prospects import Watch
from tidelog.runtime.network.state_bound import ON_THE_WAY, Holding, StateBound

Port = tuple[str, int]
Message = tuple[str, int, Sequence[Fact], Notices | None]
"""A step, its port, and for it new coverage, and notices of what goes on holding."""
Sent = tuple[str, Sequence[Fact], Notices | None]
"""What a step has sent: new coverage, and notices."""
Hear = Callable[[str, Sequence[Fact], Notices | None], None]
"""Told what a step takes, with the name of what feeds it, and what it sends, with no name (``)."""
Receive = Callable[[int, Sequence[Fact], int, Notices | None], list[Fact]]
"""Lets one operator take a message on a port and the frontier behind it; returns the new coverage that follows."""


class Graph:
    """Operators, wiring, loop controls, state.

    `outer[step]` are the ports that a step feeds outside its loop, `inner[step]` those inside; `watched` are the steps whose
    coverage leaves the graph: outputs and constraints. Without `prospects`, nothing sleeps and nothing is dropped early.
    A port that is `muted` gets nothing from the step that feeds it. What the steps `exports` send leaves the graph, too:
    other islands read it. `sharing[step]` are the arrangements of what it sends.
    """

    def __init__(
        self,
        plan: Plan,
        prospects: bool = True,
        bound: StateBound | None = None,
        muted: Collection[Port] = (),
        exports: Collection[str] = (),
    ) -> None:
        self.plan = plan
        self.bound = StateBound(None) if bound is None else bound
        wanted = plan.prospects if prospects else Prospects()
        self._watch = Watch(wanted)
        self.gates = self._watch.gates
        self.steps: dict[str, Step] = {step.id: step for step in plan.steps}
        self.inner: dict[str, list[Port]] = {}
        self.outer: dict[str, list[Port]] = {}
        for name, ports in consumers_of(plan).items():
            loop = self.steps[name].loop
            inside = [] if loop is None else [port for port in ports if self.steps[port[0]].loop == loop]
            self.inner[name] = inside
            self.outer[name] = [port for port in ports if port not in inside and port not in muted]
        self.sharing, arranged = arrange(plan, self.outer, self.gates)
        self.operators: dict[str, Operator] = {
            step.id: build_operator(
                step,
                plan.timeline,
                far_sighted=step.id in wanted.far_sighted,
                announced=plan.announcing.get(step.id) if step.loop is None or plan.loops[step.loop].order else None,
                arranged=arranged.get(step.id),
            )
            for step in plan.steps
        }
        for operator in self.operators.values():
            operator.room = self.bound.room
        self.open_loops = {loop.number: built for loop in plan.loops if (built := build_open_loop(plan, loop, MOST_VALUES))}
        for built in self.open_loops.values():
            built.room = self.bound.room
        self.watched = {*plan.outputs.values(), *plan.constraints, *exports}
        self.controls = [self._clock(loop) if loop.order else LoopControl(loop, plan, self.operators) for loop in plan.loops]
        self.hearing: dict[str, Hear] = {}
        self.stream_ports = ports_fed_by(plan, "stream")
        self.remote_ports = ports_fed_by(plan, "remote")
        self._start_ports = ports_fed_by(plan, "start").get("", [])
        self._arrival_ports = ports_fed_by(plan, "arrivals").get("", [])

    def loop_control(self, number: int) -> LoopControl:
        """How a loop that is not clocked is run."""
        control = self.controls[number]
        if isinstance(control, Clock):
            raise TypeError(f"loop {number} is clocked")
        return control

    def _clock(self, loop: Loop) -> Clock:
        """What lets a loop go through time."""
        parts = []
        for members in loop.order:
            group = build_group(self.plan, members, MOST_VALUES if loop.creates_values else None)
            if group is not None:
                group.operator.room = self.bound.room
            operator = self.operators[members[0]] if group is None else group.operator
            own = range(len(self.steps[members[0]].inputs))
            ports = {(members[0], port): port for port in own} if group is None else group.ports
            parts.append(Part(members, operator, ports))
        return Clock(loop, parts, {name: self.inner[name] for name in loop.members})

    # --- what enters ----------------------------------------------------------------------------------------------------

    def beginning(self) -> list[Message]:
        """The program's own facts."""
        by_predicate: dict[str, list[Fact]] = {}
        for predicate, row, lo, hi in self.plan.facts:
            by_predicate.setdefault(predicate, []).append((row, lo, hi))
        return [
            (step, port, by_predicate[predicate], None)
            for predicate, ports in ports_fed_by(self.plan, "facts").items()
            for step, port in ports
            if predicate in by_predicate
        ]

    def preceding(self, delivery: Delivery) -> list[Message]:
        """What a delivery brings before its facts: ports whose gates have to be looked at again, and the start."""
        messages: list[Message] = []
        if self.gates:
            messages += [(step, port, (), None) for step, port in self._watch.observe(delivery)]
        if delivery.start is not None:
            start: Fact = ((), delivery.start, delivery.start)
            messages += [(step, port, [start], None) for step, port in self._start_ports]
        return messages

    def counted(self, arrivals: Sequence[Fact]) -> list[Message]:
        """What a delivery brings for the windows that count facts."""
        return [(step, port, arrivals, None) for step, port in self._arrival_ports]

    @contextmanager
    def open_gates(self) -> Iterator[list[Message]]:
        """While this lasts, all goes on that comes to gates; gives what bids them to let go of what waits there."""
        for gate in self.gates.values():
            gate.give_way(gives_way=True)
        try:
            yield [(step, port, (), None) for step, port in self.gates]
        finally:
            for gate in self.gates.values():
                gate.give_way(gives_way=False)

    # --- one operator ---------------------------------------------------------------------------------------------------

    def way_into(self, name: str) -> Receive | None:
        """What messages to an operator go through: its gates, and whoever listens to it; None if nothing is there."""
        gates = {port: gate for (step, port), gate in self.gates.items() if step == name}
        receive, hear, inputs = self.operators[name].receive, self.hearing.get(name), self.steps[name].inputs
        if not gates and hear is None:
            return None

        def take(port: int, facts: Sequence[Fact], frontier: int, notices: Notices | None) -> list[Fact]:
            if port in gates:
                facts, frontier = gates[port].take(facts, frontier)
            out = receive(port, facts, frontier, notices)
            if hear is not None and (facts or notices is not None):
                hear(inputs[port].name or inputs[port].kind, facts, notices)
            if hear is not None and out:
                hear("", out, None)
            return out

        return take

    def listen(self, name: str, hear: Hear | None) -> None:
        """Tell `hear` what a step takes and sends; with None, nobody any more. Who runs the step asks for its way anew."""
        self.hearing.pop(name, None)
        if hear is not None:
            self.hearing[name] = hear

    def advance(self, name: str, frontiers: Sequence[int]) -> list[Fact]:
        """Let one operator, before whose ports there are no gates, take how far all of them have come."""
        try:
            out = self.operators[name].advance(frontiers)
        except Exception as error:
            raise self.failure(name, (), error) from error
        if out:
            self.made(name, out)
        return out

    def go_through(self, number: int, frontiers: Sequence[int]) -> list[Fact]:
        """Let what holds in a loop come as far as all that feeds it."""
        try:
            out = self.open_loops[number].advance(frontiers)
        except EndlessError as error:
            name = self.plan.loops[number].members[error.member]
            time = min(frontiers)
            raise self.creates_values(self.controls[number], name, (error.row, time, time)) from error
        except NoRoomError as error:
            name = self.plan.loops[number].members[0]
            raise self.bound.error(Holding(error.rows, partial(self._tell, name))) from error
        self.bound.moved(len(out) + len(self.open_loops[number].notices))
        return out

    def told_notices(self, name: str) -> Notices | None:
        """What a step outside loops has told by notices since this was asked last; None if that is nothing."""
        told = self.operators[name].told_notices()
        if told is not None:
            self.bound.moved(len(told.begun) + len(told.ended))
            if name in self.hearing:
                self.hearing[name]("", (), told)
        return told

    def standing_rows(self, name: str) -> list[tuple[Row, int]]:
        """The rows of a step that it has told to stand, and since when."""
        number = self.steps[name].loop
        for members, group in self._groups():
            if name in members:
                return group.standing_of(members.index(name))
        if number in self.open_loops:
            return self.open_loops[number].standing_of(self.plan.loops[number].members.index(name))
        return self.operators[name].standing_rows()

    def _groups(self) -> Iterator[tuple[tuple[str, ...], OpenLoop]]:
        """The steps of clocked loops that feed each other at one time, and what they are together."""
        for control in self.controls:
            for part in control.parts if isinstance(control, Clock) else ():
                if isinstance(part.operator, OpenLoop):
                    yield part.members, part.operator

    def release(self, name: str, time: int) -> list[Fact]:
        """Let a hold inside a loop pass what begins by a time."""
        operator = self.operators[name]
        released = operator.release(time) if isinstance(operator, Hold) else []
        self.made(name, released)
        return released

    def made(self, name: str, facts: Sequence[Fact]) -> None:
        """A step has sent something though nothing has come."""
        self.bound.moved(len(facts))
        if name in self.hearing and facts:
            self.hearing[name]("", facts, None)

    def failure(self, name: str, messages: Sequence[Message], error: Exception) -> TidelogError:
        """Name the fact on which an operator fails, by feeding it one by one; the engine stops, so its state may suffer."""
        if isinstance(error, NoRoomError):
            return self.bound.error(Holding(error.rows, partial(self._tell, name)))
        step, culprit = self.steps[name], "(the frontier)"
        for port, row, some, heard in _one_by_one(messages):
            try:
                self.operators[name].receive(port, some, NEG, heard)
            except Exception:
                culprit = format_atom(step.inputs[port].name or "start", row)
                break
        return OperatorError(step.id, step.source or step.rule or step.id, culprit, f"{type(error).__name__}: {error}")

    # --- what is held ---------------------------------------------------------------------------------------------------

    def holding_of(self, name: str, on_the_way: int) -> Holding:
        """What a step stores, with so many facts that it has made and nobody has taken yet."""
        rows = self.operators[name].entries() + on_the_way // ON_THE_WAY
        number = self.steps[name].loop
        if number in self.open_loops and name == self.plan.loops[number].members[0]:
            rows += self.open_loops[number].entries()
        rows += sum(group.entries() for members, group in self._groups() if members[0] == name)
        return Holding(rows, partial(self._tell, name))

    def _tell(self, name: str) -> tuple[str, str]:
        """The rule of a step, or what else it is, and its place; of several rules, the one that has given most."""
        step = self.steps[name]
        while not step.source and (fed_by := [feed.name for feed in step.inputs if feed.kind == "step"]):
            step = self.steps[max(fed_by, key=lambda feeder: self.operators[feeder].sent)]
        if not step.source:
            return f"the facts of `{step.predicate}`", ""
        return f"the rule `{step.source}`", place_of(self.plan.program, step.source)

    def answers_of(self, output: str, rows: int) -> Holding:
        """What an output has told, and the emission keeps."""
        return Holding(rows, partial(self._tell_answers, output))

    def _tell_answers(self, output: str) -> tuple[str, str]:
        what, place = self._tell(self.plan.outputs[output])
        return f"answers that wait to be told, of {what}", place

    def creates_values(self, control: LoopControl | Clock, name: str, fact: Fact) -> OperatorError:
        """The error for a loop that computes new values without end."""
        step = self.steps[control.loop.creates_values[0]]
        text = format_record((self.steps[name].predicate, *fact), self.plan.timeline)
        reason = f"the recursion creates new values without end (more than {MOST_VALUES:,} facts in one go)"
        return OperatorError(step.id, step.source, text, reason)

    # --- state ----------------------------------------------------------------------------------------------------------

    def statistics(self) -> dict[str, OperatorStatistics]:
        """What each step has done and holds."""
        slept, spared = self._watch.slept(), self._watch.dropped()
        found = {
            name: replace(operator.statistics(), slept=slept.get(name, 0), spared=spared.get(name, 0))
            for name, operator in self.operators.items()
        }
        open_loops: list[tuple[str, OpenLoop]] = [
            (self.plan.loops[number].members[0], loop) for number, loop in self.open_loops.items()
        ]
        open_loops += [(members[0], group) for members, group in self._groups()]
        for name, loop in open_loops:
            more = loop.statistics()
            found[name] = replace(
                found[name],
                received=found[name].received + more.received,
                sent=found[name].sent + more.sent,
                entries=found[name].entries + more.entries,
                failed_evaluations=found[name].failed_evaluations + more.failed_evaluations,
                evaluations=found[name].evaluations + more.evaluations,
            )
        return found

    def unfinished(self) -> list[str]:
        """The loops that had no end when the stream ended, each with how far it was followed."""
        point = self.plan.timeline.format_point
        return [
            f"the recursion through {self._circle(control.loop)} has no end: followed up to {point(control.present)}"
            for control in self.controls
            if control.unfinished
        ]

    def _circle(self, loop: Loop) -> str:
        """The predicates of a loop, as the program names them."""
        origins = self.plan.normal.origins
        names = dict.fromkeys(self.steps[name].predicate for name in loop.members)
        written = [name for name in names if name not in origins]
        return ", ".join(written or dict.fromkeys(head_predicate(origins[name].head) or name for name in names))

    def snapshot(self) -> dict[str, Any]:
        """The state of every operator and loop as plain data."""
        return {
            "operators": {name: operator.snapshot() for name, operator in self.operators.items()},
            "loops": [
                control.snapshot()
                if isinstance(control, Clock)
                else {**control.snapshot(), "open": loop and loop.snapshot()}
                for control in self.controls
                for loop in (self.open_loops.get(control.loop.number),)
            ],
            "prospects": self._watch.snapshot(),
            "arrangements": {
                arrangement.name: arrangement.store.snapshot()
                for sharing in self.sharing.values()
                for arrangement in sharing.arrangements
            },
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        for sharing in self.sharing.values():
            sharing.clear()
        for name, state in unshared(data, self.plan)["operators"].items():
            self.operators[name].restore(state)
        for control, state in zip(self.controls, data["loops"], strict=True):
            control.restore(state)
            loop = self.open_loops.get(control.loop.number)
            if loop is not None:
                loop.restore(state["open"])
        self._watch.restore(data["prospects"])


def _one_by_one(messages: Sequence[Message]) -> Iterator[tuple[int, Row, Sequence[Fact], Notices | None]]:
    """What messages bring, each fact and each notice as a message of its own, with its port and row."""
    for _, port, facts, notices in messages:
        for fact in facts:
            yield port, fact[0], [fact], None
        if notices is not None:
            for fact in notices.ended:
                yield port, fact[0], (), Notices((), [fact])
            for row, lo in notices.begun.items():
                yield port, row, (), Notices([(row, lo)])
