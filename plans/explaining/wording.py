"""How a program writes what its passes have resolved: `hot(P) for 5 min` where they have `boxminus[0,300] hot(P)`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidelog.plans.diagnostics.errors import NOWHERE, Span
from tidelog.plans.tree.syntax import Aggregate, Binary, Formula, Latest, Rule, Unary, Window
from tidelog.plans.tree.traverse import rebuild, subformulas


class Wording:
    """The intervals, windows and words of a program's rules, as they are written; found by the places of formulas."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._written: dict[tuple[type[Formula], Span], Formula] = {
            (type(part), part.span): part
            for rule in rules
            for formula in (rule.head, *rule.body)
            for part in subformulas(formula)
            if isinstance(part, Unary | Binary | Window | Latest | Aggregate) and part.span != NOWHERE
        }

    def has(self, formula: Formula) -> bool:
        """Whether a formula stands so in a rule: it is none that a pass has made beside."""
        return (type(formula), formula.span) in self._written

    def of(self, formula: Formula) -> Formula:
        """A formula, of which times may be resolved and variables bound, with the words in which it is written."""
        formula = rebuild(formula, self.of)
        match formula, self._written.get((type(formula), formula.span)):
            case Unary(operator), Unary(interval=interval, word=word) as written if operator == written.operator:
                return replace(formula, interval=interval, word=word)
            case Binary(), Binary(interval=interval):
                return replace(formula, interval=interval)
            case Window(), Window(window=window):
                return replace(formula, window=window)
            case Latest(), Latest(window=window):
                return replace(formula, window=window)
            case Aggregate(), Aggregate(window=period):
                return replace(formula, window=period)
        return formula
