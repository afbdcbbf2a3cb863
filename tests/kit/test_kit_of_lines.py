"""Files, sockets and outboxes have what the kit asks, as far as each can."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest

from brokers import free_port
from children import WAIT
from tidelog.connectors import FileSink, FileSource, JsonEncoder, ListenerSource, SocketSink, SocketSource, TcpAddress
from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.outbox.outbox import Outbox, OutboxReader
from tidelog.connectors.outbox.sink import OutboxSink
from tidelog.connectors.transport.acceptor import ClientLimits
from tidelog.runtime.ports.interfaces import Listener, Source
from tidelog.testing.connectors import PLAN, Arrival, SinkBench, SinkKit, SourceBench, SourceKit, number_in
from waiting import eventually
from wires import Wire

NOBODY = "a file has nobody behind it who could go away"


def decoder() -> Decoder:
    return make_decoder("jsonl", PLAN.schema, "lines", None)


def line(number: int) -> bytes:
    """A reading as a JSON line."""
    return json.dumps({"predicate": "reading", "args": [number], "time": number}).encode() + b"\n"


def arrival(text: str) -> Arrival:
    """The answer in a JSON line, with its id, if it has one."""
    held = json.loads(text)
    return Arrival(held["alarm"]["n"], None if "id" not in held else str(held["id"]))


# --- sinks --------------------------------------------------------------------------------------------------------------


class FileBench(SinkBench):
    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self) -> FileSink:
        return FileSink(str(self._path), JsonEncoder(PLAN.schema))

    def arrived(self) -> Sequence[Arrival]:
        return [arrival(text) for text in self._path.read_text().splitlines()] if self._path.exists() else []


class TestFileSink(SinkKit):
    """A regular file."""

    cannot: ClassVar = {
        "a_repeat_has_the_same_id": NOBODY,
        "it_goes_on_when_the_other_side_comes_back": NOBODY,
        "it_may_be_left_while_the_other_side_is_away": NOBODY,
    }

    @pytest.fixture
    def bench(self, tmp_path: Path) -> SinkBench:
        return FileBench(tmp_path / "out.jsonl")


class OutboxBench(SinkBench):
    def __init__(self, path: Path) -> None:
        self._path, self._box = str(path), None

    def open(self) -> OutboxSink:
        self.close()
        self._box = Outbox(self._path, PLAN, node="here")
        return OutboxSink(self._box)

    def close(self) -> None:
        if self._box is not None:
            self._box.close()

    def arrived(self) -> Sequence[Arrival]:
        with OutboxReader(self._path) as reader:
            return [Arrival(number_in(row.arguments), str(row.seq)) for row in reader.read(0)]


class TestOutboxSink(SinkKit):
    """An outbox, whose rows are numbered."""

    cannot: ClassVar = TestFileSink.cannot

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[SinkBench]:
        bench = OutboxBench(tmp_path / "box")
        yield bench
        bench.close()


class Peer:
    """A server that keeps what it reads, and sends what it is given to each who connects; in threads of its own."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._links: list[socket.socket] = []
        self._read: list[bytes] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def lines(self) -> list[str]:
        """The whole lines that were read on all connections."""
        return [text.decode() for data in list(self._read) for text in data.split(b"\n")[:-1]]

    def newest(self) -> socket.socket | None:
        """The connection that was made last and has not been closed, if there is one."""
        return next((link for link in reversed(self._links) if _is_open(link)), None)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for link in self._links:
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()
        for thread in self._threads:
            thread.join(WAIT)

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            self._read.append(b"")
            reader = threading.Thread(target=self._receive, args=(link, len(self._read) - 1))
            self._threads.append(reader)
            self._links.append(link)
            reader.start()

    def _receive(self, link: socket.socket, index: int) -> None:
        with suppress(OSError):
            while data := link.recv(65_536):
                self._read[index] += data
        if link in self._links:
            self._links.remove(link)
        link.close()


def _is_open(link: socket.socket) -> bool:
    """Whether the other side has not closed a connection on which it says nothing."""
    try:
        return link.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


class SocketBench(SinkBench):
    """A server behind a wire that can be cut."""

    def __init__(self, peer: Peer, wire: Wire) -> None:
        self._peer, self._wire = peer, wire

    def open(self) -> SocketSink:
        sink = SocketSink(TcpAddress("127.0.0.1", self._wire.port), JsonEncoder(PLAN.schema))
        sink.writes_ids = True
        return sink

    def arrived(self) -> Sequence[Arrival]:
        return [arrival(text) for text in self._peer.lines()]

    def leave(self) -> None:
        self._wire.leave()

    def come_back(self) -> None:
        self._wire.come_back()


