"""Supervised connectors: a source or a sink whose connection is lost is opened again, with back-off, within a budget."""

from __future__ import annotations

import errno
import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction
from numbers import Integral
from typing import Any, Literal, Protocol

import anyio
import anyio.lowlevel
import anyio.to_thread

from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.runtime.actors.pacing import Pace
from tidelog.runtime.actors.silence import Silence, check_seconds
from tidelog.runtime.ports.channels import Sender
from tidelog.runtime.ports.durability import Acknowledging, Heading, Keeping, Numbering, Windowed
from tidelog.runtime.ports.interfaces import (
    Accountable,
    AnyAnswer,
    Batch,
    Hearing,
    Immediate,
    Interrupted,
    OfNow,
    Recorded,
    Rejected,
    Sink,
    SinkStatistics,
    Source,
    TakeSinkLetters,
    Tick,
)
from tidelog.runtime.ports.observing import ObservesSinks
from tidelog.runtime.ports.reachability import Standing
from tidelog.runtime.ports.undeliverable import Undelivered

logger = logging.getLogger("tidelog")

Group = tuple[Heading | None, Sequence[AnyAnswer]]
"""Answers that became known together; under a heading where the run is durable."""


@dataclass(frozen=True, slots=True)
class Rest:
    """What is left to do of a batch that was taken at once: facts that were refused, or the error that it led to."""

    refused: Sequence[Rejected] = ()
    error: Exception | None = None


SourceEvent = tuple[str, Batch | Tick | Rest | Literal["opened", "ended", "idle"], float]
"""What a source tells the intake, and when: a batch, that it has come or ended, or was silent since then; and what
a clock does."""

_MOMENTS = 5
"""How often other tasks get their turn before a source's end counts."""


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """How often a connector is opened again: `attempts` in a row, after `delay` seconds, doubled each time up to `longest`.

    With None there is no end. Once it works, the attempts count from the beginning. TypeError and ValueError for what is no
    such number.
    """

    attempts: int | None = 5
    delay: float = 0.5
    longest: float = 30.0

    def __post_init__(self) -> None:
        if (self.attempts is not None and not isinstance(self.attempts, Integral)) or isinstance(self.attempts, bool):
            raise TypeError(f"`attempts` is a whole number, got {type(self.attempts).__name__}")
        if self.attempts is not None and self.attempts < 0:
            raise ValueError(f"`attempts` is 0 or more, got {self.attempts}")
        for name, seconds in (("delay", self.delay), ("longest", self.longest)):
            check_seconds(name, seconds)

    def wait_before(self, attempt: int) -> float:
        """The seconds to wait before the given attempt (the first is 1)."""
        return float(min(self.longest, self.delay * 2 ** min(attempt - 1, _DOUBLED)))


_DOUBLED = 64
_FOR_GOOD = {errno.EACCES, errno.EBADF, errno.EINVAL, errno.EISDIR, errno.ENOSPC, errno.EPERM, errno.EROFS}
"""What trying again does not mend."""


class Attempts:
    """The budget of one connector: spent by failures in a row, renewed by success."""

    def __init__(self, name: str, policy: RestartPolicy) -> None:
        if not isinstance(policy, RestartPolicy):
            raise TypeError(f"`restarts` is a RestartPolicy, such as RestartPolicy(attempts=1), got {type(policy).__name__}")
        self._name, self._policy, self._failures = name, policy, 0

    def succeeded(self) -> None:
        self._failures = 0

    async def failed(self, error: OSError) -> None:
        """Wait for the next attempt; ConnectorError when there is none left."""
        self._failures += 1
        attempts = self._policy.attempts
        if error.errno in _FOR_GOOD or (attempts is not None and self._failures > attempts):
            raise ConnectorError(f"{self._name}: {error}") from error
        wait = self._policy.wait_before(self._failures)
        logger.warning("%s: %s; trying again in %g s", self._name, error, wait)
        await anyio.sleep(wait)


