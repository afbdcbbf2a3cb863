"""Sees whether a server is there, and has what is to be read: nothing is read from it, and nothing sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nats.aio.client import Client
from nats.js.errors import NotFoundError

from tidelog.connectors.brokers.nats.connecting import CLIENT_ERRORS, connect, leave, told, where
from tidelog.connectors.brokers.nats.settings import CONNECT_SECONDS


async def try_server(options: Mapping[str, Any], name: str, read: tuple[str, str] | None) -> str:
    """Says that it lets one in, and has the stream that is to be read (its name, and a subject); else ConnectionError."""
    client = Client()
    try:
        await connect(client, options, f"{name}-check", _nothing)
        found = f"the server at {where(options)} lets it in"
        if read is None:
            return found
        stream, subject = read
        js = client.jetstream(timeout=CONNECT_SECONDS)
        try:
            stream = stream or await js.find_stream_name_by_subject(subject)
            count = (await js.stream_info(stream)).state.messages
        except NotFoundError:
            missing = f"has no stream `{stream}`" if stream else f"has no stream with the subject `{subject}`"
            raise ConnectionError(f"the server at {where(options)} {missing}") from None
        except CLIENT_ERRORS as error:
            raise ConnectionError(f"the server at {where(options)}: {told(error)}") from None
        return f"{found}, and has the stream `{stream}` with {count} message{'' if count == 1 else 's'}"
    finally:
        await leave(client)


def _nothing(reason: str) -> None:
    """It is left at once."""
