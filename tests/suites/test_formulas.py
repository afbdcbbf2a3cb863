"""The suite's text of formulas: which operator binds how tightly, and what is refused."""

from __future__ import annotations

import pytest

from benchmarks.suites.formulas import FormulaError, parse_formula


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("!p && q", "(!p) && q"),
        ("not p and q or r", "((not p) and q) or r"),
        ("p -> q || r", "p -> (q || r)"),
        ("p -> q -> r", "(p -> q) -> r"),
        ("historically p -> q", "historically (p -> q)"),
        ("once p && q", "once (p && q)"),
        ("r && !q && once q", "(r && (!q)) && (once q)"),
        ("not p since q", "(not p) since q"),
        ("p -> q since r", "(p -> q) since r"),
        ("once[:5] p since q", "once[:5] (p since q)"),
        ("(once[:5] p) since q", "((once[:5] p) since (q))"),
        ("p since[1:2] once[3:4] q", "p since[1:2] (once[3:4] q)"),
        ("P p S q", "(once p) since q"),
        ("H[2:] p", "historically[2:] (p)"),
        ("pre p || q", "pre (p || q)"),
        ("ONCE p AND q", "once (p and q)"),
    ],
)
def test_operators_bind_as_the_grammar_says(text: str, grouped: str) -> None:
    """A text is the same as one with all its parentheses."""
    assert parse_formula(text) == parse_formula(grouped)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("always p", "character 1: `always` looks ahead; expected a formula of the past; found `always p`"),
        ("p && ", "expected a proposition, `(`, or an operator of the past; found `the end`"),
        ("(p", "expected `)`; found `the end`"),
        ("p q", "character 3: expected the end; found `q`"),
        ("once[5:2] p", "character 5: the bound [5:2] is empty"),
        ("p since[:5ms] q", "character 8: `[:5ms] q` is no part of past-time MTL"),
        ("p &&[1:2] q", "expected a proposition"),
        ("$1 < 5", "character 1: `$1 < 5` is no part of past-time MTL"),
    ],
)
def test_what_is_no_formula_of_the_past_is_refused(text: str, message: str) -> None:
    """With the place, and what was expected."""
    with pytest.raises(FormulaError) as refused:
        parse_formula(text)
    assert message in str(refused.value)
