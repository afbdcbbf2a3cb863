"""The application: which address is answered by whom."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.http.copying import Copying, StandbyMetrics
from tidelog.connectors.http.desk.requests import DeskRequests
from tidelog.connectors.http.metrics import Metrics
from tidelog.connectors.http.outboxes import Outboxes, Taking
from tidelog.connectors.http.requests.access import COOKIE, Access, User
from tidelog.connectors.http.requests.guard import Guard
from tidelog.connectors.http.requests.posting import Posting
from tidelog.connectors.http.requests.reading import read_body
from tidelog.connectors.http.requests.writing import Writing
from tidelog.connectors.http.settings import HttpSettings
from tidelog.connectors.http.streams import Streams
from tidelog.connectors.http.watching.devices import Devices, PostedTo
from tidelog.connectors.http.watching.reasons import reason
from tidelog.connectors.http.watching.state import View, moment_of
from tidelog.connectors.http.watching.watch import Watch
from tidelog.connectors.http.watching.writes import Writes
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import TidelogError
from tidelog.plans.explaining.showing.graphs import graph_of
from tidelog.plans.pictures.graph import draw_graph

Action = Callable[[], Awaitable[object]]
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_STATIC = frozenset(
    each.name for each in files(__package__).joinpath("page").iterdir() if each.name.endswith((".css", ".js"))
)
"""What the page loads: its styles and modules."""
_LOGIN_BYTES = 8192
_PAUSE = 1.0
"""How many seconds a wrong token is answered late."""
_REASONS_AT_ONCE = 1
"""How many reasons are looked for at once, beside the event loop."""


class App:
    """The application over some watches, by their names, the first of which is shown unless told otherwise; and outboxes."""

    def __init__(
        self,
        settings: HttpSettings,
        watches: MutableMapping[str, Watch],
        actions: dict[str, Action],
        outboxes: Outboxes,
        copying: Copying,
    ) -> None:
        self._settings, self._watches, self._actions = settings, watches, actions
        self._access = Access(settings)
        self._desk = DeskRequests(settings, self._access)
        self._posting, self._outboxes, self._copying = Posting(settings), outboxes, copying
        self._writing = Writing(settings, self._posting)
        self._streams = Streams(settings.max_listeners, settings.keep_alive_seconds)
        self._threads: anyio.CapacityLimiter | None = None
        self.metrics = Metrics(watches, lambda: self._streams.count, lambda: self._posting.count)
        self.metrics.registry.register(StandbyMetrics(copying))

    def build(self) -> ASGIApp:
        """The application as ASGI."""
        routes: list[Route | WebSocketRoute] = [
            Route("/", self._page),
            Route("/static/{name}", self._static),
            Route("/favicon.svg", self._icon),
            Route("/login", self._login, methods=["GET", "POST"]),
            Route("/api/state", self._of_program(self._state)),
            Route("/api/graph", self._of_program(self._graph)),
            Route("/api/why", self._of_program(self._why)),
            Route("/events", self._of_program(self._streams.events)),
            WebSocketRoute("/ws", self._socket),
            Route("/ingest", self._of_program(self._posting.answer), methods=["POST"]),
            Route("/outbox", self._outboxes.names),
            Route("/outbox/{name}", self._outboxes.read),
            Route("/outbox/{name}/schema", self._outboxes.schema),
            Route("/outbox/{name}/ack", Taking(self._outboxes), methods=["POST"]),
            Route("/standby/{name}", self._copying.behind, methods=["POST"]),
            Route("/standby/{name}/copy", self._copying.copy, methods=["POST"]),
            Route("/metrics", self._metrics),
            Route("/alarms", self._of_program(self._desk.alarms)),
            Route("/alarms/history", self._of_program(self._desk.history)),
            Route("/alarms/figures", self._of_program(self._desk.figures)),
            Route("/alarms/{id}/{action}", self._of_program(self._desk.act), methods=["POST"]),
            Route("/healthz", self._health),
            Route("/ready", self._ready),
            Route("/-/{action}", self._act, methods=["POST"]),
        ]
        inner = Starlette(routes=routes)
        inner.router.redirect_slashes = False
        inner.router.default = self._elsewhere(inner.router.default)
        return Guard(inner, self._access, self._settings.max_header, self.metrics.count, self._asks_itself)

    # --- the page -------------------------------------------------------------------------------------------------------

    async def _page(self, request: Request) -> Response:
        if not self._watches and self._outboxes.folders:
            return RedirectResponse("/outbox", 303)
        return _file("index.html")

    async def _icon(self, request: Request) -> Response:
        return _file("favicon.svg")

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        return _file(name) if name in _STATIC else JSONResponse({"error": "there is no such file"}, 404)

    async def _login(self, request: Request) -> Response:
        """A form for the token; who tells it gets a cookie, and is led back to the page."""
        if request.method == "GET":
            return _file("login.html")
        body, _ = await read_body(request, _LOGIN_BYTES, self._settings.body_seconds)
        told = parse_qs(body[:_LOGIN_BYTES].decode("latin-1")).get("token", [""])[0].strip()
        user = self._access.user_of(told)
        if user is None:
            await anyio.sleep(_PAUSE)
            return _file("login.html", 403)
        answer = RedirectResponse("/", 303)
        secure = self._settings.tls is not None
        answer.set_cookie(COOKIE, user.cookie, httponly=True, samesite="strict", secure=secure, max_age=30 * 86400)
        return answer

    async def _state(self, request: Request, watch: Watch) -> Response:
        """What the page shows; with `?brief`, what stands at its head alone, and whether there is news of alarms."""
        view = View(watch)
        if "brief" in request.query_params:
            state = view.head()
        else:
            versions = {name: _number(request.query_params.get(name)) for name in ("lanes", "letters")}
            state = view.state(**versions, first=max(0, _number(request.query_params.get("first"))))
        state["programs"] = list(self._watches)
        user = self._access.user(request.headers, request.cookies)
        state["writable"] = user is not None and user.may("configure")
        state["locked"] = self._access.asks and user is None
        state["user"] = _user(user, asks=self._access.asks)
        state["takes_posts"] = watch.ingest.is_open
        state["standby"] = None if self._copying.report is None else self._copying.report().plain()
        return JSONResponse(state)

    async def _graph(self, request: Request, watch: Watch) -> Response:
        graph = graph_of(watch.plan)
        live = frozenset(box.id for box in graph.boxes if box.id.startswith(("step ", "output ")))
        return Response(draw_graph(graph, live=live), media_type="image/svg+xml")

    async def _why(self, request: Request, watch: Watch) -> Response:
        """Why an answer begins to hold: `name`, `row` (JSON) and `range` (`lo:hi`) are those of a bar; or why the open alarm
        with the id `alarm` does."""
        if watch.engine is None or not watch.engine.remembers:
            return JSONResponse({"error": "this run does not explain"}, 404)
        identity = request.query_params.get("alarm")
        fact = _fact(request) if identity is None else watch.desk.begin(identity, moment_of(watch))
        if fact is None and identity is not None:
            return JSONResponse({"error": "no such alarm is open that has begun"}, 404)
        if fact is None:
            return JSONResponse({"error": "expected `name`, `row` and `range`, or `alarm`"}, 400)
        known_as = watch.plan.schema.predicates.get(fact[0])
        if known_as is None or known_as.arity != len(fact[1]):
            unknown = f"the program has no predicate `{fact[0]}` with {len(fact[1])} arguments"
            return JSONResponse({"error": unknown}, 400)
        timeline = watch.plan.timeline
        self._threads = self._threads or anyio.CapacityLimiter(_REASONS_AT_ONCE)
        try:
            known = watch.engine.known(TimeFormatter(timeline, iso=timeline.unit is not None).at)
            told = await anyio.to_thread.run_sync(reason, known, watch.plan.schema, fact, limiter=self._threads)
        except TidelogError as error:
            return JSONResponse({"error": str(error)}, 409)
        return JSONResponse(told, 409 if "error" in told else 200)

    # --- for machines ---------------------------------------------------------------------------------------------------

    async def _socket(self, socket: WebSocket) -> None:
        watch = self._watch(socket)
        if watch is None:
            await socket.close(1008)
            return
        await self._streams.socket(socket, watch)

    async def _metrics(self, request: Request) -> Response:
        text, kind = self.metrics.exposition(request.headers.get("accept", ""))
        return Response(text, headers={"content-type": kind})

    async def _health(self, request: Request) -> Response:
        counts = [(watch.name, len(watch.set_aside())) for watch in self._watches.values()]
        aside = ", ".join(f"{name}: {count} of its actors {_are(count)} set aside" for name, count in counts if count)
        pair = "" if self._copying.report is None else str(self._copying.report())
        told = "; ".join(filter(None, (aside, pair)))
        word = "degraded" if aside else "ok"
        return PlainTextResponse(f"{word}: {told}\n" if told else f"{word}\n")

    async def _ready(self, request: Request) -> Response:
        waiting = [watch.name for watch in self._watches.values() if not watch.is_ready]
        if waiting:
            return PlainTextResponse(f"not ready: {', '.join(waiting)}\n", 503)
        return PlainTextResponse("ready\n")

    async def _act(self, request: Request) -> Response:
        action = self._actions.get(request.path_params["action"])
        if action is None:
            return JSONResponse({"error": "there is no such action", "actions": sorted(self._actions)}, 404)
        try:
            told = await action()
        except TidelogError as error:
            return JSONResponse({"error": str(error)}, 409)
        return JSONResponse({"done": request.path_params["action"], "told": told})

    def _elsewhere(self, nowhere: ASGIApp) -> ASGIApp:
        """What answers at addresses that are none of the server's own: a source that devices post to, or nobody."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            found = self._source_at(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
            if found is None:
                await nowhere(scope, receive, send)
                return
            response = await self._device(Request(scope, receive), *found)
            await response(scope, receive, send)

        return answer

    async def _device(self, request: Request, watch: Watch, devices: PostedTo, topic: str) -> Response:
        """What a device posts, to the source below whose path it is."""
        if isinstance(devices, Writes):
            return await self._writing.answer(request, watch, devices, topic)
        if not isinstance(devices, Devices):
            raise TypeError(f"nobody answers what is posted to `{devices.name}`")
        scheme, _, told = request.headers.get("authorization", "").partition(" ")
        if devices.has_token and not (scheme.lower() == "bearer" and devices.is_token(told.strip())):
            await anyio.sleep(_PAUSE)
            told_back = {"error": "the token is missing or wrong", "hint": "send `Authorization: Bearer TOKEN`"}
            return JSONResponse(told_back, 401, {"www-authenticate": "Bearer"})
        return await self._posting.answer_device(request, watch, devices, topic)

    def _source_at(self, path: str) -> tuple[Watch, PostedTo, str] | None:
        """The source that takes what is posted to an address, of several the one with the longest path, and the topic."""
        found = [
            (watch, devices, topic)
            for watch in self._watches.values()
            for devices in watch.devices
            if (topic := devices.topic(path)) is not None
        ]
        return max(found, key=lambda each: len(each[1].path), default=None)

    def _asks_itself(self, method: str, path: str) -> bool:
        """Whether a request is for a source that has a token of its own."""
        found = self._source_at(path) if method == "POST" else None
        return found is not None and found[1].has_token

    # --- which program --------------------------------------------------------------------------------------------------

    def _watch(self, connection: HTTPConnection) -> Watch | None:
        name = connection.query_params.get("program")
        if name is None:
            return next(iter(self._watches.values()), None)
        return self._watches.get(name)

    def _of_program(
        self, answer: Callable[[Request, Watch], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Answers for the program that `?program=` names, or for the first."""

        async def of_program(request: Request) -> Response:
            watch = self._watch(request)
            if watch is None:
                return JSONResponse({"error": "there is no such program", "programs": list(self._watches)}, 404)
            return await answer(request, watch)

        return of_program


def _user(user: User | None, *, asks: bool) -> dict[str, str]:
    """Who asks, and what he may do, for the page; a stranger on this machine may see."""
    if user is None:
        return {"name": "", "role": "view" if asks else "configure"}
    return {"name": user.name, "role": user.role}


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _file(name: str, status: int = 200) -> Response:
    kind = _TYPES[name.rpartition(".")[2]]
    return Response(files(__package__).joinpath("page", name).read_bytes(), status, media_type=kind)


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 19 else -1


def _fact(request: Request) -> Record | None:
    """The fact at whose begin an answer is explained."""
    asked = request.query_params
    try:
        row: Any = json.loads(asked.get("row", ""))
        lo, hi = map(int, asked.get("range", "").split(":"))
    except (ValueError, RecursionError):
        return None
    is_row = isinstance(row, list) and all(isinstance(value, str | int | float) for value in row)
    if not is_row or "name" not in asked or not -POS < lo < POS or lo > hi:
        return None
    return asked["name"], tuple(row), lo, lo
