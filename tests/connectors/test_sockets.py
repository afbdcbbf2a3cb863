"""Sockets on loopback: clients and listeners, several connections at once, breaks in the middle of a line."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from anyio import TypedAttributeProvider
from anyio.abc import SocketAttribute, SocketStream

from audience import Audience
from children import WAIT
from tidelog.connectors import (
    CsvDecoder,
    ListenerSink,
    ListenerSource,
    SocketSink,
    SocketSource,
    TcpAddress,
    TextDecoder,
    TextEncoder,
    UnixAddress,
)
from tidelog.connectors.transport.addresses import Address
from tidelog.plans.data.facts import Record, Schema
from tidelog.runtime.ports.interfaces import Rejected, Source

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]

LOOPBACK = TcpAddress("127.0.0.1", 0)


async def receive(source: Source, count: int) -> tuple[list[Record], list[Rejected], list[str]]:
    """So many facts and refusals, with the facts' places."""
    records: list[Record] = []
    rejected: list[Rejected] = []
    places: list[str] = []
    with anyio.fail_after(WAIT):
        while len(records) + len(rejected) < count:
            batch = await source.receive()
            assert (batch is not None and batch.places is not None) or (batch is not None and not batch.records)
            records += batch.records
            rejected += batch.rejected
            places += batch.places or ()
    return records, rejected, places


async def connect(listener: ListenerSource | ListenerSink) -> SocketStream:
    """A client of a TCP listener."""
    assert listener.port is not None
    return await anyio.connect_tcp("127.0.0.1", listener.port)


def local_port(end: TypedAttributeProvider) -> int:
    """The port on this side of a connection or a listener."""
    return int(end.extra(SocketAttribute.local_port))


def raw_socket(stream: SocketStream) -> socket.socket:
    """The system's socket under a stream."""
    return stream.extra(SocketAttribute.raw_socket)


async def reset(stream: SocketStream) -> None:
    """Break a connection: the peer sees a reset, not an end."""
    raw_socket(stream).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await stream.aclose()


async def test_listener_serves_many_connections_at_once(integer: Schema) -> None:
    """Lines of several clients, sent in pieces by turns, keep apart; each place names the connection and its line."""
    async with Audience(LOOPBACK, TextDecoder(integer, "tcp")) as source:
        async with await connect(source) as one, await connect(source) as two:
            await one.send(b"p(a)")
            await two.send(b"p(b)@2\np(")
            assert (await receive(source, 1))[0] == [("p", ("b",), 2, 2)]
            await one.send(b"@1\n")
            records, _, places = await receive(source, 1)
            assert records == [("p", ("a",), 1, 1)]
            assert places == [f"127.0.0.1:{local_port(one)}:1"]
            await two.send(b"c)@3")
        records, _, places = await receive(source, 1)
        assert records == [("p", ("c",), 3, 3)]
        assert places[0].endswith(":2")


async def test_listener_bounds_what_waits(integer: Schema) -> None:
    """A flood that nobody receives stops at the sender; once received, every fact is there."""
    count = 50_000
    flood = b"".join(b"p(a)@%-300d\n" % i for i in range(count))
    async with Audience(LOOPBACK, TextDecoder(integer, "tcp")) as source:
        client = await connect(source)
        raw_socket(client).setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        done = anyio.Event()

        async def send() -> None:
            async with client:
                await client.send(flood)
            done.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            for _ in range(1000):  # enough turns of the loop to read it all, were there no bound
                await anyio.lowlevel.checkpoint()
            assert not done.is_set()
            records, _, _ = await receive(source, count)
            assert [lo for _, _, lo, _ in records] == list(range(count))


