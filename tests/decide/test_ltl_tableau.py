"""The tableau: known theorems, comparison with every small lasso, theories that would be hard by guessing, and limits."""

from __future__ import annotations

import random

import pytest

from decide.lassos import eventually, holds, lassos, random_formula
from tidelog.operators.horn.theory import Always, Clause, Given, Theory
from tidelog.operators.ltl.formula import (
    FALSE,
    TRUE,
    Formula,
    always,
    conjunction,
    disjunction,
    following,
    implication,
    negation,
    proposition,
)
from tidelog.operators.ltl.printing import to_text
from tidelog.operators.ltl.tableau import TableauLimits, satisfiable
from tidelog.operators.ltl.translation import translate
from tidelog.plans.diagnostics.errors import MethodError

P, Q, R = map(proposition, "pqr")


def same(left: Formula, right: Formula) -> Formula:
    return conjunction(implication(left, right), implication(right, left))


VALID = [
    TRUE,
    disjunction(P, negation(P)),
    same(negation(following(P)), following(negation(P))),
    same(negation(always(P)), eventually(negation(P))),
    same(always(P), conjunction(P, following(always(P)))),
    same(eventually(P), disjunction(P, following(eventually(P)))),
    same(always(conjunction(P, Q)), conjunction(always(P), always(Q))),
    same(eventually(always(eventually(P))), always(eventually(P))),
    same(always(eventually(always(P))), eventually(always(P))),
    implication(conjunction(P, always(implication(P, following(P)))), always(P)),
    implication(conjunction(always(implication(P, following(Q))), always(P)), following(always(Q))),
    implication(eventually(always(P)), always(eventually(P))),
    implication(
        conjunction(always(eventually(P)), eventually(always(Q))),
        always(eventually(conjunction(P, Q))),
    ),
]

NEITHER = [
    P,
    implication(always(eventually(P)), eventually(always(P))),
    implication(always(disjunction(P, Q)), disjunction(always(P), always(Q))),
    implication(conjunction(eventually(P), eventually(Q)), eventually(conjunction(P, Q))),
    conjunction(always(eventually(P)), always(eventually(negation(P)))),
    always(implication(P, following(negation(P), 3))),
]


@pytest.mark.parametrize("formula", VALID, ids=to_text)
def test_theorems(formula: Formula) -> None:
    """What holds in all models is satisfiable, and its negation is not."""
    assert satisfiable(formula)
    assert not satisfiable(negation(formula))


@pytest.mark.parametrize("formula", NEITHER, ids=to_text)
def test_what_may_be_true_or_false(formula: Formula) -> None:
    """What holds in some models alone is satisfiable, and its negation too."""
    assert satisfiable(formula)
    assert satisfiable(negation(formula))


def test_contradictions() -> None:
    """Contradictions at once, after a while, and after infinitely many positions."""
    assert not satisfiable(FALSE)
    assert not satisfiable(conjunction(following(P, 5), always(negation(P))))
    assert not satisfiable(conjunction(eventually(Q), always(negation(Q))))
    assert not satisfiable(conjunction(always(implication(P, following(P))), P, always(eventually(negation(P)))))
    assert not satisfiable(conjunction(always(eventually(P)), always(implication(P, following(always(negation(P)))))))


def _agree(rng: random.Random, count: int, sizes: int) -> tuple[int, int]:
    """Compare random formulas with all lassos up to four positions; how many were, and were not, satisfiable."""
    every = list(lassos("pq", 4))
    found = [0, 0]
    for _ in range(count):
        formula = random_formula(rng, "pq", rng.randrange(2, sizes))
        if rng.random() < 0.6:
            formula = conjunction(formula, *(always(random_formula(rng, "pq", rng.randrange(1, 6))) for _ in range(2)))
        expected = any(holds(formula, lasso) for lasso in every)
        assert satisfiable(formula) == expected, to_text(formula)
        found[expected] += 1
    return found[1], found[0]


def test_random_formulas_equal_trying_all_lassos() -> None:
    """Small formulas have small models, if any: the tableau finds one exactly if there is one."""
    satisfied, not_satisfied = _agree(random.Random(7), 30, 8)
    assert min(satisfied, not_satisfied) > 5


@pytest.mark.long
@pytest.mark.slow
def test_many_random_formulas_equal_trying_all_lassos() -> None:
    """The same with more and larger formulas."""
    satisfied, not_satisfied = _agree(random.Random(8), 200, 12)
    assert min(satisfied, not_satisfied) > 40


# --- theories --------------------------------------------------------------------------------------------------------------


def decide(*clauses: Clause, given: tuple[Given, ...], always: tuple[Always, ...] = (), atoms: int = 3) -> bool:
    """Whether a theory on integers has a model."""
    names = tuple(f"p{number}" for number in range(atoms))
    return satisfiable(translate(Theory(names, clauses, always, given, False)).formula)


def every(atom: int, step: int) -> Clause:
    """An atom comes again after so many positions."""
    return Clause((atom, step), ((atom, 0),))


