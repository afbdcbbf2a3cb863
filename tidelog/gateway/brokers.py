"""What talks to a broker in its own way, by what the file says of it: sinks, and sources of Sparkplug."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tidelog import connectors  # loads what it needs once it is used
from tidelog.connectors.mapping.mapper import Mapper
from tidelog.connectors.mapping.templates import Template, TopicTemplate
from tidelog.connectors.mapping.topics import TopicPattern
from tidelog.connectors.mqtt.client import MqttClient
from tidelog.connectors.mqtt.homeassistant import HomeAssistant, HomeAssistantSettings, Names, Outputs
from tidelog.connectors.mqtt.retained.board import TopicPresenter
from tidelog.connectors.mqtt.retained.sink import RetainingSink
from tidelog.connectors.mqtt.sink import MqttSink
from tidelog.gateway.file.settings import (
    GatewaySettings,
    MqttSinkSettings,
    MqttSourceSettings,
    ProgramSettings,
    SparkplugSourceSettings,
)
from tidelog.gateway.telling import choice_of, told_to
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import Source

RETAINED = ".retained"
"""Within the folder of states: what brokers retain for sinks, a folder for each."""


def mqtt_sink(
    sink: MqttSinkSettings, plan: Plan, settings: GatewaySettings, folder: Path, program: ProgramSettings, *, iso: bool
) -> MqttSink | RetainingSink:
    """The sink; SpecError for settings that do not fit each other, or the program."""
    told, choice = told_to(sink, plan), choice_of(sink, plan)
    template = Template(plan.schema, sink.payload, iso=iso, outputs=told)
    client_id = f"{settings.name}-{sink.name}"
    if sink.homeassistant:
        if sink.topic or sink.payload is not None or sink.retain:
            raise SpecError("`homeassistant` says what is published where: leave `topic`, `payload` and `retain` away")
        path = _checked_folder(sink, settings, folder, program)
        asked = HomeAssistantSettings() if isinstance(sink.homeassistant, bool) else sink.homeassistant
        questions = {question.name for question in plan.questions}
        outputs = Outputs(plan.schema, [name for name in told if name not in questions], plan.alarms, iso)
        names = Names(settings.name, program.name, asked.commands or commands_of(sink, settings, program))
        shown = HomeAssistant(asked, sink, outputs, names)
        client = MqttClient(msgspec.structs.replace(sink, will=shown.will, birth=shown.birth), client_id, str(folder))
        return RetainingSink(sink.name, client, shown, template.lines, folder=path, qos=sink.qos or 1, choice=choice)
    if not sink.topic:
        raise SpecError("it says no `topic` to publish to")
    client = MqttClient(sink, client_id, str(folder))
    topic = TopicTemplate(sink.topic, plan.schema, iso=iso, outputs=told)
    if sink.retain == "while-holding":
        path = _checked_folder(sink, settings, folder, program)
        presenter = TopicPresenter(topic, template)
        return RetainingSink(sink.name, client, presenter, template.lines, folder=path, qos=sink.qos or 1, choice=choice)
    return MqttSink(sink.name, client, topic, template, qos=sink.qos, retain=sink.retain, choice=choice)


def sparkplug_source(
    source: SparkplugSourceSettings, mapper: Mapper, maps: Sequence[str], settings: GatewaySettings, folder: Path
) -> Source:
    """The source; SpecError where its extra is not installed, or a name has what none has."""
    try:
        kind = connectors.SparkplugSource
    except ModuleNotFoundError as error:
        raise SpecError(f"it needs `{error.name}`: install `tidelog[sparkplug]`") from None
    for key, name in [("host", source.host), *[("groups", group) for group in source.groups]]:
        if set(name) & set("/+#"):
            raise SpecError(f"`{key}`: `{name}` has a `/`, `+` or `#`, which no name has in Sparkplug")
    if source.host and (source.will or source.birth):
        raise SpecError("`host` says what edge nodes are told when it comes and goes: leave `will` and `birth` away")
    client = MqttClient(source, f"{settings.name}-{source.name}", str(folder))
    return kind(source.name, client, mapper, maps, groups=source.groups, host=source.host)


def _checked_folder(sink: MqttSinkSettings, settings: GatewaySettings, folder: Path, program: ProgramSettings) -> str:
    """Where it is kept what the broker retains; SpecError where that could stay retained for ever."""
    key = "homeassistant" if sink.homeassistant else 'retain = "while-holding"'
    if program.emit != "changes":
        raise SpecError(f"`{key}` needs to hear when something has ended: `emit` is `changes`, not `{program.emit}`")
    if not settings.state:
        raise SpecError(
            f'`{key}` takes away what has ended, also after a restart: say where that is kept, such as `state = "state"`'
        )
    if not sink.qos:
        raise SpecError(f"`{key}` needs a broker that says what it has taken: `qos` is 1 or 2")
    if sink.limits.waiting is not None:
        raise SpecError(f"`{key}` has to hear of each end: leave `limits.waiting` away")
    if settings.limits.when_full == "drop-oldest":
        raise SpecError(f"`{key}` has to hear of each end: `limits.when_full` is `block` or `stop`, not `drop-oldest`")
    return str(folder / settings.state / RETAINED / sink.name)


def commands_of(sink: MqttSinkSettings, settings: GatewaySettings, program: ProgramSettings) -> str:
    """The topic at which a source at the sink's broker takes actions; empty where there is none."""
    for source in settings.source:
        if isinstance(source, MqttSourceSettings) and source.format == "actions" and source.url == sink.url:
            plain = [text for text in source.topics if not set(TopicPattern.parse(text).filter) & set("+#")]
            if source.program in ("", program.name) and plain:
                return plain[0]
    return ""
