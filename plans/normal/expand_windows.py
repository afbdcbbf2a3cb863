"""Pass: time windows become metric operators."""

from __future__ import annotations

from fractions import Fraction

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import refuse, rewrite_bodies
from tidelog.plans.normal.traverse import rebuild
from tidelog.plans.syntax import Formula, Interval, Unary, Window


def expand_windows(program: NormalProgram) -> NormalProgram:
    """Write `sometime … in [n]` as a diamond, and `always … in [n]` as a box that is clipped where the stream starts.

    ProgramError for tuple windows, stepped windows and `@T`, which are no metric operators.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("expand_windows", "p(X) :- sometime q(X) in [5]."))
    output p.
    p(X) :- diamondminus[0,5] q(X).
    """
    return rewrite_bodies(program, _expand)


def _expand(formula: Formula) -> Formula:
    formula = rebuild(formula, _expand)
    if not isinstance(formula, Window):
        return formula
    window = formula.window
    if window.tuples or window.step is not None or formula.mode == "at":
        raise refuse("this window is not supported yet", window.span, "use a time window, such as `sometime M in [5]`")
    back = Interval(Fraction(0), window.size, span=window.span)
    if formula.mode == "sometime":
        return Unary("diamondminus", back, formula.operand, span=formula.span)
    return Unary("boxminus", back, formula.operand, clipped=True, span=formula.span)
