"""Times that nothing binds: what bounds them leaves a number of values, and each of these gets a leaf of its own.

`diamondminus[0,9] p` holds at each of ten time points behind a fact of p: the answer's time is tied to that fact's by a list
of distances. Where something else binds it, as in `q, diamondminus[0,9] p`, nothing is listed.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.operators.sld.comparisons.comparing import slots_of
from tidelog.operators.sld.comparisons.systems import System
from tidelog.operators.sld.comparisons.terms import Bindings
from tidelog.operators.sld.leaves.leaves import Absence, Leaf, bound_variables, close, system_of
from tidelog.operators.sld.limits import MAX_PRECONDITIONS, Budget, too_large
from tidelog.plans.plan.preconditions import Slot

_CLOSING = 5
"""Ending a derivation takes as long as so many steps for each of its premises."""

_MANY = 1_000
"""With so many distances from the earliest fact, those from another one are looked at, too."""


def anchored(leaf: Leaf, budget: Budget) -> Iterator[Leaf]:
    """The leaf, or those into which it falls apart, in which premises bind each time that matters, as far as can be."""
    waiting = [leaf]
    while waiting:
        current = waiting.pop()
        budget.take_step(_CLOSING * (len(current.premises) + len(current.negated) + 1))
        found = _nearest(current)
        if found is None:
            yield current
            continue
        if len(found[2]) > MAX_PRECONDITIONS:
            raise too_large(f"{len(found[2]):,} alternatives", current.span)
        waiting += reversed(list(_split(current, *found)))


def _nearest(leaf: Leaf) -> tuple[int, int, range] | None:
    """A time that nothing binds, another one that something does, and the distances between them: of the earliest fact."""
    if not leaf.comparisons:
        return None
    bound = bound_variables(leaf)
    needed = (_wanted(leaf) & leaf.times) - bound
    if not needed:
        return None
    system = system_of(leaf.comparisons, Bindings.of(leaf.names, leaf.times))
    if system is None:
        return None
    pairs = [(v, u, found) for v in needed for u in bound & leaf.times if (found := _between(system, v, u)) is not None]
    return min(pairs, key=lambda pair: (len(pair[2]) > _MANY, -pair[2].stop, len(pair[2]), pair[:2]), default=None)


def _wanted(leaf: Leaf) -> set[int]:
    """The variables of the answer, of what must not come, and of what is compared."""
    terms = [*leaf.answer, *(term for premise in leaf.negated for term in (*premise.arguments, premise.time))]
    compared = {v for item in leaf.comparisons for v in slots_of(item.left, item.right)}
    return compared | {term.variable for term in terms if isinstance(term, Slot)}


def _between(system: System, variable: int, other: int) -> range | None:
    """How much more one time may be than another one, where that is bounded."""
    ends = system.between(f"#{variable}", f"#{other}")
    return None if ends is None else range(int(ends[0]), int(ends[1]) + 1)


def _split(leaf: Leaf, variable: int, other: int, distances: range) -> Iterator[Leaf]:
    absences = [Absence(premise, place) for premise, place in zip(leaf.negated, leaf.places, strict=True)]
    for distance in distances:
        bindings = Bindings.of(leaf.names, leaf.times)
        if bindings.unify(Slot(variable), Slot(other, distance)):
            made = close(bindings, leaf.answer, leaf.premises, absences, leaf.comparisons, leaf.span)
            if made is not None:
                yield made
