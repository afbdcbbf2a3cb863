"""Messages of NATS JetStream, and answers as messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from tidelog.connectors.brokers.nats.settings import ServerSettings, options_of
from tidelog.connectors.brokers.nats.subjects import SubjectTemplate, checked, subject_of
from tidelog.connectors.mapping.settings import MapSettings, Scalar
from tidelog.connectors.transport.bounds import Count
from tidelog.connectors.transport.loop import LoopThread
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening, SourceKind, SourceOpening
from tidelog.gateway.kinds.settings import PayloadFormat, SinkLimitSettings, Told
from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    from tidelog.connectors.brokers.nats.sink import NatsSink
    from tidelog.connectors.brokers.nats.source import NatsSource

_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")


class NatsSourceSettings(ServerSettings, frozen=True, kw_only=True, tag_field="type", tag="nats"):
    """Messages of a subject: the one told, or that of the maps."""

    name: str
    program: str = ""
    format: PayloadFormat = "json"
    map: tuple[MapSettings, ...] = ()
    by: str = ""
    subject: str = ""
    stream: str = ""
    """The one that has the subject, unless told."""
    consumer: str = ""
    """Under which name the server keeps how far it has come; the gateway's name and the source's, unless told."""
    start: Literal["earliest", "latest"] = "earliest"


class NatsSinkSettings(ServerSettings, frozen=True, kw_only=True, tag_field="type", tag="nats"):
    """Answers as messages of a subject."""

    name: str
    program: str = ""
    predicates: tuple[str, ...] = ()
    told: Told = "all"
    when: str = ""
    storm: Count | None = None
    limits: SinkLimitSettings = SinkLimitSettings()
    subject: str
    payload: str | dict[str, Scalar] | None = None


AnyNats = NatsSourceSettings | NatsSinkSettings


def _open_source(settings: NatsSourceSettings, opening: SourceOpening) -> NatsSource:
    from tidelog.connectors.brokers.nats.consumer import Place as Read  # noqa: PLC0415 - only who has NATS needs its library
    from tidelog.connectors.brokers.nats.source import NatsSource  # noqa: PLC0415 - likewise

    name = opening.place.client(settings)
    consumer = settings.consumer or _NO_NAME.sub("_", name)
    for key, text in (("consumer", consumer), ("stream", settings.stream)):
        if _NO_NAME.search(text):
            raise SpecError(f"`{key}` is a name of letters, digits, `_` and `-`, got `{text}`")
    read = Read(settings.stream, _subject(settings), consumer, settings.start)
    options = options_of(settings, opening.place.folder)
    return NatsSource(settings.name, options, opening.mapper(settings), read, client=name)


def _subject(settings: NatsSourceSettings) -> str:
    """What is read; SpecError where that is not one subject."""
    if settings.subject:
        return checked(settings.subject)
    found = sorted({subject_of(one.topic) for one in settings.map})
    if len(found) != 1:
        several = f", and its maps have {len(found)}" if found else ""
        raise SpecError(f"it says no `subject`{several}: a source reads one, such as `plant.>`")
    return found[0]


def _open_sink(settings: NatsSinkSettings, opening: SinkOpening) -> NatsSink:
    from tidelog.connectors.brokers.nats.sink import NatsSink  # noqa: PLC0415 - only who has NATS needs its library

    about = opening.about()
    return NatsSink(
        settings.name,
        options_of(settings, opening.place.folder),
        SubjectTemplate(settings.subject, opening.plan.schema, iso=opening.iso, outputs=opening.told, about=about),
        opening.template(settings.payload),
        client=opening.place.client(settings),
        choice=opening.choice,
    )


def _check(settings: AnyNats, place: Place) -> None:
    """The password and the certificates with which one connects."""
    options_of(settings, place.folder)


async def _reach(settings: AnyNats, place: Place) -> str:
    from tidelog.connectors.brokers.nats.trying import try_server  # noqa: PLC0415 - only who has NATS needs its library

    thread = LoopThread("nats check")
    thread.start()
    try:
        read = (settings.stream, _subject(settings)) if isinstance(settings, NatsSourceSettings) else None
        return await thread.run(try_server(options_of(settings, place.folder), place.client(settings), read))
    finally:
        thread.stop()


_NEEDS = "tidelog[nats]"
SOURCE = SourceKind(
    interface=INTERFACE, settings=NatsSourceSettings, open=_open_source, needs=_NEEDS, check=_check, reach=_reach
)
SINK = SinkKind(interface=INTERFACE, settings=NatsSinkSettings, open=_open_sink, needs=_NEEDS, check=_check, reach=_reach)
