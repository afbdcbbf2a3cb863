"""Who reads what a step sends, or what comes of a predicate: ports that take all of it, and ports that its rows choose.

Joins that read an arrangement take what is new at once, around its being stored there: each pair of facts meets once, in
every join (`runtime/network/arranging.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappush

from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.network.arranging import Sharing
from tidelog.runtime.network.choosing import ByConstants, ByLimit, Choice, Limit, constants_of, limit_of
from tidelog.runtime.network.graph import Graph, Port
from tidelog.runtime.network.units import Bearer, StepUnit, Unit

Reader = tuple[Unit, str, int]
"""A port, with the unit of its step."""


class Readers(Bearer):
    """The ports that a step, or the stream, feeds, with the units that they belong to; and the agenda of these."""

    __slots__ = ("_after", "_agenda", "_all", "_before", "_choices", "_sharing", "alone", "port")

    def __init__(
        self,
        graph: Graph,
        ports: Sequence[Port],
        unit_of: Mapping[str, Unit],
        agenda: list[int],
        sharing: Sharing | None = None,
    ) -> None:
        self._agenda = agenda
        self._sharing = sharing
        self._before: list[tuple[StepUnit, int]] = []
        self._after: list[tuple[StepUnit, int]] = []
        if sharing is not None:
            self._before = _units(unit_of, sharing.before)
            self._after = _units(unit_of, sharing.after)
            shared = {*sharing.before, *sharing.after}
            ports = [port for port in ports if port not in shared]
        readers = [(unit_of[step], step, port) for step, port in ports]
        self._all, self._choices = _choices(graph, readers)
        self.alone: StepUnit | None = None
        """The unit that alone takes all of it, at this `port`, if that is quiet: it may take facts at once."""
        self.port = 0
        if sharing is None and not self._choices and len(self._all) == 1:
            unit, _, port = self._all[0]
            if isinstance(unit, StepUnit) and unit.is_quiet:
                self.alone, self.port = unit, port

    def bring(self, facts: Sequence[Fact], notices: Notices | None = None) -> None:
        """Leave new coverage, and notices, with the units that they concern, to be run; ports with arrangements get none."""
        if self._sharing is not None and facts:
            self._share(self._sharing, facts)
        agenda = self._agenda
        for unit, step, port in self._all:
            unit.pending.append((step, port, facts, notices))
            if not unit.queued:
                unit.queued = True
                heappush(agenda, unit.index)
        for choice in self._choices:
            if facts:
                self._bring_to_chosen(choice, facts)
            if notices is not None:
                for reader, heard in choice.of_notices(notices):
                    self._leave(reader, (), heard)

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

    def _bring_to_chosen(self, choice: Choice[Reader], facts: Sequence[Fact]) -> None:
        """Leave facts with those that they concern; in the plan's order leaves take them at once, if nobody comes before."""
        chosen: list[tuple[Reader, Sequence[Fact]]] = (
            [(reader, facts) for reader in choice.of(facts[0][0])] if len(facts) == 1 else [*choice.of_facts(facts)]
        )
        if len(chosen) > 1:
            chosen.sort(key=_place_of)
        agenda, is_only = self._agenda, len(self._choices) == 1
        for reader, some in chosen:
            unit = reader[0]
            if (
                is_only
                and isinstance(unit, StepUnit)
                and unit.is_leaf
                and not unit.queued
                and not (agenda and agenda[0] <= unit.index)
            ):
                unit.take_along(reader[2], some)
            else:
                self._leave(reader, some, None)

    def _leave(self, reader: Reader, facts: Sequence[Fact], notices: Notices | None) -> None:
        unit, step, port = reader
        unit.pending.append((step, port, facts, notices))
        if not unit.queued:
            unit.queued = True
            heappush(self._agenda, unit.index)


def _choices(graph: Graph, readers: Sequence[Reader]) -> tuple[list[Reader], list[Choice[Reader]]]:
    """The readers that take everything; and the choices among the others. A few limits are asked for one by one."""
    everything: list[Reader] = []
    by_constants: dict[tuple[int, ...], list[tuple[tuple[Value, ...], Reader]]] = {}
    by_limit: dict[Limit, list[tuple[Value, Reader]]] = {}
    for reader in readers:
        _, step, port = reader
        shape = graph.steps[step].shape
        constants, limit = constants_of(shape, port), limit_of(shape, port)
        if constants:
            by_constants.setdefault(tuple(constants), []).append((tuple(constants.values()), reader))
        elif limit is not None:
            by_limit.setdefault(limit[0], []).append((limit[1], reader))
        else:
            everything.append(reader)
    choices: list[Choice[Reader]] = [ByConstants(columns, found) for columns, found in by_constants.items()]
    for order, limits in by_limit.items():
        if len(limits) > LIMITS.few:
            choices.append(ByLimit(order, limits))
        else:
            everything += [reader for _, reader in limits]
    return everything, choices


def _place_of(chosen: tuple[Reader, Sequence[Fact]]) -> int:
    return chosen[0][0].index


def _units(unit_of: Mapping[str, Unit], ports: Sequence[Port]) -> list[tuple[StepUnit, int]]:
    """The ports with their units, which are those of steps outside loops."""
    found = [(unit_of[step], port) for step, port in ports]
    return [(unit, port) for unit, port in found if isinstance(unit, StepUnit)]
