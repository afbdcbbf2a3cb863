"""What of a theory matters for whether it has a model: what a clause without a head depends on."""

from __future__ import annotations

from collections import defaultdict

from tidelog.operators.horn.everywhere import without_everywhere
from tidelog.operators.horn.theory import Always, Clause, Given, Literal, Theory
from tidelog.plans.tree.reaching import reachable


def relevant(theory: Theory) -> Theory:
    """The part of a theory that has a model exactly if the whole has one, its propositions numbered anew.

    Where nothing is excluded, that is nothing: all may hold everywhere. Nor is what holds everywhere asked for.

    >>> excluded, kept, dropped = Clause(None, ((1, 0),)), Clause((1, 0), ((0, -1),)), Clause((2, 0), ((0, 0),))
    >>> part = relevant(Theory(("p", "q", "r"), (excluded, kept, dropped), (), (Given(0, 1, 1),), False))
    >>> part.names, len(part.clauses)
    (('p', 'q'), 2)
    """
    theory = without_everywhere(theory)
    needed = _needed(theory)
    number = {old: new for new, old in enumerate(sorted(needed))}

    def renamed(literal: Literal) -> Literal:
        return number[literal[0]], literal[1]

    clauses = tuple(
        Clause(None if clause.head is None else renamed(clause.head), tuple(map(renamed, clause.body)), clause.parity)
        for clause in theory.clauses
        if clause.head is None or clause.head[0] in needed
    )
    always = tuple(
        Always(number[item.flag], number[item.operand], item.future) for item in theory.always if item.flag in needed
    )
    given = tuple(Given(number[item.atom], item.low, item.high) for item in theory.given if item.atom in needed)
    return Theory(tuple(theory.names[old] for old in sorted(needed)), clauses, always, given, theory.is_dense)


def _needed(theory: Theory) -> set[int]:
    """The propositions from which a clause without a head can be reached."""
    bodies: dict[int, set[int]] = defaultdict(set)
    needed: set[int] = set()
    for clause in theory.clauses:
        atoms = {atom for atom, _ in clause.body}
        if clause.head is None:
            needed |= atoms
        else:
            bodies[clause.head[0]] |= atoms
    for item in theory.always:
        bodies[item.flag].add(item.operand)
    return reachable(needed, lambda atom: bodies.get(atom, ()))
