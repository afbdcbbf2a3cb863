"""Answers posted to an address, and what all have in common that post to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from tidelog.connectors.http.posting import Endpoint, Judge, Retries
from tidelog.connectors.http.webhook import WebhookSink, Writer
from tidelog.connectors.notify.writers import TemplateWriter
from tidelog.connectors.transport.backoff import FIRST_PAUSE
from tidelog.connectors.transport.bounds import Positive
from tidelog.connectors.transport.secret import Secret
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening
from tidelog.gateway.kinds.reaching import reach_url
from tidelog.gateway.kinds.settings import PeopleSinkSettings

_PORTS = {"http": 80, "https": 443}
Text = str | Secret


class Posting(Protocol):
    """What all say that post over HTTP."""

    @property
    def headers(self) -> dict[str, Text]: ...

    @property
    def timeout(self) -> float: ...

    @property
    def retry_longest(self) -> float: ...


class PostingSinkSettings(PeopleSinkSettings, frozen=True, kw_only=True):
    """A sink that posts to an address over HTTP."""

    headers: dict[str, Text] = msgspec.field(default_factory=dict)
    timeout: Positive = 10.0
    """Seconds, of one attempt."""
    retry_longest: Positive = 60.0


class WebhookSinkSettings(PostingSinkSettings, frozen=True, kw_only=True, tag="webhook"):
    """Answers posted to an address, each until it is taken."""

    url: Text
    secret: Secret | None = None
    """Signs what is sent (Standard Webhooks)."""
    payload: str | dict[str, Any] | None = None
    """A template: a text, or a table that is sent as JSON."""


def revealed(text: Text, place: Place) -> str:
    """What stands in the file, or in the place that it names; SpecError where there is nothing."""
    return text if isinstance(text, str) else text.reveal(place.folder)


def make_endpoint(
    settings: Posting,
    place: Place,
    url: Text,
    *,
    path: str = "",
    secret: Secret | None = None,
    headers: Mapping[str, str] | None = None,
) -> Endpoint:
    """Where a sink posts to, at this path behind the address, with these headers; with those of the file, unless told."""
    own = {name: revealed(text, place) for name, text in settings.headers.items()} if headers is None else headers
    address = revealed(url, place)
    return Endpoint(
        address.rstrip("/") + path if path else address,
        secret=None if secret is None else secret.reveal(place.folder),
        headers=own,
        retries=Retries(first=min(FIRST_PAUSE, settings.retry_longest), longest=settings.retry_longest),
        timeout=settings.timeout,
        is_secret=isinstance(url, Secret),
    )


def make_sink(
    settings: PostingSinkSettings, opening: SinkOpening, endpoint: Endpoint, writer: Writer, judge: Judge | None = None
) -> WebhookSink:
    """A sink that posts what the writer writes."""
    name, choice = settings.name, opening.choice
    return WebhookSink(endpoint, opening.plan.schema, name=name, writer=writer, choice=choice, judge=judge)


def _open(settings: WebhookSinkSettings, opening: SinkOpening) -> WebhookSink:
    page, place = settings.page, opening.place
    body = opening.template(settings.payload, page=page, explains=True)
    texts = {name: text for name, text in settings.headers.items() if isinstance(text, str) and "{" in text}
    filled = {
        name.lower(): opening.template(text, key=f"headers.{name}", page=page, explains=True) for name, text in texts.items()
    }
    fixed = {name: revealed(text, place) for name, text in settings.headers.items() if name not in texts}
    media_type = None
    if body.is_text:  # what it is only the file knows
        media_type = next((text for name, text in fixed.items() if name.lower() == "content-type"), None)
    fixed = {name: text for name, text in fixed.items() if name.lower() != "content-type"}
    endpoint = make_endpoint(settings, place, settings.url, secret=settings.secret, headers=fixed)
    return make_sink(settings, opening, endpoint, TemplateWriter(body, filled, media_type))


def check_texts(settings: Posting, place: Place) -> None:
    """Secrets among the headers."""
    for text in settings.headers.values():
        revealed(text, place)


def _check(settings: WebhookSinkSettings, place: Place) -> None:
    check_texts(settings, place)
    revealed(settings.url, place)


async def reach_address(url: str) -> str:
    """See whether somebody listens at an address, and say so; OSError or TimeoutError where nobody does."""
    return await reach_url(url, _PORTS.get(urlsplit(url).scheme))


async def _reach(settings: WebhookSinkSettings, place: Place) -> str:
    return await reach_address(revealed(settings.url, place))


SINK = SinkKind(interface=INTERFACE, settings=WebhookSinkSettings, open=_open, check=_check, reach=_reach)
