"""Minimal sets of premises (Cruz-Filipe, Gaspar and Nunes 2020, section 5): what needs more than another one is left out.

Two premises that could be the same fact get a leaf of their own in which they are one. Then each set of facts fits leaves
with as many premises, no two on the same fact; and a leaf is left out if another one, its variables replaced, gives the same
answer, and has its premises among the leaf's (θ-subsumption, where different premises stay different).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product

from tidelog.operators.sld.comparisons.terms import Bindings
from tidelog.operators.sld.leaves.leaves import Absence, Leaf, close
from tidelog.operators.sld.leaves.subsumption import LeafIndex, entry_of
from tidelog.operators.sld.limits import Budget
from tidelog.plans.plan.preconditions import Premise, Slot

_MERGING = 20
"""Making a leaf anew takes as long as so many steps for each of its premises."""


def minimise(leaves: Sequence[Leaf], budget: Budget) -> list[Leaf]:
    """The leaves that no other one makes superfluous, and those in which some of their premises are one."""
    few = _without_superfluous(leaves)
    made = list(_factored(few, budget))
    return few if len(made) == len(few) else _without_superfluous(made)


def _without_superfluous(leaves: Iterable[Leaf]) -> list[Leaf]:
    """Those that no other one subsumes, in their order; of such that say the same, the first.

    A leaf can only be subsumed by one with no more premises: by one before it, or by one with as many.
    """
    entries = [entry_of(leaf) for leaf in leaves]
    index = LeafIndex(entries)
    kept = set[int]()
    for number in sorted(range(len(entries)), key=lambda i: len(entries[i].keys)):
        if not index.subsumes(entries[number]):
            index.add(entries[number])
            kept.add(number)
    return [entries[number].leaf for number in sorted(kept) if not index.subsumes(entries[number])]


# --- factoring ----------------------------------------------------------------------------------------------------------


def _factored(leaves: Iterable[Leaf], budget: Budget) -> Iterator[Leaf]:
    """The leaves, and each way to make premises of one the same, however many of them."""
    known: set[Leaf] = set()
    for leaf in leaves:
        waiting = [leaf]
        while waiting:
            current = waiting.pop()
            if current in known:
                continue
            known.add(current)
            if current is not leaf:
                budget.take(len(current.premises) + len(current.negated))
            yield current
            waiting += _merged(current, budget)


def _merged(leaf: Leaf, budget: Budget) -> Iterator[Leaf]:
    for i, j in pairs(leaf.premises):
        left, right = leaf.premises[i], leaf.premises[j]
        budget.take_step()
        if left.is_given or _clash(left, right):  # intervals of a calendar do not count as what is needed
            continue
        bindings = Bindings.of(leaf.names, leaf.times)
        if not bindings.unify(left.time, right.time):
            continue
        if all(bindings.unify(a, b) for a, b in zip(left.arguments, right.arguments, strict=True)):
            budget.take_step(_MERGING * (len(leaf.premises) + len(leaf.negated) + 1))
            absences = map(Absence, leaf.negated, leaf.places)
            merged = close(bindings, leaf.answer, leaf.premises, absences, leaf.comparisons, leaf.span)
            if merged is not None:
                yield merged


def _clash(left: Premise, right: Premise) -> bool:
    """Whether two constants differ, so that the premises are never the same."""
    return any(
        not isinstance(a, Slot) and not isinstance(b, Slot) and a != b
        for a, b in zip(left.arguments, right.arguments, strict=True)
    )


def pairs(premises: Sequence[Premise]) -> Iterator[tuple[int, int]]:
    """The places of each two premises of one predicate whose times may be the same, without a look at all the others."""
    groups: dict[str, dict[int, dict[int, list[int]]]] = {}
    for place, premise in enumerate(premises):
        time = premise.time
        root, offset = (time.variable, time.offset) if isinstance(time, Slot) else (-1, time)
        groups.setdefault(premise.predicate, {}).setdefault(root, {}).setdefault(offset, []).append(place)
    for roots in groups.values():
        for offsets in roots.values():
            for same in offsets.values():
                yield from combinations(same, 2)
        apart = [[place for same in offsets.values() for place in same] for offsets in roots.values()]
        for some, others in combinations(apart, 2):
            yield from product(some, others)
