"""What holds in every completion of what has come, or in none: where one fact may come, or may not, and both decide.

An answer is certain if all that may still happen makes it true, each case by another of its supports (`a@3` here and
`not a@3` there); a support whose hypotheses cannot all be so at once is none. Both are found by trying the facts on which
supports depend, and only where a predicate is needed here and negated there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tidelog.operators.ask.pending.outlook import Outlook, columns_of
from tidelog.operators.ask.premises.awaited import Awaited, Binding
from tidelog.operators.ask.premises.partials import Answer, Partial
from tidelog.operators.ask.premises.patterns import Pattern

MOST_ATOMS = 12
"""On so many facts a case may depend: beyond, an answer waits until they are decided."""
MOST_WAYS = 64
"""So many supports are looked at together."""

Atom = tuple[Any, ...]
"""A fact that may come, or an answer of an auxiliary query of which it is not known what it depends on."""
_Values = dict[Atom, bool]


@dataclass(frozen=True, slots=True)
class Way:
    """The facts that must come for a support to hold, and those that must not; `denied` are answers of auxiliary queries,
    with the ways in which they hold."""

    needed: frozenset[Atom]
    absent: frozenset[Atom]
    denied: tuple[tuple[Way, ...], ...]

    def atoms(self) -> Iterator[Atom]:
        """All facts on which it depends."""
        yield from self.needed
        yield from self.absent
        for ways in self.denied:
            for way in ways:
                yield from way.atoms()

    def holds(self, values: _Values) -> bool | None:
        """Whether it holds where these facts come or do not; None while others decide it."""
        known = [values.get(atom) for atom in self.needed]
        known += [_negate(values.get(atom)) for atom in self.absent]
        known += [_negate(_some(ways, values)) for ways in self.denied]
        if False in known:
            return False
        return None if None in known else True


def _negate(value: bool | None) -> bool | None:
    return None if value is None else not value


def _some(ways: Iterable[Way], values: _Values) -> bool | None:
    outcomes = [way.holds(values) for way in ways]
    if True in outcomes:
        return True
    return None if None in outcomes else False


class Completions:
    """The cases of an outlook."""

    def __init__(self, outlook: Outlook) -> None:
        self._outlook = outlook

    def deciding(self, answer: Answer) -> list[Partial] | None:
        """As few supports as possible of which one holds whatever still comes; None where there is no such set."""
        if all(map(_depends_on_too_much, answer.supports)):
            return None
        pairs: list[tuple[Partial | None, Way | None]] = [
            (partial, self._way(partial)) for partial in islice(answer.supports, MOST_WAYS)
        ]
        pairs += [(None, way) for way in self._others(answer)]
        found = [(partial, way) for partial, way in pairs if way is not None]
        if len(found) == 1 and not found[0][1].denied:
            return None  # each fact that it needs or denies may be otherwise
        if not _is_always([way for _, way in found]):
            return None
        for pair in list(found):
            fewer = [other for other in found if other is not pair]
            if fewer and _is_always([way for _, way in fewer]):
                found = fewer
        return [partial for partial, _ in found if partial is not None]

    def can_be_met(self, partial: Partial) -> bool:
        """Whether all that a support still needs can be so at once, as far as it stands for single facts."""
        if not partial.missing and not partial.pattern.asks_others(partial.pending):
            return True  # all that it needs is absent
        way = self._made(partial.pattern, partial.binding, partial.missing, partial.pending, is_partly=True, depth=0)
        return way is None or _can_hold(way)

    # --- ways -----------------------------------------------------------------------------------------------------------

    def _way(self, partial: Partial) -> Way | None:
        return self._made(partial.pattern, partial.binding, partial.missing, partial.pending, is_partly=False, depth=0)

    def _others(self, answer: Answer, depth: int = 0) -> Iterator[Way | None]:
        """What could make it an answer with nothing having come."""
        for pattern, binding, open_until, _ in self._outlook.ways(answer):
            if open_until is not None:
                pending = [i for i, item in enumerate(pattern.negated) if not self._outlook.is_gone(item, binding)]
                bits = sum(1 << i for i in pending)
                yield self._made(pattern, binding, pattern.all, bits, is_partly=False, depth=depth)

    def _made(
        self, pattern: Pattern, binding: Binding, missing: int, pending: int, *, is_partly: bool, depth: int
    ) -> Way | None:
        """The way in which a precondition holds. None where it needs more than single facts, unless a part of it is
        enough."""
        needed, absent, denied = set[Atom](), set[Atom](), list[tuple[Way, ...]]()
        for _, item in pattern.missing(missing):
            if item.is_ground(binding):
                needed.add((item.premise.predicate, *item.fact(binding)))
            elif not is_partly:
                return None
        for _, item in pattern.pending(pending):
            if not item.is_ground(binding):
                if not is_partly:
                    return None
            elif item.premise.predicate in self._outlook.queries:
                denied.append(self._denied(item, binding, depth))
            else:
                row = item.row(binding)
                absent |= {(item.premise.predicate, row, time) for time in item.times(binding)}
        return Way(frozenset(needed), frozenset(absent), tuple(denied))

    def _denied(self, item: Awaited, binding: Binding, depth: int) -> tuple[Way, ...]:
        """How an answer of an auxiliary query can hold; as a fact of its own where that is not known exactly."""
        columns = columns_of(item, binding)
        opaque = (Way(frozenset([("", item.premise.predicate, columns)]), frozenset(), ()),)
        answer = self._outlook.queries[item.premise.predicate].answers.get(columns)
        if answer is None or depth >= MOST_ATOMS or len(answer.supports) > MOST_WAYS:
            return opaque
        found = [
            self._made(p.pattern, p.binding, p.missing, p.pending, is_partly=False, depth=depth + 1) for p in answer.supports
        ]
        found += self._others(answer, depth + 1)
        if any(self._outlook.general(answer)):
            return opaque
        ways = [way for way in found if way is not None]
        return tuple(ways) if len(ways) == len(found) else opaque


def _depends_on_too_much(partial: Partial) -> bool:
    """Whether so many facts must come, or must not, that no cases are told apart."""
    pattern = partial.pattern
    absent = sum(item.width + 1 for _, item in pattern.pending(partial.pending))
    return partial.missing.bit_count() + absent > MOST_ATOMS


def _is_always(ways: Sequence[Way]) -> bool:
    """Whether in each case one of the ways holds."""
    atoms = _decisive(ways)
    if atoms is None:
        return False
    return _try(atoms, {}, lambda values: _some(ways, values), wanted=True)


def _can_hold(way: Way) -> bool:
    """Whether there is a case in which it holds."""
    atoms = list(dict.fromkeys(way.atoms()))
    if not way.denied or len(atoms) > MOST_ATOMS + len(way.needed) + len(way.absent):
        return way.needed.isdisjoint(way.absent)
    values = {**dict.fromkeys(way.absent, False), **dict.fromkeys(way.needed, True)}
    rest = [atom for atom in atoms if atom not in values]
    return not _try(rest, values, lambda known: _negate(way.holds(known)), wanted=True)


def _decisive(ways: Sequence[Way]) -> list[Atom] | None:
    """The facts on which ways depend; None for too many."""
    atoms = list(dict.fromkeys(atom for way in ways for atom in way.atoms()))
    return atoms if ways and len(atoms) <= MOST_ATOMS else None


def _try(atoms: Sequence[Atom], values: _Values, outcome: Any, *, wanted: bool) -> bool:
    """Whether the outcome is the wanted one, whatever these facts do."""
    known = outcome(values)
    if known is not None or not atoms:
        return known is wanted
    first, rest = atoms[0], atoms[1:]
    return all(_try(rest, {**values, first: value}, outcome, wanted=wanted) for value in (True, False))
