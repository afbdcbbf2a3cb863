"""A connection to a server, made once: who has lost it connects anew. nats-py is loaded here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import APIError

from tidelog.connectors.brokers.nats.settings import CONNECT_SECONDS

CLIENT_ERRORS: Final = (OSError, NatsError, TimeoutError, asyncio.InvalidStateError)
"""What the library raises where a server is away, or refuses something."""
_PING_SECONDS: Final = 10
_LEAVE_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.25
logging.getLogger("nats.aio.client").setLevel(logging.CRITICAL)  # lost connections are told here, with their place


class Reader(Client):
    """A client that reads any subject: the library's own ends at one that is no UTF-8, and at whatever comes behind it."""

    def _build_message(self, sid: int, subject: bytes, *more: Any) -> Any:
        return super()._build_message(sid, subject.decode("utf-8", "replace").encode(), *more)


async def connect(client: Client, options: Mapping[str, Any], name: str, on_lost: Callable[[str], None]) -> None:
    """Connect a new client; `on_lost` is told when its connection breaks. ConnectionError where that fails.

    Whoever calls leaves the client in any case, also where this fails, or is cancelled.
    """
    said = list[str]()

    async def note(error: Exception) -> None:
        said[:] = [_text(error)]

    async def closed() -> None:
        on_lost(said[0] if said else "the connection is lost")

    try:
        async with asyncio.timeout(2 * CONNECT_SECONDS):
            await client.connect(
                **options,
                name=name,
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=int(CONNECT_SECONDS),
                ping_interval=_PING_SECONDS,
                error_cb=note,
                closed_cb=closed,
            )
    except CLIENT_ERRORS as error:
        raise ConnectionError(f"{where(options)}: {said[0] if said else _text(error)}") from None
    watching = asyncio.get_running_loop().create_task(_watch(client, closed))
    _watches.add(watching)
    watching.add_done_callback(_watches.discard)


_watches: set[asyncio.Task[None]] = set()
"""A task that nobody holds may vanish."""


async def _watch(client: Client, closed: Callable[[], Awaitable[None]]) -> None:
    """The library calls nobody where a connection breaks while something is to be sent on it."""
    while not client.is_closed:  # noqa: ASYNC110 - that is why it is looked at
        await asyncio.sleep(_LOOK_SECONDS)
    await closed()


async def leave(client: Client) -> None:
    """Close a client, whatever state it is in."""
    with suppress(*CLIENT_ERRORS):
        async with asyncio.timeout(_LEAVE_SECONDS):
            await client.close()


def where(options: Mapping[str, Any]) -> str:
    """The servers, for people."""
    return ", ".join(options["servers"])


def _text(error: BaseException) -> str:
    return str(error).removeprefix("nats: ") or type(error).__name__


def told(error: BaseException) -> str:
    """What the server says of a request that it refuses, for people."""
    if isinstance(error, APIError) and error.description:
        return error.description
    return "no answer" if isinstance(error, TimeoutError) else _text(error)
