"""Whether a gateway that runs answers: `tidelog gateway FILE --healthy`, for the health check of a container."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from pathlib import Path

from tidelog.connectors.transport.addresses import parse_host_port
from tidelog.gateway.file.settings import GatewaySettings, HttpFileSettings
from tidelog.gateway.taps import tap_path
from tidelog.plans.diagnostics.visible import visible

WAIT_SECONDS = 10.0
_MOST_TOLD = 10_000


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


def _of_page(settings: HttpFileSettings) -> tuple[str | None, str]:
    address = parse_host_port(settings.listen)
    host = _reached(address.host)
    if settings.certificate:
        # The certificate has the name by which others call the gateway; nothing that is secret is sent to it here.
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        client: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, address.port, timeout=WAIT_SECONDS, context=context
        )
    else:
        client = http.client.HTTPConnection(host, address.port, timeout=WAIT_SECONDS)
    try:
        client.request("GET", "/healthz")
        answer = client.getresponse()
        told = answer.read(_MOST_TOLD).decode("utf-8", "replace").strip()
    finally:
        client.close()
    if answer.status != http.client.OK:
        return f"`/healthz` at {settings.listen} answers with status {answer.status}", ""
    return None, visible(told) if told.startswith("degraded: ") else "healthy"


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
