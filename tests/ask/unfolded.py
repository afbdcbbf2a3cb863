"""Unfolding a query that stands in a program's text, and writing what comes of it as text."""

from __future__ import annotations

import pytest

from tidelog.operators.sld.comparisons.terms import shift
from tidelog.operators.sld.leaves.subsumption import Entry
from tidelog.operators.sld.unfold import unfold
from tidelog.plans.data.facts import Record, format_constant
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_formula
from tidelog.plans.normal.program import begin
from tidelog.plans.normal.times.resolve_times import resolve_times
from tidelog.plans.plan.preconditions import Argument, Precondition, Premise, Slot, UnfoldedQuery, Unfolding
from tidelog.plans.plan.questions import Question
from tidelog.plans.tree.syntax import Ask, Constant, FactStatement


def question_of(text: str, depth: int | None = None) -> tuple[Question, list[Record]]:
    """The question of a program with one `ask`, and its facts; the timeline is integer."""
    program = parse("timeline integer.\n" + text)
    normal = resolve_times(begin(program))
    query = next(item.query for item in program.statements if isinstance(item, Ask))
    inputs = frozenset(normal.inputs) or frozenset([query.predicate])
    question = Question(query.predicate, query, normal.rules, inputs, depth=depth)
    return question, [_record(fact) for fact in normal.facts]


def _record(fact: FactStatement) -> Record:
    row = tuple(term.value for term in fact.atom.arguments if isinstance(term, Constant))
    lo, hi = (NEG, POS) if fact.interval is None else Timeline("integer").encode_interval(fact.interval)
    return fact.atom.predicate, row, lo, hi


def unfolding_of(text: str, depth: int | None = None) -> Unfolding:
    """The unfolding of a program's `ask`."""
    return unfold(*question_of(text, depth))


def unfolded(text: str, depth: int | None = None) -> list[str]:
    """The preconditions of a program's `ask`, each as one line."""
    return lines(unfolding_of(text, depth).main)


def lines(query: UnfoldedQuery) -> list[str]:
    """Each precondition as `X=a: p(a)@T, not q@T+1, T >= 3`, with the columns that are more than themselves."""
    return [_line(precondition, query.columns) for precondition in query.preconditions]


def _line(precondition: Precondition, columns: tuple[str, ...]) -> str:
    names = precondition.variables
    told = {c: _term(term, names) for c, term in zip(columns, precondition.answer, strict=True)}
    answer = ", ".join(f"{column}={text}" for column, text in told.items() if column != text)
    parts = [_premise(premise, names) for premise in precondition.premises]
    parts += [f"not {_premise(premise, names)}" for premise in precondition.negated]
    parts += [format_formula(comparison) for comparison in precondition.comparisons]
    return (f"{answer}: " if answer else "") + ", ".join(parts)


def _premise(premise: Premise, names: tuple[str, ...]) -> str:
    arguments = ",".join(_term(term, names) for term in premise.arguments)
    time = _term(premise.time, names)
    if premise.width:
        time = f"[{time},{_term(shift(premise.time, premise.width), names)}]"
    return f"{premise.predicate}{f'({arguments})' if arguments else ''}@{time}"


def _term(term: Argument, names: tuple[str, ...]) -> str:
    if not isinstance(term, Slot):
        return format_constant(term)
    return names[term.variable] + (f"{term.offset:+}" if term.offset else "")


def count_comparisons(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Every comparison of one leaf with another from now on, by its first outcome."""
    done: list[bool] = []
    may_subsume = Entry.may_subsume

    def counted(entry: Entry, other: Entry) -> bool:
        done.append(may_subsume(entry, other))
        return done[-1]

    monkeypatch.setattr(Entry, "may_subsume", counted)
    return done
