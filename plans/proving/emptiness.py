"""Which predicates never hold: those that no derivation can begin with.

A predicate holds where a rule derives it, in finitely many steps, from facts. So what is derived by rules alone each of
which needs something that never holds, never holds either, as far as a recursion goes round.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from tidelog.plans.proving.rulebook import Rulebook
from tidelog.plans.tree.syntax import Aggregate, Atom, Binary, Conjunction, Formula, Latest, Truth, Unary, Window


def empty_predicates(book: Rulebook, dead: Container[int]) -> frozenset[str]:
    """The predicates that never hold, where the rules with the numbers `dead` derive nothing."""
    possible = set(book.open) | set(book.facts)
    waiting = [clause for name in book.clauses for clause in book.of(name) if clause.number not in dead]
    while True:
        firing = [clause for clause in waiting if all(set(_needed(part)) <= possible for part in clause.body)]
        if not firing:
            break
        possible |= {clause.head.predicate for clause in firing}
        waiting = [clause for clause in waiting if clause not in firing]
    return frozenset(_all(book) - possible)


def _all(book: Rulebook) -> set[str]:
    read = {
        name for clauses in book.clauses.values() for clause in clauses for part in clause.body for name in _needed(part)
    }
    return read | set(book.clauses)


def _needed(formula: Formula) -> Iterator[str]:
    """The predicates without which a formula never holds."""
    match formula:
        case Atom(predicate=name):
            yield name
        case Latest(atom=atom):
            yield atom.predicate
        case Conjunction(parts=parts):
            for part in parts:
                yield from _needed(part)
        case Binary(right=right):
            yield from _needed(right)
        case Unary(clipped=False, operand=operand) | Window(mode="sometime" | "at", operand=operand):
            yield from _needed(operand)
        case Aggregate(operand=operand):
            yield from _needed(operand)
        case Truth(value=False):
            yield "bottom"
