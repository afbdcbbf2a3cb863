"""Pass: `bottom` in heads becomes a predicate, one for each constraint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import BEYOND_JOINS, rewrite_rules
from tidelog.plans.tree.names import atom, head_predicate
from tidelog.plans.tree.scopes import bound
from tidelog.plans.tree.syntax import Comparison, Formula, Rule, Unary


def name_constraints(program: NormalProgram) -> NormalProgram:
    """Give each constraint a predicate over the variables of its body, so that what breaks it can be shown.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("name_constraints", "bottom :- on(X), off(X)."))
    'bottom.1'(X) :- on(X), off(X).
    bottom :- 'bottom.1'(X).
    """
    named = rewrite_rules(program, _name, (Comparison, *BEYOND_JOINS))
    predicates = (head_predicate(rule.head) for rule in named.rules)
    constraints = {
        predicate: source
        for predicate, source in zip(predicates, named.sources, strict=True)
        if predicate is not None and head_predicate(source.head) is None
    }
    return replace(named, constraints={**program.constraints, **constraints})


def _name(rule: Rule, fresh: Callable[[], str]) -> Iterator[Rule]:
    if head_predicate(rule.head) is None:
        rule = replace(rule, head=_put_below_boxes(rule.head, atom(fresh(), bound(*rule.body))))
    yield rule


def _put_below_boxes(head: Formula, constraint: Formula) -> Formula:
    if isinstance(head, Unary):
        return replace(head, operand=_put_below_boxes(head.operand, constraint))
    return constraint
