"""Edge nodes and their devices, as a host application knows them: who is born and who has died, and what their metrics are.

An edge node tells its metrics when it is born, and names them by numbers (aliases) afterwards. Its messages are numbered, so
that one that is missing is noticed. Whoever has not heard a birth, or has missed something, asks the edge node to be born
again. What became of that is told as messages for maps:

    node/GROUP/EDGE/METRIC, device/GROUP/EDGE/DEVICE/METRIC   {"value": 21.5, "type": "Float", "time": 1764000000000}
    alive/GROUP/EDGE, alive/GROUP/EDGE/DEVICE                 {"alive": false, "time": 1764000000000, "why": "death"}

Times are milliseconds since 1970. A value from an edge node's store has `"historical": true`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from tidelog.connectors.field.sparkplug.payload import Payload, decode
from tidelog.connectors.field.sparkplug.values import PLAIN, properties, type_name, value_of
from tidelog.connectors.formats.lines import RAW_LIMIT
from tidelog.connectors.mapping.messages import Message
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.ports.interfaces import Rejected

logger = logging.getLogger("tidelog")

NAMESPACE: Final = "spBv1.0"
REBIRTH: Final = "Node Control/Rebirth"
_BD_SEQ: Final = "bdSeq"
_BOOLEAN: Final = 11
_NUMBERS: Final = 256
ASK_SECONDS: Final = 5.0
"""An edge node is asked for a birth once in so many seconds."""
MOST_NODES: Final = 10_000
"""How many edge nodes are known at most."""
MOST_METRICS: Final = 100_000
"""How many metrics an edge node may have, with its devices."""

Name = tuple[str, str]
"""A group, and an edge node of it."""
_encode = msgspec.json.Encoder().encode
_NODE_KINDS, _DEVICE_KINDS = ("NBIRTH", "NDATA", "NDEATH"), ("DBIRTH", "DDATA", "DDEATH")


@dataclass(frozen=True, slots=True)
class _Metric:
    """A metric as it was born: its topic for maps, its type, and whether a map takes it."""

    topic: str
    datatype: int
    type: str
    is_wanted: bool
    field: str
    """The field that holds its value as it is; empty where there is more to it."""


@dataclass(slots=True)
class _Node:
    """What is known of an edge node. `devices` are those that are alive; True if they are so since its last birth."""

    is_born: bool = False
    is_alive: bool = False
    bd_seq: int | None = None
    seq: int = 0
    has_told_data: bool = False
    aliases: dict[tuple[str, int], _Metric] = field(default_factory=dict)
    names: dict[tuple[str, str], _Metric] = field(default_factory=dict)
    devices: dict[str, bool] = field(default_factory=dict)
    asked_at: float = float("-inf")


class Nodes:
    """All edge nodes. `wants(topic)` says whether a map takes messages of a topic; `ask(group, edge)` asks for a birth."""

    def __init__(self, wants: Callable[[str], bool], ask: Callable[[str, str], None]) -> None:
        self._wants, self._ask = wants, ask
        self._nodes: dict[Name, _Node] = {}
        self.gaps = 0
        """How often something was missing."""
        self.unborn = 0
        """How many messages came of edge nodes that have told no birth yet: these tell all again."""

    def known(self) -> list[tuple[str, str, list[str]]]:
        """The edge nodes that are alive, with those of their devices that are."""
        return [(*name, [*node.devices]) for name, node in self._nodes.items() if node.is_alive]

    def load(self, known: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        """Go on with what an earlier run has known; of their metrics nothing is known until they are born again."""
        for group, edge, devices in known:
            self._nodes[group, edge] = _Node(is_alive=True, devices=dict.fromkeys(devices, False))

    def ask_all(self, at: float) -> None:
        """Ask all that are alive: what they told while nobody heard is told again."""
        for name, node in self._nodes.items():
            if node.is_alive:
                self._ask_one(name, node, at)

    # --- messages -------------------------------------------------------------------------------------------------------

    def take(self, message: Message) -> Iterator[Message | Rejected]:
        """What a message of an edge node becomes; nothing where it is none, as a command."""
        levels = message.topic.split("/")
        kind = levels[2] if len(levels) > 3 and levels[0] == NAMESPACE else ""
        is_device = kind in _DEVICE_KINDS and len(levels) == 5
        if not is_device and not (kind in _NODE_KINDS and len(levels) == 4):
            return
        name, device = (levels[1], levels[3]), levels[4] if is_device else ""
        try:
            payload = decode(message.payload)
            node = self._nodes.get(name)
            if node is None:
                node = self._new(name)
        except DataError as error:
            yield _rejected(message, error.reason)
            return
        yield from self._taken(kind, name, node, device, payload, message)

    def _new(self, name: Name) -> _Node:
        if len(self._nodes) >= MOST_NODES:
            raise DataError(f"there are {MOST_NODES} edge nodes already")
        node = self._nodes[name] = _Node()
        return node

    def _taken(
        self, kind: str, name: Name, node: _Node, device: str, payload: Any, message: Message
    ) -> Iterator[Message | Rejected]:
        if kind == "NDEATH":
            yield from self._node_died(name, node, payload, message)
            return
        if kind == "NBIRTH":
            self._node_born(node, payload)
            yield from self._told(name, "", True, _time(payload, message), message, "birth")
        elif not node.is_born:
            self._ask_one(name, node, message.at)
            if kind != "DDEATH":
                self.unborn += 1  # it is told again, with the birth
                return
        else:
            self._count(name, node, payload, message.at)
        if kind in ("NDATA", "DDATA") and not node.has_told_data:
            node.has_told_data = True
            yield from self._not_reborn(name, node, payload, message)
        if kind == "DDEATH":
            node.devices.pop(device, None)
            yield from self._told(name, device, False, _time(payload, message), message, "death")
            return
        if kind == "DBIRTH":
            node.devices[device] = True
            yield from self._told(name, device, True, _time(payload, message), message, "birth")
        elif kind == "DDATA" and device not in node.devices:
            self._ask_one(name, node, message.at)
            yield _rejected(message, "the device has told no birth: its edge node was asked for it, and tells all again")
            return
        yield from self._values(name, node, device, payload, message, is_birth=kind.endswith("BIRTH"))

    def _node_born(self, node: _Node, payload: Any) -> None:
        node.is_born = node.is_alive = True
        node.has_told_data, node.seq = False, payload.seq % _NUMBERS
        node.aliases, node.names = {}, {}
        node.devices = dict.fromkeys(node.devices, False)
        node.bd_seq = _bd_seq(payload)

    def _node_died(self, name: Name, node: _Node, payload: Any, message: Message) -> Iterator[Message]:
        """It has died, and its devices with it; unless this is the death of an earlier session of it."""
        number = _bd_seq(payload)
        if node.is_born and number is not None and node.bd_seq is not None and number != node.bd_seq:
            return
        at = int(message.at * 1000)  # the payload was written when the session began
        for device in node.devices:
            yield from self._told(name, device, False, at, message, "death of its edge node")
        yield from self._told(name, "", False, at, message, "death")
        del self._nodes[name]

    def _not_reborn(self, name: Name, node: _Node, payload: Any, message: Message) -> Iterator[Message]:
        """Births come before data: a device that was alive, and was not born with its edge node, has died."""
        for device in [device for device, is_reborn in node.devices.items() if not is_reborn]:
            del node.devices[device]
            yield from self._told(name, device, False, _time(payload, message), message, "not born with its edge node")

    def _count(self, name: Name, node: _Node, payload: Any, at: float) -> None:
        """See whether a message is missing before this one."""
        expected = (node.seq + 1) % _NUMBERS
        if payload.HasField("seq") and payload.seq != expected:
            self.gaps += 1
            logger.warning("%s: message %d was expected, and %d came", "/".join(name), expected, payload.seq)
            self._ask_one(name, node, at)
        node.seq = payload.seq % _NUMBERS if payload.HasField("seq") else expected

    def _ask_one(self, name: Name, node: _Node, at: float) -> None:
        if not 0 <= at - node.asked_at < ASK_SECONDS:
            node.asked_at = at
            logger.info("%s is asked for a birth", "/".join(name))
            self._ask(*name)

    def _told(self, name: Name, device: str, is_alive: bool, time: int, message: Message, why: str) -> Iterator[Message]:
        topic = "/".join(["alive", *name, *([device] if device else [])])
        if self._wants(topic):
            yield Message(topic, _encode({"alive": is_alive, "time": time, "why": why}), message.at)

    # --- metrics --------------------------------------------------------------------------------------------------------

    def _values(
        self, name: Name, node: _Node, device: str, payload: Any, message: Message, *, is_birth: bool
    ) -> Iterator[Message | Rejected]:
        sent = _time(payload, message)
        for metric in payload.metrics:
            try:
                known = self._born(name, node, device, metric) if is_birth else _found(node, device, metric)
                if known is None:
                    self._ask_one(name, node, message.at)
                    raise DataError(f"no birth has told its {_shown(metric)}: the edge node was asked for it")
                if known.is_wanted:
                    yield Message(known.topic, _encode(_element(metric, known, sent)), message.at)
            except DataError as error:
                yield _rejected(message, f"{_shown(metric)}: {error.reason}")

    def _born(self, name: Name, node: _Node, device: str, metric: Any) -> _Metric:
        if len(node.names) >= MOST_METRICS:
            raise DataError(f"its edge node has {MOST_METRICS} metrics already")
        topic = "/".join(["device" if device else "node", *name, *([device] if device else []), metric.name])
        known = _Metric(
            topic, metric.datatype, type_name(metric.datatype), self._wants(topic), PLAIN.get(metric.datatype, "")
        )
        node.names[device, metric.name] = known
        if metric.HasField("alias"):
            node.aliases[device, metric.alias] = known
        return known


def _found(node: _Node, device: str, metric: Any) -> _Metric | None:
    if metric.HasField("alias"):
        return node.aliases.get((device, metric.alias))
    return node.names.get((device, metric.name))


class _Element(msgspec.Struct, omit_defaults=True, gc=False):
    """A metric as a map reads it."""

    value: Any
    type: str
    time: int
    historical: bool
    properties: dict[str, Any] | None = None


def _element(metric: Any, known: _Metric, sent: int) -> _Element:
    """DataError where the value cannot be read."""
    if known.field and metric.HasField(known.field) and not metric.is_null:
        value = getattr(metric, known.field)
    else:
        value = None if metric.is_null else value_of(metric, known.datatype)
    at = metric.timestamp or sent
    told = properties(metric.properties) if metric.HasField("properties") else None
    return _Element(value, known.type, at, metric.is_historical, told)


def _shown(metric: Any) -> str:
    return f"metric `{metric.name}`" if metric.name else f"metric of alias {metric.alias}"


def _time(payload: Any, message: Message) -> int:
    return int(payload.timestamp) if payload.HasField("timestamp") else int(message.at * 1000)


def _bd_seq(payload: Any) -> int | None:
    for metric in payload.metrics:
        if metric.name == _BD_SEQ:
            return int(metric.long_value or metric.int_value)
    return None


def _rejected(message: Message, reason: str) -> Rejected:
    return Rejected(message.topic, reason, message.payload[:RAW_LIMIT])


def rebirth(at: float) -> bytes:
    """The payload of a command that asks an edge node to be born again."""
    payload = Payload(timestamp=int(at * 1000))
    payload.metrics.add(name=REBIRTH, datatype=_BOOLEAN, boolean_value=True, timestamp=int(at * 1000))
    data: bytes = payload.SerializeToString()
    return data
