"""Answers as they become known: server-sent events, WebSockets, and those who are slow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import msgspec
import pytest
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Ping, RejectConnection, Request, TextMessage

from children import WAIT
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.http import HttpSettings
from tidelog.connectors.http.watching.feed import Feed, Place
from web.serving import PROGRAM, Serving, fact, serving, until

pytestmark = pytest.mark.anyio


class Events:
    """What a client reads of `/events`, over HTTP 1.0, whose bodies are plain."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream, self._lines = stream, BufferedByteReceiveStream(stream)

    async def read(self, count: int) -> list[tuple[int, Any]]:
        """So many events with their numbers; one without a number has 0."""
        found: list[tuple[int, Any]] = []
        number = 0
        with anyio.fail_after(WAIT):
            while len(found) < count:
                line = (await self._lines.receive_until(b"\n", 1 << 16)).decode()
                name, _, value = line.partition(": ")
                if name == "id":
                    number = int(value)
                elif name == "data":
                    found.append((number, msgspec.json.decode(value)))
                    number = 0
        return found


@asynccontextmanager
async def events(run: Serving, query: str = "", *headers: str) -> AsyncIterator[Events]:
    """A client that listens."""
    before = run.server.metrics.listeners
    async with await anyio.connect_tcp("127.0.0.1", run.server.port or 0) as stream:
        head = [f"GET /events{query} HTTP/1.0", "Host: localhost", *headers, "", ""]
        await stream.send("\r\n".join(head).encode())
        await until(lambda: run.server.metrics.listeners > before)
        yield Events(stream)
    await until(lambda: run.server.metrics.listeners == before)


async def test_events_come_as_answers_become_known() -> None:
    """Each answer is an event with the JSON that a run prints, and a number."""
    async with serving(emit="changes") as run, events(run) as listener:
        await run.post(fact("a", 90, 1) + fact("a", 20, 3))
        begun = {"predicate": "hot", "args": ["a"], "begins": 1}
        assert await listener.read(2) == [(1, begun), (2, {**begun, "ends": 1})]


async def test_who_comes_back_goes_on_behind_the_last_event() -> None:
    """`Last-Event-ID` and `?since=` go on there; a number of an earlier run begins with all that is kept."""
    async with serving() as run:
        await run.post("".join(fact(f"m{i}", 90, i) for i in range(1, 6)))
        await until(lambda: run.watch.feed.last == 5)
        for query, headers, first in (("", ["Last-Event-ID: 3"], 4), ("?since=4", [], 5), ("?since=99", [], 1)):
            async with events(run, query, *headers) as listener:
                assert (await listener.read(1))[0][0] == first
        assert (await run.client.get("/events?since=x")).status_code == 400


async def test_events_can_be_chosen_by_predicate() -> None:
    """`?name=` leaves out what others derive."""
    text = "timeline integer. input p(x). q(X) :- p(X). r(X) :- p(X)."
    async with serving(text) as run:
        await run.post('{"p":{"x":1},"time":1}\n{"p":{"x":2},"time":2}\n')
        async with events(run, "?name=r&since=0") as listener:
            told = [event["predicate"] for _, event in await listener.read(2)]
        assert told == ["r", "r"]


async def test_who_is_too_slow_is_told_how_much_is_missed() -> None:
    """Of what is kept no more, a listener is told how many answers there were; nobody waits for it."""
    async with serving(kept=3) as run:
        await run.post("".join(fact(f"m{i}", 90, i) for i in range(1, 11)))
        await until(lambda: run.watch.feed.last == 10)
        async with events(run, "?since=2") as listener:
            told = await listener.read(4)
        assert [number for number, _ in told] == [0, 8, 9, 10]
        assert told[0][1] == {"missed": 5}


async def test_only_so_many_listen_and_places_become_free() -> None:
    """503 while all places are taken; who goes makes room."""
    async with serving(settings=partial(HttpSettings, max_listeners=1)) as run:
        async with events(run):
            assert (await run.client.get("/events")).status_code == 503
        await until(lambda: run.server.metrics.listeners == 0)


