"""Those who listen in to a gateway: they come and go, and the gateway goes on."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import anyio
import msgspec
import pytest

from children import WAIT
from tidelog.gateway.taps import Taps, TapServer

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]


def connect(path: Path, said: bytes) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(WAIT)
    client.connect(str(path))
    client.sendall(said)
    return client


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until it is so; the test's own bound ends it otherwise."""
    while not is_so():  # noqa: ASYNC110 - what is waited for is seen from outside
        await anyio.sleep(0.001)


async def test_a_client_that_goes_costs_nobody_else_anything(tmp_path: Path) -> None:
    """It goes before it has said a name, as one does that only sees whether somebody listens, or while it is told much."""
    path, taps = tmp_path / "tap", Taps()
    with anyio.fail_after(WAIT):
        async with TapServer(str(path), taps, lambda: ["floor"]):
            connect(path, b"").close()
            connect(path, b"flo").close()
            leaving = connect(path, b"floor\n")
            await until(lambda: taps.is_tapped("floor"))
            for _ in range(100):
                taps.pass_on("floor", lambda: b"x" * 10_000 + b"\n")
            await anyio.sleep(0.01)
            leaving.close()
            await until(lambda: not taps.is_tapped("floor"))
            with connect(path, b"flor\n") as asking:
                answer = await anyio.to_thread.run_sync(asking.recv, 1000)
    assert msgspec.json.decode(answer) == {"error": "there is no `flor` to listen to; did you mean `floor`?"}
