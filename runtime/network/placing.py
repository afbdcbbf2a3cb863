"""The units of a plan, and their place: who feeds them, who reads what they send, and what is known of it beforehand."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Feed, Loop
from tidelog.runtime.network.choosing import constants_of
from tidelog.runtime.network.clock import Clock
from tidelog.runtime.network.clocked_unit import ClockedUnit
from tidelog.runtime.network.graph import Graph
from tidelog.runtime.network.loop_unit import LoopUnit
from tidelog.runtime.network.outlet import Outlet
from tidelog.runtime.network.readers import Readers
from tidelog.runtime.network.regularity import Regularity
from tidelog.runtime.network.units import StepUnit, Unit


def units_of(graph: Graph, outlet: Outlet, agenda: list[int], shared: Collection[int]) -> tuple[list[Unit], dict[str, Unit]]:
    """The units of a graph in the plan's order, and that of each step; of loops that are `shared`, others have rows, too."""
    units: list[Unit] = []
    unit_of: dict[str, Unit] = {}
    loops: dict[int, Unit] = {}
    for step in graph.plan.steps:
        if step.loop is None:
            unit_of[step.id] = StepUnit(len(units), graph, outlet, step, agenda)
            units.append(unit_of[step.id])
            continue
        if step.loop not in loops:
            loops[step.loop] = _of_loop(len(units), graph, outlet, graph.plan.loops[step.loop], shared)
            units.append(loops[step.loop])
        unit_of[step.id] = loops[step.loop]
    return units, unit_of


def _of_loop(index: int, graph: Graph, outlet: Outlet, loop: Loop, shared: Collection[int]) -> Unit:
    control = graph.controls[loop.number]
    if isinstance(control, Clock):
        return ClockedUnit(index, graph, outlet, loop, control, shared=loop.number in shared)
    return LoopUnit(index, graph, outlet, loop)


class Placing:
    """Tells units their place. `unit_of` has the unit of each step, `agenda` those that are to run."""

    def __init__(
        self, graph: Graph, outlet: Outlet, unit_of: dict[str, Unit], agenda: list[int], regularity: Regularity
    ) -> None:
        self._graph, self._outlet = graph, outlet
        self._unit_of, self._agenda, self._regularity = unit_of, agenda, regularity

    def place(self, units: Sequence[Unit]) -> None:
        """Tell all units, in the plan's order; anew once more is known of the stream's start."""
        steps: dict[int, list[str]] = {}
        for name, unit in self._unit_of.items():
            steps.setdefault(unit.index, []).append(name)
        for unit in units:
            self._place(unit, steps[unit.index])
        for name, unit in reversed(self._unit_of.items()):
            self._line_up(name, unit)

    def lead_of(self, feed: Feed) -> int | None:
        """How far what feeds a port lies ahead of the watermark, wherever that is; None where it has to be asked."""
        if feed.kind == "remote":
            return self._graph.plan.leads[feed.name]
        if feed.kind != "step":
            return None if feed.kind in ("start", "facts") else 0
        lead = self._graph.plan.leads[feed.name]
        return lead if self._unit_of[feed.name].is_steady and NEG < lead < POS else None

    def _line_up(self, name: str, unit: Unit) -> None:
        """Join a quiet unit with the only one that reads it, if that is quiet, too, and reads all of it."""
        ports = self._graph.outer[name]
        if isinstance(unit, StepUnit) and unit.is_quiet and len(ports) == 1:
            after = self._unit_of[ports[0][0]]
            if (
                isinstance(after, StepUnit)
                and after.is_quiet
                and not constants_of(self._graph.steps[ports[0][0]].shape, ports[0][1])
            ):
                unit.go_on_with(after, ports[0][1])
        if isinstance(unit, StepUnit) and unit.is_quiet and (not ports or (unit.after is not None and unit.after.is_leaf)):
            unit.is_leaf = len({*unit.step.inputs}) == len(unit.step.inputs)

    def _place(self, unit: Unit, names: Sequence[str]) -> None:
        graph, regularity = self._graph, self._regularity
        feeds = [feed for name in names for feed in graph.steps[name].inputs]
        upstream = dict.fromkeys(self._unit_of[feed.name] for feed in feeds if feed.kind == "step")
        unit.place(
            [other for other in upstream if other is not unit],
            len(feeds),
            is_irregular=any(map(regularity.is_irregular, names)),
            is_steady=all(map(regularity.is_steady, names)),
        )
        outer = {name: ports for name in names if (ports := graph.outer[name])}
        bearers = {
            name: Readers(graph, ports, self._unit_of, self._agenda, graph.sharing.get(name))
            for name, ports in outer.items()
        }
        unit.connect(bearers, [name for name in names if name in graph.watched])
        unit.follow({feed: lead for feed in feeds if (lead := self.lead_of(feed)) is not None})
        judges_rows = any(gate.rows is not None for (name, _), gate in graph.gates.items() if name in names)
        unit.awaited = tuple(name for name in unit.watched if self._outlet.waits(name))
        unit.is_quiet = not (unit.waits or judges_rows or unit.awaited)
