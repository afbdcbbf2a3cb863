"""Messages to a channel of Slack, or of what takes the same, by an incoming webhook."""

from __future__ import annotations

from tidelog.connectors.http.webhook import WebhookSink
from tidelog.connectors.notify import services
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening
from tidelog.gateway.kinds.own.chat.messages import HookSinkSettings, check_hook, open_hook
from tidelog.gateway.kinds.own.webhook import reach_address, revealed


class SlackSinkSettings(HookSinkSettings, frozen=True, kw_only=True, tag="slack"):
    """Messages to a channel of Slack."""


def _open(settings: SlackSinkSettings, opening: SinkOpening) -> WebhookSink:
    return open_hook(settings, opening, services.slack, services.judge_slack)


async def _reach(settings: SlackSinkSettings, place: Place) -> str:
    return await reach_address(revealed(settings.url, place))


SINK = SinkKind(interface=INTERFACE, settings=SlackSinkSettings, open=_open, check=check_hook, reach=_reach)
