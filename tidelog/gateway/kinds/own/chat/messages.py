"""What the services have in common."""

from __future__ import annotations

from tidelog.connectors.http.posting import Judge
from tidelog.connectors.http.webhook import WebhookSink
from tidelog.connectors.notify.writers import MessageWriter, Shape
from tidelog.connectors.transport.secret import Secret
from tidelog.gateway.kinds.kind import Place, SinkOpening
from tidelog.gateway.kinds.own.webhook import PostingSinkSettings, Text, check_texts, make_endpoint, make_sink, revealed

DEFAULT = "{state}: {text}, {when}"
"""What a message says, unless told."""


class MessageSinkSettings(PostingSinkSettings, frozen=True, kw_only=True):
    """Messages for people."""

    text: str = DEFAULT
    """The template of a message."""


class HookSinkSettings(MessageSinkSettings, frozen=True, kw_only=True):
    """Messages to an address that is a secret, since whoever knows it may post there."""

    url: Text


def open_hook(settings: HookSinkSettings, opening: SinkOpening, shape: Shape, judge: Judge) -> WebhookSink:
    """The sink of a service that has one address for each channel."""
    table = opening.template({"text": settings.text}, key="text", page=settings.page, explains=True)
    endpoint = make_endpoint(settings, opening.place, settings.url)
    return make_sink(settings, opening, endpoint, MessageWriter(table, shape), judge)


def check_hook(settings: HookSinkSettings, place: Place) -> None:
    """The address, and secrets among the headers."""
    check_texts(settings, place)
    revealed(settings.url, place)


def check_secrets(settings: PostingSinkSettings, place: Place, *secrets: Secret | None) -> None:
    """These, and those among the headers."""
    check_texts(settings, place)
    for secret in secrets:
        if secret is not None:
            secret.reveal(place.folder)
