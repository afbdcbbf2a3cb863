"""From a gateway's settings to what runs: plans, sources, sinks. Nothing is opened yet; every mistake names its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from tidelog import connectors  # loads what it needs once it is used
from tidelog.compiling import compile_path
from tidelog.connectors import http as over_http  # loads what it needs once it is used
from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.http.settings import HttpSettings, UserSettings
from tidelog.connectors.mapping.actions import ActionMapper
from tidelog.connectors.mapping.mapper import LineMapper, MapMapper, Mapper
from tidelog.connectors.mapping.templates import Template, TemplateEncoder, TopicTemplate
from tidelog.connectors.mapping.topics import TopicPattern
from tidelog.connectors.mqtt.client import FIRST_PAUSE, MqttClient
from tidelog.connectors.mqtt.sink import MqttSink
from tidelog.connectors.mqtt.source import MqttSource
from tidelog.connectors.opening import open_sink, open_source
from tidelog.connectors.outbox.spec import OutboxSpec, is_outbox
from tidelog.connectors.sinks.choosing import Choice
from tidelog.connectors.sources.polled import Polled, PolledSource
from tidelog.connectors.sources.replay import ReplaySource
from tidelog.connectors.spec import parse_spec
from tidelog.connectors.transport.acceptor import ClientLimits
from tidelog.connectors.transport.addresses import parse_host_port
from tidelog.connectors.transport.credentials import check_token, load_certificate
from tidelog.gateway.file.settings import (
    AnySink,
    AnySource,
    GatewaySettings,
    HttpFileSettings,
    HttpSourceSettings,
    LogSettings,
    MessageSource,
    ModbusSourceSettings,
    MqttSinkSettings,
    MqttSourceSettings,
    OpcUaSourceSettings,
    ProgramSettings,
    ReplaySourceSettings,
    SpecSinkSettings,
    WebhookSinkSettings,
)
from tidelog.gateway.outboxes import read_outbox
from tidelog.gateway.telling import choice_of, heard_by, sinks_of, storms_of, told_to
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.actors.clock import read_max_ahead
from tidelog.runtime.ports.actors import read_actors
from tidelog.runtime.ports.interfaces import Listener, Sink, Source


@dataclass(slots=True)
class Unit:
    """One program, ready to be run, with its ends by their names in the file."""

    settings: ProgramSettings
    plan: Plan
    sources: dict[str, Source | Listener] = field(default_factory=dict)
    sinks: dict[str, Sink] = field(default_factory=dict)
    choices: dict[str, Choice] = field(default_factory=dict)
    """What each sink is told."""
    outboxes: dict[str, OutboxSpec] = field(default_factory=dict)
    """Sinks that one process has open at a time, so that they are opened when the program starts."""
    origin: tuple[object, ...] = ()
    """What it was built of: two units with the same origin do the same."""


def build(settings: GatewaySettings, folder: Path) -> list[Unit]:
    """A unit for each program of the file in `folder`, where relative paths start.

    ProgramError where a program is wrong; SpecError, with the table's name, for ends that cannot be.
    """
    return [make_unit(one, compile_program(one, settings, folder), settings, folder) for one in settings.programs]


def make_unit(program: ProgramSettings, plan: Plan, settings: GatewaySettings, folder: Path) -> Unit:
    """The unit of one program; SpecError as for `build`."""
    plan = heard_by(sinks_of(program, settings), plan)
    sources = [one for one in settings.source if one.program in ("", program.name)]
    sinks = sinks_of(program, settings)
    shared = msgspec.structs.replace(settings, programs=(), source=(), sink=(), log=LogSettings())
    unit = Unit(program, plan, origin=(program, plan.program.text, plan.facts, sources, sinks, shared))
    for source in sources:
        with _told(f"source `{source.name}`"):
            if isinstance(source, MessageSource) and source.format == "actions" and program.clock is None:
                raise SpecError("actions need a program with `clock`: without one, time would wait for what people do")
            unit.sources[source.name] = _source(source, plan, settings, folder)
    for sink in sinks:
        with _told(f"sink `{sink.name}`"):
            if isinstance(sink, SpecSinkSettings) and is_outbox(sink.spec):
                unit.outboxes[sink.name] = read_outbox(sink, plan, settings, folder)
            else:
                unit.sinks[sink.name] = _sink(sink, plan, settings, folder)
            unit.choices[sink.name] = choice_of(sink, plan)
    return unit


def compile_program(program: ProgramSettings, settings: GatewaySettings, folder: Path) -> Plan:
    """The plan of a program; SpecError where it cannot be read, or its times are none."""
    path = folder / program.program
    try:
        plan = compile_path(path, desk=True, storms=storms_of(sinks_of(program, settings)))
    except OSError as error:
        raise SpecError(f"cannot read the program `{path}`: {error.strerror}") from None
    times = TimeReader(plan.timeline)
    for name in ("lateness", "clock", "max_ahead"):
        value = getattr(program, name)
        value = read_max_ahead(value) if name == "max_ahead" else value
        if value is not None:
            try:
                times.duration(value)
            except DataError as error:
                raise SpecError(f"`{name}`: {error}") from None
    if plan.alarms and program.emit != "changes":
        raise SpecError(f"`emit`: a program with alarms tells begins and ends: `changes`, not `{program.emit}`")
    read_actors(program.actors, program.workers)
    if program.clock is not None and plan.timeline.unit is None:
        raise SpecError("`clock` needs a program with a unit, such as `timeline integer, unit 1 s`")
    return plan


def build_mappers(settings: GatewaySettings, folder: Path) -> Iterator[tuple[str, Plan, Mapper, Sequence[str]]]:
    """What makes facts of messages, for each source that has messages: its name, its plan, and the topics that it reads."""
    for program in settings.programs:
        plan = compile_program(program, settings, folder)
        for source in settings.source:
            if source.program in ("", program.name) and isinstance(source, MessageSource):
                with _told(f"source `{source.name}`"):
                    yield source.name, plan, mapper(source, plan), topics(source)


@contextmanager
def _told(where: str) -> Iterator[None]:
    """Name the table in the messages of what is wrong with it."""
    try:
        yield
    except SpecError as error:
        raise SpecError(f"{where}: {error}") from None


# --- sources ------------------------------------------------------------------------------------------------------------


def _source(source: AnySource, plan: Plan, settings: GatewaySettings, folder: Path) -> Source | Listener:
    if isinstance(source, MqttSourceSettings):
        return MqttSource(
            source.name,
            MqttClient(source, f"{settings.name}-{source.name}", str(folder)),
            mapper(source, plan),
            topics(source),
            qos=source.qos,
            takes_retained=source.retained == "take",
        )
    if isinstance(source, ReplaySourceSettings):
        return ReplaySource(source.name, folder / source.file, mapper(source, plan), loop=source.loop, speed=source.speed)
    if isinstance(source, HttpSourceSettings):
        return _devices(source, plan, settings, folder)
    if isinstance(source, ModbusSourceSettings | OpcUaSourceSettings):
        return PolledSource(source.name, _polled(source, folder), mapper(source, plan), every=source.every)
    spec = parse_spec(source.spec, allow_remote=True)
    limits = ClientLimits(settings.limits.clients)
    return open_source(_from(folder, source.spec, spec.path), plan.schema, max_line=settings.limits.line, clients=limits)


def _devices(source: HttpSourceSettings, plan: Plan, settings: GatewaySettings, folder: Path) -> over_http.Devices:
    if settings.http is None:
        raise SpecError("devices post to the server of `[http]`, which this file does not have: add it")
    path = source.path or f"/{source.name}"
    others = [one for one in settings.source if isinstance(one, HttpSourceSettings) and one is not source]
    same = next((one.name for one in others if (one.path or f"/{one.name}") == path), None)
    if same is not None:
        raise SpecError(f"source `{same}` has the same path `{path}`")
    token = None if source.token is None else check_token(source.token.reveal(folder))
    return over_http.Devices(source.name, path, mapper(source, plan), token=token)


def _polled(source: ModbusSourceSettings | OpcUaSourceSettings, folder: Path) -> Polled:
    """What is asked; SpecError where the extra that it needs is not installed."""
    try:
        if isinstance(source, ModbusSourceSettings):
            return connectors.ModbusDevice(source.host, source.port, source.register)
        kind = connectors.OpcUaServer
    except ModuleNotFoundError as error:
        raise SpecError(f"it needs `{error.name}`: install `tidelog[{source.__struct_config__.tag}]`") from None
    return kind(
        source.url,
        source.node,
        user=source.user,
        password=source.password,
        security=source.security,
        folder=str(folder),
    )


def mapper(source: MessageSource, plan: Plan) -> Mapper:
    """What makes facts of a source's messages."""
    if source.format == "actions":
        if source.map or source.by:
            raise SpecError('`map` and `by` take payloads apart, and `format = "actions"` says what they are')
        return ActionMapper(source.name, plan.schema, str(source.__struct_config__.tag))
    if source.format in ("facts", "jsonl"):
        if source.map:
            raise SpecError(f'`map` takes payloads apart, and `format = "{source.format}"` says that they are facts already')
        return LineMapper(make_decoder(source.format, plan.schema.without_actions(), source.name, None))
    if not source.map:
        raise SpecError('it says nothing of how messages become facts: give a `[[source.map]]`, or `format = "jsonl"`')
    kind: Literal["text", "json"] = "text" if source.format == "text" else "json"
    return MapMapper(source.name, plan.schema.without_actions(), source.map, format=kind, by=source.by)


