"""Asks a gateway that runs: whether it answers (`--healthy`, for the check of a container), or to lead (`--take-over`)."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from pathlib import Path

import msgspec

from tidelog.connectors.transport.addresses import parse_host_port
from tidelog.gateway.file.settings import GatewaySettings, HttpFileSettings
from tidelog.gateway.listening.taps import tap_path
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from tidelog.plans.diagnostics.visible import visible

WAIT_SECONDS = 10.0
_TAKE_OVER_SECONDS = 60.0
_MOST_TOLD = 65_536


def health(settings: GatewaySettings, file: Path) -> tuple[bool, str]:
    """Ask the gateway with this file whether its event loop turns; whether it does, and what is to be said of it.

    With `[http]` its page is asked for `/healthz`, which also tells that a part of the rules does not run; without it, the
    socket of `--tap` has to answer.
    """
    why, told = _asked(settings, file)
    return (True, told) if why is None else (False, f"not healthy: {why}")


def _asked(settings: GatewaySettings, file: Path) -> tuple[str | None, str]:
    """The reason why a gateway seems not to answer, or None, and what is to be said of one that does."""
    try:
        if settings.http is not None:
            return _of_page(settings.http)
        return _why_silent_socket(tap_path(settings, file)), "healthy"
    except TimeoutError:
        return f"no answer within {WAIT_SECONDS:g} s", ""
    except (OSError, http.client.HTTPException) as error:
        return f"no gateway answers: {error}", ""


def take_over(settings: GatewaySettings, folder: Path, *, behind: bool) -> str:
    """Tell the gateway with this file to lead, and wait until it does: what it says. ConnectorError where it does not.

    With `behind` also where it lacks what the other one has told.
    """
    if settings.http is None or settings.standby is None:
        raise SpecError("`--take-over` tells one of two gateways to lead, and the file has no `[standby]`")
    path = "/-/take-over-behind" if behind else "/-/take-over"
    token = None if settings.http.token is None else settings.http.token.reveal(folder)
    try:
        status, told = _ask(settings.http, "POST", path, token)
        found = msgspec.json.decode(told)
    except (OSError, http.client.HTTPException, msgspec.MsgspecError) as error:
        raise ConnectorError(f"no gateway answers: {error}") from None
    if status != http.client.OK:
        raise ConnectorError(str(found.get("error", f"status {status}")))
    return str(found["told"])


def _of_page(settings: HttpFileSettings) -> tuple[str | None, str]:
    status, told = _ask(settings, "GET", "/healthz")
    if status != http.client.OK:
        return f"`/healthz` at {settings.listen} answers with status {status}", ""
    told = visible(told.strip())
    return None, told if told.startswith("degraded: ") else told.replace("ok", "healthy", 1)


def _ask(settings: HttpFileSettings, method: str, path: str, token: str | None = None) -> tuple[int, str]:
    """What the server of the gateway with this file answers: the status, and the text."""
    address = parse_host_port(settings.listen)
    host = _reached(address.host)
    if settings.certificate:
        # The certificate has the name by which others call the gateway, and this process asks its own machine.
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        client: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, address.port, timeout=_seconds(method), context=context
        )
    else:
        client = http.client.HTTPConnection(host, address.port, timeout=_seconds(method))
    try:
        client.request(method, path, headers={} if token is None else {"authorization": f"Bearer {token}"})
        answer = client.getresponse()
        return answer.status, answer.read(_MOST_TOLD).decode("utf-8", "replace")
    finally:
        client.close()


def _seconds(method: str) -> float:
    """How long is waited for an answer: what is told takes longer than what is asked."""
    return WAIT_SECONDS if method == "GET" else _TAKE_OVER_SECONDS


def _reached(host: str) -> str:
    """By which address a server that listens here is reached from this machine."""
    try:
        listening = ipaddress.ip_address(host)
    except ValueError:
        return host
    if not listening.is_unspecified:
        return host
    return "127.0.0.1" if listening.version == 4 else "::1"


def _why_silent_socket(path: str) -> str | None:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(WAIT_SECONDS)
        client.connect(path)
        client.sendall(b"\n")  # nothing has this name, so what there is to listen to is told
        return None if client.recv(1) else f"the gateway at `{path}` hangs up"
