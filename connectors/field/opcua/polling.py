"""Nodes that are asked for their values, again and again, many in one request: where a server cannot tell what changes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from asyncua import ua
from asyncua.ua.attribute_ids import AttributeIds
from asyncua.ua.uaerrors import UaError

from tidelog.connectors.field.opcua.mailbox import Group, Reading
from tidelog.connectors.field.opcua.settings import NodeSettings, OpcUaSettings
from tidelog.connectors.field.opcua.subscription import MOST_AT_ONCE, Put
from tidelog.connectors.field.opcua.values import NodeValues
from tidelog.connectors.transport.links import Link


class Polling:
    """Asks for some nodes on one connection. A value that is the same as before, of the same time, is told as of now."""

    def __init__(
        self,
        session: Any,
        settings: OpcUaSettings,
        nodes: Sequence[tuple[NodeSettings, NodeValues]],
        put: Put,
        link: Link,
    ) -> None:
        self._session, self._settings, self._put, self._link = session, settings, put, link
        self._asked: list[tuple[Any, NodeValues]] = []
        self._wrong: list[Reading] = []
        self._has_caught_up = False
        for node, values in nodes:
            try:
                self._asked.append((ua.NodeId.from_string(node.id), values))
            except UaError as error:
                self._wrong += values.refuse(f"it is no id of a node: {error}")

    def look_again(self) -> None:
        """Tell anew once all have been asked for."""
        self._has_caught_up = False

    async def run(self, *, is_alone: bool) -> None:
        """Ask every so many seconds; what the library raises ends it. `is_alone`: there is no subscription beside it."""
        if self._wrong or (is_alone and not self._asked):
            await self._put(Group(self._wrong, is_last=is_alone))
        loop = asyncio.get_running_loop()
        due, is_first = loop.time(), True
        while self._asked:
            for begin in range(0, len(self._asked), MOST_AT_ONCE):
                part = self._asked[begin : begin + MOST_AT_ONCE]
                readings = await self._read(part, is_first=is_first)
                is_last = is_alone and not self._has_caught_up and begin + MOST_AT_ONCE >= len(self._asked)
                self._has_caught_up = self._has_caught_up or is_last
                await self._put(Group(readings, is_last=is_last))
            is_first = False
            due = max(due + self._settings.every, loop.time())
            await asyncio.sleep(due - loop.time())

    async def _read(self, part: Sequence[tuple[Any, NodeValues]], *, is_first: bool) -> list[Reading]:
        self._link.requests += 1
        found = await self._session.read_attributes([node for node, _ in part], AttributeIds.Value)
        readings: list[Reading] = []
        for (_, values), value in zip(part, found, strict=True):
            readings += values.again() if values.is_same(value) else values.take(value, is_first=is_first)
        return readings
