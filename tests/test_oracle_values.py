"""The oracle's constants: comparisons and arithmetic, as the language defines them."""

from __future__ import annotations

import pytest

from oracle.notation import at, calc, fact, solve, term
from oracle.values import Undefined, canonical, evaluate_expression
from tidelog.plans.tree.syntax import (
    Atom,
    Comparison,
    Expression,
    Formula,
    Value,
)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (calc("+", 1, 2.5), 3.5),
        (calc("-", 1, 3), -2),
        (calc("*", 2, 1.5), 3),
        (calc("/", 7, 2), 3.5),
        (calc("/", 6, 2), 3),
        (calc("//", -7, 2), -4),
        (calc("mod", -7, 2), 1),
        (calc("mod", 7, -2), -1),
        (calc("min", 3, 2, 5), 2),
        (calc("max", 3, 2.5), 3),
        (calc("abs", -2), 2),
        (calc("neg", calc("+", 1, 1)), -2),
    ],
)
def test_arithmetic(expression: Expression, expected: Value) -> None:
    """Division is true division, `//` rounds down, `mod` has the divisor's sign, whole floats are integers."""
    value = evaluate_expression(expression, {})
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    "expression",
    [
        calc("+", "a", 1),
        calc("/", 1, 0),
        calc("mod", 1, 0),
        calc("*", 1 << 62, 2),
        calc("*", 1e200, 1e200),
        calc("min", "a", "b"),
    ],
)
def test_arithmetic_without_a_value(expression: Expression) -> None:
    """Text, division by zero, and what does not fit have no value."""
    with pytest.raises(Undefined):
        evaluate_expression(expression, {})


def test_large_whole_floats_stay_floats() -> None:
    """A float beyond 64 bits is a number like any other, an integer there is not."""
    assert type(canonical(1e30)) is float
    with pytest.raises(Undefined):
        canonical(1 << 63)


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        ("=", ["1"]),
        ("!=", ["0", "2", "a", "b"]),
        ("<", ["0"]),
        ("<=", ["0", "1"]),
        (">", ["2"]),
        (">=", ["1", "2"]),
    ],
)
def test_comparisons_with_a_number(operator: str, values: list[str]) -> None:
    """Any two constants can be equal or not; only two numbers, or two texts, have an order."""
    facts = [fact("p", value, "1") for value in (0, 1.0, 2, "a", "b")]
    comparison = Comparison(operator, term("X"), term(1))  # type: ignore[arg-type]
    model = solve([at("p", "X"), comparison], facts, head=at("h", "X"))
    assert sorted(str(row[0]) for row in model.rows("h")) == values


def test_equations_bind_and_silence() -> None:
    """`W = V + 1` binds W; an instance whose arithmetic has no value does not fire."""
    body: list[Formula] = [
        at("p", "V"),
        Comparison("=", term("W"), calc("/", 6, "V")),
        Comparison("=", term("U"), calc("+", "W", 1)),
    ]
    facts = [fact("p", value, "1") for value in (0, 2, 4, "a")]
    model = solve(body, facts, head=at("h", "V", "W", "U"))
    assert model.rows("h") == {(2, 3, 4), (4, 1.5, 2.5)}


def test_arithmetic_in_heads() -> None:
    """A head's arguments may be expressions, and may have no value."""
    head = Atom("h", (calc("//", 6, "V"),))
    assert solve(at("p", "V"), [fact("p", 4, "1"), fact("p", 0, "1")], head=head).rows("h") == {(1,)}
