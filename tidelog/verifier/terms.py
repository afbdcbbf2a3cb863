"""Values, and the parts of formulas."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from tidelog.plans.syntax import (
    Arithmetic,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Constant,
    Expression,
    Formula,
    Negation,
    Rule,
    Unary,
    Value,
    Variable,
    Wildcard,
    Window,
)

Row = tuple[Value, ...]
Binding = Mapping[str, Value]

OTHER: Value = "\0other"
"""A constant that nothing mentions."""
ANY: Value = "\0any"
"""All constants at once, for what may hold."""
AHEAD = frozenset({"diamondplus", "boxplus", "until"})
"""The operators that look at what comes later."""


class Undefined(Exception):
    """An expression has no value, so that its rule says nothing."""


def value_of(term: Expression, binding: Binding) -> Value:
    if isinstance(term, Constant):
        return plain(term.value)
    if isinstance(term, Variable):
        return binding[term.name]
    if not isinstance(term, Arithmetic):
        raise Undefined
    numbers = [value_of(each, binding) for each in term.operands]
    if any(isinstance(each, str) for each in numbers):
        raise Undefined
    try:
        return plain(_computed(term.operator, numbers))
    except (ArithmeticError, ValueError):
        raise Undefined from None


def _computed(sign: str, numbers: Sequence[Any]) -> Any:
    first, *rest = numbers
    match sign:
        case "+":
            return first + rest[0]
        case "-":
            return first - rest[0]
        case "*":
            return first * rest[0]
        case "/":
            return first / rest[0]
        case "//":
            return first // rest[0]
        case "mod":
            return first % rest[0]
        case "min":
            return min(numbers)
        case "max":
            return max(numbers)
    return abs(first) if sign == "abs" else -first


def plain(value: Any) -> Value:
    """One value for each number; Undefined for what is no number that a row can hold."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise Undefined
    if abs(value) < 1 << 63:
        return int(value) if value == int(value) else float(value)
    if isinstance(value, int):
        raise Undefined
    return float(value)


def compares(comparison: Comparison, binding: Binding) -> bool:
    try:
        left, right = value_of(comparison.left, binding), value_of(comparison.right, binding)
    except Undefined:
        return False
    if comparison.operator in ("=", "!="):
        return (left == right) == (comparison.operator == "=")
    if isinstance(left, str) or isinstance(right, str):
        return isinstance(left, str) and isinstance(right, str) and _ordered(comparison.operator, left, right)
    return _ordered(comparison.operator, left, right)


def _ordered(sign: str, left: Any, right: Any) -> bool:
    return bool({"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign])


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    match formula:
        case Unary() | Window() | Negation():
            return (formula.operand,)
        case Binary():
            return formula.left, formula.right
        case Conjunction():
            return formula.parts
    return ()


def names_in(term: Expression) -> set[str]:
    if isinstance(term, Arithmetic):
        return set().union(*map(names_in, term.operands))
    return {term.name} if isinstance(term, Variable) else set()


def variables(formula: Formula, *, negated: bool) -> set[str]:
    """The variables of a formula's atoms, of those below negations too if `negated`."""
    if isinstance(formula, Negation) and not negated:
        return set()
    found: set[str] = set()
    if isinstance(formula, Atom):
        found = found.union(*map(names_in, formula.arguments)) | ({formula.at.variable.name} if formula.at else set())
    return found.union(*(variables(part, negated=negated) for part in parts_of(formula)))


def binding_parts(formula: Formula, *, left: bool = False) -> Iterator[tuple[Atom | Comparison, bool]]:
    """The atoms and equations that bind variables, and whether they stand on the left of since or until."""
    if isinstance(formula, Atom) or (isinstance(formula, Comparison) and formula.operator == "=" and not left):
        yield formula, left
    elif isinstance(formula, Binary):
        yield from binding_parts(formula.right, left=left)
        yield from binding_parts(formula.left, left=True)
    elif not isinstance(formula, Negation):
        for part in parts_of(formula):
            yield from binding_parts(part, left=left)


def changed(formula: Formula, term: Any, interval: Any, window: Any) -> Formula:
    """The formula with its terms, intervals and windows changed."""

    def inner(part: Formula) -> Formula:
        return changed(part, term, interval, window)

    match formula:
        case Atom():
            return replace(formula, arguments=tuple(map(term, formula.arguments)))
        case Comparison():
            return replace(formula, left=term(formula.left), right=term(formula.right))
        case Unary():
            return replace(formula, interval=interval(formula.interval), operand=inner(formula.operand))
        case Binary():
            left, right = inner(formula.left), inner(formula.right)
            return replace(formula, interval=interval(formula.interval), left=left, right=right)
        case Window():
            return replace(formula, operand=inner(formula.operand), window=window(formula.window))
        case Conjunction():
            return replace(formula, parts=tuple(map(inner, formula.parts)))
        case Negation():
            return replace(formula, operand=inner(formula.operand))
    return formula


def grounded(formula: Formula, binding: Binding) -> Formula:
    """The formula with values for variables, and `_` for those without one."""

    def term(each: Expression) -> Expression:
        if isinstance(each, Variable):
            value = binding.get(each.name, OTHER)
            return Wildcard() if value in (OTHER, ANY) else Constant(value)
        if isinstance(each, Arithmetic):
            return replace(each, operands=tuple(map(term, each.operands)))
        return Constant(plain(each.value)) if isinstance(each, Constant) else each

    return changed(formula, term, lambda interval: interval, lambda window: window)


def numbered(body: Sequence[Formula]) -> Iterator[Formula]:
    numbers = count()

    def term(each: Expression) -> Expression:
        return Variable(f"_{next(numbers)}") if isinstance(each, Wildcard) else each

    for part in body:
        yield changed(part, term, lambda interval: interval, lambda window: window)


def head_predicate(rule: Rule) -> str | None:
    head = rule.head
    while isinstance(head, Unary):
        head = head.operand
    return head.predicate if isinstance(head, Atom) else None


def predicates_in(formulas: Iterable[Formula]) -> set[str]:
    return set().union(
        *(({part.predicate} if isinstance(part, Atom) else set()) | predicates_in(parts_of(part)) for part in formulas)
    )


def looks_ahead(rule: Rule) -> bool:
    """Whether what a rule gives may depend on what comes later."""
    head = rule.head
    while isinstance(head, Unary):
        if head.operator == "boxminus":
            return True
        head = head.operand
    return (isinstance(head, Atom) and head.at is not None) or any(map(is_ahead, rule.body))


def is_ahead(formula: Formula) -> bool:
    is_own = isinstance(formula, Unary | Binary) and formula.operator in AHEAD
    is_own = is_own or (isinstance(formula, Atom) and formula.at is not None)
    return is_own or any(map(is_ahead, parts_of(formula)))


def components(rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    """The rules by predicates that depend on one another, each component behind what it reads."""
    reads: dict[str, set[str]] = {}
    for rule in rules:
        reads.setdefault(str(head_predicate(rule)), set()).update(predicates_in(rule.body))
    below = {name: _reached(name, reads) for name in reads}
    done: set[str] = set()
    for name in sorted(below, key=lambda name: len(below[name])):
        if name not in done:
            together = {name} | {each for each in below[name] if name in below[each]}
            done |= together
            yield [rule for rule in rules if head_predicate(rule) in together]


def _reached(name: str, reads: Mapping[str, set[str]]) -> set[str]:
    """The derived predicates that one depends on, directly or not."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = (reads[waiting.pop()] & reads.keys()) - found
        found |= new
        waiting += new
    return found
