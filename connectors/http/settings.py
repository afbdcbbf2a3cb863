"""What can be told of the server: where it listens, who may do what, and how much of everything."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Literal, get_args

from tidelog.connectors.transport.addresses import TcpAddress
from tidelog.plans.diagnostics.errors import SpecError

MAX_BODY = 8 << 20
"""The largest body (bytes) of a request that is read unless told otherwise."""
MAX_HEADER = 16 << 10
"""The most bytes of a request's headers."""


Role = Literal["view", "operate", "configure"]
ROLES: tuple[Role, ...] = get_args(Role)
"""What somebody may do, each with all before it: see, operate alarms, configure and hand in facts."""


@dataclass(frozen=True, slots=True)
class UserSettings:
    """Somebody with a name and a token of his own."""

    name: str
    role: Role
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Where the server listens, and its limits. SpecError for an address beyond this machine without TLS and a token.

    `users` have tokens of their own, and roles; who tells the `token` may do all. With any of them, whoever writes (`POST`)
    has to tell one; on an address beyond this machine whoever reads, too. `hosts` are further names by which the server is
    called (`Host`): on this machine alone, a page from elsewhere could otherwise reach it by a name of its own.
    `header_seconds` is how long a client may take for its headers, and be silent between two requests; `body_seconds` for a
    body, `write_seconds` to take what it is sent. `waiting_seconds` is how long a POST waits for a place before it is told
    to come again, `max_posts` how many are read at once. `max_clients` bounds connections, `max_listeners` those that are
    sent answers as they become known.
    """

    address: TcpAddress
    token: str | None = field(default=None, repr=False)
    users: tuple[UserSettings, ...] = ()
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    max_body: int = MAX_BODY
    max_header: int = MAX_HEADER
    max_clients: int = 128
    max_listeners: int = 32
    max_posts: int = 8
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    write_seconds: float = 30.0
    waiting_seconds: float = 1.0
    keep_alive_seconds: float = 15.0

    def __post_init__(self) -> None:
        if not self.address.is_loopback and (not self.has_tokens or self.tls is None):
            raise SpecError(f"`{self.address}` lies beyond this machine: serving HTTP there needs TLS and a token")
        for name in ("max_body", "max_header", "max_clients", "max_listeners", "max_posts"):
            if getattr(self, name) < 1:
                raise SpecError(f"`{name}` is 1 or more, got {getattr(self, name)}")
        for name in ("header_seconds", "body_seconds", "write_seconds", "waiting_seconds", "keep_alive_seconds"):
            if not getattr(self, name) > 0:
                raise SpecError(f"`{name}` is above 0 s, got {getattr(self, name)}")

    @property
    def has_tokens(self) -> bool:
        """Whether anybody has to say who he is."""
        return self.token is not None or bool(self.users)

    @property
    def is_open(self) -> bool:
        """Whether everyone who reaches it may read: on this machine alone."""
        return self.address.is_loopback

    @property
    def url(self) -> str:
        """Where the page is, for messages."""
        return f"http{'s' if self.tls else ''}://{str(self.address).partition('//')[2]}/"
