"""From a ground theory to an LTL formula: each part written out by hand, and its truth on models of the theory."""

from __future__ import annotations

import random

import pytest

from decide.lassos import holds
from tidelog.operators.horn.theory import Always, Clause, Given, Theory
from tidelog.operators.ltl.formula import (
    FALSE,
    TRUE,
    always,
    conjunction,
    disjunction,
    following,
    implication,
    negation,
    proposition,
)
from tidelog.operators.ltl.printing import describe, to_text
from tidelog.operators.ltl.translation import translate
from tidelog.plans.diagnostics.errors import MethodError

P, Q, R = map(proposition, "pqr")


def theory(
    *clauses: Clause,
    always: tuple[Always, ...] = (),
    given: tuple[Given, ...] = (),
    is_dense: bool = False,
    names: str = "pqr",
) -> Theory:
    return Theory(tuple(names), clauses, always, given, is_dense)


@pytest.mark.parametrize(
    ("written", "formula"),
    [
        (always(implication(conjunction(P, following(Q)), following(R, 2))), "G ((p & X q) -> X X r)"),
        (negation(disjunction(P, Q, R)), "!(p | q | r)"),
        (implication(P, disjunction(Q, R)), "p -> (q | r)"),
        (always(negation(always(P))), "G !G p"),
        (conjunction(TRUE, FALSE), "true & false"),
    ],
)
def test_formulas_as_text(written: object, formula: str) -> None:
    """Brackets wherever two connectives with two sides meet; none behind those with one side."""
    assert to_text(written) == formula


def test_equal_formulas_are_one_object() -> None:
    """Formulas that are built twice are the same, and different ones are not."""
    assert following(conjunction(P, Q)) is following(conjunction(P, Q))
    assert conjunction(P, Q) is not conjunction(Q, P)


def test_size_and_depth() -> None:
    """Size counts every node as often as it is written; depth counts nested X alone."""
    formula = conjunction(following(P, 3), following(P, 3), always(following(Q)))
    assert (formula.size, formula.depth) == (12, 3)


@pytest.mark.parametrize(
    ("clause", "formula"),
    [
        (Clause((1, 0), ((0, 0),)), "G (r0 -> r1) & G (l0 -> l1)"),
        (Clause((1, 0), ((0, -1),)), "(l0 -> r1) & G (r0 -> X r1) & G (X l0 -> l1)"),
        (Clause((1, 0), ((0, 1),)), "(r0 -> l1) & G (X r0 -> r1) & G (l0 -> X l1)"),
        (Clause((1, 3), ((0, 2),)), "(l0 -> r1) & G (r0 -> X r1) & G (X l0 -> l1)"),
        (Clause(None, ((0, 0), (1, 0))), "G !(r0 & r1) & G !(l0 & l1)"),
        (Clause(None, ((0, 0), (1, 1))), "!(l0 & r1) & G !(r0 & X r1) & G !(l1 & X l0)"),
        (Clause((0, 0), ()), "G r0 & G l0"),
        (Clause(None, ()), "G false"),
    ],
)
def test_a_clause_on_both_sides_and_at_the_fold(clause: Clause, formula: str) -> None:
    """One G for each side, and one instance for each position at which the clause straddles 0."""
    assert to_text(translate(theory(clause)).formula) == formula


def test_instances_at_the_fold_nest_no_more_than_they_need() -> None:
    """Each is written at its first literal's place in the folded order."""
    found = to_text(translate(theory(Clause((1, 0), ((0, -3),)))).formula)
    assert found.startswith("(X X l0 -> r1) & (l0 -> X X r1) & X (l0 -> r1) & ")


def test_a_diamond_is_one_rule() -> None:
    """Clauses that look at one proposition at several distances become one disjunction in a chain."""
    clauses = [Clause((1, 0), ((0, -by),)) for by in (0, 1, 3)]
    assert to_text(translate(theory(*clauses)).formula).endswith(
        "G ((r0 | X X (r0 | X r0)) -> X X X r1) & G ((l0 | X (l0 | X X l0)) -> l1)"
    )


