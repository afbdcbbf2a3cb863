"""Arithmetic and comparisons, which the theorem takes as they are, are those of the rest: on drawn numbers and texts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from why.explaining import refusal

from drawing import drawn
from proofs.checker import Checker, checker
from proofs.witness import texts
from tidelog.plans.tree.syntax import Arithmetic, Constant, Interval, Value
from tidelog.verifier.certificate import Verifier
from tidelog.verifier.terms import Undefined, value_of

RULES = {
    **{sign: f"b(W) :- a(V, U), W = V {sign} U." for sign in ("+", "-", "*", "/", "//", "mod")},
    **{name: f"b(W) :- a(V, U), W = {name}(V, U)." for name in ("min", "max")},
    "abs": "b(W) :- a(V, U), W = abs(V).",
    "neg": "b(W) :- a(V, U), W = -(V).",
}
COMPARED = tuple(f"b(V) :- a(V, U), V {sign} U." for sign in ("=", "!=", "<", "<=", ">", ">="))
SMALL = st.integers(-20, 20)
NUMBERS = st.one_of(
    SMALL,
    SMALL.map(lambda n: n / 4),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(-1e9, 1e9, allow_nan=False),
    st.floats(-1e-9, 1e-9, allow_nan=False),
).map(lambda n: int(n) if n == int(n) else n)
VALUES = st.one_of(NUMBERS, st.sampled_from(["a", "b", "ä", "A b", 'q"\\', "10"]))


@pytest.fixture(scope="module")
def proved() -> Iterator[Checker]:
    """The proved checker."""
    with checker("--json") as process:
        yield process


def agree(proved: Checker, rule: str, row: tuple[Value, ...], result: Value) -> str:
    """That both say the same of one step; what they say."""
    at = Interval(1, 1)
    (given_text,) = texts([("a", row, at)])
    (told_text,) = texts([("b", (result,), at)])
    premise = {"fact": given_text.removesuffix("."), "by": "input", "premises": []}
    fact = told_text.removesuffix(".")
    certificate = {"holds": True, "fact": fact, "proof": {"fact": fact, "by": rule, "premises": [premise]}}
    ours = refusal(Verifier(rule, [("a", row, at)]), certificate)
    theirs = proved.verdict(rule, [given_text], certificate)
    if theirs["verdict"] != "not covered":
        assert (theirs["verdict"] == "accepted") == (ours is None), (
            f"{theirs}, and ours: {ours}, of {fact} from {given_text}"
        )
    else:
        assert theirs["met"] == "a whole number beyond 2^53", theirs
    return str(theirs["verdict"])


@drawn(400)
@given(st.sampled_from(sorted(RULES)), VALUES, VALUES, st.sampled_from([0, 1, -0.5]))
@example("//", 7, -2, 0)
@example("mod", -7.5, 2, 0)
@example("mod", 5.5, -0.25, 0)
@example("//", -0.5, 3, 0)
@example("/", 1, 3, 0)
@example("*", 3 * 2**50, 2**20, 0)
@example("+", "a", 1, 0)
def test_arithmetic(proved: Checker, name: str, left: Value, right: Value, off: float) -> None:
    """The value that ours computes is taken, and one beside it is not."""
    operands = (left,) if name in ("abs", "neg") else (left, right)
    try:
        value = value_of(Arithmetic(name, tuple(map(Constant, operands))), {})  # type: ignore[arg-type]
    except Undefined:
        value = 0
    assert not isinstance(value, str)
    beside = value + off
    agree(proved, RULES[name], (left, right), int(beside) if beside == int(beside) else beside)


@drawn(200)
@given(st.sampled_from(COMPARED), VALUES, VALUES)
def test_comparisons(proved: Checker, rule: str, left: Value, right: Value) -> None:
    """So it is with comparisons, also of texts, and of texts with numbers."""
    agree(proved, rule, (left, right), left)


def test_common_results_are_covered(proved: Checker) -> None:
    """What rules of thumb compute is accepted, and not left uncovered."""
    cases = (("*", 21.5, 1.8, 38.7), ("/", 7, 2, 3.5), ("//", -7, 2, -4), ("mod", -7, 3, 2), ("min", 3, 2.5, 2.5))
    for name, left, right, result in cases:
        assert agree(proved, RULES[name], (left, right), result) == "accepted", name
