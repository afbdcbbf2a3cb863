"""What a gateway's file says of a server, and what the library is told of it."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from tidelog.connectors.transport.secret import Secret
from tidelog.plans.diagnostics.errors import SpecError

CONNECT_SECONDS = 10.0
"""How long one waits for an answer."""
_FORM = "`url` is of the form `nats://HOST:PORT` or, with TLS, `tls://HOST:PORT`, several with commas between them"


class ServerSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How to reach a server, and who one is there."""

    url: str
    """`nats://HOST:PORT` or, with TLS, `tls://HOST:PORT`; several of a cluster with commas between them."""
    user: str = ""
    password: Secret | None = None
    token: Secret | None = None
    ca: str = ""
    """A file with the certificates that are trusted; those of the system, unless told."""
    certificate: str = ""
    certificate_key: str = ""


def options_of(settings: ServerSettings, folder: Path) -> dict[str, Any]:
    """What the library is told. SpecError for what does not belong together, and for what is not there."""
    servers = [text.strip() for text in settings.url.split(",")]
    schemes = {_scheme(text) for text in servers}
    if len(schemes) > 1:
        raise SpecError("`url` names servers with TLS and without: all have it, or none")
    if bool(settings.user) != (settings.password is not None):
        raise SpecError("`user` and `password` belong together")
    if settings.user and settings.token is not None:
        raise SpecError("one says who one is by `user` and `password`, or by `token`")
    if bool(settings.certificate) != bool(settings.certificate_key):
        raise SpecError("`certificate` and `certificate_key` belong together")
    options: dict[str, Any] = {"servers": servers}
    if settings.password is not None:
        options |= {"user": settings.user, "password": settings.password.reveal(folder)}
    if settings.token is not None:
        options["token"] = settings.token.reveal(folder)
    if schemes == {"tls"}:
        options["tls"] = _context(settings, folder)
    elif settings.ca or settings.certificate:
        raise SpecError("`ca`, `certificate` and `certificate_key` belong to `tls://`")
    return options


def _scheme(text: str) -> str:
    """SpecError for what is no such URL; it never shows a password that stands in there."""
    try:
        found = urlsplit(text)
        host, _ = found.hostname, found.port
    except ValueError:
        raise SpecError(_FORM) from None
    if found.username or found.password:
        raise SpecError("`url` names a user: say `user` and `password`, so that no secret stands in the file")
    if found.scheme not in ("nats", "tls") or not host or found.path not in ("", "/") or found.query:
        raise SpecError(f"{_FORM}, got `{text}`")
    return found.scheme


def _context(settings: ServerSettings, folder: Path) -> ssl.SSLContext:
    """Certificates are always looked at."""
    try:
        context = ssl.create_default_context(cafile=os.path.join(folder, settings.ca) if settings.ca else None)
        if settings.certificate:
            certificate, key = (os.path.join(folder, path) for path in (settings.certificate, settings.certificate_key))
            context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ssl.SSLError) as error:
        told = "looked at `ca`, `certificate` and `certificate_key`"
        raise SpecError(f"TLS: {error.strerror or error}; {told}") from None
    return context


def _no_password() -> str:
    raise SpecError("TLS: the key is encrypted: use one that is not, readable by the gateway alone")
