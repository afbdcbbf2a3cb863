"""Parts of a problem that share no propositions, so that each can be decided alone.

Two components that only clauses about the first positions link fall apart once these are behind. That matters: side by
side, two independent halves repeat as seldom as the product of their periods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from tidelog.operators.ltl.clauses import ClausalForm, Clause
from tidelog.operators.ltl.propagation import Effort, Known, propagate, watchers_of

_CLOCK_POSITIONS = 4
"""Of two truth values one has come back by then."""


@dataclass(frozen=True)
class Group:
    """Components that are decided together: their variables, their clauses everywhere, their eventualities; and what all of
    a problem may cost."""

    components: frozenset[int]
    variables: frozenset[int]
    clauses: tuple[Clause, ...]
    eventualities: tuple[tuple[int, int], ...]
    effort: Effort = field(compare=False)

    @cached_property
    def watchers(self) -> dict[int, list[int]]:
        return watchers_of(self.clauses)

    @cached_property
    def reach(self) -> int:
        """How far ahead its clauses look."""
        return max((ahead for clause in self.clauses for ahead, _ in clause), default=0)


class Components:
    """The components of a problem, and the groups that they form.

    A clock is a variable that clauses about itself alone fix at all positions: it links nothing, and belongs to every group.
    """

    def __init__(self, form: ClausalForm, effort: Effort) -> None:
        self._form = form
        self._effort = effort
        self._groups: dict[frozenset[int], Group] = {}
        self._clocks = frozenset(_clocks(form))
        parents: dict[int, int] = {}
        for clause in (*form.first, *form.everywhere):
            for variable in self._free(clause):
                parents.setdefault(variable, variable)
        for clause in form.everywhere:
            _unite(parents, self._free(clause))
        self.of_variable = {variable: _root(parents, variable) for variable in parents}

    def _free(self, clause: Clause) -> set[int]:
        return {literal >> 1 for _, literal in clause} - self._clocks

    def all(self) -> Group:
        """The group of all components."""
        return self.group(frozenset(self.of_variable.values()))

    def group(self, components: frozenset[int]) -> Group:
        """The group of some components."""
        found = self._groups.get(components)
        if found is None:
            members = {variable for variable, component in self.of_variable.items() if component in components}
            variables = self._clocks | members
            clauses = tuple(clause for clause in self._form.everywhere if _variables(clause) <= variables)
            eventualities = tuple(item for item in self._form.eventualities if item[0] >> 1 in members)
            found = Group(components, variables, clauses, eventualities, self._effort)
            self._groups[components] = found
        return found

    def split(self, group: Group, pending: Iterable[Clause]) -> list[Group]:
        """The smallest groups that these clauses do not link."""
        if len(group.components) <= 1:
            return [group]
        parents = {component: component for component in group.components}
        for clause in pending:
            _unite(parents, {self.of_variable[variable] for variable in self._free(clause)})
        parts: dict[int, set[int]] = {}
        for component in sorted(parents):
            parts.setdefault(_root(parents, component), set()).add(component)
        return [group] if len(parts) == 1 else [self.group(frozenset(part)) for part in parts.values()]


def _variables(clause: Clause) -> set[int]:
    return {literal >> 1 for _, literal in clause}


def _unite(parents: dict[int, int], members: Iterable[int]) -> None:
    roots = [_root(parents, member) for member in members]
    for root in roots[1:]:
        parents[_root(parents, root)] = _root(parents, roots[0])


def _root(parents: dict[int, int], member: int) -> int:
    while parents[member] != member:
        parents[member] = parents[parents[member]]
        member = parents[member]
    return member


def _clocks(form: ClausalForm) -> Iterator[int]:
    for clause in form.first:
        if len(clause) == 1 and clause[0][0] == 0:
            variable = clause[0][1] >> 1
            own = [item for item in form.everywhere if _variables(item) == {variable}]
            known: Known = {clause[0][1]: 1}
            if own and _is_fixed(known, own):
                yield variable


def _is_fixed(known: Known, clauses: list[Clause]) -> bool:
    """Whether clauses that look one position ahead at most fix a variable: its values then repeat."""
    if any(ahead > 1 for clause in clauses for ahead, _ in clause):
        return False
    whole = (1 << _CLOCK_POSITIONS) - 1
    instances = [(clause, whole) for clause in clauses]
    if not propagate(known, instances, [watchers_of(clauses)], range(len(clauses))):
        return False
    true, false = (known.get(literal, 0) for literal in sorted({item ^ 1 for item in known} | {*known}))
    return (true | false) & whole == whole and not true & false
