"""An outbox over HTTP: the same as in its directory; who is let in, what is lost and asked for again, and nonsense."""

from __future__ import annotations

import json
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import httpx
import pytest

import tidelog
from children import WAIT
from outbox.boxes import PROGRAM, alarm
from tidelog.connectors.http import HttpServer, HttpSettings, outboxes
from tidelog.connectors.http.requests import guard
from tidelog.connectors.outbox import client as outbox_client
from tidelog.connectors.outbox import lines as outbox_lines
from tidelog.connectors.outbox.client import OutboxClient, check_address
from tidelog.connectors.outbox.lines import FIRST, IDENTITY, LAST, decode_rows, encode_rows
from tidelog.connectors.outbox.outbox import Outbox, OutboxReader, OutboxRow
from tidelog.connectors.transport.addresses import TcpAddress
from tidelog.connectors.transport.credentials import load_certificate, load_token
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

T = TypeVar("T")
HERE = Path(__file__).parent
CERTIFICATE, KEY = str(HERE / "test-server.pem"), str(HERE / "test-server.key")
TOKEN = secrets.token_hex(8)
LOOPBACK = TcpAddress("127.0.0.1", 0)


@pytest.fixture
def box(tmp_path: Path) -> str:
    """The directory of an outbox with a hundred facts."""
    fill(str(tmp_path), 0, 100)
    return str(tmp_path)


def fill(folder: str, begin: int, end: int) -> None:
    """Put facts of these times into an outbox."""
    with Outbox(folder, tidelog.compile(PROGRAM), node="edge") as outbox:
        outbox.append([alarm(time, f"sensor-{time}") for time in range(begin, end)], 5)
        outbox.commit(b"")


def serving(box: str, use: Callable[[str], T], *, address: TcpAddress = LOOPBACK, **options: Any) -> T:
    """What `use` returns of the address at which the outbox is served, in a thread of its own."""

    async def main() -> T:
        server = HttpServer([], HttpSettings(address, **options))
        server.outboxes["alarms"] = box
        async with server:
            scheme = "https" if options.get("tls") else "http"
            with anyio.fail_after(WAIT):
                return await anyio.to_thread.run_sync(use, f"{scheme}://127.0.0.1:{server.port}/outbox/alarms")

    return anyio.run(main, backend="trio")


def last_of(address: str, **options: Any) -> int:
    with OutboxClient(address, **options) as client:
        return client.last()


def get(address: str, **query: Any) -> httpx.Response:
    return httpx.get(address, params=query, timeout=WAIT, trust_env=False)


def acknowledge(address: str, body: object) -> httpx.Response:
    return httpx.post(f"{address}/ack", content=json.dumps(body), timeout=WAIT, trust_env=False)


