"""A sink of one stream of lines: what it was given is sent from where it stopped, however often it is opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import anyio.lowlevel

from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.sinks.backlog import Backlog
from tidelog.connectors.sinks.giving_up import GivingUp
from tidelog.connectors.transport.media import LARGEST_WINDOW, Medium
from tidelog.connectors.transport.terminals import for_terminal
from tidelog.runtime.ports.durability import Heading
from tidelog.runtime.ports.interfaces import AnyAnswer, Interrupted, SinkStatistics


@dataclass(frozen=True, slots=True)
class Break:
    """How an opening ended, in offsets: what was certainly `read`, `taken`, what may have `arrived`, what was `handed` over,
    and from where another one goes on.
    """

    read: int
    taken: int
    arrived: int
    handed: int
    resume: int

    def statistics(self, backlog: Backlog, resume: int) -> SinkStatistics:
        """What is not certain where another opening goes on from `resume`."""
        lost = backlog.lines(self.read, max(self.taken, resume))
        return SinkStatistics(1, lost, backlog.lines(resume, self.arrived))


class Outgoing:
    """One opening: hands over a backlog's bytes, from the offset `begin` on, and knows how far they were taken."""

    def __init__(self, backlog: Backlog, medium: Medium, begin: int) -> None:
        self.medium, self.begin = medium, begin
        self._backlog = backlog
        backlog.mark(begin)

    @property
    def handed(self) -> int:
        """Up to which offset it was handed over."""
        return self.begin + self.medium.handed

    def taken(self) -> int:
        """Up to which offset it is known to be taken. Raises OSError where it is lost."""
        return self.handed - self.medium.receipt().untaken

    async def flush(self) -> None:
        """Hand over all there is; one task at a time. Raises OSError."""
        await anyio.lowlevel.checkpoint()
        while self.handed < self._backlog.end:
            data = self._backlog.since(self.handed)
            while data:
                data = data[await self.medium.write(data) :]

    def broken(self, error: OSError) -> Break:
        """How far all that was handed over has been taken and read, now that the connection ended with this error."""
        receipt = self.medium.receipt(error)
        taken = self.handed - receipt.untaken
        resume = taken if self.medium.goes_on else self._backlog.line_start(taken)
        if isinstance(error, TimeoutError):  # nobody takes it: that would be the same the next time
            resume = self._backlog.end
        return Break(max(self.begin, taken - receipt.unread), taken, self.handed - receipt.waiting, self.handed, resume)


class OutgoingSink(GivingUp, ABC):
    """A sink that writes lines to one medium at a time; `_open` says to which.

    `send` returns when all is handed over, and raises Interrupted where it was cut off. Left without an error, it waits
    until all is taken, as far as that can be known. Of a durable run it is told the numbers of answers, so that it can tell
    which are taken; with `writes_ids` each line has the id of its answer, too.
    """

    writes_ids = False
    takes_back = True
    """Whether it has a form for answers that are taken back: text and JSON lines have."""

    def __init__(self, encoder: Encoder, name: str) -> None:
        self.name = name
        self._encoder = encoder
        self._heading: Heading | None = None
        self._numbers: deque[tuple[int, int]] = deque()  # where answers end, and the number of the last of them
        self._confirmed = self._confirmed_end = 0
        self._backlog = Backlog(LARGEST_WINDOW)
        self._resume = 0
        self._outgoing: Outgoing | None = None
        self._statistics = SinkStatistics()

    def begin_with(self, header: bytes) -> None:
        """Write this line before the first answer, or alone where there is none; to be called before it is entered."""
        self._backlog.append(header)

    def statistics(self) -> SinkStatistics:
        """What is not certain about the answers that it was given."""
        return self._statistics

    def number(self, heading: Heading) -> None:
        """The answers of the next `send` have these numbers."""
        self._heading = heading

    def confirmed(self) -> int:
        """The number of the last answer that is taken, as far as the medium tells; 0 before the first."""
        with suppress(OSError):  # that it is lost is told when it is used
            if self._outgoing is not None:
                self._note_taken(self._outgoing.taken())
        return self._confirmed

    def _note_taken(self, offset: int) -> None:
        while self._numbers and self._numbers[0][0] <= offset:
            self._confirmed_end, self._confirmed = self._numbers.popleft()

    @abstractmethod
    async def _open(self) -> Medium:
        """Open what it writes to. Raises OSError."""

    async def __aenter__(self) -> OutgoingSink:
        self._outgoing = Outgoing(self._backlog, await self._open(), self._resume)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._outgoing is None:
            return
        try:
            if not any(exc):
                if self._outgoing.handed < self._backlog.end:  # a header without answers
                    await self._outgoing.flush()
                await self._outgoing.medium.finish()
                self._note_taken(self._outgoing.handed)
        except OSError as error:
            raise self._interrupted(self._outgoing, error) from error
        finally:
            self._close()

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Waits while the other side is behind. Raises Interrupted where it is lost: what was not taken is kept."""
        if self._outgoing is None:
            raise ValueError("a sink is used within `async with`")
        data = await self._lines(self._encoder, answers, self._heading if self.writes_ids else None)
        self._backlog.append(for_terminal(data) if self._outgoing.medium.is_terminal else data)
        if self._heading is not None and answers:
            self._numbers.append((self._backlog.end, self._heading.first + len(answers) - 1))
        try:
            await self._outgoing.flush()
            self._backlog.take(self._outgoing.taken())
        except OSError as error:
            raise self._interrupted(self._outgoing, error) from error
        self._resume = self._backlog.end

    def _interrupted(self, outgoing: Outgoing, error: OSError) -> Interrupted:
        broken = outgoing.broken(error)
        self._close()
        self._note_taken(broken.taken)
        self._resume = broken.resume
        self._statistics += broken.statistics(self._backlog, broken.resume)
        kept = self._backlog.lines(broken.resume, self._backlog.end)
        reason = error.strerror or str(error)
        text = reason if outgoing.medium.goes_on else f"connection lost: {reason}"
        return Interrupted(text, error, kept=kept, progressed=broken.resume > outgoing.begin)

    def _close(self) -> None:
        if self._outgoing is not None:
            self._outgoing.medium.close()
            self._outgoing = None
