"""Rules and their instances: which variables are bound where, and which substitutions there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, product

from oracle.values import Undefined, canonical, evaluate_expression
from tidelog.plans.tree.syntax import (
    Aggregate,
    Arithmetic,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Constant,
    Expression,
    Formula,
    Latest,
    Negation,
    Rule,
    Truth,
    Unary,
    Value,
    Variable,
    Wildcard,
    Window,
)


@dataclass(frozen=True)
class Reached:
    """An aggregate whose result is compared with a number, and of no other use, in a way that more facts only make true."""

    aggregate: Aggregate
    comparison: Comparison


Row = tuple[Value, ...]
Rows = Mapping[str, set[Row]]
"""The rows of each predicate that hold at some time."""
Times = Callable[[str, Row], Iterable[int]]
"""The times of the horizon at which a row of a predicate holds."""


# --- the shape of formulas ----------------------------------------------------------------------------------------


def parts(formula: Formula) -> tuple[Formula, ...]:
    """The formulas directly inside a formula."""
    if isinstance(formula, Unary | Window | Negation | Aggregate):
        return (formula.operand,)
    if isinstance(formula, Reached):
        return (formula.aggregate.operand,)
    if isinstance(formula, Latest):
        return (formula.atom,)
    if isinstance(formula, Binary):
        return (formula.left, formula.right)
    if isinstance(formula, Conjunction):
        return formula.parts
    return ()


def atoms(formula: Formula, negative: bool = False) -> Iterator[tuple[Atom, bool]]:
    """Every atom of the formula, with whether it stands inside a negation, or where others of its kind would change it."""
    if isinstance(formula, Atom):
        yield formula, negative
    for part in parts(formula):
        yield from atoms(part, negative or isinstance(formula, Negation | Aggregate | Latest))


def generators(formula: Formula) -> Iterator[Atom | Comparison]:
    """What can bind variables: atoms and `=`, but not inside a negation or on the left side of since and until."""
    if isinstance(formula, Atom) or (isinstance(formula, Comparison) and formula.operator == "="):
        yield formula
    elif isinstance(formula, Aggregate):
        yield Atom("\0aggregate", (*formula.by, formula.result))
    elif isinstance(formula, Reached):
        yield Atom("\0aggregate", formula.aggregate.by)
    elif isinstance(formula, Binary):
        yield from generators(formula.right)
    elif not isinstance(formula, Negation):
        for part in parts(formula):
            yield from generators(part)


def expression_variables(expression: Expression) -> set[str]:
    """The names of the variables in an expression."""
    if isinstance(expression, Variable):
        return {expression.name}
    if isinstance(expression, Arithmetic):
        return set().union(*map(expression_variables, expression.operands))
    return set()


def variables(formula: Formula) -> set[str]:
    """The names of all variables in a formula, those behind an `@` too."""
    names: set[str] = set()
    if isinstance(formula, Atom):
        names = names.union(*map(expression_variables, formula.arguments))
        names |= {formula.at.variable.name} if formula.at is not None else set()
    elif isinstance(formula, Comparison):
        names = expression_variables(formula.left) | expression_variables(formula.right)
    elif isinstance(formula, Aggregate):  # the others are its own
        return {variable.name for variable in (*formula.by, formula.result)}
    elif isinstance(formula, Reached):
        return {variable.name for variable in formula.aggregate.by}
    return names.union(*map(variables, parts(formula)))


def head_atom(head: Formula) -> Atom | None:
    """The atom under a head's boxes; None for `bottom` and `top`."""
    while isinstance(head, Unary):
        head = head.operand
    return head if isinstance(head, Atom) else None


# --- safety -------------------------------------------------------------------------------------------------------


def bound_variables(body: Sequence[Formula]) -> set[str]:
    """The variables that a positive literal of the body binds, other than on the left side of since and until."""
    found = [item for formula in body for item in generators(formula)]
    bound = set().union(*(variables(item) for item in found if isinstance(item, Atom)))
    equations = [item for item in found if isinstance(item, Comparison)]
    for _ in equations:
        for equation in equations:
            for one, other in ((equation.left, equation.right), (equation.right, equation.left)):
                if isinstance(one, Variable) and expression_variables(other) <= bound:
                    bound.add(one.name)
    return bound


def unsafe_variables(rule: Rule) -> set[str]:
    """The variables of the head, of negations and of comparisons that the body does not bind: empty if it is safe."""
    needed = variables(rule.head)
    for formula in rule.body:
        needed |= _needing(formula)
    return needed - bound_variables(rule.body)


def _needing(formula: Formula) -> set[str]:
    if isinstance(formula, Aggregate | Reached):
        return set()
    if isinstance(formula, Negation):
        return variables(formula) - _results(formula)
    if isinstance(formula, Comparison):
        return variables(formula)
    return set().union(*map(_needing, parts(formula)))


def _results(formula: Formula) -> set[str]:
    """The results of aggregates in a formula."""
    own = {formula.result.name} if isinstance(formula, Aggregate) else set()
    return own.union(*map(_results, parts(formula)))


# --- wildcards ----------------------------------------------------------------------------------------------------


