"""Answers to messages of a stream: sent until the server says that it has stored them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import anyio
import anyio.to_thread
import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg

from tidelog.connectors.brokers.nats.connecting import CLIENT_ERRORS, connect, leave, told, where
from tidelog.connectors.brokers.nats.settings import CONNECT_SECONDS
from tidelog.connectors.brokers.nats.subjects import SubjectTemplate
from tidelog.connectors.mapping.templates import Template
from tidelog.connectors.sinks.choosing import Choice
from tidelog.connectors.sinks.giving_up import ENCODING_ERRORS, GivingUp, unencodable
from tidelog.connectors.transport.links import Link, LinkStatistics
from tidelog.connectors.transport.loop import LoopThread
from tidelog.runtime.ports.durability import Heading, Promise
from tidelog.runtime.ports.interfaces import AnyAnswer

MAX_UNSENT: Final = 1_000
"""How many messages are on their way at once."""
_ID: Final = "Nats-Msg-Id"
_TOO_LARGE: Final = 10054
"""What the server calls a message that is larger than its stream takes."""


class _Sent(NamedTuple):
    answer: AnyAnswer
    subject: str
    payload: bytes
    headers: dict[str, str] | None


class _Problem(msgspec.Struct):
    err_code: int = 0
    description: str = ""


class _Told(msgspec.Struct):
    """What the server says of a message."""

    error: _Problem | None = None


_read = msgspec.json.Decoder(_Told).decode


class NatsSink(GivingUp):
    """Sends each answer as a message. `send` returns once the server has stored all of them.

    What is sent again, also by a later run after a kill, has the same `Nats-Msg-Id`: the server drops it, as long as its
    stream's `duplicate_window` reaches, and a receiver can. While the server is away, or no stream has the subject, it is
    tried again by whoever enters the sink anew. A message that is too large is given up.
    """

    promise: Promise = "at least once"

    def __init__(
        self,
        name: str,
        options: Mapping[str, Any],
        subject: SubjectTemplate,
        template: Template,
        *,
        client: str,
        choice: Choice | None = None,
    ) -> None:
        self.name = name
        self._options, self._client_name = options, client
        self._subject, self._template = subject, template
        self._choice = Choice() if choice is None else choice
        self._heading: Heading | None = None
        self._link = Link()
        self._thread: LoopThread
        self._client: Client | None = None
        self._inbox = ""
        self._open: dict[str, _Sent] = {}
        self._gone: list[tuple[AnyAnswer, str]] = []
        self._failure = ""
        self._news: asyncio.Event

    @property
    def is_connected(self) -> bool:
        """Whether the server is there."""
        return self._link.is_up

    def link(self) -> LinkStatistics:
        """How the connection stands."""
        return self._link.statistics()

    async def __aenter__(self) -> NatsSink:
        """Raises OSError where the server does not answer."""
        self._thread = LoopThread(f"nats {self.name}")
        self._open, self._gone, self._failure = {}, [], ""
        self._thread.start()
        try:
            await self._thread.run(self._begin())
        except BaseException:
            await self._end()
            raise
        self._link.up()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._end()

    async def _end(self) -> None:
        self._link.down()
        with anyio.CancelScope(shield=True):
            with suppress(TimeoutError):
                await self._thread.run(self._close())
            await anyio.to_thread.run_sync(self._thread.stop)

    def number(self, heading: Heading) -> None:
        """The answers of the next `send` have these numbers."""
        self._heading = heading

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Send these; waits until they are stored. Raises OSError where the server is away, or does not take them."""
        if self._client is None:
            raise ValueError("a sink is used within `async with`")
        run, first = ("", 0) if self._heading is None else (self._heading.run, self._heading.first)
        ready: list[_Sent] = []
        for number, answer in enumerate(map(self._choice, answers), first):
            if answer is None:
                continue
            headers = {_ID: f"{run}-{self.name}-{number}"} if run else None
            try:
                subject, payload = self._subject.topic(answer), self._template.payload(answer)
                subject.encode()
            except ENCODING_ERRORS as error:
                await self._give_up(answer, unencodable(error), self._template.lines)
                continue
            most = self._client.max_payload - (len(headers[_ID]) + 64 if headers else 0)
            if len(payload) > most:
                text = f"it has {len(payload)} bytes, and the server takes {most} at most"
                await self._give_up(answer, text, self._template.lines)
                continue
            ready.append(_Sent(answer, subject, payload, headers))
        for at in range(0, len(ready), MAX_UNSENT):
            await self._thread.run(self._publish(self._client, ready[at : at + MAX_UNSENT]))
            gone, self._gone = self._gone, []
            for answer, reason in gone:
                await self._give_up(answer, reason, self._template.lines)

    # --- in the library's thread ------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        self._news = asyncio.Event()
        self._client = client = Client()
        await connect(client, self._options, self._client_name, self._lost)
        self._inbox = client.new_inbox()
        await client.subscribe(f"{self._inbox}.*", cb=self._take)

    def _lost(self, reason: str) -> None:
        self._fail(f"{where(self._options)}: {reason}")

    def _fail(self, reason: str) -> None:
        self._failure = self._failure or reason
        self._link.down()
        self._news.set()

    async def _publish(self, client: Client, messages: Sequence[_Sent]) -> None:
        """Send these, and wait for what the server says of each; ConnectionError where it does not take one."""
        self._open = {str(number): message for number, message in enumerate(messages)}
        self._link.requests += len(messages)
        try:
            for number, (_, subject, payload, headers) in enumerate(messages):
                await client.publish(subject, payload, reply=f"{self._inbox}.{number}", headers=headers)
        except CLIENT_ERRORS as error:
            self._fail(told(error))
        while self._open and not self._failure:
            self._news.clear()
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                self._fail(f"{where(self._options)}: no answer")
        if self._failure:
            self._link.errors += 1
            raise ConnectionError(self._failure)

    async def _take(self, message: Msg) -> None:
        """What the server says of a message."""
        sent = self._open.pop(message.subject.rpartition(".")[2], None)
        if sent is None:
            return
        if message.headers and message.headers.get("Status") == "503":
            self._fail(f"no stream has the subject `{sent.subject}`: make one")
            return
        error = _read(message.data).error
        if error is not None and error.err_code == _TOO_LARGE:
            self._gone.append((sent.answer, error.description))
        elif error is not None:
            self._fail(f"`{sent.subject}`: {error.description}")
        if not self._open:
            self._news.set()

    async def _close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await leave(client)
