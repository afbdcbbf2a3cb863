"""Posts to one address over HTTP, again and again until it is taken, or refused for good."""

from __future__ import annotations

import base64
import binascii
import logging
import re
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Literal, NamedTuple, Self
from urllib.parse import SplitResult, urlsplit

import anyio
import httpx

from tidelog.connectors.transport.backoff import pause_before
from tidelog.connectors.transport.links import Link
from tidelog.plans.diagnostics.errors import SpecError

logger = logging.getLogger("tidelog")
logging.getLogger("httpx").setLevel(logging.WARNING)  # below that it logs whole addresses, which may hold secrets

_PASSING = {408, 409, 425, 429}
"""Answers of a receiver below 500 that pass by themselves."""
_OF_PLACE = {401, 402, 403, 404, 405, 407, 421}
"""Those that say that the address or the credentials are not right, whatever answer is sent: somebody has to mend that."""
_TOLD_EVERY = 60.0
"""How many seconds lie at least between two warnings of one kind."""
_BASE64 = "whsec_"
"""What a secret begins with that stands in base64."""
_MOST_TEXT = 200
_MOST_ASKED = 3600.0
"""For how many seconds a receiver may ask to be left alone, beyond the longest pause between two attempts."""
_MOST_ANSWER = 4096
"""How many bytes of an answer are read, where it is a refusal."""
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
        return max(min(told or 0.0, max(_MOST_ASKED, self.longest)), pause_before(attempt, self.first, self.longest))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where webhooks go: an address, the headers that are sent along, and how long and how often it is tried.

    `secret` signs what is sent: text, or `whsec_` and base64. `timeout` is in seconds, for one attempt. SpecError for an
    address that is none of HTTP, for headers that cannot be sent, and for a secret that is no base64; where the address
    `is_secret`, it is not shown.
    """

    url: str = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    retries: Retries = field(default_factory=Retries)
    timeout: float = 10.0
    is_secret: bool = False

    def __post_init__(self) -> None:
        _parts(self.url, is_secret=self.is_secret)
        check_headers(self.headers)
        self.key()

    @property
    def name(self) -> str:
        """The address without what may be secret in it."""
        parts = _parts(self.url)
        return f"{parts.scheme}://{parts.hostname}{'' if self.is_secret else parts.path}"

    def key(self) -> bytes | None:
        """What messages are signed with."""
        if self.secret is None or not self.secret.startswith(_BASE64):
            return None if self.secret is None else self.secret.encode()
        try:
            return base64.b64decode(self.secret.removeprefix(_BASE64), validate=True)
        except binascii.Error:
            raise SpecError("the secret of a webhook begins with `whsec_`, but base64 does not follow") from None


def _parts(url: str, *, is_secret: bool = False) -> SplitResult:
    """An address taken apart. What may be secret in it is not shown."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets, or a port, that are none
        is_address = False
    if not is_address:
        shown = "the text" if is_secret or "@" in url or "?" in url else f"`{url}`"
        raise SpecError(f"{shown} is no address of a webhook: expected `https://HOST/PATH`")
    return parts


def check_headers(headers: Mapping[str, str]) -> None:
    """SpecError for a header that HTTP does not have; its value, which may be secret, is not shown."""
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise SpecError(f"`{name}` is no name of a header")
        if not _HEADER_VALUE.fullmatch(value):
            raise SpecError(f"the header `{name}` cannot be sent: expected one line of ASCII, without space around it")


class Refusal(NamedTuple):
    """What an answer that is no success means: whether it passes, is `of the place`, or is `final` for what was posted.

    `told` is after how many seconds one may come again, None where that is not said.
    """

    kind: Literal["passing", "of the place", "final"]
    told: float | None = None


Judge = Callable[[int, bytes], Refusal | None]
"""What a service means by a status and a body; None where it means what HTTP does."""


