"""Join: patterns, probes, comparisons and arithmetic, against every combination of rows tried one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.driving import FIRST, LAST, Driver, histories
from operators.joining import DOMAIN, joined, shapes
from tidelog.operators.joins.join import Join
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import JoinShape
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Expression, Value, Variable, Wildcard

X, Y, Z, W = map(Variable, "XYZW")
ONE, TEXT = Constant(1), Constant("a")
ANY = Wildcard()


def rows_of(shape: JoinShape, *atoms: list[Row]) -> list[Row]:
    """The rows that a join gives for rows that all hold at one time, fed atom by atom."""
    driver = Driver(lambda: Join(shape))
    for port, rows in enumerate(atoms):
        driver.feed(port, [(row, 0, 0) for row in rows])
    return [row for row, _, _ in driver.sent]


# --- patterns -----------------------------------------------------------------------------------------------------------


def test_constants_select() -> None:
    """A row counts where it has the atom's constants; numbers and text of the same look differ."""
    shape = JoinShape((X,), ((ONE, X, TEXT),))
    assert rows_of(shape, [(1, "x", "a"), ("1", "y", "a"), (1, "z", "b"), (1, 2.5, "a")]) == [("x",), (2.5,)]


def test_repeated_variables_must_agree() -> None:
    """A variable that stands twice in an atom needs the same constant in both places."""
    assert rows_of(JoinShape((X, X), ((X, X),)), [("a", "a"), ("a", "b"), (1, 1)]) == [("a", "a"), (1, 1)]


def test_what_nothing_mentions_only_has_to_exist() -> None:
    """Columns that are left out make several rows one: it is sent once."""
    shape = JoinShape((X,), ((X, ANY, Y),))
    assert rows_of(shape, [("a", 1, 1), ("a", 2, 1), ("b", 1, 1)]) == [("a",), ("b",)]


def test_projection_of_a_join_is_sent_once() -> None:
    """Different partners that give the same head row give it once."""
    assert rows_of(JoinShape((X,), ((X, Y), (Y,))), [("a", 1), ("a", 2)], [(1,), (2,)]) == [("a",)]


def test_heads_have_constants_and_repetitions() -> None:
    """A head may repeat variables and hold constants."""
    assert rows_of(JoinShape((X, Constant(7), X), ((X,),)), [("a",)]) == [("a", 7, "a")]


def test_no_columns_at_all() -> None:
    """Atoms without arguments meet in time alone."""
    driver = Driver(lambda: Join(JoinShape((), ((), (), ()))))
    driver.feed(0, [((), 0, 5)])
    driver.feed(1, [((), 3, 9)])
    assert driver.feed(2, [((), 0, 1), ((), 4, POS)]) == [((), 4, 5)]


def test_a_self_join_meets_itself_once() -> None:
    """Fed the same facts on both ports, each pair of rows is found once, whichever comes first."""
    shape = JoinShape((X, Z), ((X, Y), (Y, Z)))
    edges: list[Row] = [("a", "b"), ("b", "c"), ("c", "c")]
    driver = Driver(lambda: Join(shape))
    for edge in edges:
        for port in (0, 1):
            driver.feed(port, [(edge, 0, 0)])
    assert {row for row, _, _ in driver.sent} == {("a", "c"), ("b", "c"), ("c", "c")}


@pytest.mark.parametrize("atoms", [2, 12, 13, 14, 20, 25, 60])
def test_long_bodies(atoms: int) -> None:
    """A body may have more atoms than Python nests blocks: a chain of them joins from either end, and from the middle."""
    names = [Variable(f"V{i}") for i in range(atoms + 1)]
    comparison = Comparison("!=", names[0], names[-1])
    shape = JoinShape((names[0], names[-1]), tuple((names[i], names[i + 1]) for i in range(atoms)), (comparison,))
    for last in (0, atoms // 2, atoms - 1):
        join = Join(shape)
        out = []
        for i in [*(j for j in range(atoms) if j != last), last]:
            out += join.receive(i, [((i, i + 1), 0, 10 + i)], NEG)
        assert out == [((0, atoms), 0, 10)]


def test_beside_complete_atoms_nothing_is_stored() -> None:
    """Where all others are complete, an atom's coverage is only looked up with, and what is stored goes by the frontier."""
    join = Join(JoinShape((X, Y), ((X,), (X, Y))))
    join.receive(1, [(("a", 1), NEG, POS)], POS)
    for time in range(1000):
        assert join.receive(0, [(("a",), time, time)], time) == [(("a", 1), time, time)]
    assert join.entries() <= 3


# --- comparisons --------------------------------------------------------------------------------------------------------


def compute(expression: Expression) -> tuple[list[Row], int]:
    """The rows `(V,)` for `V = expression` over the rows that are listed here, and how many failed."""
    join = Join(JoinShape((Z,), ((X, Y),), (Comparison("=", Z, expression),)))
    out = join.receive(0, [((6, 4), 0, 0)], 0)
    return [row for row, _, _ in out], join.statistics().failed_evaluations


def of(operator: str, *operands: Expression) -> Arithmetic:
    return Arithmetic(operator, operands)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (of("+", X, Y), 10),
        (of("-", Y, X), -2),
        (of("*", X, Y), 24),
        (of("/", X, Y), 1.5),
        (of("/", X, Constant(2)), 3),
        (of("//", X, Y), 1),
        (of("mod", X, Y), 2),
        (of("mod", of("neg", X), Y), 2),
        (of("min", X, Y), 4),
        (of("max", X, Y), 6),
        (of("abs", of("-", Y, X)), 2),
        (of("-", of("-", X, Y), ONE), 1),
        (of("-", X, of("-", Y, ONE)), 3),
        (X, 6),
    ],
)
def test_arithmetic(expression: Expression, value: Value) -> None:
    """Arithmetic is exact on integers, and whole results are integers."""
    rows, failed = compute(expression)
    assert rows == [(value,)]
    assert type(rows[0][0]) is type(value)
    assert failed == 0


