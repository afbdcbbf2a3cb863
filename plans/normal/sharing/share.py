"""Pass: what is defined twice is computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.tree.names import head_predicate
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Comparison,
    Constant,
    Expression,
    Formula,
    Latest,
    Rule,
    Unary,
    Variable,
    Visits,
)
from tidelog.plans.tree.traverse import rebuild, substitute

Definition = tuple[Rule, ...]
Outline = tuple[object, ...]


def share(program: NormalProgram) -> NormalProgram:
    """Merge fresh predicates whose rules are the same but for the names of variables; the first one's name stays.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("share", "p(X) :- q(X), boxminus[1,2] r(X). p(Y) :- s(Y), boxminus[1,2] r(Y)."))
    output p.
    'p.1'(X) :- boxminus[1,2] r(X).
    p(X) :- q(X), 'p.1'(X).
    p(Y) :- s(Y), 'p.1'(Y).
    """
    while merged := _same_predicates(program):
        program = _merge(program, merged)
    return _without_repeats(program)


def _same_predicates(program: NormalProgram) -> dict[str, str]:
    """Each fresh predicate that an earlier one defines already, and that one."""
    first: dict[Definition, str] = {}
    merged: dict[str, str] = {}
    definitions = _fresh_definitions(program)
    outlines = {
        predicate: tuple(_outline(rule, is_definition=True) for rule in rules) for predicate, rules in definitions.items()
    }
    often = Counter(outlines.values())
    for predicate, rules in definitions.items():
        if often[outlines[predicate]] > 1:
            known = first.setdefault(_definition(rules), predicate)
            if known != predicate:
                merged[predicate] = known
    return merged


def _fresh_definitions(program: NormalProgram) -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {}
    for rule in program.rules:
        predicate = head_predicate(rule.head)
        if predicate is not None and predicate in program.origins and predicate not in program.constraints:
            found.setdefault(predicate, []).append(rule)
    return found


def _definition(rules: Iterable[Rule]) -> Definition:
    """The rules of a predicate without its name, and with their variables numbered."""
    return tuple(canonical(_renamed(rule, {head_predicate(rule.head) or "": ""})) for rule in rules)


def _merge(program: NormalProgram, merged: dict[str, str]) -> NormalProgram:
    kept = [
        (_renamed(rule, merged), source)
        for rule, source in zip(program.rules, program.sources, strict=True)
        if head_predicate(rule.head) not in merged
    ]
    origins = {name: source for name, source in program.origins.items() if name not in merged}
    return replace(program, rules=tuple(r for r, _ in kept), sources=tuple(s for _, s in kept), origins=origins)


def _without_repeats(program: NormalProgram) -> NormalProgram:
    outlines = [_outline(rule) for rule in program.rules]
    often = Counter(outlines)
    seen: set[Rule] = set()
    kept: list[tuple[Rule, Rule]] = []
    for rule, source, outline in zip(program.rules, program.sources, outlines, strict=True):
        if often[outline] > 1:
            form = canonical(rule)
            if form in seen:
                continue
            seen.add(form)
        kept.append((rule, source))
    return replace(program, rules=tuple(r for r, _ in kept), sources=tuple(s for _, s in kept))


def _outline(rule: Rule, *, is_definition: bool = False) -> Outline:
    """What is the same in all rules of one canonical form, and soon found; of a definition, without the predicate's name."""
    own = head_predicate(rule.head) if is_definition else None
    outline: list[object] = [None if is_definition else head_predicate(rule.head)]
    for part in rule.body:
        outline.append(type(part))
        atom = part.operand if isinstance(part, Unary) else part
        if isinstance(atom, Atom):
            outline.append(None if atom.predicate == own else atom.predicate)
            outline += [term.value for term in atom.arguments if isinstance(term, Constant)]
        elif isinstance(part, Comparison):
            outline += [side.value for side in (part.left, part.right) if isinstance(side, Constant)]
    return tuple(outline)


def _renamed(rule: Rule, predicates: dict[str, str]) -> Rule:
    def rename(formula: Formula) -> Formula:
        if isinstance(formula, Atom):
            return replace(formula, predicate=predicates.get(formula.predicate, formula.predicate))
        return rebuild(formula, rename)

    return replace(rule, head=rename(rule.head), body=tuple(map(rename, rule.body)))


def canonical(rule: Rule) -> Rule:
    """The rule with its variables numbered in order of occurrence: equal for rules that differ in their names alone."""
    numbers: dict[str, str] = {}

    def known(variable: Variable) -> Variable:
        return Variable(numbers.setdefault(variable.name, f"X{len(numbers)}"))

    def number(expression: Expression) -> Expression:
        return substitute(expression, known)

    def renamed(variable: Variable | None) -> Variable | None:
        return None if variable is None else known(variable)

    def numbered(formula: Formula) -> Formula:
        if isinstance(formula, Atom):
            at = formula.at and replace(formula.at, variable=renamed(formula.at.variable) or formula.at.variable)
            return replace(formula, arguments=tuple(map(number, formula.arguments)), at=at)
        if isinstance(formula, Comparison):
            return replace(formula, left=number(formula.left), right=number(formula.right))
        if isinstance(formula, Latest):
            atom = replace(formula.atom, arguments=tuple(map(number, formula.atom.arguments)))
            return replace(formula, atom=atom, by=tuple(map(known, formula.by)))
        if isinstance(formula, Aggregate):
            result, by = known(formula.result), tuple(map(known, formula.by))
            argument = None if formula.argument is None else number(formula.argument)
            return replace(formula, result=result, by=by, argument=argument, operand=numbered(formula.operand))
        if isinstance(formula, Visits):
            atom = replace(formula.atom, arguments=tuple(map(number, formula.atom.arguments)))
            return replace(formula, atom=atom, time=renamed(formula.time), visit=renamed(formula.visit))
        return rebuild(formula, numbered)

    return replace(rule, head=numbered(rule.head), body=tuple(map(numbered, rule.body)))
