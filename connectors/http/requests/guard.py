"""What every request passes first: where it comes from, who makes it, and what is said of it afterwards."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidelog.connectors.http.requests.access import Access

_PUBLIC = ("/healthz", "/ready", "/login", "/favicon.svg")
"""What everyone may see, who reaches the server."""
_PUBLIC_FOLDER = "/static/"
_REFUSAL_PAUSE = 1.0
"""How many seconds a wrong token is answered late."""
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # without any, browsers say `Origin: null` of the form of /login
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Lets requests through to an application, or refuses them; each answer gets the headers that a browser needs.

    A request has headers of `max_header` bytes at most. `count` is told method, path and status of each answer. Requests of
    which `asks_itself` says so, by method and path, are asked for a token by the application.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        max_header: int,
        count: Callable[[str, str, int], None],
        asks_itself: Callable[[str, str], bool],
    ) -> None:
        self._app, self._access, self._max_header, self._count = app, access, max_header, count
        self._asks_itself = asks_itself

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        connection = HTTPConnection(scope)
        is_socket = scope["type"] == "websocket"
        method = "GET" if is_socket else scope["method"]
        refusal = await self._refusal(connection, method, is_socket=is_socket)
        if is_socket and refusal is not None:
            await receive()  # the client's wish to connect, which is refused with 403
            await send({"type": "websocket.close", "code": 1008})
            return
        await (refusal or self._app)(scope, receive, send if is_socket else self._telling(scope, method, send))

    async def _refusal(self, connection: HTTPConnection, method: str, *, is_socket: bool) -> Response | None:
        if sum(len(name) + len(value) for name, value in connection.scope["headers"]) > self._max_header:
            return JSONResponse({"error": f"the headers have more than {self._max_header} bytes"}, 431)
        reason = self._access.stranger(connection.headers, method, is_socket=is_socket)
        if reason is not None:
            return JSONResponse({"error": reason}, 403)
        path = connection.url.path
        if path in _PUBLIC or path.startswith(_PUBLIC_FOLDER) or not self._access.needs_token(method):
            return None
        if self._asks_itself(method, path) or self._access.is_known(connection.headers, connection.cookies):
            return self._forbidden(connection, method, path)
        if path == "/" and "text/html" in connection.headers.get("accept", ""):
            return RedirectResponse("/login", 303)
        if "authorization" in connection.headers:
            await anyio.sleep(_REFUSAL_PAUSE)
        told = {"error": "the token is missing or wrong", "hint": "send `Authorization: Bearer TOKEN`"}
        return JSONResponse(told, 401, {"www-authenticate": "Bearer"})

    def _forbidden(self, connection: HTTPConnection, method: str, path: str) -> Response | None:
        """What somebody is told who is known, and may not do this."""
        role = self._access.role_for(method, path)
        if self._asks_itself(method, path) or self._access.is_known(connection.headers, connection.cookies, role):
            return None
        return JSONResponse({"error": f"this is for those who may `{role}`"}, 403)

    def _telling(self, scope: Scope, method: str, send: Send) -> Send:
        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                route = scope.get("route")
                self._count(method, getattr(route, "path", "other"), message["status"])
            await send(message)

        return tell
