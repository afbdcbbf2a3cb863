"""Supervised connectors: a source or a sink whose connection is lost is opened again, with back-off, within a budget."""

from __future__ import annotations

import errno
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from tidelog.plans.errors import ConnectorError
from tidelog.runtime.actors import everything_waiting
from tidelog.runtime.interfaces import AnyAnswer, Batch, Sink, Source

logger = logging.getLogger("tidelog")

SourceEvent = tuple[str, Batch | Literal["ended", "idle"]]
"""What a source tells the intake: a batch, that it has ended, or that it has been silent for long."""

_MOMENTS = 5
"""How often other tasks get their turn before a source's end counts."""


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """How often a connector is opened again: `attempts` in a row, after `delay` seconds, doubled each time up to `longest`.

    Once it works, the attempts count from the beginning. TypeError and ValueError for what is no such number.
    """

    attempts: int = 5
    delay: float = 0.5
    longest: float = 30.0

    def __post_init__(self) -> None:
        if not isinstance(self.attempts, int) or isinstance(self.attempts, bool):
            raise TypeError(f"`attempts` is a whole number, got {type(self.attempts).__name__}")
        if self.attempts < 0:
            raise ValueError(f"`attempts` is 0 or more, got {self.attempts}")
        for name, seconds in (("delay", self.delay), ("longest", self.longest)):
            check_seconds(name, seconds)

    def wait_before(self, attempt: int) -> float:
        """The seconds to wait before the given attempt (the first is 1)."""
        return float(min(self.longest, self.delay * 2 ** (attempt - 1)))


def check_seconds(name: str, seconds: object) -> None:
    """TypeError unless it is a number, ValueError unless it is 0 or more, and finite."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        raise TypeError(f"`{name}` is a number of seconds, got {type(seconds).__name__}")
    if not 0 <= seconds < math.inf:
        raise ValueError(f"`{name}` is 0 s or more, got {seconds}")


_FOR_GOOD = {errno.EACCES, errno.EBADF, errno.EINVAL, errno.EISDIR, errno.ENOSPC, errno.EPERM, errno.EROFS}
"""What trying again does not mend."""


class _Attempts:
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
        if self._failures > self._policy.attempts or error.errno in _FOR_GOOD:
            raise ConnectorError(f"{self._name}: {error}") from error
        wait = self._policy.wait_before(self._failures)
        logger.warning("%s: %s; trying again in %g s", self._name, error, wait)
        await anyio.sleep(wait)


class SourceActor:
    """Runs one source: passes on its batches, and tells when it is idle and when it has ended."""

    def __init__(self, name: str, source: Source, policy: RestartPolicy, idle_after: float | None) -> None:
        self.name = name
        self._source = source
        self._attempts = _Attempts(source.name, policy)
        if idle_after is not None:
            check_seconds("idle_after", idle_after)
        self._idle_after = idle_after
        self._stopping = False
        self._scope: anyio.CancelScope | None = None
        self._passing_on = False
        self._heard: anyio.Event

    def stop(self) -> None:
        """Take nothing more; a batch that has been received is still passed on."""
        self._stopping = True
        if self._scope is not None:
            self._scope.cancel()

    async def run(self, events: MemoryObjectSendStream[SourceEvent]) -> None:
        async with anyio.create_task_group() as tasks:
            with events:
                self._heard = anyio.Event()
                if self._idle_after is not None:
                    tasks.start_soon(self._watch, events.clone(), self._idle_after)
                while not self._stopping and not await self._run_once(events):
                    pass
            tasks.cancel_scope.cancel()

    async def _run_once(self, events: MemoryObjectSendStream[SourceEvent]) -> bool:
        """Open the source and pass on what it says; returns whether that was all, or it has to be opened again."""
        ended = False
        try:
            with anyio.CancelScope() as self._scope:  # told to stop while it opens, the source is given up
                async with self._source:
                    while (batch := await self._receive()) is not None:
                        self._attempts.succeeded()
                        await self._pass_on(events, batch)
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
        with anyio.CancelScope() as self._scope:
            await self._attempts.failed(lost)
        return False

    async def _last_moment(self) -> None:
        """A signal that ends a pipeline ends its first part, too: let it be heard before this end counts as the stream's."""
        for _ in range(_MOMENTS):
            if not self._stopping:
                await anyio.lowlevel.checkpoint()

    async def _receive(self) -> Batch | None:
        """The next batch; None at the end, or when told to stop. Only the waiting is ever cancelled."""
        if self._stopping:
            return None
        with anyio.CancelScope() as self._scope:
            batch: object = await self._source.receive()
            if batch is not None and not isinstance(batch, Batch):
                kind = type(batch).__name__
                raise TypeError(f"source `{self._source.name}`: `receive` returns a Batch, or None at the end, got {kind}")
            return batch
        return None

    async def _pass_on(self, events: MemoryObjectSendStream[SourceEvent], news: Batch | Literal["ended"]) -> None:
        self._passing_on = True
        self._hear()
        await events.send((self.name, news))
        self._passing_on = False
        self._hear()

    def _hear(self) -> None:
        """Silence is measured from now on."""
        self._heard.set()
        self._heard = anyio.Event()

    async def _watch(self, events: MemoryObjectSendStream[SourceEvent], idle_after: float) -> None:
        """Tell, once for each silence, that the source has been silent for `idle_after` seconds.

        A source that waits to be heard is not silent: it is the engine that is slow.
        """
        with events:
            while True:
                heard = self._heard
                with anyio.move_on_after(idle_after):
                    await heard.wait()
                    continue
                if not self._passing_on:
                    await events.send((self.name, "idle"))
                await heard.wait()


class SinkActor:
    """Runs one sink behind a bounded channel: while the sink is slow, so are those who send to it."""

    def __init__(self, sink: Sink, policy: RestartPolicy) -> None:
        self.name = sink.name
        self._sink = sink
        self._attempts = _Attempts(sink.name, policy)
        self.taken = 0

    async def run(self, inbox: MemoryObjectReceiveStream[Sequence[AnyAnswer]]) -> None:
        unsent: list[AnyAnswer] = []
        with inbox:
            while True:
                try:
                    async with self._sink:
                        await self._deliver(inbox, unsent)
                    return
                except OSError as error:
                    lost = error
                await self._attempts.failed(lost)

    async def _deliver(self, inbox: MemoryObjectReceiveStream[Sequence[AnyAnswer]], unsent: list[AnyAnswer]) -> None:
        """Pass on answers until there are no more; what a failure leaves in `unsent` is sent again."""
        try:
            while True:
                if not unsent:
                    for answers in await everything_waiting(inbox):
                        unsent += answers
                await self._sink.send(unsent)
                self._attempts.succeeded()
                self.taken += len(unsent)
                unsent.clear()
        except anyio.EndOfStream:
            return
