"""Answers as points to a server that takes InfluxDB's line protocol over HTTP."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from itertools import islice
from typing import Self
from urllib.parse import urlencode

import httpx

from tidelog.connectors.databases.influx.encoder import PointEncoder
from tidelog.connectors.http.posting import Endpoint, Poster, Refusal
from tidelog.connectors.http.webhook import AGENT
from tidelog.connectors.sinks.giving_up import ENCODING_ERRORS, GivingUp, unencodable
from tidelog.connectors.transport.links import LinkStatistics
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.durability import Promise
from tidelog.runtime.ports.interfaces import AnyAnswer

MOST_ANSWERS = 5_000
"""How many answers go into one request."""
_OF_POINTS = (400, 413, 422)
"""Answers of a server that say that something is wrong with the points, or that they are too many."""
_Told = tuple[AnyAnswer, bytes]


def write_url(url: str, *, bucket: str = "", org: str = "", database: str = "", retention: str = "") -> str:
    """Where points are posted: for a `bucket` by the second interface, for a `database` by the first.

    SpecError where it is not said which of the two.
    """
    if bool(bucket) == bool(database):
        raise SpecError("points go to a `bucket` (InfluxDB 2 and 3), or to a `database` (InfluxDB 1): say one of them")
    if org and database:
        raise SpecError("`org` belongs to a `bucket`")
    if retention and bucket:
        raise SpecError("`retention` belongs to a `database`")
    path = "/api/v2/write" if bucket else "/write"
    told = {"bucket": bucket, "org": org} if bucket else {"db": database, "rp": retention}
    return f"{url.rstrip('/')}{path}?{urlencode({name: text for name, text in told.items() if text} | {'precision': 'ns'})}"


class PointsSink(GivingUp):
    """Posts answers as points, many in one request, in their order, and waits as a webhook does while nobody takes them.

    What is sent again is the same point, which takes its own place: so a repeat changes nothing. Where the server refuses
    points of a request (400, 413, 422), its halves are sent again until it is known which these are: they are dead letters,
    with what the server says of them.
    """

    promise: Promise = "at least once"

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        encoder: PointEncoder,
        *,
        packs: bool = True,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = name
        self.sent = 0
        self._poster = Poster(name, endpoint, transport=transport, judge=_judge)
        self._points, self._packs = encoder, packs
        own = {"content-type": "text/plain; charset=utf-8"} | ({"content-encoding": "gzip"} if packs else {})
        self._headers = {"user-agent": AGENT, **endpoint.headers, **own}

    @property
    def is_connected(self) -> bool:
        """Whether the server has taken, or refused for good, what it was sent last."""
        return self._poster.is_connected

    def link(self) -> LinkStatistics:
        """How the connection stands."""
        return self._poster.link.statistics()

    async def __aenter__(self) -> Self:
        await self._poster.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._poster.__aexit__(*exc)

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Returns once each of these is taken, or given up."""
        rest = iter(answers)
        while some := list(islice(rest, MOST_ANSWERS)):
            told: list[_Told] = []
            for answer in some:
                try:
                    lines = self._points.encode([answer])
                except ENCODING_ERRORS as error:
                    if told:
                        await self._send_some(told)
                        told = []
                    await self._give_up(answer, unencodable(error))
                    continue
                if lines:
                    told.append((answer, lines))
            if told:
                await self._send_some(told)

    async def _send_some(self, told: Sequence[_Told]) -> None:
        body = b"".join([lines for _, lines in told])
        packed = gzip.compress(body, 1, mtime=0) if self._packs else body
        refused = await self._poster.deliver(packed, lambda: self._headers)
        if refused is None:
            self.sent += len(told)
        elif len(told) == 1:
            await self._give_up(told[0][0], refused, self._points)
        else:
            half = len(told) // 2
            await self._send_some(told[:half])
            await self._send_some(told[half:])


def _judge(status: int, body: bytes) -> Refusal:
    """Only what is wrong with the points is final: somebody has to mend all else, or it passes."""
    return Refusal("final" if status in _OF_POINTS else "of the place")
