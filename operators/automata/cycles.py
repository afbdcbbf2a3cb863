"""Cycles: where an automaton comes back to a state, so that the word can go on for ever as it went in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tidelog.operators.automata.word import Side
from tidelog.operators.horn.theory import Always

_MODULUS = (1 << 61) - 1
_BASE = 0x1F3D5B79A86C42E1 % _MODULUS
_EVERY = 16


@dataclass(frozen=True, slots=True)
class Cycle:
    """The same state behind the letters `first` and `last` of a side (indices): the letters in between may be repeated."""

    first: int
    last: int

    def letters(self, side: Side) -> Sequence[set[int]]:
        """The letters that are repeated."""
        return side.letters[self.first + 1 : self.last + 1]


def unmet(side: Side, cycle: Cycle, always: Sequence[Always]) -> Iterator[int]:
    """The flags whose acceptance set the cycle never meets: it has their operand everywhere and them not everywhere.

    The acceptance set of a flag are the states whose last letter has the flag, or has not its operand.
    """
    common = set.intersection(*cycle.letters(side))
    for item in always:
        if item.operand in common and item.flag not in common:
            yield item.flag


@dataclass(slots=True)
class CycleFinder:
    """Finds the first state that comes again in the run along a side.

    A state is a window, the last `width` letters, and with a `period` of 2 whether its end is a point or a gap. It counts
    from where nothing given changes any more. States are found by hashes that are rolled on from one to the next, and
    compared letter by letter.
    """

    side: Side
    width: int
    period: int
    hashes: list[int] = field(default_factory=lambda: [0])
    keys: list[tuple[int, int] | None] = field(default_factory=list)
    states: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    found: Cycle | None = None
    next_look: int = 0

    def find(self) -> Cycle | None:
        """The cycle, if there is one by now; looked for again only when the run has become a good deal longer."""
        if self.found is not None and self.side.touched > self.found.last and self.found.first + 1 >= self.side.steady:
            return self.found
        self.found = None
        if len(self.side.letters) >= self.next_look:
            self._forget(self.side.touched)
            self.found = self._look()
            self.side.touched = len(self.side.letters)
            self.next_look = 0 if self.found else len(self.side.letters) + len(self.side.letters) // _EVERY + 1
        return self.found

    def _forget(self, index: int) -> None:
        """What is known of the states from an index on."""
        while len(self.keys) > index:
            key = self.keys.pop()
            if key is not None:
                self.states[key].pop()
        del self.hashes[index + 1 :]

    def _look(self) -> Cycle | None:
        power = pow(_BASE, self.width, _MODULUS)
        for index in range(len(self.keys), len(self.side.letters)):
            letter = hash(frozenset(self.side.letters[index]))
            self.hashes.append((self.hashes[-1] * _BASE + letter) % _MODULUS)
            begin = index + 1 - self.width
            if begin < 0 or index + 1 < self.side.steady:
                self.keys.append(None)
                continue
            key = (self.hashes[-1] - self.hashes[begin] * power) % _MODULUS, index % self.period
            earlier = self._same_state(index, key)
            self.keys.append(key)
            self.states.setdefault(key, []).append(index)
            if earlier is not None:
                return Cycle(earlier, index)
        return None

    def _same_state(self, index: int, key: tuple[int, int]) -> int | None:
        """The first state that is that of this index, among those with the same hash."""
        window = self._window(index)
        for earlier in self.states.get(key, ()):
            if earlier + 1 >= self.side.steady and self._window(earlier) == window:
                return earlier
        return None

    def _window(self, index: int) -> Sequence[set[int]]:
        return self.side.letters[index + 1 - self.width : index + 1]
