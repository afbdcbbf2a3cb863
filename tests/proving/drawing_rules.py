"""Strategies for programs of which there is something to prove: drawn ones, with rules that mix bodies of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from oracle.evaluate import rules_of
from oracle.grounding import bound_variables
from tidelog.plans.proving.rulebook import Rulebook, rulebook
from tidelog.plans.tree.names import expression_variables, variables
from tidelog.plans.tree.syntax import (
    Aggregate,
    Arithmetic,
    Atom,
    Comparison,
    Conjunction,
    FactStatement,
    Formula,
    Latest,
    Negation,
    Program,
    Rule,
    Variable,
    Wildcard,
)
from tidelog.plans.tree.traverse import children, rebuild


def book_of_text(program: Program) -> Rulebook:
    """A program for proofs, with the facts that it states itself."""
    stated = [item for item in program.statements if isinstance(item, FactStatement)]
    facts = [(item.atom.predicate, tuple(term.value for term in item.atom.arguments), item.interval) for item in stated]
    return rulebook(program, (), facts)


@st.composite
def mixed(draw: st.DrawFn, program: Program) -> Program:
    """A program with up to four rules more: one body and another, one without another, one with a part left out."""
    rules = rules_of(program)
    made: list[Rule] = []
    for number in range(draw(st.integers(1, 4))):
        first, second = draw(st.sampled_from(rules)), draw(st.sampled_from(rules))
        body = draw(_body(first.body, second.body))
        head = draw(_head(body, f"m{draw(st.integers(0, min(number, 1)))}"))
        made.append(Rule(head, body))
    arities: dict[str, int] = {}
    kept = [rule for rule in made if isinstance(rule.head, Atom) and _fits(rule.head, arities)]
    statements = [draw(_with_anonymous(item)) if isinstance(item, Rule) else item for item in (*program.statements, *kept)]
    return replace(program, statements=tuple(statements))


@st.composite
def _with_anonymous(draw: st.DrawFn, rule: Rule) -> Rule:
    """The rule, some of whose variables that stand in one place alone are written `_`.

    Those that an aggregate or `latest` names beside its formula stay, and those that are times.
    """
    named = Counter(_named(rule.head, *rule.body))
    chosen = {name for name in sorted(named) if named[name] == 1 and draw(st.booleans())}
    return replace(rule, body=tuple(_unnamed(part, chosen) for part in rule.body)) if chosen else rule


def _named(*formulas: Formula) -> Iterator[str]:
    """The names of variables, as often as they are written; twice those that have to stay."""
    for formula in formulas:
        match formula:
            case Atom():
                yield from expression_variables(*formula.arguments)
                inside = [argument for argument in formula.arguments if isinstance(argument, Arithmetic)]
                yield from expression_variables(*inside)
                yield from [formula.at.variable.name] * 2 if formula.at is not None else ()
            case Comparison():
                yield from [*expression_variables(formula.left, formula.right)] * 2
            case Aggregate():
                given = () if formula.argument is None else (formula.argument,)
                yield from [*expression_variables(formula.result, *formula.by, *given)] * 2
            case Latest():
                yield from [*expression_variables(*formula.by)] * 2
        yield from _named(*children(formula))


def _unnamed(formula: Formula, names: Collection[str]) -> Formula:
    if isinstance(formula, Atom):
        arguments = tuple(
            Wildcard() if isinstance(term, Variable) and term.name in names else term for term in formula.arguments
        )
        return replace(formula, arguments=arguments)
    return rebuild(formula, lambda part: _unnamed(part, names))


def _fits(head: Atom, arities: dict[str, int]) -> bool:
    return arities.setdefault(head.predicate, len(head.arguments)) == len(head.arguments)


@st.composite
def _body(draw: st.DrawFn, first: Sequence[Formula], second: Sequence[Formula]) -> tuple[Formula, ...]:
    how = draw(st.sampled_from(("both", "without", "part", "less")))
    if how == "both":
        return (*first, *second)
    bound = bound_variables(first)
    if how == "without" and set(variables(*second)) <= bound:
        return (*first, Negation(second[0] if len(second) == 1 else Conjunction(tuple(second))))
    if how == "part":
        part = draw(st.sampled_from(second))
        if set(variables(part)) <= bound:
            return (*first, part)
    place = draw(st.integers(0, len(first) - 1))
    less = tuple(part for number, part in enumerate(first) if number != place)
    still = bound_variables(less)
    return less if less and set(variables(*less)) <= still else tuple(first)


@st.composite
def _head(draw: st.DrawFn, body: Sequence[Formula], name: str) -> Atom:
    bound = sorted(bound_variables(body))
    chosen = draw(st.lists(st.sampled_from(bound), max_size=1)) if bound else []
    return Atom(name, tuple(map(Variable, chosen)))