@pytest.mark.parametrize("way", [1, -1])
def test_periods_that_meet_far_away(way: int) -> None:
    """7, 11 and 13 begin at other times and meet once in 1,001, on whichever side: no guess stands in the way."""
    clauses = [every(0, 7 * way), every(1, 11 * way), every(2, 13 * way)]
    given = tuple(Given(atom, atom, atom) for atom in range(3))
    together = Clause(None, ((0, 0), (1, 0), (2, 0)))
    assert not decide(*clauses, together, given=given)
    assert decide(*clauses, Clause(None, ((0, 0), (1, 0), (2, 0), (3, 0))), given=given, atoms=4)


@pytest.mark.parametrize("way", [1, -1])
@pytest.mark.parametrize(("steps", "is_complete"), [((2, 3, 6), False), ((2, 4, 4), True)])
def test_what_always_holds_from_some_time_on(way: int, steps: tuple[int, int, int], is_complete: bool) -> None:
    """Atoms that come again together cover every position from some one on, or leave gaps; only then a flag is raised."""
    clauses = [every(atom, step * way) for atom, step in enumerate(steps)]
    clauses += [Clause((3, 0), ((atom, 0),)) for atom in range(3)]
    given = (Given(0, 0, 0), Given(1, way, way), Given(2, 3 * way, 3 * way), Given(5, -9 * way, -9 * way))
    flagged = [Clause((6, -9 * way), ((4, 0),)), Clause(None, ((5, 0), (6, 0), (4, 9 * way)))]
    always = (Always(4, 3, way > 0),)
    assert decide(*clauses, *flagged, given=given, always=always, atoms=7) == (not is_complete)


def test_a_long_stretch_of_data_and_long_distances() -> None:
    """Facts 300 positions apart with a ◇ over 50: decided by what is known, on both sides of 0."""
    diamond = [Clause((1, 0), ((0, -by),)) for by in range(51)]
    excluded = Clause(None, ((1, 0), (2, 0)))
    first = Given(0, -200, -200)
    assert decide(*diamond, excluded, given=(first, Given(0, 100, 100), Given(2, 160, 160)))
    assert not decide(*diamond, excluded, given=(first, Given(0, 100, 100), Given(2, 150, 150)))
    assert not decide(*diamond, excluded, given=(first, Given(0, -10, -10), Given(2, 35, 35)))


def test_many_independent_rows() -> None:
    """Twenty rows that share no proposition are decided one by one, not as a product."""
    clauses = [
        clause
        for atom in range(20)
        for clause in (every(2 * atom, 2 + atom), Clause(None, ((2 * atom, 0), (2 * atom + 1, 0))))
    ]
    given = tuple(Given(2 * atom, 0, 0) for atom in range(20)) + tuple(Given(2 * atom + 1, 1, 1) for atom in range(20))
    assert decide(*clauses, given=given, atoms=40)
    assert not decide(*clauses, given=(*given, Given(39, 21, 21)), atoms=40)


# --- limits ----------------------------------------------------------------------------------------------------------------


def test_deep_formulas_need_no_recursion() -> None:
    """1,500 nested X, and as many brackets."""
    deep = following(P, 1_500)
    assert satisfiable(conjunction(deep, always(implication(P, following(P)))))
    chain = P
    for _ in range(1_500):
        chain = conjunction(Q, disjunction(R, chain))
    assert len(to_text(chain)) > 1_500
    assert satisfiable(chain)


def counter(bits: int) -> Formula:
    """A binary counter that has to run through all its numbers before it may stop."""
    names = [proposition(f"b{number}") for number in range(bits)]
    steps = [same(following(bit), same(bit, negation(conjunction(*names[:number])))) for number, bit in enumerate(names)]
    return conjunction(*map(negation, names), *map(always, steps), eventually(conjunction(*names)))


def test_a_counter() -> None:
    """It runs through all its numbers before it may stop, and does."""
    assert satisfiable(counter(6))
    assert not satisfiable(
        conjunction(counter(5), always(disjunction(*map(negation, map(proposition, ("b0", "b1", "b2"))))))
    )


def test_a_limit_on_states() -> None:
    """A search says its limit where it may not have the states that it needs."""
    with pytest.raises(MethodError, match="more than 20 states"):
        satisfiable(counter(6), TableauLimits(states=20))


def test_limits_on_memory() -> None:
    """The bits of states and the literals of clauses are limited, and the limits told."""
    formula = conjunction(
        following(P, 1000), always(disjunction(negation(P), following(Q), R)), always(eventually(negation(R)))
    )
    with pytest.raises(MethodError, match="more than 50 bits"):
        satisfiable(conjunction(formula, always(disjunction(negation(Q), following(R, 2)))), TableauLimits(bits=50))
    with pytest.raises(MethodError, match="more than 5 literals"):
        satisfiable(formula, TableauLimits(literals=5))


def test_a_search_has_an_end_in_time() -> None:
    """So many steps of propagation, and the error tells their number."""
    p, q = proposition("p"), proposition("q")
    walk = always(conjunction(implication(p, following(following(p))), implication(q, following(following(following(q))))))
    with pytest.raises(MethodError, match="more than 10 steps of propagation"):
        satisfiable(conjunction(p, q, walk), TableauLimits(steps=10))
