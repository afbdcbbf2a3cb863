"""Metric operators as Horn clauses over positions: each line of Table 1 of Wałęga et al. 2023, for points and for gaps.

On dense time an even position is a point and an odd one a gap. From a point at the position t, the distances ϱ reach the
positions t−ϱ; an open end takes off its point, so one position. From anywhere inside a gap they reach part of either
outer gap, whatever the brackets: so all positions from t−ϱ⁺ to t−ϱ⁻. What holds in part of a gap holds in all of it.

A long stretch of positions is covered by two overlapping ones whose length is a power of two, and these are halved in
turn: so an operator costs as many clauses as its length has binary digits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.operators.horn.builder import TheoryBuilder
from tidelog.operators.horn.grid import Distances
from tidelog.operators.horn.theory import Always, Clause, Literal

POINT, GAP = 0, 1
SHORT = 8
"""Stretches of up to so many positions are spelt out."""


@dataclass(frozen=True, slots=True)
class Expander:
    """Operators that look into the `future`, or back, on a grid of points and gaps (`is_dense`) or of integers."""

    builder: TheoryBuilder
    future: bool
    is_dense: bool

    def diamond(self, head: Literal | None, inner: int, reach: Distances) -> Iterator[Clause]:
        """◇ϱ."""
        parities: dict[Literal, list[int | None]] = defaultdict(list)
        for parity in self._parities:
            low, high = _ends(reach, parity)
            seen = [self._reached(inner, low)] if high is None else self._some(inner, low, high)
            for literal in seen:
                parities[literal].append(parity)
        for literal, kinds in parities.items():
            yield Clause(head, (literal,), kinds[0] if len(kinds) < len(self._parities) else None)

    def box(self, head: Literal | None, inner: int, reach: Distances) -> Iterator[Clause]:
        """□ϱ."""
        bodies: dict[tuple[Literal, ...], list[int | None]] = defaultdict(list)
        for parity in self._parities:
            low, high = _ends(reach, parity)
            seen = [self._kept(inner, low)] if high is None else self._all(inner, low, high)
            bodies[tuple(seen)].append(parity)
        for body, kinds in bodies.items():
            yield Clause(head, body, kinds[0] if len(kinds) < len(self._parities) else None)

    def since(self, head: Literal | None, left: int | None, right: int, reach: Distances) -> Iterator[Clause]:
        """M1 Sϱ M2, or until. Without a `left` only the distances count at which nothing has to hold in between."""
        for parity in self._parities:
            low, high = _ends(reach, parity)
            if low == 0 and not (parity == GAP and reach.left_open):
                yield Clause(head, (self._at(right, 0),), parity)
                low = 1
            if left is None:
                if low <= 1 and (high is None or high >= 1) and not self.is_dense:
                    yield Clause(head, (self._at(right, 1),), parity)
            elif high is None or low <= high:
                for begun, distance in self._begun(left, right, low, high):
                    between = self._all(left, 0 if parity == GAP else 1, distance - 1)
                    yield Clause(head, (self._at(begun, distance), *between), parity)

    @property
    def _parities(self) -> tuple[int | None, ...]:
        """The kinds of positions that clauses may have to tell apart."""
        return (POINT, GAP) if self.is_dense else (None,)

    @property
    def _side(self) -> str:
        return "plus" if self.future else "minus"

    def _at(self, atom: int, distance: int) -> Literal:
        return atom, distance if self.future else -distance

    def _name(self, atom: int) -> str:
        return self.builder.names[atom]

    # --- stretches of positions -----------------------------------------------------------------------------------------

    def _some(self, inner: int, low: int, high: int) -> list[Literal]:
        """One of these holds exactly if `inner` holds at one of the distances."""
        if high - low < SHORT:
            return [self._at(inner, distance) for distance in range(low, high + 1)]
        size = _power(high - low + 1)
        half = self._some_of(inner, size)
        return list(dict.fromkeys((self._at(half, low), self._at(half, high - size + 1))))

    def _some_of(self, inner: int, size: int) -> int:
        """What says that `inner` holds here, or at one of the `size` - 1 positions beyond."""
        if size == 1:
            return inner
        aux, is_new = self.builder.shared(f"diamond{self._side} {size} {self._name(inner)}")
        if is_new:
            half = self._some_of(inner, size // 2)
            self.builder.add(Clause((aux, 0), (self._at(half, distance),)) for distance in (0, size // 2))
        return aux

    def _all(self, inner: int, low: int, high: int) -> list[Literal]:
        """All of these hold exactly if `inner` holds at all of the distances, of which there may be none."""
        if high - low < SHORT:
            return [self._at(inner, distance) for distance in range(low, high + 1)]
        size = _power(high - low + 1)
        half = self._all_of(inner, size)
        return list(dict.fromkeys((self._at(half, low), self._at(half, high - size + 1))))

    def _all_of(self, inner: int, size: int) -> int:
        """What says that `inner` holds here, and at all of the `size` - 1 positions beyond."""
        if size == 1:
            return inner
        aux, is_new = self.builder.shared(f"box{self._side} {size} {self._name(inner)}")
        if is_new:
            half = self._all_of(inner, size // 2)
            self.builder.add([Clause((aux, 0), (self._at(half, 0), self._at(half, size // 2)))])
        return aux

    def _reached(self, inner: int, distance: int) -> Literal:
        """`inner` holds at this distance or beyond."""
        aux, is_new = self.builder.shared(f"diamond{self._side} {self._name(inner)}")
        if is_new:
            self.builder.add([Clause((aux, 0), ((inner, 0),)), Clause((aux, 0), (self._at(aux, 1),))])
        return self._at(aux, distance)

    def _kept(self, inner: int, distance: int) -> Literal:
        """`inner` holds at this distance and at all beyond."""
        flag, is_new = self.builder.shared(f"box{self._side} {self._name(inner)}")
        if is_new:
            self.builder.always.append(Always(flag, inner, self.future))
        return self._at(flag, distance)

    # --- since and until ------------------------------------------------------------------------------------------------

    def _begun(self, left: int, right: int, low: int, high: int | None) -> list[tuple[int, int]]:
        """Propositions and distances: one of them holds exactly if M2 did at one of the distances low … high, and M1 from
        behind that up to the distance told, in the gap of M2 too."""
        if high is None:
            return [(self._ever_begun(left, right), low)]
        if high - low < SHORT:
            return [(self._begins(left, right), distance) for distance in range(low, high + 1)]
        size = _power(high - low + 1)
        begun = self._begun_within(left, right, size)
        return list(dict.fromkeys(((begun, low), (begun, high - size + 1))))

    def _pair(self, left: int, right: int) -> str:
        return f"{self._name(left)} {'until' if self.future else 'since'} {self._name(right)}"

    def _begins(self, left: int, right: int) -> int:
        """M2; in a gap, of which a part lies between the two times, with M1."""
        if not self.is_dense:
            return right
        aux, is_new = self.builder.shared(f"{self._name(right)} where {self._name(left)} may begin")
        if is_new:
            self.builder.add([Clause((aux, 0), ((right, 0),), POINT), Clause((aux, 0), ((right, 0), (left, 0)), GAP)])
        return aux

    def _begun_within(self, left: int, right: int, size: int) -> int:
        """M2 at one of so many positions from here on, and M1 from behind that up to here."""
        if size == 1:
            return self._begins(left, right)
        aux, is_new = self.builder.shared(f"{size} {self._pair(left, right)}")
        if is_new:
            half, shift = self._begun_within(left, right, size // 2), size // 2
            further = (self._at(half, shift), *self._all(left, 0, shift - 1))
            self.builder.add([Clause((aux, 0), ((half, 0),)), Clause((aux, 0), further)])
        return aux

    def _ever_begun(self, left: int, right: int) -> int:
        """The same without a last position."""
        aux, is_new = self.builder.shared(self._pair(left, right))
        if is_new:
            begins = self._begins(left, right)
            self.builder.add([Clause((aux, 0), ((begins, 0),)), Clause((aux, 0), (self._at(aux, 1), (left, 0)))])
        return aux


def _ends(reach: Distances, parity: int | None) -> tuple[int, int | None]:
    """The shortest and the longest distance at which a position of this parity looks."""
    is_point = parity == POINT
    high = None if reach.high is None else reach.high - (reach.right_open and is_point)
    return reach.low + (reach.left_open and is_point), high


def _power(number: int) -> int:
    """The largest power of two that is not above a number ≥ 1."""
    return 1 << number.bit_length() - 1
