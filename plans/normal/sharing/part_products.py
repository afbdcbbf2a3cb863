"""Pass: parts of a join that have nothing to do with each other are not multiplied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from tidelog.plans.normal.form import form_of
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import taken_names
from tidelog.plans.tree.names import FreshNames, atom, variables
from tidelog.plans.tree.syntax import Atom, Comparison, Formula, Rule


def part_products(program: NormalProgram) -> NormalProgram:
    """Give a part of a join a predicate of its own, where its variables are no matter to the rest and to the head.

    Two parts go together only at the same times and through the head's variables: all that one part says, times all that
    the other says, would be met for each row of the head. A variable that one atom has alone is no matter: a join does not
    keep it.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("part_products", "p(X) :- a(X), b(Y, Z), c(Z, V)."))
    output p.
    'p.1' :- b(Y, Z), c(Z, V).
    p(X) :- a(X), 'p.1'.
    """
    fresh = FreshNames(taken_names(program))
    rules: list[Rule] = []
    sources: list[Rule] = []
    for rule, source in zip(program.rules, program.sources, strict=True):
        made = list(_parted(rule, partial(fresh.name, source)))
        rules += made
        sources += [source] * len(made)
    if len(rules) == len(program.rules):
        return program
    return replace(program, rules=tuple(rules), sources=tuple(sources), origins={**program.origins, **fresh.made})


def _parted(rule: Rule, name: Callable[[], str]) -> Iterator[Rule]:
    if len(rule.body) < 3 or form_of(rule) != "join":  # two parts, one of them of two literals
        yield rule
        return
    needed = set(variables(rule.head))
    parts = _parts(rule.body, needed)
    large = [part for part in parts if _is_large(part, needed)]
    body = list(rule.body)
    for part in large:
        if len(large) == 1 and not _is_alone(part, rule.body):
            continue
        told = [found for found in variables(*part) if found in needed]
        head = atom(name(), told)
        yield Rule(head, tuple(part), rule.span)
        body[body.index(part[0])] = head
        body = [literal for literal in body if not any(literal is other for other in part)]
    yield rule if len(body) == len(rule.body) else replace(rule, body=tuple(body))


def _parts(body: Sequence[Formula], needed: set[str]) -> list[list[Formula]]:
    """The literals that are tied together by variables which the head does not need, in order."""
    parts: list[tuple[set[str], list[Formula]]] = []
    for literal in body:
        local = set(variables(literal)) - needed
        tied = [part for part in parts if not local.isdisjoint(part[0])]
        parts = [part for part in parts if all(part is not other for other in tied)]
        found = [other for _, literals in tied for other in literals]
        parts.append((local.union(*(names for names, _ in tied)), [*found, literal]))
    places = {id(literal): place for place, literal in enumerate(body)}
    return [sorted(literals, key=lambda literal: places[id(literal)]) for _, literals in parts]


def _is_large(part: Sequence[Formula], needed: set[str]) -> bool:
    """Whether several atoms are met through variables that the head does not need, and say all that the part mentions."""
    atoms = [literal for literal in part if isinstance(literal, Atom)]
    held, mentioned = set(variables(*atoms)), set(variables(*part))
    return len(atoms) > 1 and mentioned <= held and not held <= needed


def _is_alone(part: Sequence[Formula], body: Sequence[Formula]) -> bool:
    """Whether a part shares no variable with the rest, which has some."""
    rest = [literal for literal in body if not any(literal is other for other in part)]
    others = {name for literal in rest if not isinstance(literal, Comparison) for name in variables(literal)}
    return bool(others) and others.isdisjoint(variables(*part))
