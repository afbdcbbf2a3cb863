"""`POST /ingest`, and to a source's path: facts of a request to the engine, all that can be read of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from tidelog.connectors.http.requests.bodies import BodyDecoder, kind_of
from tidelog.connectors.http.requests.fences import Fences
from tidelog.connectors.http.requests.reading import read_body
from tidelog.connectors.http.settings import HttpSettings
from tidelog.connectors.http.watching.devices import Devices
from tidelog.connectors.http.watching.ingest import Ingest, Posted, Ticket
from tidelog.connectors.http.watching.watch import Watch
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.diagnostics.visible import visible
from tidelog.runtime.ports.interfaces import Rejected

MOST_ERRORS = 100
"""How many of the records that could not be read are told one by one."""
_WAITS = ("no", "taken", "commit")
_COMMIT_SECONDS = 60.0
"""How long a request waits for what it asked to wait for."""
_RETRY = {"retry-after": "1"}
_Take = Callable[[Request, bytes, Watch, str], Awaitable[Response]]


class BodyError(Exception):
    """A body that is not read to its end, and how that is answered."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Posting:
    """Takes requests with facts, `max_posts` of them at once."""

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        self._fences = Fences()
        self._decoders: dict[str, tuple[object, BodyDecoder]] = {}
        self.count = 0

    async def answer(self, request: Request, watch: Watch) -> Response:
        """202 with counts; 400 with what could not be read, beside which all else counts; 408, 412, 413, 415, 429, 503."""
        return await self._answer(request, watch, "no", self._take)

    async def answer_device(self, request: Request, watch: Watch, devices: Devices, topic: str) -> Response:
        """The same to a device; it is answered when its facts are stored, or taken where nothing is stored."""

        async def take(request: Request, body: bytes, watch: Watch, wait: str) -> Response:
            return await self._offer(watch, devices, devices.read(topic, body), wait)

        return await self._answer(request, watch, "commit" if watch.is_durable else "taken", take)

    async def _answer(self, request: Request, watch: Watch, usual: str, take: _Take) -> Response:
        wait = request.query_params.get("wait", usual)
        refusal = _wrong_wait(wait, watch)
        if refusal is not None:
            return refusal
        if (reason := self._fences.why_refused(request.headers)) is not None:
            return JSONResponse({"error": reason}, 412)
        with self.place() as has_place:
            if not has_place:
                return JSONResponse({"error": "too many requests at once; try again"}, 429, _RETRY)
            try:
                body = await self.body(request)
                return await take(request, body, watch, wait)
            except BodyError as error:
                return JSONResponse({"error": str(error)}, error.status, {"connection": "close"})
            except ClientDisconnect:
                return Response(status_code=400)

    @contextmanager
    def place(self) -> Iterator[bool]:
        """A place among the requests that are answered at once; False where there is none."""
        if self.count >= self._settings.max_posts:
            yield False
            return
        self.count += 1
        try:
            yield True
        finally:
            self.count -= 1

    async def body(self, request: Request) -> bytes:
        """All of a request's body; BodyError where it is too long, or does not come."""
        most = self._settings.max_body
        told = request.headers.get("content-length", "0")
        if told.isdigit() and int(told) > most:
            raise BodyError(413, f"the body has more than {most} bytes: send it in parts")
        body, is_whole = await read_body(request, most, self._settings.body_seconds)
        if len(body) > most:
            raise BodyError(413, f"the body has more than {most} bytes: send it in parts")
        if not is_whole:
            raise BodyError(408, f"the body did not come within {self._settings.body_seconds:g} s")
        return body

    async def _take(self, request: Request, body: bytes, watch: Watch, wait: str) -> Response:
        kind = kind_of(request.headers.get("content-type", ""), body)
        if kind is None:
            told = "expected application/json, application/x-ndjson or text/csv"
            return JSONResponse({"error": f"facts do not come as `{request.headers['content-type']}`: {told}"}, 415)
        try:
            batch = await self._decoder(watch).read(body, kind, request.query_params.get("predicate"))
        except DataError as error:
            return JSONResponse({"accepted": 0, "rejected": 0, "error": error.reason}, 400)
        return await self._offer(watch, watch.ingest, batch, wait)

    async def _offer(self, watch: Watch, ingest: Ingest, batch: Posted, wait: str) -> Response:
        """Hand facts to the engine, and say what became of them."""
        if not (batch.records or batch.rejected):
            return _told(batch, "no")
        if not await ingest.offer(batch, self._settings.waiting_seconds):
            if not ingest.is_open:
                return JSONResponse({"error": "the program does not run, or takes nothing that is posted"}, 503, _RETRY)
            return JSONResponse({"error": "the engine is busy; nothing was taken; try again"}, 429, _RETRY)
        reached = "no" if batch.ticket is None else await wait_for(watch, batch.ticket, wait)
        if batch.ticket is not None and batch.ticket.is_lost:
            return JSONResponse({"error": "the program has ended before this was stored; send it again"}, 503, _RETRY)
        return _told(batch, reached)

    def _decoder(self, watch: Watch) -> BodyDecoder:
        """One for each program: what it has cached serves the next request."""
        plan, decoder = self._decoders.get(watch.name, (None, None))
        if decoder is None or plan is not watch.plan:
            decoder = BodyDecoder(watch.plan.schema.without_actions(), self._settings.max_body)
            self._decoders[watch.name] = (watch.plan, decoder)
        return decoder


def _wrong_wait(wait: str, watch: Watch) -> Response | None:
    if wait not in _WAITS:
        return JSONResponse({"error": f"`wait` is `taken` or `commit`, got `{visible(wait[:40])}`"}, 400)
    if wait == "commit" and not watch.is_durable:
        told = {"error": "the program stores nothing: there is no commit to wait for", "hint": "wait=taken"}
        return JSONResponse(told, 400)
    return None


async def wait_for(watch: Watch, ticket: Ticket, wait: str) -> str:
    """How far the facts have come when the request is answered."""
    reached = "no"
    if wait != "no":
        with watch.awaited(ticket), anyio.move_on_after(_COMMIT_SECONDS):
            await ticket.taken.wait()
            reached = "taken"
            if wait == "commit":
                await ticket.stored.wait()
                reached = "commit"
    return reached


def _told(batch: Posted, reached: str) -> Response:
    refused = batch.ticket.refused if batch.ticket is not None and reached != "no" else batch.rejected
    unread = len(batch.rejected)
    answer: dict[str, Any] = {"accepted": batch.count - (len(refused) - unread), "rejected": len(refused)}
    if reached != "no":
        answer["reached"] = reached
    if refused:
        answer["errors"] = [_error(item) for item in refused[:MOST_ERRORS]]
    return JSONResponse(answer, 400 if unread else 202)


def _error(item: Rejected) -> dict[str, Any]:
    line = item.place.rpartition(":")[2]
    return {
        "line": int(line) if line.isdigit() else None,
        "reason": item.reason,
        "raw": item.raw.decode("utf-8", "backslashreplace"),
    }
