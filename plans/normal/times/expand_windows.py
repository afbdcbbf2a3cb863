"""Pass: time windows become metric operators."""

from __future__ import annotations

from fractions import Fraction

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import rewrite_bodies
from tidelog.plans.tree.syntax import Formula, Interval, Unary, Window
from tidelog.plans.tree.traverse import rebuild

NOW = Interval(Fraction(0), Fraction(0))


def expand_windows(program: NormalProgram) -> NormalProgram:
    """Write `sometime … in [n]` as a diamond, and `always … in [n]` as a box that is clipped where the stream starts.

    `in [n step d]` is `in [n]` as it was at the last multiple of d, and `sometime … in [0 step d]` does that alone. Windows
    over `@T` and tuple windows stay (`bind_times`, `split_windows`).

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("expand_windows", "p(X) :- sometime q(X) in [5]."))
    output p.
    p(X) :- diamondminus[0,5] q(X).
    >>> print(text_after("expand_windows", "timeline integer. p(X) :- always q(X) in [9 step 5]."))
    timeline integer.
    output p.
    p(X) :- sometime (always q(X) in [9]) in [0 step 5].
    """
    return rewrite_bodies(program, _expand, (Window,))


def _expand(formula: Formula) -> Formula:
    formula = rebuild(formula, _expand)
    if not isinstance(formula, Window) or formula.mode == "at" or formula.window.tuples:
        return formula
    back = Interval(Fraction(0), formula.window.size, span=formula.window.span)
    if formula.mode == "sometime":
        sliding = Unary("diamondminus", back, formula.operand, span=formula.span)
    else:
        sliding = Unary("boxminus", back, formula.operand, clipped=True, span=formula.span)
    return sliding if formula.window.step is None else at_multiples(sliding, int(formula.window.step))


def at_multiples(formula: Unary, step: int) -> Unary:
    """What held at the last multiple of `step`: of 1, that is now."""
    return formula if step == 1 else Unary("diamondminus", NOW, formula, step=step, span=formula.span)
