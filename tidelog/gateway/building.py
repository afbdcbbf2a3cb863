"""From a gateway's settings to what runs: plans, sources, sinks. Nothing is opened yet; every mistake names its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tidelog.compiling import compile_path
from tidelog.connectors.http.settings import HttpSettings
from tidelog.connectors.mapping.mapper import Mapper
from tidelog.connectors.outbox.spec import OutboxSpec, is_outbox
from tidelog.connectors.sinks.choosing import Choice
from tidelog.connectors.transport.addresses import parse_host_port
from tidelog.connectors.transport.credentials import check_token, load_certificate
from tidelog.gateway.file.settings import GatewaySettings, HttpFileSettings, LogSettings, ProgramSettings
from tidelog.gateway.kinds.kind import Place, SinkOpening, SourceOpening
from tidelog.gateway.kinds.messages import mapper, topics
from tidelog.gateway.kinds.own.spec import SpecSinkSettings
from tidelog.gateway.kinds.settings import EndSettings, Limited, TakesMessages
from tidelog.gateway.kinds.table import sink_kind_of, source_kind_of
from tidelog.gateway.outboxes import read_outbox
from tidelog.gateway.telling import choice_of, heard_by, sinks_of, storms_of, told_to
from tidelog.gateway.users import users_of
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.actors.clock import read_max_ahead
from tidelog.runtime.ports.actors import read_actors
from tidelog.runtime.ports.durability import SinkLimits
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
    limits: dict[str, SinkLimits] = field(default_factory=dict)
    """What sinks are spared, by their names in the file."""
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
            if isinstance(source, TakesMessages) and source.format == "actions" and program.clock is None:
                raise SpecError("actions need a program with `clock`: without one, time would wait for what people do")
            unit.sources[source.name] = _source(source, plan, settings, folder)
    for sink in sinks:
        with _told(f"sink `{sink.name}`"):
            if isinstance(sink, SpecSinkSettings) and is_outbox(sink.spec):
                unit.outboxes[sink.name] = read_outbox(sink, plan, settings, folder)
            else:
                unit.sinks[sink.name] = _sink(sink, plan, settings, folder, program.name)
            unit.choices[sink.name] = choice_of(sink, plan)
            if isinstance(sink, Limited):
                unit.limits[sink.name] = _limits(sink, settings)
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


def filled_with_changes(unit: Unit) -> Iterator[str]:
    """Outboxes that `tidelog ingest` refuses: `emit` has such a default that nobody sees it in the file."""
    if unit.settings.emit != "changes":
        return
    if unit.plan.alarms:
        way = "a program with alarms tells no others: let another one in `[[programs]]`, without alarms, fill it"
    else:
        way = 'say `emit = "intervals"` of the program where tables are to be made of it'
    for name in unit.outboxes:
        told = f"the program `{unit.settings.name}` fills the outbox with changes (`emit`)"
        yield f"sink `{name}`: {told}, which `tidelog ingest` and `spark run --in outbox:` refuse: {way}"


def build_mappers(settings: GatewaySettings, folder: Path) -> Iterator[tuple[str, Plan, Mapper, Sequence[str]]]:
    """What makes facts of messages, for each source that has messages: its name, its plan, and the topics that it reads."""
    for program in settings.programs:
        plan = compile_program(program, settings, folder)
        for source in settings.source:
            if source.program in ("", program.name) and isinstance(source, TakesMessages):
                with _told(f"source `{source.name}`"):
                    yield source.name, plan, mapper(source, plan), topics(source)


@contextmanager
def _told(where: str) -> Iterator[None]:
    """Name the table in the messages of what is wrong with it."""
    try:
        yield
    except SpecError as error:
        raise SpecError(f"{where}: {error}") from None


def _source(source: EndSettings, plan: Plan, settings: GatewaySettings, folder: Path) -> Source | Listener:
    kind = source_kind_of(source)
    with _extra(kind.needs):
        return kind.open(source, SourceOpening(Place(settings.name, folder), plan, settings))


def _sink(sink: EndSettings, plan: Plan, settings: GatewaySettings, folder: Path, program: str) -> Sink:
    kind = sink_kind_of(sink)
    iso = settings.iso and plan.timeline.unit is not None
    place, told, choice = Place(settings.name, folder), told_to(sink, plan), choice_of(sink, plan)
    with _extra(kind.needs):
        return kind.open(sink, SinkOpening(place, plan, settings, told, choice, iso, program))


def _limits(sink: Limited, settings: GatewaySettings) -> SinkLimits:
    """What a sink is spared; SpecError where nothing is kept that could wait."""
    if sink.limits.waiting is not None and not settings.state:
        raise SpecError("`limits.waiting` is for a gateway with `state`: without one, sources wait for each sink")
    return SinkLimits(sink.limits.waiting, sink.limits.rate)


@contextmanager
def _extra(needs: str) -> Iterator[None]:
    """SpecError, with what to install, where a module is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if not needs:
            raise
        raise SpecError(f"it needs `{error.name}`: install `{needs}`") from None


def http_settings(http: HttpFileSettings, folder: Path) -> HttpSettings:
    """How HTTP is served; SpecError where that cannot be, or would not be safe."""
    with _told("`[http]`"):
        if bool(http.certificate) != bool(http.key):
            raise SpecError("`certificate` and `key` belong together")
        return HttpSettings(
            parse_host_port(http.listen),
            token=None if http.token is None else check_token(http.token.reveal(folder)),
            users=users_of(http, folder),
            tls=load_certificate(str(folder / http.certificate), str(folder / http.key)) if http.certificate else None,
            hosts=http.hosts,
            max_body=http.max_body,
            max_clients=http.max_clients,
            max_listeners=http.max_listeners,
        )
