"""What a gateway's file says of a cluster, and what the library is told of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import msgspec

from tidelog.connectors.transport.secret import Secret
from tidelog.plans.diagnostics.errors import SpecError


class ClusterSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How to reach a cluster, and who one is there."""

    brokers: str
    """`HOST:PORT`, several with commas between them."""
    tls: bool = False
    ca: str = ""
    """A file with the certificates that are trusted; those of the system, unless told."""
    certificate: str = ""
    certificate_key: str = ""
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    user: str = ""
    password: Secret | None = None
    client_id: str = ""


def config_of(settings: ClusterSettings, client_id: str, folder: Path) -> dict[str, Any]:
    """What the library is told. SpecError for what does not belong together, and for a secret that is not there."""
    if bool(settings.user) != (settings.password is not None):
        raise SpecError("`user` and `password` belong together")
    if (settings.ca or settings.certificate or settings.certificate_key) and not settings.tls:
        raise SpecError("`ca`, `certificate` and `certificate_key` belong to `tls = true`")
    if bool(settings.certificate) != bool(settings.certificate_key):
        raise SpecError("`certificate` and `certificate_key` belong together")
    config: dict[str, Any] = {"bootstrap.servers": settings.brokers, "client.id": settings.client_id or client_id}
    config["security.protocol"] = ("sasl_" if settings.user else "") + ("ssl" if settings.tls else "plaintext")
    if settings.password is not None:
        config |= {
            "sasl.mechanism": settings.mechanism,
            "sasl.username": settings.user,
            "sasl.password": settings.password.reveal(folder),
        }
    for name, path in [
        ("ssl.ca.location", settings.ca),
        ("ssl.certificate.location", settings.certificate),
        ("ssl.key.location", settings.certificate_key),
    ]:
        if path:
            config[name] = os.path.join(folder, path)
            if not os.path.isfile(config[name]):
                raise SpecError(f"TLS: there is no file `{path}`")
    return config
