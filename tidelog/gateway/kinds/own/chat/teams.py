"""Messages to a channel of Teams, by a workflow that begins with a web request."""

from __future__ import annotations

from tidelog.connectors.http.webhook import WebhookSink
from tidelog.connectors.notify import services
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening
from tidelog.gateway.kinds.own.chat.messages import HookSinkSettings, check_hook, open_hook
from tidelog.gateway.kinds.own.webhook import reach_address, revealed


class TeamsSinkSettings(HookSinkSettings, frozen=True, kw_only=True, tag="teams"):
    """Messages to a channel of Teams."""


def _open(settings: TeamsSinkSettings, opening: SinkOpening) -> WebhookSink:
    return open_hook(settings, opening, services.teams, services.judge_teams)


async def _reach(settings: TeamsSinkSettings, place: Place) -> str:
    return await reach_address(revealed(settings.url, place))


SINK = SinkKind(interface=INTERFACE, settings=TeamsSinkSettings, open=_open, check=check_hook, reach=_reach)
