"""T-stratification (Cruz-Filipe, Gaspar and Nunes 2020, Definition 6 and Proposition 14): strata of predicates and times.

A program is T-stratified if what a `not` asks is settled before, at each time anew: `p` may depend on its own negation as
long as every round through a negation leads strictly back in time. There are infinitely many predicates-at-a-time, but
rounds repeat in time, so that their strata are told by a line for each predicate: `(stratum, rate · t + offset)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tidelog.plans.asking.termination import recursions, round_through, show_cycle, way_between
from tidelog.plans.asking.time_edges import TimeEdge, edges_of
from tidelog.plans.data.facts import format_predicate
from tidelog.plans.diagnostics.errors import Diagnostic, Note
from tidelog.plans.plan.questions import Question
from tidelog.plans.tree.components import components
from tidelog.plans.tree.syntax import Rule, Time


@dataclass(frozen=True, slots=True)
class TimeStratum:
    """The strata of a predicate: at time t that is `(stratum, rate · t + offset)`, in lexicographic order.

    What a predicate at a time negates lies below it, and what it reads not above. The rate is 0 where no negation lies
    within a recursion; one that has a negation is a stratum of its own.
    """

    predicate: str
    stratum: int
    rate: int = 0
    offset: int = 0

    def at(self, time: int) -> tuple[int, int]:
        """The stratum of the predicate at a time."""
        return self.stratum, self.rate * time + self.offset

    def __str__(self) -> str:
        if not self.rate:
            return f"{format_predicate(self.predicate)}: {self.stratum}"
        factor = "" if self.rate == 1 else f"{self.rate}"
        shift = f"{self.offset:+}" if self.offset else ""
        return f"{format_predicate(self.predicate)}@T: {self.stratum}, step {factor}T{shift}"


def check_time_strata(question: Question) -> Iterator[Diagnostic]:
    """The negations of a question that are not settled before they are asked, the first of each component."""
    for edges in recursions(edges_of(question.rules)):
        cycle = _unsettled(edges)
        if cycle is not None:
            yield _refusal(question, cycle)


def time_strata(rules: Iterable[Rule]) -> tuple[TimeStratum, ...]:
    """The strata of T-stratified rules whose times are in ticks: derived predicates and what they read, from the lowest."""
    edges = edges_of(rules)
    feeds: dict[str, list[str]] = {}
    for edge in edges:
        feeds.setdefault(edge.atom.predicate, []).append(edge.head.predicate)
        feeds.setdefault(edge.head.predicate, [])
    found: dict[str, TimeStratum] = {}
    for members in components(feeds):
        inside = frozenset(members)
        own = [edge for edge in edges if edge.head.predicate in inside]
        within = [edge for edge in own if edge.atom.predicate in inside]
        is_timed = any(edge.negated for edge in within)
        below = [(found[edge.atom.predicate], edge.negated) for edge in own if edge.atom.predicate not in inside]
        stratum = max((item.stratum + bool(negated or item.rate or is_timed) for item, negated in below), default=0)
        found |= {item.predicate: item for item in _component(members, stratum, within, is_timed)}
    return tuple(sorted(found.values(), key=lambda item: item.stratum))


def _component(members: Sequence[str], stratum: int, edges: Sequence[TimeEdge], is_timed: bool) -> Iterator[TimeStratum]:
    """Offsets such that each edge leads down where it negates, and never up: longest ways, which no round makes longer."""
    if not is_timed:
        yield from (TimeStratum(name, stratum) for name in members)
        return
    rate = len(members) + 1
    offsets = dict.fromkeys(members, 0)
    for _ in members:
        for edge in edges:
            least = rate * int(edge.high) + offsets[edge.atom.predicate] + edge.negated
            offsets[edge.head.predicate] = max(offsets[edge.head.predicate], least)
    yield from (TimeStratum(name, stratum, rate, offsets[name]) for name in members)


def _unsettled(edges: Sequence[TimeEdge]) -> list[TimeEdge] | None:
    """A round through a negation that need not lead back in time, perhaps with another that leads ahead."""
    negated = [edge for edge in edges if edge.negated]
    if not negated:
        return None
    endless = next((edge for edge in edges if edge.high == math.inf), None)
    if endless is not None:
        return _with_negation(round_through(endless, edges), negated, edges)
    names = dict.fromkeys(edge.head.predicate for edge in edges)
    ways: dict[str, dict[str, Time]] = {}
    for name in names:
        ways[name], ahead = _longest(name, names, edges)
        if ahead:
            return _with_negation(ahead, negated, edges)
    for edge in negated:
        if ways[edge.atom.predicate][edge.head.predicate] + edge.high >= 0:
            return [edge, *_longest_way(edge, ways, edges)]
    return None


def _longest(start: str, names: Iterable[str], edges: Sequence[TimeEdge]) -> tuple[dict[str, Time], list[TimeEdge]]:
    """The most that each predicate can lie ahead of one, and a round that leads ahead, if any does (Bellman and Ford)."""
    most: dict[str, Time] = dict.fromkeys(names, -math.inf)
    most[start] = 0
    into: dict[str, TimeEdge] = {}
    for _ in most:
        changed = ""
        for edge in edges:
            time = most[edge.head.predicate] + edge.high
            if time > most[edge.atom.predicate]:
                changed = edge.atom.predicate
                most[changed], into[changed] = time, edge
        if not changed:
            return most, []
    for _ in most:  # so far back that it lies on the round
        changed = into[changed].head.predicate
    found = [into[changed]]
    while found[0].head.predicate != changed:
        found.insert(0, into[found[0].head.predicate])
    return most, found


def _longest_way(edge: TimeEdge, ways: dict[str, dict[str, Time]], edges: Sequence[TimeEdge]) -> list[TimeEdge]:
    """The edges of a longest way from where an edge ends back to its head."""
    here, goal = edge.atom.predicate, edge.head.predicate
    longest = [each for each in edges if each.high + ways[each.atom.predicate][goal] == ways[each.head.predicate][goal]]
    return way_between(here, goal, longest)


def _with_negation(found: list[TimeEdge], negated: Sequence[TimeEdge], edges: Sequence[TimeEdge]) -> list[TimeEdge]:
    """A round, and where it holds no negation another that does: together they come to the same time."""
    return found if any(edge.negated for edge in found) else [*found, *round_through(negated[0], edges)]


def _refusal(question: Question, cycle: Sequence[TimeEdge]) -> Diagnostic:
    name = cycle[0].head.predicate
    message = f"`{name}` depends on its own negation, at a time that need not be earlier: `{show_cycle(cycle)}`"
    help = "let every round through a `not` lead strictly back in time"
    place = next((edge.part.span for edge in cycle if edge.negated), cycle[0].part.span)
    notes = (Note(question.query.span, "asked here"),)
    return Diagnostic("not-t-stratified", message, place, "negated in its own recursion", notes, help)
