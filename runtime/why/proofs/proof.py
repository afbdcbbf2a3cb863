"""A proof: a fact, the rule by which it follows, and a proof of each premise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tidelog.plans.data.facts import Row
from tidelog.plans.data.intervals import Range, intersected
from tidelog.plans.data.timeline import NEG, POS
from tidelog.runtime.why.evidence.grounding import Binding
from tidelog.runtime.why.evidence.truth import place_of
from tidelog.runtime.why.proofs.search import Instance, Key, Piece, Search
from tidelog.runtime.why.proofs.support import Absence, NotSupported, Support, Supporter, Total

PARTS = "parts"
"""What a fact follows by that holds over several ranges for several reasons."""
AGGREGATE = "aggregate"
"""What a value follows by that an aggregate has: by the pairs that it counts."""


@dataclass(frozen=True, eq=False, slots=True)
class Proof:
    """A row holds throughout `lo … hi`, by a rule (as text), by having been given, or by its `parts`.

    `binding` are the values of the rule's variables, `windows` for each premise the times that the rule looks at. A proof
    may stand below several others.
    """

    predicate: str
    row: Row
    lo: int
    hi: int
    by: str
    binding: Binding = field(default_factory=dict)
    premises: list[Proof | Absence] = field(default_factory=list)
    windows: list[Range] = field(default_factory=list)
    is_rule: bool = False
    total: Total | None = None


class Prover:
    """Puts proofs together from what a search has found out; the same fact has one proof."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._made: dict[tuple[str, Row, int, int], Proof] = {}
        self._waiting: list[tuple[Proof, Instance, int]] = []

    def prove(self, predicate: str, row: Row, lo: int, hi: int) -> Proof:
        """The proof of least height of a fact that the search was for."""
        proofs = self._proofs(predicate, row, lo, hi)
        self._finish()
        if len(proofs) == 1:
            return proofs[0]
        parts: list[Proof | Absence] = [*proofs]
        return Proof(predicate, row, lo, hi, PARTS, premises=parts, windows=[(each.lo, each.hi) for each in proofs])

    def others(self, predicate: str, row: Row, lo: int, hi: int, taken: Proof) -> Iterator[Proof]:
        """Further proofs: by each other instance of a rule that derives the fact, one after the other."""
        teller = self._search.teller(self._search.height + 1)
        for instance in self._search.instances((predicate, row)):
            if taken.by == instance.clause.text and taken.binding == instance.binding:
                continue
            if self._search.held(teller, instance, lo, hi) != [(lo, hi)]:
                continue
            proof = self._begin(predicate, row, lo, hi, instance, self._search.height + 1)
            try:
                self._finish()
            except NotSupported:
                continue
            if not _rests_on_itself(proof):
                yield proof

    def _finish(self) -> None:
        while self._waiting:
            self._fill(*self._waiting.pop())

    def _proofs(self, predicate: str, row: Row, lo: int, hi: int) -> list[Proof]:
        """A proof for each stretch of a fact that holds for one reason; those by rules are yet to be filled."""
        if not self._search.is_derived(predicate):
            pieces = [Piece(*times, 0, kind) for times, kind in self._search.model.given(predicate, row, lo, hi)]
        else:
            pieces = self._search.pieces((predicate, row), lo, hi)
        return [self._proof((predicate, row), max(each.lo, lo), min(each.hi, hi), each) for each in pieces]

    def _proof(self, key: Key, lo: int, hi: int, piece: Piece) -> Proof:
        known = self._made.get((*key, lo, hi))
        if known is not None:
            return known
        if isinstance(piece.by, str):
            proof = Proof(*key, lo, hi, piece.by)
        else:
            proof = self._begin(*key, lo, hi, piece.by, piece.height)
        self._made[*key, lo, hi] = proof
        return proof

    def _begin(self, predicate: str, row: Row, lo: int, hi: int, instance: Instance, height: int) -> Proof:
        proof = Proof(predicate, row, lo, hi, instance.clause.text, instance.binding, is_rule=True)
        self._waiting.append((proof, instance, height))
        return proof

    def _fill(self, proof: Proof, instance: Instance, height: int) -> None:
        """Add the premises, each of them lower than the proof."""
        self._search.step()
        self._add(proof, self._premises(proof, instance, height))

    def _add(self, proof: Proof, items: Iterable[Support]) -> None:
        for item in items:
            if isinstance(item, Absence):
                proof.premises.append(item)
                proof.windows.append((item.lo, item.hi))
            elif isinstance(item, Total):
                total = Proof("", (), item.lo, item.hi, AGGREGATE, total=item)
                self._add(total, item.premises)
                proof.premises.append(total)
                proof.windows.append(item.window)
            else:
                for below in self._proofs(item.predicate, item.row, item.lo, item.hi):
                    if below not in proof.premises:
                        proof.premises.append(below)
                        proof.windows.append(item.window)

    def _premises(self, proof: Proof, instance: Instance, height: int) -> Iterator[Support]:
        teller = self._search.teller(height)
        clause, binding = instance.clause, instance.binding
        times = proof.lo, proof.hi
        if clause.point is not None:
            place = place_of(clause.point, binding)
            if place is None:
                raise NotSupported
            time = _time_near(place, teller.truth(clause.reason, binding, NEG, POS))
            times = time, time
        yield from Supporter(teller).support(clause.reason, binding, *times)


def _time_near(place: int, held: list[Range]) -> int:
    """The time nearest to a place at which a body holds that may hold at any."""
    if not held:
        raise NotSupported
    lo, hi = min(held, key=lambda each: max(each[0] - place, place - each[1], 0))
    return max(lo, min(place, hi))


def _rests_on_itself(proof: Proof) -> bool:
    """Whether the fact, at one of its times, stands among what it rests on."""
    waiting: list[Proof | Absence] = list(proof.premises)
    seen: set[int] = set()
    while waiting:
        below = waiting.pop()
        if not isinstance(below, Proof) or id(below) in seen:
            continue
        seen.add(id(below))
        if (below.predicate, below.row) == (proof.predicate, proof.row) and intersected(
            [(below.lo, below.hi)], [(proof.lo, proof.hi)]
        ):
            return True
        waiting += below.premises
    return False
