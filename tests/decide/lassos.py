"""LTL formulas decided by trying: every lasso up to a length, and the truth of a formula on it by definition."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import product
from operator import and_, or_

from tidelog.operators.ltl.formula import (
    FALSE,
    TRUE,
    Formula,
    Kind,
    always,
    conjunction,
    disjunction,
    following,
    implication,
    negation,
    proposition,
)

Lasso = tuple[Sequence[frozenset[str]], int]
"""The propositions that hold at each position, and the position behind the last one."""


def lassos(names: Sequence[str], length: int) -> Iterator[Lasso]:
    """Every lasso with that many positions or fewer."""
    choices = product((0, 1), repeat=len(names))
    letters = [frozenset(name for name, bit in zip(names, bits, strict=True) if bit) for bits in choices]
    for count in range(1, length + 1):
        for word in product(letters, repeat=count):
            for loop in range(count):
                yield word, loop


def holds(formula: Formula, lasso: Lasso) -> bool:
    """Whether a formula is true at the position 0 of a lasso."""
    return bool(_truth(formula, lasso, {}) & 1)


def _truth(formula: Formula, lasso: Lasso, known: dict[Formula, int]) -> int:
    """A bit for each position of the lasso, set where the formula is true."""
    if formula not in known:
        parts = [_truth(part, lasso, known) for part in formula.operands]
        known[formula] = _of_parts(formula, parts, lasso)
    return known[formula]


def _of_parts(formula: Formula, parts: list[int], lasso: Lasso) -> int:
    every = (1 << len(lasso[0])) - 1
    match formula.kind:
        case Kind.PROPOSITION:
            return sum(1 << position for position, letter in enumerate(lasso[0]) if formula.name in letter)
        case Kind.NOT:
            return every & ~parts[0]
        case Kind.AND | Kind.OR:
            return reduce(and_ if formula.kind is Kind.AND else or_, parts)
        case Kind.IMPLIES:
            return every & ~parts[0] | parts[1]
        case Kind.NEXT:
            return _before(parts[0], lasso)
        case Kind.ALWAYS:
            return every & ~_sometime(every & ~parts[0], lasso)
    return every if formula.kind is Kind.TRUE else 0


def _before(held: int, lasso: Lasso) -> int:
    """The positions whose next one is among these."""
    word, loop = lasso
    return held >> 1 | (held >> loop & 1) << (len(word) - 1)


def _sometime(goal: int, lasso: Lasso) -> int:
    """From where the goal is reached: backwards from the goal until nothing is new."""
    reached = goal
    while (more := reached | _before(reached, lasso)) != reached:
        reached = more
    return reached


def eventually(operand: Formula) -> Formula:
    """`F p`: now or at some later position."""
    return negation(always(negation(operand)))


def random_formula(rng: random.Random, names: Sequence[str], size: int) -> Formula:
    """A formula of about `size` connectives over these propositions."""
    if size <= 0:
        return rng.choice([*map(proposition, names)] * 4 + [TRUE, FALSE])
    unary, binary = (negation, following, always, eventually), (conjunction, disjunction, implication)
    chosen = rng.randrange(7)
    if chosen < 4:
        return unary[chosen](random_formula(rng, names, size - 1))
    left = rng.randrange(size)
    return binary[chosen - 4](random_formula(rng, names, left), random_formula(rng, names, size - 1 - left))
