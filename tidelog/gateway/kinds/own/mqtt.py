"""Messages of a broker, and answers to its topics."""

from __future__ import annotations

from typing import Literal

from tidelog.connectors.mapping.settings import MapSettings, Scalar
from tidelog.connectors.mapping.templates import TopicTemplate
from tidelog.connectors.mqtt.client import MqttClient
from tidelog.connectors.mqtt.settings import Broker, BrokerSettings, tls_context
from tidelog.connectors.mqtt.sink import MqttSink
from tidelog.connectors.mqtt.source import MqttSource
from tidelog.connectors.transport.bounds import Count
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening, SourceKind, SourceOpening
from tidelog.gateway.kinds.messages import topics
from tidelog.gateway.kinds.settings import PayloadFormat, Told


class MqttSourceSettings(BrokerSettings, frozen=True, kw_only=True, tag_field="type", tag="mqtt"):
    """Messages of a broker. Without `topics` it subscribes to those of its maps."""

    name: str
    program: str = ""
    format: PayloadFormat = "json"
    map: tuple[MapSettings, ...] = ()
    by: str = ""
    topics: tuple[str, ...] = ()
    qos: Literal[0, 1] = 1
    retained: Literal["take", "skip"] = "take"


class MqttSinkSettings(BrokerSettings, frozen=True, kw_only=True, tag_field="type", tag="mqtt"):
    """Answers to a broker's topic."""

    name: str
    program: str = ""
    predicates: tuple[str, ...] = ()
    told: Told = "all"
    storm: Count | None = None
    topic: str
    payload: str | dict[str, Scalar] | None = None
    qos: Literal[0, 1, 2] = 1
    retain: bool = False


AnyMqtt = MqttSourceSettings | MqttSinkSettings


def _open_source(settings: MqttSourceSettings, opening: SourceOpening) -> MqttSource:
    return MqttSource(
        settings.name,
        _client(settings, opening.place),
        opening.mapper(settings),
        topics(settings),
        qos=settings.qos,
        takes_retained=settings.retained == "take",
    )


def _open_sink(settings: MqttSinkSettings, opening: SinkOpening) -> MqttSink:
    return MqttSink(
        settings.name,
        _client(settings, opening.place),
        TopicTemplate(settings.topic, opening.plan.schema, iso=opening.iso, outputs=opening.told),
        opening.template(settings.payload),
        qos=settings.qos,
        retain=settings.retain,
        choice=opening.choice,
    )


def _client(settings: AnyMqtt, place: Place) -> MqttClient:
    return MqttClient(settings, place.client(settings), str(place.folder))


def _check(settings: AnyMqtt, place: Place) -> None:
    """The password and the certificates with which one connects."""
    if settings.password is not None:
        settings.password.reveal(place.folder)
    if Broker.parse(settings.url).is_tls:
        tls_context(settings, str(place.folder))


async def _reach(settings: AnyMqtt, place: Place) -> str:
    own = settings.client_id or place.client(settings)
    client = MqttClient(settings, f"{own}-check"[:65_535], str(place.folder), is_passing=True)
    await client.try_once()
    return f"the broker at {client.broker} lets it in"


SOURCE = SourceKind(interface=INTERFACE, settings=MqttSourceSettings, open=_open_source, check=_check, reach=_reach)
SINK = SinkKind(interface=INTERFACE, settings=MqttSinkSettings, open=_open_sink, check=_check, reach=_reach)