def test_parity() -> None:
    """Clauses of one parity ask the clock: position 1 is odd on the right, and so is -1, the first one on the left."""
    found = to_text(translate(theory(Clause((1, 0), ((0, 0),), 1), is_dense=True)).formula)
    clock = "even & G (even -> X !even) & G (!even -> X even)"
    assert found == f"{clock} & G (!even -> (r0 -> r1)) & G (even -> (l0 -> l1))"


@pytest.mark.parametrize(
    ("given", "formula"),
    [
        ([Given(0, 0, 0)], "r0"),
        ([Given(0, 2, 3)], "r0 & X r0"),
        ([Given(0, 10**15, 10**15 + 1), Given(1, 10**15 + 3, None)], "r0 & X (r0 & X X G r1)"),
        ([Given(0, -3, -2), Given(1, 0, 0)], "r0 & X (r0 & X X r1)"),
        ([Given(0, 2, None)], "G r0"),
        ([Given(0, None, -2)], "r0 & G l0"),
        ([Given(0, None, 7), Given(1, 5, 5)], "r0 & G l0 & r1 & X (r0 & X r0)"),
        ([Given(0, None, None)], "G r0 & G l0"),
        ([Given(0, None, None), Given(1, 4, 4)], "G r0 & G l0 & r1"),
    ],
)
def test_data(given: list[Given], formula: str) -> None:
    """One chain of X from where they begin, wherever that is; and G where there is no end."""
    assert to_text(translate(theory(given=tuple(given))).formula) == formula


@pytest.mark.parametrize(("position", "begin", "formula"), [(7, 6, "X r0"), (-7, -8, "X r0"), (8, 8, "r0"), (-8, -8, "r0")])
def test_data_on_dense_time(position: int, begin: int, formula: str) -> None:
    """Points stay points: what begins in a gap begins at position 1."""
    found = translate(theory(given=(Given(0, position, position),), is_dense=True))
    assert (found.begin, to_text(found.formula)) == (begin, formula)


@pytest.mark.parametrize(("future", "ahead", "behind"), [(True, "r", "l"), (False, "l", "r")])
def test_always(future: bool, ahead: str, behind: str) -> None:
    """On the side that it looks to it is a G; on the other it goes step by step, beginning with all of the first side."""
    found = translate(theory(always=(Always(1, 0, future),)))
    assert to_text(found.formula) == (
        f"((G {ahead}0 & {behind}0) -> a0) & G (G {ahead}0 -> {ahead}1) & "
        f"G ((a0 & X {behind}0) -> X a0) & G (a0 -> {behind}1)"
    )
    assert "always p" in found.names["a0"]


def test_nothing_to_say() -> None:
    """A theory without clauses and facts is the formula `true`."""
    assert translate(theory()).formula is TRUE


def test_a_description_has_the_formula_last_and_comments_before() -> None:
    """Size, depth and names stand behind `#`."""
    found = translate(theory(Clause((1, 0), ((0, -1),)), is_dense=True, names="pq"))
    lines = list(describe(found))
    assert lines[0] == f"# size: {found.formula.size} nodes, depth of X: {found.formula.depth}"
    assert lines[-3:] == ["# r0, l0: p", "# r1, l1: q", to_text(found.formula)]
    assert all(line.startswith("#") for line in lines[:-1])


@pytest.mark.parametrize(
    "large",
    [
        theory(given=(Given(0, 0, 0), Given(0, 10**15, 10**15))),
        theory(given=(Given(0, 0, 10**15),)),
        theory(Clause((1, 10**15), ((0, 0),))),
        theory(*(Clause((1, 0), ((0, -by), (2, 0))) for by in range(200))),
    ],
)
def test_formulas_that_would_be_too_large(large: Theory) -> None:
    """The limit is told, before the memory is taken."""
    with pytest.raises(MethodError, match="100,000"):
        translate(large, max_nodes=100_000)


# --- truth -----------------------------------------------------------------------------------------------------------------

LENGTH = 6
"""The positions of a side until it repeats; from the loop's begin to there is an even number, so that parity repeats too."""


