"""An outbox over TCP: the same as in its directory; who is let in, and what is done with nonsense."""

from __future__ import annotations

import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec
import pytest
from engine.running import BACKENDS

import tidelog
from children import WAIT
from outbox.boxes import PROGRAM, alarm
from tidelog.connectors import acceptor, outbox_protocol, outbox_server
from tidelog.connectors.acceptor import ClientLimits
from tidelog.connectors.addresses import TcpAddress
from tidelog.connectors.outbox import Outbox, OutboxReader
from tidelog.connectors.outbox_client import OutboxClient
from tidelog.connectors.outbox_protocol import LENGTH, VERSION, Hello, Reply, Request
from tidelog.connectors.outbox_server import OutboxServer, load_certificate, load_token, parse_server
from tidelog.plans.errors import ConnectorError, SpecError
from tidelog.runtime.interfaces import ConnectionStatistics

T = TypeVar("T")
HERE = Path(__file__).parent
CERTIFICATE, KEY = str(HERE / "test-server.pem"), str(HERE / "test-server.key")
TOKEN = secrets.token_hex(8)


@pytest.fixture
def box(tmp_path: Path) -> str:
    """The directory of an outbox with a hundred facts."""
    with Outbox(str(tmp_path), tidelog.compile(PROGRAM), "f", node="edge") as outbox:
        outbox.append([alarm(time, f"sensor-{time}") for time in range(100)], 5)
        outbox.commit(b"")
    return str(tmp_path)


def serving(box: str, use: Callable[[str], T], *, backend: str = "trio", **options: Any) -> T:
    """What `use` returns of the address at which the outbox is served, in a thread of its own."""

    async def main() -> T:
        async with OutboxServer(box, TcpAddress("127.0.0.1", 0), **options) as server:
            return await anyio.to_thread.run_sync(use, f"tcp://127.0.0.1:{server.port}")

    return anyio.run(main, backend=backend)


def read_all(address: str) -> int:
    """How many facts there are to read."""
    with OutboxClient(address) as client:
        return len(client.read(0))


