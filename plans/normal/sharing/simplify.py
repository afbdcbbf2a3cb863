"""Pass: operators that are not needed are taken away, or become simpler ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import rewrite_rules
from tidelog.plans.normal.times.distances import add, inside, is_zero, split_stretch
from tidelog.plans.tree.syntax import Binary, Conjunction, Formula, Interval, Negation, Rule, Truth, Unary, UnaryOperator
from tidelog.plans.tree.traverse import conjoin, rebuild, spliced

_DIAMOND: dict[str, UnaryOperator] = {
    "since": "diamondminus",
    "until": "diamondplus",
    "boxminus": "diamondminus",
    "boxplus": "diamondplus",
    "diamondminus": "diamondminus",
    "diamondplus": "diamondplus",
}
_BOX: dict[str, UnaryOperator] = {"since": "boxminus", "until": "boxplus"}
_TOP, _BOTTOM = Truth(True), Truth(False)


def simplify(program: NormalProgram) -> NormalProgram:
    """Fold `top` and `bottom`, drop operators over `[0,0]`, add up nested operators of one kind and direction.

    A box over one distance alone becomes a diamond. A rule whose body is `bottom` goes.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("simplify", "p :- boxminus[1,1] diamondminus[0,2) q, (r, top since[1,2] s)."))
    output p.
    p :- diamondminus[1,3) q, r, diamondminus[1,2] s.
    """
    simplifier = _Simplifier(program.timeline.kind == "integer")
    return rewrite_rules(program, simplifier.rule)


class _Simplifier:
    """The laws that hold on one kind of timeline."""

    def __init__(self, is_integer: bool) -> None:
        self._is_integer = is_integer

    def rule(self, rule: Rule, _fresh: Callable[[], str]) -> Iterator[Rule]:
        body = self.formula(Conjunction(rule.body))
        if body != _BOTTOM:
            yield replace(rule, body=spliced((body,)))

    def formula(self, formula: Formula) -> Formula:
        formula = rebuild(formula, self.formula)
        match formula:
            case Conjunction():
                return _conjunction(formula)
            case Negation(Truth(value)):
                return Truth(not value, formula.span)
            case Unary():
                return _unary(formula)
            case Binary():
                return self._binary(formula)
        return formula

    def _binary(self, formula: Binary) -> Formula:
        """`since` and `until` without what is trivial about them (Wałęga et al. 2023, Table 1)."""
        if formula.right == _BOTTOM:
            return formula.right
        if formula.left == _TOP:
            return _sometime(formula, formula.interval)
        empty_stretch, longer = split_stretch(formula.interval, self._is_integer)
        if formula.left == _BOTTOM or longer is None:
            return _BOTTOM if empty_stretch is None else _sometime(formula, empty_stretch)
        if formula.right == _TOP:
            return self._over_top(formula, empty_stretch is not None)
        return formula

    def _over_top(self, formula: Binary, is_trivial: bool) -> Formula:
        """`M since[a,b] top`: the shortest distance is the easiest, if there is a shortest one."""
        interval = formula.interval
        if is_trivial:
            return formula.right
        if interval.left_open or not isinstance(interval.low, Fraction):
            return formula
        return _unary(Unary(_BOX[formula.operator], inside(interval.low, self._is_integer), formula.left))


def _conjunction(formula: Conjunction) -> Formula:
    parts = [part for part in spliced(formula.parts) if part != _TOP]
    return _BOTTOM if _BOTTOM in parts else conjoin(parts)


def _sometime(formula: Binary, interval: Interval) -> Formula:
    return _unary(Unary(_DIAMOND[formula.operator], interval, formula.right, span=formula.span))


def _unary(formula: Unary) -> Formula:
    inner = formula.operand
    if formula.clipped:  # holds at no time before the stream's start, whatever it says
        return inner if inner == Truth(False) else formula
    if formula.step:
        return inner if isinstance(inner, Truth) else formula
    if isinstance(inner, Truth) or is_zero(formula.interval):
        return inner
    if isinstance(inner, Unary) and _add_up(formula, inner):
        kind = inner if formula.interval.is_punctual else formula
        formula = replace(kind, interval=add(formula.interval, inner.interval), operand=inner.operand)
    if formula.interval.is_punctual:
        return replace(formula, operator=_DIAMOND[formula.operator])
    return formula


def _add_up(outer: Unary, inner: Unary) -> bool:
    """◇◇ and □□ in one direction; a single distance is both a diamond and a box."""
    if outer.clipped or inner.clipped or outer.step or inner.step or _DIAMOND[outer.operator] != _DIAMOND[inner.operator]:
        return False
    return outer.operator == inner.operator or outer.interval.is_punctual or inner.interval.is_punctual
