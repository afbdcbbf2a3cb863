"""Answers to standard output."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.sinks.outgoing import OutgoingSink
from tidelog.connectors.transport.descriptors import Descriptor
from tidelog.connectors.transport.media import DescriptorMedium, Medium
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.runtime.ports.interfaces import AnyAnswer, Interrupted


class StdoutSink(OutgoingSink):
    """Writes to standard output (or another descriptor that stays the caller's own), each batch at once."""

    def __init__(self, encoder: Encoder, *, name: str = "stdout", fd: int = 1) -> None:
        super().__init__(encoder, name)
        self._fd = fd

    async def _open(self) -> Medium:
        return DescriptorMedium(Descriptor(self._fd, owned=False), is_reopened=False)

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Waits while the reader is behind. Raises ConnectorError once there is no reader: it will not come back."""
        try:
            await super().send(answers)
        except Interrupted as error:
            cause = error.__cause__
            if isinstance(cause, BrokenPipeError):
                raise ConnectorError(f"{self.name}: nobody reads any more") from cause
            raise
