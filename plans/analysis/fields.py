"""What the fields of a derived predicate are called, and of which types they are, as far as rules tell from what they read.

The type of a variable is that of the fields which bind it, the type of a field all that rules give it: the least fixpoint.
Where a rule computes a value in a way that says nothing of its type, it is `any`. Each answer is of these types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelog.plans.data.facts import Row
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree import syntax
from tidelog.plans.tree.syntax import FieldType, Value
from tidelog.plans.tree.traverse import children
from tidelog.plans.tree.walk import head_atom, statements_of

_WIDER: Mapping[FieldType, FieldType] = {"integer": "number", "boolean": "text"}
_COUNTS, _CHOICES = ("count", "distinct"), ("min", "max", "first", "last")


@dataclass(frozen=True, slots=True)
class FieldGuess:
    """What is known of a field: its name, `""` where rules differ in it, and its type."""

    name: str
    type: FieldType


Known = Mapping[str, Sequence[FieldGuess]]


def inferred_fields(plan: Plan, predicate: str, given: Known, taken: Iterable[str] = ()) -> list[FieldGuess]:
    """The fields of a predicate, where `given` are those of the predicates of which data hold facts.

    A field is called as the field that its value comes from, or else as its variable, or `arg1` by its place, where rules
    differ, or the name is `taken` or there before.
    """
    found: dict[str, list[FieldGuess]] = {name: list(fields) for name, fields in given.items()}
    for item in statements_of(plan.program, syntax.CalendarDeclaration):
        found[item.predicate] = [FieldGuess("", "any")] * plan.schema.predicates[item.predicate].arity
    for name, row, *_ in plan.facts:
        _join(found, name, [FieldGuess("", _type_of(value)) for value in row])
    rules = [(head, rule.body) for rule in statements_of(plan.program, syntax.Rule) if (head := head_atom(rule))]
    changed = True
    while changed:
        changed = False
        for head, body in rules:
            told = _told(head, body, found)
            if told is not None:
                changed |= _join(found, head.predicate, told)
    arity = plan.schema.predicates[predicate].arity
    fields = found.get(predicate, [FieldGuess("", "any")] * arity)
    return list(_named(fields, {name.lower() for name in taken}))


def fits(row: Row, fields: Sequence[FieldGuess]) -> bool:
    """Whether a row is of these types."""
    return len(row) == len(fields) and all(
        _wider(_type_of(value), field.type) == field.type for value, field in zip(row, fields, strict=True)
    )


def _type_of(value: Value) -> FieldType:
    if isinstance(value, str):
        return "boolean" if value in ("true", "false") else "text"
    return "integer" if isinstance(value, int) else "number"


def _wider(one: FieldType, other: FieldType) -> FieldType:
    """The least type that has all values of both."""
    for kind, wide in ((one, other), (other, one)):
        if kind == wide or _WIDER.get(kind) == wide:
            return wide
    return "any"


def _narrower(one: FieldType, other: FieldType) -> FieldType | None:
    """The type of values that are of both; None where there are none."""
    for kind, wide in ((one, other), (other, one)):
        if wide in ("any", kind) or _WIDER.get(kind) == wide:
            return kind
    return None


def _join(found: dict[str, list[FieldGuess]], predicate: str, fields: Sequence[FieldGuess]) -> bool:
    """Note that a predicate also has these; whether that is new."""
    before = found.get(predicate)
    if before is None:
        found[predicate] = list(fields)
        return True
    joined = [
        FieldGuess(old.name if old.name == new.name else "", _wider(old.type, new.type))
        for old, new in zip(before, fields, strict=True)
    ]
    found[predicate] = joined
    return joined != before


def _told(head: syntax.Atom, body: Sequence[syntax.Formula], found: Known) -> list[FieldGuess] | None:
    """What a rule gives its head; None while it cannot fire."""
    bound: dict[str, FieldGuess] = {}
    for name, guess in (each for part in body for each in _bound(part, found)):
        if guess is None:
            return None
        kind = guess.type if name not in bound else _narrower(bound[name].type, guess.type)
        if kind is None:
            return None
        bound[name] = FieldGuess(bound[name].name if name in bound else guess.name, kind)
    for part in body:
        if isinstance(part, syntax.Comparison) and part.operator == "=":
            for one, other in ((part.left, part.right), (part.right, part.left)):
                if isinstance(one, syntax.Variable) and one.name not in bound:
                    bound[one.name] = FieldGuess(one.name.lower(), _of_expression(other, bound).type)
    return [_of_expression(argument, bound) for argument in head.arguments]


def _of_expression(expression: syntax.Expression | None, bound: Mapping[str, FieldGuess]) -> FieldGuess:
    match expression:
        case syntax.Constant(value):
            return FieldGuess("", _type_of(value))
        case syntax.Variable(name):
            guess = bound.get(name)
            return FieldGuess(name.lower(), "any") if guess is None else guess
        case syntax.Arithmetic():
            return FieldGuess("", "number")
    return FieldGuess("", "any")


def _bound(formula: syntax.Formula, found: Known) -> Iterator[tuple[str, FieldGuess | None]]:
    """The variables that a formula binds wherever it holds; None for one where it never does, as far as is known yet."""
    match formula:
        case syntax.Atom():
            if formula.at is not None:
                yield formula.at.variable.name, FieldGuess(formula.at.variable.name.lower(), "any")
            yield from _of_atom(formula, found)
        case syntax.Aggregate():
            inner: dict[str, FieldGuess] = {}
            for name, guess in _bound(formula.operand, found):
                if guess is None:
                    yield name, None
                    return
                inner.setdefault(name, guess)
            yield from ((each.name, inner[each.name]) for each in formula.by if each.name in inner)
            yield formula.result.name, FieldGuess(formula.result.name.lower(), _of_aggregate(formula, inner))
        case syntax.Negation() | syntax.Truth() | syntax.Comparison():
            return
        case syntax.Binary():  # the left side need not hold at any time
            yield from _bound(formula.right, found)
        case _:
            for child in children(formula):
                yield from _bound(child, found)


def _of_atom(atom: syntax.Atom, found: Known) -> Iterator[tuple[str, FieldGuess | None]]:
    fields = found.get(atom.predicate)
    for i, argument in enumerate(atom.arguments):
        if isinstance(argument, syntax.Variable):
            if fields is None:
                yield argument.name, None
            else:
                yield argument.name, FieldGuess(fields[i].name or argument.name.lower(), fields[i].type)
    if fields is None and not atom.arguments:
        yield "", None


def _of_aggregate(formula: syntax.Aggregate, inner: Mapping[str, FieldGuess]) -> FieldType:
    if formula.function in _COUNTS:
        return "integer"
    return _of_expression(formula.argument, inner).type if formula.function in _CHOICES else "number"


def _named(fields: Sequence[FieldGuess], taken: set[str]) -> Iterator[FieldGuess]:
    """The same, each with a name of its own; Spark and SQL do not tell small letters from capital ones."""
    for i, field in enumerate(fields):
        name = field.name
        if not name.isidentifier() or not name.isascii() or name.lower() in taken:
            name = f"arg{i + 1}"
        taken.add(name.lower())
        yield FieldGuess(name, field.type)