def last_of(address: str, **options: Any) -> int:
    with OutboxClient(address, **options) as client:
        return client.last()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_client_reads_what_the_directory_holds(box: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Schema, numbers, facts in several replies, and acknowledgements: as with the reader of the directory."""
    monkeypatch.setattr(outbox_server, "READ_ROWS", 7)

    def use(address: str) -> None:
        with OutboxClient(address) as client, OutboxReader(box) as reader:
            assert client.schema() == reader.schema()
            assert (client.first(), client.last()) == (1, 100)
            assert client.read(0) == reader.read(0)
            assert client.read(3, 20) == reader.read(3, 20)
            client.acknowledge(40)
            assert (client.first(), reader.first()) == (41, 41)
            assert client.read(40) == reader.read(40)
            client.acknowledge(-1)
            assert client.read(100) == []

    serving(box, use, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_server_that_goes_replies_to_the_acknowledgement_first(
    box: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once all is taken a server may end: who has just acknowledged it learns that this is done."""
    asked, left = threading.Event(), threading.Event()
    acknowledge = OutboxReader.acknowledge

    def slow(reader: OutboxReader, upto: int) -> None:
        acknowledge(reader, upto)
        asked.set()
        assert left.wait(WAIT)

    monkeypatch.setattr(OutboxReader, "acknowledge", slow)

    def use(address: str) -> None:
        with OutboxClient(address) as client:
            client.acknowledge(100)

    async def main() -> None:
        async with anyio.create_task_group() as tasks, OutboxServer(box, TcpAddress("127.0.0.1", 0)) as server:
            tasks.start_soon(anyio.to_thread.run_sync, use, f"tcp://127.0.0.1:{server.port}")
            await anyio.to_thread.run_sync(asked.wait, WAIT)
            threading.Timer(0.1, left.set).start()

    anyio.run(main, backend=backend)


def test_errors_are_those_of_the_reader(box: str) -> None:
    """Facts that are gone, numbers beyond the last, and impossible ones: the same errors, and the connection goes on."""

    def use(address: str) -> None:
        with OutboxClient(address) as client:
            client.acknowledge(5)
            with pytest.raises(ConnectorError, match="facts up to 5 are acknowledged, and gone"):
                client.read(3)
            with pytest.raises(ValueError, match="the last fact is number 100, got 101"):
                client.acknowledge(101)
            with pytest.raises(ValueError, match="0 or more"):
                client.read(-1)
            assert client.last() == 100

    serving(box, use)


def test_a_reply_is_bounded_in_bytes(box: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply holds no more facts than its bytes allow, the client asks on; a fact too large for any reply is an error."""
    monkeypatch.setattr(outbox_server, "REPLY_BYTES", 300)
    assert serving(box, read_all) == 100
    monkeypatch.setattr(outbox_server, "MAX_REPLY", 110)

    def use(address: str) -> None:
        with OutboxClient(address) as client, pytest.raises(ConnectorError, match="is too long: 110 at most"):
            client.read(0)

    serving(box, use)


def test_a_lost_connection_is_opened_again(box: str) -> None:
    """Where the server has closed a silent connection, or has been started again, the client asks anew."""
    client: OutboxClient

    def first(address: str) -> int:
        nonlocal client
        client = OutboxClient(address)
        return client.last()

    with socket.create_server(("127.0.0.1", 0)) as free:
        address = TcpAddress("127.0.0.1", free.getsockname()[1])

    async def main() -> None:
        for ask in (first, lambda _: client.last()):
            async with OutboxServer(box, address):
                assert await anyio.to_thread.run_sync(ask, str(address)) == 100

    anyio.run(main, backend="trio")
    with pytest.raises(ConnectorError, match=r"tcp://127.0.0.1:\d+: "):
        client.last()


def test_the_token_opens_the_door(box: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the token, or with another one, nothing is told; with it all is."""
    monkeypatch.setattr(outbox_server, "_REFUSAL_PAUSE", 0)
    assert serving(box, partial(last_of, token=TOKEN), token=TOKEN) == 100
    for token in (None, "", TOKEN + "0", "é" * 16):
        with pytest.raises(SpecError, match="the token is wrong"):
            serving(box, partial(last_of, token=token), token=TOKEN)
    with pytest.raises(SpecError, match="the token is wrong"):
        serving(box, partial(last_of, tls=CERTIFICATE), token=TOKEN, tls=load_certificate(CERTIFICATE, KEY))


def test_tls(box: str) -> None:
    """With TLS the client trusts the certificates that it is told to, and no others; without it nothing is understood."""
    context = load_certificate(CERTIFICATE, KEY)
    assert serving(box, partial(last_of, token=TOKEN, tls=CERTIFICATE), token=TOKEN, tls=context) == 100
    with pytest.raises(ConnectorError, match="certificate verify failed"):
        serving(box, partial(last_of, tls=True), tls=context)
    with pytest.raises(ConnectorError):
        serving(box, last_of, tls=context)
    with pytest.raises(ConnectorError):
        serving(box, partial(last_of, tls=CERTIFICATE, timeout=2))


def test_beyond_this_machine_only_with_tls_and_a_token(box: str) -> None:
    """The server needs both, the client TLS: else nothing is opened, and no token said."""
    far, context = TcpAddress("0.0.0.0", 0), load_certificate(CERTIFICATE, KEY)  # noqa: S104 - it is refused
    for options in ({}, {"token": TOKEN}, {"tls": context}):
        with pytest.raises(SpecError, match="lies beyond this machine: serving an outbox there needs TLS and a token"):
            OutboxServer(box, far, **options)
    OutboxServer(box, far, token=TOKEN, tls=context)
    with pytest.raises(SpecError, match="reading an outbox there needs TLS"):
        OutboxClient("tcp://192.0.2.1:9400", token=TOKEN)


def exchange(address: str, data: bytes) -> bytes:
    """What the server answers to these bytes until it hangs up."""
    host, port = address.removeprefix("tcp://").split(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        with suppress(OSError):  # it may have hung up before all is said
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        answered = b""
        with suppress(ConnectionResetError):  # it has not read all that was said
            while chunk := connection.recv(4096):
                answered += chunk
        return answered


def framed(*messages: object) -> bytes:
    packed = [msgspec.msgpack.encode(message) for message in messages]
    return b"".join(LENGTH.pack(len(data)) + data for data in packed)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        LENGTH.pack(2**32 - 1) + b"x",
        LENGTH.pack(5) + b"\xc1\xc1\xc1\xc1\xc1",
        LENGTH.pack(5) + b"12",
        framed({"version": 1, "token": 7}),
        framed({"method": "last"}),
        framed(Hello(VERSION), {"method": "drop"}),
        framed(Hello(VERSION), {"method": "read", "number": 2**64 - 1}),
        framed(Hello(VERSION), {"method": "read", "number": 0, "limit": -5}),
        framed(Hello(VERSION), {"method": "acknowledge", "number": "7"}),
        framed(Hello(VERSION), {"method": "last", "more": 1}),
        framed(Hello(VERSION), "x" * 9000),
    ],
)
def test_nonsense_costs_nobody_else(box: str, data: bytes) -> None:
    """Whatever a client sends, only its own connection ends: no message is read that is too long, nothing is changed."""

    def use(address: str) -> None:
        with OutboxClient(address) as client:
            assert client.last() == 100
            hello = exchange(address, data)
            assert len(hello) < 60
            assert (client.first(), client.last(), last_of(address)) == (1, 100, 100)

    serving(box, use)


def test_another_version_is_told(box: str) -> None:
    """A client that speaks another version learns which one the server speaks."""
    answered = serving(box, lambda address: exchange(address, framed(Hello(VERSION + 1))))
    with pytest.raises(SpecError, match=f"the server speaks version {VERSION}, the client {VERSION + 1}"):
        msgspec.msgpack.decode(answered[LENGTH.size :], type=Reply).check()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("options", [{}, {"clients": ClientLimits(timeout=0.1)}])
def test_a_silent_client_is_left(
    box: str, backend: str, options: dict[str, ClientLimits], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who does not say who it is, or asks nothing for long, is hung up on, and counted."""
    monkeypatch.setattr(outbox_server, "HELLO_SECONDS", 0.1)
    if not options:
        monkeypatch.setattr(outbox_server, "IDLE_SECONDS", 0.1)

    async def main() -> ConnectionStatistics:
        async with OutboxServer(box, TcpAddress("127.0.0.1", 0), **options) as server:
            for hello in (b"", framed(Hello(VERSION))):
                async with await anyio.connect_tcp("127.0.0.1", server.port or 0) as client:
                    await client.send(hello)
                    with anyio.fail_after(WAIT), suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                        while True:
                            await client.receive()
            with anyio.fail_after(WAIT):
                while server.connections().silent < 2:
                    await anyio.lowlevel.checkpoint()
            return server.connections()

    assert anyio.run(main, backend=backend) == ConnectionStatistics(accepted=2, silent=2)


def until_let_in(address: str) -> int:
    """The last number, asked for again while the server is still at those who came or went a moment ago."""
    end = time.monotonic() + WAIT
    while True:
        with suppress(ConnectorError):
            return last_of(address)
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_house_full_of_silent_clients_lets_another_one_in(box: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all places are taken, one that says nothing, before or after its hello, makes room for one that asks."""
    monkeypatch.setattr(acceptor, "SILENT_SECONDS", 0)

    def use(address: str) -> None:
        host, port = address.removeprefix("tcp://").split(":")
        with ExitStack() as stack:
            for hello in (b"", framed(Hello(VERSION))):
                silent = stack.enter_context(socket.create_connection((host, int(port)), 10))
                silent.sendall(hello)
            for _ in range(3):
                assert until_let_in(address) == 100

    serving(box, use, backend=backend, clients=ClientLimits(2))


def test_a_server_that_says_too_much_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client reads no reply that is longer than it may be, and none that is not one."""
    for answer in (LENGTH.pack(outbox_protocol.MAX_REPLY + 1), LENGTH.pack(3) + b"abc"):
        with socket.create_server(("127.0.0.1", 0)) as server:
            client = OutboxClient(f"tcp://127.0.0.1:{server.getsockname()[1]}")

            def impostor(answer: bytes = answer, server: socket.socket = server) -> None:
                with server.accept()[0] as connection:
                    connection.sendall(answer)
                    connection.recv(4096)

            async def main(impostor: Callable[[], None] = impostor, client: OutboxClient = client) -> None:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(anyio.to_thread.run_sync, impostor)
                    with pytest.raises(ConnectorError, match=r"is too long|cannot be read"):
                        await anyio.to_thread.run_sync(client.last)

            anyio.run(main, backend="trio")


def test_a_request_is_small() -> None:
    """The longest request, with the longest token, is within its bound."""
    for message in (Hello(VERSION, "x" * outbox_server.MAX_TOKEN), Request("acknowledge", 2**62, 2**62)):
        assert len(outbox_protocol.pack(message, outbox_protocol.MAX_REQUEST)) > 10


def test_what_serving_needs(tmp_path: Path) -> None:
    """Addresses, tokens and certificates that are none are told as mistakes in usage."""
    assert parse_server("tcp+listen://127.0.0.1:9400") == TcpAddress("127.0.0.1", 9400)
    for spec in ("127.0.0.1:9400", "tcp://127.0.0.1:9400", "unix+listen:///x", "tcp+listen://x:1?predicate=p"):
        with pytest.raises(SpecError, match="is not of the form `tcp"):
            parse_server(spec)
    file = tmp_path / "token"
    file.write_text(f"  {TOKEN}\n")
    assert load_token(str(file)) == TOKEN
    for text in ("", "short", "x" * 5000, "ä" * 20, f"{TOKEN}\n{TOKEN}"):
        file.write_text(text)
        with pytest.raises(SpecError, match="holds no token"):
            load_token(str(file))
    with pytest.raises(SpecError, match="cannot read"):
        load_token(str(tmp_path / "none"))
    for certificate, key in ((KEY, KEY), (CERTIFICATE, CERTIFICATE), (CERTIFICATE, str(tmp_path / "none"))):
        with pytest.raises(SpecError, match="cannot use"):
            load_certificate(certificate, key)
    assert isinstance(load_certificate(CERTIFICATE, KEY), ssl.SSLContext)
    with pytest.raises(SpecError, match="cannot read the certificates"):
        OutboxClient("tcp://127.0.0.1:1", tls=str(tmp_path / "none"))
    for address in ("127.0.0.1:1", "http://127.0.0.1:1", "tcp+listen://127.0.0.1:1"):
        with pytest.raises(SpecError, match="is not of the form `tcp://HOST:PORT`"):
            OutboxClient(address)
