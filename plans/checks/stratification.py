"""Check: no predicate depends at one time on its own negation or aggregate, so there are strata in time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import pairwise

from tidelog.plans.diagnostics.errors import Diagnostic, Note, Span
from tidelog.plans.language.printing import format_term
from tidelog.plans.normal.program import begin
from tidelog.plans.tree import syntax
from tidelog.plans.tree.dependencies import Circle, Dependency, Values, circles, dependencies, split_by_constants
from tidelog.plans.tree.traverse import subformulas
from tidelog.plans.tree.walk import atoms, head_atom, statements_of

_Dependencies = Mapping[str, Mapping[str, Span | None]]
"""For each predicate, those that its rules read at the same time: with the place of a negated one, else None."""


def check_stratification(program: syntax.Program) -> Iterator[Diagnostic]:
    """Negation may read what is finished: other predicates, what was before, or what names another constant."""
    start = begin(program)
    is_integer = start.timeline.kind == "integer"
    given = {*start.inputs, *(fact.atom.predicate for fact in start.facts), *(item.predicate for item in start.backgrounds)}
    split = split_by_constants(start.rules, given, is_integer=is_integer, name=_part)
    rules = start.rules if split is None else [rule for rule, _ in split]
    for circle in circles(dependencies(rules, is_integer=is_integer)):
        found = list(circle.unsettled())
        yield from (_unsettled(program, circle, members, place) for members, place in found)
        odd = circle.odd()
        if odd is not None and not found:
            yield _looks_elsewhere(circle, odd)


def _part(rule: syntax.Rule, values: Values) -> str:
    head = head_atom(rule)
    shown = ", ".join(format_term(syntax.Constant(value)) for value in values)
    return f"{head.predicate if head else ''}(..{shown}..)"


def _unsettled(program: syntax.Program, circle: Circle, members: frozenset[str], place: Dependency) -> Diagnostic:
    head, negated, span = place.head.predicate, place.atom.predicate, place.atom.span
    reads = _reads(circle, members)
    cycle = f"`{_cycle(reads, head, negated)}`"
    message, label = f"`{head}` depends on its own negation: {cycle}", "negated in its own recursion"
    help = "break the cycle: a negated predicate may not depend on the rule's head at the same time"
    if _is_counted(program, span):
        message, label = (
            f"`{head}` depends on an aggregate of itself: {cycle.replace('not ', 'over ')}",
            "counted in its own recursion",
        )
        help = "break the cycle: what is counted, or held, may not depend on the rule's head at the same time"
    return Diagnostic("unstratified", message, span, label, tuple(_where_it_closes(circle, members, place)), help=help)


def _where_it_closes(circle: Circle, members: frozenset[str], place: Dependency) -> Iterator[Note]:
    """Where the negated predicate comes back to the head."""
    for each in circle.inside:
        is_other = each.head.predicate == place.atom.predicate != place.head.predicate and each is not place
        if is_other and each.side == "now" and each.atom.predicate in members:
            yield Note(each.atom.span, f"`{place.atom.predicate}` depends on it here, at the same time")
            return


def _looks_elsewhere(circle: Circle, odd: Dependency) -> Diagnostic:
    place = min((each for each in circle.inside if each.is_negated), key=lambda each: each.atom.span)
    where = "at later times" if odd.side == "ahead" else "at times that facts tell"
    message = f"`{odd.head.predicate}` depends on its own negation, and reads `{odd.atom.predicate}` {where}"
    notes = () if place is odd else (Note(place.atom.span, "negated here"),)
    help = "let a recursion with `not` look back alone, by `diamondminus`, `boxminus`, `since` or a window `in [n]`"
    return Diagnostic("unstratified", message, odd.atom.span, "read in its own recursion", notes, help=help)


def _is_counted(program: syntax.Program, span: Span) -> bool:
    """Whether what stands at this place stands in an aggregate, or in `latest`."""
    parts = (each for rule in statements_of(program, syntax.Rule) for part in rule.body for each in subformulas(part))
    held = (part for part in parts if isinstance(part, syntax.Aggregate | syntax.Latest))
    return any(atom.span == span for part in held for atom in atoms(part))


def _reads(circle: Circle, members: frozenset[str]) -> _Dependencies:
    reads: dict[str, dict[str, Span | None]] = {name: {} for name in members}
    for each in circle.inside:
        head, name = each.head.predicate, each.atom.predicate
        if each.side == "now" and {head, name} <= members:
            reads[head][name] = reads[head].get(name) or (each.atom.span if each.is_negated else None)
    return reads


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
