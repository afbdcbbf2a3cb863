"""Answers to standard output."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.connectors.descriptors import Descriptor
from tidelog.connectors.formatting import Encoder
from tidelog.plans.errors import ConnectorError
from tidelog.runtime.interfaces import AnyAnswer


class StdoutSink:
    """Writes to standard output (or another descriptor that stays the caller's own), each batch at once."""

    def __init__(self, encoder: Encoder, *, name: str = "stdout", fd: int = 1) -> None:
        self.name = name
        self._encoder = encoder
        self._fd = fd
        self._descriptor: Descriptor | None = None

    async def __aenter__(self) -> StdoutSink:
        self._descriptor = Descriptor(self._fd, owned=False)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._descriptor = None

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Waits while the reader is behind. Raises ConnectorError once there is no reader: it will not come back."""
        if self._descriptor is None:
            raise ValueError("a sink is used within `async with`")
        try:
            await self._descriptor.write(self._encoder.encode(answers))
        except BrokenPipeError as error:
            raise ConnectorError(f"{self.name}: nobody reads any more") from error
