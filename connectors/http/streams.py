"""Answers as they become known: server-sent events, and WebSockets."""

from __future__ import annotations

import json
from collections.abc import Sequence

import anyio
from anyio.abc import TaskGroup
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from tidelog.connectors.http.watching.feed import Place
from tidelog.connectors.http.watching.watch import Watch
from tidelog.plans.diagnostics.suggestions import suggest

_RETRY = 2000
"""After how many milliseconds a browser connects again."""


class Streams:
    """Those who listen: `most` at once. Each goes on at its own pace."""

    def __init__(self, most: int, keep_alive: float) -> None:
        self._most, self.keep_alive = most, keep_alive
        self.count = 0

    async def events(self, request: Request, watch: Watch) -> Response:
        """`GET /events`: an event an answer, behind `Last-Event-ID` or `?since=`; 503 where too many listen."""
        since = request.headers.get("last-event-id") or request.query_params.get("since")
        place = _place(watch, since)
        if place is None:
            return JSONResponse({"error": "`since` is the number of an event"}, 400)
        if self.count >= self._most:
            return JSONResponse({"error": f"{self._most} clients listen already"}, 503, {"retry-after": "10"})
        names = request.query_params.getlist("name")
        return _no_such(watch, names) or _Events(self, place, frozenset(names))

    async def socket(self, socket: WebSocket, watch: Watch) -> None:
        """`GET /ws`: a message an answer, with its number; what the client says is not listened to."""
        place = _place(watch, socket.query_params.get("since"))
        if place is None or self.count >= self._most:
            await socket.close(1008 if place is None else 1013)
            return
        names = socket.query_params.getlist("name")
        if (refused := _no_such(watch, names)) is not None:
            await socket.send_denial_response(refused)
            return
        await socket.accept()
        self.count += 1
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._hear, socket, tasks)
                await self._send_all(socket, place, frozenset(names))
        finally:
            self.count -= 1

    async def _send_all(self, socket: WebSocket, place: Place, names: frozenset[str]) -> None:
        while True:
            missed, lines = place.take()
            if missed:
                await socket.send_text(json.dumps({"missed": missed}))
            for line in lines:
                if not names or line.name in names:
                    await socket.send_text(f'{{"id":{line.number},"answer":{line.text}}}')
            await place.wait()

    async def _hear(self, socket: WebSocket, tasks: TaskGroup) -> None:
        """Notice that the client has gone."""
        try:
            while True:
                await socket.receive()
        except (WebSocketDisconnect, RuntimeError):  # the latter where it is asked once more behind the end
            tasks.cancel_scope.cancel()


class _Events(Response):
    """An answer that does not end by itself: the events behind a place, until the client goes."""

    media_type = "text/event-stream"

    def __init__(self, streams: Streams, place: Place, names: frozenset[str]) -> None:
        super().__init__(headers={"x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._streams, self._feed_place, self._names = streams, place, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._streams.count += 1
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait_for_end, receive, tasks)
                await self._tell(send)
        finally:
            self._streams.count -= 1

    async def _tell(self, send: Send) -> None:
        place, names = self._feed_place, self._names
        text = f"retry: {_RETRY}\n\n"
        while True:
            missed, lines = place.take()
            if missed:
                text += f'event: missed\ndata: {{"missed":{missed}}}\n\n'
            text += "".join(
                [f"id: {line.number}\ndata: {line.text}\n\n" for line in lines if not names or line.name in names]
            )
            if text:
                await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
            with anyio.move_on_after(self._streams.keep_alive) as waited:
                await place.wait()
            text = ":\n\n" if waited.cancelled_caught else ""


async def wait_for_end(receive: Receive, tasks: TaskGroup) -> None:
    """Notice that the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    tasks.cancel_scope.cancel()


def _no_such(watch: Watch, names: Sequence[str]) -> Response | None:
    """What is answered where there are no answers of a name."""
    known = watch.names
    for name in names:
        if name not in known:
            near = suggest(name, known)
            return JSONResponse({"error": f"there are no answers of `{name}`{near}", "names": known}, 404)
    return None


def _place(watch: Watch, since: str | None) -> Place | None:
    """Where a listener begins; None for what is no number."""
    if since is None:
        return Place.of(watch.feed, None)
    return Place.of(watch.feed, int(since)) if since.isascii() and since.isdigit() and len(since) < 19 else None
