"""Every operator with every bracket: where it holds, worked out by hand from Table 1 of Wałęga et al. 2023.

A line is a rule with `<1,2>` for the interval, the facts, and where `h` holds for the brackets `[ ]`, `[ )`, `( ]` and
`( )`; `-` is never. What is asked at the ends of where it holds stands in `ASKED`, by the brackets there.
"""

from __future__ import annotations

BRACKETS = ("[]", "[)", "(]", "()")

Line = tuple[str, str, tuple[str, str, str, str]]
Lines = tuple[Line, ...]

UNARY: Lines = (
    ("h :- diamondminus<1,2> p.", "p@[2,4]", ("[3,6]", "[3,6)", "(3,6]", "(3,6)")),
    ("h :- diamondminus<1,2> p.", "p@(2,4)", ("(3,6)", "(3,6)", "(3,6)", "(3,6)")),
    ("h :- diamondminus<1,2> p.", "p@[2,4)", ("[3,6)", "[3,6)", "(3,6)", "(3,6)")),
    ("h :- diamondminus<1,2> p.", "p@2", ("[3,4]", "[3,4)", "(3,4]", "(3,4)")),
    ("h :- boxminus<1,2> p.", "p@[2,4]", ("[4,5]", "[4,5]", "[4,5]", "[4,5]")),
    ("h :- boxminus<1,2> p.", "p@(2,4)", ("(4,5)", "[4,5)", "(4,5]", "[4,5]")),
    ("h :- boxminus<1,2> p.", "p@(2,3]", ("-", "4", "-", "4")),
    ("h :- boxminus<1,2> p.", "p@2", ("-", "-", "-", "-")),
    ("h :- diamondplus<1,2> p.", "p@[2,4]", ("[0,3]", "(0,3]", "[0,3)", "(0,3)")),
    ("h :- diamondplus<1,2> p.", "p@(2,4)", ("(0,3)", "(0,3)", "(0,3)", "(0,3)")),
    ("h :- diamondplus<1,2> p.", "p@(2,4]", ("(0,3]", "(0,3]", "(0,3)", "(0,3)")),
    ("h :- diamondplus<1,2> p.", "p@2", ("[0,1]", "(0,1]", "[0,1)", "(0,1)")),
    ("h :- boxplus<1,2> p.", "p@[2,4]", ("[1,2]", "[1,2]", "[1,2]", "[1,2]")),
    ("h :- boxplus<1,2> p.", "p@(2,4)", ("(1,2)", "(1,2]", "[1,2)", "[1,2]")),
    ("h :- boxplus<1,2> p.", "p@[2,3)", ("-", "1", "-", "1")),
    ("h :- boxplus<1,2> p.", "p@(2,3)", ("-", "-", "-", "1")),
)

LINKS: Lines = (
    ("h :- p since<1,2> q.", "q@2 p@(2,4)", ("[3,4]", "[3,4)", "(3,4]", "(3,4)")),
    ("h :- p since<1,2> q.", "q@2 p@(2,3)", ("3", "3", "-", "-")),
    ("h :- p since<1,2> q.", "q@[2,3] p@(2,4]", ("[3,4]", "[3,4]", "(3,4]", "(3,4]")),
    ("h :- p since<0,1> q.", "q@2 p@(2,3)", ("[2,3]", "[2,3)", "(2,3]", "(2,3)")),
    ("h :- p since<0,1> q.", "q@2", ("2", "2", "-", "-")),
    ("h :- p since<0,1> q.", "q@(2,3)", ("(2,3)", "(2,3)", "-", "-")),
    ("h :- p since<0,1> q.", "q@(2,3) p@(2,3)", ("(2,3]", "(2,3]", "(2,3]", "(2,3]")),
    ("h :- p until<1,2> q.", "q@4 p@(2,4)", ("[2,3]", "(2,3]", "[2,3)", "(2,3)")),
    ("h :- p until<1,2> q.", "q@4 p@(3,4)", ("3", "3", "-", "-")),
    ("h :- p until<1,2> q.", "q@[3,4] p@[2,4)", ("[2,3]", "[2,3]", "[2,3)", "[2,3)")),
    ("h :- p until<0,1> q.", "q@3 p@(2,3)", ("[2,3]", "(2,3]", "[2,3)", "(2,3)")),
    ("h :- p until<0,1> q.", "q@(2,3)", ("(2,3)", "(2,3)", "-", "-")),
    ("h :- p until<0,1> q.", "q@(2,3) p@(2,3)", ("[2,3)", "[2,3)", "[2,3)", "[2,3)")),
)

