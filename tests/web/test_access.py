"""Who may do what: tokens, cookies, pages from elsewhere, TLS, and clients that are slow."""

from __future__ import annotations

import socket
import ssl
from functools import partial
from pathlib import Path

import anyio
import pytest

import tidelog
from tidelog.connectors.http import HttpServer, HttpSettings, Watch
from tidelog.connectors.transport.addresses import TcpAddress
from tidelog.connectors.transport.credentials import load_certificate
from tidelog.plans.diagnostics.errors import SpecError
from web.serving import PROGRAM, fact, serving, until

pytestmark = pytest.mark.anyio

TOKEN = "a-token-of-some-length"  # noqa: S105 - of these tests
HERE = Path(__file__).parent.parent / "outbox"
CERTIFICATE, KEY = str(HERE / "test-server.pem"), str(HERE / "test-server.key")
FAR = TcpAddress("0.0.0.0", 0)  # noqa: S104 - listens for the length of a test, with TLS and a token
KNOWN = {"authorization": f"Bearer {TOKEN}"}


def secured(address: TcpAddress) -> HttpSettings:
    """Beyond this machine, as it has to be there."""
    return HttpSettings(TcpAddress("0.0.0.0", 0), token=TOKEN, tls=load_certificate(CERTIFICATE, KEY))  # noqa: S104 - as above


@pytest.fixture
def trusting() -> ssl.SSLContext:
    """Trusts the tests' certificate."""
    return ssl.create_default_context(cafile=CERTIFICATE)


def test_beyond_this_machine_there_is_tls_and_a_token() -> None:
    """An address that others reach is refused without either."""
    tls = load_certificate(CERTIFICATE, KEY)
    for token, context in ((None, None), (TOKEN, None), (None, tls)):
        with pytest.raises(SpecError, match="needs TLS and a token"):
            HttpSettings(FAR, token=token, tls=context)
    assert HttpSettings(FAR, token=TOKEN, tls=tls).url == "https://0.0.0.0:0/"
    with pytest.raises(SpecError, match="`max_body` is 1 or more"):
        HttpSettings(TcpAddress("127.0.0.1", 0), max_body=0)


@pytest.mark.slow
async def test_beyond_this_machine_only_who_is_known_reads_or_writes(trusting: ssl.SSLContext) -> None:
    """Without the token there is health alone; with it, all; a wrong one is answered late."""
    async with serving(settings=secured, verify=trusting) as run:
        for path in ("/metrics", "/api/state", "/events", "/api/graph"):
            assert (await run.client.get(path)).status_code == 401
        assert (await run.post(fact("a", 1, 1))).status_code == 401
        for path in ("/healthz", "/ready", "/static/page.css"):
            assert (await run.client.get(path)).status_code == 200
        led = await run.client.get("/", headers={"accept": "text/html"})
        assert (led.status_code, led.headers["location"]) == (303, "/login")
        begun = anyio.current_time()
        assert (await run.client.get("/metrics", headers={"authorization": "Bearer wrong"})).status_code == 401
        assert anyio.current_time() - begun >= 1
        assert (await run.client.get("/metrics", headers=KNOWN)).status_code == 200


@pytest.mark.slow
async def test_a_browser_signs_in_once(trusting: ssl.SSLContext) -> None:
    """Who tells the token gets a cookie that no script reads, no page elsewhere sends, and that is not the token."""
    async with serving(settings=secured, verify=trusting) as run:
        assert (await run.client.post("/login", data={"token": "wrong"})).status_code == 403
        answer = await run.client.post("/login", data={"token": TOKEN})
        cookie = answer.headers["set-cookie"]
        assert answer.status_code == 303
        assert TOKEN not in cookie
        assert all(word in cookie.lower() for word in ("httponly", "samesite=strict", "secure"))
        assert (await run.client.get("/api/state")).json()["writable"] is True
        assert (await run.post(fact("a", 1, 1))).status_code == 202


