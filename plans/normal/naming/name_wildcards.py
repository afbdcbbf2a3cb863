"""Pass: a wildcard that stands for one and the same constant over time becomes a variable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import rewrite_rules
from tidelog.plans.tree.names import name_open, variables
from tidelog.plans.tree.syntax import Atom, Binary, Formula, Negation, Rule, Unary
from tidelog.plans.tree.traverse import rebuild


def name_wildcards(program: NormalProgram) -> NormalProgram:
    """Name the wildcards below boxes and in left sides of since: there, some constant must do for all times.

    Everywhere else `_` may stand for another constant at each time, and is projected away at once.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("name_wildcards", "p(X) :- boxminus[0,5] q(X,_), diamondminus[0,5] q(X,_)."))
    output p.
    p(X) :- boxminus[0,5] q(X, _1), diamondminus[0,5] q(X, _).
    """
    return rewrite_rules(program, _name, (Unary, Binary))


def _name(rule: Rule, _fresh: Callable[[], str]) -> Iterator[Rule]:
    taken = set(variables(*rule.body))
    names = (name for number in count(1) if (name := f"_{number}") not in taken)
    yield replace(rule, body=tuple(_walk(part, names, False) for part in rule.body))


def _walk(formula: Formula, names: Iterator[str], is_rigid: bool) -> Formula:
    match formula:
        case Atom() if is_rigid:
            return name_open(formula, names)
        case Binary():
            left, right = _walk(formula.left, names, True), _walk(formula.right, names, is_rigid)
            return replace(formula, left=left, right=right)
        case Negation():
            return replace(formula, operand=_walk(formula.operand, names, False))
        case Unary():
            is_rigid = is_rigid or formula.operator.startswith("box")
    return rebuild(formula, lambda part: _walk(part, names, is_rigid))
