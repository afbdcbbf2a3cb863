"""Pass: aggregates and held values become what operators compute, each over one atom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import count

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import refuse, rewrite_rules
from tidelog.plans.normal.times.expand_windows import NOW, at_multiples
from tidelog.plans.normal.times.read_times import names_in
from tidelog.plans.tree.names import atom, fresh_name, variables
from tidelog.plans.tree.scopes import bound, name_bound
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Comparison,
    Constant,
    Formula,
    Interval,
    Latest,
    Negation,
    Rule,
    Threshold,
    Time,
    Unary,
    Variable,
    WindowSize,
)
from tidelog.plans.tree.thresholds import mark_thresholds, mentions
from tidelog.plans.tree.traverse import rebuild, spliced, subformulas


def split_aggregates(program: NormalProgram) -> NormalProgram:
    """Give each aggregate, and each `latest`, a predicate of its own, over an atom whose columns are what it counts.

    What a threshold asks for need not wait: `max(V) >= c` is a window over what is so large, and `distinct(V) >= k` asks for
    that many windows at once. Each `_` of an aggregate's formula is a column, for different values are different rows.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("split_aggregates", "timeline integer. p(S) :- count() over (q(S,_), not r(S)) in [5] by S > 2."))
    timeline integer.
    output p.
    'p.1'(S, Any) :- q(S, Any), not r(S).
    'p.2'(S) :- count() over 'p.1'(S, Any) in [5] by S > 2.
    p(S) :- 'p.2'(S).
    >>> print(text_after("split_aggregates", "p(S) :- latest q(S,V,_) by S in [5], V > 3."))
    output p.
    'p.1'(S, V) :- q(S, V, _).
    'p.2'(S, V) :- latest 'p.1'(S, V) by S in [5].
    p(S) :- 'p.2'(S, V), V > 3.
    """
    return rewrite_rules(program, lambda rule, fresh: _Splitter(mark_thresholds(rule), fresh).rules(), (Aggregate, Latest))


class _Splitter:
    """The rules that one rule becomes, each before those that read it."""

    def __init__(self, rule: Rule, fresh: Callable[[], str]) -> None:
        self._rule = rule
        self._fresh = fresh
        self._uses = Counter(name for part in (rule.head, *rule.body) for name in mentions(part))
        self._taken = names_in(rule.head, *rule.body).union(*map(_inner_names, rule.body))
        self._made: list[Rule] = []

    def rules(self) -> Iterator[Rule]:
        body = self._whole() or tuple(map(self._inside, self._rule.body))
        yield from self._made
        yield replace(self._rule, body=body)

    def _whole(self) -> tuple[Formula, ...]:
        """The body of a rule that derives just what an aggregate or a `latest` tells; nothing for any other rule."""
        if len(self._rule.body) != 1 or not isinstance(self._rule.head, Atom):
            return ()
        part, head = self._rule.body[0], self._rule.head
        if (
            isinstance(part, Aggregate)
            and part.threshold is None
            and head == atom(head.predicate, columns := _columns(part))
        ):
            return (self._over_atom(part),) if len({*columns}) == len(columns) else ()
        if isinstance(part, Latest) and head == atom(head.predicate, variables(part.atom)) and part.window.step is None:
            return (self._of_columns(part),)
        return ()

    def _inside(self, formula: Formula) -> Formula:
        match formula:
            case Aggregate():
                return self._aggregated(formula)
            case Latest():
                return self._held(formula)
            case Negation() if own := self._own_results(formula):
                return replace(formula, operand=self._without(formula.operand, own))
        return rebuild(formula, self._inside)

    # --- aggregates -----------------------------------------------------------------------------------------------------

    def _threshold(self, formula: Aggregate, threshold: Threshold) -> Formula:
        window = formula.window
        if not isinstance(window, WindowSize):
            raise TypeError(f"not a threshold: {formula!r}")
        step, window = window.step, replace(window, step=None)
        formula = self._over_atom(replace(formula, window=window))
        counted = formula.operand if isinstance(formula.operand, Atom) else atom("", ())
        back = Interval(Fraction(0), window.size, span=window.span)
        if formula.function in ("min", "max") and formula.argument is not None:
            limit = Comparison(threshold.operator, formula.argument, Constant(threshold.limit), formula.span)
            self._define(found := self._grouped(formula), counted, limit)
            return _at_steps(Unary("diamondminus", back, found, span=formula.span), step)
        if formula.function == "distinct" and isinstance(formula.argument, Variable):
            columns = dict.fromkeys([*_columns(formula), formula.argument.name])
            self._define(each := atom(self._fresh(), columns), counted)
            self._define(seen := atom(self._fresh(), columns), Unary("diamondminus", back, each, span=formula.span))
            now = replace(window, size=Fraction(0))
            formula = replace(formula, function="count", argument=None, operand=seen, window=now)
        self._define(head := self._grouped(formula), formula)
        return head if step is None else _at_steps(Unary("diamondminus", NOW, head, span=formula.span), step)

    def _grouped(self, formula: Aggregate) -> Atom:
        return atom(self._fresh(), _columns(formula))

    def _aggregated(self, formula: Aggregate) -> Formula:
        if formula.threshold is not None:
            return self._threshold(formula, formula.threshold)
        columns = _columns(formula)
        if formula.result in formula.by:  # the value is one that the group has: the atom asks for both to be the same
            formula = replace(formula, result=Variable(self._unused("Value")))
        counted = self._over_atom(formula)
        self._define(head := atom(self._fresh(), _columns(formula)), counted)
        return atom(head.predicate, columns)

    def _over_atom(self, formula: Aggregate) -> Aggregate:
        """The aggregate over an atom with a column for each variable that its formula binds, of one of these."""
        names = (self._unused("Any") for _ in count())
        inside = [*spliced([name_bound(self._inside(formula.operand), names)])]
        if formula.argument is not None and not isinstance(formula.argument, Variable):
            value = Variable(self._unused("Value"))
            inside.append(Comparison("=", value, formula.argument, formula.span))
            formula = replace(formula, argument=value)
        return replace(formula, operand=self._as_atom(inside))

    def _as_atom(self, parts: list[Formula]) -> Atom:
        """An atom over distinct variables that holds where all parts do."""
        if len(parts) == 1 and isinstance(found := parts[0], Atom) and found == atom(found.predicate, bound(found)):
            return found
        head = atom(self._fresh(), bound(*parts))
        self._define(head, *parts)
        return head

    def _own_results(self, formula: Negation) -> set[str]:
        """The results of aggregates under `not` that nothing else mentions: there, some value will do."""
        inside, everywhere = Counter(mentions(formula)), self._uses
        return {name for name in _results(formula) if inside[name] == everywhere[name]}

    def _without(self, formula: Formula, results: set[str]) -> Atom:
        """What is negated as an atom without these results."""
        inside = spliced([self._inside(formula)])
        names = bound(*inside)
        leaning = [name for name in variables(*inside) if name not in names]
        if leaning:
            message = f"an aggregate under `not` is compared with `{leaning[0]}`, which stands outside"
            raise refuse(message, formula.span, "give what is negated a rule of its own, with this variable in an atom")
        head = atom(self._fresh(), [name for name in names if name not in results])
        self._define(head, *inside)
        return head

    # --- held values ----------------------------------------------------------------------------------------------------

    def _held(self, formula: Latest) -> Formula:
        step = formula.window.step
        latest = self._of_columns(replace(formula, window=replace(formula.window, step=None)))
        self._define(head := atom(self._fresh(), variables(formula.atom)), latest)
        return head if step is None else _at_steps(Unary("diamondminus", NOW, head, span=formula.span), step)

    def _of_columns(self, formula: Latest) -> Latest:
        """The same over an atom whose arguments are distinct variables."""
        columns, found = variables(formula.atom), formula.atom
        if found == atom(found.predicate, columns):
            return formula
        self._define(head := atom(self._fresh(), columns), found)
        return replace(formula, atom=head)

    # --- both -----------------------------------------------------------------------------------------------------------

    def _define(self, head: Atom, *body: Formula) -> None:
        self._made.append(Rule(head, body))

    def _unused(self, name: str) -> str:
        found = fresh_name(name, self._taken)
        self._taken.add(found)
        return found


def _columns(formula: Aggregate) -> list[str]:
    shown = (*formula.by, formula.result) if formula.threshold is None else formula.by
    return [variable.name for variable in shown]


def _results(formula: Formula) -> set[str]:
    parts = (part for part in subformulas(formula) if isinstance(part, Aggregate))
    return {part.result.name for part in parts if part.threshold is None}


def _at_steps(formula: Unary, step: Time | None) -> Formula:
    return formula if step is None else at_multiples(formula, int(step))


def _inner_names(formula: Formula) -> set[str]:
    """The variables of a formula and those that are local to aggregates in it."""
    return names_in(*subformulas(formula))
