"""Which supports of an answer are minimal (Cruz-Filipe, Gaspar and Nunes 2020, Definitions 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidelog.operators.ask.partials import Partial
from tidelog.operators.ask.patterns import Binding, Pattern
from tidelog.plans.preconditions import Premise, Slot
from tidelog.plans.questions import GroundLiteral, Open

_Names = dict[str, object]


@dataclass(frozen=True, slots=True)
class Support:
    """The evidence E and the hypotheses H of a partial answer, as sets; `is_open` where H has variables.

    `is_special` where it is a support for some values of the answer's open columns alone, so that it stands for no other.
    """

    evidence: frozenset[GroundLiteral]
    hypotheses: frozenset[GroundLiteral]
    is_open: bool
    is_special: bool = False


def support_of(partial: Partial) -> Support:
    """What speaks for a partial answer, and what it still needs."""
    evidence, hypotheses = literals_of(partial)
    return _support(partial.pattern, partial.binding, evidence, hypotheses)


def hypotheses_without_evidence(pattern: Pattern, binding: Binding) -> Support:
    """A precondition of which nothing has come."""
    literals = [item.literal(binding, pattern.names) for item in (*pattern.premises, *pattern.negated)]
    return _support(pattern, binding, [], literals)


def _support(
    pattern: Pattern, binding: Binding, evidence: Sequence[GroundLiteral], hypotheses: Sequence[GroundLiteral]
) -> Support:
    columns = _columns(pattern, binding)
    open_columns = sum(value is None for value in pattern.row(binding))
    is_special = bool(columns) and (pattern.has_conditions or len(columns) < open_columns)
    literals = frozenset(_with_columns(literal, columns) for literal in hypotheses)
    return Support(frozenset(evidence), literals, any(map(_is_open, literals)), is_special)


_COLUMN = "#"
"""What the names of open columns begin with, which are the same in all supports of an answer."""


def _columns(pattern: Pattern, binding: Binding) -> dict[str, Open]:
    """For the variables that are open columns of the answer, the column, and what the variable is more than that."""
    return {
        pattern.names[term.variable]: Open(f"{_COLUMN}{i}", -term.offset)
        for i, term in enumerate(pattern.answer)
        if isinstance(term, Slot) and binding[term.variable] is None
    }


def _with_columns(literal: GroundLiteral, columns: Mapping[str, Open]) -> GroundLiteral:
    if not columns or not _is_open(literal):
        return literal
    *arguments, time = (_in_column(term, columns) for term in (*literal.arguments, literal.time))
    return replace(literal, arguments=tuple(arguments), time=time)


def _in_column(term: Any, columns: Mapping[str, Open]) -> Any:
    column = columns.get(term.name) if isinstance(term, Open) else None
    return term if column is None else Open(column.name, column.offset + term.offset)


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


class Comparison:
    """The supports of one answer, compared: `hidden` are those that need more than another one does, or have more evidence
    for the same needs.

    A support that has changed is compared with those alone whose hypotheses have one in common with its own.
    """

    def __init__(self) -> None:
        self._supports: dict[Partial, Support] = {}
        self._open: dict[Partial, None] = {}
        self._by_needs: dict[_Literals, dict[int, dict[_Literals, dict[Partial, None]]]] = {}
        self._needing: dict[GroundLiteral, dict[_Literals, None]] = {}
        self.hidden: dict[Partial, None] = {}

    def __contains__(self, partial: Partial) -> bool:
        return partial in self._supports

    def remove(self, partial: Partial) -> None:
        """It is no support any more, or not as it was."""
        support = self._supports.pop(partial, None)
        self.hidden.pop(partial, None)
        self._open.pop(partial, None)
        if support is None:
            return
        by_size = self._by_needs[support.hypotheses]
        by_evidence = by_size[len(support.evidence)]
        del by_evidence[support.evidence][partial]
        if not by_evidence[support.evidence]:
            del by_evidence[support.evidence]
        if not by_evidence:
            del by_size[len(support.evidence)]
        if not by_size:
            del self._by_needs[support.hypotheses]
            for literal in support.hypotheses:
                del self._needing[literal][support.hypotheses]
                if not self._needing[literal]:
                    del self._needing[literal]

    def update(self, changed: Iterable[Partial], beside: Sequence[Support]) -> None:
        """Compare supports that are new or have changed with the others, and with what stands `beside` them."""
        found = [(partial, support_of(partial)) for partial in changed]
        for partial, support in found:
            self.remove(partial)
            self._add(partial, support)
        for partial, support in found:
            for other in self._related(support):
                if other is partial:
                    continue
                if partial not in self.hidden and self._hides(other, partial):
                    self.hidden[partial] = None
                if other not in self.hidden and self._hides(partial, other):
                    self.hidden[other] = None
            if any(_needs_less(other, support) for other in beside):
                self.hidden[partial] = None

    def _add(self, partial: Partial, support: Support) -> None:
        self._supports[partial] = support
        if support.is_open:
            self._open[partial] = None
        by_evidence = self._by_needs.setdefault(support.hypotheses, {}).setdefault(len(support.evidence), {})
        by_evidence.setdefault(support.evidence, {})[partial] = None
        for literal in support.hypotheses:
            self._needing.setdefault(literal, {})[support.hypotheses] = None

    def _related(self, support: Support) -> Iterator[Partial]:
        """The supports that could hide one, or be hidden by it."""
        if support.is_open:
            yield from list(self._supports)
            return
        yield from list(self._open)
        for size, by_evidence in list(self._by_needs[support.hypotheses].items()):
            if size == len(support.evidence):
                yield from list(by_evidence[support.evidence])
            else:
                yield from [partial for partials in by_evidence.values() for partial in partials]
        needs = support.hypotheses
        related = dict.fromkeys(other for literal in needs for other in self._needing[literal] if len(other) != len(needs))
        for other in related:
            by_size = self._by_needs[other].values()
            yield from [partial for by_evidence in by_size for partials in by_evidence.values() for partial in partials]

    def _hides(self, one: Partial, other: Partial) -> bool:
        """Whether the first one needs less; of two that need the same, the first that came does."""
        support, against = self._supports[one], self._supports[other]
        if not _needs_less(support, against):
            return False
        return one not in self.hidden or not _needs_less(against, support)


_Literals = frozenset[GroundLiteral]


def _needs_less(one: Support, other: Support) -> bool:
    """Whether the first one's hypotheses are a proper part of the other's, or the same with no more evidence."""
    if len(one.hypotheses) > len(other.hypotheses) or one.is_special:
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
    if not isinstance(one, Open) or one.name.startswith(_COLUMN):
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
    values = tuple((names.get(term.name, term.name), term.offset) if isinstance(term, Open) else (term, 0) for term in terms)
    return (literal.predicate, literal.negated, *values)


def _is_open(literal: GroundLiteral) -> bool:
    return isinstance(literal.time, Open) or any(isinstance(item, Open) for item in literal.arguments)


def find_rivals(patterns: Sequence[Pattern]) -> None:
    """Tell each pattern which others could need less than it, some of its own premises having come."""
    by_size: dict[int, list[tuple[Pattern, _ByPlace]]] = {}
    for pattern in patterns:
        by_size.setdefault(len(pattern.premises), []).append((pattern, _by_place(pattern)))
    for size, group in by_size.items():
        smaller = [entry for other, entries in by_size.items() if other < size for entry in entries]
        for pattern, places in group:
            pattern.rivals = [other for other, own in smaller if own.keys() <= places.keys() and _fits(own, places)]


_Place = tuple[str, int | None]
"""A predicate, and how far its time lies from the answer's, where that is always the same."""
_ByPlace = dict[_Place, list[Premise]]


