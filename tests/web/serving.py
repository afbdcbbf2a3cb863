"""A run with its server, and a client of it."""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx

import tidelog
from children import WAIT
from tidelog.connectors.http import HttpServer, HttpSettings, Watch
from tidelog.connectors.http.watching.watch import KEPT_FACTS
from tidelog.connectors.sources.memory import MemorySink
from tidelog.connectors.transport.addresses import TcpAddress
from tidelog.runtime.ports.interfaces import Listener, Sink, Source

PROGRAM = """
timeline integer, unit 1 s.
input temp(machine: text, celsius: number).
output hot.
hot(M) :- temp(M, C), C >= 80.
bottom :- temp(_, C), C > 130.
"""
LOOPBACK = TcpAddress("127.0.0.1", 0)


@dataclass
class Serving:
    """What a test works with."""

    server: HttpServer
    watch: Watch
    engine: tidelog.Engine
    client: httpx.AsyncClient
    sink: MemorySink = field(default_factory=MemorySink)

    async def post_slowly(self, chunk: bytes, count: int, pause: float) -> str:
        """Post a body of unknown length in chunks, for as long as there is no answer; returns the answer's status line."""
        async with await anyio.connect_tcp("127.0.0.1", self.server.port or 0) as client:
            await client.send(b"POST /ingest HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(count):
                await client.send(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                with anyio.move_on_after(pause):
                    return (await client.receive()).partition(b"\r\n")[0].decode()
            await client.send(b"0\r\n\r\n")
            return (await client.receive()).partition(b"\r\n")[0].decode()

    async def post(self, body: str | bytes, *, kind: str = "application/x-ndjson", **query: str) -> httpx.Response:
        """Post facts, and wait until they are taken unless the query says otherwise."""
        params = {"wait": "taken", **query}
        return await self.client.post("/ingest", content=body, params=params, headers={"content-type": kind})


@asynccontextmanager
async def serving(
    text: str = PROGRAM,
    *,
    sources: Sequence[Source | Listener] = (),
    sinks: Sequence[Sink] = (),
    settings: Callable[[TcpAddress], HttpSettings] = HttpSettings,
    kept: int = 1000,
    remember: int = KEPT_FACTS,
    verify: ssl.SSLContext | bool = False,
    is_durable: bool = False,
    iso: bool = False,
    history: Path | None = None,
    **options: Any,
) -> AsyncIterator[Serving]:
    """A run that takes what is posted, its server on a free port, and a client."""
    plan = tidelog.compile(text, desk=True)
    sink = MemorySink()
    watch = Watch(plan, name="plant", kept_answers=kept, iso=iso, history=history, now=options.get("now", time.time))
    engine = tidelog.Engine(
        plan,
        [*sources, watch.ingest, *([watch.desk.actions] if plan.alarms else [])],
        [sink, *sinks],
        observer=watch,
        remember=remember,
        on_violation=watch.violated,
        **options,
    )
    watch.attach(engine, is_durable=is_durable, goes_by_clock="clock" in options)
    chosen = settings(LOOPBACK)
    with anyio.fail_after(WAIT):
        async with HttpServer([watch], chosen) as server, anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await until(lambda: watch.ingest.is_open)
            watch.is_ready = True
            base = f"http{'s' if chosen.tls else ''}://127.0.0.1:{server.port}"
            async with httpx.AsyncClient(base_url=base, timeout=WAIT, verify=verify, trust_env=False) as client:
                yield Serving(server, watch, engine, client, sink)
            engine.stop()
            tasks.cancel_scope.cancel()


def fact(machine: str, celsius: float, time: int) -> str:
    """A reading as a JSON line."""
    return f'{{"temp":{{"machine":"{machine}","celsius":{celsius}}},"time":{time}}}\n'


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until it is so."""
    with anyio.fail_after(WAIT):
        while not is_so():  # noqa: ASYNC110 - what is waited for is seen from outside, as users see it
            await anyio.sleep(0.001)
