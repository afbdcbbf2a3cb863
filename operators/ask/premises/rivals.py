"""Which preconditions could need less than another one, some of whose premises have come."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.operators.ask.premises.patterns import Pattern
from tidelog.plans.plan.preconditions import Premise, Slot


def find_rivals(patterns: Sequence[Pattern]) -> None:
    """Tell each pattern which others could need less than it, some of its own premises having come."""
    by_size: dict[int, list[tuple[Pattern, _ByPlace]]] = {}
    for pattern in patterns:
        by_size.setdefault(len(pattern.premises), []).append((pattern, _by_place(pattern)))
    for size, group in by_size.items():
        smaller = [entry for other, entries in by_size.items() if other < size for entry in entries]
        for pattern, places in group:
            pattern.rivals = [other for other, own in smaller if _fits(own, places)]


_Place = tuple[str, int | None]
"""A predicate, and how far its time lies from the answer's, where that is always the same."""
_ByPlace = dict[_Place, list[Premise]]


def _by_place(pattern: Pattern) -> _ByPlace:
    """The premises by place; those with times that are not tied to the answer's stand under None."""
    places: _ByPlace = {}
    for item in pattern.premises:
        places.setdefault((item.premise.predicate, _distance(item.premise, pattern)), []).append(item.premise)
    return places


def _fits(own: _ByPlace, others: _ByPlace) -> bool:
    """Whether each premise of one pattern could be one of another's; one at an open time could be at any."""
    for (name, distance), premises in own.items():
        if distance is None:
            candidates = [premise for (other, _), found in others.items() if other == name for premise in found]
        else:
            candidates = [*others.get((name, distance), ()), *others.get((name, None), ())]
        if not candidates or not all(any(_may_be_same(premise, other) for other in candidates) for premise in premises):
            return False
    return True


def _may_be_same(premise: Premise, candidate: Premise) -> bool:
    pairs = zip(premise.arguments, candidate.arguments, strict=True)
    return not any(not isinstance(a, Slot) and not isinstance(b, Slot) and a != b for a, b in pairs)


def _distance(premise: Premise, pattern: Pattern) -> int | None:
    """How far from the answer's time a premise lies, where that is always the same."""
    own = pattern.answer[-1]
    if isinstance(premise.time, Slot) and isinstance(own, Slot) and premise.time.variable == own.variable:
        return premise.time.offset - own.offset
    return None
