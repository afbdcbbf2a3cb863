"""Edge nodes of Sparkplug B, and their devices."""

from __future__ import annotations

from typing import Literal

from tidelog import connectors  # loads what it needs once it is used
from tidelog.connectors.brokers.mqtt.client import MqttClient
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.gateway.kinds.kind import INTERFACE, SourceKind, SourceOpening
from tidelog.gateway.kinds.messages import topics
from tidelog.gateway.kinds.own.mqtt import BrokerEndSettings, check_broker, reach_broker
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.interfaces import Source


class SparkplugSourceSettings(BrokerEndSettings, frozen=True, kw_only=True, tag="sparkplug"):
    """Edge nodes of some groups; a primary host application, if it has a name as `host`."""

    format: Literal["json"] = "json"
    map: tuple[MapSettings, ...] = ()
    by: str = ""
    groups: tuple[str, ...] = ()
    """Which groups are heard; all, unless told."""
    host: str = ""
    """The name of the primary host application, if it is this one: edge nodes are told whether it is there."""


def _open(settings: SparkplugSourceSettings, opening: SourceOpening) -> Source:
    for key, name in [("host", settings.host), *[("groups", group) for group in settings.groups]]:
        if set(name) & set("/+#"):
            raise SpecError(f"`{key}`: `{name}` has a `/`, `+` or `#`, which no name has in Sparkplug")
    if settings.host and (settings.will or settings.birth):
        raise SpecError("`host` says what edge nodes are told when it comes and goes: leave `will` and `birth` away")
    client = MqttClient(settings, opening.place.client(settings), str(opening.place.folder))
    return connectors.SparkplugSource(
        settings.name,
        client,
        opening.mapper(settings),
        topics(settings),
        groups=settings.groups,
        host=settings.host,
    )


SOURCE = SourceKind(
    interface=INTERFACE,
    settings=SparkplugSourceSettings,
    open=_open,
    check=check_broker,
    reach=reach_broker,
    needs="tidelog[sparkplug]",
)