class TestSocketSink(SinkKit):
    """A TCP connection: what its kernel has got is taken."""

    cannot: ClassVar = {
        "a_repeat_has_the_same_id": "who reads a stream gives no receipt that could be lost: TCP does, by itself"
    }

    @pytest.fixture
    def bench(self) -> Iterator[SinkBench]:
        peer = Peer()
        with Wire(peer.port) as wire:
            yield SocketBench(peer, wire)
        peer.close()


# --- sources ------------------------------------------------------------------------------------------------------------


class ConnectingBench(SourceBench):
    """A server that the source connects to."""

    def __init__(self) -> None:
        self._peer = Peer()

    def open(self) -> Source:
        return SocketSource(TcpAddress("127.0.0.1", self._peer.port), decoder())

    def say(self, numbers: Sequence[int]) -> None:
        link = eventually(self._peer.newest)
        link.sendall(b"".join(map(line, numbers)))

    def say_poison(self) -> None:
        eventually(self._peer.newest).sendall(b"nonsense\n")

    def cut(self) -> None:
        link = eventually(self._peer.newest)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self._peer._links.remove(link)
        link.shutdown(socket.SHUT_RD)
        link.close()

    def leave(self) -> None:
        self._peer.close()

    def close(self) -> None:
        self._peer.close()


class TestSocketSource(SourceKit):
    """A TCP connection that the source makes."""

    cannot: ClassVar = {"a_kill_between_receipt_and_commit_loses_nothing": "who writes a stream keeps nothing to send again"}

    @pytest.fixture
    def bench(self) -> Iterator[SourceBench]:
        bench = ConnectingBench()
        yield bench
        bench.close()


class ListeningBench(SourceBench):
    """A client that connects to the source."""

    def __init__(self) -> None:
        self._port, self._link = free_port(), None

    def open(self) -> Listener:
        return ListenerSource(TcpAddress("127.0.0.1", self._port), decoder(), clients=ClientLimits(8))

    def say(self, numbers: Sequence[int]) -> None:
        self._send(b"".join(map(line, numbers)))

    def say_poison(self) -> None:
        self._send(b"nonsense\n")

    def _send(self, data: bytes) -> None:
        if self._link is None:
            self._link = eventually(self._connected)
        self._link.sendall(data)

    def _connected(self) -> socket.socket | None:
        try:
            return socket.create_connection(("127.0.0.1", self._port), WAIT)
        except ConnectionRefusedError:
            return None

    def cut(self) -> None:
        if self._link is not None:
            self._link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            self._link.close()
            self._link = None

    leave = close = cut


class TestListenerSource(SourceKit):
    """TCP connections that others make."""

    cannot: ClassVar = TestSocketSource.cannot

    @pytest.fixture
    def bench(self) -> Iterator[SourceBench]:
        bench = ListeningBench()
        yield bench
        bench.close()


class PipeBench(SourceBench):
    """A FIFO that somebody writes to."""

    def __init__(self, path: Path) -> None:
        self._path, self._fd = path, -1
        os.mkfifo(path)

    def open(self) -> Source:
        return FileSource(str(self._path), decoder())

    def say(self, numbers: Sequence[int]) -> None:
        self._write(b"".join(map(line, numbers)))

    def say_poison(self) -> None:
        self._write(b"nonsense\n")

    def _write(self, data: bytes) -> None:
        if self._fd < 0:
            self._fd = os.open(self._path, os.O_RDWR)  # so that nobody waits for a reader, and no run sees an end
        os.write(self._fd, data)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


class TestFileSource(SourceKit):
    """A FIFO; of regular files `tests/state` and `test_rotated_files.py` have the kills and what replaces them."""

    cannot: ClassVar = {
        "a_kill_between_receipt_and_commit_loses_nothing": "what was read from a FIFO is nowhere any more",
        "it_goes_on_when_a_connection_was_lost": NOBODY,
        "it_may_be_left_while_the_other_side_is_away": NOBODY,
    }

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[SourceBench]:
        bench = PipeBench(tmp_path / "fifo")
        yield bench
        bench.close()