class Folded:
    """An interpretation over all integers: what holds on each side, both repeating alike."""

    def __init__(self, rng: random.Random, atoms: int) -> None:
        share = rng.choice((0.1, 0.5, 0.9))
        self.sides = [[[rng.random() < share for _ in range(atoms)] for _ in range(LENGTH)] for _ in "rl"]
        self.loop = rng.choice((2, 4))

    def at(self, atom: int, position: int) -> bool:
        steps = position if position >= 0 else -1 - position
        if steps >= LENGTH:
            steps = self.loop + (steps - self.loop) % (LENGTH - self.loop)
        return self.sides[position < 0][steps][atom]

    def always(self, item: Always, position: int) -> bool:
        """Whether the operand holds from the position on, as far as differences can lie."""
        way = 1 if item.future else -1
        return all(self.at(item.operand, position + way * step) for step in range(abs(position) + 2 * LENGTH))

    def satisfies(self, theory: Theory) -> bool:
        """By the definition of a theory, at all positions near enough to 0 to differ."""
        stretch = range(-4 * LENGTH, 4 * LENGTH)
        data = all(
            self.at(given.atom, position)
            for given in theory.given
            for position in stretch
            if (given.low is None or given.low <= position) and (given.high is None or position <= given.high)
        )
        flags = all(
            self.at(item.flag, position) or not self.always(item, position) for item in theory.always for position in stretch
        )
        return data and flags and all(self._satisfies(clause, position) for clause in theory.clauses for position in stretch)

    def _satisfies(self, clause: Clause, position: int) -> bool:
        if clause.parity not in (None, position % 2):
            return True
        if not all(self.at(atom, position + offset) for atom, offset in clause.body):
            return True
        return clause.head is not None and self.at(clause.head[0], position + clause.head[1])

    def lasso(self, theory: Theory, begin: int) -> tuple[list[frozenset[str]], int]:
        """The timeline folded at its position `begin`, with the clock and what `Always` needs."""
        more = abs(begin)
        return [frozenset(self._letter(theory, begin, step)) for step in range(LENGTH + more)], self.loop + more

    def _letter(self, theory: Theory, begin: int, step: int) -> set[str]:
        sides = (("r", begin + step), ("l", begin - 1 - step))
        letter = {f"{side}{atom}" for side, at in sides for atom in range(3) if self.at(atom, at)}
        reached = {
            f"a{number}"
            for number, item in enumerate(theory.always)
            if self.always(item, begin + (-1 - step if item.future else step))
        }
        return letter | reached | ({"even"} if step % 2 == 0 else set())


def random_theory(rng: random.Random) -> Theory:
    """A few clauses over three propositions, sometimes with parity, `Always` and data without an end."""

    def literal() -> tuple[int, int]:
        return rng.randrange(3), rng.randrange(-2, 3)

    def clause() -> Clause:
        body = tuple(literal() for _ in range(rng.choice((1, 1, 2, 3))))
        return Clause(literal() if rng.random() < 0.7 else None, body, rng.choice((None, 0, 1)))

    low = rng.randrange(-3, 3)
    ends = (None if rng.random() < 0.3 else low, None if rng.random() < 0.3 else low + rng.randrange(3))
    given = (Given(rng.randrange(3), *ends),) if rng.random() < 0.3 else ()
    flags = (Always(rng.randrange(3), rng.randrange(3), rng.random() < 0.5),) if rng.random() < 0.3 else ()
    return theory(*(clause() for _ in range(rng.randrange(3))), always=flags, given=given, is_dense=True)


def test_true_exactly_on_the_models_of_the_theory() -> None:
    """On random interpretations of random theories, the formula is true on the folded timeline where the theory is."""
    rng = random.Random(42)
    seen = {True: 0, False: 0}
    for _ in range(700):
        drawn = random_theory(rng)
        model = Folded(rng, 3)
        expected = model.satisfies(drawn)
        found = translate(drawn)
        assert holds(found.formula, model.lasso(drawn, found.begin or 0)) == expected, drawn
        seen[expected] += 1
    assert min(seen.values()) > 100
