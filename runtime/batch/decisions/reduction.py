"""Entailment as inconsistency: a program without a model exactly if a fact follows (Wang et al. 2022, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from fractions import Fraction

from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import MethodError, ProgramError
from tidelog.plans.tree.names import FreshNames, head_predicate, predicates
from tidelog.plans.tree.syntax import Atom, FactStatement, Interval, Rule, Truth, Unary, UnaryOperator, Variable
from tidelog.runtime.batch.decisions.relevance import rebuilt


def reduce_to_inconsistency(plan: BatchPlan, fact: Record) -> tuple[BatchPlan, tuple[Record, ...]]:
    """A program, and facts to add, that have no model with the data exactly if the fact follows from `plan` and the data.

    The constraint that is added says that a fresh predicate and the fact's own exclude each other:
    `bottom :- asked(X), boxplus[0,d] p(X)`. It looks at the interval from its end, which may be open: the box has the fact's
    own brackets then, and no time is needed that the timeline does not have. Facts of the fresh predicate are no data's, if
    those hold facts of predicates that the program or the question mentions alone.

    MethodError where the interval is longer than the timeline can hold.

    >>> from tidelog.plans.compiling.batch import compile_batch
    >>> from tidelog.plans.language.parser import parse
    >>> plan = compile_batch(parse("p(X) :- q(X)."))
    >>> reduced, more = reduce_to_inconsistency(plan, plan.record("p", ["a"], interval="[1,3)"))
    >>> from tidelog.plans.language.printing import format_statement
    >>> [format_statement(rule) for rule in reduced.constraints.values()]
    ["bottom :- 'p.1'(X1), boxplus[0,2) p(X1)."]
    >>> [str(reduced.answer(record)) for record in more]
    ["'p.1'(a)@1"]
    """
    predicate, row, _, _ = fact
    time, boxes = _around(plan, fact)
    columns = tuple(Variable(f"X{number}") for number in range(1, len(row) + 1))
    fresh = _fresh(plan, predicate)
    reach = (Unary(operator, within, Atom(predicate, columns)) for operator, within in boxes)
    forbidden = Rule(Truth(False), (Atom(fresh, columns), *reach))
    try:
        reduced = rebuilt(plan, (*plan.program.statements, forbidden))
    except ProgramError as error:  # of a program that has been compiled before, the interval alone is new
        raise MethodError(f"the interval is too long: {error.diagnostics[0].message}") from error
    return reduced, ((fresh, row, time, time),)


def without_constraints(plan: BatchPlan, predicate: str) -> BatchPlan:
    """The plan with those rules alone on which a predicate depends, and without constraints: enough to ask what follows,
    where the constraints are known to hold."""
    rules = (item for item in plan.program.statements if not (isinstance(item, Rule) and isinstance(item.head, Truth)))
    return rebuilt(plan, rules, predicate)


def without_rules(plan: BatchPlan, complete: Collection[str], *keep: str) -> BatchPlan:
    """The plan without the rules of predicates whose facts are all known."""
    rules = (
        item for item in plan.program.statements if not (isinstance(item, Rule) and head_predicate(item.head) in complete)
    )
    return rebuilt(plan, rules, *keep)


def _around(plan: BatchPlan, fact: Record) -> tuple[int, list[tuple[UnaryOperator, Interval]]]:
    """A time at an end of the fact's interval, and the boxes that reach over all of it from there."""
    _, _, lo, hi = fact
    within = plan.timeline.decode_interval(lo, hi)
    if isinstance(within.low, Fraction):
        over = Interval(Fraction(0), within.high - within.low, within.left_open, within.right_open)
        return plan.timeline.encode_point(within.low), [("boxplus", over)]
    before = Interval(Fraction(0), math.inf, within.right_open and hi != POS, True)
    if isinstance(within.high, Fraction):
        return plan.timeline.encode_point(within.high), [("boxminus", before)]
    return plan.timeline.encode_point(Fraction(0)), [("boxminus", before), ("boxplus", before)]


def _fresh(plan: BatchPlan, predicate: str) -> str:
    """A predicate that neither the program nor its normal form has."""
    used = FreshNames({predicate, *_named(plan), *plan.normal.origins})
    return used.name(Rule(Atom(predicate), ()))


def _named(plan: BatchPlan) -> Iterator[str]:
    yield from plan.schema.predicates
    for statement in plan.program.statements:
        if isinstance(statement, Rule):
            yield from (name for formula in (statement.head, *statement.body) for name in predicates(formula))
        elif isinstance(statement, FactStatement):
            yield statement.atom.predicate
