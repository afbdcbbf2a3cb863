"""What the runtime asks of the ends: sources that deliver batches, and sinks that take answers.

Delivery: a batch that `receive` has returned is processed exactly once by the engine that asked for it. A sink is given each
answer once, in the order in which it became known; where `send` raises OSError the sink is opened again, and the same
answers are sent again, so those of that one call may arrive twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tidelog.plans.facts import Record
from tidelog.plans.questions import HypotheticalAnswer

AnyAnswer = Record | HypotheticalAnswer
"""What sinks take: a derived fact, or, where the program asks, what is known of an answer."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that could not be read: where (`file:line`), why, and what it said (bytes, cut if long)."""

    place: str
    reason: str
    raw: bytes


@dataclass(slots=True)
class Batch:
    """What a source had to say at one moment: facts in order of arrival, and what could not be read.

    `watermark`, an encoded time, is a promise of the source's own: no later fact of it begins at or before that time.
    `places`, where given, names the place of each record (for a late fact's dead letter).
    """

    records: list[Record] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    watermark: int | None = None
    places: Sequence[str] | None = None


class Source(Protocol):
    """Where facts come from. Used as an async context manager by one task at a time."""

    name: str

    async def __aenter__(self) -> Source: ...

    async def __aexit__(self, *exc: object) -> None: ...

    async def receive(self) -> Batch | None:
        """Wait for facts and return all that is available, up to the source's bound; None at the end.

        Raises OSError where the connection is lost: the engine restarts it with back-off, within its budget.
        """
        ...


class Sink(Protocol):
    """Where answers go. Used as an async context manager by one task at a time."""

    name: str

    async def __aenter__(self) -> Sink: ...

    async def __aexit__(self, *exc: object) -> None: ...

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Take these answers; waits while the sink cannot take more (that is the backpressure)."""
        ...


class DeadLetters(Protocol):
    """Where records go that could not be used, each with its reason and its place."""

    async def send(self, rejected: Sequence[Rejected]) -> None: ...
