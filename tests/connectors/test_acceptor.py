"""Who is served where something listens: bounds, silent clients, and a system that gives no connection."""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketListener, SocketStream

from audience import Audience
from children import WAIT
from tidelog.connectors import ClientLimits, ListenerSink, ListenerSource, TcpAddress, TextDecoder, TextEncoder, UnixAddress
from tidelog.connectors.transport import acceptor as acceptor_module
from tidelog.connectors.transport.acceptor import Acceptor
from tidelog.connectors.transport.addresses import Address, Listening
from tidelog.connectors.transport.connection import Connection
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.interfaces import ConnectionStatistics

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]

LOOPBACK = TcpAddress("127.0.0.1", 0)


Connect = Callable[[ListenerSource | ListenerSink | Acceptor], Awaitable[SocketStream]]


@pytest.fixture
async def connect(anyio_backend: str) -> AsyncIterator[Connect]:
    """Makes clients of a TCP listener, which are closed at the end."""
    async with AsyncExitStack() as stack:

        async def connect(listener: ListenerSource | ListenerSink | Acceptor) -> SocketStream:
            assert listener.port is not None
            return await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", listener.port))

        yield connect


async def is_closed(client: SocketStream) -> bool:
    """Wait until the other side closes the connection."""
    with anyio.fail_after(WAIT):
        try:
            await client.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return True
    return False


async def until(listener: ListenerSource | ListenerSink, expected: ConnectionStatistics) -> None:
    """Wait for these numbers."""
    with anyio.fail_after(WAIT):
        while listener.connections() != expected:
            await anyio.lowlevel.checkpoint()


async def next_facts(source: ListenerSource) -> list[Record]:
    with anyio.fail_after(WAIT):
        batch = await source.receive()
    assert batch is not None
    return batch.records


def listening(schema: Schema, most: int, timeout: float | None = None) -> ListenerSource:
    return Audience(LOOPBACK, TextDecoder(schema, "tcp"), clients=ClientLimits(most, timeout))


