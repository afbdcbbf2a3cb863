"""Who reads what a step sends: ports that take every fact, and ports that are found by the constants in their atoms.

A join whose atom names constants, as in `temp(S, c7, V)`, can do nothing with other rows. So such ports stand in a table for
each choice of columns, under the constants there (the alpha network of Rete, Forgy 1982): a fact finds those that it
concerns, however many there are.

Joins that read an arrangement take what is new at once, around its being stored there: each pair of facts meets once, in
every join (`runtime/network/arranging.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappush
from operator import itemgetter
from typing import Any

from tidelog.plans.data.facts import Fact
from tidelog.plans.plan.plan import JoinShape
from tidelog.plans.tree.syntax import Constant, Value
from tidelog.runtime.network.arranging import Sharing
from tidelog.runtime.network.graph import Graph, Port
from tidelog.runtime.network.units import StepUnit, Unit

Reader = tuple[Unit, str, int]
"""A port, with the unit of its step."""


class Readers:
    """The ports that a step, or the stream, feeds, with the units that they belong to; and the agenda of these."""

    __slots__ = ("_after", "_agenda", "_all", "_before", "_sharing", "_tables")

    def __init__(
        self,
        graph: Graph,
        ports: Sequence[Port],
        unit_of: Mapping[str, Unit],
        agenda: list[int],
        sharing: Sharing | None = None,
    ) -> None:
        self._all: list[Reader] = []
        self._agenda = agenda
        self._sharing = sharing
        self._before: list[tuple[StepUnit, int]] = []
        self._after: list[tuple[StepUnit, int]] = []
        if sharing is not None:
            self._before = _units(unit_of, sharing.before)
            self._after = _units(unit_of, sharing.after)
            ports = [port for port in ports if port not in sharing.before and port not in sharing.after]
        tables: dict[tuple[int, ...], dict[Value | tuple[Value, ...], list[Reader]]] = {}
        for step, port in ports:
            reader = (unit_of[step], step, port)
            found = constants(graph, step, port)
            if not found:
                self._all.append(reader)
                continue
            values = tuple(found.values())
            table = tables.setdefault(tuple(found), {})
            table.setdefault(values if len(values) > 1 else values[0], []).append(reader)
        self._tables = [(itemgetter(*positions), table) for positions, table in tables.items()]

    def bring(self, facts: Sequence[Fact]) -> None:
        """Leave new coverage with the units that it concerns, to be run."""
        if self._sharing is not None:
            self._share(self._sharing, facts)
        agenda = self._agenda
        for unit, step, port in self._all:
            unit.pending.append((step, port, facts))
            if not unit.queued:
                unit.queued = True
                heappush(agenda, unit.index)
        for key_of, table in self._tables:
            if len(facts) == 1:
                self._leave(table.get(key_of(facts[0][0]), ()), facts)
                continue
            chosen: dict[Value | tuple[Value, ...], list[Fact]] = {}
            whole: Sequence[Any] = facts  # as in `Coverage.insert`
            for fact in whole:
                key = key_of(fact[0])
                if key in table:
                    chosen.setdefault(key, []).append(fact)
            for key, some in chosen.items():
                self._leave(table[key], some)

    def _share(self, sharing: Sharing, facts: Sequence[Fact]) -> None:
        """Let joins take new coverage that must not find it stored, then store it, then those that must."""
        self._take_at_once(self._before, facts)
        for arrangement in sharing.arrangements:
            arrangement.enter(facts)
        self._take_at_once(self._after, facts)

    def _take_at_once(self, readers: Sequence[tuple[StepUnit, int]], facts: Sequence[Fact]) -> None:
        for unit, port in readers:
            unit.take_at_once(port, facts)
            if not unit.queued:
                unit.queued = True
                heappush(self._agenda, unit.index)

    def _leave(self, readers: Sequence[Reader], facts: Sequence[Fact]) -> None:
        for unit, step, port in readers:
            unit.pending.append((step, port, facts))
            if not unit.queued:
                unit.queued = True
                heappush(self._agenda, unit.index)


def _units(unit_of: Mapping[str, Unit], ports: Sequence[Port]) -> list[tuple[StepUnit, int]]:
    """The ports with their units, which are those of steps outside loops."""
    found = [(unit_of[step], port) for step, port in ports]
    return [(unit, port) for unit, port in found if isinstance(unit, StepUnit)]


def constants(graph: Graph, step: str, port: int) -> dict[int, Value]:
    """The constants in the atom at a port of a join, by their positions."""
    shape = graph.steps[step].shape
    if not isinstance(shape, JoinShape):
        return {}
    return {i: term.value for i, term in enumerate(shape.atoms[port]) if isinstance(term, Constant)}
