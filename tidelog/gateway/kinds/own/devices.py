"""What devices post to the gateway's own server."""

from __future__ import annotations

from tidelog.connectors import http as over_http  # loads what it needs once it is used
from tidelog.connectors.transport.credentials import check_token
from tidelog.connectors.transport.secret import Secret
from tidelog.gateway.kinds.kind import INTERFACE, SourceKind, SourceOpening
from tidelog.gateway.kinds.settings import MessageSourceSettings
from tidelog.plans.diagnostics.errors import SpecError


class HttpSourceSettings(MessageSourceSettings, frozen=True, kw_only=True, tag="http"):
    """What devices post to the server of `[http]`, below a path."""

    path: str = ""
    """Where devices post; `/NAME`, unless told. What stands behind it in an address is the message's topic."""
    token: Secret | None = None
    """What devices tell (`Authorization: Bearer …`), in place of the token of `[http]`."""


def _open(settings: HttpSourceSettings, opening: SourceOpening) -> over_http.Devices:
    if opening.file.http is None:
        raise SpecError("devices post to the server of `[http]`, which this file does not have: add it")
    path = settings.path or f"/{settings.name}"
    others = [one for one in opening.file.source if isinstance(one, HttpSourceSettings) and one is not settings]
    same = next((one.name for one in others if (one.path or f"/{one.name}") == path), None)
    if same is not None:
        raise SpecError(f"source `{same}` has the same path `{path}`")
    token = None if settings.token is None else check_token(settings.token.reveal(opening.place.folder))
    return over_http.Devices(settings.name, path, opening.mapper(settings), token=token)


SOURCE = SourceKind(interface=INTERFACE, settings=HttpSourceSettings, open=_open)
