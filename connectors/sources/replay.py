"""A plant that is played from a file: recorded messages, each at its time behind the one before."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence

import anyio
import msgspec

from tidelog.connectors.formats.framing import MAX_LINE
from tidelog.connectors.mapping.mapper import Mapper
from tidelog.connectors.mapping.messages import Message, read_recorded
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.runtime.ports.interfaces import Batch, Rejected

DEFAULT_GAP = 1.0
"""The seconds between two messages that do not say when they came."""
LONGEST_GAP = 86_400.0
"""The longest pause, in seconds: a recording with a longer one goes on after this."""


class ReplaySource:
    """Plays a file of recorded messages (`connectors/mapping/messages.py`), as if each came now; with `loop`, for ever.

    `speed` is how many times faster than recorded. A line that is no message is rejected with its place.
    """

    def __init__(
        self,
        name: str,
        path: str | os.PathLike[str],
        mapper: Mapper,
        *,
        loop: bool = True,
        speed: float = 1.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        if not 0 < speed <= 1e6:
            raise SpecError(f"`speed` is above 0, and 1000000 at most, got {speed:g}")
        if not os.path.isfile(path):
            raise SpecError(f"cannot read `{os.fspath(path)}`: there is no such file")
        self.name = name
        self._path, self._mapper, self._loop, self._speed, self._now = os.fspath(path), mapper, loop, speed, now
        self._lines: Iterator[tuple[int, bytes]] = iter(())
        self._last: float | None = None
        self._has_message = self._is_begun = False
        self.on_messages: Callable[[Sequence[Message]], None] | None = None

    async def __aenter__(self) -> ReplaySource:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    async def receive(self) -> Batch | None:
        """The facts of the next message, when it is due; None at the end of a file that is played once."""
        while True:
            number, line = next(self._lines, (0, b""))
            if not number:
                if self._is_begun and not (self._loop and self._has_message):
                    return None
                self._lines, self._last, self._is_begun = self._read(), None, True
                continue
            if not line.strip():
                continue
            try:
                recorded, is_timed = read_recorded(line)
            except DataError as error:
                return Batch(rejected=[Rejected(f"{self._path}:{number}", error.reason, line[:500])])
            self._has_message = True
            await anyio.sleep(self._gap(recorded.at if is_timed else None))
            message = msgspec.structs.replace(recorded, at=self._now())
            if self.on_messages is not None:
                self.on_messages([message])
            return self._mapper.batch([message])

    def _gap(self, at: float | None) -> float:
        """The seconds to wait before a message that came at this time."""
        gap = DEFAULT_GAP if at is None or self._last is None else min(max(at - self._last, 0.0), LONGEST_GAP)
        self._last = at if at is not None else self._last
        return gap / self._speed

    def _read(self) -> Iterator[tuple[int, bytes]]:
        try:
            with open(self._path, "rb") as stream:
                number = 0
                while line := stream.readline(MAX_LINE):
                    number += 1
                    yield number, line
        except OSError as error:
            raise OSError(error.errno, f"cannot read `{self._path}`: {error.strerror}") from error


def recorded_messages(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes, Message | DataError]]:
    """Each line of a file of recorded messages: its number, its text, and its message, or why it is none.

    OSError where the file cannot be read.
    """
    with open(path, "rb") as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                yield number, line.rstrip(b"\r\n"), _message(line)


def _message(line: bytes) -> Message | DataError:
    try:
        message, is_timed = read_recorded(line)
    except DataError as error:
        return error
    return message if is_timed else msgspec.structs.replace(message, at=time.time())
