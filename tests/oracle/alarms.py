"""Alarms as the standard has them (ISA-18.2, figure of the state model): a table, followed point by point.

Time is cut into cells: whole times, and on the rational timeline also what lies between two of them. Facts, and what people
do, begin and end at whole times, so that nothing changes within a cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tidelog.plans.data.facts import Row

Event = Literal["hide", "hold", "clear", "acknowledge"]

NORMAL = "normal"
TABLE: dict[str, dict[Event, str]] = {
    NORMAL: {"hide": NORMAL, "hold": "unacknowledged", "clear": NORMAL, "acknowledge": NORMAL},
    "unacknowledged": {
        "hide": NORMAL,
        "hold": "unacknowledged",
        "clear": "returned_unacknowledged",
        "acknowledge": "acknowledged",
    },
    "acknowledged": {"hide": NORMAL, "hold": "acknowledged", "clear": NORMAL, "acknowledge": "acknowledged"},
    "returned_unacknowledged": {
        "hide": NORMAL,
        "hold": "unacknowledged",
        "clear": "returned_unacknowledged",
        "acknowledge": NORMAL,
    },
}
"""What becomes of a state when its condition holds, when it does not, when it is acknowledged, and when it is hidden."""


@dataclass(frozen=True)
class Done:
    """What somebody did with an alarm, at a whole time; a shelf is `lasting`."""

    action: str
    row: Row
    at: int
    who: str = "anna"
    comment: str = ""
    lasting: int = 0


@dataclass(frozen=True)
class Moment:
    """What is so of an alarm in one cell: its state, who took it on, shelved it and removed it, and since when it is there.

    `begins` is the cell in which its condition began, or where it has returned, in which it was first raised; `ends` the one
    in which it returned; `until` the time at which the last of its shelves ends.
    """

    state: str
    acknowledged: frozenset[str] = frozenset()
    shelved: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    until: int | None = None
    begins: Fraction | None = None
    ends: Fraction | None = None


def cells(is_dense: bool, last: int) -> list[Fraction]:
    """A time in each cell, from 0 on."""
    return [Fraction(half, 2) for half in range(0, 2 * last + 1, 1 if is_dense else 2)]


def latched(ons: Sequence[int], offs: Sequence[int], times: Sequence[Fraction]) -> set[Fraction]:
    """Where `not off since on` holds: it still holds when `off` comes."""
    found, holds = set(), False
    for time in times:
        if time in ons or holds:
            found.add(time)
        holds = time in ons or (holds and time not in offs)
    return found


class Life:
    """The life of one alarm with its arguments."""

    def __init__(self, *, is_latched: bool) -> None:
        self._table = TABLE if is_latched else {**TABLE, "unacknowledged": {**TABLE["unacknowledged"], "clear": NORMAL}}
        self._state = NORMAL
        self._acknowledged: set[str] = set()
        self._removed: set[str] = set()
        self._shelves: list[Done] = []
        self._condition: Fraction | None = None
        self._raised: Fraction | None = None
        self._returned: Fraction | None = None

    def live(
        self, times: Sequence[Fraction], holding: set[Fraction], hiding: set[Fraction], done: Sequence[Done]
    ) -> Iterator[Moment]:
        """What is so in each cell, by where the condition holds, and where what inhibits it does."""
        for time in times:
            yield self._at(time, time in holding, time in hiding, [item for item in done if item.at == time])

    def _at(self, time: Fraction, holds: bool, is_inhibited: bool, done: Sequence[Done]) -> Moment:
        self._condition = (self._condition if self._condition is not None else time) if holds else None
        actions = {item.action for item in done}
        self._removed |= {item.who for item in done if item.action == "remove"}
        if "restore" in actions:
            self._removed = set()
        self._shelves = [shelf for shelf in self._shelves if time < shelf.at + shelf.lasting]
        self._shelves += [item for item in done if item.action == "shelve"]
        if "unshelve" in actions:
            self._shelves = []
        self._step("hide" if self._removed or self._shelves or is_inhibited else "hold" if holds else "clear")
        if "acknowledge" in actions:
            if self._state in ("unacknowledged", "acknowledged"):
                self._acknowledged |= {item.who for item in done if item.action == "acknowledge"}
            self._step("acknowledge")
        if self._state != "acknowledged":
            self._acknowledged = set()
        self._raised = None if self._state == NORMAL else self._raised if self._raised is not None else time
        returned = self._state == "returned_unacknowledged"
        self._returned = (self._returned if self._returned is not None else time) if returned else None
        return Moment(
            self._shown(holds and is_inhibited),
            frozenset(self._acknowledged),
            frozenset(item.who for item in self._shelves),
            frozenset(self._removed),
            max((item.at + item.lasting for item in self._shelves), default=None),
            self._condition if self._condition is not None else self._raised,
            self._returned,
        )

    def _step(self, event: Event) -> None:
        self._state = self._table[self._state][event]

    def _shown(self, is_suppressed: bool) -> str:
        """The state that is told: what hides an alarm comes first."""
        if self._removed:
            return "out_of_service"
        if self._shelves:
            return "shelved"
        return "suppressed" if is_suppressed else self._state
