"""The gateway that leads, as the one that follows asks it: over HTTP, one question after the other for each program."""

from __future__ import annotations

from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx
import msgspec

from tidelog.connectors.standby.shared_state import Position
from tidelog.connectors.standby.wire import PATH, Ask, Reply, encode, read_reply
from tidelog.connectors.store.syncing import sync
from tidelog.connectors.transport.addresses import TcpAddress
from tidelog.connectors.transport.credentials import trusting
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

FORM = "https://HOST:PORT"
CONNECT_SECONDS = 2.0
"""How long a connection may take, and, beyond what was asked for, a reply."""
COPY_SECONDS = 60.0
"""How long a copy may stand still."""
_CONFLICT, _GONE = 409, 410


class NotLeadingError(ConnectorError):
    """The other gateway does not lead."""


class OutrunError(ConnectorError):
    """The other gateway does not go on from where this one stands: a copy is needed."""


def check_address(address: str) -> str:
    """The address without a path; SpecError where it is none, or would carry the state to another machine without TLS.

    >>> check_address("https://gateway-a:8080/")
    'https://gateway-a:8080'
    """
    parts = urlsplit(address)
    try:
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none
        is_one = False
    if not is_one or parts.path not in ("", "/") or parts.query or parts.fragment or "@" in parts.netloc:
        raise SpecError(f"`{address}` is not the address of a gateway: expected `{FORM}`")
    if parts.scheme == "http" and not TcpAddress(parts.hostname or "", parts.port or 80).is_loopback:
        raise SpecError(f"`{address}` lies beyond this machine: following a gateway there needs TLS, `https:`")
    return f"{parts.scheme}://{parts.netloc}"


class Leader:
    """Asks the gateway at an address, while `async with`. `trusted` is the path of the certificates to trust (PEM).

    ConnectorError where it cannot be reached, or answers with anything else.
    """

    def __init__(self, address: str, node: str, *, token: str | None = None, trusted: str | None = None) -> None:
        self.address = check_address(address)
        self._node = node
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        verify = trusting(trusted) if self.address.startswith("https:") else False
        self._client = httpx.AsyncClient(
            base_url=self.address, headers=headers, verify=verify, trust_env=False, timeout=CONNECT_SECONDS
        )

    async def __aenter__(self) -> Leader:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.aclose()

    async def behind(self, name: str, position: Position, wait: float) -> Reply:
        """The next commits of a program's state: waits for one for so many seconds, and may have none."""
        question = encode(Ask(self._node, position, wait))
        try:
            answer = await self._client.post(f"{PATH}{name}", content=question, timeout=CONNECT_SECONDS + wait)
        except httpx.HTTPError as error:
            raise ConnectorError(f"{self.address}: {error or type(error).__name__}") from error
        self._check(answer)
        try:
            return read_reply(answer.content)
        except msgspec.MsgspecError as error:
            raise ConnectorError(f"{self.address}: the reply cannot be read: {error}") from error

    async def copy(self, name: str, path: str) -> None:
        """Write the whole file of a state to a path."""
        try:
            async with self._client.stream("POST", f"{PATH}{name}/copy", timeout=COPY_SECONDS) as answer:
                if answer.status_code != 200:
                    await answer.aread()
                self._check(answer)
                size = 0
                async with await anyio.open_file(path, "wb") as file:
                    async for piece in answer.aiter_raw():
                        size += await file.write(piece)
                if size != int(answer.headers.get("content-length", -1)):
                    raise ConnectorError(f"{self.address}: the copy ends before its end")
            await anyio.to_thread.run_sync(sync, path)
        except httpx.HTTPError as error:
            raise ConnectorError(f"{self.address}: {error or type(error).__name__}") from error

    def _check(self, answer: httpx.Response) -> None:
        if answer.status_code == 200:
            return
        told = f"{self.address}: {_told(answer)}"
        if answer.status_code == _CONFLICT:
            raise NotLeadingError(told)
        if answer.status_code == _GONE:
            raise OutrunError(told)
        raise ConnectorError(told)


def _told(answer: httpx.Response) -> str:
    try:
        return str(msgspec.json.decode(answer.content)["error"])
    except (msgspec.MsgspecError, KeyError, TypeError):
        return f"status {answer.status_code}"
