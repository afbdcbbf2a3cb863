"""Home Assistant: outputs appear there by themselves, by its MQTT discovery.

An answer is a binary sensor, with its arguments and its times as attributes. An output of which the settings say which
argument is its value is a sensor instead, one for each combination of the other arguments. An alarm has buttons beside it,
whose messages are actions. What Home Assistant has to know is retained at the broker; an output that the program has no more
is taken away.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import msgspec

from tidelog.connectors.brokers.mqtt.retained.board import Message, change_of
from tidelog.connectors.brokers.mqtt.retained.store import Held
from tidelog.connectors.brokers.mqtt.settings import BrokerSettings, WillSettings
from tidelog.connectors.formats.json.names import names_of
from tidelog.connectors.mapping.templates import AnswerValues
from tidelog.connectors.transport.bounds import Count
from tidelog.plans.alarms.desk import alarm_text
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Row, Schema
from tidelog.plans.data.timeline import NEG
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.tree.declared.alarms import Alarm
from tidelog.plans.tree.declared.storms import COUNT, COUNTED
from tidelog.version import VERSION

ON, OFF, NONE = b"ON", b"OFF", b"None"
"""What a binary sensor is sent, and a sensor that has no value."""
THERE, GONE = "online", "offline"
"""What is sent of the gateway itself."""
_UNFIT: Final = re.compile(r"[^a-zA-Z0-9_-]")
"""What no id of Home Assistant's has."""
_DIGITS = 8
"""How many characters of a digest tell two names apart that look the same as ids."""
_NO_LEVEL = re.compile(r"[+#\x00]")
_encode = msgspec.json.Encoder().encode


class HomeAssistantSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How a sink shows itself to Home Assistant."""

    prefix: str = "homeassistant"
    """Where Home Assistant looks for what there is: its `discovery_prefix`."""
    topic: str = ""
    """Where states go; `tidelog/` and the gateway's name, unless told."""
    entities: Count = 1000
    """How many things are kept there that do not hold; those that have not held for longest go."""
    commands: str = ""
    """The topic of the buttons' messages; that of the source of actions at the same broker, unless told."""
    shelve: str = "1 h"
    """For how long the button shelves."""
    who: str = "Home Assistant"
    """Who acts by the buttons, as the history says."""
    values: dict[str, str] = {}
    """The argument that is the value, of outputs that are sensors."""
    units: dict[str, str] = {}
    """The units of values, by outputs."""
    classes: dict[str, str] = {}
    """The device classes, by outputs; `problem` for alarms, unless told."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a sink is told: the names of the outputs, and which of them are alarms. `iso` is how times are written."""

    schema: Schema
    told: Sequence[str]
    alarms: Sequence[Alarm]
    iso: bool


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the gateway and the program; `commands` is where buttons publish, empty where nobody takes actions."""

    gateway: str
    program: str
    commands: str


class HomeAssistant:
    """Shows outputs of a program as entities of one device. SpecError for settings that do not fit the program."""

    def __init__(self, settings: HomeAssistantSettings, broker: BrokerSettings, outputs: Outputs, names: Names) -> None:
        self._settings, self._schema, self._told = settings, outputs.schema, list(outputs.told)
        self._gateway, self._program, self.commands = names.gateway, names.program, names.commands
        self._base = settings.topic or f"tidelog/{names.gateway}"
        for topic in (settings.prefix, self._base, self.commands):
            if _NO_LEVEL.search(topic):
                raise SpecError(f"`homeassistant`: `{topic}` is no topic to publish to: it has no `+` and no `#`")
        self._alarms = {alarm.name: alarm for alarm in outputs.alarms}
        self._named = names_of(outputs.schema)
        self._times = AnswerValues(outputs.schema, ["begins", "ends"], iso=outputs.iso)
        self._values = {output: self._value_of(output, name) for output, name in self._value_names().items()}
        for table in (settings.units, settings.classes):
            for output in table:
                self._check_output(output)
        self._shelve_ticks = self._shelf_ticks()
        self.will, self.birth = self._presence(broker)

    @property
    def most(self) -> int:
        """How many entities are kept that do not hold."""
        return self._settings.entities

    # --- settings -------------------------------------------------------------------------------------------------------

    def _shelf_ticks(self) -> Fraction:
        """How long the button shelves at the most."""
        if not any(alarm.declared.longest for alarm in self._alarms.values()):
            return Fraction(0)
        try:
            return Fraction(TimeReader(self._schema.timeline).length(self._settings.shelve))
        except DataError as error:
            raise SpecError(f"`homeassistant.shelve`: {error}") from None

    def _check_output(self, output: str) -> None:
        if output not in self._told:
            raise SpecError(f"`homeassistant`: the sink is not told of `{output}`{suggest(output, self._told)}")

    def _value_names(self) -> Mapping[str, str]:
        own = {COUNT: COUNTED} if COUNT in self._told else {}
        return {**own, **self._settings.values}

    def _value_of(self, output: str, name: str) -> int:
        """The place of the argument that is the value."""
        self._check_output(output)
        names = self._names(output)
        if name not in names:
            raise SpecError(f"`homeassistant.values`: `{output}` has no argument `{name}`: it has {', '.join(names)}")
        return names.index(name)

    def _names(self, output: str) -> tuple[str, ...]:
        known = self._schema.predicates[output]
        return known.fields or tuple(f"arg{number}" for number in range(1, known.arity + 1))

    def _presence(self, broker: BrokerSettings) -> tuple[WillSettings, WillSettings]:
        """What the broker is told when the gateway goes, and comes: as the file says, or by a topic of this device."""
        will, birth = broker.will, broker.birth
        if will is None and birth is None:
            topic = f"{self._base}/status"
            return WillSettings(topic, GONE), WillSettings(topic, THERE)
        if will is None or birth is None or will.topic != birth.topic or will.payload == birth.payload:
            raise SpecError("`homeassistant` needs `will` and `birth` of one topic, with two payloads, or neither of them")
        return will, birth

    # --- places ---------------------------------------------------------------------------------------------------------

    def place(self, change: ChangeRecord) -> str:
        """The id of its entity. LookupError where the sink is not told of it."""
        if change.predicate not in self._told:
            raise LookupError(change.predicate)
        row = self._place_row(change.predicate, change.row)
        found = _UNFIT.sub("_", "_".join([change.predicate, *[_text(value) for value in row]]))
        if not row and found == change.predicate:
            return found
        digest = hashlib.blake2b(_encode([change.predicate, row]), digest_size=_DIGITS // 2).hexdigest()
        return f"{found}_{digest}"

    def _place_row(self, predicate: str, row: Row) -> Row:
        at = self._values.get(predicate)
        return row if at is None else (*row[:at], *row[at + 1 :])

    def standing(self) -> list[Held]:
        """Outputs without arguments are there from the begin on."""
        return [
            Held(output, (), NEG, NEG, 0)
            for output in self._told
            if output in self._schema.predicates and not self._schema.predicates[output].arity
        ]

    # --- messages -------------------------------------------------------------------------------------------------------

    def shown(self, place: str, held: Held) -> list[Message]:
        """State and attributes of an entity."""
        at = self._values.get(held.predicate)
        if at is not None:
            state = NONE if held.hi is not None else _text(self._arguments(held)[self._names(held.predicate)[at]]).encode()
        else:
            state = OFF if held.hi is not None else ON
        base = f"{self._base}/{place}"
        return [(f"{base}/attributes", _encode(self._attributes(held))), (f"{base}/state", state)]

    def _arguments(self, held: Held) -> dict[str, Any]:
        named = self._named.get(held.predicate)
        row = held.row if named is None else named.values(held.row)
        return dict(zip(self._names(held.predicate), row, strict=True))

    def _attributes(self, held: Held) -> dict[str, Any]:
        times: Mapping[str, Any] = {} if held.lo <= NEG else self._times.of(change_of(held))
        found: dict[str, Any] = {"output": held.predicate, "args": self._arguments(held)}
        found |= {"since": times.get("begins"), "until": times.get("ends"), "reason": self._reason(held)}
        alarm = self._alarms.get(held.predicate)
        return found if alarm is None else {**found, "severity": alarm.declared.priority}

    def _reason(self, held: Held) -> str:
        alarm = self._alarms.get(held.predicate)
        if alarm is not None:
            return alarm_text(alarm, held.row)
        return " ".join([held.predicate.replace("_", " "), *[_text(value) for value in held.row]])

    def introduced(self, place: str, held: Held) -> list[Message]:
        """What Home Assistant has to know of an entity, and of its buttons."""
        component = "binary_sensor" if held.predicate not in self._values else "sensor"
        found = [self._config(component, place, self._entity(place, held))]
        alarm = self._alarms.get(held.predicate)
        if alarm is None or not self.commands:
            return found
        target = {"alarm": held.predicate, "args": list(held.row), "who": self._settings.who}
        found.append(self._button(place, held, "acknowledge", target))
        if alarm.declared.longest is not None:
            found.append(self._button(place, held, "shelve", {**target, "for": self._shelf(held.predicate)}))
        return found

    def _shelf(self, alarm: str) -> str:
        """For how long the button shelves it: as told, or as long as may be."""
        known = self._schema.alarms[alarm]
        is_longer = self._shelve_ticks > (known.longest or 0)
        return known.shelf if is_longer else self._settings.shelve

    def _entity(self, place: str, held: Held) -> dict[str, Any]:
        base = f"{self._base}/{place}"
        row = self._place_row(held.predicate, held.row)
        entity: dict[str, Any] = {
            "name": " ".join([held.predicate.replace("_", " "), *[_text(value) for value in row]]),
            "state_topic": f"{base}/state",
            "json_attributes_topic": f"{base}/attributes",
        }
        output = held.predicate
        if output in self._settings.units:
            entity["unit_of_measurement"] = self._settings.units[output]
        kind = self._settings.classes.get(output, "problem" if output in self._alarms else "")
        if kind and (output not in self._values or output in self._settings.classes):
            entity["device_class"] = kind
        return entity

    def _button(self, place: str, held: Held, action: str, target: Mapping[str, Any]) -> Message:
        entity = {
            "name": " ".join([action, held.predicate.replace("_", " "), *[_text(value) for value in held.row]]),
            "command_topic": self.commands,
            "payload_press": _encode({action: target}).decode(),
            "retain": False,
        }
        return self._config("button", f"{place}_{action}", entity)

    def _config(self, component: str, place: str, entity: Mapping[str, Any]) -> Message:
        topic = f"{self._settings.prefix}/{component}/{self._node}/{place}/config"
        presence = {
            "availability_topic": self.will.topic,
            "payload_available": self.birth.payload,
            "payload_not_available": self.will.payload,
        }
        config = {**entity, "unique_id": f"{self._node}_{place}", "qos": 1, **presence, **self._about}
        return topic, _encode(config)

    @cached_property
    def _node(self) -> str:
        return _UNFIT.sub("_", f"tidelog_{self._gateway}_{self._program}")

    @cached_property
    def _about(self) -> dict[str, Any]:
        device = {
            "identifiers": [self._node],
            "name": self._gateway if self._gateway == self._program else f"{self._gateway} {self._program}",
            "manufacturer": "tidelog",
            "model": self._program,
            "sw_version": VERSION,
        }
        return {"device": device, "origin": {"name": "tidelog", "sw_version": VERSION}}


def _text(value: object) -> str:
    if value is True or value is False:
        return "true" if value else "false"
    return str(value)
