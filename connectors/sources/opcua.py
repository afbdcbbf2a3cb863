"""Nodes of a server, by OPC UA. Nothing else loads asyncua.

The library needs asyncio's event loop: it runs in a thread of the library's own (`asyncua.sync`), beside the engine's.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC
from typing import Any

import msgspec
from asyncua.sync import Client
from asyncua.ua.uaerrors import BadNodeIdInvalid, BadNodeIdUnknown, UaError, UaStringParsingError

from tidelog.connectors.sources.polled import NodeSettings, Reading
from tidelog.connectors.transport.secret import Secret


class OpcUaServer:
    """A server, and the nodes that it is asked for: messages hold `value`, and `time`, that of the source, if it has one."""

    def __init__(
        self,
        url: str,
        nodes: Sequence[NodeSettings],
        *,
        user: str = "",
        password: Secret | None = None,
        security: str = "",
        folder: str = ".",
        timeout: float = 4.0,
    ) -> None:
        self.place = url
        self._nodes, self._user, self._password = nodes, user, password
        self._security, self._folder, self._timeout = security, folder, timeout
        self._client: Client | None = None

    def open(self) -> None:
        """Connect; OSError where that fails."""
        client = Client(self.place, timeout=self._timeout)
        try:
            if self._user:
                client.set_user(self._user)
            if self._password is not None:
                client.set_password(self._password.reveal(self._folder))
            if self._security:
                client.set_security_string(self._security)
            client.connect()
        except (OSError, UaError, TimeoutError) as error:
            _leave(client)
            raise ConnectionError(f"{self.place}: {error or 'no answer'}") from error
        self._client = client

    def read(self) -> Sequence[Reading]:
        """The values of all nodes; OSError where the connection is lost."""
        if self._client is None:
            raise ConnectionError(f"{self.place}: not connected")
        try:
            return [(node.name, self._value(self._client, node)) for node in self._nodes]
        except (OSError, TimeoutError, UaError) as error:
            raise ConnectionError(f"{self.place}: {error or 'no answer'}") from error

    def _value(self, client: Client, node: NodeSettings) -> dict[str, Any] | str:
        try:
            found = client.get_node(node.id).read_data_value(raise_on_bad_status=False)
        except (BadNodeIdUnknown, BadNodeIdInvalid, UaStringParsingError) as error:
            return f"node `{node.id}` cannot be read: {error}"
        if not found.StatusCode.is_good() or found.Value is None:
            return f"node `{node.id}` cannot be read: {found.StatusCode.name}"
        held: dict[str, Any] = {"value": found.Value.Value}
        if found.SourceTimestamp is not None:
            held["time"] = found.SourceTimestamp.replace(tzinfo=UTC).isoformat()
        try:
            msgspec.json.encode(held)
        except (TypeError, ValueError):
            return f"node `{node.id}` holds {type(found.Value.Value).__name__}, which is no JSON"
        return held

    def close(self) -> None:
        """Leave the server."""
        if self._client is not None:
            client, self._client = self._client, None
            _leave(client)


def _leave(client: Client) -> None:
    """Disconnect, which also ends the library's thread."""
    with suppress(OSError, UaError, TimeoutError):
        client.disconnect()
