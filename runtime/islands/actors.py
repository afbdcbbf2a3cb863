"""Actors: parts of a plan behind a line, each with what it takes to begin again from its last state.

An actor keeps what it was told since its last state was saved: its part of the journal. One that is gone is started anew,
goes on from that state, and is told all of it again. What it answered before is not heard twice. A state is saved once so
many facts were told since the last one that to tell them again would cost about as much.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.plans.data.timeline import NEG
from tidelog.runtime.islands.lines import BrokenError, Line
from tidelog.runtime.islands.messages import Failed, Load, Outcome, Portion, Reply, Save, Saved, Told, pack

MOST_TOLD = 20_000
"""How many facts an actor is told before its state is saved, at least."""
_BYTES_A_FACT = 40
Then = Callable[["Actor", Reply], None]
"""What becomes of an answer."""


class _Entry(NamedTuple):
    """A message that was told: its number, what was sent, and what becomes of the answer."""

    number: int
    message: bytes | Told
    then: Then


@dataclass(slots=True)
class ActorStatistics:
    """What became of an actor so far: how much it was told and answered, how often it was started anew.

    `waits` is how many of its answers are still to come; `aside` is why it was set aside, or empty.
    """

    name: str
    island: int
    shard: int
    process: int
    told: int
    facts: int
    answered: int
    waits: int
    restarts: int
    log: int
    state_bytes: int
    aside: str = ""


class Actor:
    """A part of a plan, told by `tell`, whose answers come by `pump`, each handed to who asked for it.

    `start` makes a line to a new part, and tells the process in which it lives. `look` is the least frontier of which the
    actor has to be told though there is nothing else; it is known as long as no answer is `awaited`.
    """

    def __init__(self, name: str, island: int, shard: int, start: Callable[[], tuple[Line, int]]) -> None:
        self.name, self.island, self.shard = name, island, shard
        self.look = NEG
        self.failed: Callable[[Actor, Failed], None] | None = None
        """Who decides what becomes of a failure that is not of the process, but of what the actor was told."""
        self._start = start
        self._line, self._process = start()
        self._log: deque[_Entry] = deque()
        self._awaited: deque[tuple[int, Then]] = deque()
        self._told = self._answered = self._facts = self._fresh = self._restarts = 0
        self._state: bytes | None = None
        self._is_saving = False

    @property
    def is_awaited(self) -> bool:
        """Whether answers are still to come."""
        return bool(self._awaited)

    @property
    def is_local(self) -> bool:
        """Whether it answers at once."""
        return self._line.fileno() is None

    def fileno(self) -> int | None:
        """What becomes readable when it has answered."""
        return self._line.fileno()

    def tell(self, message: Told, then: Then) -> None:
        """Tell it something; `then` takes the answer."""
        sent: bytes | Told = message if self.is_local else pack(message)
        self._told += 1
        self._log.append(_Entry(self._told, sent, then))
        self._awaited.append((self._told, then))
        try:
            self._line.send(sent)
        except BrokenError:
            self._begin_again()
        if isinstance(message, Portion):
            facts = sum(map(len, message.facts.values())) + sum(len(item.facts) for item in message.remote)
            self._facts += facts
            self._fresh += facts
            if self._fresh >= self._worth() and not self._is_saving:
                self._is_saving = True
                self.tell(Save(), _keep)

    def _worth(self) -> int:
        """After how many facts a state is saved: to read one costs about as much as to take a fact for each row."""
        return max(MOST_TOLD, len(self._state or b"") // _BYTES_A_FACT)

    def pump(self, timeout: float | None = 0.0) -> None:
        """Hand on the answers that have come; where none has, wait so long for one."""
        try:
            self._line.pump(timeout)
        except BrokenError:
            self._hand_on()  # what it said before it broke counts
            self._begin_again()
            return
        self._hand_on()

    def _hand_on(self) -> None:
        replies = self._line.replies
        while replies:
            reply = replies.popleft()
            if isinstance(reply, Failed):
                self._fail(reply)
                return
            number, then = self._awaited.popleft()
            self._answered = max(self._answered, number)
            if isinstance(reply, Outcome | Saved):
                self.look = reply.look
            then(self, reply)

    def _fail(self, reply: Failed) -> None:
        if self.failed is None:
            raise reply.as_error()
        self.failed(self, reply)

    # --- beginning again ------------------------------------------------------------------------------------------------

    def keep(self, state: bytes) -> None:
        """This is its state behind the last answer: what was told before need not be told again."""
        self._state, self._is_saving, self._fresh = state, False, 0
        while self._log and self._log[0].number <= self._answered:
            self._log.popleft()

    def go_on_from(self, state: bytes) -> None:
        """Go on from this state, whatever was told before; no answer is awaited."""
        self._log.clear()
        self._state, self._is_saving, self._fresh = state, False, 0
        try:
            self._send_state(state)
        except BrokenError:
            self._begin_again()

    def _begin_again(self) -> None:
        """The part is gone: start another, which comes to where that one was."""
        while True:
            self._restarts += 1
            self._line.close()
            self._line, self._process = self._start()
            with suppress(BrokenError):
                self._tell_again()
                return

    def _tell_again(self) -> None:
        self._awaited.clear()
        if self._state is not None:
            self._send_state(self._state)
        for number, message, then in self._log:
            self._awaited.append((number, _ignore if number <= self._answered else then))
            self._line.send(message)

    def _send_state(self, state: bytes) -> None:
        self._awaited.append((0, _ignore))
        message = Load(state)
        self._line.send(message if self.is_local else pack(message))

    def close(self) -> None:
        """It is told nothing more."""
        self._line.close()


def _ignore(actor: Actor, reply: Reply) -> None:
    """The answer was heard before."""


def _keep(actor: Actor, reply: Reply) -> None:
    if isinstance(reply, Saved):
        actor.keep(reply.state)
