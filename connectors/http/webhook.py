"""Webhooks: a sink that posts each answer, and tries again until it is taken.

What is sent follows the Standard Webhooks specification: the headers `webhook-id`, `webhook-timestamp` and
`webhook-signature`, which is `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. An answer's id is its run and its
number in it. It has the same id however often it is sent, also by a later run with the same state, and no other answer has
that: so a receiver can tell what it has already. Of two gateways that stand by for each other, the one that leads tells its
epoch in the header `tidelog-epoch`: a receiver that has seen a higher one for this run refuses the answer (412).
"""

from __future__ import annotations

import base64
import binascii
import hmac
import logging
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult, urlsplit

import anyio
import httpx

from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.formats.json.encoder import JsonEncoder
from tidelog.connectors.http.requests.fences import EPOCH
from tidelog.connectors.sinks.choosing import Choice
from tidelog.connectors.sinks.giving_up import ENCODING_ERRORS, GivingUp, unencodable
from tidelog.connectors.transport.backoff import pause_before
from tidelog.plans.data.facts import Schema
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.durability import Heading, Promise
from tidelog.runtime.ports.interfaces import AnyAnswer
from tidelog.version import VERSION

logger = logging.getLogger("tidelog")

_PASSING = {408, 409, 425, 429}
"""Answers of a receiver below 500 that pass by themselves."""
_OF_PLACE = {401, 402, 403, 404, 405, 407, 421}
"""Those that say that the address or the credentials are not right, whatever answer is sent: somebody has to mend that."""
_TOLD_EVERY = 60.0
"""How many seconds lie at least between two warnings of one kind."""
_BASE64 = "whsec_"
"""What a secret begins with that stands in base64."""
_MOST_TEXT = 200
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")


@dataclass(frozen=True, slots=True)
class Retries:
    """How long to wait before the next attempt: `first` seconds, doubled each time up to `longest`, less a part by chance.

    `attempts` is how often one answer is tried at most; None: until it is taken. ValueError for what is no such number.
    """

    first: float = 0.5
    longest: float = 60.0
    attempts: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.first <= self.longest:
            raise ValueError(f"`first` is above 0 s, and not above `longest`, got {self.first}")
        if self.attempts is not None and self.attempts < 1:
            raise ValueError(f"`attempts` is 1 or more, got {self.attempts}")

    def wait_before(self, attempt: int, told: float | None) -> float:
        """The seconds to wait before an attempt (the second is 1); `told` is what the receiver asks for."""
        return max(min(told or 0.0, self.longest), pause_before(attempt, self.first, self.longest))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where webhooks go: an address, the headers that are sent along, and how long and how often it is tried.

    `secret` signs what is sent: text, or `whsec_` and base64. `timeout` is in seconds, for one attempt. SpecError for an
    address that is none of HTTP, for headers that cannot be sent, and for a secret that is no base64.
    """

    url: str
    secret: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    retries: Retries = field(default_factory=Retries)
    timeout: float = 10.0

    def __post_init__(self) -> None:
        _parts(self.url)
        _check_headers(self.headers)
        self.key()

    @property
    def name(self) -> str:
        """The address without what may be secret in it."""
        parts = _parts(self.url)
        return f"{parts.scheme}://{parts.hostname}{parts.path}"

    def key(self) -> bytes | None:
        """What messages are signed with."""
        if self.secret is None or not self.secret.startswith(_BASE64):
            return None if self.secret is None else self.secret.encode()
        try:
            return base64.b64decode(self.secret.removeprefix(_BASE64), validate=True)
        except binascii.Error:
            raise SpecError("the secret of a webhook begins with `whsec_`, but base64 does not follow") from None


def _parts(url: str) -> SplitResult:
    """An address taken apart. What may be secret in it is not shown."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets, or a port, that are none
        is_address = False
    if not is_address:
        shown = "the text" if "@" in url or "?" in url else f"`{url}`"
        raise SpecError(f"{shown} is no address of a webhook: expected `https://HOST/PATH`")
    return parts


def _check_headers(headers: Mapping[str, str]) -> None:
    """SpecError for a header that HTTP does not have; its value, which may be secret, is not shown."""
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise SpecError(f"`{name}` is no name of a header")
        if not _HEADER_VALUE.fullmatch(value):
            raise SpecError(f"the header `{name}` cannot be sent: expected one line of ASCII, without space around it")


