"""Programs in layers: what one rule tells by one argument is read by others by another, or by none."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from oracle.evaluate import GroundFact
from oracle.programs import begin
from tidelog.plans.tree.syntax import Interval

FIRST = (
    "a(X, Y) :- boxminus[0,1] p(X, Y).",
    "a(X, Y) :- p(X, Y), not diamondminus[1,2] q(X).",
    "a(X, Y) :- latest p(X, Y) by X in [3].",
    "a(X, Y) :- q(X) since[0,3] p(X, Y).",
    "a(X, Y) :- not q(X) since[0,inf) p(X, Y).",
    "a(X, Y) :- q(X) until[0,2] p(X, Y).",
    "a(X, N) :- N = count() over p(X, _) in [3] by X.",
    "a(X, Y) := on :- p(X, Y), not a(X, Y, on). a(X, Y) := none :- q(X), a(X, Y, on).",
    "a(X, Y) :- p(X, Y). a(X, Z) :- a(X, Y), p(X, Z), diamondminus[1,2] p(X, Y).",
)
SECOND = (
    "b(Y) :- boxminus[0,1] a(X, Y).",
    "b(Y) :- N = count() over a(_, Y) in [3] by Y, N >= 2.",
    "b(Y) :- a(_, Y), not r(Y).",
    "b(Y) :- not r(Y) since[0,inf) a(_, Y).",
    "b(Y) :- latest a(_, Y) by Y in [4].",
    "b(X) :- a(X, Y), diamondminus[0,3] a(Z, Y), X != Z.",
    "b(N) :- N = count() over a(_, _) in [3].",
    "b(Y) :- a(X, Y), a(Z, Y), diamondminus[0,1] q(Z), e(Y, X).",
    "b(T) :- a(X, Y)@T in [2].",
)
THIRD = (
    "c(Y) :- b(Y), boxminus[0,2] b(Y).",
    "c(Y) :- b(Y) for 2.",
    "c(Y) :- r(Y), not b(Y).",
    "c(Y) :- r(Y), not diamondminus[0,2] b(Y).",
    "c(N) :- N = count() over b(_) in [2 step 2].",
    "c(Y) :- b(Y). bottom :- b(Y), r(Y). bottom :- b(_), q(b).",
    "c(Y) :- b(Y), e(_, Y).",
)
VALUES = ("a", "b", "c", 1, 2)


@st.composite
def layered_programs(draw: st.DrawFn) -> str:
    """The text of a program over `p(x, y)`, `q(x)`, `r(y)` and stated `e(y, x)`, some of whose layers are told."""
    first, second, third = draw(st.sampled_from(FIRST)), draw(st.sampled_from(SECOND)), draw(st.sampled_from(THIRD))
    if ":=" in first:
        second = second.replace("a(X, Y)", "a(X, Y, _)").replace("a(_, Y)", "a(_, Y, _)").replace("a(_, _)", "a(_, _, _)")
        second = second.replace("a(Z, Y)", "a(Z, Y, _)")
    told = draw(st.sampled_from(["", "output c.", "output b, c.", "output a, c."]))
    declared = "timeline integer. input p(x, y). input q(x). input r(y). e(a, b). e(b, 1). e(c, c)@[0,6]."
    return f"{declared} {told} {first} {second} {third}"


@st.composite
def layered_streams(draw: st.DrawFn) -> list[GroundFact]:
    """Facts of the three inputs, in order of their begins."""
    found: list[GroundFact] = []
    for _ in range(draw(st.integers(1, 14))):
        name, arity = draw(st.sampled_from([("p", 2), ("p", 2), ("p", 2), ("q", 1), ("r", 1)]))
        lo = draw(st.integers(0, 8))
        hi = lo + draw(st.sampled_from([0, 0, 1, 3]))
        row = tuple(draw(st.sampled_from(VALUES)) for _ in range(arity))
        found.append((name, row, Interval(Fraction(lo), Fraction(hi))))
    return sorted(found, key=begin)
