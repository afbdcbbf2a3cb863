"""Premises that are one fact at time points in a row: a partial answer waits for all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidelog.operators.ask.awaited import Awaited, Binding
from tidelog.plans.stretches import SHORTEST


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


def runs_of(premises: Iterable[Awaited]) -> list[Run]:
    """The runs among premises, where they are long enough to be worth it."""
    groups: dict[object, dict[int, tuple[int, Awaited]]] = {}
    for i, item in enumerate(premises):
        groups.setdefault((item.premise.predicate, item.premise.arguments, item.time), {})[item.offset] = (i, item)
    found = [members for group in groups.values() for members in _in_a_row(group) if len(members) >= SHORTEST]
    return [Run(number, members) for number, members in enumerate(found)]


def _in_a_row(group: dict[int, tuple[int, Awaited]]) -> Iterable[list[tuple[int, Awaited]]]:
    members: list[tuple[int, Awaited]] = []
    for offset in sorted(group):
        if members and members[-1][1].offset != offset - 1:
            yield members
            members = []
        members.append(group[offset])
    yield members
