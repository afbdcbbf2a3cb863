"""Records of Kafka, and answers as records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import anyio
import anyio.to_thread

from tidelog.connectors.brokers.kafka.settings import ClusterSettings, config_of
from tidelog.connectors.mapping.settings import MapSettings, Scalar
from tidelog.connectors.mapping.templates import TopicTemplate
from tidelog.connectors.transport.bounds import Count
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening, SourceKind, SourceOpening
from tidelog.gateway.kinds.messages import topics
from tidelog.gateway.kinds.reaching import CONNECT_SECONDS
from tidelog.gateway.kinds.settings import PayloadFormat, SinkLimitSettings, Told
from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    from tidelog.connectors.brokers.kafka.sink import KafkaSink
    from tidelog.connectors.brokers.kafka.source import KafkaSource


class KafkaSourceSettings(ClusterSettings, frozen=True, kw_only=True, tag_field="type", tag="kafka"):
    """Records of topics: those told, or those of the maps."""

    name: str
    program: str = ""
    format: PayloadFormat = "json"
    map: tuple[MapSettings, ...] = ()
    by: str = ""
    topics: tuple[str, ...] = ()
    group: str = ""
    """Under which name the cluster is told how far it has come; the gateway's name and the source's, unless told."""
    start: Literal["earliest", "latest"] = "earliest"


class KafkaSinkSettings(ClusterSettings, frozen=True, kw_only=True, tag_field="type", tag="kafka"):
    """Answers as records of a topic."""

    name: str
    program: str = ""
    predicates: tuple[str, ...] = ()
    told: Told = "all"
    when: str = ""
    storm: Count | None = None
    limits: SinkLimitSettings = SinkLimitSettings()
    topic: str
    key: str = ""
    payload: str | dict[str, Scalar] | None = None


AnyKafka = KafkaSourceSettings | KafkaSinkSettings


def _open_source(settings: KafkaSourceSettings, opening: SourceOpening) -> KafkaSource:
    from tidelog.connectors.brokers.kafka.source import KafkaSource  # noqa: PLC0415 - only who has Kafka needs its library

    found = topics(settings)
    if wild := [topic for topic in found if set(topic) & set("+#/")]:
        raise SpecError(f"`{wild[0]}` is no topic of Kafka's: say which `topics` are read")
    config = _config(settings, opening.place)
    config["group.id"] = settings.group or opening.place.client(settings)
    return KafkaSource(settings.name, config, opening.mapper(settings), found, start=settings.start, by=settings.by)


def _open_sink(settings: KafkaSinkSettings, opening: SinkOpening) -> KafkaSink:
    from tidelog.connectors.brokers.kafka.sink import KafkaSink  # noqa: PLC0415 - only who has Kafka needs its library

    def template(text: str) -> TopicTemplate:
        return TopicTemplate(text, opening.plan.schema, iso=opening.iso, outputs=opening.told, about=opening.about())

    return KafkaSink(
        settings.name,
        _config(settings, opening.place),
        template(settings.topic),
        opening.template(settings.payload),
        key=template(settings.key) if settings.key else None,
        choice=opening.choice,
    )


def _config(settings: AnyKafka, place: Place) -> dict[str, Any]:
    return config_of(settings, place.client(settings), place.folder)


def _check(settings: AnyKafka, place: Place) -> None:
    """The password and the certificates with which one connects."""
    _config(settings, place)


async def _reach(settings: AnyKafka, place: Place) -> str:
    from confluent_kafka import KafkaException  # noqa: PLC0415 - only who has Kafka needs its library
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415 - likewise

    def ask() -> int:
        try:
            return len(AdminClient(_config(settings, place)).list_topics(timeout=CONNECT_SECONDS).brokers)
        except KafkaException as error:
            raise ConnectionError(f"the cluster at {settings.brokers} does not answer: {error.args[0].str()}") from None

    count = await anyio.to_thread.run_sync(ask)
    return f"the cluster at {settings.brokers} lets it in, with {count} broker{'' if count == 1 else 's'}"


_NEEDS = "tidelog[kafka]"
SOURCE = SourceKind(
    interface=INTERFACE, settings=KafkaSourceSettings, open=_open_source, needs=_NEEDS, check=_check, reach=_reach
)
SINK = SinkKind(interface=INTERFACE, settings=KafkaSinkSettings, open=_open_sink, needs=_NEEDS, check=_check, reach=_reach)
