"""Pass: nested formulas become predicates, one operator a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import BEYOND_JOINS, rewrite_rules
from tidelog.plans.tree.names import atom, variables
from tidelog.plans.tree.scopes import bound, shared
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Binary,
    Comparison,
    Expression,
    Formula,
    Latest,
    Negation,
    Rule,
    Truth,
    Unary,
    Variable,
    Visits,
    Wildcard,
)
from tidelog.plans.tree.traverse import spliced

Names = frozenset[str]


def flatten(program: NormalProgram) -> NormalProgram:
    """Give each nested formula a predicate over the variables that are needed outside of it.

    Below a diamond, right of since and in negations, what is not needed is projected away before the operator, for
    "some constant" and "at some time" commute; below a box and left of since only afterwards. Wałęga et al. 2023,
    proof of Proposition 6.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("flatten", "p(X) :- q(X), boxminus[0,4] (diamondminus[1,2] r(X,Y), s(X,Z))."))
    output p.
    'p.1'(X, Y) :- diamondminus[1,2] r(X, Y).
    'p.2'(X, Y, Z) :- 'p.1'(X, Y), s(X, Z).
    'p.3'(X, Y, Z) :- boxminus[0,4] 'p.2'(X, Y, Z).
    p(X) :- q(X), 'p.3'(X, Y, Z).
    """
    concerned = (*BEYOND_JOINS, Comparison)  # a rule of comparisons alone holds always
    return rewrite_rules(program, lambda rule, fresh: _Flattener(fresh).rules(rule), concerned)


class _Flattener:
    """The rules that one rule becomes, each before those that read it.

    `needed` are the variables that the outside mentions; a formula's atom has a column for each of those that the
    formula mentions.
    """

    def __init__(self, fresh: Callable[[], str]) -> None:
        self._fresh = fresh
        self._made: list[Rule] = []
        self._preferred: tuple[str, ...] = ()

    def rules(self, rule: Rule) -> Iterator[Rule]:
        needed = frozenset(variables(rule.head))
        body = spliced(rule.body)
        if isinstance(body[0], Visits | Latest | Aggregate):  # it tells what an operator computes by itself
            yield rule
            return
        if len(body) == 1 and isinstance(body[0], Unary | Binary):
            literals = self._single(body[0], rule.head, needed)
        else:
            literals = self._literals(body, needed)
        yield from self._made
        yield replace(rule, body=literals)

    def _single(self, formula: Unary | Binary, head: Formula, needed: Names) -> tuple[Formula, ...]:
        """The body of a rule with one operator: the operator itself, if the head has just its columns.

        So what is defined below the operator takes its columns in the head's order.
        """
        self._preferred = variables(head)
        flat = self._operator(formula, needed)
        columns = _columns(flat)
        if isinstance(head, Atom) and head == atom(head.predicate, columns):
            return (flat,)
        return (self._define((flat,), columns),)

    def _literals(self, parts: Sequence[Formula], needed: Names) -> tuple[Formula, ...]:
        """A conjunction without nesting: atoms, comparisons, negated atoms; `top` where nothing else is positive."""
        inside = shared(parts, needed)
        flat = [self._literal(part, inside) for part in parts if not isinstance(part, Truth)]
        if any(isinstance(part, Atom) for part in flat):
            return tuple(flat)
        return (Truth(True), *flat)

    def _literal(self, part: Formula, needed: Names) -> Formula:
        if isinstance(part, Comparison):
            return part
        if isinstance(part, Negation):
            negated = self._atom(part.operand, needed)
            arguments = tuple(_wild_unless(argument, needed) for argument in negated.arguments)
            return replace(part, operand=replace(negated, arguments=arguments))
        return self._atom(part, needed)

    def _atom(self, formula: Formula, needed: Names) -> Atom:
        """An atom that holds where the formula does; it may have columns beyond those needed."""
        if isinstance(formula, Atom):
            return formula
        if isinstance(formula, Unary | Binary):
            flat = self._operator(formula, needed)
            return self._define((flat,), _columns(flat))
        literals = self._literals(spliced((formula,)), needed)
        return self._define(literals, self._columns(formula, needed))

    def _operand(self, formula: Formula, needed: Names) -> Atom:
        """An atom over just the needed variables, each once."""
        found = self._atom(formula, needed)
        if found == atom(found.predicate, [name for name in variables(found) if name in needed]):
            return found
        return self._define((found,), self._columns(found, needed))

    def _columns(self, formula: Formula, needed: Names) -> list[str]:
        """The needed variables of a formula: those of the head first, in its order, if that is of use."""
        found = [name for name in variables(formula) if name in needed]
        return [name for name in self._preferred if name in found] + [n for n in found if n not in self._preferred]

    def _operator(self, formula: Unary | Binary, needed: Names) -> Unary | Binary:
        """The operator over atoms: one constant for all times where it asks for more than one time."""
        if isinstance(formula, Binary):
            inside = needed.union(bound(formula.left, is_split=True))
            left = self._operand(formula.left, inside)
            return replace(formula, left=left, right=self._operand(formula.right, inside))
        if formula.operator.startswith("box"):
            needed = needed.union(bound(formula.operand, is_split=True))
        return replace(formula, operand=self._operand(formula.operand, needed))

    def _define(self, body: tuple[Formula, ...], columns: Sequence[str]) -> Atom:
        head = atom(self._fresh(), columns)
        self._made.append(Rule(head, body))
        return head


def _columns(flat: Unary | Binary) -> tuple[str, ...]:
    """The columns of an operator's answers: those of the right side, then what the left side adds."""
    return variables(flat.operand) if isinstance(flat, Unary) else variables(flat.right, flat.left)


def _wild_unless(argument: Expression, needed: Names) -> Expression:
    return Wildcard(argument.span) if isinstance(argument, Variable) and argument.name not in needed else argument
