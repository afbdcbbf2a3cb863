"""A sink that sends mail: one for each answer, or a digest where many are at hand."""

from __future__ import annotations

import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.formats.json.encoder import JsonEncoder
from tidelog.connectors.notify.letters import Letter, LetterWriter
from tidelog.connectors.notify.smtp import MailServer, MailSession, Outcome, ServerRefusalError
from tidelog.connectors.sinks.choosing import Choice
from tidelog.connectors.sinks.explaining import Explaining
from tidelog.connectors.sinks.giving_up import ENCODING_ERRORS, GivingUp, unencodable
from tidelog.connectors.transport.backoff import FIRST_PAUSE, pause_before
from tidelog.connectors.transport.links import Link, LinkStatistics
from tidelog.plans.data.facts import Schema
from tidelog.runtime.ports.durability import Heading, Promise
from tidelog.runtime.ports.interfaces import AnyAnswer

logger = logging.getLogger("tidelog")

T = TypeVar("T")
DIGEST: Final = 10
"""More answers than so many that are at hand at once become one mail, unless told otherwise."""
MOST_IN_ONE: Final = 500
"""How many answers one mail tells at most."""
PATIENCE: Final = 900.0
"""For how many seconds a recipient is tried again whom the server does not take now, while it takes others."""
_TOLD_EVERY: Final = 60.0


@dataclass(slots=True)
class _Mail:
    """A mail, and what it tells."""

    letters: Sequence[Letter]
    data: bytes


