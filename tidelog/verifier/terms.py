"""Values, and the parts of formulas."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

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
    Unary,
    Value,
    Variable,
    Wildcard,
    Window,
)
from tidelog.plans.tree.traverse import children, rebuild

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


def may_compare(comparison: Comparison, binding: Binding) -> bool:
    """Whether one side of a comparison stands for anything."""
    return any(binding.get(name) == ANY for name in names_in(comparison.left) | names_in(comparison.right))


def _ordered(sign: str, left: Any, right: Any) -> bool:
    return bool({"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign])


def names_in(term: Expression) -> set[str]:
    if isinstance(term, Arithmetic):
        return set().union(*map(names_in, term.operands))
    return {term.name} if isinstance(term, Variable) else set()


def variables(formula: Formula, *, negated: bool) -> set[str]:
    """The variables of a formula's atoms, of those below negations too if `negated`."""
    if isinstance(formula, Negation) and not negated:
        return set()
    if isinstance(formula, Aggregate):  # all others are its own
        return {each.name for each in (*formula.by, *([formula.result] if formula.threshold is None else []))}
    found: set[str] = set()
    if isinstance(formula, Atom):
        found = found.union(*map(names_in, formula.arguments)) | ({formula.at.variable.name} if formula.at else set())
    return found.union(*(variables(part, negated=negated) for part in children(formula)))


def binding_parts(formula: Formula, *, left: bool = False) -> Iterator[tuple[Atom | Comparison | Aggregate, bool]]:
    """What binds variables, and whether it stands on the left of since or until: atoms, equations, aggregates."""
    if isinstance(formula, Latest):
        yield formula.atom, left
    elif isinstance(formula, Atom | Aggregate) or (isinstance(formula, Comparison) and formula.operator == "=" and not left):
        yield formula, left
    elif isinstance(formula, Binary):
        yield from binding_parts(formula.right, left=left)
        yield from binding_parts(formula.left, left=True)
    elif not isinstance(formula, Negation):
        for part in children(formula):
            yield from binding_parts(part, left=left)


def bound(formula: Formula) -> set[str]:
    """The variables that a formula binds by itself."""
    found = [item for item, is_left in binding_parts(formula) if not is_left]
    names = set().union(*(variables(item, negated=False) for item in found if not isinstance(item, Comparison)))
    for _ in found:
        for item in found:
            if isinstance(item, Comparison):
                for one, other in ((item.left, item.right), (item.right, item.left)):
                    if isinstance(one, Variable) and names_in(other) <= names:
                        names.add(one.name)
    return names


def changed(formula: Formula, term: Any, interval: Any, window: Any) -> Formula:
    """The formula with its terms, intervals and windows changed; of what `latest` holds the terms stay."""

    def inner(part: Formula) -> Formula:
        return changed(part, term, interval, window)

    match formula:
        case Atom():
            return replace(formula, arguments=tuple(map(term, formula.arguments)))
        case Comparison():
            return replace(formula, left=term(formula.left), right=term(formula.right))
        case Latest():
            return replace(formula, window=window(formula.window))
        case Unary() | Binary():
            formula = replace(formula, interval=interval(formula.interval))
        case Window() | Aggregate():
            formula = replace(formula, window=window(formula.window))
    return rebuild(formula, inner)


def grounded(formula: Formula, binding: Binding, kept: Iterable[str] = ()) -> Formula:
    """The formula with values for variables, and `_` for those without one, but for results of aggregates and what is kept.

    What is local to an aggregate, and what `latest` holds, keeps its name.
    """
    names = {*kept, *_results(formula)}

    def ground(part: Formula) -> Formula:
        match part:
            case Atom():
                return replace(part, arguments=tuple(_with_value(each, binding, names) for each in part.arguments))
            case Comparison():
                left, right = _with_value(part.left, binding, names), _with_value(part.right, binding, names)
                return replace(part, left=left, right=right)
            case Aggregate():
                found = grounded_aggregate(part, binding)
                return _with_equations(found, [] if part.threshold else [part.result.name], binding)
            case Latest():
                held = grounded_latest(part, binding)
                return _with_equations(held, sorted_names(held.atom), binding)
        return rebuild(part, ground)

    return ground(formula)


def _results(formula: Formula) -> set[str]:
    own = {formula.result.name} if isinstance(formula, Aggregate) else set()
    return own.union(*map(_results, children(formula)))


def sorted_names(atom: Atom) -> list[str]:
    """The variables of an atom in their order."""
    return list(dict.fromkeys(term.name for term in atom.arguments if isinstance(term, Variable)))


