"""Which supports of an answer are minimal (Cruz-Filipe, Gaspar and Nunes 2020, Definitions 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidelog.operators.ask.partials import Partial
from tidelog.operators.ask.patterns import Binding, Pattern
from tidelog.operators.sld.preconditions import Premise, Slot
from tidelog.plans.questions import GroundLiteral, Open

_Names = dict[str, object]


@dataclass(frozen=True, slots=True)
class Support:
    """The evidence E and the hypotheses H of a partial answer, as sets; `is_open` where H has variables."""

    evidence: frozenset[GroundLiteral]
    hypotheses: frozenset[GroundLiteral]
    is_open: bool


def support_of(partial: Partial) -> Support:
    """What speaks for a partial answer, and what it still needs."""
    evidence, hypotheses = literals_of(partial)
    return Support(frozenset(evidence), frozenset(hypotheses), any(map(_is_open, hypotheses)))


def literals_of(partial: Partial) -> tuple[list[GroundLiteral], list[GroundLiteral]]:
    """The evidence and the hypotheses, by time."""
    if partial.literals is None:
        pattern, binding = partial.pattern, partial.binding
        items = [*enumerate(pattern.premises), *((-1 - i, item) for i, item in enumerate(pattern.negated))]
        found = [(i, item.literal(binding, pattern.names)) for i, item in items]
        partial.literals = sorted(found, key=lambda entry: _order(entry[1]))
    evidence: list[GroundLiteral] = []
    hypotheses: list[GroundLiteral] = []
    for i, literal in partial.literals:
        is_open = partial.missing >> i & 1 if i >= 0 else partial.pending >> (-1 - i) & 1
        (hypotheses if is_open else evidence).append(literal)
    return evidence, hypotheses


def _order(literal: GroundLiteral) -> tuple[bool, int, bool, str]:
    time = literal.time
    return (isinstance(time, Open), 0 if isinstance(time, Open) else time, literal.negated, str(literal))


def hypotheses_without_evidence(pattern: Pattern, binding: Binding) -> Support:
    """A precondition of which nothing has come."""
    literals = [item.literal(binding, pattern.names) for item in (*pattern.premises, *pattern.negated)]
    return Support(frozenset(), frozenset(literals), any(map(_is_open, literals)))


def hide_what_needs_more(partials: Iterable[Partial], unsupported: Iterable[Support]) -> None:
    """Mark those that need more than another one does, or have more evidence for the same needs.

    One support is compared with those alone that share a hypothesis with it.
    """
    supports = [(partial, support_of(partial)) for partial in partials]
    by_literal: dict[GroundLiteral, list[tuple[Partial | None, Support]]] = {}
    anywhere: list[tuple[Partial | None, Support]] = []
    for entry in [*supports, *((None, support) for support in unsupported)]:
        needs = entry[1].hypotheses
        if entry[1].is_open or not needs:
            anywhere.append(entry)
        else:
            by_literal.setdefault(min(needs, key=_order), []).append(entry)
    kept: dict[Partial, Support] = {}
    for partial, support in sorted(supports, key=lambda entry: (len(entry[1].hypotheses), len(entry[1].evidence))):
        others = [*anywhere, *(other for literal in support.hypotheses for other in by_literal.get(literal, ()))]
        partial.hidden = any(
            other is not partial
            and (other is None or other in kept or not _same(found, support))
            and _needs_less(found, support)
            for other, found in others
        )
        if not partial.hidden:
            kept[partial] = support


def _same(one: Support, other: Support) -> bool:
    """Whether two supports need less than each other: then the first of them stays."""
    return _needs_less(one, other) and _needs_less(other, one)


def _needs_less(one: Support, other: Support) -> bool:
    """Whether the first one's hypotheses are a proper part of the other's, or the same with no more evidence."""
    if len(one.hypotheses) > len(other.hypotheses):
        return False
    if not one.is_open:
        if not one.hypotheses <= other.hypotheses:
            return False
        return len(one.hypotheses) < len(other.hypotheses) or one.evidence <= other.evidence
    names = _embed(sorted(one.hypotheses, key=_order), other.hypotheses)
    if names is None:
        return False
    image = {_replaced(literal, names) for literal in one.hypotheses}
    return len(image) < len(other.hypotheses) or one.evidence <= other.evidence


def _embed(literals: Sequence[GroundLiteral], into: frozenset[GroundLiteral]) -> _Names | None:
    """Values for the variables of some literals with which each is one of the others; None if there are none."""
    choices: list[tuple[int, _Names]] = [(0, {})]
    while choices:
        i, names = choices.pop()
        if i == len(literals):
            return names
        for candidate in into:
            extended = _unified(literals[i], candidate, names)
            if extended is not None:
                choices.append((i + 1, extended))
    return None


def _unified(literal: GroundLiteral, candidate: GroundLiteral, names: _Names) -> _Names | None:
    if (literal.predicate, literal.negated) != (candidate.predicate, candidate.negated):
        return None
    names = dict(names)
    pairs = zip((*literal.arguments, literal.time), (*candidate.arguments, candidate.time), strict=True)
    return names if all(_agree(one, other, names) for one, other in pairs) else None


def _agree(one: object, other: object, names: _Names) -> bool:
    if not isinstance(one, Open):
        return one == other
    value = _less(other, one.offset)
    return value is not None and names.setdefault(one.name, value) == value


def _less(value: object, offset: int) -> object:
    """A value, or a variable, less a distance in time; None where there is none."""
    if not offset:
        return value
    if isinstance(value, Open):
        return Open(value.name, value.offset - offset)
    return value - offset if isinstance(value, int) else None


def _replaced(literal: GroundLiteral, names: _Names) -> tuple[object, ...]:
    terms = (*literal.arguments, literal.time)
    values = tuple((names[term.name], term.offset) if isinstance(term, Open) else (term, 0) for term in terms)
    return (literal.predicate, literal.negated, *values)


def _is_open(literal: GroundLiteral) -> bool:
    return isinstance(literal.time, Open) or any(isinstance(item, Open) for item in literal.arguments)


def find_rivals(patterns: Sequence[Pattern]) -> None:
    """Tell each pattern which others could need less than it, some of its own premises having come."""
    by_size: dict[int, list[Pattern]] = {}
    for pattern in patterns:
        by_size.setdefault(len(pattern.premises), []).append(pattern)
    for pattern in patterns:
        smaller = [other for size, found in by_size.items() if size < len(pattern.premises) for other in found]
        pattern.rivals = [
            other for other in smaller if all(_fits_in(item.premise, other, pattern) for item in other.premises)
        ]


def _fits_in(premise: Premise, own: Pattern, other: Pattern) -> bool:
    return any(_may_be_same(premise, own, item.premise, other) for item in other.premises)


def _may_be_same(premise: Premise, own: Pattern, candidate: Premise, other: Pattern) -> bool:
    if premise.predicate != candidate.predicate:
        return False
    pairs = zip(premise.arguments, candidate.arguments, strict=True)
    if any(not isinstance(a, Slot) and not isinstance(b, Slot) and a != b for a, b in pairs):
        return False
    here, there = _distance(premise, own), _distance(candidate, other)
    return here is None or there is None or here == there


def _distance(premise: Premise, pattern: Pattern) -> int | None:
    """How far from the answer's time a premise lies, where that is always the same."""
    own = pattern.answer[-1]
    if isinstance(premise.time, Slot) and isinstance(own, Slot) and premise.time.variable == own.variable:
        return premise.time.offset - own.offset
    return None