async def test_broken_connection_tells_the_line_that_was_cut(integer: Schema) -> None:
    """Where a client's connection breaks within a line, that line is rejected, and other clients go on."""
    async with Audience(LOOPBACK, TextDecoder(integer, "tcp")) as source, await connect(source) as other:
        client = await connect(source)
        await client.send(b"p(a)@1\np(b)@")
        await receive(source, 1)
        await reset(client)
        _, [item], _ = await receive(source, 1)
        assert (item.reason, item.raw) == ("connection lost before the line's end", b"p(b)@")
        assert item.place.endswith(":2")
        await other.send(b"p(c)@1\n")
        assert (await receive(source, 1))[0] == [("p", ("c",), 1, 1)]


async def test_wrong_header_costs_one_connection(integer: Schema) -> None:
    """Every row behind a wrong CSV header is rejected with the header's reason, none lost unseen; others are served."""
    reason = "the header needs a column `time`, or `from` and `to`, got: x"
    listener = Audience(LOOPBACK, CsvDecoder(integer, "tcp", "p"))
    async with listener as source, await connect(source) as client, await connect(source) as other:
        await client.send(b"x\na\n")
        _, rejected, _ = await receive(source, 2)
        await client.send(b"b\n")
        rejected += (await receive(source, 1))[1]
        assert [(item.reason, item.raw) for item in rejected] == [(reason, raw) for raw in (b"x", b"a", b"b")]
        assert [item.place.rpartition(":")[2] for item in rejected] == ["1", "2", "3"]
        await other.send(b"time,x\n1,a\n")
        assert (await receive(source, 1))[0] == [("p", ("a",), 1, 1)]


async def test_each_connection_is_a_source_that_ends_by_itself(integer: Schema) -> None:
    """A connection that is closed, that breaks, or whose listener is left, is a source that has ended; others go on."""
    with anyio.fail_after(WAIT):
        async with ListenerSource(LOOPBACK, TextDecoder(integer, "tcp")) as listener:
            one, two, three = [await connect(listener) for _ in range(3)]
            found = {source.name: source for source in [await listener.accept() for _ in range(3)]}
            sources = [found[f"127.0.0.1:{local_port(end)}"] for end in (one, two, three)]
            await one.send(b"p(a)@1")
            await one.aclose()
            await reset(two)
            async with sources[0] as source:
                batch = await source.receive()
                assert batch is not None and batch.records == [("p", ("a",), 1, 1)]
                assert await source.receive() is None
            async with sources[1] as source:
                assert await source.receive() is None
            await three.send(b"p(c)@3\n")
            async with sources[2] as source:
                assert (batch := await source.receive()) is not None and batch.records == [("p", ("c",), 3, 3)]
            with pytest.raises(anyio.EndOfStream):
                await three.receive()
        await three.aclose()


async def test_a_listener_that_is_left_ends_its_connections(integer: Schema) -> None:
    """Whoever waits for a connection's next facts is told that there are none."""
    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            received: list[object] = []

            async def read(source: Source) -> None:
                async with source:
                    received.append(await source.receive())

            async with ListenerSource(LOOPBACK, TextDecoder(integer, "tcp")) as listener:
                client = await connect(listener)
                tasks.start_soon(read, await listener.accept())
                await anyio.wait_all_tasks_blocked()
        assert received == [None]
        await client.aclose()


async def test_client_source_reads_to_the_end(integer: Schema) -> None:
    """A source that connects delivers all that the server sends, its last line without a newline too, then ends."""
    server = (await LOOPBACK.listen()).listeners[0]
    async with server:
        address = TcpAddress("127.0.0.1", local_port(server))
        async with SocketSource(address, TextDecoder(integer, str(address))) as source:
            async with await server.accept() as peer:
                await peer.send(b"p(a)@1\np(b)@2")
            records, _, places = await receive(source, 2)
            assert [row for _, row, _, _ in records] == [("a",), ("b",)]
            assert places == [f"{address}:1", f"{address}:2"]
            assert await source.receive() is None


