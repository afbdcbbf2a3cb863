"""Messages of a broker, and answers to its topics."""

from __future__ import annotations

from typing import Literal

import msgspec

from tidelog.connectors.brokers.mqtt.client import MqttClient
from tidelog.connectors.brokers.mqtt.homeassistant import HomeAssistant, HomeAssistantSettings, Names, Outputs
from tidelog.connectors.brokers.mqtt.retained.board import Presenter, TopicPresenter
from tidelog.connectors.brokers.mqtt.retained.sink import RetainingSink
from tidelog.connectors.brokers.mqtt.settings import Broker, BrokerSettings, tls_context
from tidelog.connectors.brokers.mqtt.sink import MqttSink
from tidelog.connectors.brokers.mqtt.source import MqttSource
from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.mapping.settings import MapSettings, Scalar
from tidelog.connectors.mapping.templates import TopicTemplate
from tidelog.connectors.mapping.topics import TopicPattern
from tidelog.connectors.transport.bounds import Count
from tidelog.gateway.file.settings import GatewaySettings, ProgramSettings
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening, SourceKind, SourceOpening
from tidelog.gateway.kinds.messages import topics
from tidelog.gateway.kinds.settings import PayloadFormat, SinkLimitSettings, Told
from tidelog.plans.diagnostics.errors import SpecError


class BrokerEndSettings(BrokerSettings, frozen=True, kw_only=True, tag_field="type"):
    """An end that talks to a broker."""

    name: str
    program: str = ""


class MqttSourceSettings(BrokerEndSettings, frozen=True, kw_only=True, tag="mqtt"):
    """Messages of a broker. Without `topics` it subscribes to those of its maps."""

    format: PayloadFormat = "json"
    map: tuple[MapSettings, ...] = ()
    by: str = ""
    topics: tuple[str, ...] = ()
    qos: Literal[0, 1] = 1
    retained: Literal["take", "skip"] = "take"


class MqttSinkSettings(BrokerEndSettings, frozen=True, kw_only=True, tag="mqtt"):
    """Answers to a broker's topic."""

    predicates: tuple[str, ...] = ()
    told: Told = "all"
    when: str = ""
    storm: Count | None = None
    limits: SinkLimitSettings = SinkLimitSettings()
    topic: str = ""
    payload: str | dict[str, Scalar] | None = None
    qos: Literal[0, 1, 2] = 1
    retain: bool | Literal["while-holding"] = False
    """Whether the broker keeps the last message of a topic for who comes later: always, or while what it tells holds."""
    homeassistant: bool | HomeAssistantSettings = False
    """Whether answers appear in Home Assistant by themselves, in place of messages to `topic`."""

    @property
    def keeps(self) -> bool:
        """Whether it knows, on its own disk, what the broker retains while that holds."""
        return bool(self.homeassistant) or self.retain == "while-holding"


RETAINED = ".retained"
"""Within the folder of states: what brokers retain for sinks, a folder for each."""


def _open_source(settings: MqttSourceSettings, opening: SourceOpening) -> MqttSource:
    return MqttSource(
        settings.name,
        _client(settings, opening.place),
        opening.mapper(settings),
        topics(settings),
        qos=settings.qos,
        takes_retained=settings.retained == "take",
    )


def _open_sink(settings: MqttSinkSettings, opening: SinkOpening) -> MqttSink | RetainingSink:
    template = opening.template(settings.payload)
    if settings.homeassistant:
        if settings.topic or settings.payload is not None or settings.retain:
            raise SpecError("`homeassistant` says what is published where: leave `topic`, `payload` and `retain` away")
        shown = _homeassistant(settings, opening)
        broker = msgspec.structs.replace(settings, will=shown.will, birth=shown.birth)
        return _retaining(settings, opening, _client(broker, opening.place), shown, template.lines)
    if not settings.topic:
        raise SpecError("it says no `topic` to publish to")
    client = _client(settings, opening.place)
    about, told = opening.about(), opening.told
    topic = TopicTemplate(settings.topic, opening.plan.schema, iso=opening.iso, outputs=told, about=about)
    if settings.retain == "while-holding":
        return _retaining(settings, opening, client, TopicPresenter(topic, template, opening.told), template.lines)
    retain, choice = settings.retain, opening.choice
    return MqttSink(settings.name, client, topic, template, qos=settings.qos, retain=retain, choice=choice)


