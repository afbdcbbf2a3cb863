"""A client of a server, connected as settings say: user, certificates, security. asyncua is loaded here."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from asyncua.client.client import Client
from asyncua.crypto.uacrypto import load_certificate
from asyncua.ua.uaerrors import UaError
from cryptography import x509

from tidelog.connectors.field.opcua.settings import OpcUaAccess
from tidelog.plans.diagnostics.errors import SpecError

CLIENT_ERRORS = (OSError, UaError, TimeoutError, EOFError)
"""What the library raises where a server is away, or refuses something."""
logging.getLogger("asyncua.client").setLevel(
    logging.CRITICAL
)  # what it says of lost connections is told here, with its place


async def connect(access: OpcUaAccess, folder: str, *, session_seconds: float, on_lost: Callable[[str], None]) -> Any:
    """A client with an open session; `on_lost` is told when its connection breaks. ConnectionError where that fails.

    SpecError as for `OpcUaAccess.check`, and for files and secrets that are not there.
    """
    access.check()
    client: Any = Client(access.url, timeout=access.timeout, watchdog_intervall=access.timeout)
    client.name = client.description = "tidelog"
    client.session_timeout = session_seconds * 1000

    async def lost(error: Exception) -> None:
        on_lost(str(error) or "no answer")

    client.connection_lost_callback = lost
    if access.user:
        client.set_user(access.user)
    if access.password is not None:
        client.set_password(access.password.reveal(folder))
    try:
        await _secure(client, access, Path(folder))
        await client.connect()
    except (
        ValueError,
        AttributeError,
        FileNotFoundError,
    ) as error:  # of files that are none, and policies that are not known
        await leave(client)
        raise SpecError(f"`security` of {access.url}: {error}") from error
    except CLIENT_ERRORS as error:
        await leave(client)
        raise ConnectionError(f"{access.url}: {error or 'no answer'}") from error
    return client


async def _secure(client: Any, access: OpcUaAccess, folder: Path) -> None:
    if access.user_certificate:
        await client.load_client_certificate(str(folder / access.user_certificate))
        await client.load_private_key(str(folder / access.user_key))
    if not access.security:
        return
    policy, mode, *files = [part.strip() for part in access.security.split(",")]
    paths = [str(folder / file) for file in files]
    certificate = await load_certificate(paths[0])
    client.application_uri = uri_of(certificate) or client.application_uri
    await client.set_security_string(",".join((policy, mode, *paths)))


def uri_of(certificate: x509.Certificate) -> str:
    """What a certificate says which application it is of: servers compare it with what a client says."""
    with suppress(x509.ExtensionNotFound):
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        for uri in names.get_values_for_type(x509.UniformResourceIdentifier):
            return str(uri)
    return ""


async def leave(client: Any, *, keeps_subscriptions: bool = False) -> None:
    """Close a client, whatever state it is in; the server keeps the subscriptions of its session, where that is wanted."""
    steps: list[Callable[[], Awaitable[Any]]] = [client.disconnect]
    if keeps_subscriptions:
        steps.insert(0, lambda: client.uaclient.close_session(False))
    for step in steps:
        with suppress(*CLIENT_ERRORS, Exception):  # it has nothing to say any more
            await step()
