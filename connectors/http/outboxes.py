"""`/outbox`: what outboxes hold, from a number on, and the acknowledgement that it has been taken.

A reply that is lost is asked for again: reading changes nothing, and a number may be acknowledged twice. What is
acknowledged never comes again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread
import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from tidelog.connectors.http.requests.reading import read_body
from tidelog.connectors.http.settings import HttpSettings
from tidelog.connectors.http.streams import wait_for_end
from tidelog.connectors.outbox.lines import (
    FIRST,
    IDENTITY,
    LAST,
    MAX_NUMBER,
    MEDIA_TYPE,
    READ_ROWS,
    REPLY_BYTES,
    Acknowledgement,
    encode_rows,
)
from tidelog.connectors.outbox.outbox import OutboxReader
from tidelog.plans.diagnostics.errors import ConnectorError, TidelogError
from tidelog.plans.diagnostics.suggestions import suggest

T = TypeVar("T")
MAX_WAIT = 60
"""For how many seconds a client may wait for facts at most."""
LOOK_INTERVAL = 0.2
"""How often, in seconds, it is looked whether there are facts for those who wait."""
ACKNOWLEDGED_SECONDS = 5.0
"""How long a server that is about to end waits for replies to acknowledgements."""
_MAX_BODY = 1024
_THREADS = 4
_RETRY = {"retry-after": "1"}


class BadRequestError(Exception):
    """A request that is not to be understood, and how that is answered."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


