"""Answers to a server that this sink connects to, by TCP or a Unix-domain socket."""

from __future__ import annotations

from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.sinks.outgoing import OutgoingSink
from tidelog.connectors.transport.addresses import Address
from tidelog.connectors.transport.media import Medium, socket_medium
from tidelog.runtime.ports.durability import Promise


class SocketSink(OutgoingSink):
    """Connects when entered. Entered again, it connects anew, and goes on with the first line that was not taken.

    In a durable run each line has the id of its answer, so that a receiver can drop what it has.
    """

    writes_ids = True

    def __init__(self, address: Address, encoder: Encoder, *, name: str | None = None) -> None:
        super().__init__(encoder, name or str(address))
        self._address = address

    @property
    def promise(self) -> Promise:
        """What the other system has not taken is sent again, with its id."""
        return "at least once"

    async def _open(self) -> Medium:
        return await socket_medium(await self._address.connect())