def topics(source: MessageSource) -> list[str]:
    """The topics that are subscribed to: those told, or those of the maps."""
    told = source.topics if isinstance(source, MqttSourceSettings) else []
    found = [TopicPattern.parse(text).filter for text in told or [one.topic for one in source.map]]
    if not found:
        raise SpecError("it says no `topics`, and has no maps that do")
    return found


# --- sinks --------------------------------------------------------------------------------------------------------------


def _sink(sink: AnySink, plan: Plan, settings: GatewaySettings, folder: Path) -> Sink:
    iso = settings.iso and plan.timeline.unit is not None
    if isinstance(sink, MqttSinkSettings):
        told = told_to(sink, plan)
        return MqttSink(
            sink.name,
            MqttClient(sink, f"{settings.name}-{sink.name}", str(folder)),
            TopicTemplate(sink.topic, plan.schema, iso=iso, outputs=told),
            Template(plan.schema, sink.payload, iso=iso, outputs=told),
            qos=sink.qos,
            retain=sink.retain,
            choice=choice_of(sink, plan),
        )
    if isinstance(sink, WebhookSinkSettings):
        return _webhook(sink, plan, folder, iso=iso)
    spec = parse_spec(sink.spec, allow_remote=True)
    clients = ClientLimits(settings.limits.clients)
    path = _from(folder, sink.spec, spec.path)
    return open_sink(path, plan.schema, iso=iso, clients=clients, outputs=plan.told, keeps_file=True)