def _by_place(pattern: Pattern) -> _ByPlace:
    """The premises by place; those with times that are not tied to the answer's stand under None, and so do all others."""
    places: _ByPlace = {}
    for item in pattern.premises:
        distance = _distance(item.premise, pattern)
        for place in {distance, None}:
            places.setdefault((item.premise.predicate, place), []).append(item.premise)
    return places


def _fits(own: _ByPlace, others: _ByPlace) -> bool:
    """Whether each premise of one pattern could be one of another's."""
    return all(
        any(_may_be_same(premise, candidate) for candidate in others[place])
        for place, premises in own.items()
        if place[1] is not None or len(premises) > _tied(own, place[0])
        for premise in premises
    )


def _tied(places: _ByPlace, predicate: str) -> int:
    return sum(len(premises) for (name, distance), premises in places.items() if name == predicate and distance is not None)


def _may_be_same(premise: Premise, candidate: Premise) -> bool:
    pairs = zip(premise.arguments, candidate.arguments, strict=True)
    return not any(not isinstance(a, Slot) and not isinstance(b, Slot) and a != b for a, b in pairs)


def _distance(premise: Premise, pattern: Pattern) -> int | None:
    """How far from the answer's time a premise lies, where that is always the same."""
    own = pattern.answer[-1]
    if isinstance(premise.time, Slot) and isinstance(own, Slot) and premise.time.variable == own.variable:
        return premise.time.offset - own.offset
    return None
