"""What writes to InfluxDB by its line protocol, and writes here: a source below the addresses that such clients know."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Literal, cast

import anyio.lowlevel
from starlette.requests import Request

from tidelog.connectors.databases.influx.grammar import Precision
from tidelog.connectors.databases.influx.points import Points, joined
from tidelog.connectors.formats.framing import LineReader
from tidelog.connectors.http.watching.devices import PostedTo, check_path
from tidelog.connectors.http.watching.ingest import Posted, Ticket
from tidelog.connectors.mapping.messages import Message

Version = Literal["1", "2"]
_ADDRESSES: dict[str, Version] = {"/write": "1", "/api/v2/write": "2"}
"""The interfaces of InfluxDB, by what stands behind the source's path."""
_CHUNK = 1 << 14
"""So many bytes are read before other tasks get their turn."""


class Writes(PostedTo):
    """Makes facts of the points of each request. With a `token` clients have to tell it, in any way that InfluxDB has."""

    def __init__(self, name: str, path: str, points: Points, *, token: str | None = None, max_line: int) -> None:
        super().__init__(name, check_path(path) if path else "", token=token)
        self._points, self._max_line = points, max_line

    @property
    def on_messages(self) -> Callable[[Sequence[Message]], None] | None:
        """Who is told of messages."""
        return self._points.on_messages

    @on_messages.setter
    def on_messages(self, hear: Callable[[Sequence[Message]], None] | None) -> None:
        self._points.on_messages = hear

    def topic(self, path: str) -> str | None:
        """Which interface a request is for; None where the address is another one."""
        return _ADDRESSES.get(path[len(self.path) :]) if path.startswith(self.path) else None

    def is_let_in(self, request: Request) -> bool:
        """Whether a request tells the token: `Token` or `Bearer`, as a password, or as `p` in the address."""
        return not self.has_token or self.is_token(_told(request))

    async def read_points(self, body: bytes, precision: Precision) -> Posted:
        """The facts of a body, and what could not be read; other tasks get their turn."""
        reader = LineReader(self._points.decoder(precision), self._max_line)
        found = []
        for start in range(0, len(body), _CHUNK):
            found.append(reader.feed(body[start : start + _CHUNK]))
            await anyio.lowlevel.checkpoint()
        found.append(reader.finish())
        whole = joined(found)
        return Posted(
            whole.records,
            whole.rejected,
            places=whole.places,
            parts=whole.parts,
            ticket=Ticket(),
            count=len(whole.records),
        )


def version_of(topic: str) -> Version:
    """The interface that a request is for, as `Writes.topic` gives it."""
    return cast(Version, topic)


def _told(request: Request) -> str:
    scheme, _, told = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in ("token", "bearer"):
        return told.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(told, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError, ValueError):
            return ""
    return request.query_params.get("p", "")
