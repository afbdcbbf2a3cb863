"""A host application of Sparkplug B: hears edge nodes, and, if it is the primary one, tells them that it is there."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from tidelog.connectors.brokers.mqtt.client import MqttClient
from tidelog.connectors.brokers.mqtt.packets import Unsendable
from tidelog.connectors.brokers.mqtt.settings import BrokerSettings, WillSettings
from tidelog.connectors.brokers.mqtt.source import MqttSource
from tidelog.connectors.field.sparkplug.nodes import NAMESPACE, Nodes, rebirth
from tidelog.connectors.mapping.mapper import Mapper
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.mapping.topics import TopicPattern
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.ports.interfaces import Rejected

logger = logging.getLogger("tidelog")

MAX_BATCH = 64
"""How many messages of edge nodes go into one batch: each may have many metrics."""


class _Known(msgspec.Struct):
    """What a position of this source has beside that of MQTT."""

    nodes: list[tuple[str, str, list[str]]] = []


class SparkplugSource(MqttSource):
    """Hears the edge nodes of `groups`, all unless told. As `host`, it is the primary host application of this name.

    `maps` are the topics that are wanted of what messages become (`connectors/field/sparkplug/nodes.py`). In a later run,
    edge nodes that were alive are asked for a birth at once.
    """

    max_batch = MAX_BATCH

    def __init__(
        self,
        name: str,
        client: MqttClient,
        mapper: Mapper,
        maps: Sequence[str],
        *,
        groups: Sequence[str] = (),
        host: str = "",
        **options: Any,
    ) -> None:
        topics = [f"{NAMESPACE}/{group}/#" for group in groups or ("+",)]
        self._state = f"{NAMESPACE}/STATE/{host}" if host else ""
        super().__init__(name, client, mapper, topics + [self._state] * bool(host), **options)
        patterns = [TopicPattern.parse(text) for text in maps]
        self._nodes = Nodes(lambda topic: any(pattern.match(topic) is not None for pattern in patterns), self._ask_birth)
        if host:
            client.before_connecting = self._present

    @property
    def gaps(self) -> int:
        """How often a message of an edge node was missing."""
        return self._nodes.gaps

    def _translated(self, messages: list[Message], refused: list[Rejected]) -> list[Message]:
        found: list[Message] = []
        for message in messages:
            if message.topic == self._state:
                self._hear_state(message)
                continue
            for item in self._nodes.take(message):
                if isinstance(item, Message):
                    found.append(item)
                else:
                    refused.append(item)
        return found

    def _ask_birth(self, group: str, edge: str) -> None:
        try:
            self.client.publish(f"{NAMESPACE}/{group}/NCMD/{edge}", rebirth(self._now()), 0, retain=False)
            self.client.flush()
        except Unsendable as error:
            logger.error("%s: `%s/%s` cannot be asked for a birth: %s", self.name, group, edge, error)

    def _on_session(self, is_present: bool) -> None:
        super()._on_session(is_present)
        self._nodes.ask_all(self._now())

    # --- the host's own state ---------------------------------------------------------------------------------------------

    def _present(self, settings: BrokerSettings) -> BrokerSettings:
        """Settings for the next connection: with a birth and a last will that tell the host's state, of one time."""
        at = int(self._now() * 1000)
        will, birth = (
            WillSettings(self._state, msgspec.json.encode({"online": is_there, "timestamp": at}).decode())
            for is_there in (False, True)
        )
        return msgspec.structs.replace(settings, will=will, birth=birth)

    def _hear_state(self, message: Message) -> None:
        """Somebody tells this host's state: where that says that it is away, it is told again that it is here."""
        try:
            told = msgspec.json.decode(message.payload)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            told = None
        if not isinstance(told, dict) or told.get("online") is not True:
            self.client.announce_birth()

    # --- a later run ------------------------------------------------------------------------------------------------------

    def _position(self) -> dict[str, Any]:
        return {**super()._position(), "nodes": self._nodes.known()}

    def resume(self, position: dict[str, Any]) -> None:
        """As with MQTT; what was alive then is asked for a birth."""
        super().resume(position)
        try:
            self._nodes.load(msgspec.convert(position, _Known).nodes)
        except msgspec.ValidationError as error:
            raise DataError(f"{self.name}: its position cannot be read: {error}") from None
