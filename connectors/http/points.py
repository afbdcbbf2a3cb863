"""Answers as points to a server that takes InfluxDB's line protocol over HTTP."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from contextlib import aclosing
from itertools import islice
from typing import Any
from urllib.parse import urlencode

import httpx

from tidelog.connectors.http.webhook import Body, Endpoint, WebhookSink, retry_after
from tidelog.connectors.influx.encoder import PointEncoder
from tidelog.connectors.sinks.giving_up import ENCODING_ERRORS, unencodable
from tidelog.plans.data.facts import Schema
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.interfaces import AnyAnswer

MOST_ANSWERS = 5_000
"""How many answers go into one request."""
_MOST_TEXT = 300
_MOST_ANSWER = 65_536
"""So many bytes of what a server says are read."""
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


class PointsSink(WebhookSink):
    """Posts answers as points, many in one request, in their order, and waits as a webhook does while nobody takes them.

    What is sent again is the same point, which takes its own place: so a repeat changes nothing. Where the server refuses
    points of a request (400, 413, 422), its halves are sent again until it is known which these are: they are dead letters,
    with what the server says of them.
    """

    def __init__(self, name: str, endpoint: Endpoint, schema: Schema, encoder: PointEncoder, *, packs: bool = True) -> None:
        super().__init__(endpoint, schema, name=name, encoder=encoder)
        self._points, self._packs = encoder, packs
        self._headers |= {"content-type": "text/plain; charset=utf-8"} | ({"content-encoding": "gzip"} if packs else {})

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
        reason = await self._deliver("", gzip.compress(body, 1, mtime=0) if self._packs else body)
        if reason is None:
            self.sent += len(told)
        elif len(told) == 1:
            await self._give_up(told[0][0], reason, self._points)
        else:
            half = len(told) // 2
            await self._send_some(told[:half])
            await self._send_some(told[half:])

    async def _post(self, name: str, body: bytes) -> tuple[str | None, float | None, bool]:
        """One attempt, as of a webhook; only what is wrong with the points is final."""
        if self._client is None:
            raise RuntimeError("the sink has not been entered")
        try:
            with self._in_time():
                request = self._client.build_request("POST", self._endpoint.url, content=body, headers=self._headers)
                request.stream = Body(body)
                async with aclosing(await self._client.send(request, stream=True)) as answer:
                    status, told = answer.status_code, retry_after(answer.headers.get("retry-after", ""))
                    said = "" if status < 300 else await _said(answer)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError) as error:
            return f"{type(error).__name__}: {error}"[:_MOST_TEXT].rstrip(": "), None, False
        if 200 <= status < 300:
            return None, None, True
        reason = f"status {status}: {said}" if said else f"status {status}"
        return reason, told, status in _OF_POINTS


async def _said(answer: httpx.Response) -> str:
    """What a server says is wrong."""
    text = b""
    pieces: Any = answer.aiter_bytes()  # a generator, which its type does not say
    async with aclosing(pieces) as chunks:
        async for chunk in chunks:
            text += chunk
            if len(text) > _MOST_ANSWER:
                break
    try:
        found = json.loads(text)
        said = str(found.get("error") or found.get("message") or "")
    except (ValueError, AttributeError):
        said = text.decode("utf-8", "replace")
    return " ".join(said.split())[:_MOST_TEXT]
