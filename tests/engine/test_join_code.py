"""The code of joins that differ in constants alone is written once, and is what would be written for each of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidelog.operators.joins import join_code
from tidelog.operators.joins.join_code import write_join
from tidelog.plans.plan.plan import JoinShape
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Expression, Term, Variable, Wildcard

VARIABLES = [Variable(name) for name in "XYZ"]
CONSTANTS = [Constant(value) for value in (0, 1, 2, 1.5, "0", "1", "a", "b", 0.5, -1)]
TERMS: st.SearchStrategy[Term] = st.one_of(st.sampled_from(VARIABLES), st.sampled_from(CONSTANTS))


@st.composite
def shapes(draw: st.DrawFn) -> JoinShape:
    """Joins of one to three atoms, with constants in atoms, comparisons and the head."""
    term = st.one_of(TERMS, st.just(Wildcard()))
    atoms = draw(st.lists(st.lists(term, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple))
    known = [each for atom in atoms for each in atom if isinstance(each, Variable)]
    terms = st.sampled_from([*known, *CONSTANTS])
    sides: st.SearchStrategy[Expression] = st.one_of(
        terms,
        st.builds(Arithmetic, st.sampled_from(["+", "-", "*", "min"]), st.lists(terms, min_size=2, max_size=2).map(tuple)),
    )
    compared = st.builds(Comparison, st.sampled_from(["=", "!=", "<", ">="]), sides, sides)
    return JoinShape(draw(st.lists(terms, max_size=3).map(tuple)), atoms, draw(st.lists(compared, max_size=2).map(tuple)))


@given(shapes())
def test_code_with_numbered_constants_is_that_of_the_rule(shape: JoinShape) -> None:
    """Text, constants and all that the operator knows are the same as when the code is written for the join itself."""
    alone = join_code._written.__wrapped__(shape)
    assert write_join(shape) == alone
    assert [type(value) for value in write_join(shape).constants.values()] == [*map(type, alone.constants.values())]


def test_rules_that_differ_in_a_constant_have_one_text() -> None:
    """So their code is compiled once."""
    x = VARIABLES[0]
    first, second = (
        write_join(JoinShape((x, Constant(value)), ((x, Constant(value)), (x,)), (Comparison(">", x, Constant(7)),)))
        for value in ("a", 3)
    )
    assert first.text is second.text
    assert (first.constants, second.constants) == ({"k0": "a", "k1": 7}, {"k0": 3, "k1": 7})
