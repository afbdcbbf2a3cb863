"""Answers to an outbox, each exactly once: it stores the number of the last one together with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec

from tidelog.connectors.outbox.outbox import Outbox
from tidelog.connectors.sinks.giving_up import GivingUp
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ConnectorError, DataError, SpecError
from tidelog.runtime.ports.durability import Heading, Promise
from tidelog.runtime.ports.interfaces import AnyAnswer

_TOGETHER = 10_000
"""How many answers are stored together."""
_ROOM_INTERVAL = 0.05
"""How often, in seconds, a full outbox is asked for room."""


class OutboxSink(GivingUp):
    """The sink of a durable run that fills an outbox, which whoever opened it closes.

    Facts are stored when no more are at hand. While the outbox is full it takes no more, or the run fails, as it says.
    """

    promise: Promise = "exactly once"

    def __init__(self, outbox: Outbox, name: str = "outbox", hidden: frozenset[str] = frozenset()) -> None:
        self._hidden = hidden
        self.name = name  # wherever it is moved to
        self._outbox = outbox
        self._run = ""
        self._heading = Heading("", 1, 0)
        self._last = self._confirmed = 0

    async def __aenter__(self) -> OutboxSink:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    def resume(self, run: str, taken: int, standing: dict[str, Any] | None) -> int:
        """Go on behind the last answer that the outbox holds; SpecError where it is not that of this run."""
        stored = self._outbox.checkpoint()
        last = 0
        if stored is not None:
            filled_by, last = _read(stored, self._outbox.name)
            if filled_by != run:
                raise SpecError(f"outbox `{self._outbox.name}` was filled by another run: choose another directory")
        if standing is not None and last < taken:
            raise SpecError(f"outbox `{self._outbox.name}` holds answers up to {last}, and {taken} were committed")
        self._run, self._last, self._confirmed = run, max(last, taken), max(last, taken)
        return self._confirmed

    def number(self, heading: Heading) -> None:
        """The answers of the next `send` have these numbers."""
        self._heading = heading

    def confirmed(self) -> int:
        """The number of the last answer that is stored."""
        return self._confirmed

    def standing(self) -> dict[str, Any]:
        """It knows itself where it stands."""
        return {}

    def check(self) -> None:
        """ConnectorError where its files have been removed."""
        self._outbox.check()

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Take these answers; waits while the outbox is full."""
        for begin in range(0, len(answers), _TOGETHER):
            await self._wait_for_room()
            some = [
                answer
                for answer in answers[begin : begin + _TOGETHER]
                if isinstance(answer, tuple) and answer[0] not in self._hidden
            ]
            await self._append(some)
            self._last = self._heading.first + min(begin + _TOGETHER, len(answers)) - 1
            if self._outbox.pending >= _TOGETHER:
                await anyio.to_thread.run_sync(self.secure)

    async def _append(self, records: Sequence[Record]) -> None:
        try:
            self._outbox.append(records, self._heading.frontier)
        except DataError as error:
            if len(records) == 1:
                await self._give_up(records[0], error.reason)
                return
            for record in records:
                await self._append([record])

    async def _wait_for_room(self) -> None:
        await anyio.lowlevel.checkpoint()
        while not self._outbox.has_room():
            await anyio.to_thread.run_sync(self.secure)  # let it be seen, so that it can be acknowledged
            if self._outbox.full == "stop":
                raise ConnectorError(f"outbox `{self._outbox.name}` is full: what it holds has not been acknowledged")
            await anyio.sleep(_ROOM_INTERVAL)

    def secure(self) -> None:
        """Store what it was given."""
        if self._last > self._confirmed:
            last = self._last
            self._outbox.commit(msgspec.msgpack.encode((self._run, last)))
            self._confirmed = last


def _read(stored: bytes, place: str) -> tuple[str, int]:
    """Which run has filled an outbox, and up to which answer."""
    try:
        return msgspec.msgpack.decode(stored, type=tuple[str, int])
    except msgspec.MsgspecError as error:
        raise ConnectorError(
            f"outbox `{place}` is damaged: what fills it has not noted how far it has come: {error}"
        ) from None
