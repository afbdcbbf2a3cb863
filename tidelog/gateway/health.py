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
from tidelog.gateway.taps import tap_path
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

WAIT_SECONDS = 10.0
_TAKE_OVER_SECONDS = 60.0
_MOST = 65_536


def why_unhealthy(settings: GatewaySettings, file: Path) -> str | None:
    """Ask the gateway with this file whether its event loop turns; the reason why it seems not to, None where it does.

    With `[http]` its page is asked for `/healthz`; without it, the socket of `--tap` has to answer.
    """
    try:
        if settings.http is not None:
            return _why_silent_page(settings.http)
        return _why_silent_socket(tap_path(settings, file))
    except TimeoutError:
        return f"no answer within {WAIT_SECONDS:g} s"
    except (OSError, http.client.HTTPException) as error:
        return f"no gateway answers: {error}"


def standing(settings: GatewaySettings) -> str:
    """How the gateway with this file stands beside the other one, of two; no text where it has no other one."""
    if settings.http is None or settings.standby is None:
        return ""
    return _ask(settings.http, "GET", "/healthz")[1].removeprefix("ok: ").strip()


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


def _why_silent_page(settings: HttpFileSettings) -> str | None:
    status, _ = _ask(settings, "GET", "/healthz")
    return None if status == http.client.OK else f"`/healthz` at {settings.listen} answers with status {status}"


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
        return answer.status, answer.read(_MOST).decode("utf-8", "replace")
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
