"""Messages to a chat of Telegram, by a bot."""

from __future__ import annotations

from dataclasses import replace

from tidelog.connectors.http.posting import Endpoint
from tidelog.connectors.http.webhook import WebhookSink
from tidelog.connectors.notify import services
from tidelog.connectors.notify.writers import MessageWriter
from tidelog.connectors.transport.secret import Secret
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening
from tidelog.gateway.kinds.own.chat.messages import MessageSinkSettings, check_secrets
from tidelog.gateway.kinds.own.webhook import make_endpoint, make_sink, reach_address


class TelegramSinkSettings(MessageSinkSettings, frozen=True, kw_only=True, tag="telegram"):
    """Messages to a chat."""

    token: Secret
    """The bot's."""
    chat: str | int
    """The chat's number, or `@NAME` of a public channel."""
    url: str = "https://api.telegram.org"
    """Telegram's server, or one's own."""


def _open(settings: TelegramSinkSettings, opening: SinkOpening) -> WebhookSink:
    table = opening.template({"text": settings.text}, key="text", page=settings.page, explains=True)
    writer = MessageWriter(table, services.telegram(settings.chat))
    return make_sink(settings, opening, _endpoint(settings, opening.place), writer, services.judge_telegram)


def _endpoint(settings: TelegramSinkSettings, place: Place) -> Endpoint:
    url = f"{settings.url.rstrip('/')}/bot{settings.token.reveal(place.folder)}/sendMessage"
    return replace(make_endpoint(settings, place, url), is_secret=True)


def _check(settings: TelegramSinkSettings, place: Place) -> None:
    check_secrets(settings, place, settings.token)


async def _reach(settings: TelegramSinkSettings, place: Place) -> str:
    return await reach_address(settings.url)


SINK = SinkKind(interface=INTERFACE, settings=TelegramSinkSettings, open=_open, check=_check, reach=_reach)
