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

WAIT_SECONDS = 10.0


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


def _why_silent_page(settings: HttpFileSettings) -> str | None:
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
        status = client.getresponse().status
    finally:
        client.close()
    return None if status == http.client.OK else f"`/healthz` at {settings.listen} answers with status {status}"


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
