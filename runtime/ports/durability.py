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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

EVERY = 1.0
"""How many seconds lie between two commits unless told otherwise, while something happens."""

Promise = Literal["exactly once", "at least once", "best effort"]
"""What a sink promises of each answer of a durable run, however often the run is killed."""

Reload = Literal["refuse", "drop"]
"""What to do with state that a changed program does not take up, and nothing replaces: refuse to go on, or drop it."""


def check_reload(value: str) -> None:
    """ValueError for what is no `Reload`."""
    if value not in get_args(Reload):
        raise ValueError(f"`reload` is one of {', '.join(get_args(Reload))}, got {value!r}")


@dataclass(frozen=True, slots=True)
class Heading:
    """What stands over answers on their way to a sink: they are the answers number `first`, `first + 1` … of the run `run`.

    The stream was complete up to `frontier` (encoded) when they became known. `run` is a name of letters and digits that no
    other run has; together with its number it tells an answer from every other. `epoch` is the lease under which they are
    told, where there is one: a receiver that has seen a higher one refuses them.
    """

    run: str
    first: int
    frontier: int
    epoch: int | None = None


@runtime_checkable
class Acknowledging(Protocol):
    """A source whose protocol has receipts: what it was not told of comes again when it connects again."""

    def acknowledge(self, position: dict[str, Any]) -> None:
        """All up to the batch with this `position` counts, whatever happens now: committed, where the run has a state.

        Called in order, for the last of several batches alone. Does not wait. Raises OSError where the connection is lost.
        """
        ...


@runtime_checkable
class Windowed(Acknowledging, Protocol):
    """One whose other side says no more than so much before it has a receipt."""

    @property
    def awaits_receipts(self) -> bool:
        """Whether the other side may be waiting for one."""
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
class Confirming(Numbering, Protocol):
    """A sink that learns only later that answers were taken."""

    def confirmed(self) -> int:
        """The number of the last answer that is known to be taken, with all before it; 0 before the first. Does not wait."""
        ...


@runtime_checkable
class Keeping(Confirming, Promising, Protocol):
    """A sink that promises `exactly once` (as far as `promise` says so): it keeps answers where a later run finds them."""

    def resume(self, run: str, taken: int, standing: dict[str, Any] | None) -> int:
        """Go on behind the answer number `taken`, before it is entered; may wait for the disk.

        `standing` is what it told at that commit, None before the first. What it holds behind is cut off, unless it knows
        that those are answers of this run: returns the number of the last one that it holds. SpecError or SnapshotError
        where it does not hold what was committed.
        """
        ...

    def standing(self) -> dict[str, Any]:
        """Where it stands behind the last answer that it has `confirmed`, as plain data. Does not wait."""
        ...

    def check(self) -> None:
        """ConnectorError where what it keeps would be lost, as where its files have been removed. In a worker thread."""
        ...

    def secure(self) -> None:
        """Let what it was given be on the disk when this returns. Called in a worker thread, when no more is at hand."""
        ...


def promise_of(sink: object) -> Promise:
    """What a sink promises; its best where it does not say."""
    return sink.promise if isinstance(sink, Promising) else "best effort"


class Input(NamedTuple):
    """A block of the journal: the events number `first` to `last` with so many `facts`.

    `at` is when it was stored, in microseconds since 1970; the store sees to that.
    """

    first: int
    last: int
    facts: int
    at: int
    data: bytes


