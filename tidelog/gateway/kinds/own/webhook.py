"""Answers posted to an address."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from tidelog.connectors import http as over_http  # loads what it needs once it is used
from tidelog.connectors.mapping.settings import Scalar
from tidelog.connectors.mapping.templates import TemplateEncoder
from tidelog.connectors.transport.backoff import FIRST_PAUSE
from tidelog.connectors.transport.bounds import Positive
from tidelog.connectors.transport.secret import Secret
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening
from tidelog.gateway.kinds.reaching import reach_url
from tidelog.gateway.kinds.settings import ChoosySinkSettings

_PORTS = {"http": 80, "https": 443}


class WebhookSinkSettings(ChoosySinkSettings, frozen=True, kw_only=True, tag="webhook"):
    """Answers posted to an address, each until it is taken."""

    url: str
    secret: Secret | None = None
    """Signs what is sent (Standard Webhooks)."""
    headers: dict[str, str | Secret] = msgspec.field(default_factory=dict)
    payload: dict[str, Scalar] | None = None
    timeout: Positive = 10.0
    retry_longest: Positive = 60.0


def _open(settings: WebhookSinkSettings, opening: SinkOpening) -> over_http.WebhookSink:
    folder = opening.place.folder
    endpoint = over_http.Endpoint(
        settings.url,
        secret=None if settings.secret is None else settings.secret.reveal(folder),
        headers={name: text if isinstance(text, str) else text.reveal(folder) for name, text in settings.headers.items()},
        retries=over_http.Retries(first=min(FIRST_PAUSE, settings.retry_longest), longest=settings.retry_longest),
        timeout=settings.timeout,
    )
    encoder = TemplateEncoder(opening.template(settings.payload))
    return over_http.WebhookSink(endpoint, opening.plan.schema, name=settings.name, encoder=encoder, choice=opening.choice)


async def _reach(settings: WebhookSinkSettings, place: Place) -> str:
    return await reach_url(settings.url, _PORTS.get(urlsplit(settings.url).scheme))


SINK = SinkKind(interface=INTERFACE, settings=WebhookSinkSettings, open=_open, reach=_reach)
