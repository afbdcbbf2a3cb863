"""Check: no predicate depends on its own negation or aggregate, so there are strata (docs/reference/language.md)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import pairwise

from tidelog.plans.analysis.recursion.components import components
from tidelog.plans.diagnostics.errors import Diagnostic, Span
from tidelog.plans.tree import syntax
from tidelog.plans.tree.thresholds import mark_thresholds
from tidelog.plans.tree.traverse import children, subformulas
from tidelog.plans.tree.walk import atoms, head_atom, statements_of

_Dependencies = Mapping[str, Mapping[str, Span | None]]
"""For each predicate, those that its rules read: with the place of a negated one, None where it is not negated."""


def check_stratification(program: syntax.Program) -> Iterator[Diagnostic]:
    """Negation may read what is finished, never what is still being derived from it, also below operators."""
    reads = _dependencies(program)
    for members in components(_feeds(reads)):
        found = _first_negation(reads, frozenset(members))
        if found is None:
            continue
        head, negated, span = found
        cycle = f"`{_cycle(reads, head, negated)}`"
        message, label = f"`{head}` depends on its own negation: {cycle}", "negated in its own recursion"
        help = "break the cycle: a negated predicate may not depend on the rule's head"
        if _is_counted(program, span):
            message, label = (
                f"`{head}` depends on an aggregate of itself: {cycle.replace('not ', 'over ')}",
                "counted in its own recursion",
            )
            help = "break the cycle: what is counted, or held, may not depend on the rule's head"
        yield Diagnostic("unstratified", message, span, label, help=help)


def _is_counted(program: syntax.Program, span: Span) -> bool:
    """Whether what stands at this place stands in an aggregate, or in `latest`."""
    parts = (each for rule in statements_of(program, syntax.Rule) for part in rule.body for each in subformulas(part))
    held = (part for part in parts if isinstance(part, syntax.Aggregate | syntax.Latest))
    return any(atom.span == span for part in held for atom in atoms(part))


def _dependencies(program: syntax.Program) -> _Dependencies:
    reads: dict[str, dict[str, Span | None]] = {}
    for rule in statements_of(program, syntax.Rule):
        head = head_atom(rule)
        if head is None:
            continue
        known = reads.setdefault(head.predicate, {})
        for part in mark_thresholds(rule).body:
            for atom, is_negated in _signed(part, False):
                reads.setdefault(atom.predicate, {})
                known[atom.predicate] = known.get(atom.predicate) or (atom.span if is_negated else None)
    return reads


def _signed(formula: syntax.Formula, is_negated: bool) -> Iterator[tuple[syntax.Atom, bool]]:
    if isinstance(formula, syntax.Atom):
        yield formula, is_negated
    for child in children(formula):
        yield from _signed(child, is_negated or waits(formula))


def waits(formula: syntax.Formula) -> bool:
    """Whether a formula follows from what does not hold, so that it waits until that is known."""
    is_threshold = isinstance(formula, syntax.Aggregate) and formula.threshold is not None
    return isinstance(formula, syntax.Negation | syntax.Latest | syntax.Aggregate) and not is_threshold


def _feeds(reads: _Dependencies) -> dict[str, list[str]]:
    feeds: dict[str, list[str]] = {name: [] for name in reads}
    for head, names in reads.items():
        for name in names:
            feeds[name].append(head)
    return feeds


def _first_negation(reads: _Dependencies, members: frozenset[str]) -> tuple[str, str, Span] | None:
    found = [
        (head, name, span) for head in members for name, span in reads[head].items() if span is not None and name in members
    ]
    return min(found, key=lambda item: item[2]) if found else None


def _cycle(reads: _Dependencies, head: str, negated: str) -> str:
    """The shortest way from the head over its negated atom back to it: `a -> not b -> a`."""
    before: dict[str, str] = {}
    queue = deque([negated])
    while queue and head not in before and head != negated:
        name = queue.popleft()
        for following in reads[name]:
            if following not in before and following != negated:
                before[following] = name
                queue.append(following)
    path = [head]
    while path[-1] != negated:
        path.append(before[path[-1]])
    path = [head, *reversed(path)]
    steps = [path[0]]
    for name, following in pairwise(path):
        steps.append(f"not {following}" if reads[name][following] is not None else following)
    return " -> ".join(steps)
