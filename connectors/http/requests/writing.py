"""`/write` and `/api/v2/write`: points by InfluxDB's line protocol to the engine, answered as InfluxDB does."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, get_args

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from tidelog.connectors.databases.influx.grammar import Precision
from tidelog.connectors.http.requests.posting import MOST_ERRORS, BodyError, Posting, wait_for
from tidelog.connectors.http.settings import HttpSettings
from tidelog.connectors.http.watching.ingest import Posted
from tidelog.connectors.http.watching.watch import Watch
from tidelog.connectors.http.watching.writes import Version, Writes, version_of
from tidelog.plans.diagnostics.visible import visible
from tidelog.runtime.ports.interfaces import Rejected

_PRECISIONS: dict[Version, dict[str, Precision]] = {
    "1": {"n": "ns", "u": "us", "µ": "us", **{one: one for one in get_args(Precision)}},
    "2": {"ns": "ns", "us": "us", "ms": "ms", "s": "s"},
}
_CODES = {400: "invalid", 401: "unauthorized", 408: "invalid", 413: "request too large", 415: "invalid"}
"""What the second interface calls its errors; all others are `unavailable`, and come by again."""
_PAUSE = 1.0
"""How many seconds a wrong token is answered late."""
_RETRY = {"retry-after": "1"}
_GZIP = 16 + zlib.MAX_WBITS


class Writing:
    """Answers who writes points, `max_posts` of them at once, with all others who post."""

    def __init__(self, settings: HttpSettings, posting: Posting) -> None:
        self._settings, self._posting = settings, posting

    async def answer(self, request: Request, watch: Watch, writes: Writes, topic: str) -> Response:
        """204 once all points are stored, or taken where nothing is stored. 400 where some could not be used, which tells
        their lines, and all others count; 401, 408, 413, 415, 429, 503."""
        version = version_of(topic)
        if not writes.is_let_in(request):
            await anyio.sleep(_PAUSE)
            return _error(version, 401, "the token is missing or wrong: send `Authorization: Token TOKEN`")
        told = request.query_params.get("precision", "ns") or "ns"
        precision = _PRECISIONS[version].get(told)
        if precision is None:
            known = ", ".join(_PRECISIONS[version])
            return _error(version, 400, f"invalid precision `{visible(told[:20])}`: expected one of {known}")
        try:
            with self._posting.place() as has_place:
                if not has_place:
                    return _error(version, 429, "too many requests at once; try again")
                body = self._unpacked(request, await self._posting.body(request))
                return await self._offer(watch, writes, await writes.read_points(body, precision), version)
        except BodyError as error:
            return _error(version, error.status, str(error))
        except ClientDisconnect:
            return Response(status_code=400)

    def _unpacked(self, request: Request, body: bytes) -> bytes:
        """The body as it was before it was packed; BodyError where it is too long then, or no gzip."""
        coding = request.headers.get("content-encoding", "identity").strip().lower()
        if coding in ("identity", ""):
            return body
        if coding not in ("gzip", "x-gzip"):
            raise BodyError(415, f"expected a body as it is, or packed by gzip, got `{visible(coding[:40])}`")
        most, unpacking = self._settings.max_body, zlib.decompressobj(_GZIP)
        try:
            unpacked = unpacking.decompress(body, most + 1)
        except zlib.error:
            raise BodyError(400, "the body is not what gzip packs") from None
        if len(unpacked) > most:
            raise BodyError(413, f"the body has more than {most} bytes once it is unpacked: send it in parts")
        if not unpacking.eof or unpacking.unused_data:
            raise BodyError(400, "the body is not what gzip packs: it is cut, or goes on behind its end")
        return unpacked

    async def _offer(self, watch: Watch, writes: Writes, batch: Posted, version: Version) -> Response:
        """Hand facts to the engine, and say what became of them."""
        if not (batch.records or batch.rejected):
            return Response(status_code=204)
        if not await writes.offer(batch, self._settings.waiting_seconds):
            if not writes.is_open:
                return _error(version, 503, "the program does not run")
            return _error(version, 429, "the engine is busy; nothing was taken; try again")
        wanted = "commit" if watch.is_durable else "taken"
        reached = "no" if batch.ticket is None else await wait_for(watch, batch.ticket, wanted)
        if batch.ticket is not None and batch.ticket.is_lost:
            return _error(version, 503, "the program has ended before the points were stored; send them again")
        if batch.ticket is None or reached != wanted:
            return _error(version, 503, "it took too long; the points may have been taken; send them again")
        refused = batch.ticket.refused
        return _partial(version, refused, whole=bool(batch.count)) if refused else Response(status_code=204)


def _error(version: Version, status: int, text: str, **more: Any) -> Response:
    headers = {"x-influxdb-error": text.partition("\n")[0].encode("ascii", "replace").decode()} if version == "1" else {}
    if status in (429, 503):
        headers |= _RETRY
    if status in (408, 413):
        headers["connection"] = "close"
    told = {"error": text} if version == "1" else {"code": _CODES.get(status, "unavailable"), "message": text}
    return JSONResponse({**told, **more}, status, headers)


def _partial(version: Version, refused: Sequence[Rejected], *, whole: bool) -> Response:
    """Some points could not be used: which, and why."""
    told = [_told(item) for item in refused[:MOST_ERRORS]]
    text = "\n".join(f"unable to parse '{one['original_line']}': {one['error_message']}" for one in told)
    if whole:  # the others are written
        text = f"partial write: {text} dropped={len(refused)}"
    more: dict[str, Any] = {"data": told}
    if version == "2":
        more["line"] = told[0]["line_number"]
    return _error(version, 400, text, **more)


def _told(item: Rejected) -> dict[str, Any]:
    line = item.place.rpartition(":")[2]
    return {
        "line_number": int(line) if line.isdigit() else None,
        "error_message": item.reason,
        "original_line": item.raw.decode("utf-8", "backslashreplace"),
    }
