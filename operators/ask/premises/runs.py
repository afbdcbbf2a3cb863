"""Premises that are one fact at time points in a row: they are waited for at once, and told as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace

from tidelog.operators.ask.premises.awaited import Awaited, Binding
from tidelog.plans.plan.preconditions import Precondition, Slot
from tidelog.plans.plan.stretches import SHORTEST
from tidelog.plans.tree.names import expression_variables


class Run:
    """Premises `first`, ..., which want one row at offsets in a row from one time.

    It is the pattern's run `number`. `item` stands for all of them, `mask` is the set of them, `places` tells which premise
    has which offset.
    """

    __slots__ = ("item", "mask", "number", "places", "time")

    def __init__(self, number: int, members: Sequence[tuple[int, Awaited]]) -> None:
        self.number = number
        _, first = members[0]
        self.item = Awaited(replace(first.premise, width=len(members) - 1), first.delay)
        self.time = first.time
        self.mask = sum(1 << i for i, _ in members)
        self.places = {item.offset: i for i, item in members}

    def place(self, time: int, binding: Binding) -> int | None:
        """The premise that wants its fact at this time; None if none does."""
        own = 0 if self.time is None else binding[self.time]
        return self.places.get(time - own) if isinstance(own, int) else None

    def is_fixed(self, binding: Binding) -> bool:
        """Whether it is known at which times the facts are wanted."""
        return self.time is None or binding[self.time] is not None


class Stretch:
    """Premises that are told as one, in the order of their times."""

    __slots__ = ("_is_in_a_row", "_mask", "_places")

    def __init__(self, places: Sequence[int]) -> None:
        self._places = places
        self._mask = sum(1 << i for i in places)
        self._is_in_a_row = [*places] == [*range(places[0], places[0] + len(places))]

    def parts(self, told: int) -> Iterator[int]:
        """Those of a set that stand one after the other, if they are enough to be told as one; as sets."""
        part = told & self._mask
        if self._is_in_a_row and not part & (part + (part & -part)):
            if part.bit_count() >= SHORTEST:
                yield part
            return
        part = 0
        for i in (*self._places, None):
            if i is not None and told >> i & 1:
                part |= 1 << i
                continue
            if part.bit_count() >= SHORTEST:
                yield part
            part = 0


def runs_of(premises: Iterable[Awaited]) -> list[Run]:
    """The runs among premises, where they are long enough to be worth it."""
    return [Run(number, members) for number, members in enumerate(_in_rows(premises, frozenset()))]


def lasting(premises: Iterable[Awaited], own: Container[int]) -> list[Stretch]:
    """The premises that are told as one: each wants the row that the one before it wants, but for variables of its `own`."""
    return [Stretch([i for i, _ in members]) for members in _in_rows(premises, own)]


def goes_on(stretches: Iterable[Stretch], told: int, missing: int) -> bool:
    """Whether of what was missing when it was told there has come a part of a stretch alone, which still lacks some."""
    come = told & ~missing
    for stretch in stretches:
        for part in stretch.parts(told):
            if part & missing:
                come &= ~part
    return not come


def own_variables(source: Precondition) -> frozenset[int]:
    """The variables that stand in one premise alone, and are compared with constants alone."""
    together: set[str] = set()
    for comparison in source.comparisons:
        names = set(expression_variables(comparison.left, comparison.right))
        together |= names if len(names) > 1 else set()
    terms = [*source.answer]
    for premise in (*source.premises, *source.negated, *source.given):
        terms += (*premise.arguments, premise.time)
    counts = Counter(term.variable for term in terms if isinstance(term, Slot))
    return frozenset(i for i, count in counts.items() if count == 1 and source.variables[i] not in together)


def _in_rows(premises: Iterable[Awaited], own: Container[int]) -> Iterator[list[tuple[int, Awaited]]]:
    groups: dict[object, dict[int, tuple[int, Awaited]]] = {}
    for i, item in enumerate(premises):
        terms = item.premise.arguments
        row = tuple(None if isinstance(term, Slot) and term.variable in own else term for term in terms)
        groups.setdefault((item.premise.predicate, row, item.time), {})[item.offset] = (i, item)
    return (members for group in groups.values() for members in _in_a_row(group) if len(members) >= SHORTEST)


def _in_a_row(group: dict[int, tuple[int, Awaited]]) -> Iterable[list[tuple[int, Awaited]]]:
    members: list[tuple[int, Awaited]] = []
    for offset in sorted(group):
        if members and members[-1][1].offset != offset - 1:
            yield members
            members = []
        members.append(group[offset])
    yield members
