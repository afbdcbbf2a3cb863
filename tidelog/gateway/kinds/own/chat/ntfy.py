"""Messages to a topic of ntfy, with a button that acknowledges alarms, where that is wanted."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from tidelog.connectors.http.webhook import WebhookSink
from tidelog.connectors.notify.services import PRIORITIES, Button, Ntfy
from tidelog.connectors.notify.writers import MessageWriter
from tidelog.connectors.transport.secret import Secret
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening
from tidelog.gateway.kinds.own.chat.messages import MessageSinkSettings, check_secrets
from tidelog.gateway.kinds.own.webhook import make_endpoint, make_sink, reach_address
from tidelog.plans.diagnostics.errors import SpecError


class ButtonSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A button that acknowledges an alarm. Whoever reads the topic sees the token, and may do with it what its user may."""

    url: str
    """The gateway's server, as the telephones of those who read the topic reach it."""
    token: Secret
    comment: str = "by ntfy"


class NtfySinkSettings(MessageSinkSettings, frozen=True, kw_only=True, tag="ntfy"):
    """Messages to a topic."""

    topic: str
    url: str = "https://ntfy.sh"
    token: Secret | None = None
    """What the server of ntfy wants to be told."""
    title: str = "{text}"
    text: str = "{state}, {when}"
    priorities: dict[str, int] = msgspec.field(default_factory=dict)
    """The priority, 1 to 5, of what begins, by the priority of the alarm."""
    tags: tuple[str, ...] = ()
    acknowledge: ButtonSettings | None = None


def _open(settings: NtfySinkSettings, opening: SinkOpening) -> WebhookSink:
    for name, value in settings.priorities.items():
        if name not in PRIORITIES or not 1 <= value <= 5:
            known = ", ".join(PRIORITIES)
            raise SpecError(f"`priorities`: expected a number from 1 to 5 for each of {known}, got `{name} = {value}`")
    place, button = opening.place, settings.acknowledge
    own = {"severity": "{severity}", "alarm_id": "{alarm_id}"} | ({"link": "{link}"} if settings.page else {})
    for key, text in (("title", settings.title), ("text", settings.text)):  # each is told with its own key
        opening.template(text, key=key, page=settings.page, explains=True)
    table = opening.template({"title": settings.title, "text": settings.text, **own}, page=settings.page, explains=True)
    shape = Ntfy(
        settings.topic,
        PRIORITIES | settings.priorities,
        settings.tags,
        None if button is None else Button(button.url, button.token.reveal(place.folder), button.comment),
        opening.program if len(opening.file.programs) > 1 else "",
    )
    endpoint = make_endpoint(settings, place, settings.url)
    if settings.token is not None:
        endpoint = replace(
            endpoint, headers={**endpoint.headers, "authorization": f"Bearer {settings.token.reveal(place.folder)}"}
        )
    return make_sink(settings, opening, endpoint, MessageWriter(table, shape))


def _check(settings: NtfySinkSettings, place: Place) -> None:
    check_secrets(settings, place, settings.token, settings.acknowledge.token if settings.acknowledge else None)


async def _reach(settings: NtfySinkSettings, place: Place) -> str:
    return await reach_address(settings.url)


SINK = SinkKind(interface=INTERFACE, settings=NtfySinkSettings, open=_open, check=_check, reach=_reach)
