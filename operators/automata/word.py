"""The word that both automata read: at each position explored so far a letter, the set of propositions that have to hold.

Clauses are Horn: if two words satisfy them, so does the word of what the two have in common. So of all words with the facts
given there is a least one, and an automaton that wonders which letter comes next need not guess: it takes the least that
the clauses ask for. Where a letter turns out to have been too small, since a later one asks for more at an earlier
position (an operator that looks ahead), it grows, and with it what follows from it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.operators.horn.theory import Clause, Given, Literal, Theory

LEFT, RIGHT = 0, 1


class Excluded(Exception):
    """The body of a clause without a head holds in the least word: no word is a model."""


@dataclass(slots=True)
class Side:
    """The letters on one side of the first position of the data, the nearest first.

    `current` are the facts given at the next position, of which some begin or cease at indices; from the index `steady` on
    nothing given changes. `touched` is the lowest index whose letter is new or has grown since somebody has asked.
    """

    current: set[int]
    begins: Mapping[int, Sequence[int]] = field(default_factory=dict)
    ceases: Mapping[int, Sequence[int]] = field(default_factory=dict)
    steady: int = 0
    letters: list[set[int]] = field(default_factory=list)
    touched: int = 0

    def next_letter(self) -> set[int]:
        """What is given at the next position."""
        index = len(self.letters)
        self.current.difference_update(self.ceases.get(index, ()))
        self.current.update(self.begins.get(index, ()))
        return set(self.current)


class Word:
    """The least word over the positions explored so far; `Excluded` tells that there is none.

    Invariant: between two calls each instance of a clause whose positions have all been explored is satisfied, and a
    letter holds nothing but what every model has there.
    """

    def __init__(self, theory: Theory) -> None:
        self._readers = _readers([*theory.clauses, *carried(theory)], len(theory.names))
        self._pending: dict[int, set[int]] = {}
        self._news: deque[Literal] = deque()
        self.origin, length = data_of(theory)
        before = {item.atom for item in theory.given if item.low is None}
        self.sides = (Side(set(before)), Side(before, *_changes(theory.given, self.origin), steady=length))
        self.entries = 0

    def extend(self, which: int) -> None:
        """Explore the next position on a side."""
        side = self.sides[which]
        position = self._position(which, len(side.letters))
        letter = side.next_letter() | self._pending.pop(position, set())
        side.touched = min(side.touched, len(side.letters))
        side.letters.append(letter)
        self.entries += len(letter)
        self._news.extend((atom, position) for atom in letter)
        self._settle()

    def promise(self, which: int, atoms: Iterable[int], index: int) -> None:
        """These propositions are known to hold on a side from an index on, for ever."""
        side = self.sides[which]
        side.steady = max(side.steady, index)
        for atom in atoms:
            side.current.add(atom)
            for place in range(index, len(side.letters)):
                self._put((atom, self._position(which, place)))
        self._settle()

    def _position(self, which: int, index: int) -> int:
        return self.origin + index if which == RIGHT else self.origin - 1 - index

    def _letter(self, position: int) -> set[int] | None:
        """The letter at a position; None where none has been explored."""
        index = position - self.origin
        side = self.sides[RIGHT] if index >= 0 else self.sides[LEFT]
        index = index if index >= 0 else ~index
        return side.letters[index] if index < len(side.letters) else None

    def _put(self, found: Literal) -> None:
        """Let a proposition hold at a position; beyond the positions explored it waits until they are."""
        atom, position = found
        letter = self._letter(position)
        if letter is None:
            self._pending.setdefault(position, set()).add(atom)
        elif atom not in letter:
            letter.add(atom)
            self.entries += 1
            side, index = (RIGHT, position - self.origin) if position >= self.origin else (LEFT, self.origin - 1 - position)
            self.sides[side].touched = min(self.sides[side].touched, index)
            self._news.append(found)

    def _settle(self) -> None:
        """Let everything follow that follows from what is new."""
        while self._news:
            atom, position = self._news.popleft()
            for offset, clause in self._readers[atom]:
                base, head = position - offset, clause.head
                if clause.parity is not None and base & 1 != clause.parity:
                    continue
                if head is not None and self._holds(head, base):
                    continue
                if all(self._holds(literal, base) for literal in clause.body):
                    if head is None:
                        raise Excluded
                    self._put((head[0], base + head[1]))

    def _holds(self, literal: Literal, base: int) -> bool:
        letter = self._letter(base + literal[1])
        return letter is not None and literal[0] in letter


def carried(theory: Theory) -> Iterator[Clause]:
    """What `Always` says of two positions: its flag holds where the operand does, and the flag does behind it."""
    for item in theory.always:
        yield Clause((item.flag, 0), ((item.operand, 0), (item.flag, 1 if item.future else -1)))


def _readers(clauses: Iterable[Clause], atoms: int) -> list[list[tuple[int, Clause]]]:
    """For each proposition, at which offsets it stands in which bodies."""
    found: list[list[tuple[int, Clause]]] = [[] for _ in range(atoms)]
    for clause in clauses:
        tried = Clause(clause.head, _ends_first(clause.body), clause.parity)
        for atom, offset in clause.body:
            found[atom].append((offset, tried))
    return found


def _ends_first(body: Sequence[Literal]) -> tuple[Literal, ...]:
    """A body in the order in which it is tried: what lies farthest out has most likely not been explored."""
    ordered = sorted(body, key=lambda literal: literal[1])
    return (*ordered[-1:], *ordered[:-1])


def data_of(theory: Theory) -> tuple[int, int]:
    """The first position at which something given begins or ends, and how many there are up to the last one."""
    ends = [end for item in theory.given for end in (item.low, item.high) if end is not None]
    return (min(ends), max(ends) - min(ends) + 1) if ends else (0, 0)


def _changes(given: Iterable[Given], origin: int) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Which propositions begin to be given at which index to the right, and which cease."""
    begins: dict[int, list[int]] = defaultdict(list)
    ceases: dict[int, list[int]] = defaultdict(list)
    for atom, low, high in _coalesced(given):
        if low is not None:
            begins[low - origin].append(atom)
        if high is not None:
            ceases[high + 1 - origin].append(atom)
    return begins, ceases


def _coalesced(given: Iterable[Given]) -> Iterator[tuple[int, int | None, int | None]]:
    """The facts given, those of a proposition that touch or overlap as one."""
    found: dict[int, list[tuple[int | None, int | None]]] = {}
    for item in sorted(given, key=lambda item: (item.low is not None, item.low or 0)):
        ranges = found.setdefault(item.atom, [])
        low, high = ranges[-1] if ranges else (0, -2)
        if ranges and (high is None or item.low is None or item.low <= high + 1):
            ranges[-1] = low, None if high is None or item.high is None else max(high, item.high)
        else:
            ranges.append((item.low, item.high))
    for atom, ranges in found.items():
        for low, high in ranges:
            yield atom, low, high
