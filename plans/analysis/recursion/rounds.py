"""In which order a batch plan is computed: strata one after another, and in each of them round by round.

A predicate of the program's text is *derived* in rounds; what normalising made between two of them works within a round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from tidelog.plans.analysis.recursion.ends import Ending, ending_of, looks_back
from tidelog.plans.analysis.recursion.strata import by_level
from tidelog.plans.plan.plan import Step
from tidelog.plans.tree.components import components


@dataclass(frozen=True, slots=True)
class Component:
    """Derived predicates that depend on each other, or one alone, and the other predicates of the text that they read.

    `steps` compute them, those between two predicates included; `looks_back`: what is new never reaches back before what
    it follows from. `ending` tells whether a recursive one comes to an end.
    """

    predicates: tuple[str, ...]
    reads: tuple[str, ...]
    steps: tuple[str, ...]
    is_recursive: bool
    looks_back: bool
    ending: Ending


@dataclass(frozen=True, slots=True)
class Stratum:
    """Predicates that are computed to the end before later strata may negate them.

    `components` hold the derived predicates, each behind those that it reads; `constraints` are checked here; `steps`
    compute both, each behind what feeds it within a round; `reads` are the predicates of the text, derived here or not,
    that feed them. A step that two strata need stands in both. One that is `clocked` is a component that depends on its own
    negation at earlier times: it goes through time, and has no rounds.
    """

    components: tuple[Component, ...]
    constraints: tuple[str, ...]
    steps: tuple[str, ...]
    reads: tuple[str, ...]
    is_clocked: bool = False

    @property
    def predicates(self) -> tuple[str, ...]:
        """The derived predicates."""
        return tuple(name for component in self.components for name in component.predicates)


class RoundPlanner:
    """Arranges steps by strata and components; `text` are the steps that unite a predicate of the program's text.

    `clocked` are the predicates that depend on their own negation at earlier times.
    """

    def __init__(
        self, steps: Iterable[Step], text: Iterable[str], constraints: Iterable[str], clocked: Set[str] = frozenset()
    ) -> None:
        self._clocked = clocked
        self._steps = {step.id: step for step in steps}
        self._text = set(text)
        self._rules = {name: self._steps[name].feeders for name in self._steps if name in self._text}
        self._constraints = tuple(name for name in constraints if name in self._steps)

    def in_order(self) -> tuple[Step, ...]:
        """All steps, each component behind what feeds it."""
        successors: dict[str, list[str]] = {name: [] for name in self._steps}
        for step in self._steps.values():
            for name in self._steps[step.id].feeders:
                successors[name].append(step.id)
        return tuple(self._steps[name] for members in components(successors) for name in members)

    def strata(self, levels: Mapping[str, int]) -> tuple[Stratum, ...]:
        """The strata from below, given how many negations each predicate stands above the ground."""
        targets = [name for name, rules in self._rules.items() if rules] + list(self._constraints)
        found = self._components([name for name in targets if name in self._text])
        by_stratum = by_level({name: levels.get(name, 0) for name in targets})
        return tuple(stratum for names in by_stratum for stratum in self._of_level(set(names), found))

    def _of_level(self, names: set[str], found: Sequence[Component]) -> Iterator[Stratum]:
        parts = [component for component in found if component.predicates[0] in names]
        clocked = [component for component in parts if not self._clocked.isdisjoint(component.predicates)]
        yield from (Stratum((component,), (), (), component.reads, is_clocked=True) for component in clocked)
        if len(parts) > len(clocked) or not names.isdisjoint(self._constraints):
            yield self._stratum(names, [component for component in parts if component not in clocked])

    def _stratum(self, names: set[str], found: Sequence[Component]) -> Stratum:
        parts = tuple(found)
        constraints = tuple(name for name in self._constraints if name in names)
        ends = [rule for part in parts for name in part.predicates for rule in self._rules[name]]
        steps = self._behind([*ends, *constraints])
        return Stratum(parts, constraints, steps, self._read_by(steps))

    def _components(self, derived: Sequence[str]) -> list[Component]:
        steps = {name: self._behind(self._rules[name]) for name in derived}
        reads = {name: self._read_by(steps[name]) for name in derived}
        successors: dict[str, list[str]] = {name: [] for name in derived}
        for name in derived:
            for source in reads[name]:
                if source in successors:
                    successors[source].append(name)
        return [self._component(members, steps, reads) for members in components(successors)]

    def _component(
        self, members: Sequence[str], steps: Mapping[str, Sequence[str]], reads: Mapping[str, Sequence[str]]
    ) -> Component:
        every = [self._steps[name] for name in dict.fromkeys(name for member in members for name in steps[member])]
        read = dict.fromkeys(name for member in members for name in reads[member])
        return Component(
            predicates=tuple(members),
            reads=tuple(name for name in read if name not in members),
            steps=tuple(step.id for step in every),
            is_recursive=any(name in read for name in members),
            looks_back=all(map(looks_back, every)),
            ending=ending_of([*every, *(self._steps[name] for name in members)]),
        )

    def _behind(self, ends: Iterable[str]) -> tuple[str, ...]:
        """Some steps and all that feed them within a round, each behind what feeds it, unless they go round."""
        done: dict[str, None] = {}
        begun: set[str] = set()
        work = [(name, False) for name in reversed(list(ends))]
        while work:
            name, is_fed = work.pop()
            if is_fed:
                done[name] = None
            if name in begun:
                continue
            begun.add(name)
            work.append((name, True))
            work += [(source, False) for source in self._steps[name].feeders if source not in self._text]
        return tuple(done)

    def _read_by(self, steps: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for step in steps for name in self._steps[step].feeders if name in self._text))