class WebhookSink(GivingUp):
    """Posts each answer as JSON, in order, one after the other. While the receiver takes none, it waits: the backpressure.

    It waits where the receiver is away or busy (5xx, 408, 409, 425, 429), and where the address or the credentials are not
    right (3xx, 401, 402, 403, 404, 405, 407, 421), until somebody mends that. An answer that the receiver refuses for itself
    (other 4xx, 410 among them), or that is not taken after `attempts`, is given up: a dead letter. `encoder` writes each
    answer as a line, in place of that of JSON lines; what its `choice` leaves is posted.
    """

    promise: Promise = "at least once"

    def __init__(
        self,
        endpoint: Endpoint,
        schema: Schema,
        *,
        name: str | None = None,
        encoder: Encoder | None = None,
        choice: Choice | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = name or endpoint.name
        self.sent = self.attempts = 0
        self._endpoint, self._transport, self._key = endpoint, transport, endpoint.key()
        self._headers = {"user-agent": f"tidelog/{VERSION}", **endpoint.headers, "content-type": "application/json"}
        self._encoder: Encoder = encoder or JsonEncoder(schema)
        self._choice = Choice() if choice is None else choice
        self._heading = Heading(f"run{uuid.uuid4().hex}", 1, 0)
        self._told = 0.0
        self.is_connected = True
        """Whether the receiver has taken, or refused for good, what it was sent last."""
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> WebhookSink:
        self._client = httpx.AsyncClient(timeout=self._endpoint.timeout, transport=self._transport, follow_redirects=False)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

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
        try:
            body = self._encoder.encode([answer]).rstrip(b"\n")
        except ENCODING_ERRORS as error:
            await self._give_up(answer, unencodable(error))
            return
        reason = await self._deliver(name, body)
        if reason is None:
            self.sent += 1
        else:
            await self._give_up(answer, reason, self._encoder)

    async def _deliver(self, name: str, body: bytes) -> str | None:
        """Post it until it is taken; why it is not, if it never will be."""
        attempt = 0
        while True:
            attempt += 1
            self.attempts += 1
            reason, told, is_final = await self._post(name, body)
            self.is_connected = is_final
            if is_final:
                return reason
            retries = self._endpoint.retries
            if retries.attempts is not None and attempt >= retries.attempts:
                return f"{reason}, {attempt} times"
            wait = retries.wait_before(attempt, told)
            self._warn(f"{reason}; trying again in {wait:.1f} s")
            await anyio.sleep(wait)

    async def _post(self, name: str, body: bytes) -> tuple[str | None, float | None, bool]:
        """One attempt: why it failed, after how many seconds to come again, and whether there is any use in it."""
        if self._client is None:
            raise RuntimeError("the sink has not been entered")
        try:
            with anyio.fail_after(self._endpoint.timeout * 2):  # of a body that never ends
                headers = self._signed(name, body)
                request = self._client.build_request("POST", self._endpoint.url, content=body, headers=headers)
                request.stream = _Body(body)
                async with aclosing(await self._client.send(request, stream=True)) as answer:
                    status, told = answer.status_code, _retry_after(answer.headers.get("retry-after", ""))
        except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError) as error:
            return f"{type(error).__name__}: {error}"[:_MOST_TEXT].rstrip(": "), None, False
        if 200 <= status < 300:
            return None, None, True
        return f"status {status}", told, 400 <= status < 500 and status not in _PASSING | _OF_PLACE

    def _signed(self, name: str, body: bytes) -> dict[str, str]:
        moment = str(int(time.time()))
        headers = {**self._headers, "webhook-id": name, "webhook-timestamp": moment}
        if self._heading.epoch is not None:
            headers[EPOCH] = str(self._heading.epoch)
        if self._key is not None:
            headers["webhook-signature"] = sign(self._key, name, moment, body)
        return headers

    def _warn(self, text: str) -> None:
        """Log it, but not too often."""
        moment = time.monotonic()
        if not self._told or moment - self._told >= _TOLD_EVERY:
            self._told = moment
            logger.warning("%s: %s", self.name, text)


class _Body(httpx.AsyncByteStream):
    """A body in one piece. The library's own is a generator, which is never closed where a request is cancelled."""

    def __init__(self, data: bytes) -> None:
        self._rest = [data]

    def __aiter__(self) -> _Body:
        return self

    async def __anext__(self) -> bytes:
        if not self._rest:
            raise StopAsyncIteration
        return self._rest.pop()


def sign(key: bytes, name: str, moment: str, body: bytes) -> str:
    """The signature of a message: `v1,` and base64.

    >>> sign(b"key", "msg_1", "1614265330", b"{}")
    'v1,Wo+qtMQnbmveDsu4SsHR+c75JsfXPSB8xTnErzORHxw='
    """
    return "v1," + base64.b64encode(hmac.digest(key, f"{name}.{moment}.".encode() + body, "sha256")).decode()


def _retry_after(text: str) -> float | None:
    """The seconds that a receiver asks for, as a number or as a date."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
