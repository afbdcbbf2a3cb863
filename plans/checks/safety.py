"""Check: every variable of a rule has something that binds it (docs/reference/language.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tidelog.plans.diagnostics.errors import Diagnostic, Note
from tidelog.plans.tree import syntax
from tidelog.plans.tree.scopes import bound
from tidelog.plans.tree.traverse import children
from tidelog.plans.tree.traverse import subformulas as below
from tidelog.plans.tree.walk import Occurrence, Role, atom_leaves, leaves, occurrences, statements_of

_WHERE: dict[Role, str] = {"negated": "under `not`", "compared": "in a comparison"}


def check_safety(program: syntax.Program) -> Iterator[Diagnostic]:
    """A head variable, a variable under `not` and a compared variable occur in a positive atom as well.

    The left side of since and until binds nothing outside of itself; `W = expression` binds `W` once the expression's
    variables are bound. A variable stands for one constant in the whole rule, below its operators too.
    """
    for rule in statements_of(program, syntax.Rule):
        yield from _check_rule(rule)


def _check_rule(rule: syntax.Rule) -> Iterator[Diagnostic]:
    known = _bound(rule.body, frozenset())
    reported = {name for part in rule.body for name in _local(part)}  # told by `check_aggregates`
    for atom in below(rule.head):
        if isinstance(atom, syntax.Atom):
            yield from _check_head(atom, known, rule.body, reported)
    for occurrence in _unbound(rule.body, known):
        variable = occurrence.variable
        if isinstance(variable, syntax.Wildcard):
            yield Diagnostic("unsafe-variable", "`_` cannot be compared", variable.span, "unbound", help="name it")
        elif variable.name not in reported:
            reported.add(variable.name)
            yield _unbound_in_body(variable, occurrence.role, rule.body)


def _local(formula: syntax.Formula) -> Iterator[str]:
    """The variables that the outermost aggregates of a formula bind for themselves alone."""
    if isinstance(formula, syntax.Aggregate):
        yield from set(bound(formula.operand)) - {variable.name for variable in formula.by}
        return
    for child in children(formula):
        yield from _local(child)


def _check_head(
    atom: syntax.Atom, bound: frozenset[str], body: Sequence[syntax.Formula], reported: set[str]
) -> Iterator[Diagnostic]:
    for leaf in atom_leaves(atom):
        if isinstance(leaf, syntax.Wildcard):
            message = "`_` in the head stands for no value"
            yield Diagnostic("unsafe-variable", message, leaf.span, "unbound", help="write a variable of the body")
        elif leaf.name not in bound and leaf.name not in reported:
            reported.add(leaf.name)
            message = f"variable `{leaf.name}` in the head is bound by no positive body atom"
            is_time = atom.at is not None and leaf is atom.at.variable
            example = f"zone(X)@{leaf.name}" if is_time else f"zone({leaf.name})"
            help = f"add a positive atom with `{leaf.name}`, such as `{example}`"
            notes = tuple(_notes(leaf.name, _occurrences(body)))
            yield Diagnostic("unsafe-variable", message, leaf.span, "unbound", notes, help)


def _notes(name: str, inside: Sequence[Occurrence]) -> Iterator[Note]:
    """Where the variable does occur, and why that does not count: its first such place."""
    for occurrence in inside:
        variable = occurrence.variable
        if isinstance(variable, syntax.Variable) and variable.name == name:
            word = {
                "negated": "only negated here",
                "left": f"only on the left of {occurrence.operator} here",
                "compared": "only compared here",
                "positive": "",
                "grouped": "",
            }[occurrence.role]
            yield Note(variable.span, word)
            return


def _occurrences(body: Iterable[syntax.Formula]) -> list[Occurrence]:
    return [occurrence for part in body for occurrence in occurrences(part)]


def _unbound_in_body(variable: syntax.Variable, role: Role, body: Iterable[syntax.Formula]) -> Diagnostic:
    name, inside = variable.name, _occurrences(body)
    message = f"variable `{name}` {_WHERE.get(role, 'in a comparison')} is bound by no positive body atom"
    help = f"add a positive atom with `{name}`, such as `zone({name})`"
    if role == "negated":
        is_alone = sum(item.variable == variable for item in inside) == 1
        help += f", or {'write `_` if any value will do' if is_alone else 'give what stands under `not` a rule of its own'}"
    notes = tuple(_notes(name, [item for item in inside if item.role == "left"]))
    return Diagnostic("unsafe-variable", message, variable.span, "unbound", notes, help)


def _unbound(parts: Iterable[syntax.Formula], bound: frozenset[str]) -> Iterator[Occurrence]:
    """What negations and comparisons use though nothing around them binds it."""
    for part in parts:
        match part:
            case syntax.Negation():
                inside = bound | _results(part.operand)
                for occurrence in occurrences(part.operand, "negated"):
                    variable = occurrence.variable
                    if isinstance(variable, syntax.Variable) and variable.name not in inside:
                        yield occurrence
                compared = [each for each in below(part.operand) if isinstance(each, syntax.Comparison)]
                for leaf in (leaf for each in compared for leaf in leaves(each.left, each.right)):
                    if isinstance(leaf, syntax.Wildcard):
                        yield Occurrence(leaf, "compared")
            case syntax.Comparison():
                for leaf in leaves(part.left, part.right):
                    if isinstance(leaf, syntax.Wildcard) or leaf.name not in bound:
                        yield Occurrence(leaf, "compared")
            case syntax.Aggregate():
                yield from _unbound([part.operand], _bound([part.operand], frozenset()))
            case syntax.Binary():
                yield from _unbound([part.left], _bound([part.left], bound))
                yield from _unbound([part.right], bound)
            case _:
                yield from _unbound(children(part), bound)


def _results(formula: syntax.Formula) -> frozenset[str]:
    """The results of aggregates in a formula: under `not` they bind these by themselves."""
    if isinstance(formula, syntax.Aggregate):
        return frozenset([formula.result.name])
    return frozenset[str]().union(*map(_results, children(formula)))


def _bound(parts: Iterable[syntax.Formula], outside: frozenset[str]) -> frozenset[str]:
    """The variables that a conjunction binds, besides those that are bound outside of it."""
    found = set(outside)
    assignments: list[syntax.Comparison] = []
    for part in parts:
        _bind(part, found, assignments)
    while new := {name for part in assignments for name in _assigned(part, found)} - found:
        found |= new
    return frozenset(found)


def _bind(part: syntax.Formula, found: set[str], assignments: list[syntax.Comparison]) -> None:
    match part:
        case syntax.Atom():
            found.update(leaf.name for leaf in atom_leaves(part) if isinstance(leaf, syntax.Variable))
        case syntax.Aggregate():
            found.update(variable.name for variable in (*part.by, part.result))
        case syntax.Comparison() if part.operator == "=":
            assignments.append(part)
        case syntax.Negation():
            return
        case syntax.Binary():
            _bind(part.right, found, assignments)
        case _:
            for child in children(part):
                _bind(child, found, assignments)


def _assigned(part: syntax.Comparison, found: set[str]) -> Iterator[str]:
    for target, value in ((part.left, part.right), (part.right, part.left)):
        if isinstance(target, syntax.Variable) and _is_bound(value, found):
            yield target.name


def _is_bound(value: syntax.Expression, found: set[str]) -> bool:
    return all(isinstance(leaf, syntax.Variable) and leaf.name in found for leaf in leaves(value))
