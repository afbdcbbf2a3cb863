"""What a gateway's file says of a broker."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from tidelog.connectors.transport.bounds import Positive, UInt16, UInt16From1, UInt32
from tidelog.connectors.transport.secret import Secret
from tidelog.plans.diagnostics.errors import SpecError

_PORTS = {"mqtt": 1883, "mqtts": 8883}
MAX_INFLIGHT = 2_000
"""How many messages a broker may send before the first of them is acknowledged, unless told otherwise (MQTT 5)."""


class WillSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A message that the broker (last will) or the gateway itself (birth) publishes."""

    topic: str
    payload: str = ""
    qos: Literal[0, 1, 2] = 1
    retain: bool = True


class BrokerSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How to reach a broker, and who one is there."""

    url: str
    """`mqtt://HOST:PORT` or, with TLS, `mqtts://HOST:PORT`."""
    client_id: str = ""
    """Fixed, so that the broker keeps a session; the gateway's name and the connection's, unless told."""
    version: Literal["3.1.1", "5"] = "5"
    user: str = ""
    password: Secret | None = None
    ca: str = ""
    """A file with the certificates that are trusted; those of the system, unless told."""
    certificate: str = ""
    key: str = ""
    keep_alive: UInt16 = 30
    """Seconds."""
    session_expiry: UInt32 = 7 * 24 * 3600
    """For how many seconds a broker keeps the session of a gateway that is away (MQTT 5)."""
    max_inflight: UInt16From1 = MAX_INFLIGHT
    will: WillSettings | None = None
    birth: WillSettings | None = None
    retry_longest: Positive = 60.0
    """The longest pause, in seconds, between two attempts to connect."""


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker's address, taken from its URL."""

    host: str
    port: int
    is_tls: bool

    @classmethod
    def parse(cls, url: str) -> Broker:
        """SpecError for what is no such URL; it never shows a password that stands in there."""
        try:
            found = urlsplit(url)
            host, port = found.hostname, found.port
        except ValueError:
            raise SpecError("`url` is of the form `mqtt://HOST:PORT` or `mqtts://HOST:PORT`") from None
        if found.username or found.password:
            raise SpecError("`url` names a user: say `user` and `password`, so that no secret stands in the file")
        if found.scheme not in _PORTS or not host or found.path not in ("", "/") or found.query:
            raise SpecError(f"`url` is of the form `mqtt://HOST:PORT` or `mqtts://HOST:PORT`, got `{url}`")
        return cls(host, port or _PORTS[found.scheme], found.scheme == "mqtts")

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def tls_context(settings: BrokerSettings, folder: str) -> ssl.SSLContext:
    """The context of a connection with TLS: certificates are always looked at. SpecError for files that do not serve."""
    try:
        context = ssl.create_default_context(cafile=_within(folder, settings.ca))
        if settings.certificate:
            context.load_cert_chain(
                str(_within(folder, settings.certificate)), _within(folder, settings.key), password=_no_password
            )
    except (OSError, ssl.SSLError) as error:
        raise SpecError(f"TLS: {error.strerror or error}; looked at `ca`, `certificate` and `key`") from None
    return context


def _no_password() -> str:
    raise SpecError("TLS: the key is encrypted: use one that is not, readable by the gateway alone")


def _within(folder: str, path: str) -> str | None:
    return os.path.join(folder, path) if path else None
