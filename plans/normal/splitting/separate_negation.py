"""Pass: one negation a rule, beside one atom."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import rewrite_rules
from tidelog.plans.tree.names import atom, variables
from tidelog.plans.tree.syntax import Atom, Formula, Negation, Rule


def separate_negation(program: NormalProgram) -> NormalProgram:
    """Join the positive part of a body first, then take away one negated atom after the other.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("separate_negation", "p(X) :- q(X,Y), r(Y), not s(X), not u(Y)."))
    output p.
    'p.1'(X, Y) :- q(X, Y), r(Y).
    'p.2'(X, Y) :- 'p.1'(X, Y), not s(X).
    'p.3'(X, Y) :- 'p.2'(X, Y), not u(Y).
    p(X) :- 'p.3'(X, Y).
    """
    return rewrite_rules(program, _separate, (Negation,))


def _separate(rule: Rule, fresh: Callable[[], str]) -> Iterator[Rule]:
    negations = [part for part in rule.body if isinstance(part, Negation)]
    if not negations:
        yield rule
        return
    positive = [part for part in rule.body if not isinstance(part, Negation)]
    current = _lone_atom(positive)
    if current is None:
        used = set(variables(rule.head, *negations))
        current = atom(fresh(), [name for name in variables(*positive) if name in used])
        yield Rule(current, tuple(positive))
    is_direct = isinstance(rule.head, Atom) and rule.head.arguments == current.arguments
    for negation in negations[:-1] if is_direct else negations:
        remaining = replace(current, predicate=fresh())
        yield Rule(remaining, (current, negation))
        current = remaining
    yield replace(rule, body=(current, negations[-1]) if is_direct else (current,))


def _lone_atom(positive: Sequence[Formula]) -> Atom | None:
    """The only positive literal, if it is an atom over distinct variables."""
    if len(positive) == 1 and isinstance(positive[0], Atom):
        found = positive[0]
        return found if found == atom(found.predicate, variables(found)) else None
    return None
