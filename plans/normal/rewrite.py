"""What every pass over the rules shares: each rule is rewritten on its own, and keeps its source and its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from tidelog.plans.diagnostics.errors import Diagnostic, ProgramError, Span
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.tree.names import FreshNames, head_predicate, predicates
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Formula,
    Latest,
    Negation,
    Rule,
    Truth,
    Unary,
    Visits,
    Window,
)
from tidelog.plans.tree.traverse import children

BEYOND_JOINS: tuple[type[Formula], ...] = (Truth, Unary, Binary, Window, Visits, Latest, Aggregate, Conjunction, Negation)
"""What a rule has that is more than a join: all but atoms and comparisons."""

_FLAT = frozenset({Atom, Comparison})

RuleRewriting = Callable[[Rule, Callable[[], str]], Iterable[Rule]]
"""One rule into any number of rules; the function beside it hands out fresh predicates."""


def rewrite_rules(
    program: NormalProgram, rewriting: RuleRewriting, about: tuple[type[Formula], ...] = BEYOND_JOINS
) -> NormalProgram:
    """The program with each rule rewritten; ProgramError with the diagnostics of all rules that cannot be.

    A rule without any formula of the kinds that the rewriting is `about` stays as it is: it would be rewritten to itself.
    """
    fresh = FreshNames(taken_names(program))
    rules: list[Rule] = []
    sources: list[Rule] = []
    refused: list[Diagnostic] = []
    kinds = frozenset(about)
    concerned = [_has(rule, kinds) for rule in program.rules]
    if not any(concerned):
        return program
    for rule, source, is_concerned in zip(program.rules, program.sources, concerned, strict=True):
        if not is_concerned:
            rules.append(rule)
            sources.append(source)
            continue
        try:
            made = list(rewriting(rule, partial(fresh.name, source)))
        except ProgramError as error:
            refused += error.diagnostics
            continue
        rules += [new if new.span is rule.span else replace(new, span=rule.span) for new in made]
        sources += [source] * len(made)
    if refused:
        raise ProgramError(refused)
    return replace(program, rules=tuple(rules), sources=tuple(sources), origins={**program.origins, **fresh.made})


def _has(rule: Rule, kinds: frozenset[type[Formula]]) -> bool:
    """Whether a formula of these kinds stands in a rule, however deep."""
    level = [rule.head, *rule.body]
    while level:
        if not kinds.isdisjoint(map(type, level)):
            return True
        level = [child for formula in level if type(formula) not in _FLAT for child in children(formula)]
    return False


def rewrite_bodies(
    program: NormalProgram, rewriting: Callable[[Formula], Formula], about: tuple[type[Formula], ...]
) -> NormalProgram:
    """The program with each literal of each body rewritten on its own; `about` is that of `rewrite_rules`."""

    def rewrite(rule: Rule, _fresh: Callable[[], str]) -> Iterator[Rule]:
        yield replace(rule, body=tuple(map(rewriting, rule.body)))

    return rewrite_rules(program, rewrite, about)


def taken_names(program: NormalProgram) -> Iterator[str]:
    """Every predicate that a program mentions: no fresh one may be called so."""
    for rule in program.rules:
        yield head_predicate(rule.head) or "bottom"
        for part in rule.body:
            yield from predicates(part)
    yield from (fact.atom.predicate for fact in program.facts)
    yield from program.supplied
    yield from (*program.inputs, *program.outputs, *program.kept, *program.origins)


def refuse(message: str, span: Span, help: str = "") -> ProgramError:
    """The error for a formula that means something, but that no combination of operators computes."""
    return ProgramError([Diagnostic("not-supported", message, span, help=help)])
