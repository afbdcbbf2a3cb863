"""Comparing a program with its normal form, both evaluated by the oracle."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from oracle.evaluate import GroundFact, Model, evaluate, head_atom, is_dense, rules_of
from oracle.reach import exact_range, horizon
from tidelog.plans.normal.form import form_of
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.tree.names import variables
from tidelog.plans.tree.syntax import (
    Atom,
    Binary,
    Expression,
    FactStatement,
    Formula,
    Interval,
    Program,
    Rule,
    Unary,
    Value,
    Variable,
)
from tidelog.plans.tree.traverse import rebuild

Holds = set[tuple[str, tuple[Value, ...], Fraction]]
"""Which rows of which predicates hold at which times."""


def differences(program: Program, normal: NormalProgram, facts: list[GroundFact]) -> tuple[Holds, Holds]:
    """What holds in the program alone, and in its normal form alone, where both evaluations are right."""
    program, rewritten = _on_one_grid(program), _on_one_grid(evaluable(normal))
    ranges = [horizon(each, facts, margin=6) for each in (program, rewritten)]
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    exact = [exact_range(each, facts, low=low, high=high) for each in (program, rewritten)]
    since, until = max(low for low, _ in exact), min(high for _, high in exact)
    before = evaluate(program, facts, low=low, high=high)
    after = evaluate(rewritten, facts, low=low, high=high)
    derived = {atom.predicate for rule in rules_of(program) if (atom := head_atom(rule.head)) is not None}
    expected = holding(before, derived) | violated(program, normal, before)
    found = holding(after, derived | set(normal.constraints))
    inside = lambda item: since <= item[2] <= until  # noqa: E731 - used in the next lines alone
    return set(filter(inside, expected - found)), set(filter(inside, found - expected))


def holding(model: Model, predicates: set[str]) -> Holds:
    return {
        (predicate, row, time)
        for predicate in predicates
        for row in model.rows(predicate)
        for time in model.points(predicate, row)
    }


def violated(program: Program, normal: NormalProgram, model: Model) -> Holds:
    """The violations of the original constraints, as the facts of the constraints' predicates."""
    rules = rules_of(program)
    heads = {rule.head.predicate: rule.head for rule in normal.rules if isinstance(rule.head, Atom)}
    named = {rules.index(source): heads[name] for name, source in normal.constraints.items()}
    found: Holds = set()
    for violation in model.violations:
        head, binding = named[violation.rule], dict(violation.binding)
        found.add((head.predicate, tuple(binding[name] for name in variables(head)), violation.point))
    return found


def evaluable(normal: NormalProgram) -> Program:
    """The normal form as the oracle takes it: no variable that it could take for a wildcard, each head bound."""
    return Program((normal.timeline, *normal.facts, *map(_bound, map(_spelled, normal.rules))))


def _on_one_grid(program: Program) -> Program:
    """The program with a fact that makes the oracle cut time into half units, whatever numbers are left."""
    half = Fraction(1, 2) if is_dense(program) else Fraction(1)
    return Program((*program.statements, FactStatement(Atom("tick"), Interval(half, half))))


def _spelled(rule: Rule) -> Rule:
    def spell(formula: Formula) -> Formula:
        if isinstance(formula, Atom):
            return replace(formula, arguments=tuple(map(_plain, formula.arguments)))
        return rebuild(formula, spell)

    return replace(rule, head=spell(rule.head), body=tuple(map(spell, rule.body)))


def _plain(argument: Expression) -> Expression:
    is_made = isinstance(argument, Variable) and argument.name.startswith("_")
    return Variable("Made" + argument.name) if is_made else argument


def _bound(rule: Rule) -> Rule:
    """A since whose left side adds variables, with what its rows need anyway: that the left side held nearby."""
    body = rule.body[0]
    if form_of(rule) != "since" or not isinstance(body, Binary) or set(variables(body.left)) <= set(variables(body.right)):
        return rule
    nearby = Interval(Fraction(0), body.interval.high, False, body.interval.right_open)
    operator = "diamondminus" if body.operator == "since" else "diamondplus"
    return replace(rule, body=(body, Unary(operator, nearby, body.left)))