class Outboxes:
    """Serves the outboxes in `folders`, by their names."""

    def __init__(self, settings: HttpSettings) -> None:
        self.folders: dict[str, str] = {}
        self._settings = settings
        self._limiter: anyio.CapacityLimiter | None = None
        self._waiting = self._acknowledging = 0
        self._settled: anyio.Event | None = None

    async def names(self, request: Request) -> Response:
        """`GET /outbox`: which there are."""
        return JSONResponse({"outboxes": list(self.folders)})

    async def schema(self, request: Request) -> Response:
        """`GET /outbox/NAME/schema`: what the facts look like, and whose they are."""
        return await self._asked(request, _schema)

    async def read(self, request: Request) -> Response:
        """`GET /outbox/NAME`: facts behind `after`, `limit` at most; with `wait`, as soon as there are some."""
        try:
            after = _number(request, "after", 0, MAX_NUMBER)
            limit = _number(request, "limit", 1, MAX_NUMBER)
            wait = _number(request, "wait", 0, MAX_WAIT)
        except BadRequestError as error:
            return JSONResponse({"error": str(error)}, error.status)
        if request.method == "HEAD":
            return await self._asked(request, _numbers)
        look = partial(_read, after=after, limit=min(limit or READ_ROWS, READ_ROWS))
        answer = await self._asked(request, look)
        if not wait or answer.status_code != 200 or answer.body:
            return answer
        if self._waiting >= self._settings.max_listeners:
            return JSONResponse({"error": f"{self._waiting} clients wait already"}, 503, _RETRY)
        self._waiting += 1
        try:
            return await self._wait(request, look, answer, wait)
        finally:
            self._waiting -= 1

    async def _wait(
        self, request: Request, look: Callable[[OutboxReader], Response], answer: Response, seconds: int
    ) -> Response:
        """The first answer that has facts, or is an error; the last one without where the time is over."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_for_end, request.receive, tasks)
            with anyio.move_on_after(seconds):
                while answer.status_code == 200 and not answer.body:
                    await anyio.sleep(LOOK_INTERVAL)
                    answer = await self._asked(request, look)
            tasks.cancel_scope.cancel()
        return answer

    async def take(self, scope: Scope, receive: Receive, send: Send) -> None:
        """`POST /outbox/NAME/ack`: all facts up to `upto` have been taken, and may go. Ends when the reply is sent."""
        self._acknowledging += 1
        try:
            answer = await self._acknowledge(Request(scope, receive))
            await answer(scope, receive, send)
        finally:
            self._acknowledging -= 1
            if self._settled is not None and not self._acknowledging:
                self._settled.set()

    async def _acknowledge(self, request: Request) -> Response:
        try:
            told = msgspec.json.decode(await self._body(request), type=Acknowledgement)
        except msgspec.MsgspecError as error:
            return JSONResponse({"error": f'expected `{{"upto": NUMBER}}`: {error}'}, 400)
        except BadRequestError as error:
            return JSONResponse({"error": str(error)}, error.status, {"connection": "close"})
        except ClientDisconnect:
            return Response(status_code=400)
        return await self._asked(request, partial(_acknowledge, upto=told.upto))

    async def _body(self, request: Request) -> bytes:
        body, is_whole = await read_body(request, _MAX_BODY, self._settings.body_seconds)
        if len(body) > _MAX_BODY:
            raise BadRequestError(f"the body has more than {_MAX_BODY} bytes", 413)
        if not is_whole:
            raise BadRequestError("the body did not come in time", 408)
        return body

    async def _asked(self, request: Request, question: Callable[[OutboxReader], Response]) -> Response:
        """The reply of the outbox that a request names. The disk is waited for beside the event loop."""
        name = request.path_params["name"]
        folder = self.folders.get(name)
        if folder is None:
            told = {"error": f"there is no outbox `{name}`{suggest(name, self.folders)}", "outboxes": list(self.folders)}
            return JSONResponse(told, 404)
        self._limiter = self._limiter or anyio.CapacityLimiter(_THREADS)
        return await anyio.to_thread.run_sync(_answered, folder, question, limiter=self._limiter)

    async def settle(self) -> None:
        """Wait until who has acknowledged something has the reply: a server may end once all is taken."""
        if self._acknowledging:
            self._settled = anyio.Event()
            with anyio.move_on_after(ACKNOWLEDGED_SECONDS, shield=True):
                await self._settled.wait()


class Taking:
    """`POST /outbox/NAME/ack` as an application of its own: of a function, the reply is sent once it has ended."""

    def __init__(self, outboxes: Outboxes) -> None:
        self._outboxes = outboxes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._outboxes.take(scope, receive, send)


def _answered(folder: str, question: Callable[[OutboxReader], Response]) -> Response:
    try:
        with OutboxReader(folder) as reader:
            return question(reader)
    except ValueError as error:
        return JSONResponse({"error": str(error)}, 400)
    except TidelogError as error:
        return JSONResponse({"error": str(error)}, 500)


def _read(reader: OutboxReader, after: int | None, limit: int) -> Response:
    begin = reader.first() - 1 if after is None else after
    if begin > (last := reader.last()):
        told = f"the last fact is number {last}, asked for what is behind {begin}: this is another outbox, or an older copy"
        return JSONResponse({"error": told}, 409, _kept(reader))
    try:
        rows = reader.read(begin, limit, REPLY_BYTES)
    except ConnectorError as error:
        if begin >= reader.first() - 1:  # it is damaged
            raise
        return JSONResponse({"error": str(error)}, 410, _kept(reader))
    return Response(encode_rows(rows), headers=_kept(reader), media_type=MEDIA_TYPE)


def _numbers(reader: OutboxReader) -> Response:
    return Response(headers=_kept(reader), media_type=MEDIA_TYPE)


def _schema(reader: OutboxReader) -> Response:
    return Response(msgspec.json.encode(reader.schema()), headers=_kept(reader), media_type="application/json")


def _acknowledge(reader: OutboxReader, upto: int) -> Response:
    reader.acknowledge(upto)
    return JSONResponse({"first": reader.first(), "last": reader.last()}, headers=_kept(reader))


def _kept(reader: OutboxReader) -> dict[str, str]:
    return {FIRST: str(reader.first()), LAST: str(reader.last()), IDENTITY: reader.schema().identity}


def _number(request: Request, name: str, least: int, most: int) -> int | None:
    """A number of the query; BadRequestError where it is none."""
    text = request.query_params.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise BadRequestError(f"`{name}` is a number from {least} to {most}")
    return int(text)
