"""What operators hold over, worked by hand from Table 1 of Wałęga et al. 2023."""

from __future__ import annotations

UNARY = (
    ("diamondminus[1,2]", "[1,6]", "(1,6)"),
    ("diamondminus(1,2]", "(1,6]", "(1,6)"),
    ("diamondminus[1,2)", "[1,6)", "(1,6)"),
    ("diamondminus(1,2)", "(1,6)", "(1,6)"),
    ("diamondplus[1,2]", "[-2,3]", "(-2,3)"),
    ("diamondplus(1,2]", "[-2,3)", "(-2,3)"),
    ("diamondplus[1,2)", "(-2,3]", "(-2,3)"),
    ("diamondplus(1,2)", "(-2,3)", "(-2,3)"),
    ("boxminus[1,2]", "[2,5]", "(2,5)"),
    ("boxminus(1,2]", "[2,5]", "(2,5]"),
    ("boxminus[1,2)", "[2,5]", "[2,5)"),
    ("boxminus(1,2)", "[2,5]", "[2,5]"),
    ("boxplus[1,2]", "[-1,2]", "(-1,2)"),
    ("boxplus(1,2]", "[-1,2]", "[-1,2)"),
    ("boxplus[1,2)", "[-1,2]", "(-1,2]"),
    ("boxplus(1,2)", "[-1,2]", "[-1,2]"),
)
"""Each operator with each kind of bracket, over p@[0,4] and over p@(0,4)."""
