"""Pass: boxes in heads become diamonds in bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import rewrite_rules
from tidelog.plans.tree.syntax import Formula, Rule, Unary, UnaryOperator
from tidelog.plans.tree.traverse import conjoin

_SEEN_FROM_THE_HEAD: dict[str, UnaryOperator] = {"boxplus": "diamondminus", "boxminus": "diamondplus"}


def lower_heads(program: NormalProgram) -> NormalProgram:
    """Turn each box in a head into the diamond that looks from the derived fact back to the body.

    Wałęga et al. 2023, proof of Proposition 6: `boxplus[a,b] p` at t is p at every t' with t'−t in [a,b].

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("lower_heads", "boxplus[0,3] p(X) :- q(X,Y), r(Y)."))
    output p.
    p(X) :- diamondminus[0,3] (q(X, Y), r(Y)).
    """
    return rewrite_rules(program, _lower, (Unary,))


def _lower(rule: Rule, _fresh: Callable[[], str]) -> Iterator[Rule]:
    head, body = rule.head, rule.body
    while isinstance(head, Unary):
        operand: Formula = conjoin(body)
        body = (Unary(_SEEN_FROM_THE_HEAD[head.operator], head.interval, operand, span=head.span),)
        head = head.operand
    yield replace(rule, head=head, body=body)