class Told(NamedTuple):
    """A block of answers, number `first` to `last`."""

    first: int
    last: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Keep:
    """How long input stays in the journal that is not needed to go on: so many seconds, and so many bytes, at most."""

    seconds: float | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class SinkLimits:
    """What one sink is spared: it is given `rate` answers a second at most.

    Where more than `waiting` wait for it, the oldest of them are dropped for this sink, so that nobody waits for it; this
    needs a state.
    """

    waiting: int | None = None
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many bytes of answers may wait for sinks. What then: sources wait, the run stops, or the oldest are dropped.

    `sinks` has the limits of single sinks, by their names.
    """

    size: int = 1_000_000_000
    full: Literal["block", "stop", "drop-oldest"] = "block"
    sinks: Mapping[str, SinkLimits] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, sink: str) -> SinkLimits:
        """The limits of a sink."""
        return self.sinks.get(sink, _NO_LIMITS)


_NO_LIMITS = SinkLimits()


@dataclass(frozen=True, slots=True)
class Owing:
    """How many bytes of answers wait for sinks, how many may, and whether sources wait until there are fewer."""

    size: int
    most: int
    are_sources_waiting: bool


@dataclass(slots=True)
class Changes:
    """What one commit stores; `head` replaces the last one, and so does `plan`, unless it is None.

    `parts`, unless it is None, is a snapshot of the state as of the event number `snapshot`: the parts of it that are not as
    the last snapshot has them, with None for one that is no more. Then the snapshots as of the events `older` stay, too, and
    no others; as long as there are such, input goes from the journal up to one of them.

    Blocks of events all before number `journal_from` are not needed to go on, and stay as `keep` says. Blocks of answers all
    before number `answers_from` are not owed any more: they go, but for those from number `told_from` on. While there are
    more than `answers_most` bytes of all, the oldest go.
    """

    head: bytes
    journal: Sequence[Input] = ()
    answers: Sequence[Told] = ()
    parts: dict[str, bytes | None] | None = None
    snapshot: int = 0
    older: Sequence[int] = ()
    journal_from: int = 0
    answers_from: int = 0
    told_from: int | None = None
    answers_most: int | None = None
    keep: Keep | None = None
    plan: bytes | None = None
    terms: bytes | None = None


class Kept(NamedTuple):
    """The answers that are owed: the number of the first one, and how many bytes they have, in whole blocks."""

    first: int
    size: int


class Term(NamedTuple):
    """From the answer number `first` on, a run was led by `node`, under the lease `epoch`."""

    epoch: int
    node: str
    first: int


@runtime_checkable
class Leading(Protocol):
    """A state of which another process has a copy, and that is written under a lease: asked by the run that leads."""

    @property
    def epoch(self) -> int:
        """The epoch of the lease."""
        ...

    def lead(self, answers: int) -> Sequence[Term]:
        """The run goes on behind this answer: who has told the answers so far, and that this process tells those to come."""
        ...

    def check(self) -> None:
        """FencedError where the lease is over; ConnectorError as for `StateStore`."""
        ...

    async def copied(self) -> None:
        """Wait until what was committed is also elsewhere, or is known not to be. FencedError where the lease is over."""
        ...


class Journal(Protocol):
    """What a run was told, as far back as it is kept."""

    def journal(self, first: int = 0) -> Iterator[Input]:
        """The blocks of the journal that hold the event number `first`, and those behind, in order; all with 0."""
        ...


class StateStore(Journal, Protocol):
    """Where a run is stored: each method may wait for the disk. ConnectorError where it fails for good, or is damaged."""

    name: str

    def head(self) -> bytes | None:
        """What the last commit stored as its head; None before the first."""
        ...

    def plan(self) -> bytes:
        """What was last stored as the plan that the state belongs to; nothing before the first commit."""
        ...

    def commit(self, changes: Changes) -> Kept:
        """Store all of it at once and for good, or nothing."""
        ...

    def kept(self) -> Kept:
        """Which answers are stored."""
        ...

    def parts(self, event: int | None = None, names: Iterable[str] | None = None) -> Iterator[tuple[str, bytes]]:
        """The parts of the last snapshot, or of an older one by its event; all of them, or those with these names."""
        ...

    def snapshots(self) -> list[int]:
        """Of which events older snapshots are kept, in order; that of the last one may be among them."""
        ...

    def begin(self) -> int:
        """The number of the first event that is in the journal; 1 before the first commit."""
        ...

    def answers(self, first: int) -> Told | None:
        """The block that holds the answer number `first`; None where it is not stored."""
        ...

    def check(self) -> None:
        """ConnectorError where what it stores would be lost, as where its files have been removed."""
        ...
