"""Who may do what: the token, the cookie of the page, and where a browser's request comes from."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import cast
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from tidelog.connectors.http.settings import ROLES, HttpSettings, Role

COOKIE = "tidelog"
"""The name of the cookie that a browser has once its user told the token: a hash of it."""
_LOCAL = ("localhost", "127.0.0.1", "::1")
_SAFE = ("GET", "HEAD", "OPTIONS")
OPERATING = ("acknowledge", "comment", "shelve", "unshelve")
"""What operators may do with alarms; to take one out of service, and back, is for those who configure."""


def _cookie(token: str) -> str:
    return hmac.digest(token.encode(), b"tidelog page", "sha256").hex()


@dataclass(frozen=True, slots=True)
class User:
    """Who asks: a name (none for the one token that has none), and what may be done: see, operate, or configure, too."""

    name: str
    role: Role
    cookie: str = ""

    def may(self, role: Role) -> bool:
        """Whether this is allowed."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Access:
    """Decides about requests by their headers alone."""

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        tokens = [] if settings.token is None else [("", "configure", settings.token)]
        tokens += [(user.name, user.role, user.token) for user in settings.users]
        self._users = [(token.encode(), User(name, cast(Role, role), _cookie(token))) for name, role, token in tokens]

    @property
    def asks(self) -> bool:
        """Whether anybody has to say who he is."""
        return bool(self._users)

    def user(self, headers: Headers, cookies: dict[str, str]) -> User | None:
        """Who asks, by a token or the cookie; None for a stranger, and for everybody where there are no tokens."""
        scheme, _, told = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and (found := self.user_of(told.strip())) is not None:
            return found
        cookie = cookies.get(COOKIE, "").encode()
        matching = [user for _, user in self._users if hmac.compare_digest(cookie, user.cookie.encode())]
        return matching[0] if matching else None

    def is_known(self, headers: Headers, cookies: dict[str, str], role: Role = "view") -> bool:
        """Whether the request tells a token, or has the cookie, of somebody who may do this; everyone may where there are no
        tokens."""
        if not self._users:
            return True
        user = self.user(headers, cookies)
        return user is not None and user.may(role)

    def user_of(self, told: str) -> User | None:
        """Whose token this is; takes the same time whatever it is."""
        digest = sha256(told.encode("utf-8", "replace")).digest()
        matching = [user for token, user in self._users if hmac.compare_digest(digest, sha256(token).digest())]
        return matching[0] if matching else None

    def needs_token(self, method: str) -> bool:
        """Whether a request of this kind is for those alone who are known."""
        return bool(self._users) and (method not in _SAFE or not self._settings.is_open)

    @staticmethod
    def role_for(method: str, path: str) -> Role:
        """What somebody has to be allowed for such a request: to see, to operate alarms, or to configure, and feed, all."""
        if method in _SAFE:
            return "view"
        action = path.rpartition("/")[2]
        return "operate" if path.startswith("/alarms/") and action in OPERATING else "configure"

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
