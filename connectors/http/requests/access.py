"""Who may do what: the token, the cookie of the page, and where a browser's request comes from."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from tidelog.connectors.http.settings import HttpSettings

COOKIE = "tidelog"
"""The name of the cookie that a browser has once its user told the token: a hash of it."""
_LOCAL = ("localhost", "127.0.0.1", "::1")
_SAFE = ("GET", "HEAD", "OPTIONS")


class Access:
    """Decides about requests by their headers alone."""

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        self._token = None if settings.token is None else settings.token.encode()
        self.cookie = "" if self._token is None else hmac.digest(self._token, b"tidelog page", "sha256").hex()

    def is_known(self, headers: Headers, cookies: dict[str, str]) -> bool:
        """Whether the request tells the token, or has the cookie; everyone is known where there is no token."""
        if self._token is None:
            return True
        scheme, _, told = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.is_token(told.strip()):
            return True
        return hmac.compare_digest(cookies.get(COOKIE, "").encode(), self.cookie.encode())

    def is_token(self, told: str) -> bool:
        """Whether this is the token; takes the same time whatever it is."""
        digests = (sha256(text).digest() for text in (told.encode("utf-8", "replace"), self._token or b""))
        return self._token is not None and hmac.compare_digest(*digests)

    def needs_token(self, method: str) -> bool:
        """Whether a request of this kind is for those alone who are known."""
        return self._token is not None and (method not in _SAFE or not self._settings.is_open)

    def stranger(self, headers: Headers, method: str, *, is_socket: bool) -> str | None:
        """Why a browser's request is refused: it was made by a page from elsewhere. None where nothing speaks against it.

        On this machine alone, a page from elsewhere could otherwise reach the server by a name that leads here.
        """
        host = headers.get("host", "")
        if self._settings.is_open and not self._is_own_name(host):
            return "the request names another host"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return "the request comes from a page elsewhere"
        if (method not in _SAFE or is_socket) and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return "the request comes from a page elsewhere"
        return None

    def _is_own_name(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self._names()

    def _names(self) -> Iterable[str]:
        return (*_LOCAL, self._settings.address.host.lower(), *map(str.lower, self._settings.hosts))
