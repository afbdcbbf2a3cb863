"""What the runtime asks of the ends: sources that deliver batches, and sinks that take answers.

Delivery: a batch that `receive` has returned is processed exactly once by the engine that asked for it. A sink is given each
answer once, in the order in which it became known. Where `send` raises OSError the sink is opened again, and the same
answers are sent again, so those of that one call may arrive twice; where it raises Interrupted, the sink goes on by itself
from where it stopped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS, Timeline
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.plans.stages.stages import Stage
from tidelog.plans.tree.syntax import Value

StageMode = Literal["intervals", "final", "changes"]
"""In which form the answers of a part of a program can be told (`run --emit`): the modes that look at one output alone."""
EmitMode = Literal[StageMode, "points"]
"""In which form answers are told; `runtime/emission/emission.py` says what each means."""
MOST_NAMES = 100
"""How many predicates that the program does not use are counted by name."""

AnyAnswer = Record | HypotheticalAnswer
"""What sinks take: a derived fact (with `changes`, a `ChangeRecord`), or, where the program asks, what is known of an
answer."""

Part = Value | None
"""What has a clock of its own within a source: a device, by its name; None is the source as a whole."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that could not be used: where (`file:line`), why, and what it said (bytes, cut if long).

    `record` is the fact that it is, where it could be read.
    """

    place: str
    reason: str
    raw: bytes
    record: Record | None = field(default=None, compare=False, repr=False)


TakeLetters = Callable[[Sequence[Rejected]], Awaitable[None]]
"""Takes dead letters, and has them when it returns."""
TakeSinkLetters = Callable[[str, Sequence[Rejected]], Awaitable[None]]
"""The same of a sink, by its name."""


class Retraction(NamedTuple):
    """What a source takes back: `record` does not hold over its interval, whatever was said of it before.

    It stands behind so many of its batch's records. `place` is where it was read.
    """

    behind: int
    record: Record
    place: str = ""


@dataclass(slots=True)
class Batch:
    """What a source had to say at one moment: facts in order of arrival, and what could not be read.

    `watermark`, an encoded time, is a promise of the source's own: no later fact of it begins at or before that time. With
    `NEG` the facts promise nothing: time does not go on with them.
    `places`, where given, names the place of each record (for a late fact's dead letter). `position` is where a source
    stands behind this batch that can be read again from there: plain data, for its `resume`. `parts`, where given, says for
    each record which part of the source it comes from: each part has a watermark of its own. `received` is when the engine
    got the batch, by `time.monotonic`. `retractions` are in their order; only an engine with `corrections` takes them.
    """

    records: list[Record] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    watermark: int | None = None
    places: Sequence[str] | None = None
    position: dict[str, Any] | None = None
    parts: Sequence[Part] | None = None
    received: float | None = None
    retractions: Sequence[Retraction] = ()

    def place(self, index: int) -> str:
        """Where a record stands in what was read; empty where that is not known."""
        return "" if self.places is None else self.places[index]


@dataclass(frozen=True, slots=True)
class Tick:
    """What the machine's clock says: no fact begins at or before `watermark` any more, and now it is `present` (encoded).

    What begins behind `ceiling` comes from a clock that is wrong. While it `holds`, time does not move with facts either.
    Nobody listened for `unheard` (encoded; `POS` if that is not known), up to now: what was there is not missed since.
    """

    watermark: int
    present: int
    ceiling: int = POS
    holds: bool = False
    unheard: int = 0


class WritesTimes(Protocol):
    """Writes encoded times for people."""

    def point(self, point: int) -> str:
        """A point, such as `17` or `2010-07-01T00:00:00Z`."""
        ...

    def at(self, lo: int, hi: int) -> str:
        """What stands behind a fact's `@`: a point, or an interval."""
        ...

    def length(self, ticks: int) -> str:
        """A length of time."""
        ...


class PlainTimes:
    """Times as exact numbers."""

    def __init__(self, timeline: Timeline) -> None:
        self.point, self.at, self.length = timeline.format_point, timeline.format_range, timeline.format_point


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


@runtime_checkable
class Listener(Protocol):
    """Where sources come from while the engine runs, such as connections. Used as an async context manager by one task.

    Each of them is a source with a watermark of its own. The listener itself holds back nobody, and never ends.
    """

    name: str

    async def __aenter__(self) -> Listener: ...

    async def __aexit__(self, *exc: object) -> None: ...

    async def accept(self) -> Source:
        """Wait for a further source. It is entered once; where its connection is lost, its `receive` returns None.

        Raises OSError where no more can come: the engine restarts the listener with back-off, within its budget.
        """
        ...


@runtime_checkable
class OfNow(Protocol):
    """A source or a listener that never brings anything of a time at which nobody listened: no clock waits for that."""

    is_of_now: bool


@runtime_checkable
class Replayable(Protocol):
    """A source whose batches may tell their position, and that can go on from such a position in a later run."""

    @property
    def is_replayable(self) -> bool:
        """Whether what it reads is still there in a later run."""
        ...

    def resume(self, position: dict[str, Any]) -> None:
        """Go on behind this position once entered. SnapshotError where what was read is not there any more."""
        ...


@runtime_checkable
class Hearing(Protocol):
    """A source for which somebody keeps what comes while it is away, and that knows whether it has got all of that."""

    @property
    def is_behind(self) -> bool:
        """Whether it is away, or something that waited for it has not been returned by `receive` yet."""
        ...

    def listen_again(self) -> None:
        """Nobody has listened for a while, as where the process was stopped: be behind until all that has come is read."""
        ...


@runtime_checkable
class Recorded(Protocol):
    """A source that tells whether all that it will say is there already, as in a file. Then no clock makes it late."""

    @property
    def is_recorded(self) -> bool:
        """Whether it reads what was there before."""
        ...


@runtime_checkable
class Measured(Protocol):
    """A source that tells how far it has been read: what a display of progress needs."""

    size: int | None
    """The length in bytes, as they are stored; None while it is closed, and where it has none."""
    position: int
    """How many of them have been read."""


@runtime_checkable
class Immediate(Protocol):
    """A source of facts that other tasks of the event loop hand to it, which can be passed on in their turn."""

    def pass_at_once(self, take: Callable[[Batch], Batch | None] | None) -> None:
        """While `receive` waits, let `take` have each batch instead; what it returns is to be received. None: no more."""
        ...


class Interrupted(OSError):
    """A sink was cut off, and keeps what was not taken: opened again, it goes on from there when `send` is called.

    It keeps `kept` answers; `progressed` tells whether any was taken since it was opened. `errno` is that of the cause.
    """

    def __init__(self, text: str, cause: OSError, *, kept: int, progressed: bool) -> None:
        super().__init__(cause.errno, text)
        self.kept, self.progressed = kept, progressed

    def __str__(self) -> str:
        return str(self.strerror)


@dataclass(frozen=True, slots=True)
class SinkStatistics:
    """What is not certain about a sink's answers: how often it broke, how many answers `lost` may never have been read and
    how many `repeated` may have been read twice, at most; how many were `dropped`, since too many waited for it; how many
    are `undelivered`: they can never be delivered, and are dead letters.
    """

    breaks: int = 0
    lost: int = 0
    repeated: int = 0
    dropped: int = 0
    undelivered: int = 0

    def __add__(self, other: SinkStatistics) -> SinkStatistics:
        lost, repeated = self.lost + other.lost, self.repeated + other.repeated
        dropped, undelivered = self.dropped + other.dropped, self.undelivered + other.undelivered
        return SinkStatistics(self.breaks + other.breaks, lost, repeated, dropped, undelivered)


@runtime_checkable
class Accountable(Protocol):
    """A sink that knows what has become of its answers where it broke. One that does not may repeat all of a `send`."""

    def statistics(self) -> SinkStatistics:
        """What is not certain about the answers that it was given."""
        ...


@dataclass(frozen=True, slots=True)
class ConnectionStatistics:
    """Those who connected: how many were served, refused as there was no place, and left as they were silent."""

    accepted: int = 0
    refused: int = 0
    silent: int = 0


@runtime_checkable
class GivesUp(Protocol):
    """A sink to which an answer may come that can never be delivered. That is a dead letter, and the others go on."""

    def give_up_to(self, take: TakeLetters) -> None:
        """Hand dead letters to `take`, which has them when it returns, before `send` returns."""
        ...


@runtime_checkable
class Connected(Protocol):
    """An end that keeps up a connection by itself, so that nobody else notices when it is lost."""

    @property
    def is_connected(self) -> bool:
        """Whether the other side is there now."""
        ...


@runtime_checkable
class ServesClients(Protocol):
    """A source, a sink or a server to which others connect."""

    name: str

    def connections(self) -> ConnectionStatistics:
        """How many there were."""
        ...


class Sink(Protocol):
    """Where answers go. Used as an async context manager by one task at a time.

    Left without an error, it waits until all that it was given is taken, and raises OSError where that fails.
    """

    name: str

    async def __aenter__(self) -> Sink: ...

    async def __aexit__(self, *exc: object) -> None: ...

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Take these answers; waits while the sink cannot take more (that is the backpressure)."""
        ...


class AnswerLog(Protocol):
    """Where derived facts are kept together with the state from which a run can go on: both, or neither, is there.

    Its methods may wait for the disk. ConnectorError where it fails for good.
    """

    name: str
    full: Literal["block", "stop"]
    """What to do while there is no room: let the sources wait, or stop."""

    @property
    def pending(self) -> int:
        """How many facts were appended and are not committed."""
        ...

    def append(self, records: Sequence[Record], frontier: int) -> None:
        """Take facts that became known when the stream was complete up to `frontier` (encoded). Does not wait."""
        ...

    def commit(self, checkpoint: bytes) -> None:
        """Store what was appended and this checkpoint, at once and for good."""
        ...

    def checkpoint(self) -> bytes | None:
        """The last checkpoint committed; None if there is none."""
        ...

    def check(self) -> None:
        """ConnectorError where what it stores would be lost, as where its files have been removed."""
        ...

    def has_room(self) -> bool:
        """Whether it can take more."""
        ...


Told = tuple[str, tuple[str, ...], str, int, int]
"""A constraint that is violated: its rule, its body with the constants that violate it, and when, as text and encoded."""


@dataclass(slots=True)
class StageAnswers:
    """What a stage has to say: answers for users, facts for later stages, the constraints that are violated, and what it
    knows of the answers to its question."""

    told: list[Record] = field(default_factory=list)
    passed: list[Record] = field(default_factory=list)
    asked: list[HypotheticalAnswer] = field(default_factory=list)
    violations: list[Told] = field(default_factory=list)


class StageHistory(Protocol):
    """One stage of a program (`plans/stages/stages.py`) for some values of its key, wherever it runs, over facts that come
    in the order of their begins. Times are encoded."""

    def take(self, records: Sequence[Record]) -> list[tuple[Record, str]]:
        """Take facts, named as the stage's program names them; returns those that are late, and says why."""
        ...

    def advance(self, watermark: int) -> None:
        """All facts up to the watermark are there, and what earlier stages told when they got it."""
        ...

    def finish(self, last: int | None) -> None:
        """All facts are there. `last` is when the last fact of the stream begins, None where there is none, or where it
        does not matter."""
        ...

    def pull(self) -> StageAnswers:
        """What became known since the last call."""
        ...

    def unfinished(self) -> list[str]:
        """After `finish`: what is recursive without an end, and was followed only as far as the stream went."""
        ...


class StageSession(StageHistory, Protocol):
    """One that is kept, and goes on as the stream does."""

    def promise(self, watermark: int) -> None:
        """No fact of the stream begins at or before the watermark any more, though earlier stages may still tell some."""
        ...

    def deadline(self) -> int:
        """The least watermark at which there is something to tell though no fact comes; POS where nothing is.

        Until then it need not be told any, nor be there.
        """
        ...

    def may_wait(self) -> bool:
        """Whether there may ever be a deadline: False where facts alone bring something to tell, whatever they are."""
        ...

    def snapshot(self) -> bytes:
        """The whole state; what was not pulled is not part of it."""
        ...

    def noted(self) -> bytes | None:
        """A block of the journal: what it was told since the last call; None where that is nothing, or none is kept."""
        ...

    def restore(self, state: bytes) -> None:
        """Go on from a snapshot of the same stage. SnapshotError where it is not one."""
        ...


class OpenStage(Protocol):
    """Begins the session of a stage for those values of its key that it `owns`, with the start of the stream, if known.

    With a `state` it goes on from that snapshot; SnapshotError where it is not one of the same stage.
    """

    def __call__(
        self,
        stage: Stage,
        owns: Callable[[Value], bool],
        *,
        emit: StageMode,
        start: int | None,
        state: bytes | None = None,
    ) -> StageSession: ...


class OpenHistory(Protocol):
    """Begins a stage over history, for those values of its key that it `owns`."""

    def __call__(
        self, stage: Stage, owns: Callable[[Value], bool], *, emit: StageMode, start: int | None
    ) -> StageHistory: ...


class DeadLetters(Protocol):
    """Where records go that could not be used, each with its reason and its place."""

    async def send(self, rejected: Sequence[Rejected]) -> None: ...


class Observer(Protocol):
    """Is told what an engine does, as it does it. Its methods return at once, and keep nothing that grows for ever."""

    def took(self, source: str, batch: Batch | None, refused: Sequence[Rejected]) -> None:
        """The operators have taken a batch; `refused` is all that could not be used of it.

        Without a batch, these are facts that had waited for others.
        """
        ...

    def told(self, answers: Sequence[AnyAnswer]) -> None:
        """These answers became known, and go to the sinks now."""
        ...

    def going_on(self, run: str, events: int) -> None:
        """A run begins, or goes on with so many events that are stored; of its name there is no other.

        An engine that stores nothing never says so, nor what is said of commits.
        """
        ...

    def committing(self, events: int) -> None:
        """All that was taken so far is going to be stored; then so many events are."""
        ...

    def committed(self, seconds: float) -> None:
        """All that was taken before `committing` is stored for good, which took so long; more may be taken meanwhile."""
        ...

    def gave_up(self, sink: str, letters: Sequence[Rejected]) -> None:
        """These answers can never be delivered by a sink."""
        ...
