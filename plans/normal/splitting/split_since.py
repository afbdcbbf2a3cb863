"""Pass: since with an empty stretch becomes an alternative of its own, where the left side would bind too much."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from math import prod

from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import refuse, rewrite_rules
from tidelog.plans.normal.times.distances import is_zero, split_stretch
from tidelog.plans.tree.names import atom, variables
from tidelog.plans.tree.scopes import bound, shared
from tidelog.plans.tree.syntax import Binary, Conjunction, Formula, Negation, Rule, Unary, UnaryOperator

MAX_ALTERNATIVES = 64
"""The most rules that one rule may become."""

Names = frozenset[str]


def split_since(program: NormalProgram) -> NormalProgram:
    """Split `L since R` where L has variables that R has not, and there may be no time between R and now.

    There L need not hold at all, so that its variables are free: `R` alone is one alternative, `L since R` over the
    longer distances the other (Wałęga et al. 2023, Table 1). ProgramError beyond 64 alternatives in one rule, and
    where such a variable is used outside of a box, a negation or a left side in which only L binds it.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("split_since", "p(X) :- q(X,Y) since[0,5] r(X)."))
    output p.
    p(X) :- r(X).
    p(X) :- q(X, Y) since(0,5] r(X).
    """
    is_integer = program.timeline.kind == "integer"
    return rewrite_rules(program, lambda rule, fresh: _Splitter(rule, fresh, is_integer).rules(), (Binary,))


class _Splitter:
    """The alternatives of one rule: they stay inside a fresh predicate if all bind what is needed outside."""

    def __init__(self, rule: Rule, fresh: Callable[[], str], is_integer: bool) -> None:
        self._rule = rule
        self._fresh = fresh
        self._is_integer = is_integer
        self._extra: list[Rule] = []

    def rules(self) -> Iterator[Rule]:
        body, needed = self._rule.body, frozenset(variables(self._rule.head))
        if len(body) == 1 and isinstance(body[0], Binary):
            bodies: list[tuple[Formula, ...]] = [(choice,) for choice in self._since(body[0], needed)]
        else:
            bodies = self._products(body, needed)
        yield from self._extra
        for body in bodies:
            yield replace(self._rule, body=body)

    def _products(self, parts: tuple[Formula, ...], needed: Names) -> list[tuple[Formula, ...]]:
        inside = shared(parts, needed)
        options = [self._alternatives(part, inside) for part in parts]
        self._check_number(prod(map(len, options)))
        return list(product(*options))

    def _check_number(self, alternatives: int) -> None:
        if alternatives > MAX_ALTERNATIVES:
            message = f"the rule becomes more than {MAX_ALTERNATIVES} rules, two for each since with free variables"
            raise refuse(message, self._rule.span, "give some of them rules of their own")

    def _alternatives(self, formula: Formula, needed: Names) -> list[Formula]:
        match formula:
            case Negation():
                return [replace(formula, operand=self._only(formula.operand, needed))]
            case Unary(operator="diamondminus" | "diamondplus"):
                return [replace(formula, operand=choice) for choice in self._alternatives(formula.operand, needed)]
            case Unary():
                inside = needed.union(variables(formula.operand))
                return [replace(formula, operand=self._only(formula.operand, inside))]
            case Conjunction():
                choices = self._products(formula.parts, needed)
                return self._settled(formula, [Conjunction(choice, formula.span) for choice in choices], needed)
            case Binary():
                return self._settled(formula, self._since(formula, needed), needed)
        return [formula]

    def _since(self, formula: Binary, needed: Names) -> list[Formula]:
        inside = needed.union(variables(formula.left))
        left = self._only(formula.left, inside)
        rights = self._alternatives(formula.right, inside)
        choices = [choice for right in rights for choice in self._split(formula, left, right)]
        self._check_number(len(choices))
        return choices

    def _split(self, formula: Binary, left: Formula, right: Formula) -> list[Formula]:
        empty_stretch, longer = split_stretch(formula.interval, self._is_integer)
        whole = replace(formula, left=left, right=right)
        if empty_stretch is None or longer is None or set(variables(left)) <= set(variables(right)):
            return [whole]
        operator: UnaryOperator = "diamondminus" if formula.operator == "since" else "diamondplus"
        alone = right if is_zero(empty_stretch) else Unary(operator, empty_stretch, right, span=formula.span)
        return [alone, replace(whole, interval=longer)]

    def _settled(self, formula: Formula, choices: list[Formula], needed: Names) -> list[Formula]:
        """One fresh atom for all choices, if each of them binds the variables that are needed outside."""
        columns = tuple(name for name in variables(formula) if name in needed)
        if len(choices) == 1 or any(not set(columns) <= set(bound(choice, is_split=True)) for choice in choices):
            return choices
        head = atom(self._fresh(), columns)
        self._extra += [Rule(head, (choice,)) for choice in choices]
        return [head]

    def _only(self, formula: Formula, needed: Names) -> Formula:
        choices = self._alternatives(formula, needed)
        if len(choices) > 1:
            raise _free(formula, choices, needed)
        return choices[0]


def _free(formula: Formula, choices: Iterable[Formula], needed: Names) -> ProgramError:
    always = set.intersection(*(set(bound(choice, is_split=True)) for choice in choices))
    free = next(name for name in variables(formula) if name in needed and name not in always)
    name = "_" if free.startswith("_") else free
    return refuse(
        f"variable `{name}` needs one value here, but only the left side of since binds it, which may hold at no time",
        formula.span,
        f"add an atom with `{name}` to the right side",
    )
