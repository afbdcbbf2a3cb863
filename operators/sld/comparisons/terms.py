"""Terms, and their most general unifiers: a constant, or a variable and an integer that is added to it."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.plans.plan.preconditions import Argument, Slot
from tidelog.plans.tree.numerals import canonical

Mark = tuple[int, int, int]


def shift(term: Argument, by: int) -> Argument:
    """The term plus an integer; a text cannot be shifted, and stays (no unifier makes a time of it)."""
    if isinstance(term, Slot):
        return Slot(term.variable, term.offset + by) if by else term
    if isinstance(term, str) or not by:
        return term
    return term + by if isinstance(term, int) else canonical(term + by)


class Bindings:
    """The substitution that a derivation has built so far, with a trail by which it is taken back.

    Variables are numbers in order of their making. A variable is only ever replaced by an older one, so a goal keeps its
    variables (Cruz-Filipe, Gaspar and Nunes 2020, Lemma 5). Those that stand for times take whole numbers alone.

    >>> bindings = Bindings()
    >>> time, later = bindings.new("T", is_time=True), bindings.new("T", is_time=True)
    >>> bindings.unify(shift(later, -2), time), bindings.walk(later)
    (True, Slot(variable=0, offset=2))
    """

    __slots__ = ("_made_times", "_terms", "_trail", "names", "times")

    def __init__(self) -> None:
        self.names: list[str] = []
        self.times: set[int] = set()
        self._terms: dict[int, Argument] = {}
        self._trail: list[int] = []
        self._made_times: list[int] = []

    @classmethod
    def of(cls, names: Iterable[str], times: Iterable[int]) -> Bindings:
        """A substitution that replaces nothing yet, over variables of these names; those of `times` are times."""
        bindings = cls()
        bindings.names.extend(names)
        bindings.times.update(times)
        return bindings

    def new(self, name: str, is_time: bool = False) -> Slot:
        """A fresh variable, with the name that a user knows it by."""
        variable = len(self.names)
        self.names.append(name)
        if is_time:
            self._make_time(variable)
        return Slot(variable)

    def walk(self, term: Argument) -> Argument:
        """The term as the substitution has it: a constant, or a variable that is still free."""
        if not isinstance(term, Slot):
            return term
        variable, offset, terms = term.variable, term.offset, self._terms
        while (bound := terms.get(variable)) is not None:
            if not isinstance(bound, Slot):
                return shift(bound, offset)
            variable, offset = bound.variable, offset + bound.offset
        return term if variable == term.variable else Slot(variable, offset)

    def unify(self, left: Argument, right: Argument) -> bool:
        """Make two terms equal by a most general unifier; False if there is none (what it bound, `undo` takes back)."""
        left, right = self.walk(left), self.walk(right)
        if isinstance(left, Slot) and isinstance(right, Slot):
            if left.variable == right.variable:
                return left.offset == right.offset
            older, newer = (left, right) if left.variable < right.variable else (right, left)
            return self._bind(newer.variable, shift(older, -newer.offset))
        if isinstance(left, Slot):
            return self._assign(left, right)
        if isinstance(right, Slot):
            return self._assign(right, left)
        return left == right

    def mark(self) -> Mark:
        """Where the substitution stands now, for `undo`."""
        return len(self.names), len(self._trail), len(self._made_times)

    def undo(self, mark: Mark) -> None:
        """Take back every variable and every binding since the mark."""
        names, trail, times = mark
        for variable in self._trail[trail:]:
            del self._terms[variable]
        self.times.difference_update(self._made_times[times:])
        del self.names[names:], self._trail[trail:], self._made_times[times:]

    def _assign(self, slot: Slot, value: Argument) -> bool:
        if slot.offset and isinstance(value, str):
            return False
        return self._bind(slot.variable, shift(value, -slot.offset))

    def _bind(self, variable: int, term: Argument) -> bool:
        if variable in self.times:
            if isinstance(term, Slot):
                self._make_time(term.variable)
            elif not isinstance(term, int):
                return False
        self._terms[variable] = term
        self._trail.append(variable)
        return True

    def _make_time(self, variable: int) -> None:
        if variable not in self.times:
            self.times.add(variable)
            self._made_times.append(variable)
