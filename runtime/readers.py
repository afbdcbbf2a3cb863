"""Who reads what a step sends: ports that take every fact, and ports that are found by the constants in their atoms.

A join whose atom names constants, as in `temp(S, c7, V)`, can do nothing with other rows. So such ports stand in a table for
each choice of columns, under the constants there (the alpha network of Rete, Forgy 1982): a fact finds those that it
concerns, however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from tidelog.plans.facts import Fact
from tidelog.plans.plan import JoinShape
from tidelog.plans.syntax import Constant, Value
from tidelog.runtime.graph import Graph, Message, Port


class Readers:
    """The ports that a step feeds."""

    __slots__ = ("_all", "_tables", "any")

    def __init__(self, graph: Graph, ports: Sequence[Port]) -> None:
        self._all: list[Port] = []
        tables: dict[tuple[int, ...], dict[Value | tuple[Value, ...], list[Port]]] = {}
        for step, port in ports:
            found = _constants(graph, step, port)
            if not found:
                self._all.append((step, port))
                continue
            values = tuple(found.values())
            table = tables.setdefault(tuple(found), {})
            table.setdefault(values if len(values) > 1 else values[0], []).append((step, port))
        self.any = bool(ports)
        self._tables = [(itemgetter(*positions), table) for positions, table in tables.items()]

    def of(self, facts: Sequence[Fact]) -> list[Message]:
        """The messages that new coverage becomes."""
        messages: list[Message] = [(step, port, facts) for step, port in self._all]
        if not self._tables:
            return messages
        for key_of, table in self._tables:
            if len(facts) == 1:
                messages += [(step, port, facts) for step, port in table.get(key_of(facts[0][0]), ())]
                continue
            chosen: dict[Value | tuple[Value, ...], list[Fact]] = {}
            for fact in facts:
                key = key_of(fact[0])
                if key in table:
                    chosen.setdefault(key, []).append(fact)
            messages += [(step, port, some) for key, some in chosen.items() for step, port in table[key]]
        return messages


def _constants(graph: Graph, step: str, port: int) -> dict[int, Value]:
    """The constants in the atom at a port of a join, by their positions."""
    shape = graph.steps[step].shape
    if not isinstance(shape, JoinShape):
        return {}
    return {i: term.value for i, term in enumerate(shape.atoms[port]) if isinstance(term, Constant)}