async def test_on_this_machine_everyone_reads_and_a_token_is_for_writing() -> None:
    """With a token, loopback shows the page to all, and takes facts from those alone who know it."""
    async with serving(settings=partial(HttpSettings, token=TOKEN)) as run:
        state = (await run.client.get("/api/state")).json()
        assert (state["writable"], state["locked"]) == (False, True)
        assert (await run.post(fact("a", 1, 1))).status_code == 401
        taken = await run.client.post("/ingest", content=fact("a", 1, 1), headers=KNOWN)
        assert taken.status_code == 202


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example:80"}, 403),
        ({"host": "localhost"}, 202),
        ({"host": "plant.local"}, 202),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 202),
    ],
)
async def test_a_page_from_elsewhere_cannot_write(headers: dict[str, str], status: int) -> None:
    """A browser's request that another page made, or that came by a name which leads here, is refused."""
    async with serving(settings=partial(HttpSettings, hosts=("plant.local",))) as run:
        answer = await run.client.post("/ingest", content=fact("a", 1, 1), headers=headers)
        assert answer.status_code == status
        assert "access-control-allow-origin" not in answer.headers


async def test_answers_tell_browsers_what_they_may_load() -> None:
    """No script, style or picture from elsewhere, no frame around the page, nothing kept; no server's name."""
    async with serving() as run:
        answer = await run.client.get("/")
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http:" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers
        assert (await run.client.get("/static/../app.py")).status_code == 404
        assert (await run.client.get("/static/login.html")).status_code == 404


async def test_headers_that_drip_are_given_up() -> None:
    """A client that sends its headers byte by byte is left after `header_seconds`, however steadily it sends."""
    async with serving(settings=partial(HttpSettings, header_seconds=0.3)) as run:
        client = await anyio.connect_tcp("127.0.0.1", run.server.port or 0)
        with pytest.raises((anyio.BrokenResourceError, anyio.EndOfStream)):
            await client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
            while True:
                await client.send(b"x-a: b\r\n")
                with anyio.move_on_after(0.02):
                    await client.receive()
        await client.aclose()
        assert (await run.client.get("/healthz")).status_code == 200


async def test_headers_beyond_the_bound_are_refused() -> None:
    """431, and the connection ends."""
    async with serving(settings=partial(HttpSettings, max_header=2000)) as run:
        answer = await run.client.get("/healthz", headers={"x-long": "x" * 5000})
        assert answer.status_code == 431


async def test_connections_are_bounded() -> None:
    """Beyond `max_clients` a further one is closed at once; once others have gone, there is room again."""
    async with serving(settings=partial(HttpSettings, max_clients=2)) as run:
        others = [await anyio.connect_tcp("127.0.0.1", run.server.port or 0) for _ in range(6)]
        await until(lambda: run.server.connections().refused >= 4)
        for other in others:
            await other.aclose()
        await until(lambda: run.server.connections().accepted >= 2)


async def test_a_port_that_is_taken_is_told() -> None:
    """SpecError with the address, before anything runs."""
    watch = Watch(tidelog.compile(PROGRAM))
    async with HttpServer([watch], HttpSettings(TcpAddress("127.0.0.1", 0))) as server:
        with pytest.raises(SpecError, match="cannot listen on"):
            async with HttpServer([watch], HttpSettings(TcpAddress("127.0.0.1", server.port or 0))):
                pass


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_on_another_loop_it_says_so() -> None:
    """HTTP is served on trio alone."""
    with pytest.raises(SpecError, match="on trio alone"):
        async with HttpServer([Watch(tidelog.compile(PROGRAM))], HttpSettings(TcpAddress("127.0.0.1", 0))):
            pass


async def test_no_answer_waits_for_an_acknowledgement() -> None:
    """Headers and body leave at once: a small answer does not wait until the client has acknowledged its headers."""
    async with serving() as run:
        client = await anyio.connect_tcp("127.0.0.1", run.server.port or 0)
        await client.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await client.receive()
        assert all(stream.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for stream in run.server._open)
        assert run.server._open
        await client.aclose()
