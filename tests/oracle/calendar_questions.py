"""Questions whose rules read calendars: drawn programs in which calendars stand for an input, or beside the others.

The calendars are those of `calendar_programs`, with which a tick is six hours. As facts they are worked out hour by hour.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from hypothesis import strategies as st

from oracle.calendar_programs import DECLARED, spells
from oracle.grounding import atoms, unsafe_variables
from oracle.hypothetical_programs import Shapes, ask_programs
from oracle.lars import anchored_variables
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import (
    Atom,
    Conjunction,
    Constant,
    FactStatement,
    Formula,
    Interval,
    Negation,
    Program,
    Rule,
    TimePoint,
    Unary,
    UnaryOperator,
    Variable,
    Window,
)
from tidelog.plans.tree.traverse import rebuild

_REPLACED = "r"
_FIRST, _LAST = -16, 32
"""Names of days are told for these ticks alone: each of them is a constant of the program that the oracle sees."""


@st.composite
def calendar_questions(draw: st.DrawFn, shapes: Shapes) -> Program:
    """A program that can be asked, with calendars in place of some of its atoms, and beside others."""
    program = draw(ask_programs(shapes))
    statements = [draw(_with_calendars(item)) if isinstance(item, Rule) else item for item in program.statements]
    return replace(program, statements=tuple(statements))


@st.composite
def _with_calendars(draw: st.DrawFn, rule: Rule) -> Rule:
    body = [draw(_in_place(part)) for part in rule.body]
    if draw(st.booleans()):
        times = sorted(anchored_variables(rule.body))
        is_timed = any(atom.at is not None for part in (rule.head, *rule.body) for atom, _ in atoms(part))
        body.append(draw(_at(times[0])) if is_timed and times else draw(_beside()))
    made = replace(rule, body=tuple(body))
    return rule if unsafe_variables(made) else made


@st.composite
def _in_place(draw: st.DrawFn, formula: Formula) -> Formula:
    if isinstance(formula, Atom):
        if formula.predicate != _REPLACED or draw(st.booleans()):
            return formula
        name = draw(st.sampled_from(["work", "night", "not work"]))
        made = replace(formula, predicate=name.removeprefix("not "))
        return Negation(made) if name.startswith("not ") else made
    if isinstance(formula, Window):  # which holds an atom
        operand = formula.operand
        is_free = isinstance(operand, Atom) and operand.predicate == _REPLACED and draw(st.booleans())
        return replace(formula, operand=replace(operand, predicate="work")) if is_free else formula
    return rebuild(formula, lambda part: draw(_in_place(part)))


@st.composite
def _at(draw: st.DrawFn, name: str) -> Formula:
    at = TimePoint(Variable(name), draw(st.sampled_from((0, 1, -1))))
    atom = Atom(draw(st.sampled_from(["work", "night"])), (), at)
    return Negation(atom) if draw(st.booleans()) else atom


@st.composite
def _beside(draw: st.DrawFn) -> Formula:
    """A calendar at the rule's own time; or that something happened on the same day, or on another one."""
    kind = draw(st.sampled_from(["plain", "plain", "near", "same day", "same night", "other day"]))
    atom = Atom(draw(st.sampled_from(["work", "night"])), ())
    if kind == "plain":
        return draw(_negated(atom))
    operators: tuple[UnaryOperator, ...] = ("boxminus", "boxplus", "diamondminus", "diamondplus")
    if kind == "near":
        inner = draw(_negated(atom))
        return draw(_negated(Unary(draw(st.sampled_from(operators)), draw(_interval()), inner)))
    day, other = Atom("day", (Variable("Day"),)), Atom("p", (Variable("Other"),))
    operator = draw(st.sampled_from(operators[2:]))
    if kind == "same day":
        return Conjunction((day, Unary(operator, draw(_interval()), Conjunction((other, day)))))
    if kind == "other day":
        return Conjunction((day, Unary(operator, draw(_interval()), Conjunction((other, Negation(day))))))
    return Unary(operator, draw(_interval()), Conjunction((other, draw(_negated(atom)))))


@st.composite
def _negated(draw: st.DrawFn, formula: Formula) -> Formula:
    return Negation(formula) if draw(st.booleans()) else formula


@st.composite
def _interval(draw: st.DrawFn) -> Interval:
    low = draw(st.integers(0, 2))
    return Interval(Fraction(low), Fraction(low + draw(st.integers(0, 6))))


def read_calendars(program: Program) -> list[str]:
    """The calendars that a program reads."""
    rules = (item for item in program.statements if isinstance(item, Rule))
    found = {atom.predicate for rule in rules for part in rule.body for atom, _ in atoms(part)}
    return sorted(found & {"work", "night", "day"})


def with_facts(program: Program) -> Program:
    """The program with its calendars as facts of its own."""
    facts = [_fact(name, row, lo, hi) for name in read_calendars(program) for row, lo, hi in _spells(name)]
    return replace(program, statements=(*program.statements, *facts))


def _spells(name: str) -> Iterable[tuple[tuple[str, ...], int, int]]:
    return (item for item in spells(name) if name != "day" or _FIRST <= item[1] < _LAST)


def _fact(name: str, row: tuple[str, ...], low: int, high: int) -> FactStatement:
    return FactStatement(Atom(name, tuple(map(Constant, row))), Interval(Fraction(low), Fraction(high)))


def declared(program: Program) -> str:
    """The text of the program, with what declares its calendars."""
    text = format_program(program)
    return DECLARED + text.replace("timeline integer.", "timeline integer, unit 6 h.", 1)