def _with_equations(formula: Formula, names: Iterable[str], binding: Binding) -> Formula:
    values = [(name, binding.get(name, OTHER)) for name in names]
    known = [Comparison("=", Variable(name), Constant(value)) for name, value in values if value not in (OTHER, ANY)]
    return Conjunction((formula, *known)) if known else formula


def grounded_aggregate(part: Aggregate, binding: Binding) -> Aggregate:
    """The aggregate with the values of its group."""
    group = _group(part.by, binding)
    argument = None if part.argument is None else _of_group(part.argument, group)
    by = tuple(each for each in part.by if each.name not in group)
    return replace(part, operand=_inside(part.operand, group), argument=argument, by=by)


def of_group(part: Aggregate, binding: Binding) -> Aggregate:
    """The same, whatever its value is called."""
    return replace(grounded_aggregate(part, binding), result=Variable("\0"))


def grounded_latest(part: Latest, binding: Binding) -> Latest:
    """The same of `latest`."""
    group = _group(part.by, binding)
    atom = replace(part.atom, arguments=tuple(_of_group(each, group) for each in part.atom.arguments))
    return replace(part, atom=atom, by=tuple(each for each in part.by if each.name not in group))


def with_names(atom: Atom) -> Atom:
    """The atom of a `latest` with a variable for each `_`."""
    terms = enumerate(atom.arguments)
    return replace(
        atom, arguments=tuple(Variable(f"_held{at}") if isinstance(term, Wildcard) else term for at, term in terms)
    )


def any_held(part: Latest, group: Binding) -> Atom:
    """The atom of a `latest` for its group, whatever it holds: `_` for each variable that stands there once."""
    terms = grounded_latest(part, group).atom.arguments
    open_ = (Wildcard() if isinstance(term, Variable) and terms.count(term) == 1 else term for term in terms)
    return replace(part.atom, arguments=tuple(open_))


def _group(by: Iterable[Variable], binding: Binding) -> dict[str, Value]:
    return {each.name: binding[each.name] for each in by if binding.get(each.name, OTHER) not in (OTHER, ANY)}


def _inside(formula: Formula, group: Binding) -> Formula:
    match formula:
        case Atom():
            return replace(formula, arguments=tuple(_of_group(each, group) for each in formula.arguments))
        case Comparison():
            return replace(formula, left=_of_group(formula.left, group), right=_of_group(formula.right, group))
        case Aggregate():
            return grounded_aggregate(formula, group)
        case Latest():
            found = grounded_latest(formula, group)
            return _with_equations(found, sorted_names(found.atom), group)
    return rebuild(formula, lambda part: _inside(part, group))


def _of_group(term: Expression, group: Binding) -> Expression:
    """A term with the values of a group; a variable that was a `_` is one again, all others stay."""
    if isinstance(term, Variable):
        if term.name in group:
            return Constant(group[term.name])
        return Wildcard() if term.name[0] == "_" and term.name[1:].isdigit() else term
    if isinstance(term, Arithmetic):
        return replace(term, operands=tuple(_of_group(each, group) for each in term.operands))
    return Constant(plain(term.value)) if isinstance(term, Constant) else term


def _with_value(term: Expression, binding: Binding, kept: set[str]) -> Expression:
    if isinstance(term, Variable):
        value = binding.get(term.name, OTHER)
        if value in (OTHER, ANY):
            return term if term.name in kept else Wildcard()
        return Constant(value)
    if isinstance(term, Arithmetic):
        return replace(term, operands=tuple(_with_value(each, binding, kept) for each in term.operands))
    return Constant(plain(term.value)) if isinstance(term, Constant) else term


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
        *(({part.predicate} if isinstance(part, Atom) else set()) | predicates_in(children(part)) for part in formulas)
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
    return is_own or any(map(is_ahead, children(formula)))


def asks_for_absence(formula: Formula) -> bool:
    """Whether a formula follows from what does not hold, too."""
    is_threshold = isinstance(formula, Aggregate) and formula.threshold is not None
    return isinstance(formula, Negation | Aggregate | Latest) and not is_threshold


def denies(formula: Formula, names: Container[str]) -> bool:
    """Whether a formula asks for the absence of some predicates."""
    if asks_for_absence(formula):
        return any(name in names for name in predicates_in([formula]))
    return any(denies(part, names) for part in children(formula))


def components(rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    """The rules by predicates that depend on one another, each component behind what it reads."""
    reads: dict[str, set[str]] = {}
    for rule in rules:
        reads.setdefault(str(head_predicate(rule)), set()).update(predicates_in(rule.body))
    below = {name: _reached(name, reads) for name in reads}
    done: set[str] = set()
    for name in sorted(below, key=lambda name: len(below[name] | {name})):
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
