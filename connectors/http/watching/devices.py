"""What devices post in their own words: a source whose messages are the bodies of requests below one path."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Sequence
from hashlib import sha256

from tidelog.connectors.http.watching.ingest import Ingest, Posted, Ticket
from tidelog.connectors.mapping.mapper import Mapper
from tidelog.connectors.mapping.messages import Message
from tidelog.plans.diagnostics.errors import SpecError

_OWN = frozenset(
    ["", "-", "api", "events", "favicon.svg", "healthz", "ingest", "login", "metrics", "outbox", "ready", "static", "ws"]
)
"""The first levels of the server's own addresses."""


class PostedTo(Ingest):
    """A source that is posted to below a path. With a `token` that has to be told, and nobody need know that of the page."""

    def __init__(self, name: str, path: str, *, token: str | None = None) -> None:
        super().__init__(name=name)
        self.path = path
        self.has_token = token is not None
        self._digest = sha256((token or "").encode()).digest()

    def topic(self, path: str) -> str | None:
        """What a request to this address is about; None where the address is another one."""
        raise NotImplementedError

    def is_token(self, told: str) -> bool:
        """Whether this is the token; takes the same time whatever it is."""
        return self.has_token and hmac.compare_digest(sha256(told.encode("utf-8", "replace")).digest(), self._digest)


class Devices(PostedTo):
    """Makes facts of each request's body by a mapper. A message's topic is what stands behind `path` in the address, or the
    source's name where nothing does. SpecError for a path that cannot be.
    """

    def __init__(
        self, name: str, path: str, mapper: Mapper, *, token: str | None = None, now: Callable[[], float] = time.time
    ) -> None:
        super().__init__(name, check_path(path), token=token)
        self._mapper, self._now = mapper, now
        self.on_messages: Callable[[Sequence[Message]], None] | None = None

    def topic(self, path: str) -> str | None:
        """What the message of a request to this address is about; None where the address is another one."""
        if path == self.path:
            return self.name
        return path[len(self.path) + 1 :] or self.name if path.startswith(f"{self.path}/") else None

    def read(self, topic: str, body: bytes) -> Posted:
        """The facts of a body, and what could not be read."""
        messages = [Message(topic, body, self._now())]
        if self.on_messages is not None:
            self.on_messages(messages)
        found = self._mapper.batch(messages)
        return Posted(
            found.records,
            found.rejected,
            places=found.places,
            parts=found.parts,
            ticket=Ticket(),
            count=len(found.records),
        )


def check_path(path: str) -> str:
    """The path itself; SpecError where it is none, or the server's own."""
    levels = path.split("/")
    if levels[0] or not all(levels[1:]) or set(path) & set("?#% "):
        raise SpecError(f"`{path}` is no path of an address: expected one such as `/devices`, without a `/` at its end")
    if levels[1] in _OWN:
        raise SpecError(f"`/{levels[1]}` is an address of the server's own: choose another path")
    return path
