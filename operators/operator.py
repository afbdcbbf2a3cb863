"""The one shape of all operators: facts in, facts out; no clock, no input or output, no waiting.

Lifecycle: built from its step's parameters → `feed`, `settle` and `tidy`, in any order, any number of times → dropped. At
any moment between two calls `snapshot` gives its whole state as plain data (lists, numbers, text), which `restore` takes.

Facts travel with a **frontier** behind them: a promise that no new coverage at times ≤ frontier will come through that
port. An operator passes on a promise of its own, `frontier`, computed from those of its ports; a `far_sighted` one promises
more where it knows that it cannot hold (`plans/analysis/physical/prospects.py`). What goes on holding until further notice
is told by `notices` (`operators/stores/notices.py`), or, where it has `pieces`, anew at each frontier. The facts on a
channel are disjoint: each row at each time is sent at most once. An operator relies on this for its ports and keeps it for
its output. There are two exceptions, at ports that take them without harm: what a union passes on
(`plans/analysis/physical/repeating.py`) may come again, and so may what is part of a row that stands.

One that can make many facts of few looks at the `room` that there is, and raises NoRoomError where it is too little.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.passing import Passing
from tidelog.operators.stores.pieces import Pieces, without
from tidelog.operators.stores.room import Room
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS


@dataclass(frozen=True, slots=True)
class OperatorStatistics:
    """What an operator has done so far, and what it holds at this moment.

    `evaluations` counts how often it was given facts, `received` and `sent` count these, `entries` stored ranges,
    `failed_evaluations` rows for which arithmetic had no result (text, division by zero, a number out of bounds).
    `dropped` are facts that it let go at once, since nothing can meet them any more; `spared` those that were dropped before
    it saw them, and `slept` tells for how long (encoded) it could not hold and was left alone (prospects). `seconds` is
    what it took, where that is measured: in a history in columns.
    """

    received: int
    sent: int
    entries: int
    failed_evaluations: int
    evaluations: int = 0
    dropped: int = 0
    spared: int = 0
    slept: int = 0
    seconds: float = 0.0

    def plus(self, other: OperatorStatistics) -> OperatorStatistics:
        """What two have done together."""
        return OperatorStatistics(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(OperatorStatistics))
        )


class Operator(ABC):
    """An incremental, deterministic function from coverage on its ports to coverage on its output."""

    __slots__ = (
        "dropped",
        "evaluations",
        "far_sighted",
        "frontier",
        "frontiers",
        "is_followed",
        "notices",
        "passing",
        "pieces",
        "received",
        "room",
        "sent",
        "takes_notices",
    )

    settles_by_port = True
    """Whether `settle` does different things at each port; otherwise once is enough for all ports that have moved."""

    def __init__(self, ports: int) -> None:
        self.frontiers = [NEG] * ports
        self.frontier = NEG
        self.received = self.sent = self.evaluations = self.dropped = 0
        self.far_sighted = self.takes_notices = False
        self.is_followed = False  # whether `advance` is called right behind what is received
        self.notices = Notices()  # told since `told_notices` was asked last
        self.passing: Passing | None = None
        self.pieces: Pieces | None = None
        self.room = Room()

    def receive(self, port: int, facts: Sequence[Fact], frontier: int, notices: Notices | None = None) -> list[Fact]:
        """Take new coverage on a port and the frontier behind it; returns the new coverage that follows."""
        out: list[Fact] = []
        if notices is not None:
            self.evaluations += 1
            self.received += len(notices.begun) + len(notices.ended)
            out = self.hear(port, facts, notices)
        elif facts:
            self.evaluations += 1
            out = self.feed(port, facts)
        if frontier > self.frontiers[port]:
            self.frontiers[port] = frontier
            out = out + self.settle(port) if out else self.settle(port)
            self.tidy()
        if self.pieces is not None:
            out = self._in_pieces(self.pieces, out)
        self.received += len(facts)
        self.sent += len(out)
        return out

    def advance(self, frontiers: Sequence[int]) -> list[Fact]:
        """Take the frontier behind each port, as far as it has moved; returns the new coverage that follows.

        What cannot matter any more is let go by `tidy`, which whoever calls this calls when there is time.
        """
        known = self.frontiers
        out: list[Fact] = []
        last = -1
        for port, frontier in enumerate(frontiers):
            if frontier > known[port]:
                known[port], last = frontier, port
                if self.settles_by_port:
                    out += self.settle(port)
        if last >= 0 and not self.settles_by_port:
            out = self.settle(last)
        if self.pieces is not None:
            out = self._in_pieces(self.pieces, out)
        self.sent += len(out)
        return out

    def told_notices(self) -> Notices | None:
        """What it has told by notices since this was asked last; None if that is nothing."""
        told = self.notices
        if not told.begun and not told.ended:
            return None
        self.notices = Notices()
        self.sent += len(told.begun) + len(told.ended)
        return told

    def _in_pieces(self, pieces: Pieces, out: list[Fact]) -> list[Fact]:
        told = self.notices
        if not told.begun and not told.ended:
            return pieces.follow(out, self.known(), self.frontier)
        self.notices = Notices()
        return pieces.follow(out, self.known(), self.frontier, told)

    @abstractmethod
    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        """What follows from new coverage on a port."""

    def hear(self, port: int, facts: Sequence[Fact], notices: Notices) -> list[Fact]:
        """What follows from a message with notices; an operator that passes them on moves and unites what stands."""
        if self.passing is None:
            raise TypeError(f"{type(self).__name__} takes no notices")
        out: list[Fact] = []
        told = self.passing.take(port, notices, self.notices, out)
        ended = notices.ranges()
        if ended:
            out += without(behind(self.frontier, self.feed(port, ended)), told)  # as far as that, what stood has told it
        if facts:
            out += self.feed(port, facts)
        return out

    def image(self, port: int, row: Row) -> Sequence[Row]:
        """The rows of the output that a row at a port stands for, where an operator passes on what it takes."""
        return (row,)

    @abstractmethod
    def settle(self, port: int) -> list[Fact]:
        """A port's frontier has moved: move `frontier`, return what is known by it."""

    def tidy(self) -> None:  # noqa: B027 - no abstract method: some operators have nothing to forget
        """Forget what cannot matter any more, a portion at a time."""

    def deadline(self) -> tuple[int, int] | None:
        """A port, and its least frontier at which there is something to tell though nothing new comes; None if none."""
        return None

    def waits(self) -> bool:
        """Whether there may ever be a deadline."""
        return type(self).deadline is not Operator.deadline

    def known(self) -> int:
        """How far what stands is known to hold."""
        return self.frontier

    def standing_rows(self) -> list[tuple[Row, int]]:
        """The rows that it has told to stand, and since when."""
        return [] if self.passing is None else self.passing.standing()

    def tidies(self) -> bool:
        """Whether there may ever be something to forget."""
        return type(self).tidy is not Operator.tidy

    @abstractmethod
    def entries(self) -> int:
        """How many ranges are stored."""

    def failed_evaluations(self) -> int:
        """For how many rows arithmetic had no result."""
        return 0

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """The operator's own state as plain data."""

    @abstractmethod
    def load(self, state: dict[str, Any]) -> None:
        """Take over a state that `state` gave."""

    def snapshot(self) -> dict[str, Any]:
        """Everything that the operator knows, as plain data."""
        counters = [self.received, self.sent, self.evaluations, self.dropped]
        return {
            "frontiers": list(self.frontiers),
            "frontier": self.frontier,
            "counters": counters,
            "state": self.state(),
            "passing": None if self.passing is None else self.passing.state(),
            "pieces": None if self.pieces is None else self.pieces.state(),
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self.frontiers[:] = data["frontiers"]
        self.frontier = data["frontier"]
        self.received, self.sent, self.evaluations, self.dropped = data["counters"]
        self.load(data["state"])
        if self.passing is not None:
            self.passing.load(data["passing"])
        if self.pieces is not None:
            self.pieces.load(data["pieces"])

    def statistics(self) -> OperatorStatistics:
        """An immutable record of the work done and the state held."""
        failed = self.failed_evaluations()
        return OperatorStatistics(self.received, self.sent, self.entries(), failed, self.evaluations, self.dropped)


def behind(frontier: int, facts: list[Fact]) -> list[Fact]:
    """The part of some coverage that lies behind a frontier: what is promised has been sent, or does not matter.

    >>> behind(4, [((), 1, 3), ((), 3, 9)])
    [((), 5, 9)]
    """
    if frontier <= NEG:
        return facts  # nothing is promised
    return [(row, lo if lo > frontier else frontier + 1, hi) for row, lo, hi in facts if hi > frontier]


def whole_row(row: Row) -> Row:
    """The key of a row where that is all of it."""
    return row


def matched(match: Callable[[Row], Row | None], facts: Sequence[Fact]) -> Sequence[Fact]:
    """Facts of a negated atom with what it mentions in place of their rows, without those that it does not stand for."""
    if match is whole_row:
        return facts
    return [(key, lo, hi) for row, lo, hi in facts if (key := match(row)) is not None]


def shift(frontier: int, distance: int) -> int:
    """A frontier moved by a distance in encoded time, saturating at the ends."""
    if frontier >= POS or distance >= POS:
        return POS
    if frontier <= NEG or distance <= NEG:
        return NEG
    return frontier + distance