def without_wildcards(formula: Formula, numbers: count[int]) -> Formula:
    """The formula with a fresh variable (`_0`, `_1` …) for each wildcard."""
    if isinstance(formula, Atom):
        arguments = tuple(Variable(f"_{next(numbers)}") if isinstance(x, Wildcard) else x for x in formula.arguments)
        return replace(formula, arguments=arguments)
    if isinstance(formula, Unary | Window | Negation):
        return replace(formula, operand=without_wildcards(formula.operand, numbers))
    if isinstance(formula, Binary):
        left, right = (without_wildcards(part, numbers) for part in (formula.left, formula.right))
        return replace(formula, left=left, right=right)
    if isinstance(formula, Conjunction):
        return Conjunction(tuple(without_wildcards(part, numbers) for part in formula.parts))
    return formula


# --- substitutions ------------------------------------------------------------------------------------------------


def substitutions(
    body: Sequence[Formula], rows: Rows, times: Times, domain: Sequence[Value], given: Mapping[str, Value]
) -> Iterator[dict[str, Value]]:
    """Every substitution that extends `given` to all variables of the body and may make it true at some time.

    An atom that must hold somewhere for the body to hold takes the rows that hold at some time, and its `@T` the times
    at which they do. What no such atom and no equation binds (it stands only on the left side of since and until) takes
    every constant of the domain.
    """
    found = [item for formula in body for item in generators(formula)]
    required = [item for item in found if isinstance(item, Atom)]
    equations = [item for item in found if isinstance(item, Comparison)]
    everything = set().union(*map(_instantiated, body))
    seen: set[tuple[tuple[str, Value], ...]] = set()
    for matched in _match(required, rows, times, dict(given)):
        binding = _solve(equations, matched)
        if binding is None:
            continue
        free = sorted(everything - set(binding))
        for values in product(domain, repeat=len(free)):
            full = binding | dict(zip(free, values, strict=True))
            key = tuple(sorted(full.items()))
            if key not in seen:
                seen.add(key)
                yield full


def _instantiated(formula: Formula) -> set[str]:
    """The variables that a rule instance replaces: in a safe rule, those only inside a negation were wildcards."""
    if isinstance(formula, Negation):
        return set()
    return (set() if parts(formula) else variables(formula)).union(*map(_instantiated, parts(formula)))


def _match(required: Sequence[Atom], rows: Rows, times: Times, binding: dict[str, Value]) -> Iterator[dict[str, Value]]:
    if not required:
        yield binding
        return
    for row in rows.get(required[0].predicate, ()):
        extended = _unify(required[0], row, binding)
        if extended is not None:
            for timed in _at_times(required[0], times(required[0].predicate, row), extended):
                yield from _match(required[1:], rows, times, timed)


def _at_times(atom: Atom, times: Iterable[int], binding: dict[str, Value]) -> Iterator[dict[str, Value]]:
    """The bindings in which `T` of `p(X)@T+k` is k before one of the times; a `T` that has a value keeps it."""
    if atom.at is None or atom.at.variable.name in binding:
        yield binding
        return
    for time in times:
        yield binding | {atom.at.variable.name: time - atom.at.shift}


def _unify(atom: Atom, row: Row, binding: dict[str, Value]) -> dict[str, Value] | None:
    if len(atom.arguments) != len(row):
        raise ValueError(f"`{atom.predicate}` is used with {len(atom.arguments)} and with {len(row)} arguments")
    extended = dict(binding)
    for argument, value in zip(atom.arguments, row, strict=True):
        if isinstance(argument, Constant):
            if canonical(argument.value) != value:
                return None
        elif isinstance(argument, Variable):
            if extended.setdefault(argument.name, value) != value:
                return None
        else:
            raise TypeError(f"a body atom takes variables and constants, got {argument}")
    return extended


def _solve(equations: Sequence[Comparison], binding: dict[str, Value]) -> dict[str, Value] | None:
    """The binding with the variables that equations compute; None if one of these has no value."""
    solved = dict(binding)
    for _ in equations:
        for equation in equations:
            for one, other in ((equation.left, equation.right), (equation.right, equation.left)):
                if isinstance(one, Variable) and one.name not in solved and expression_variables(other) <= set(solved):
                    try:
                        solved[one.name] = evaluate_expression(other, solved)
                    except Undefined:
                        return None
    return solved


def constants(formula: Formula) -> set[Value]:
    """The constants that a formula mentions."""
    found: set[Value] = set()
    expressions: list[Expression] = []
    if isinstance(formula, Atom):
        expressions.extend(formula.arguments)
    elif isinstance(formula, Comparison):
        expressions.extend((formula.left, formula.right))
    while expressions:
        expression = expressions.pop()
        if isinstance(expression, Constant):
            found.add(canonical(expression.value))
        elif isinstance(expression, Arithmetic):
            expressions.extend(expression.operands)
    return found.union(*map(constants, parts(formula)))


def is_bottom(head: Formula) -> bool:
    """Whether a head, its boxes aside, is `bottom`."""
    while isinstance(head, Unary):
        head = head.operand
    return isinstance(head, Truth) and not head.value