class Poster:
    """Posts to one endpoint, for the length of a `with` block.

    It waits where the receiver is away or busy (5xx, 408, 409, 425, 429), and where the address or the credentials are not
    right (3xx, 401, 402, 403, 404, 405, 407, 421), until somebody mends that. Other 4xx, 410 among them, are final.
    `judge` knows better of some service.
    """

    def __init__(
        self, name: str, endpoint: Endpoint, *, transport: httpx.AsyncBaseTransport | None = None, judge: Judge | None = None
    ) -> None:
        self._name, self._endpoint, self._transport, self._judge = name, endpoint, transport, judge
        self.link = Link()
        self.is_connected = True
        """Whether the receiver has taken, or refused for good, what it was sent last."""
        self._told = 0.0
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        self._client = httpx.AsyncClient(timeout=self._endpoint.timeout, transport=self._transport, follow_redirects=False)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def deliver(self, body: bytes, headers: Callable[[], Mapping[str, str]]) -> str | None:
        """Post it until it is taken; why it is not, if it never will be. Each attempt has new `headers`."""
        attempt = 0
        while True:
            attempt += 1
            self.link.requests += 1
            reason, told, is_final = await self._post(body, headers())
            self._note(is_final, reason)
            if is_final:
                return reason
            retries = self._endpoint.retries
            if retries.attempts is not None and attempt >= retries.attempts:
                return f"{reason}, {attempt} times"
            wait = retries.wait_before(attempt, told)
            self._warn(f"{reason}; trying again in {wait:.1f} s")
            await anyio.sleep(wait)

    def _note(self, is_final: bool, reason: str | None) -> None:
        """How an attempt ended."""
        self.is_connected = is_final
        self.link.errors += reason is not None
        if not is_final:
            self.link.down()
        elif not self.link.is_up:
            self.link.up()

    async def _post(self, body: bytes, headers: Mapping[str, str]) -> tuple[str | None, float | None, bool]:
        """One attempt: why it failed, after how many seconds to come again, and whether there is any use in it."""
        if self._client is None:
            raise RuntimeError("the sink has not been entered")
        said = b""
        try:
            with anyio.fail_after(self._endpoint.timeout * 2):  # of a body that never ends
                request = self._client.build_request("POST", self._endpoint.url, content=body, headers=headers)
                request.stream = _Body(body)
                async with aclosing(await self._client.send(request, stream=True)) as answer:
                    status, told = answer.status_code, _retry_after(answer.headers.get("retry-after", ""))
                    if status >= 400:
                        said = await _begin_of(answer)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError) as error:
            return self._shown(f"{type(error).__name__}: {error}"), None, False
        if 200 <= status < 300:
            return None, None, True
        refusal = self._judge(status, said) if self._judge is not None else None
        if refusal is None:
            is_final = 400 <= status < 500 and status not in _PASSING | _OF_PLACE
        else:
            is_final, told = refusal.kind == "final", refusal.told if refusal.told is not None else told
        words = " ".join(said.decode("utf-8", "replace").split())
        return self._shown(f"status {status}: {words}"), told, is_final

    def _shown(self, text: str) -> str:
        """What is said of a failure, without the address where that is secret."""
        if self._endpoint.is_secret:
            text = text.replace(self._endpoint.url, "…")
        return text[:_MOST_TEXT].rstrip(": ")

    def _warn(self, text: str) -> None:
        """Log it, but not too often."""
        moment = time.monotonic()
        if not self._told or moment - self._told >= _TOLD_EVERY:
            self._told = moment
            logger.warning("%s: %s", self._name, text)


async def _begin_of(answer: httpx.Response) -> bytes:
    """The first bytes of an answer's body."""
    found = b""
    async with aclosing(answer.aiter_bytes()) as pieces:  # type: ignore[type-var] # a generator, which has `aclose`
        async for piece in pieces:
            found += piece
            if len(found) >= _MOST_ANSWER:
                break
    return found[:_MOST_ANSWER]


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


def _retry_after(text: str) -> float | None:
    """The seconds that a receiver asks for, as a number or as a date."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