def _retaining(
    settings: MqttSinkSettings, opening: SinkOpening, client: MqttClient, presenter: Presenter, lines: Encoder
) -> RetainingSink:
    """The sink; SpecError where something could stay retained for ever."""
    key = "homeassistant" if settings.homeassistant else 'retain = "while-holding"'
    emit = _program(settings, opening).emit
    if emit != "changes":
        raise SpecError(f"`{key}` needs to hear when something has ended: `emit` is `changes`, not `{emit}`")
    if not opening.file.state:
        told = "takes away what has ended, also after a restart: say where that is kept"
        raise SpecError(f'`{key}` {told}, such as `state = "state"`')
    if not settings.qos:
        raise SpecError(f"`{key}` needs a broker that says what it has taken: `qos` is 1 or 2")
    if settings.limits.waiting is not None:
        raise SpecError(f"`{key}` has to hear of each end: leave `limits.waiting` away")
    if opening.file.limits.when_full == "drop-oldest":
        raise SpecError(f"`{key}` has to hear of each end: `limits.when_full` is `block` or `stop`, not `drop-oldest`")
    folder = opening.place.folder / opening.file.state / RETAINED / settings.name
    choice = opening.choice
    return RetainingSink(settings.name, client, presenter, lines, folder=str(folder), qos=settings.qos, choice=choice)


def _homeassistant(settings: MqttSinkSettings, opening: SinkOpening) -> HomeAssistant:
    asked = HomeAssistantSettings() if isinstance(settings.homeassistant, bool) else settings.homeassistant
    plan, program = opening.plan, _program(settings, opening).name
    questions = {question.name for question in plan.questions}
    outputs = Outputs(plan.schema, [name for name in opening.told if name not in questions], plan.alarms, opening.iso)
    names = Names(opening.file.name, program, asked.commands or _commands(settings, opening.file, program))
    return HomeAssistant(asked, settings, outputs, names)


def _program(settings: MqttSinkSettings, opening: SinkOpening) -> ProgramSettings:
    """The program that the sink hears."""
    return next(one for one in opening.file.programs if settings.program in ("", one.name))


def _commands(settings: MqttSinkSettings, file: GatewaySettings, program: str) -> str:
    """The topic at which a source at the sink's broker takes actions; empty where there is none."""
    for source in file.source:
        if isinstance(source, MqttSourceSettings) and source.format == "actions" and source.url == settings.url:
            plain = [text for text in source.topics if not set(TopicPattern.parse(text).filter) & set("+#")]
            if source.program in ("", program) and plain:
                return plain[0]
    return ""


def _client(settings: BrokerEndSettings, place: Place) -> MqttClient:
    return MqttClient(settings, place.client(settings), str(place.folder))


def check_broker(settings: BrokerSettings, place: Place) -> None:
    """The password and the certificates with which one connects."""
    if settings.password is not None:
        settings.password.reveal(place.folder)
    if Broker.parse(settings.url).is_tls:
        tls_context(settings, str(place.folder))


async def reach_broker(settings: BrokerEndSettings, place: Place) -> str:
    """See whether the broker lets it in."""
    own = settings.client_id or place.client(settings)
    client = MqttClient(settings, f"{own}-check"[:65_535], str(place.folder), is_passing=True)
    await client.try_once()
    return f"the broker at {client.broker} lets it in"


SOURCE = SourceKind(
    interface=INTERFACE, settings=MqttSourceSettings, open=_open_source, check=check_broker, reach=reach_broker
)
SINK = SinkKind(interface=INTERFACE, settings=MqttSinkSettings, open=_open_sink, check=check_broker, reach=reach_broker)
