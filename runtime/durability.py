"""What a durable run asks of its ends and of what it is stored in.

A run with a state is stored by commits: the input that was accepted, where the sources stand, and the answers that sinks are
owed, all of it or nothing. Answers are numbered from 1, and no sink is given one before the commit that has it. So:

* A **source** that can be read again (`Replayable`) goes on behind its committed position. One whose protocol has receipts
  is told when what it brought is committed (`Acknowledging`): what it was not told of, it has to bring again.
* A **sink** promises one of three things. `exactly once`: it keeps answers where a later run finds them, and tells how far
  it has come (`Keeping`); what it holds behind the last commit is cut off, and given again. `at least once`: what it had
  not confirmed is sent again with the same number, so that a receiver can drop what it has (`Numbering`). `best effort`: as
  at least once, but nobody can tell an answer that came twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

Promise = Literal["exactly once", "at least once", "best effort"]
"""What a sink promises of each answer of a durable run, however often the run is killed."""


@dataclass(frozen=True, slots=True)
class Heading:
    """What stands over answers on their way to a sink: they are the answers number `first`, `first + 1` … of the run `run`.

    The stream was complete up to `frontier` (encoded) when they became known. `run` is a name of letters and digits that no
    other run has; together with its number it tells an answer from every other.
    """

    run: str
    first: int
    frontier: int


@runtime_checkable
class Acknowledging(Protocol):
    """A source whose protocol has receipts: what it was not told of comes again when it connects again."""

    async def acknowledge(self, position: dict[str, Any]) -> None:
        """All up to the batch with this `position` counts, whatever happens now: committed, where the run has a state.

        Called in order, for the last of several batches alone. Raises OSError where the connection is lost.
        """
        ...


@runtime_checkable
class Promising(Protocol):
    """A sink that promises more than its best."""

    @property
    def promise(self) -> Promise:
        """What it promises of each answer."""
        ...


@runtime_checkable
class Numbering(Protocol):
    """A sink that is told the numbers of answers: to write them, or to know what it has."""

    def number(self, heading: Heading) -> None:
        """The answers of the next `send` have these numbers. Called before each, also where they are sent again."""
        ...


@runtime_checkable
class Confirming(Protocol):
    """A sink that learns only later that answers were taken."""

    def confirmed(self) -> int:
        """The number of the last answer that is known to be taken, with all before it; 0 before the first."""
        ...


@runtime_checkable
class Keeping(Promising, Protocol):
    """A sink that promises `exactly once` (as far as `promise` says so): it keeps answers where a later run finds them."""

    def resume(self, run: str, taken: int, standing: dict[str, Any] | None) -> int:
        """Go on behind the answer number `taken`, before it is entered; may wait for the disk.

        `standing` is what it told at that commit, None before the first. What it holds behind is cut off, unless it knows
        that those are answers of this run: returns the number of the last one that it holds. SpecError or SnapshotError
        where it does not hold what was committed.
        """
        ...

    def standing(self) -> dict[str, Any]:
        """Where it stands behind all that it was given, as plain data. Does not wait."""
        ...

    def secure(self) -> None:
        """What it was given is on the disk when this returns. Called in a worker thread, with the sink still in use."""
        ...


def promise_of(sink: object) -> Promise:
    """What a sink promises; its best where it does not say."""
    return sink.promise if isinstance(sink, Promising) else "best effort"
