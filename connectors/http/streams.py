"""Answers as they become known: server-sent events, and WebSockets."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import anyio
from anyio.abc import TaskGroup
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from tidelog.connectors.http.feed import Place
from tidelog.connectors.http.watch import Watch

_RETRY = 2000
"""After how many milliseconds a browser connects again."""


class Streams:
    """Those who listen: `most` at once. Each goes on at its own pace."""

    def __init__(self, most: int, keep_alive: float) -> None:
        self._most, self._keep_alive = most, keep_alive
        self.count = 0

    async def events(self, request: Request, watch: Watch) -> Response:
        """`GET /events`: an event an answer, behind `Last-Event-ID` or `?since=`; 503 where too many listen."""
        since = request.headers.get("last-event-id") or request.query_params.get("since")
        place = _place(watch, since)
        if place is None:
            return JSONResponse({"error": "`since` is the number of an event"}, 400)
        if self.count >= self._most:
            return JSONResponse({"error": f"{self._most} clients listen already"}, 503, {"retry-after": "10"})
        names = frozenset(request.query_params.getlist("name"))
        told = self._tell(place, names)
        return StreamingResponse(told, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def socket(self, socket: WebSocket, watch: Watch) -> None:
        """`GET /ws`: a message an answer, with its number; what the client says is not listened to."""
        place = _place(watch, socket.query_params.get("since"))
        if place is None or self.count >= self._most:
            await socket.close(1008 if place is None else 1013)
            return
        await socket.accept()
        names = frozenset(socket.query_params.getlist("name"))
        self.count += 1
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._hear, socket, tasks)
                await self._send_all(socket, place, names)
        finally:
            self.count -= 1

    async def _tell(self, place: Place, names: frozenset[str]) -> AsyncIterator[str]:
        self.count += 1
        try:
            yield f"retry: {_RETRY}\n\n"
            while True:
                missed, lines = place.take()
                if missed:
                    yield f'event: missed\ndata: {{"missed":{missed}}}\n\n'
                told = [f"id: {line.number}\ndata: {line.text}\n\n" for line in lines if not names or line.name in names]
                if told:
                    yield "".join(told)
                with anyio.move_on_after(self._keep_alive) as waited:
                    await place.wait()
                if waited.cancelled_caught:
                    yield ":\n\n"
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


def _place(watch: Watch, since: str | None) -> Place | None:
    """Where a listener begins; None for what is no number."""
    if since is None:
        return Place.of(watch.feed, None)
    return Place.of(watch.feed, int(since)) if since.isascii() and since.isdigit() and len(since) < 19 else None