@pytest.mark.slow
async def test_a_listener_that_takes_nothing_holds_up_neither_the_run_nor_its_end() -> None:
    """A client that never reads costs its buffers: others are answered, and the server ends at once."""
    async with serving(kept=100_000) as run:
        stalled = await anyio.connect_tcp("127.0.0.1", run.server.port or 0)
        await stalled.send(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await until(lambda: run.server.metrics.listeners == 1)
        name = "m" * 2000
        for begin in range(0, 10_000, 500):
            assert (await run.post("".join(fact(f"{name}{i}", 90, i) for i in range(begin, begin + 500)))).status_code == 202
        assert (await run.client.get("/healthz")).status_code == 200
        await until(lambda: run.watch.feed.last == 10_000)
    await stalled.aclose()


async def test_a_web_socket_is_sent_what_becomes_known() -> None:
    """Each message has the event's number and the answer."""
    async with serving() as run, await _connect(run, "/ws") as socket:
        await until(lambda: run.server.metrics.listeners == 1)
        await run.post(fact("a", 90, 1))
        told = msgspec.json.decode(await socket.message())
        assert told == {"id": 1, "answer": {"predicate": "hot", "args": ["a"], "time": 1}}


async def test_a_web_socket_from_a_page_elsewhere_is_refused() -> None:
    """A browser sends cookies along wherever a page comes from: its Origin decides."""
    async with serving() as run:
        with pytest.raises(ConnectionRefusedError):
            await _connect(run, "/ws", ("Origin", "http://evil.example"))
        with pytest.raises(ConnectionRefusedError):
            await _connect(run, "/ws?program=other")


def test_a_place_goes_on_where_lines_were_dropped() -> None:
    """A feed is bounded by lines and by bytes; a place behind its begin is told how much it has missed, once."""
    feed = Feed(most=3, size=1000)
    place = Place.of(feed, None)
    for i in range(5):
        feed.append("p", f"{i}")
    missed, lines = place.take()
    assert (missed, [line.text for line in lines]) == (2, ["2", "3", "4"])
    assert place.take() == (0, [])
    feed.append("p", "x" * 999)
    feed.append("p", "y" * 999)
    assert (feed.first, feed.last) == (7, 7)


class _Socket:
    """A client of a WebSocket."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream, self._events = stream, WSConnection(ConnectionType.CLIENT)

    async def __aenter__(self) -> _Socket:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stream.send(self._events.send(CloseConnection(code=1000)))
        await self._stream.aclose()

    async def open(self, request: Request) -> None:
        await self._stream.send(self._events.send(request))
        event = await self._next()
        if not isinstance(event, AcceptConnection):
            assert isinstance(event, RejectConnection)
            await self._stream.aclose()
            raise ConnectionRefusedError

    async def message(self) -> str:
        event = await self._next()
        assert isinstance(event, TextMessage)
        return str(event.data)

    async def _next(self) -> object:
        with anyio.fail_after(WAIT):
            while True:
                for event in self._events.events():
                    if not isinstance(event, Ping):
                        return event
                    await self._stream.send(self._events.send(event.response()))
                self._events.receive_data(await self._stream.receive())


async def _connect(run: Serving, target: str, *headers: tuple[str, str]) -> _Socket:
    socket = _Socket(await anyio.connect_tcp("127.0.0.1", run.server.port or 0))
    extra = [(name.encode(), value.encode()) for name, value in headers]
    await socket.open(Request(host=f"127.0.0.1:{run.server.port}", target=target, extra_headers=extra))
    return socket


async def test_a_name_that_no_answer_has_is_told() -> None:
    """404 says which names there are, for events and for WebSockets; questions count."""
    async with serving(f"{PROGRAM} ask hot(X)@T.") as run:
        answer = await run.client.get("/events?name=hot&name=hott")
        assert answer.status_code == 404
        assert answer.json() == {"error": "there are no answers of `hott`; did you mean `hot`?", "names": ["hot"]}
        async with await anyio.connect_tcp("127.0.0.1", run.server.port or 0) as stream:
            client = WSConnection(ConnectionType.CLIENT)
            await stream.send(client.send(Request("localhost", "/ws?name=nope")))
            told: list[Any] = []
            while not any(isinstance(event, RejectConnection) for event in told):
                client.receive_data(await stream.receive())
                told += client.events()
        assert [event.status_code for event in told if isinstance(event, RejectConnection)] == [404]


async def test_times_are_iso_where_that_is_wanted() -> None:
    """In events as in what a run prints; what was refused is counted as refused."""
    async with serving(iso=True, emit="changes") as run, events(run, "?name=hot") as listener:
        run.engine.write_times(TimeFormatter(run.watch.plan.timeline, iso=True))
        await run.post(fact("a", 90, 1) + fact("a", 20, 3))
        begun = {"predicate": "hot", "args": ["a"], "begins": "1970-01-01T00:00:01Z"}
        assert await listener.read(2) == [(1, begun), (2, {**begun, "ends": "1970-01-01T00:00:01Z"})]
        late = (await run.post(fact("a", 91, 1))).json()
        assert late["rejected"] == 1 and late["errors"][0]["reason"].startswith("late: ")
        last = [record for record, _ in run.watch.sources.heard["http"].last.values()]
        assert [record[1][1] for record in last] == [20]  # not that of the late one
