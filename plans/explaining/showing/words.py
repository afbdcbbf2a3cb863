"""What a step computes, in the words of the program: its rule as written, or the part of it that the step stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap

from tidelog.plans.data.facts import format_predicate
from tidelog.plans.explaining.steps import StepView
from tidelog.plans.explaining.wording import Wording
from tidelog.plans.language.printing import format_duration, format_formula, format_statement
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Atom, Conjunction, Expression, Formula, Rule, Time, Variable
from tidelog.plans.tree.traverse import rebuild, subformulas, substitute, with_terms
from tidelog.plans.tree.walk import statements_of

_WIDE, _MOST_LINES, _DEEPEST = 42, 8, 8
"""How wide a line is, how many there are, and how deep parts are followed that the normal form has made rules of."""
_OTHERS: Mapping[str, str] = {"hold": "goes round once more", "told": "told piece by piece", "union": "by whichever rule"}
"""What steps do that no rule has a word for."""


class Words:
    """The words for the steps of one plan."""

    def __init__(self, plan: Plan) -> None:
        written = statements_of(plan.program, Rule)
        self._plan = plan
        self._wording = Wording(written)
        self._written = {format_statement(rule): rule for rule in written}
        self._normal = {format_statement(rule): rule for rule in plan.normal.rules}
        self._chosen: dict[str, Rule | None] = {}
        self._made: dict[str, list[Rule]] = {name: [] for name in plan.normal.origins}
        for rule in plan.normal.rules:
            if isinstance(rule.head, Atom) and rule.head.predicate in self._made:
                self._made[rule.head.predicate].append(rule)

    def lines(self, view: StepView) -> list[str]:
        """What a box says of a step: what it computes, and for how long it waits."""
        lines = [*_wrapped(self._told(view))]
        if len(lines) > _MOST_LINES:
            lines[_MOST_LINES - 1 :] = ["…"]
        return [*lines, *([f"told {self._long(view.delay)} later"] if view.delay else [])]

    def _told(self, view: StepView) -> Iterator[str]:
        rule = self._normal.get(view.rule)
        if view.predicate in self._made and rule is not None:
            yield from self._literals(rule.body)
        elif view.source in self._written:
            whole = self._written[view.source]
            yield f"{format_formula(whole.head)} :-"
            yield from map(format_formula, whole.body)
        elif view.source:
            yield view.source
        else:
            yield self._name(view.predicate)
            if view.operator != "union" or len(view.inputs) > 1:
                yield _OTHERS.get(view.operator, view.operator)

    def _name(self, predicate: str) -> str:
        rule = self._rule(predicate)
        return ", ".join(self._literals(rule.body)) if rule is not None else format_predicate(predicate)

    def _rule(self, predicate: str) -> Rule | None:
        """The rule that the normal form has made; of several, such as for the parts of a `since`, one that is written so."""
        if predicate not in self._chosen:
            rules = self._made.get(predicate, [])
            self._chosen[predicate] = next(iter(rules), None)  # what a rule is found by does not lead back to it
            if len(rules) > 1:
                self._chosen[predicate] = next(filter(self._is_written, rules), rules[0])
        return self._chosen[predicate]

    def _is_written(self, rule: Rule) -> bool:
        return any(self._wording.has(part) for each in rule.body for part in subformulas(self._followed(each)))

    def _literals(self, body: Iterable[Formula]) -> Iterator[str]:
        for part in body:
            yield format_formula(self._wording.of(self._followed(part)))

    def _followed(self, formula: Formula, depth: int = 0) -> Formula:
        """A formula with what it stands for in place of each atom that the normal form has made a rule of."""
        if not isinstance(formula, Atom):
            return rebuild(formula, lambda part: self._followed(part, depth))
        rule = self._rule(formula.predicate)
        if rule is None or depth == _DEEPEST or not isinstance(rule.head, Atom):
            return formula
        values: dict[str, Expression] = {
            term.name: argument
            for term, argument in zip(rule.head.arguments, formula.arguments, strict=True)
            if isinstance(term, Variable)
        }

        def value(variable: Variable) -> Expression:
            return values.get(variable.name, variable)

        parts = [with_terms(part, lambda term: substitute(term, value)) for part in rule.body]
        followed = tuple(self._followed(part, depth + 1) for part in parts)
        return followed[0] if len(followed) == 1 else Conjunction(followed)

    def _long(self, time: Time) -> str:
        unit = self._plan.timeline.unit
        if unit is None or isinstance(time, float):
            return f"{time}"
        return format_duration(time * unit)


def _wrapped(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from wrap(text, _WIDE, subsequent_indent="  ")
