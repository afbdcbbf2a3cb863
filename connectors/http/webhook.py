"""Webhooks: a sink that posts each answer, and tries again until it is taken.

What is sent follows the Standard Webhooks specification: the headers `webhook-id`, `webhook-timestamp` and
`webhook-signature`, which is `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. An answer's id is its run and its
number in it. It has the same id however often it is sent, also by a later run with the same state, and no other answer has
that: so a receiver can tell what it has already. Of two gateways that stand by for each other, the one that leads tells its
epoch in the header `tidelog-epoch`: a receiver that has seen a higher one for this run refuses the answer (412).
"""

from __future__ import annotations

import base64
import hmac
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import httpx

from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.formats.json.encoder import JsonEncoder
from tidelog.connectors.http.posting import Endpoint, Judge, Poster
from tidelog.connectors.http.requests.fences import EPOCH
from tidelog.connectors.sinks.choosing import Choice
from tidelog.connectors.sinks.explaining import Explaining
from tidelog.connectors.sinks.giving_up import ENCODING_ERRORS, GivingUp, unencodable
from tidelog.connectors.transport.links import LinkStatistics
from tidelog.plans.data.facts import Schema
from tidelog.runtime.ports.durability import Heading, Promise
from tidelog.runtime.ports.interfaces import AnyAnswer
from tidelog.version import VERSION

AGENT = f"tidelog/{VERSION}"
JSON = "application/json"


class Writer(Protocol):
    """Writes what is posted for an answer. Both methods raise what an encoder raises for what cannot be written."""

    @property
    def asks_why(self) -> bool:
        """Whether it has a place for why an answer holds, which is then told as its `reason`."""
        ...

    def body(self, answer: AnyAnswer, reason: str) -> bytes: ...

    def headers(self, answer: AnyAnswer, reason: str) -> Mapping[str, str]:
        """The headers that are the answer's own; the media type of the body is among them."""
        ...


class LineWriter:
    """An answer as the JSON line that `run` prints."""

    asks_why = False

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def body(self, answer: AnyAnswer, reason: str) -> bytes:
        return self._encoder.encode([answer]).rstrip(b"\n")

    def headers(self, answer: AnyAnswer, reason: str) -> Mapping[str, str]:
        return {"content-type": JSON}


class WebhookSink(Explaining, GivingUp):
    """Posts each answer, in order, one after the other. While the receiver takes none, it waits: the backpressure.

    `Poster` says when it waits. An answer that the receiver refuses for itself, or that is not taken after `attempts`, is
    given up: a dead letter. `writer` writes each answer, in place of JSON lines; `judge` knows what a service means by its
    refusals. What its `choice` leaves is posted.
    """

    promise: Promise = "at least once"

    def __init__(
        self,
        endpoint: Endpoint,
        schema: Schema,
        *,
        name: str | None = None,
        writer: Writer | None = None,
        choice: Choice | None = None,
        judge: Judge | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = name or endpoint.name
        self.sent = 0
        self._poster = Poster(self.name, endpoint, transport=transport, judge=judge)
        self._key = endpoint.key()
        self._headers = {"user-agent": AGENT, **endpoint.headers}
        self._lines_of: Encoder = JsonEncoder(schema)
        self._writer: Writer = LineWriter(self._lines_of) if writer is None else writer
        self.asks_why = self._writer.asks_why
        self._choice = Choice() if choice is None else choice
        self._heading = Heading(f"run{uuid.uuid4().hex}", 1, 0)

    @property
    def attempts(self) -> int:
        """How often it has posted."""
        return self._poster.link.requests

    def link(self) -> LinkStatistics:
        """How the connection stands."""
        return self._poster.link.statistics()

    @property
    def is_connected(self) -> bool:
        """Whether the receiver has taken, or refused for good, what it was sent last."""
        return self._poster.is_connected

    async def __aenter__(self) -> WebhookSink:
        await self._poster.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._poster.__aexit__(*exc)

    def number(self, heading: Heading) -> None:
        """The answers of the next `send` have these numbers."""
        self._heading = heading

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Returns once each of these is taken, or given up."""
        run, first = self._heading.run, self._heading.first
        self._heading = replace(self._heading, first=first + len(answers))  # where nobody numbers them
        for number, answer in enumerate(map(self._choice, answers), first):
            if answer is not None:
                await self._send_one(answer, f"{run}-{number}")

    async def _send_one(self, answer: AnyAnswer, name: str) -> None:
        reason = await self._reason(answer)
        try:
            body, own = self._writer.body(answer, reason), self._writer.headers(answer, reason)
        except ENCODING_ERRORS as error:
            await self._give_up(answer, unencodable(error))
            return
        refused = await self._poster.deliver(body, lambda: self._signed(name, body, own))
        if refused is None:
            self.sent += 1
        else:
            await self._give_up(answer, refused, self._lines_of)

    def _signed(self, name: str, body: bytes, own: Mapping[str, str]) -> dict[str, str]:
        moment = str(int(time.time()))
        headers = {**self._headers, **own, "webhook-id": name, "webhook-timestamp": moment}
        if self._heading.epoch is not None:
            headers[EPOCH] = str(self._heading.epoch)
        if self._key is not None:
            headers["webhook-signature"] = sign(self._key, name, moment, body)
        return headers


def sign(key: bytes, name: str, moment: str, body: bytes) -> str:
    """The signature of a message: `v1,` and base64.

    >>> sign(b"key", "msg_1", "1614265330", b"{}")
    'v1,Wo+qtMQnbmveDsu4SsHR+c75JsfXPSB8xTnErzORHxw='
    """
    return "v1," + base64.b64encode(hmac.digest(key, f"{name}.{moment}.".encode() + body, "sha256")).decode()
