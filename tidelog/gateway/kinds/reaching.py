"""Sees whether the other side of an end is there: nothing is read from it, and nothing sent."""

from __future__ import annotations

from urllib.parse import urlsplit

import anyio

CONNECT_SECONDS = 10.0
"""How long one waits for it."""
NOTHING = "nothing to reach"


async def reach_host(host: str, port: int) -> str:
    """See whether something listens there, and say so; OSError or TimeoutError where nothing does."""
    with anyio.fail_after(CONNECT_SECONDS):
        await (await anyio.connect_tcp(host, port)).aclose()
    return f"{host}:{port} is there"


async def reach_url(url: str, port: int | None) -> str:
    """The same of a URL that names a host; `port` is that of its scheme, where the URL tells none."""
    parts = urlsplit(url)
    port = parts.port or port
    return NOTHING if not parts.hostname or port is None else await reach_host(parts.hostname, port)