@dataclass(slots=True)
class _Waiting:
    """The mails of one recipient whom the server does not take now."""

    since: float
    due: float
    reason: str
    attempts: int = 1
    mails: deque[_Mail] = field(default_factory=deque)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited: `longest` seconds between two attempts at most, from `first` on; `recipient` seconds for one whom
    the server does not take now, while it takes others."""

    first: float = FIRST_PAUSE
    longest: float = 60.0
    recipient: float = PATIENCE


class MailSink(Explaining, GivingUp):
    """Sends mail. `send` returns once the server has each, or has refused it for good.

    While the server is away, busy, or does not let the sender in, it waits: what is owed stays where it is. A mail that the
    server refuses for good (5xx) is a dead letter, and so is one for each recipient that it refuses; the others get theirs.
    A recipient who is not taken now (4xx) is tried again, for `patience.recipient` seconds if others are taken.
    A mail that is sent again has the same `Message-ID`: its run, and the number of its answer.
    """

    promise: Promise = "at least once"

    def __init__(
        self,
        name: str,
        server: MailServer,
        schema: Schema,
        writer: LetterWriter,
        *,
        digest: int = DIGEST,
        patience: Patience | None = None,
        choice: Choice | None = None,
    ) -> None:
        self.name, self._server, self._writer, self._digest = name, server, writer, digest
        self.asks_why = writer.asks_why
        self._patience = patience or Patience()
        self._choice = Choice() if choice is None else choice
        self._lines_of: Encoder = JsonEncoder(schema)
        self._heading = Heading(f"run{uuid.uuid4().hex}", 1, 0)
        self.sent = 0
        """How many mails the server has taken, for one recipient at least."""
        self.is_connected = True
        """Whether the server has taken, or refused for good, what it was given last."""
        self._link = Link()
        self._session: MailSession | None = None
        self._waiting: dict[str, _Waiting] = {}
        self._told = 0.0

    def link(self) -> LinkStatistics:
        """How the connection stands: its requests are mails that were handed in, or were to be."""
        return self._link.statistics()

    async def __aenter__(self) -> MailSink:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._drop()

    def number(self, heading: Heading) -> None:
        """The answers of the next `send` have these numbers."""
        self._heading = heading

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Returns once each of these is taken, or given up."""
        run, first = self._heading.run, self._heading.first
        self._heading = replace(self._heading, first=first + len(answers))  # where nobody numbers them
        self._waiting.clear()
        try:
            for begin in range(0, len(answers), MOST_IN_ONE):
                for letters in await self._letters_of(answers[begin : begin + MOST_IN_ONE], first + begin):
                    await self._deliver(_Mail(letters, self._writer.mail(letters, run)))
            while self._waiting:
                await anyio.sleep(max(0.0, min(one.due for one in self._waiting.values()) - time.monotonic()))
                await self._try_again()
            if self._session is not None:
                await self._in_thread(self._session.close)
        finally:
            self._drop()

    async def _letters_of(self, answers: Sequence[AnyAnswer], first: int) -> list[list[Letter]]:
        """What is said of these answers, a list for each mail: one for each answer, or one for all of them."""
        letters: list[Letter] = []
        for number, answer in enumerate(map(self._choice, answers), first):
            if answer is None:
                continue
            try:
                letters.append(self._writer.letter(answer, number, await self._reason(answer)))
            except ENCODING_ERRORS as error:
                await self._give_up(answer, unencodable(error))
        return [letters] if len(letters) > self._digest else [[letter] for letter in letters]

    # --- delivery ---------------------------------------------------------------------------------------------------------

    async def _deliver(self, mail: _Mail) -> None:
        """Send a mail to all who are not waited for."""
        await self._try_again()
        for waiting in self._waiting.values():
            waiting.mails.append(mail)
        there = [one for one in self._writer.to if one not in self._waiting]
        if not there:
            return
        outcome = await self._until_taken(mail, there)
        for recipient, reason in outcome.later.items():
            now = time.monotonic()
            self._waiting[recipient] = _Waiting(now, now + self._pause(1), reason, mails=deque([mail]))

    async def _try_again(self) -> None:
        """Send what waits for recipients whose time has come."""
        for recipient, waiting in list(self._waiting.items()):
            while waiting.mails and waiting.due <= time.monotonic():
                outcome = await self._once(waiting.mails[0], [recipient])
                later = outcome.later.get(recipient)
                if later is None:
                    waiting.mails.popleft()
                elif time.monotonic() - waiting.since >= self._patience.recipient:
                    await self._refuse(waiting.mails.popleft(), {recipient: f"not taken for long: {later}"})
                else:
                    waiting.attempts, waiting.reason = waiting.attempts + 1, later
                    waiting.due = time.monotonic() + self._pause(waiting.attempts)
                    self._warn(f"`{recipient}`: {later}; trying again")
            if not waiting.mails:
                del self._waiting[recipient]

    async def _until_taken(self, mail: _Mail, recipients: list[str]) -> Outcome:
        """Send a mail until one of these has it, or all are refused: then the others may be tried later."""
        attempt = 0
        while True:
            outcome = await self._once(mail, recipients)
            if len(outcome.later) + len(outcome.refused) < len(recipients):
                self.sent += 1
                return outcome
            if not outcome.later:
                return outcome
            recipients = list(outcome.later)
            attempt += 1
            await self._pause_after(attempt, next(iter(outcome.later.values())))

    async def _once(self, mail: _Mail, recipients: list[str]) -> Outcome:
        """Send a mail as soon as the server is there; who is refused for good is told in a dead letter."""
        attempt = 0
        while True:
            self._link.requests += 1
            try:
                session = await self._open()
                outcome = await self._in_thread(session.send, self._writer.sender, recipients, mail.data)
            except (OSError, ServerRefusalError) as error:
                self._drop()
                self._link.down()
                self._link.errors += 1
                attempt += 1
                await self._pause_after(attempt, str(error))
                continue
            self.is_connected = True
            if not self._link.is_up:
                self._link.up()
            if outcome.refused:
                await self._refuse(mail, outcome.refused)
            return outcome

    async def _refuse(self, mail: _Mail, refused: dict[str, str]) -> None:
        """Nobody of these gets this mail."""
        told = "; ".join(f"`{recipient}`: {reason}" for recipient, reason in refused.items())
        for letter in mail.letters:
            await self._give_up(letter.answer, f"refused for {told}", self._lines_of)

    async def _open(self) -> MailSession:
        if self._session is None:
            session = MailSession(self._server)
            self._session = session
            await self._in_thread(session.open)
        return self._session

    async def _in_thread(self, work: Callable[..., T], *given: object) -> T:
        """Do what blocks in a thread. Who is cancelled does not wait for it: its connection is cut."""
        try:
            return await anyio.to_thread.run_sync(work, *given, abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            self._drop()
            raise

    def _drop(self) -> None:
        """End the connection, if there is one."""
        if self._session is not None:
            self._session.cut()
            self._session = None

    def _pause(self, attempt: int) -> float:
        return pause_before(attempt, self._patience.first, self._patience.longest)

    async def _pause_after(self, attempt: int, reason: str) -> None:
        self.is_connected = False
        wait = self._pause(attempt)
        self._warn(f"{reason}; trying again in {wait:.1f} s")
        await anyio.sleep(wait)

    def _warn(self, text: str) -> None:
        """Log it, but not too often."""
        moment = time.monotonic()
        if not self._told or moment - self._told >= _TOLD_EVERY:
            self._told = moment
            logger.warning("%s: %s: %s", self.name, self._server, text)