async def test_client_source_raises_oserror_and_connects_anew(integer: Schema) -> None:
    """A broken connection is an OSError; entered again, the source first tells the line that was cut off."""
    server = (await LOOPBACK.listen()).listeners[0]
    async with server:
        address = TcpAddress("127.0.0.1", local_port(server))
        source = SocketSource(address, TextDecoder(integer, "tcp"))
        async with source:
            peer = await server.accept()
            await peer.send(b"p(a)@1\np(b")
            await receive(source, 1)
            await reset(peer)
            with anyio.fail_after(WAIT), pytest.raises(ConnectionResetError):
                await source.receive()
        async with source:
            async with await server.accept() as peer:
                await peer.send(b"p(c)@3\n")
            records, [item], _ = await receive(source, 2)
            assert (item.place, item.raw) == ("tcp:2", b"p(b")
            assert records == [("p", ("c",), 3, 3)]
    with pytest.raises(OSError, match=r".+"):
        await source.__aenter__()


async def test_listening_sink_waits_for_the_first_and_sends_to_all(integer: Schema) -> None:
    """Answers wait for the first receiver; later ones get what comes after; one that has gone costs nobody else."""
    with anyio.fail_after(WAIT):
        async with ListenerSink(LOOPBACK, TextEncoder(integer)) as sink, anyio.create_task_group() as tasks:
            tasks.start_soon(sink.send, [("p", ("a",), 1, 1)])
            await anyio.wait_all_tasks_blocked()
            one = await connect(sink)
            assert await one.receive() == b"p(a)@1\n"
            async with await connect(sink) as two:
                while sink.receivers < 2:
                    await anyio.lowlevel.checkpoint()
                await sink.send([("p", ("a",), 2, 2)])
                assert await one.receive() == await two.receive() == b"p(a)@2\n"
                await reset(one)
                for time in (3, 4):
                    await sink.send([("p", ("a",), time, time)])
                    assert await two.receive() == b"p(a)@%d\n" % time


async def test_client_sink_sends_and_raises_oserror(integer: Schema) -> None:
    """A sink that connects sends its lines; a broken connection is an OSError."""
    server = (await LOOPBACK.listen()).listeners[0]
    with anyio.fail_after(WAIT):
        async with server:
            address = TcpAddress("127.0.0.1", local_port(server))
            async with SocketSink(address, TextEncoder(integer)) as sink:
                peer = await server.accept()
                await sink.send([("p", ("a",), 1, 1)])
                assert await peer.receive() == b"p(a)@1\n"
                await reset(peer)
                with pytest.raises(OSError, match="connection lost"):
                    while True:
                        await sink.send([("p", ("a",), 1, 1)])


@pytest.mark.parametrize("leftover", [False, True])
async def test_unix_sockets(tmp_path: Path, integer: Schema, leftover: bool) -> None:
    """A Unix-domain socket carries facts from sink to source; it is for its owner alone, and gone afterwards."""
    path = tmp_path / "socket"
    if leftover:
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(path))
    address: Address = UnixAddress(str(path))
    with anyio.fail_after(WAIT):
        async with Audience(address, TextDecoder(integer, str(address))) as source:
            assert path.stat().st_mode & 0o777 == 0o600
            async with SocketSink(address, TextEncoder(integer)) as sink:
                await sink.send([("p", ("a",), 1, 1)])
                records, _, places = await receive(source, 1)
    assert records == [("p", ("a",), 1, 1)]
    assert places == [f"unix://{path}#1:1"]
    assert not path.exists()


async def test_port_in_use_is_an_oserror(integer: Schema) -> None:
    """A port that another listener has is refused when the source is entered, and nothing is left behind."""
    async with ListenerSource(LOOPBACK, TextDecoder(integer, "tcp")) as first:
        assert first.port is not None
        second = ListenerSource(TcpAddress("127.0.0.1", first.port), TextDecoder(integer, "tcp"))
        with pytest.raises(OSError, match=r".+"):
            await second.__aenter__()
