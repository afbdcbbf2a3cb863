"""The graph run synchronously, in one thread: what sessions use, and what any other way of running must agree with."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from tidelog.plans.facts import Fact
from tidelog.plans.plan import Plan
from tidelog.plans.timeline import NEG
from tidelog.runtime.graph import Graph, PortMessage
from tidelog.runtime.intake import Delivery
from tidelog.runtime.loop_control import SETTLED, LoopControl, LoopMessage
from tidelog.runtime.state_bound import StateBound

Outcome = tuple[str, list[Fact], int]
"""New coverage of an output or a constraint: its step, the facts, and the frontier behind them."""


class Network:
    """Drives a graph: each message runs through all of it, step by step in the plan's order, each loop until it is idle."""

    def __init__(self, plan: Plan, prospects: bool = True, patience: bool = False, bound: StateBound | None = None) -> None:
        self.graph = Graph(plan, prospects, patience, bound)
        self._pending: dict[str, list[tuple[int, Sequence[Fact], int]]] = {step.id: [] for step in plan.steps}
        self._told: dict[str, int] = {step.id: NEG for step in plan.steps}
        self._withheld: list[list[tuple[str, list[Fact]]]] = [[] for _ in plan.loops]
        self._outcomes: list[Outcome] = []

    def begin(self) -> list[Outcome]:
        """Send the program's own facts; returns what comes out at the watched steps."""
        return self._run(self.graph.beginning())

    def deliver(self, delivery: Delivery) -> list[Outcome]:
        """Run a delivery of the intake through the graph; returns what comes out at the watched steps."""
        return self._run(self.graph.entering(delivery))

    def _run(self, messages: list[PortMessage]) -> list[Outcome]:
        for name, port, facts, frontier in messages:
            self._pending[name].append((port, facts, frontier))
        for step in self.graph.plan.steps:
            waiting = self._pending[step.id]
            if not waiting:
                continue
            self._pending[step.id] = []
            for port, facts, frontier in waiting:
                if step.loop is not None:
                    self._admit(self.graph.controls[step.loop], step.id, port, facts, frontier)
                else:
                    out = self.graph.receive(step.id, port, facts, frontier)
                    self._send(step.id, out, self.graph.operators[step.id].frontier)
        outcomes, self._outcomes = self._outcomes, []
        for name, facts, _ in outcomes:
            self.graph.left(name, len(facts))
        return outcomes

    def _send(self, name: str, facts: list[Fact], frontier: int) -> None:
        if not facts and frontier <= self._told[name]:
            return
        self._told[name] = max(frontier, self._told[name])
        for step, port in self.graph.outer[name]:
            self._pending[step].append((port, facts, frontier))
        if name in self.graph.watched:
            self._outcomes.append((name, facts, frontier))

    def _admit(self, control: LoopControl, step: str, port: int, facts: Sequence[Fact], frontier: int) -> None:
        """Let a loop take a message from outside, and run it until nothing is in flight, as its control says."""
        for messages in control.admit(step, port, facts, frontier):
            if not control.withholding:
                self._send_withheld(control)
            in_flight = deque(messages)
            while in_flight:
                in_flight.extend(self._handle(control, in_flight.popleft()))

    def _send_withheld(self, control: LoopControl) -> None:
        """The loop has come to its end, so what was withheld until then is an answer."""
        number = control.loop.number
        withheld, self._withheld[number] = self._withheld[number], []
        for name, out in withheld:
            self._send(name, out, NEG)

    def _handle(self, control: LoopControl, message: LoopMessage) -> list[LoopMessage]:
        """One handler inside a loop: what it sends to others inside; what goes outside is sent, or withheld."""
        if message.port == SETTLED:
            self._send(message.step, [], message.time)
            return []
        out = self.graph.receive_in_loop(message)
        if not out:
            return []
        if control.withholding:
            self._withheld[control.loop.number].append((message.step, out))
        else:
            self._send(message.step, out, NEG)
        return [LoopMessage(step, port, out, NEG) for step, port in self.graph.inner[message.step]]

    def snapshot(self) -> dict[str, Any]:
        """The state of the graph, between two deliveries, as plain data."""
        return {"graph": self.graph.snapshot(), "told": dict(self._told)}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self.graph.restore(data["graph"])
        self._told = dict(data["told"])
