"""Actors: parts of a plan behind a line, each with what it takes to begin again from its last state.

An actor keeps what it was told since its last state was saved: its part of the journal. One that is gone is started anew,
goes on from that state, and is told all of it again. What it answered before is not heard twice. A state is saved once so
many facts were told since the last one that to tell them again would cost about as much.

Where an actor fails by what it was told, or ends by it twice, the fact is looked for by halves, and left out: whoever
supervises is told of it. What fails too often, or by no fact, is set aside: it is told nothing more, and others go on.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import OperatorError, StateError, TidelogError
from tidelog.runtime.islands.lines import BrokenError, Opened
from tidelog.runtime.islands.messages import Failed, Hear, Load, Outcome, Portion, Reply, Save, Saved, Told, pack
from tidelog.runtime.islands.poison import Entry, Search, UnfitError, is_of_memory, portion_of
from tidelog.runtime.islands.supervision import Supervision
from tidelog.runtime.ports.actors import ActorStatistics

MOST_TOLD = 20_000
"""How many facts an actor is told before its state is saved, at least."""
MOST_BEHIND = 5_000
"""How many facts an actor is told before its worker makes another spare, if that does not cost too much."""
_BYTES_A_FACT = 40
_BESIDE = -1
"""The number of what is no part of the journal: a spare that was made right behind it is of no use."""
Then = Callable[["Actor", Reply], None]
"""What becomes of an answer."""


Poisoned = Callable[["Actor", str, Fact, str], None]
"""Told of a fact by which an actor fails: the predicate, the fact, and why. The fact is left out."""


class Actor:
    """A part of a plan, told by `tell`, whose answers come by `pump`, each handed to who asked for it.

    `start` makes a line to a part: to a new one if that has to begin `anew`, else to one that has come along in a spare.
    `look` is the least frontier of which the actor has to be told though there is nothing else; it is known as long as no
    answer is `awaited`.
    """

    def __init__(self, name: str, island: int, shard: int, start: Callable[..., Opened], supervision: Supervision) -> None:
        self.name, self.island, self.shard = name, island, shard
        self.look = NEG
        self.poisoned: Poisoned = _overlook
        self.set_aside: Callable[[Actor], None] = _nothing
        """Sets aside who reads what the actor sends, when it is set aside."""
        self.aside_told: Callable[[Actor], None] = _nothing
        """Told of it then."""
        self.restarted: Callable[[int, bool], None] = _nobody
        """Told of a process that has ended, in which it lived, and whether it was ended since it had not answered."""
        self.aside = ""
        """Why it was."""
        self._start, self._supervision = start, supervision
        self._line, self._process, _ = start()
        self.is_local = self._line.fileno() is None
        """Whether it lives in this process, and answers at once."""
        self._log: deque[Entry] = deque()
        self._awaited: deque[tuple[int, Then]] = deque()
        self._told = self._answered = self._facts = self._fresh = self._unspared = self._restarts = 0
        self._state: bytes | None = None
        self._is_saving = False
        self._ends: deque[float] = deque()
        self._poisons: deque[float] = deque()
        self._found = 0
        self._suspect = -1
        self._listens: Sequence[str] = ()

    @property
    def is_awaited(self) -> bool:
        """Whether answers are still to come."""
        return bool(self._awaited)

    @property
    def has_news(self) -> bool:
        """Whether there is something to `pump`: it has answered, or is gone."""
        return not self.aside and self._line.has_news

    def fileno(self) -> int | None:
        """What becomes readable when it has answered."""
        return self._line.fileno()

    def tell(self, message: Told, then: Then) -> None:
        """Tell it something; `then` takes the answer. One that was set aside answers that nothing follows."""
        if self.aside:
            then(self, _NOTHING)
            return
        sent: bytes | Told = message if self.is_local else pack(message)
        self._told += 1
        self._log.append(Entry(self._told, sent, then))
        self._awaited.append((self._told, then))
        try:
            self._line.send(sent, self._told)
        except BrokenError:
            self._go_on()
        if isinstance(message, Portion):
            facts = sum(map(len, message.facts.values())) + sum(len(item.facts) for item in message.remote)
            self._facts += facts
            self._fresh += facts + 1
            self._unspared += facts + 1
            if self._fresh >= self._worth() and not self._is_saving:
                self._is_saving = True
                self.tell(Save(), _keep)
            elif self._unspared >= MOST_BEHIND:
                self._order_spare(must=False)

    def _order_spare(self, *, must: bool) -> None:
        self._unspared = 0
        if self._supervision.spares:
            self._line.order_spare(must=must)

    def _worth(self) -> int:
        """After how many facts a state is saved: to read one costs about as much as to take a fact for each row."""
        return max(MOST_TOLD, len(self._state or b"") // _BYTES_A_FACT)

    def pump(self, timeout: float | None = 0.0) -> None:
        """Hand on the answers that have come; where none has, wait so long for one."""
        try:
            self._line.pump(timeout)
        except BrokenError:
            self._go_on()
            return
        self._hand_on()

    def _go_on(self) -> None:
        """The part is gone; what it said before that counts."""
        line = self._line
        self._hand_on()
        if self._line is line:  # else it had failed before, and there is another
            self._begin_again()

    def _hand_on(self) -> None:
        replies = self._line.replies
        while replies and not self.aside:  # what it said before it was set aside is awaited by nobody
            reply = replies.popleft()
            if isinstance(reply, Failed):
                self._look_for_poison(reply.as_error())
                return
            self._take(reply)

    def _take(self, reply: Reply) -> None:
        number, then = self._awaited.popleft()
        self._answered = max(self._answered, number)
        if isinstance(reply, Outcome | Saved):
            self.look = reply.look
        then(self, reply)

    @property
    def waits(self) -> int:
        """How many of its answers are still to come."""
        return len(self._awaited)

    @property
    def unanswered(self) -> float:
        """For how many seconds its process has not answered though it was asked; 0 where it does not keep one waiting."""
        return 0.0 if self.aside else self._line.unanswered

    def statistics(self, waits: int, rows: int, seconds: float, frontier: int, waits_for: str) -> ActorStatistics:
        """What became of it so far, together with what only others know."""
        return ActorStatistics(
            name=self.name,
            island=self.island,
            shard=self.shard,
            process=self._process,
            told=self._told,
            facts=self._facts,
            answered=self._answered,
            waits=waits,
            restarts=self._restarts,
            poisons=self._found,
            log=len(self._log),
            state_bytes=len(self._state or b""),
            aside=self.aside,
            rows=rows,
            seconds=seconds,
            frontier=frontier,
            waits_for=waits_for,
        )

    def close(self) -> None:
        """It is told nothing more."""
        self._line.close()

    # --- beginning again ------------------------------------------------------------------------------------------------

    def keep(self, state: bytes) -> None:
        """This is its state behind the last answer: what was told before need not be told again."""
        self._state, self._is_saving, self._fresh = state, False, 0
        while self._log and self._log[0].number <= self._answered:
            self._log.popleft()
        self._order_spare(must=True)  # an earlier one may not know what is told no more

    def go_on_from(self, state: bytes) -> None:
        """Go on from this state, whatever was told before; no answer is awaited.

        A part that was told something is replaced: a state is read by those that were told nothing.
        """
        if self.aside:
            return
        self._log.clear()
        self._state, self._is_saving, self._fresh = state, False, 0
        try:
            if self._told:
                self._renew(anew=True)
            self._tell_again(None)
        except BrokenError:
            self._begin_again()
        self._order_spare(must=True)

    def _begin_again(self) -> None:
        """The part is gone: start another, which comes to where that one was."""
        if self.aside:
            return
        self.restarted(self._process, self._line.was_hung)
        while True:
            blame = self._line.blame
            if blame != "others" and self._is_too_often(self._ends, self._supervision.restarts):
                most, within = self._supervision.restarts, self._supervision.within
                self._give_up(f"its process ended more than {most} times within {within:g} s")
                return
            if blame == "it":
                if self._suspect == self._answered and self._line.was_hung:  # each trial would take as long again
                    seconds = self._supervision.answers_within
                    self._give_up(f"it did not answer within {seconds:g} s, twice behind the same facts")
                    return
                if self._suspect == self._answered and self._suspected() is not None:
                    self._look_for_poison(
                        OperatorError("", "", "(an actor)", "its process ended twice behind the same fact")
                    )
                    return
                self._suspect = self._answered
            self._restarts += 1
            taken = self._renew()
            if taken is not None and not self._begin <= taken <= self._answered:
                taken = self._renew(anew=True)
            with suppress(BrokenError):
                self._tell_again(taken)
                self._order_spare(must=True)
                return

    @property
    def _begin(self) -> int:
        """The number of the last message that its state rests on."""
        return self._log[0].number - 1 if self._log else self._told

    def _renew(self, *, anew: bool = False) -> int | None:
        """Start another part; returns how much that has taken already, if it has come along in a spare."""
        self._line.close()
        self._line, self._process, taken = self._start(anew=anew)
        return taken

    def listen(self, steps: Sequence[str], then: Then) -> None:
        """Tell what these steps take and send, and of no other, also once it is started anew."""
        self._listens = steps
        self.tell(Hear(steps), then)

    def _tell_again(self, taken: int | None) -> None:
        self._awaited.clear()
        if taken is None:
            if self._listens:
                self._send_beside(Hear(self._listens))
            if self._state is not None:
                self._send_state(self._state)
        for number, message, then in self._log:
            if taken is None or number > taken:
                self._awaited.append((number, _ignore if number <= self._answered else then))
                self._line.send(message, number)

    def _send_state(self, state: bytes) -> None:
        self._send_beside(Load(state), self._begin)

    def _send_beside(self, message: Told, number: int = _BESIDE) -> None:
        """Tell it something that is no part of its journal; behind a state it is where that `number` was."""
        self._awaited.append((0, _ignore))
        self._line.send(message if self.is_local else pack(message), number)

    def _is_too_often(self, times: deque[float], most: int) -> bool:
        """Note that something has happened once more, and say whether that was too often."""
        now = time.monotonic()
        times.append(now)
        while times[0] < now - self._supervision.within:
            times.popleft()
        return len(times) > most

    # --- what cannot be taken -------------------------------------------------------------------------------------------

    def _look_for_poison(self, error: TidelogError) -> None:
        """What it was told first of what it has not answered, it cannot take: leave out the facts by which it fails."""
        suspected = self._suspected()
        is_of_room = isinstance(error, StateError) or is_of_memory(error)
        if self._supervision.strategy == "end" or is_of_room or suspected is None:
            self._give_up(_told(error), error)
            return
        entry, portion = suspected
        number = entry.number
        search = Search(self, [found for found in self._log if found.number < number])
        try:
            outcome, pieces = search.take(portion)
        except UnfitError as unfit:
            self._give_up(_told(unfit.error or error), error)
            return
        if search.poisons:  # they, which it is not told again, have ended its process
            self._ends.clear()
        for predicate, fact, reason in search.poisons:
            self._found += 1
            self.poisoned(self, predicate, fact, reason)
            if self._is_too_often(self._poisons, self._supervision.poisons):
                self._give_up(f"it fails by more than {self._supervision.poisons} facts: {reason}", error)
                return
        later = [found for found in self._log if found.number > number]
        self._log = deque([*search.before, *(Entry(number, piece, _ignore) for piece in pieces), *later])
        self._awaited.clear()
        self._awaited.append((number, entry.then))
        try:
            for found in later:
                self._awaited.append((found.number, found.then))
                self._line.send(found.message, found.number)
        except BrokenError:
            self._take(outcome)
            self._begin_again()
            return
        self._take(outcome)

    def _suspected(self) -> tuple[Entry, Portion] | None:
        """What it was told first of what it has not answered, where that has facts that may be left out."""
        number = self._answered + 1
        if self._awaited and self._awaited[0][0] != number:
            return None
        entry = next((found for found in self._log if found.number == number), None)
        portion = None if entry is None else portion_of(entry.message)
        if entry is None or portion is None or not portion.facts or portion.arrivals:
            return None
        return entry, portion

    def try_again(self, messages: Sequence[bytes | Told], state: bytes | None) -> list[Reply]:
        """Start anew from a state, be told these messages, and return the answers, up to the first failure."""
        self._renew(anew=True)
        self._awaited.clear()
        found: list[Reply] = []
        try:
            if self._listens:
                self._ask(Hear(self._listens))
            if state is not None:
                found.append(self._ask(Load(state)))
            for message in messages:
                found.append(self._ask(message))
                if isinstance(found[-1], Failed):
                    break
        except BrokenError:
            found.append(Failed("", ("its process ended",)))
        return found[1:] if state is not None else found

    def ask_now(self, message: Told) -> Reply:
        """Tell it something beside all else, and wait for the answer."""
        try:
            return self._ask(message)
        except BrokenError:
            return Failed("", ("its process ended",))

    def _ask(self, message: bytes | Told) -> Reply:
        self._line.send(message if isinstance(message, bytes) or self.is_local else pack(message), _BESIDE)
        while not self._line.replies:
            self._line.pump(None)
        return self._line.replies.popleft()

    @property
    def saved(self) -> bytes | None:
        """The state from which it would go on."""
        return self._state

    def _give_up(self, reason: str, error: TidelogError | None = None) -> None:
        """Set it aside, or end the run."""
        if self._supervision.strategy == "end":
            raise error or OperatorError("", "", "(an actor)", reason)
        self.put_aside(reason)

    def put_aside(self, reason: str) -> None:
        """Be told nothing more: what is awaited is answered by nothing."""
        if self.aside:
            return
        self.aside, self.look = reason, POS
        self._line.close()
        unanswered = [entry for entry in self._log if entry.number > self._answered]
        self._log.clear()
        self._awaited.clear()
        self._state = None
        self.aside_told(self)
        self.set_aside(self)
        for entry in unanswered:
            self._answered = entry.number
            entry.then(self, _NOTHING)


_NOTHING = Outcome()


def _told(error: TidelogError) -> str:
    """What is said of an error: of one that is no step's, the reason alone; how much a run had done is not the actor's."""
    if isinstance(error, StateError):
        return str(error).split("; ")[0]
    return error.reason if isinstance(error, OperatorError) and not error.step else str(error)


def _overlook(actor: Actor, predicate: str, fact: Fact, reason: str) -> None:
    """Nobody wants to know."""


def _nobody(process: int, was_hung: bool) -> None:
    """Nobody wants to know."""


def _nothing(actor: Actor) -> None:
    """Nobody wants to know."""


def _ignore(actor: Actor, reply: Reply) -> None:
    """The answer was heard before."""


def _keep(actor: Actor, reply: Reply) -> None:
    if isinstance(reply, Saved):
        actor.keep(reply.state)