@pytest.mark.parametrize(
    "expression",
    [
        of("/", X, Constant(0)),
        of("//", X, of("-", Y, Constant(4))),
        of("mod", X, Constant(0)),
        of("*", TEXT, Constant(3)),
        of("+", TEXT, TEXT),
        of("min", TEXT, X),
        of("abs", TEXT),
        of("neg", TEXT),
        of("*", Constant(2**62), Constant(2)),
        of("-", Constant(-(2**62)), Constant(2**62)),
        of("*", Constant(1e308), Constant(1e308)),
        of("-", of("*", Constant(1e308), Constant(10)), of("*", Constant(1e308), Constant(10))),
        of("/", of("*", Constant(2**62), of("*", Constant(2**62), Constant(2**62))), Constant(1e-300)),
    ],
)
def test_what_has_no_value_is_counted(expression: Expression) -> None:
    """Division by zero, text in arithmetic and numbers out of bounds give no row, stop nothing, and are counted."""
    assert compute(expression) == ([], 1)


def test_failures_are_counted_in_comparisons_too() -> None:
    """A comparison whose arithmetic has no value is false, and counted; comparing text with numbers is only false."""
    shape = JoinShape((X,), ((X,),), (Comparison(">", of("/", ONE, X), Constant(0)),))
    join = Join(shape)
    assert join.receive(0, [((0,), 0, 0), ((2,), 0, 0), (("a",), 0, 0)], 0) == [((2,), 0, 0)]
    assert join.statistics().failed_evaluations == 2
    plain = Join(JoinShape((X,), ((X,),), (Comparison(">", X, Constant(0)),)))
    assert plain.receive(0, [(("a",), 0, 0), ((1,), 0, 0)], 0) == [((1,), 0, 0)]
    assert plain.statistics().failed_evaluations == 0


@pytest.mark.parametrize(
    ("operator", "kept"),
    [
        ("=", [1]),
        ("!=", [0, 2.5, "a", "1", ""]),
        ("<", [0]),
        ("<=", [0, 1]),
        (">", [2.5]),
        (">=", [1, 2.5]),
    ],
)
def test_mixed_types(operator: str, kept: list[Value]) -> None:
    """Text equals no number, and is neither smaller nor larger than one."""
    shape = JoinShape((X,), ((X,),), (Comparison(operator, X, ONE),))  # type: ignore[arg-type]
    assert rows_of(shape, [(value,) for value in (0, 1, 2.5, "a", "1", "")]) == [(value,) for value in kept]


def test_text_compares_by_characters() -> None:
    """Text is ordered among itself."""
    assert rows_of(JoinShape((X,), ((X,),), (Comparison("<", X, Constant("b")),)), [("a",), ("b",), ("B",), ("ab",)]) == [
        ("a",),
        ("B",),
        ("ab",),
    ]


def test_assignments_chain_in_any_order() -> None:
    """`X = expression` binds X, from either side, whatever order the comparisons stand in."""
    comparisons = (
        Comparison("=", of("+", Z, ONE), W),
        Comparison("=", Z, of("*", X, Constant(2))),
        Comparison(">", W, X),
    )
    shape = JoinShape((X, W), ((X,),), comparisons)
    assert rows_of(shape, [(3,), (-5,)]) == [(3, 7)]


def test_assignment_to_a_bound_variable_compares() -> None:
    """`Y = X + 1` where an atom binds Y selects, by value: 3 equals 3.0."""
    shape = JoinShape((X, Y), ((X, Y),), (Comparison("=", Y, of("/", X, Constant(2))),))
    assert rows_of(shape, [(6, 3), (5, 2.5), (5, 2)]) == [(6, 3), (5, 2.5)]


def test_snapshot_keeps_the_count_of_failures() -> None:
    """The counter of failed evaluations goes on where it was."""
    shape = JoinShape((Y,), ((X,),), (Comparison("=", Y, of("/", ONE, X)),))
    driver = Driver(lambda: Join(shape), through_json=True)
    driver.feed(0, [((0,), 0, 0)])
    driver.feed(0, [((0,), 1, 1), ((4,), 1, 1)])
    assert driver.operator.statistics().failed_evaluations == 2


# --- the definition -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(data=st.data())
def test_definition(data: st.DataObject) -> None:
    """In any order, with forgetting and through snapshots: all combinations of rows, at the times at which all hold."""
    shape = data.draw(shapes())
    rows = [
        data.draw(st.lists(st.tuples(*[st.sampled_from(DOMAIN)] * len(atom)), max_size=4, unique=True))
        for atom in shape.atoms
    ]
    history = data.draw(histories(rows))
    driver = Driver(lambda: Join(shape), data.draw(st.booleans()))
    coverage = [history.coverage(port, FIRST, LAST) for port in range(len(shape.atoms))]
    assert driver.feed_all(history.messages) == joined(shape, coverage)
    assert driver.operator.frontier == POS
