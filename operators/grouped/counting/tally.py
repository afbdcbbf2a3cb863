"""What a window asks of a function: take facts in as they begin, and tell the value at a time.

A **tally** belongs to one group. Times are asked for in order. There are two kinds. A `Tally` goes by which facts have a
time point in the window at all, so its value changes only where a fact comes in, leaves, or is reached by an edge of the
window. A `Flow` weighs facts by how many time points of the window they have, so while a long fact comes in or leaves, its
value may change at each tick: what flows in and out at each tick is known, and any number of ticks is passed at once.

A fact may be **open**: it holds until further notice (`operators/stores/notices.py`), so its end is told later.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tidelog.plans.data.timeline import POS
from tidelog.plans.tree.syntax import Value


class Tally(ABC):
    """The value of a function that only asks which facts there are in the window."""

    __slots__ = ()

    @abstractmethod
    def enter(self, lo: int, hi: int, value: Value | None, number: int = 0) -> None:
        """A fact begins: the window's end gets to `lo`. One that is open has a number, and no end yet."""

    def close(self, number: int, lo: int, hi: int, value: Value | None) -> None:  # noqa: B027 - most need not be told
        """The fact with this number, open so far, has ended at `hi`."""

    def leave(self, value: Value | None) -> None:  # noqa: B027 - most need not be told
        """The window's begin has passed a fact's last time."""

    def turns(self, lo: int, hi: int) -> tuple[int, ...]:
        """Other times at which the value may change because of a fact, besides its begin and when it leaves."""
        return ()

    @abstractmethod
    def value(self, time: int) -> Value | None:
        """The value of the window that ends at a time; None if it has none."""


class Flow(ABC):
    """The value of a function that weighs facts by their time points."""

    __slots__ = ()

    @abstractmethod
    def add(self, value: Value | None, weight: int) -> None:
        """So many time points of a fact come in; or leave, if the weight is below 0."""

    @abstractmethod
    def change_rate(self, value: Value | None, change: int) -> None:
        """From now on so many time points more come in at each tick; or leave, below 0."""

    @abstractmethod
    def move(self, ticks: int) -> None:
        """Let so many ticks pass."""

    @abstractmethod
    def is_steady(self) -> bool:
        """Whether the value stays the same as long as only ticks pass, and there is something in the window."""

    def lasts(self) -> int:
        """For how many ticks at the least the value stays the same, as long as only ticks pass; `POS` for ever."""
        return POS if self.is_steady() else 0

    @abstractmethod
    def value(self) -> Value | None:
        """The value at this time; None if it has none."""


class Amount(Flow):
    """A flow that can be put away while nothing flows: a period keeps one of each group."""

    __slots__ = ()

    @abstractmethod
    def state(self) -> list[Any]:
        """What has come in, as plain data, while nothing flows: numbers of any size as texts."""

    @abstractmethod
    def load(self, state: list[Any]) -> None:
        """Take over what `state` gave, when nothing has come in."""