def _webhook(sink: WebhookSinkSettings, plan: Plan, folder: Path, *, iso: bool) -> over_http.WebhookSink:
    told = told_to(sink, plan)
    endpoint = over_http.Endpoint(
        sink.url,
        secret=None if sink.secret is None else sink.secret.reveal(folder),
        headers={name: text if isinstance(text, str) else text.reveal(folder) for name, text in sink.headers.items()},
        retries=over_http.Retries(first=min(FIRST_PAUSE, sink.retry_longest), longest=sink.retry_longest),
        timeout=sink.timeout,
    )
    return over_http.WebhookSink(
        endpoint,
        plan.schema,
        name=sink.name,
        encoder=TemplateEncoder(Template(plan.schema, sink.payload, iso=iso, outputs=told)),
        choice=choice_of(sink, plan),
    )


def http_settings(http: HttpFileSettings, folder: Path) -> HttpSettings:
    """How HTTP is served; SpecError where that cannot be, or would not be safe."""
    with _told("`[http]`"):
        if bool(http.certificate) != bool(http.key):
            raise SpecError("`certificate` and `key` belong together")
        return HttpSettings(
            parse_host_port(http.listen),
            token=None if http.token is None else check_token(http.token.reveal(folder)),
            users=_users(http, folder),
            tls=load_certificate(str(folder / http.certificate), str(folder / http.key)) if http.certificate else None,
            hosts=http.hosts,
            max_body=http.max_body,
            max_clients=http.max_clients,
            max_listeners=http.max_listeners,
        )


def _users(http: HttpFileSettings, folder: Path) -> tuple[UserSettings, ...]:
    users = tuple(UserSettings(user.name, user.role, check_token(user.token.reveal(folder))) for user in http.user)
    tokens = [user.token for user in users] + ([] if http.token is None else [http.token.reveal(folder)])
    if len({user.name for user in users}) < len(users) or not all(user.name.strip() for user in users):
        raise SpecError("each `user` needs a name of his own")
    if len({*tokens}) < len(tokens):
        raise SpecError("two users have the same token: nobody could tell them apart")
    return users


def _from(folder: Path, spec: str, path: str) -> str:
    """The SPEC with its relative path beginning at the file's folder."""
    if not path or Path(path).is_absolute():
        return spec
    at = spec.index(path)
    return spec[:at] + str(folder / path) + spec[at + len(path) :]
