"""Lookups: in which order a join finds the rows that go with a new one, and by which columns.

New coverage of one atom meets the others one after the other. The atom comes next whose row is known already, or else the
one of which most columns are known; what comparisons compute is known, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tidelog.plans.plan.plan import JoinShape
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Expression, Term, Value, Variable

Key = tuple[int, ...] | None
"""The columns, by their positions, by which rows are found; None where they are looked up as a whole."""


def outline(shape: JoinShape) -> tuple[JoinShape, list[Value]]:
    """A join with its constants numbered, and the constants: many rules differ in them alone, and are looked up alike.

    >>> x, high, low = Variable("X"), Constant("high"), Constant("low")
    >>> shape = JoinShape((x, low), ((x, high), (x, low)))
    >>> outline(shape)[0] == JoinShape((x, Constant(0)), ((x, Constant(1)), (x, Constant(0)))), outline(shape)[1]
    (True, ['low', 'high'])
    """
    numbers: dict[tuple[type, Value], int] = {}

    def numbered(term: Expression) -> Expression:
        if isinstance(term, Constant):
            return Constant(numbers.setdefault((type(term.value), term.value), len(numbers)))
        if isinstance(term, Arithmetic):
            return Arithmetic(term.operator, tuple(map(numbered, term.operands)))
        return term

    def terms(given: tuple[Term, ...]) -> tuple[Term, ...]:
        return cast(tuple[Term, ...], tuple(map(numbered, given)))

    head, atoms = terms(shape.head), tuple(map(terms, shape.atoms))
    comparisons = tuple(Comparison(each.operator, numbered(each.left), numbered(each.right)) for each in shape.comparisons)
    return JoinShape(head, atoms, comparisons), [value for _, value in numbers]


def kept_columns(shape: JoinShape, atom: int) -> tuple[str, ...]:
    """The variables of an atom that something else mentions, in order; the others only have to exist."""
    needed = {term.name for term in shape.head if isinstance(term, Variable)}
    for other, terms in enumerate(shape.atoms):
        if other != atom:
            needed |= {term.name for term in terms if isinstance(term, Variable)}
    for comparison in shape.comparisons:
        needed |= variables_of(comparison.left) | variables_of(comparison.right)
    own = [term.name for term in shape.atoms[atom] if isinstance(term, Variable)]
    return tuple(dict.fromkeys(name for name in own if name in needed))


def variables_of(expression: Expression) -> set[str]:
    """The names of the variables in an expression."""
    if isinstance(expression, Variable):
        return {expression.name}
    if isinstance(expression, Arithmetic):
        return set().union(*map(variables_of, expression.operands))
    return set()


def keeps_rows(shape: JoinShape, atom: int) -> bool:
    """Whether an atom's rows are stored just as they come."""
    names = tuple(term.name if isinstance(term, Variable) else None for term in shape.atoms[atom])
    return names == kept_columns(shape, atom)


def partners(shape: JoinShape, columns: Sequence[tuple[str, ...]], atom: int) -> list[tuple[int, Key]]:
    """The other atoms in the order in which new coverage of an atom meets them, each with what its rows are found by.

    `columns` are the kept ones of each atom.

    >>> x, y, z = map(Variable, "XYZ")
    >>> partners(JoinShape((x, z), ((x, y), (y, z))), [("X", "Y"), ("Y", "Z")], 0)
    [(1, (0,))]
    """
    known = set(columns[atom])
    others = [other for other in range(len(columns)) if other != atom]
    found: list[tuple[int, Key]] = []
    while others:
        _compute(known, shape.comparisons)
        best = max(others, key=lambda other: (known.issuperset(columns[other]), _count(columns[other], known), -other))
        others.remove(best)
        positions = tuple(i for i, name in enumerate(columns[best]) if name in known)
        found.append((best, positions if len(positions) < len(columns[best]) else None))
        known |= set(columns[best])
    return found


def _compute(known: set[str], comparisons: Sequence[Comparison]) -> None:
    """Add the variables that comparisons compute from known ones: `X = expression` makes X known."""
    before = -1
    while len(known) > before:
        before = len(known)
        for comparison in comparisons:
            if comparison.operator == "=":
                for target, value in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
                    if isinstance(target, Variable) and variables_of(value) <= known:
                        known.add(target.name)


def _count(columns: Sequence[str], known: set[str]) -> int:
    return sum(name in known for name in columns)