def test_a_client_reads_what_the_directory_holds(box: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Schema, numbers, facts in several replies, and acknowledgements: as with the reader of the directory."""
    monkeypatch.setattr(outboxes, "READ_ROWS", 7)

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

    serving(box, use)


def test_curl_goes_on_behind_a_number(box: str) -> None:
    """A GET has JSON lines and says in its headers what is kept; without `after` it begins with the first that is there."""

    def use(address: str) -> None:
        reply = get(address, after=2, limit=3)
        assert reply.headers["content-type"] == "application/x-ndjson"
        assert [json.loads(line)["seq"] for line in reply.text.splitlines()] == [3, 4, 5]
        assert json.loads(reply.text.splitlines()[0])["arguments"] == ["sensor-2"]
        with OutboxReader(box) as reader:
            kept = {FIRST: "1", LAST: "100", IDENTITY: reader.schema().identity}
        assert {name: reply.headers[name] for name in kept} == kept
        assert acknowledge(address, {"upto": 5}).json() == {"first": 6, "last": 100}
        assert json.loads(get(address, limit=1).text)["seq"] == 6
        head = httpx.head(address, trust_env=False)
        assert (head.text, head.headers[FIRST]) == ("", "6")
        assert get(address.removesuffix("/alarms")).json() == {"outboxes": ["alarms"]}
        assert get(f"{address}/schema").json()["node"] == "edge"
        assert httpx.get(address.removesuffix("outbox/alarms"), follow_redirects=True, trust_env=False).status_code == 200

    serving(box, use)


def test_what_is_acknowledged_never_comes_again(box: str) -> None:
    """An acknowledgement may be said twice, or late; what it covers is an error to ask for, for another reader, too."""

    def use(address: str) -> None:
        for upto, first in ((5, 6), (5, 6), (3, 6), (0, 6), (9, 10)):
            assert acknowledge(address, {"upto": upto}).json() == {"first": first, "last": 100}
        gone = get(address, after=3)
        assert (gone.status_code, gone.headers[FIRST]) == (410, "10")
        assert "facts up to 9 are acknowledged, and gone; asked for 4" in gone.json()["error"]
        beyond = acknowledge(address, {"upto": 101})
        assert (beyond.status_code, beyond.json()) == (400, {"error": "the last fact is number 100, got 101"})
        with OutboxClient(address) as client:
            with pytest.raises(ConnectorError, match="facts up to 9 are acknowledged, and gone"):
                client.read(3)
            with pytest.raises(ValueError, match="the last fact is number 100, got 101"):
                client.acknowledge(101)
            with pytest.raises(ValueError, match="0 or more"):
                client.read(-1)
            with pytest.raises(ConnectorError, match="this is another outbox, or an older copy"):
                client.read(101)
            assert client.last() == 100

    serving(box, use)


def test_two_readers_read_the_same(box: str) -> None:
    """Who reads takes nothing away from others, until it is acknowledged."""

    def use(address: str) -> None:
        with OutboxClient(address) as one, OutboxClient(address) as other:
            assert one.read(0, 50) == other.read(0, 50)
            one.acknowledge(20)
            assert other.read(50) == one.read(50)
            with pytest.raises(ConnectorError, match="gone"):
                other.read(10)

    serving(box, use)


@pytest.mark.parametrize("wait", [0, 60])
def test_who_waits_gets_facts_once_there_are_some(box: str, wait: int) -> None:
    """Without `wait` the reply is empty at once; with it, it comes with the facts of the next commit."""

    def use(address: str) -> None:
        later = threading.Timer(0.3, fill, [box, 100, 101])
        later.start()
        reply = get(address, after=100, wait=wait)
        later.join(WAIT)
        assert [json.loads(line)["seq"] for line in reply.text.splitlines()] == ([101] if wait else [])

    serving(box, use)


@pytest.mark.long
@pytest.mark.slow
def test_waiting_is_bounded(box: str) -> None:
    """A wait ends without facts when its time is over, and only so many clients wait at once."""

    def use(address: str) -> None:
        found: list[httpx.Response] = []

        def wait() -> None:
            while not found or found[-1].status_code == 503:
                found.append(get(address, after=100, wait=60))

        waiting = threading.Thread(target=wait)
        waiting.start()
        while get(address, after=100, wait=1).status_code != 503:
            pass
        fill(box, 100, 101)
        waiting.join(WAIT)
        assert json.loads(found[-1].text)["seq"] == 101
        began = time.monotonic()
        assert (get(address, after=101, wait=1).content, time.monotonic() >= began + 1) == (b"", True)

    serving(box, use, max_listeners=1)


class Losing:
    """A way to a server that does what is asked, and loses its first `count` replies."""

    def __init__(self, address: str, count: int) -> None:
        self._target = int(address.split(":")[2].split("/", maxsplit=1)[0])
        self._left = count
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = address.replace(str(self._target), str(self._server.getsockname()[1]))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._pass_on, args=self._server.accept()[:1], daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._target)) as server:
            asking = threading.Thread(target=self._ask, args=(client, server), daemon=True)
            asking.start()
            with suppress(OSError):
                while reply := server.recv(1 << 16):
                    if self._left:
                        self._left -= 1
                        client.sendall(reply[: len(reply) // 2])
                        break
                    client.sendall(reply)
            for side in (client, server):
                with suppress(OSError):
                    side.shutdown(socket.SHUT_RDWR)
            asking.join(WAIT)

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while request := client.recv(1 << 16):
                server.sendall(request)

    def close(self) -> None:
        self._server.close()


@contextmanager
def losing(address: str, count: int) -> Iterator[str]:
    way = Losing(address, count)
    try:
        yield way.address
    finally:
        way.close()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_reply_that_is_lost_is_asked_for_again(box: str, count: int) -> None:
    """Wherever a reply is cut off, nothing is missing, nothing comes twice, and what is acknowledged is so once."""

    def use(address: str) -> None:
        with losing(address, count) as lossy:
            taken: list[int] = []
            with OutboxClient(lossy) as client:
                while len(taken) < 100:
                    with suppress(ConnectorError):
                        taken += [row.seq for row in client.read(len(taken), 30)]
                        client.acknowledge(len(taken))
                with suppress(ConnectorError):
                    client.acknowledge(100)
            assert taken == list(range(1, 101))
        with OutboxReader(box) as reader:
            assert reader.first() == 101

    serving(box, use)


def test_a_server_that_comes_back_is_asked_anew(box: str) -> None:
    """A server is gone for a while, in the middle of what is read: the client goes on behind what it has."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = TcpAddress("127.0.0.1", free.getsockname()[1])
    client = OutboxClient(f"http://127.0.0.1:{address.port}/outbox/alarms")
    taken: list[OutboxRow] = []

    def read(_: str) -> None:
        taken.extend(client.read(len(taken), 60))
        client.acknowledge(len(taken))

    serving(box, read, address=address)
    with pytest.raises(ConnectorError, match=r"http://127.0.0.1:\d+/outbox/alarms: .*refused"):
        client.read(60)
    serving(box, read, address=address)
    client.close()
    assert [row.seq for row in taken] == list(range(1, 101))


def test_a_server_that_goes_replies_to_the_acknowledgement_first(box: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once all is taken a server may end: who has just acknowledged it learns that this is done."""
    asked, left = threading.Event(), threading.Event()
    real = OutboxReader.acknowledge

    def slow(reader: OutboxReader, upto: int) -> None:
        real(reader, upto)
        asked.set()
        assert left.wait(WAIT)

    monkeypatch.setattr(OutboxReader, "acknowledge", slow)

    def use(address: str) -> None:
        with OutboxClient(address) as client:
            client.acknowledge(100)

    async def main() -> None:
        server = HttpServer([], HttpSettings(LOOPBACK))
        server.outboxes["alarms"] = box
        async with anyio.create_task_group() as tasks, server:
            tasks.start_soon(anyio.to_thread.run_sync, use, f"http://127.0.0.1:{server.port}/outbox/alarms")
            await anyio.to_thread.run_sync(asked.wait, WAIT)
            threading.Timer(0.1, left.set).start()

    anyio.run(main, backend="trio")


def test_a_reply_is_bounded_in_bytes(box: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply holds no more facts than its bytes allow, the client asks on; a reply too large is not read to its end."""
    monkeypatch.setattr(outboxes, "REPLY_BYTES", 300)

    def read_all(address: str) -> int:
        with OutboxClient(address) as client:
            return len(client.read(0))

    assert serving(box, read_all) == 100
    monkeypatch.setattr(outbox_client, "MAX_REPLY", 110)
    with pytest.raises(ConnectorError, match="is too long: 110 bytes at most"):
        serving(box, read_all)


def test_the_token_opens_the_door(box: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On this machine everyone reads, and who tells the token acknowledges; with another one, nothing is done."""
    monkeypatch.setattr(guard, "_REFUSAL_PAUSE", 0)

    def use(address: str) -> None:
        with OutboxClient(address, token=TOKEN) as client:
            client.acknowledge(5)
        for token in (None, "", TOKEN + "0"):
            with OutboxClient(address, token=token) as client:
                assert client.first() == 6
                with pytest.raises(SpecError, match="the token is missing or wrong"):
                    client.acknowledge(7)
                assert client.first() == 6

    serving(box, use, token=TOKEN)


def test_tls(box: str) -> None:
    """With TLS the client trusts the certificates that it is told to, and no others; without it nothing is understood."""
    context = load_certificate(CERTIFICATE, KEY)
    assert serving(box, partial(last_of, token=TOKEN, trusted=CERTIFICATE), token=TOKEN, tls=context) == 100
    with pytest.raises(ConnectorError, match="certificate verify failed"):
        serving(box, last_of, tls=context)
    with pytest.raises(ConnectorError):
        serving(box, lambda address: last_of(address.replace("https", "http")), tls=context)
    with pytest.raises(ConnectorError):
        serving(box, lambda address: last_of(address.replace("http", "https"), trusted=CERTIFICATE, timeout=2))


def test_beyond_this_machine_only_with_tls(box: str) -> None:
    """The client says nothing to another machine without TLS, no token either."""
    with pytest.raises(SpecError, match="reading an outbox there needs TLS, `https:`"):
        OutboxClient("http://192.0.2.1:9400/outbox/alarms", token=TOKEN)
    OutboxClient("https://192.0.2.1:9400/outbox/alarms", token=TOKEN)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "?after=-1", b"", 400),
        ("GET", "?after=1e3", b"", 400),
        ("GET", "?after=99999999999999999999999", b"", 400),
        ("GET", "?limit=0", b"", 400),
        ("GET", "?wait=3600", b"", 400),
        ("GET", "?after=%F0%9F", b"", 400),
        ("POST", "", b"", 405),
        ("DELETE", "", b"", 405),
        ("GET", "/ack", b"", 405),
        ("GET", "s", b"", 404),
        ("GET", "/../../etc/passwd", b"", 404),
        ("POST", "/ack", b"", 400),
        ("POST", "/ack", b"7", 400),
        ("POST", "/ack", b'{"upto":"7"}', 400),
        ("POST", "/ack", b'{"upto":7,"more":1}', 400),
        ("POST", "/ack", b'{"upto":1e400}', 400),
        ("POST", "/ack", b'{"upto":' + b"9" * 900 + b"}", 400),
        ("POST", "/ack", b"[" * 1000, 400),
        ("POST", "/ack", b"x" * 2000, 413),
    ],
)
def test_nonsense_changes_nothing(box: str, method: str, path: str, body: bytes, status: int) -> None:
    """Whatever a client asks, it is told in JSON that this is none, and the outbox is as it was."""

    def use(address: str) -> None:
        reply = httpx.request(method, address + path, content=body, timeout=WAIT, trust_env=False)
        assert reply.status_code == status
        with OutboxReader(box) as reader:
            assert (reader.first(), reader.last(), last_of(address)) == (1, 100, 100)

    serving(box, use)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{}", "before its end|IncompleteRead"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "the reply cannot be read"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\nzz", "IncompleteRead"),
        (b"HTTP/1.1 301 Moved\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n", "301 Moved"),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\nbad", "502 Bad Gateway"),
        (b"nonsense\r\n\r\n", "nonsense"),
        (b"", "closed connection without response"),
    ],
)
def test_a_server_that_is_none_is_not_believed(reply: bytes, message: str) -> None:
    """What is no reply, one that is cut off, and one that leads elsewhere are errors, and no facts."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def impostor() -> None:
            for _ in range(2):
                with suppress(OSError), server.accept()[0] as connection:
                    connection.recv(4096)
                    connection.sendall(reply)

        thread = threading.Thread(target=impostor, daemon=True)
        thread.start()
        with OutboxClient(f"http://127.0.0.1:{server.getsockname()[1]}/outbox/alarms") as client:
            with pytest.raises(ConnectorError, match=message):
                client.read(0)
            with pytest.raises(ConnectorError):
                client.last()
        thread.join(WAIT)


def test_lines_are_rows_exactly() -> None:
    """What a client makes of a server's lines are the rows, to the last character; a gap in them is an error."""
    rows = [
        OutboxRow(4, "p:q", '["a b",1.50,-0.0,12345678901234567890,"\\u00e9\\n é"]', "1/3", None, True, False, "inf", 1),
        OutboxRow(5, "Ω", "[]", None, "-7", False, True, None, 2**60),
    ]
    assert decode_rows(encode_rows(rows), 3) == rows
    assert decode_rows(b"", 3) == []
    for after, some in ((2, rows), (3, rows[::-1]), (3, [rows[0], rows[0]])):
        with pytest.raises(ConnectorError, match="was expected"):
            decode_rows(encode_rows(some), after)
    for data in (b"{}", b'{"seq":1', b"\xff", encode_rows(rows)[:-5]):
        with pytest.raises(ConnectorError, match="cannot be read"):
            decode_rows(data, 3)


def test_addresses_and_credentials(tmp_path: Path) -> None:
    """Addresses, tokens and certificates that are none are told as mistakes in usage."""
    assert check_address("HTTPS://GW1.plant/outbox/a%20b/") == "https://gw1.plant/outbox/a%20b"
    assert check_address("http://[::1]:80/site-1/outbox/a") == "http://[::1]:80/site-1/outbox/a"
    bad = ("http://x", "http://x/outbox/", "http:///outbox/a", "http://x:0/outbox/a", "http://x:y/outbox/a", "x/outbox/a")
    for address in (*bad, "http://u:p@x/outbox/a", "http://x/outbox/a?after=1", "http://x y/outbox/a", "tcp://127.0.0.1:1"):
        with pytest.raises(SpecError, match="is not of the form `http://HOST:PORT/outbox/NAME`"):
            check_address(address)
    with pytest.raises(SpecError, match="ASCII"):
        check_address("http://x/outbox/ä")
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
        OutboxClient("https://127.0.0.1:1/outbox/a", trusted=str(tmp_path / "none"))
    assert outbox_lines.MAX_REPLY > outbox_lines.REPLY_BYTES
