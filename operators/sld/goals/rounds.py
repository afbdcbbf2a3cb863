"""Whether a recursion ends because constants, or facts of the program, lead it through finitely many goals.

`stage(b)@T+1 :- stage(a)@T` needs another stage at another time, and a way along background facts without a cycle comes to
their end. Goals are followed by their predicates and the constants among their arguments, whatever their times: where no
such goal leads back to itself, no derivation is endless.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tidelog.operators.sld.comparisons.values import holds
from tidelog.operators.sld.goals.rulebook import Clause, Rulebook
from tidelog.plans.plan.preconditions import Slot
from tidelog.plans.tree.names import expression_variables
from tidelog.plans.tree.syntax import Atom, Comparison, Constant, Expression, Formula, Value, Variable
from tidelog.plans.tree.traverse import children

MOST_LOOKS = 200_000
"""After so many looks at facts and rules it counts as endless."""

_Goal = tuple[str, tuple[Value | None, ...]]
Known = Mapping[str, Value]
"""The variables of a rule that are constants in one use of it."""


class Rounds:
    """The goals to which a goal leads."""

    def __init__(self, rulebook: Rulebook) -> None:
        self._rulebook = rulebook
        self._looks = 0

    def end(self, query: Atom) -> bool:
        """Whether no goal behind a query leads back to itself."""
        first = query.predicate, tuple(term.value if isinstance(term, Constant) else None for term in query.arguments)
        path: dict[_Goal, Iterator[_Goal]] = {first: self._following(first)}
        done: set[_Goal] = set()
        while path:
            goal, following = next(reversed(path.items()))
            new = next((other for other in following if other not in done), None)
            if new is None:
                done.add(goal)
                path.popitem()
            elif new in path or self._looks > MOST_LOOKS:
                return False
            else:
                path[new] = self._following(new)
        return True

    def _following(self, goal: _Goal) -> Iterator[_Goal]:
        predicate, pattern = goal
        for clause in self._rulebook.clauses.get(predicate, ()):
            known = bound(clause.atom.arguments, pattern, {})
            if known is not None:
                yield from self._needed(clause, known)

    def _needed(self, clause: Clause, known: Known) -> Iterator[_Goal]:
        """The derived atoms of a rule, once for each way in which facts of the program bind its variables."""
        atoms = [atom for part in clause.body for atom in _atoms(part)]
        derived = [atom for atom in atoms if atom.predicate in self._rulebook.clauses]
        given = [part for part in clause.body if isinstance(part, Atom) and self._rulebook.is_given(part.predicate)]
        for binding in self._joined(given, known) if derived else ():
            if all(may_hold(part, binding) for part in clause.body if isinstance(part, Comparison)):
                for atom in derived:
                    yield atom.predicate, tuple(value_in(term, binding) for term in atom.arguments)

    def _joined(self, given: Sequence[Atom], known: Known) -> Iterator[Known]:
        waiting: list[tuple[int, Known]] = [(0, known)]
        while waiting:
            place, binding = waiting.pop()
            if place == len(given):
                yield binding
                continue
            table = self._rulebook.tables.get(given[place].predicate)
            terms = [value_in(term, binding) for term in given[place].arguments]
            for row, _, _ in () if table is None else table.matching([Slot(0) if t is None else t for t in terms]):
                self._looks += 1
                extended = bound(given[place].arguments, row, binding)
                if extended is not None:
                    waiting.append((place + 1, extended))


def _atoms(formula: Formula) -> Iterator[Atom]:
    """The atoms of a formula, those that it negates included."""
    if isinstance(formula, Atom):
        yield formula
    for child in children(formula):
        yield from _atoms(child)


def bound(terms: Sequence[Expression], values: Iterable[Value | None], known: Known) -> dict[str, Value] | None:
    """The variables with the values that terms take; None where they cannot take them."""
    found = dict(known)
    for term, value in zip(terms, values, strict=True):
        if value is None:
            continue
        if isinstance(term, Constant) and term.value != value:
            return None
        if isinstance(term, Variable) and found.setdefault(term.name, value) != value:
            return None
    return found


def value_in(term: Expression, known: Known) -> Value | None:
    """The constant that a term is; None where it is open."""
    if isinstance(term, Constant):
        return term.value
    return known.get(term.name) if isinstance(term, Variable) else None


def may_hold(comparison: Comparison, known: Known) -> bool:
    """Whether a comparison holds, or is open."""
    names = set(expression_variables(comparison.left, comparison.right))
    return not names <= known.keys() or holds(comparison, known)
