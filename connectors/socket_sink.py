"""Answers to a server that this sink connects to, by TCP or a Unix-domain socket."""

from __future__ import annotations

from tidelog.connectors.addresses import Address
from tidelog.connectors.formatting import Encoder
from tidelog.connectors.media import Medium, socket_medium
from tidelog.connectors.outgoing import OutgoingSink


class SocketSink(OutgoingSink):
    """Connects when entered. Entered again, it connects anew, and goes on with the first line that was not taken."""

    def __init__(self, address: Address, encoder: Encoder, *, name: str | None = None) -> None:
        super().__init__(encoder, name or str(address))
        self._address = address

    async def _open(self) -> Medium:
        return await socket_medium(await self._address.connect())
