"""Reading a request's body, with a bound on its size and on the time that it takes."""

from __future__ import annotations

from contextlib import aclosing

import anyio
from starlette.requests import Request


async def read_body(request: Request, most: int, seconds: float) -> tuple[bytes, bool]:
    """What has come of a body within so many seconds, and whether that is all of it.

    Where it has more than `most` bytes, it is not read on: more than these are returned then, and it is not all. Raises
    ClientDisconnect where the client has gone.
    """
    body = bytearray()
    with anyio.move_on_after(seconds):
        async with aclosing(request.stream()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > most:
                    return bytes(body), False
        return bytes(body), True
    return bytes(body), False
