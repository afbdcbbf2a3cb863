"""Pass: every operand binds its own variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from tidelog.plans.diagnostics.errors import ProgramError, Span
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import BEYOND_JOINS, refuse, rewrite_rules
from tidelog.plans.tree.names import has_wildcard, variables
from tidelog.plans.tree.scopes import bound, divide
from tidelog.plans.tree.syntax import (
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Formula,
    Interval,
    Negation,
    Rule,
    Truth,
    Unary,
    UnaryOperator,
)
from tidelog.plans.tree.traverse import conjoin, rebuild, spliced

_DUAL: dict[UnaryOperator, UnaryOperator] = {
    "diamondminus": "boxminus",
    "diamondplus": "boxplus",
    "boxminus": "diamondminus",
    "boxplus": "diamondplus",
}
_SOMETIME: dict[str, UnaryOperator] = {"since": "diamondminus", "until": "diamondplus"}


def close_scopes(program: NormalProgram) -> NormalProgram:
    """Move what leans on variables from outside out of operators, or give it the atoms that bind them.

    Comparisons leave any operator, for they do not change with time; `boxminus not M` is `not diamondminus M`; a left
    side of since that binds too little is joined with the right side, which held before. ProgramError where a negation
    below a diamond leans on a variable from outside: no law helps there.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("close_scopes", "p(X) :- q(X,Y), boxminus[0,5] (r(X,Z), Z > Y, not s(Y))."))
    output p.
    p(X) :- q(X, Y), boxminus[0,5] r(X, Z), Z > Y, not diamondminus[0,5] s(Y).
    """
    closer = _Closer(program.timeline.kind == "integer")
    return rewrite_rules(program, closer.rule, (Comparison, *BEYOND_JOINS))


class _Closer:
    """Turns a formula into the literals whose conjunction it is; the loose ones lean on the outside."""

    def __init__(self, is_integer: bool) -> None:
        self._is_integer = is_integer

    def rule(self, rule: Rule, _fresh: Callable[[], str]) -> Iterator[Rule]:
        if _is_closed_join(rule.body):
            yield rule
            return
        body = self._literals(Conjunction(rule.body))
        _, loose = divide(body)
        if loose:
            raise _unbound(loose[0].span)
        yield replace(rule, body=tuple(body))

    def _literals(self, formula: Formula) -> list[Formula]:
        match formula:
            case Conjunction():
                return _guarded([literal for part in formula.parts for literal in self._literals(part)])
            case Negation():
                return [replace(formula, operand=conjoin(self._literals(formula.operand)))]
            case Unary():
                return _under(formula, self._literals(formula.operand))
            case Binary():
                return self._binary(formula)
        return [formula]

    def _binary(self, formula: Binary) -> list[Formula]:
        right, loose = divide(self._literals(formula.right))
        for part in loose:
            if isinstance(part, Negation):
                raise _unbound(part.span)
        left = self._literals(formula.left)
        if divide(left)[1]:
            left = _guarded([*spliced((self._held_before(formula, right),)), *left])
        still_loose = divide(left)[1]
        if still_loose:
            raise _unbound(still_loose[0].span)
        return [replace(formula, left=conjoin(left), right=conjoin(right)), *loose]

    def _held_before(self, formula: Binary, right: Iterable[Formula]) -> Formula:
        """What holds throughout the stretch after the right side: that the right side held."""
        interval = formula.interval
        low = Fraction(1) if self._is_integer else Fraction(0)
        stretch = Interval(low, interval.high, not self._is_integer, interval.right_open)
        return Unary(_SOMETIME[formula.operator], stretch, _weakened(conjoin(right)))


def _is_closed_join(body: Iterable[Formula]) -> bool:
    """Whether all are atoms and comparisons, and the atoms have the variables of the comparisons."""
    compared: set[str] = set()
    known: set[str] = set()
    for part in body:
        if isinstance(part, Atom):
            known.update(variables(part))
        elif isinstance(part, Comparison):
            compared.update(variables(part))
        else:
            return False
    return compared <= known


def _weakened(formula: Formula) -> Formula:
    """What follows from a formula and binds as much, without negations and left sides."""
    match formula:
        case Negation():
            return Truth(True)
        case Binary():
            return Unary(_SOMETIME[formula.operator], formula.interval, _weakened(formula.right))
        case Conjunction():
            return conjoin(part for part in map(_weakened, formula.parts) if part != Truth(True))
    return rebuild(formula, _weakened)


def _guarded(literals: Sequence[Formula]) -> list[Formula]:
    """A conjunction in which each negated formula binds its own variables: if need be, jointly with the others."""
    closed, _ = divide(literals)
    positive = [part for part in closed if not isinstance(part, Negation)]
    return [_joined(part, positive) if part in closed else part for part in literals]


def _joined(part: Formula, positive: Sequence[Formula]) -> Formula:
    if not isinstance(part, Negation):
        return part
    inside = spliced((part.operand,))
    if set(variables(*inside)) <= set(bound(*inside)):
        return part
    return replace(part, operand=conjoin(_guarded([*positive, *inside])))


def _under(formula: Unary, literals: Sequence[Formula]) -> list[Formula]:
    """The literals whose conjunction is the operator over the conjunction of these."""
    closed, loose = divide(literals)
    moved = [part for part in loose if isinstance(part, Comparison)]
    negated = [part for part in loose if isinstance(part, Negation)]
    kept: list[Formula] = [replace(formula, operand=conjoin(closed))] if closed else []
    if not negated:
        return kept + moved
    is_box = formula.operator.startswith("box")
    if is_box or formula.interval.is_punctual:
        if formula.clipped:
            raise refuse("`always not` cannot be computed", negated[0].span, "write `not sometime … in [n]`")
        sometime = replace(formula, operator=_DUAL[formula.operator]) if is_box else formula
        return [*kept, *moved, *(_negated(sometime, part) for part in negated)]
    if kept or len(negated) > 1 or has_wildcard(negated[0]):
        raise _unbound(negated[0].span)
    return [*moved, _negated(replace(formula, operator=_DUAL[formula.operator]), negated[0])]


def _negated(formula: Unary, negation: Negation) -> Formula:
    """`not O M`, for an operator O and the negation of M."""
    return replace(negation, operand=conjoin(_under(formula, spliced((negation.operand,)))))


def _unbound(span: Span) -> ProgramError:
    return refuse(
        "this needs variables that are bound outside of its operator",
        span,
        "add an atom with these variables beside it, inside the operator",
    )