class SourceActor:
    """Runs one source: passes on its batches, and tells when it, or a part of it, is idle and when it has ended.

    Whoever takes what it passes on says so (`taken`), and may `hold` it back. One that is temporary tells that it has come,
    and ends where its connection is lost.
    """

    def __init__(
        self,
        name: str,
        source: Source,
        policy: RestartPolicy,
        idle_after: float | None,
        *,
        is_temporary: bool = False,
    ) -> None:
        self.name = name
        self._source = source
        self._acknowledging = source if isinstance(source, Acknowledging) else None
        if self._acknowledging is not None and iscoroutinefunction(self._acknowledging.acknowledge):
            raise TypeError(f"{source.name}: `acknowledge` is a plain method, which does not wait: nobody awaits it")
        self._windowed = source if isinstance(source, Windowed) else None
        self._immediate = source if isinstance(source, Immediate) else None
        self._attempts = Attempts(source.name, policy)
        self._silence = None if idle_after is None else Silence(idle_after)
        self.standing = Standing(source)
        self._is_temporary = is_temporary
        self._stopping = False
        self._scope: anyio.CancelScope | None = None
        self._untaken = 0
        self._released: anyio.Event | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether it has said something that was not taken yet, or is held back."""
        return self._untaken > 0 or self._released is not None

    @property
    def is_passing_on(self) -> bool:
        """Whether it has something to say that has not been heard yet."""
        return self._untaken > 0

    @property
    def is_of_now(self) -> bool:
        """Whether it says nothing of an outage."""
        return isinstance(self._source, OfNow) and self._source.is_of_now

    @property
    def is_recorded(self) -> bool:
        """Whether its source reads what was there before."""
        return isinstance(self._source, Recorded) and self._source.is_recorded

    @property
    def hearing(self) -> Hearing | None:
        """Its source, where that knows whether it hears."""
        return self._source if isinstance(self._source, Hearing) else None

    def stop(self) -> None:
        """Take nothing more; a batch that has been received is still passed on."""
        self._stopping = True
        if self._scope is not None:
            self._scope.cancel()

    @property
    def awaits_receipts(self) -> bool:
        """Whether the other side of its source may say nothing more before it has a receipt."""
        return self._windowed is not None and self._windowed.awaits_receipts

    def acknowledge(self, position: dict[str, Any]) -> None:
        """What the source has said up to this position counts: tell it, where its protocol has receipts."""
        if self._acknowledging is None:
            return
        try:
            self._acknowledging.acknowledge(position)
        except OSError as error:  # it will bring it again, and knows so
            logger.warning("%s: no receipt could be given: %s", self._source.name, error)

    def taken(self, oldest: float | None) -> None:
        """What was passed on first has been taken. `oldest` is the moment of the part that has been silent longest."""
        self._untaken -= 1
        if self._silence is not None:
            self._silence.expect(oldest)
            self._listen()

    def hold(self) -> None:
        """Ask the source for nothing more until `release`."""
        if self._released is None:
            self._released = anyio.Event()
            self._listen()

    def release(self) -> None:
        """Go on."""
        if self._released is not None:
            self._released.set()
            self._released = None
            self._listen()

    async def run(self, events: Sender[SourceEvent]) -> None:
        async with anyio.create_task_group() as tasks:
            with events:
                if self._silence is not None:
                    self._silence.begin()
                    tasks.start_soon(self._watch, events.clone(), self._silence)
                if self._is_temporary and not self._stopping:
                    await self._pass_on(events, "opened")
                while not self._stopping and not await self._run_once(events):
                    pass
            self.standing.has_ended = True
            tasks.cancel_scope.cancel()

    async def _run_once(self, events: Sender[SourceEvent]) -> bool:
        """Open the source and pass on what it says; returns whether that was all, or it has to be opened again."""
        ended = False
        try:
            with anyio.CancelScope() as self._scope:  # told to stop while it opens, the source is given up
                async with self._source:
                    with self.standing.opened(), self._at_once(events):
                        await self._pass_all_on(events)
                    ended = True
                    await self._last_moment()
                    if not self._stopping:
                        await self._pass_on(events, "ended")
            return True
        except OSError as error:
            lost = error
        if ended:
            logger.warning("%s: closing it failed: %s", self._source.name, lost)
            return True
        if self._is_temporary:
            logger.warning("%s: %s", self._source.name, lost)
            await self._pass_on(events, "ended")
            return True
        with anyio.CancelScope() as self._scope:
            await self._attempts.failed(lost)
        return False

    async def _last_moment(self) -> None:
        """A signal that ends a pipeline ends its first part, too: let it be heard before this end counts as the stream's."""
        for _ in range(_MOMENTS):
            if not self._stopping:
                await anyio.lowlevel.checkpoint()

    @contextmanager
    def _at_once(self, events: Sender[SourceEvent]) -> Iterator[None]:
        """Pass on what others hand to the source in their turn, while it waits for that."""
        if self._immediate is None:
            yield
            return
        self._immediate.pass_at_once(partial(self._pass_on_nowait, events))
        try:
            yield
        finally:
            self._immediate.pass_at_once(None)

    def _pass_on_nowait(self, events: Sender[SourceEvent], batch: Batch) -> Batch | None:
        """Pass on a batch where that is possible at once; else it is to be received."""
        if self._stopping or self._released is not None:
            return batch
        self._note(batch)
        self._untaken += 1
        self._listen()
        try:
            events.send_nowait((self.name, batch, self._moment()))
        except (anyio.WouldBlock, anyio.BrokenResourceError):
            self._untaken -= 1
            return batch
        return None

    async def _pass_all_on(self, events: Sender[SourceEvent]) -> None:
        """Pass on what the source says, to its end, or until told to stop. Only the waiting is ever cancelled."""
        batch: Batch | None = None
        with anyio.CancelScope() as scope:
            while not self._stopping:
                self._scope = scope
                batch = await self._receive()
                self._scope = None  # what has been received is passed on, whoever says stop
                if batch is None or scope.cancel_called:
                    break
                await self._pass_on(events, batch)
                batch = None
        if batch is not None:
            await self._pass_on(events, batch)

    async def _receive(self) -> Batch | None:
        """The next batch; None at the end."""
        while self._released is not None:
            await self._released.wait()
        batch: object = await self._source.receive()
        if batch is not None and not isinstance(batch, Batch):
            kind = type(batch).__name__
            raise TypeError(f"source `{self._source.name}`: `receive` returns a Batch, or None at the end, got {kind}")
        if batch is not None:
            self._note(batch)
        return batch

    def _note(self, batch: Batch) -> None:
        """A batch has come."""
        self._attempts.succeeded()
        batch.received = time.monotonic()

    def _moment(self) -> float:
        return self._silence.moment() if self._silence is not None else 0.0

    async def _pass_on(self, events: Sender[SourceEvent], news: Batch | Literal["opened", "ended"]) -> None:
        self._untaken += 1
        self._listen()
        try:
            await events.send((self.name, news, self._moment()))
        except anyio.BrokenResourceError:  # a run that is cancelled hears nothing more, also of a source that noticed late
            await anyio.lowlevel.checkpoint_if_cancelled()
            raise

    def _listen(self) -> None:
        """A source that waits to be heard is not silent: it is the engine that is slow, or holds it back."""
        if self._silence is not None:
            self._silence.listen(is_listening=not self.is_waiting)

    async def _watch(self, events: Sender[SourceEvent], silence: Silence) -> None:
        """Tell when parts of the source have been silent for long."""
        with events:
            while True:
                before = await silence.wait()
                self._untaken += 1
                self._listen()
                await events.send((self.name, "idle", before))


