"""The normal form: one rule, one operator.

    dilate    p(V) :- diamondminus[a,b] q(V)       also diamondplus
    erode     p(V) :- boxminus[a,b] q(V)           also boxplus, and clipped
    since     p(V) :- l(VL) since[a,b] r(VR)       also until; V is VR, then what VL adds
    antijoin  p(V) :- q(V), not n(args)            args: variables of V, constants, wildcards
    stepped   p(V) :- sometime q(V) in [0 step d]
    latest    p(V) :- latest q(V) by G in [n]        G: variables of V
    aggregate p(G, A) :- A = avg(X) over q(V) in [n step d] by G
    threshold p(G) :- count() over q(V) in [n] by G >= k   also sum
    tuple     p(V) :- entered q(args) in [#n]      also left, and always
    bind      p(V, T)@T :- q(V)@T
    move      p(args)@T+k :- q(args, T)
    join      p(args) :- q1(args), …, comparisons  or `top` in place of the atoms

V stands for distinct variables. It extends Wałęga et al. 2023, Definition 5, whose forms (4)–(6) are dilate, erode and
join. Several rules may share a head: their union is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from tidelog.plans.tree.names import atom, variables
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Binary,
    Comparison,
    Formula,
    Latest,
    Negation,
    Rule,
    TimePoint,
    Truth,
    Unary,
    Visits,
    Wildcard,
)

Form = Literal[
    "assign",
    "dilate",
    "erode",
    "since",
    "join",
    "antijoin",
    "stepped",
    "latest",
    "aggregate",
    "threshold",
    "tuple",
    "bind",
    "move",
]


def form_of(rule: Rule) -> Form | None:  # noqa: PLR0911 - one for each form
    """Which operator computes a rule; None if it is not in normal form."""
    if not isinstance(rule.head, Atom) or any(isinstance(argument, Wildcard) for argument in rule.head.arguments):
        return None
    if rule.assigns == "kept":
        return "assign"
    if rule.head.at is not None:
        return _timed_form(rule.head, rule.head.at, rule.body)
    match rule.body:
        case (Unary() as unary,):
            return _unary_form(rule.head, unary)
        case (Visits() as visits,):
            told = set(variables(rule.head)) <= set(variables(visits))
            return "tuple" if told and _has_columns(rule.head, variables(rule.head)) else None
        case (Latest(atom=held),):
            return "latest" if _is_plain(held) and _has_columns(rule.head, variables(held)) else None
        case (Aggregate(operand=Atom() as counted) as aggregate,):
            form: Form = "aggregate" if aggregate.threshold is None else "threshold"
            return form if _is_plain(counted) and _has_columns(rule.head, variables(aggregate)) else None
        case (Binary(left=Atom() as left, right=Atom() as right),):
            is_flat = _is_plain(left) and _is_plain(right)
            return "since" if is_flat and _has_columns(rule.head, variables(right, left)) else None
        case (Atom() as kept, Negation(operand=Atom() as negated)):
            is_flat = _is_plain(kept) and _has_columns(rule.head, variables(kept))
            return "antijoin" if is_flat and set(variables(negated)) <= set(variables(kept)) else None
    return "join" if _is_join(rule.body) else None


def _unary_form(head: Atom, unary: Unary) -> Form | None:
    if not isinstance(unary.operand, Atom) or not _is_plain(unary.operand):
        return None
    if not _has_columns(head, variables(unary.operand)):
        return None
    if unary.step:
        return "stepped"
    return "erode" if unary.operator.startswith("box") else "dilate"


def _timed_form(head: Atom, at: TimePoint, body: Sequence[Formula]) -> Form | None:
    match body:
        case (Atom(at=TimePoint(variable, 0)) as found,) if (variable, 0) == (at.variable, at.shift):
            is_flat = _has_columns(replace(found, at=None), variables(found)) and variable not in found.arguments
            return "bind" if is_flat and head.arguments == (*found.arguments, variable) else None
        case (Atom(at=None) as found,):
            return "move" if found.arguments == (*head.arguments, at.variable) else None
    return None


def _is_join(body: Sequence[Formula]) -> bool:
    if not all(isinstance(part, Atom | Comparison | Truth) for part in body):
        return False
    atoms = sum(isinstance(part, Atom) for part in body)
    tops = [part.value for part in body if isinstance(part, Truth)]
    return not tops if atoms else tops == [True]


def _is_plain(found: Atom) -> bool:
    """Whether an atom's arguments are distinct variables."""
    return _has_columns(found, variables(found))


def _has_columns(head: Atom, columns: tuple[str, ...]) -> bool:
    return head == atom(head.predicate, columns)
