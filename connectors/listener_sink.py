"""Answers to all who connect: a sink that listens, on TCP or a Unix-domain socket."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from tidelog.connectors.acceptor import Acceptor
from tidelog.connectors.addresses import Address, Stream
from tidelog.connectors.formatting import Encoder
from tidelog.runtime.interfaces import AnyAnswer


class ListenerSink:
    """Sends each answer to everyone connected at that time; while there is nobody, it waits for the first.

    A receiver that is slow holds up all: that is the backpressure. One that has gone is forgotten. `port` is the TCP
    port once entered.
    """

    def __init__(self, address: Address, encoder: Encoder, *, name: str | None = None) -> None:
        self.name = name or str(address)
        self._address = address
        self._encoder = encoder
        self._error: OSError | None = None
        self._acceptor: Acceptor | None = None
        self._receivers: dict[int, tuple[Stream, anyio.Event]] = {}

    @property
    def port(self) -> int | None:
        """The TCP port that is listened on; None before it is entered."""
        return self._acceptor.port if self._acceptor else None

    @property
    def receivers(self) -> int:
        """How many are connected."""
        return len(self._receivers)

    async def __aenter__(self) -> ListenerSink:
        self._error = None
        self._changed = anyio.Event()
        self._acceptor = await Acceptor(self._address, self._serve, self._fail).__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._acceptor is not None:
            acceptor, self._acceptor = self._acceptor, None
            await acceptor.__aexit__(*exc)

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Returns once at least one receiver, and everyone connected, has taken these. Raises OSError."""
        data = self._encoder.encode(answers)
        is_sent = not data
        while not is_sent:
            await self._wait_for_receiver()
            for number, (stream, gone) in list(self._receivers.items()):
                try:
                    await stream.send(data)
                    is_sent = True
                except anyio.BrokenResourceError:
                    self._receivers.pop(number, None)
                    gone.set()

    async def _wait_for_receiver(self) -> None:
        while not self._receivers:
            if self._error is not None:
                raise self._error
            self._changed = anyio.Event()
            await self._changed.wait()

    def _fail(self, error: OSError) -> None:
        self._error = error
        self._changed.set()

    async def _serve(self, stream: Stream, number: int) -> None:
        """Keep a connection until it is found broken, or the sink is left."""
        gone = anyio.Event()
        self._receivers[number] = (stream, gone)
        self._changed.set()
        try:
            await gone.wait()
        finally:
            self._receivers.pop(number, None)
