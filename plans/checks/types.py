"""Check: what a declared field's type makes impossible, told as warnings; a sum of texts is an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from tidelog.plans.diagnostics.errors import Diagnostic
from tidelog.plans.language.printing import format_formula, format_function, format_term
from tidelog.plans.tree import syntax
from tidelog.plans.tree.traverse import children, subformulas
from tidelog.plans.tree.walk import atoms, leaves, statements_of, supplied

Kind = Literal["text", "number"]
"""What a value is to a comparison: booleans are the texts `true` and `false`."""

NUMERIC = frozenset(["sum", "avg", "stddev", "quantile"])
"""The functions of aggregates that want numbers."""

_Kinds = Mapping[str, Kind]
_KINDS: Mapping[syntax.FieldType, Kind] = {
    "text": "text",
    "boolean": "text",
    "number": "number",
    "integer": "number",
}
_WORDS: Mapping[syntax.FieldType, str] = {
    "text": "a text",
    "boolean": "`true` or `false`",
    "number": "a number",
    "integer": "a whole number",
}


def check_types(program: syntax.Program) -> Iterator[Diagnostic]:
    """Constants that a declared field never holds, and comparisons of texts with numbers: only `!=` holds between them.

    Only the stream's facts are of a field's type, so predicates with facts from elsewhere are left alone.
    """
    elsewhere = {fact.atom.predicate for fact in statements_of(program, syntax.FactStatement)}
    elsewhere |= {item.predicate for item in supplied(program)}
    inputs = statements_of(program, syntax.Input)
    declared = {item.predicate: item.fields for item in inputs if item.predicate not in elsewhere}
    for rule in statements_of(program, syntax.Rule):
        for atom in atoms(*rule.body):
            for argument, field in _fields(atom, declared):
                yield from _constant(atom, argument, field)
        kinds = {name: kind for part in rule.body for name, kind in _bound(part, declared)}
        for part in rule.body:
            yield from _comparisons(part, kinds)
            yield from _summed(part, declared)


def differing_field(program: syntax.Program, predicate: str, types: Sequence[str]) -> int | None:
    """The first argument of a derived predicate that is never of the type given for it, as far as declared inputs tell."""
    inputs = {item.predicate: item.fields for item in statements_of(program, syntax.Input)}
    found: list[set[Kind | None]] = [set() for _ in types]
    for rule in statements_of(program, syntax.Rule):
        kinds = {name: kind for part in rule.body for name, kind in _bound(part, inputs)}
        for atom in atoms(rule.head):
            if atom.predicate == predicate and len(atom.arguments) == len(types):
                for kinds_there, argument in zip(found, atom.arguments, strict=True):
                    kinds_there.add(_kind(argument, kinds))
    wanted = dict[str, Kind](_KINDS.items())
    for i, (kinds_there, declared) in enumerate(zip(found, types, strict=True)):
        if declared in wanted and kinds_there and not kinds_there & {None, wanted[declared]}:
            return i
    return None


_Declared = Mapping[str, tuple[syntax.Field, ...]]


def _fields(atom: syntax.Atom, declared: _Declared) -> Iterator[tuple[syntax.Expression, syntax.Field]]:
    fields = declared.get(atom.predicate, ())
    if len(fields) == len(atom.arguments):
        yield from zip(atom.arguments, fields, strict=True)


def _constant(atom: syntax.Atom, argument: syntax.Expression, field: syntax.Field) -> Iterator[Diagnostic]:
    if not isinstance(argument, syntax.Constant) or _may_hold(field.type, argument.value):
        return
    shown = f"`{format_term(argument)}`"
    message = f"{shown} never matches: the field `{field.name}` of `{atom.predicate}` is {_WORDS[field.type]}"
    help = _unquoted(argument, field.type) or f"write {_WORDS[field.type]}, or change the field's type"
    yield _warning(message, argument, help)


def _may_hold(kind: syntax.FieldType, value: syntax.Value) -> bool:
    if kind == "any":
        return True
    if kind == "boolean":
        return value in ("true", "false")
    if kind == "integer":
        return isinstance(value, int)
    return isinstance(value, str) == (kind == "text")


def _unquoted(constant: syntax.Constant, kind: syntax.FieldType) -> str:
    """The help where a number stands in quotes, a text in none, or a name in place of a variable."""
    value = constant.value
    if kind in ("number", "integer") and isinstance(value, str) and not _is_quoted(constant):
        return f"`{value}` is a constant; a variable begins with a capital letter, such as `{value.capitalize()}`"
    if kind in ("number", "integer") and isinstance(value, str) and value.isascii() and value.isdigit():
        return f"without quotes, `{value}` is a number"
    if kind == "text" and not isinstance(value, str):
        return f'in quotes, `"{value}"` is a text'
    return ""


def _is_quoted(constant: syntax.Constant) -> bool:
    return isinstance(constant.value, str) and constant.span.end - constant.span.start > len(constant.value)


def _bound(formula: syntax.Formula, declared: _Declared) -> Iterator[tuple[str, Kind]]:
    """The variables of a formula that a typed field, or a time, binds wherever the formula holds, each with its kind."""
    match formula:
        case syntax.Atom():
            if formula.at is not None:
                yield formula.at.variable.name, "number"
            for argument, field in _fields(formula, declared):
                if isinstance(argument, syntax.Variable) and field.type in _KINDS:
                    yield argument.name, _KINDS[field.type]
        case syntax.Aggregate():
            yield from (
                (name, kind) for name, kind in _bound(formula.operand, declared) if syntax.Variable(name) in formula.by
            )
            if formula.function in (*NUMERIC, "count", "distinct"):
                yield formula.result.name, "number"
        case syntax.Negation():
            return
        case syntax.Binary():  # the left side need not hold at any time
            yield from _bound(formula.right, declared)
        case _:
            for child in children(formula):
                yield from _bound(child, declared)


def _comparisons(formula: syntax.Formula, kinds: _Kinds) -> Iterator[Diagnostic]:
    if isinstance(formula, syntax.Comparison):
        yield from _comparison(formula, kinds)
    if isinstance(formula, syntax.Aggregate):
        return  # its variables are its own
    for child in children(formula):
        yield from _comparisons(child, kinds)


def _summed(formula: syntax.Formula, declared: _Declared) -> Iterator[Diagnostic]:
    """Texts of which an aggregate wants a sum, or what is computed from one."""
    for part in subformulas(formula):
        if not isinstance(part, syntax.Aggregate) or part.function not in NUMERIC or part.argument is None:
            continue
        kinds = dict(_bound(part.operand, declared))
        for leaf in leaves(part.argument):
            if isinstance(leaf, syntax.Variable) and kinds.get(leaf.name) == "text":
                message = f"`{format_function(part)}` is of numbers, but `{leaf.name}` is a text"
                help = "`count()`, `distinct`, `min`, `max`, `first` and `last` take texts"
                yield Diagnostic("text-summed", message, leaf.span, "a text", help=help)


def _comparison(comparison: syntax.Comparison, kinds: _Kinds) -> Iterator[Diagnostic]:
    for side in (comparison.left, comparison.right):
        texts = [leaf.name for leaf in leaves(side) if isinstance(leaf, syntax.Variable) and kinds.get(leaf.name) == "text"]
        if isinstance(side, syntax.Arithmetic) and texts:
            yield _warning(f"{_never(comparison)}: `{texts[0]}` is a text", comparison, "compute with numbers alone")
            return
    left, right = (_kind(side, kinds) for side in (comparison.left, comparison.right))
    if comparison.operator != "!=" and left and right and left != right:
        words = f"`{format_term(comparison.left)}` is a {left}, `{format_term(comparison.right)}` a {right}"
        constants = [side for side in (comparison.left, comparison.right) if isinstance(side, syntax.Constant)]
        wanted = right if constants[:1] == [comparison.left] else left
        help = _unquoted(constants[0], wanted) if constants else ""
        help = help or "compare texts with texts, and numbers with numbers"
        yield _warning(f"{_never(comparison)}: {words}", comparison, help)


def _never(comparison: syntax.Comparison) -> str:
    return f"`{format_formula(comparison)}` never holds"


def _kind(expression: syntax.Expression, kinds: _Kinds) -> Kind | None:
    match expression:
        case syntax.Constant(value):
            return "text" if isinstance(value, str) else "number"
        case syntax.Variable(name):
            return kinds.get(name)
        case syntax.Arithmetic():
            return "number"
    return None


def _warning(message: str, place: syntax.Expression | syntax.Comparison, help: str) -> Diagnostic:
    return Diagnostic("never-matches", message, place.span, help=help, severity="warning")