async def test_whoever_is_over_the_bound_is_closed_and_counted(
    integer: Schema, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """With all places taken by clients that speak, new ones are closed at once; a place that is free is given again."""
    with caplog.at_level(logging.WARNING, "tidelog"):
        async with listening(integer, 2) as source:
            one, two = await connect(source), await connect(source)
            for over in [await connect(source) for _ in range(3)]:
                assert await is_closed(over)
            await until(source, ConnectionStatistics(accepted=2, refused=3))
            await one.aclose()
            await two.send(b"p(a)@1\n")
            assert await next_facts(source) == [("p", ("a",), 1, 1)]
            with anyio.fail_after(WAIT):
                while source.connections().accepted < 3:  # until the one that has gone is noticed
                    await connect(source)
                    await anyio.sleep(0.01)
    assert [record.message for record in caplog.records] == [
        f"{LOOPBACK}: all 2 places for clients are taken: further ones are closed at once"
    ]


async def test_a_full_house_of_silent_clients_locks_nobody_out(
    integer: Schema, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all places are taken, the client that has been silent for longest gives its place to the new one."""
    monkeypatch.setattr(acceptor_module, "SILENT_SECONDS", 0)
    async with listening(integer, 3) as source:
        silent = [await connect(source) for _ in range(3)]
        await until(source, ConnectionStatistics(accepted=3))
        await silent[0].send(b"p(a)@1\n")  # now the second one has been silent for longest
        await next_facts(source)
        speaker = await connect(source)
        await speaker.send(b"p(b)@2\n")
        assert await next_facts(source) == [("p", ("b",), 2, 2)]
        assert await is_closed(silent[1])
        await until(source, ConnectionStatistics(accepted=4, silent=1))
        await silent[0].send(b"p(c)@3\n")
        assert await next_facts(source) == [("p", ("c",), 3, 3)]


async def test_a_silent_client_is_left_after_the_timeout(integer: Schema, connect: Connect) -> None:
    """With a time-out a client that says nothing is closed, and its unfinished line is told; without one it stays."""
    async with listening(integer, 5, 0.05) as source:
        client = await connect(source)
        await client.send(b"p(a)@1\np(b")
        assert await is_closed(client)
        with anyio.fail_after(WAIT):
            batches = [await source.receive()]
            while not any(batch is not None and batch.rejected for batch in batches):
                batches.append(await source.receive())
        assert [item.raw for batch in batches if batch is not None for item in batch.rejected] == [b"p(b"]
        await until(source, ConnectionStatistics(accepted=1, silent=1))
    async with listening(integer, 5) as source:
        client = await connect(source)
        with anyio.move_on_after(0.2):
            await client.receive()
            pytest.fail("it was closed")


async def test_receivers_may_be_silent_but_those_that_hung_up_make_room(
    integer: Schema, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sink's receivers say nothing, and stay; one that has ended its side gives its place where there is no other."""
    monkeypatch.setattr(acceptor_module, "SILENT_SECONDS", 0)
    async with ListenerSink(LOOPBACK, TextEncoder(integer), clients=ClientLimits(2, 0.01)) as sink:
        one, two = await connect(sink), await connect(sink)
        await until(sink, ConnectionStatistics(accepted=2))
        await anyio.sleep(0.05)
        assert sink.receivers == 2
        over = await connect(sink)
        assert await is_closed(over)
        await one.send_eof()
        with anyio.fail_after(WAIT):
            while sink.connections().accepted < 3:
                over = await connect(sink)
                await anyio.sleep(0.01)
            await sink.send([("p", ("a",), 1, 1)])
            assert await two.receive() == b"p(a)@1\n" == await over.receive()


class Unlucky(SocketListener):
    """A listener of which the first `accept`s fail as the system would have it."""

    def __init__(self, inner: SocketListener, failures: Iterator[int]) -> None:
        self._inner, self._failures = inner, failures

    async def accept(self) -> SocketStream:
        code = next(self._failures, 0)
        if code:
            stream = await self._inner.accept() if code == errno.ECONNABORTED else None
            if stream is not None:
                await stream.aclose()
            error = OSError(code, os.strerror(code))
            if code == errno.ENFILE:
                raise anyio.BrokenResourceError from error  # as anyio does on trio
            raise error
        return await self._inner.accept()

    async def aclose(self) -> None:
        await self._inner.aclose()

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        return self._inner.extra_attributes


class UnluckyAddress(TcpAddress):
    """Listens, unluckily."""

    failures: tuple[int, ...] = ()

    async def listen(self) -> Listening:
        listeners = (await super().listen()).listeners
        failures = iter(self.failures)
        return Listening([Unlucky(listener, failures) for listener in listeners])


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED])
async def test_a_system_that_gives_no_connection_is_asked_again(
    integer: Schema, connect: Connect, code: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever `accept` fails with, the listener goes on, and says so once; one aborted client costs nobody else."""
    monkeypatch.setattr(acceptor_module, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(UnluckyAddress, "failures", (code, code, code))
    address = UnluckyAddress("127.0.0.1", 0)
    with caplog.at_level(logging.WARNING, "tidelog"), anyio.fail_after(WAIT):
        async with Audience(address, TextDecoder(integer, "tcp")) as source:
            clients = [await connect(source) for _ in range(4)]
            await clients[3].send(b"p(a)@1\n")
            assert await next_facts(source) == [("p", ("a",), 1, 1)]
    told = [] if code == errno.ECONNABORTED else [os.strerror(code)]
    assert [text for record in caplog.records for text in told if text in record.message] == told
    assert len(caplog.records) == len(told)


async def test_a_client_that_goes_ends_the_back_off(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no descriptors, the next client is served as soon as one has gone, not at the end of a pause."""
    monkeypatch.setattr(acceptor_module, "_FIRST_PAUSE", 3600)
    monkeypatch.setattr(UnluckyAddress, "failures", (0, errno.EMFILE))
    served: list[int] = []

    async def serve(connection: Connection, number: int) -> None:
        served.append(number)
        await connection.receive()

    with anyio.fail_after(WAIT):
        async with Acceptor(UnluckyAddress("127.0.0.1", 0), serve, ClientLimits()) as acceptor:
            first = await connect(acceptor)
            while not served:
                await anyio.lowlevel.checkpoint()
            await connect(acceptor)
            await anyio.sleep(0.05)
            assert served == [1]
            await first.send(b"x")
            while len(served) < 2:
                await anyio.lowlevel.checkpoint()


def test_limits_are_checked(anyio_backend: str) -> None:
    """A bound below 1, and a time-out of nothing, are refused where they are given."""
    for limits in ({"most": 0}, {"timeout": 0.0}, {"timeout": -1.0}):
        with pytest.raises(ValueError, match="got"):
            ClientLimits(**limits)  # type: ignore[arg-type]


# --- Unix-domain sockets ------------------------------------------------------------------------------------------------


@asynccontextmanager
async def served(address: Address, schema: Schema) -> AsyncIterator[ListenerSource]:
    async with Audience(address, TextDecoder(schema, "unix")) as source:
        yield source


async def test_a_live_unix_socket_is_not_taken_over(tmp_path: Path, integer: Schema) -> None:
    """Where somebody listens, another one is refused, and whoever connects still reaches the first."""
    address = UnixAddress(str(tmp_path / "socket"))
    async with served(address, integer) as first:
        with pytest.raises(OSError, match="another process listens at") as caught:
            await served(address, integer).__aenter__()
        assert caught.value.errno == errno.EADDRINUSE
        async with await address.connect() as client:
            await client.send(b"p(a)@1\n")
            assert await next_facts(first) == [("p", ("a",), 1, 1)]
    assert not (tmp_path / "socket").exists()


@pytest.mark.parametrize("kind", ["file", "folder", "link", "dangling"])
async def test_what_is_no_socket_is_never_removed(tmp_path: Path, integer: Schema, kind: str) -> None:
    """A file, a directory or a link at the path stays as it is, and is told as a mistake."""
    path = tmp_path / "socket"
    if kind == "file":
        path.write_text("precious")
    elif kind == "folder":
        path.mkdir()
    else:
        target = tmp_path / "target"
        if kind == "link":
            with socket.socket(socket.AF_UNIX) as stale:
                stale.bind(str(target))
        path.symlink_to(target)
    before = os.lstat(path)
    with pytest.raises(SpecError, match="there is something that is no socket"):
        await served(UnixAddress(str(path)), integer).__aenter__()
    assert os.lstat(path) == before


async def test_only_its_owner_removes_a_unix_socket(tmp_path: Path, integer: Schema) -> None:
    """A socket that somebody else has put in place of ours stays when we end."""
    path = tmp_path / "socket"
    async with served(UnixAddress(str(path)), integer):
        path.unlink()
        other = socket.socket(socket.AF_UNIX)
        other.bind(str(path))
    assert path.is_socket()
    other.close()


async def test_two_that_begin_at_once_do_not_both_listen(tmp_path: Path, integer: Schema) -> None:
    """Of several that find a socket left behind at the same time, one replaces it, and the others are refused."""
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    refused: list[OSError] = []
    done = anyio.Event()

    async def begin() -> None:
        try:
            async with served(UnixAddress(str(path)), integer):
                await done.wait()
        except OSError as error:
            refused.append(error)
            if len(refused) == 7:
                done.set()

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(begin)
    assert [error.errno for error in refused] == [errno.EADDRINUSE] * 7
    assert not path.exists()