class Feed(Protocol):
    """What brings answers to a sink."""

    async def receive(self) -> Sequence[Group]:
        """Wait for answers: all that are at hand, in order. EndOfStream where there will be none."""
        ...

    def close(self) -> None:
        """The sink takes nothing more."""
        ...


class SinkActor:
    """Runs one sink: gives it what its feed brings, while the sink is slow no faster than it takes it.

    `taken` is how many answers it was given. `give_up` takes those that it can never deliver, as dead letters. With `rate`,
    it is given so many answers a second at most. `observer` is told what it has taken.
    """

    def __init__(
        self,
        sink: Sink,
        policy: RestartPolicy,
        give_up: TakeSinkLetters | None = None,
        rate: float | None = None,
        observer: ObservesSinks | None = None,
    ) -> None:
        self._observer = observer
        self._pace = Pace(rate) if rate is not None else None
        self.name = sink.name
        self.sink = sink
        # Asked here once: to ask whether an object keeps a protocol takes as long as a lone event.
        self._numbering = sink if isinstance(sink, Numbering) else None
        self._keeping = sink if isinstance(sink, Keeping) else None
        self._attempts = Attempts(sink.name, policy)
        self._broken = SinkStatistics()
        self._undelivered = Undelivered(sink, give_up)
        self.standing = Standing(sink)
        self._is_interrupted = False
        self._unsent: deque[Group] = deque()
        self._is_complete = False
        self.taken = 0

    def statistics(self) -> SinkStatistics:
        """What is not certain about the answers that the sink was given."""
        own = self._broken + self._undelivered.statistics()
        return own + self.sink.statistics() if isinstance(self.sink, Accountable) else own

    def drop(self, count: int) -> None:
        """So many answers are not given to it, since too many waited."""
        self._broken += SinkStatistics(dropped=count)

    async def run(self, feed: Feed) -> None:
        with closing(feed):
            while True:
                try:
                    async with self.sink:
                        with self.standing.opened():
                            await self._deliver(feed)
                    return
                except Interrupted as error:
                    self._is_interrupted = True
                    if error.progressed:
                        self._attempts.succeeded()
                    if self._is_complete and not error.kept:
                        logger.warning("%s: %s", self.name, error)
                        return
                    lost: OSError = error
                except OSError as error:
                    lost = error
                await self._attempts.failed(lost)

    async def _deliver(self, feed: Feed) -> None:
        """Pass on answers until there are no more, beginning with what a failure has left, here or in the sink."""
        if self._is_interrupted:
            await self._send(())
        try:
            while True:
                while self._unsent:
                    heading, answers = self._unsent[0]
                    if heading is not None and self._numbering is not None:
                        self._numbering.number(heading)
                    if self._pace is not None:
                        await self._pace.wait(len(answers))
                    await self._send(answers)
                    self._unsent.popleft()
                if self._keeping is not None:
                    await anyio.to_thread.run_sync(self._keeping.secure)
                groups = await feed.receive()
                self._unsent.extend(groups if self._pace is None else self._pace.pieces(groups))
        except anyio.EndOfStream:
            self._is_complete = True

    async def _send(self, answers: Sequence[AnyAnswer]) -> None:
        begin = 0.0 if self._observer is None else time.monotonic()
        try:
            await self.sink.send(answers)
        except Interrupted:  # the sink keeps them, or has given them up
            self.taken += len(answers)
            if answers:
                self._unsent.popleft()
            raise
        except OSError:
            self._broken += SinkStatistics(1, 0, len(answers))
            raise
        self._attempts.succeeded()
        self.taken += len(answers)
        if self._observer is not None:
            self._observer.delivered(self.name, len(answers), time.monotonic() - begin)