HEADS: Lines = (
    ("boxplus<1,2> h :- p.", "p@3", ("[4,5]", "[4,5)", "(4,5]", "(4,5)")),
    ("boxplus<1,2> h :- p.", "p@[3,4]", ("[4,6]", "[4,6)", "(4,6]", "(4,6)")),
    ("boxplus<1,2> h :- p.", "p@(3,4)", ("(4,6)", "(4,6)", "(4,6)", "(4,6)")),
    ("boxminus<1,2> h :- p.", "p@3", ("[1,2]", "(1,2]", "[1,2)", "(1,2)")),
    ("boxminus<1,2> h :- p.", "p@[3,4)", ("[1,3)", "(1,3)", "[1,3)", "(1,3)")),
    ("boxplus[1,1] boxminus<0,1> h :- p.", "p@3", ("[3,4]", "(3,4]", "[3,4)", "(3,4)")),
)

UNBOUNDED: Lines = (
    ("h :- diamondminus<1,inf> p.", "p@2", ("-", "[3,inf)", "-", "(3,inf)")),
    ("h :- diamondminus<1,inf> p.", "p@(2,3)", ("-", "(3,inf)", "-", "(3,inf)")),
    ("h :- boxminus<1,inf> p.", "p@(-inf,2]", ("-", "(-inf,3]", "-", "(-inf,3]")),
    ("h :- boxminus<1,inf> p.", "p@(-inf,2)", ("-", "(-inf,3)", "-", "(-inf,3]")),
    ("h :- diamondplus<1,inf> p.", "p@2", ("-", "(-inf,1]", "-", "(-inf,1)")),
    ("h :- boxplus<1,inf> p.", "p@[2,inf)", ("-", "[1,inf)", "-", "[1,inf)")),
    ("h :- boxplus<1,inf> p.", "p@(2,inf)", ("-", "(1,inf)", "-", "[1,inf)")),
    ("h :- p since<1,inf> q.", "q@2 p@(2,5)", ("-", "[3,5]", "-", "(3,5]")),
    ("h :- p since<1,inf> q.", "q@2 p@(2,inf)", ("-", "[3,inf)", "-", "(3,inf)")),
    ("h :- p since<0,inf> q.", "q@(-inf,2]", ("-", "(-inf,2]", "-", "-")),
    ("h :- p until<1,inf> q.", "q@5 p@(2,5)", ("-", "[2,4]", "-", "[2,4)")),
    ("h :- p until<0,inf> q.", "q@5 p@(-inf,5)", ("-", "(-inf,5]", "-", "(-inf,5)")),
)
"""Here `<1,inf>` is `[1,inf)` or `(1,inf)`: there is no other bracket at infinity."""

INTEGER: Lines = (
    ("h :- diamondminus<1,3> p.", "p@[2,4]", ("[3,7]", "[3,6]", "[4,7]", "[4,6]")),
    ("h :- boxminus<1,3> p.", "p@[2,4]", ("5", "[4,5]", "[5,6]", "[4,6]")),
    ("h :- diamondplus<1,3> p.", "p@[2,4]", ("[-1,3]", "[0,3]", "[-1,2]", "[0,2]")),
    ("h :- boxplus<1,3> p.", "p@[2,4]", ("1", "[1,2]", "[0,1]", "[0,2]")),
    ("h :- p since<1,3> q.", "q@2 p@[3,4]", ("[3,5]", "[3,4]", "[4,5]", "4")),
    ("h :- p until<1,3> q.", "q@5 p@[3,4]", ("[2,4]", "[3,4]", "[2,3]", "3")),
    ("boxplus<1,3> h :- p.", "p@3", ("[4,6]", "[4,5]", "[5,6]", "5")),
    ("boxminus<1,3> h :- p.", "p@3", ("[0,2]", "[1,2]", "[0,1]", "1")),
)

ASKED: dict[str, tuple[str, str]] = {
    "[]": ("[l,h] [l,h) (l,h] (l,h) l h", "(k,h] (l,i) k i"),
    "[)": ("[l,h) (l,h) l", "[l,h] (l,h] (k,h) h"),
    "(]": ("(l,h] (l,h) h", "[l,h] [l,h) (l,i) l"),
    "()": ("(l,h)", "[l,h) (l,h] [l,h] l h"),
    "l": ("l", "[l,i) (k,l] (l,i) (k,l) i"),
    "[inf": ("[l,inf) (l,inf) l i", "(k,inf) (k,l) (-inf,inf)"),
    "(inf": ("(l,inf) (l,i) i", "[l,inf) l (-inf,inf)"),
    "inf]": ("(-inf,h] (-inf,h) h k", "(-inf,i) (h,i) (-inf,inf)"),
    "inf)": ("(-inf,h) (k,h) k", "(-inf,h] h (-inf,inf)"),
    "-": ("", "0 (1,2) [2,3) (3,4] [4,5]"),
}
"""For what holds between l and h: what follows, and what does not. k lies 1 before l (or h), i lies 1 behind h (or l)."""

ASKED_ON_INTEGERS: dict[str, tuple[str, str]] = {
    "[]": ("[l,h] (k,i) [l,i) (k,h] l h", "[k,h] [l,i] (k,i] [k,i) k i"),
    "l": ("l (k,i) [l,i) (k,l]", "[l,i] [k,i) k i"),
}
"""On integers `(2,5)` is `[3,4]`."""
