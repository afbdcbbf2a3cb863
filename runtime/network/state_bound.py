"""The bound on what a run holds: beyond it the run ends with an error that names what grows, not with the machine's memory.

What counts is rows: the ranges that steps store, the facts on their way from one step to the next (within loops, too),
answers that wait for their end or for whoever takes them, partial answers of questions. To count them means to walk through
what is stored, at 20 to 60 ns a row. So they are counted only when as many facts have moved as could have filled half of the
room that was left (1/16 of the bound at least): while there is much room that is seldom, and near the bound it costs each
fact about a microsecond. In between, `room` is what one call of an operator may make: a join can make all of it out of a
handful of facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tidelog.operators.stores.room import UNBOUNDED, NoRoomError, Room
from tidelog.plans.diagnostics.errors import StateError

MAX_STATE = 2_000_000
"""How many rows a stream's run may hold unless told otherwise.

A row takes 400 to 650 bytes (CPython 3.11), so this is some 1 GB: what a gateway with 2 GB can spare.
"""
MAX_STATE_IN_BATCH = 10_000_000
"""The same in batch, with all facts there at once, where there is more memory: some 5 GB."""
ON_THE_WAY = 4
"""So many facts on their way count as one row: one takes 64 to 150 bytes, and its row is mostly stored as well."""
_LEAST_PART = 16


def check_max_state(most: object) -> int:
    """How many rows may be held; ValueError for a bound that is not above 0, TypeError for one that is no whole number.

    It is any object here: compiled code would refuse by itself, with words of its own, what is not of the type it expects.
    """
    if most is None:
        return UNBOUNDED
    if not isinstance(most, int) or isinstance(most, bool):
        raise TypeError(f"`max_state` is a whole number of rows, or None, got {type(most).__name__}")
    if most < 1:
        raise ValueError(f"`max_state` is 1 or more, or None, got {most}")
    return most


@dataclass(frozen=True, slots=True)
class Holding:
    """So many rows are held by one holder, which `tell`s what it is, and its place in the program or nothing."""

    rows: int
    tell: Callable[[], tuple[str, str]]


class StateBound:
    """Counts now and then what is held, as those who hold it tell, and raises StateError where it is more than `most`.

    So many rows as are `left` may come in or be made before it `count`s; whoever moves them takes them off. Without `most`
    nothing is counted. ValueError where it is not above 0, TypeError where it is no whole number.
    """

    def __init__(self, most: object) -> None:
        self._most = check_max_state(most)
        self.room = Room(self._most)
        self._holders: dict[str, Callable[[], Iterable[Holding]]] = {}
        self.left = self._most // _LEAST_PART

    def watch(self, name: str, holder: Callable[[], Iterable[Holding]]) -> None:
        """Count what this one tells, too, in place of what had the same name before."""
        self._holders[name] = holder

    def let_go(self) -> None:
        """All that is held is of no use any more: nobody is counted, or kept alive, from here on."""
        self._holders.clear()

    def moved(self, rows: int) -> None:
        """So many rows have come in or were made; StateError where more are held by now than may be."""
        self.left -= rows
        if self.left < 0:
            self.count()

    def count(self) -> None:
        """Count all that is held; StateError where it is too much."""
        holdings = [holding for holder in self._holders.values() for holding in holder()]
        total = sum(holding.rows for holding in holdings)
        if total > self._most:
            raise self.error(max(holdings, key=lambda holding: holding.rows))
        self.room.rows = self._most - total
        self.left = max(self.room.rows // 2, self._most // _LEAST_PART)

    def held(self) -> int:
        """How many rows are held."""
        return sum(holding.rows for holder in self._holders.values() for holding in holder())

    def error(self, holding: Holding) -> StateError:
        """The error for a holder that has grown too large."""
        return StateError(*holding.tell(), holding.rows, self._most)

    def too_many_answers(self, full: NoRoomError) -> StateError:
        """The error for what the emission would have to tell at once."""
        return self.error(Holding(full.rows, lambda: ("answers at the time points of one batch", "")))
