"""Check: a reading below a box has to keep its value, which is seldom meant; told as a warning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidelog.plans.diagnostics.errors import Diagnostic
from tidelog.plans.language.printing import format_term
from tidelog.plans.tree import syntax
from tidelog.plans.tree.traverse import children, subformulas
from tidelog.plans.tree.walk import atom_leaves, leaves, statements_of

_Fields = Mapping[str, tuple[syntax.Field, ...]]
_Leaf = syntax.Variable | syntax.Wildcard


def check_changing(program: syntax.Program) -> Iterator[Diagnostic]:
    """A number of a declared input, asked for at every time of an interval, that nothing but comparisons uses.

    A variable stands for one value at all times, so `boxminus[0,5] temp(R, C), C > 8` fails once the reading changes.
    """
    declared = {item.predicate: item.fields for item in statements_of(program, syntax.Input)}
    for rule in statements_of(program, syntax.Rule):
        for part in rule.body:
            yield from _below(part, rule, declared)


def _below(formula: syntax.Formula, rule: syntax.Rule, declared: _Fields) -> Iterator[Diagnostic]:
    operand = boxed(formula)
    if operand is None:
        for child in children(formula):
            yield from _below(child, rule, declared)
        return
    used = {leaf.name for leaf in _uses([rule.head, *rule.body], operand) if isinstance(leaf, syntax.Variable)}
    reported = set[str]()
    for atom in _asked(operand):
        for leaf in _numbers(atom, declared):
            name = format_term(leaf)
            if name not in used and name not in reported:
                reported.add(name)
                yield _warning(name, leaf, formula)


def boxed(formula: syntax.Formula) -> syntax.Formula | None:
    """The operand that a box or a window asks for at more than one time; None for other formulas."""
    match formula:
        case syntax.Unary("boxminus" | "boxplus", interval) if interval.low != interval.high:
            return formula.operand
        case syntax.Window("always", operand, window) if not window.tuples:
            return operand
    return None


def _asked(formula: syntax.Formula) -> Iterator[syntax.Atom]:
    """The atoms that have to hold: a `not` and an aggregate have variables of their own."""
    if isinstance(formula, syntax.Atom):
        yield formula
    elif not isinstance(formula, syntax.Negation | syntax.Aggregate):
        for child in children(formula):
            yield from _asked(child)


def _numbers(atom: syntax.Atom, declared: _Fields) -> Iterator[_Leaf]:
    fields = declared.get(atom.predicate, ())
    if len(fields) != len(atom.arguments):
        return
    for argument, field in zip(atom.arguments, fields, strict=True):
        if isinstance(argument, _Leaf) and field.type in ("number", "integer"):
            yield argument


def _uses(formulas: list[syntax.Formula], operand: syntax.Formula) -> Iterator[_Leaf]:
    """The variables of the head, of atoms outside of the operand, and of what is computed."""
    inside = {id(part) for part in subformulas(operand)}
    for formula in formulas:
        for part in subformulas(formula):
            if isinstance(part, syntax.Comparison) and part.operator == "=":
                yield from leaves(part.left, part.right)
            elif isinstance(part, syntax.Atom) and id(part) not in inside:
                yield from atom_leaves(part)


def _warning(name: str, leaf: _Leaf, box: syntax.Formula) -> Diagnostic:
    word = box.operator if isinstance(box, syntax.Unary) else "always"
    message = f"below `{word}`, `{name}` has to keep one value all the time"
    help = "to let it change, use a predicate without it here, such as `high(X)` with `high(X) :- value(X, V), V > 8`"
    return Diagnostic("one-value", message, leaf.span, help=help, severity="warning")
