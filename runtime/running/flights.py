"""Flights: events that a spread session was told, and whose answers are still on the way.

An event is noted together with all that follows from it, in the order of the events. So several may be on the way at a time,
while no commit ever has one without its answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import TidelogError
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.islands.network import Landed
from tidelog.runtime.islands.spreading import SpreadReasoner
from tidelog.runtime.journal.events import Event
from tidelog.runtime.ports.interfaces import AnyAnswer, Rejected

MOST = 8
"""How many deliveries are on the way, before no more events are taken."""
_SOON = 0.05
_SELDOM = 5.0
_MOMENT = 0.001
"""How many seconds nobody else gets on while a lone event's answers are waited for, at most."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """What follows from an event, or from what came by none. `frontier` is how far the stream was complete behind it."""

    event: Event | None
    position: dict[str, Any] | None
    frontier: int
    answers: list[AnyAnswer]
    violations: list[Violation]


@dataclass(slots=True)
class _Flight:
    number: int
    event: Event | None
    position: dict[str, Any] | None
    frontier: int
    asked: Sequence[AnyAnswer]


class Flights:
    """Knows which events are on the way. `note` takes what has arrived, in order.

    Where an actor fails for good, what is on the way never arrives, and the session has failed. Until `begin` whoever brings
    the session to where an earlier run stood pulls what it tells.
    """

    def __init__(self, session: SpreadReasoner, note: Callable[[Arrival], None]) -> None:
        self._session, self._note = session, note
        self._has_begun = False
        self._flights: deque[_Flight] = deque()
        self._answers: list[Record] = []
        self._violations: list[Violation] = []
        self._room: anyio.Event | None = None
        self._news: anyio.Event | None = None
        self._failure: TidelogError | None = None

    def begin(self) -> None:
        """From now on what arrives is noted: what was told before, such as in a replay, is not."""
        if not self._has_begun:
            self._has_begun = True
            self._session.landing, self._session.asked = self._land, self._asked
            self._session.left_out.clear()

    def depart(self, event: Event | None, position: dict[str, Any] | None) -> None:
        """The session was told an event just now."""
        session = self._session
        flight = _Flight(session.sent, event, position, session.frontier, session.pull_hypothetical())
        self._flights.append(flight)
        if session.is_local:
            self._land_some()  # all actors have answered

    def wait_a_moment(self) -> None:
        """A lone event's answers come within microseconds, mostly: to wait for them costs less than to be woken later."""
        if len(self._flights) == 1 and not self._session.is_local:
            self._session.wait(_MOMENT)
            self._land_some()

    def settle(self) -> None:
        """Wait until all events have arrived, and note what came by none."""
        with self._failing():
            self._session.drain()
        if self._answers or self._violations:
            self._arrive(None, None, self._session.frontier, ())

    def come_up(self) -> None:
        """The same, and let all be told that is known, as before a state is stored: that is noted in any case."""
        self.begin()
        with self._failing():
            self._session.come_up()
        self.settle()

    def left_out(self) -> list[Rejected]:
        """The facts that were left out since this was asked last, since an actor fails by them."""
        found, self._session.left_out = self._session.left_out, []
        return found

    @property
    def is_full(self) -> bool:
        """Whether no more events are to be taken."""
        return self._session.on_the_way >= MOST or self._session.is_full

    async def wait_for_room(self) -> None:
        """Wait until more events may be taken."""
        while self.is_full:
            self._room = anyio.Event()
            await self._room.wait()

    async def wait_for_answers(self) -> None:
        """Wait while a worker has not answered for a while: nobody else has to stand still for it."""
        while self._session.keeps_waiting:  # noqa: ASYNC110 - nobody tells when a worker does not go on
            await anyio.sleep(_SOON)

    async def keep_checking(self, within: float) -> None:
        """See now and then that each worker has answered within so many seconds; one that has not is ended."""
        while not self._session.is_local:
            await anyio.sleep(min(max(within / 4, _SOON), _SELDOM))
            self._session.check()
            self._land_some()
            if self._news is not None:
                self._news.set()

    async def keep_landing(self, pass_on: Callable[[], Awaitable[None]]) -> None:
        """Take what actors answer as soon as they do."""
        while True:
            await anyio.wait_readable(self._session.fileno())
            self._land_some()
            await pass_on()

    async def keep_passing(self, pass_on: Callable[[], Awaitable[None]]) -> None:
        """Pass on what was taken by who only asked the actors for something; raises what they failed by then."""
        while True:
            self._news = anyio.Event()
            if self._failure is not None:
                raise self._failure
            await pass_on()
            await self._news.wait()

    def _asked(self, failure: TidelogError | None) -> None:
        """Somebody has asked the actors for something, and taken what they had answered by then."""
        if failure is not None:
            self._failure, self._session.has_failed = failure, True
        if self._news is not None:
            self._news.set()

    def _land_some(self) -> None:
        with self._failing():
            self._session.land()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        had, self._session.has_failed = self._session.has_failed, True
        yield
        self._session.has_failed = had

    def _land(self, landed: Landed) -> None:
        self._answers += landed.answers
        self._violations += landed.violations
        while self._flights and self._flights[0].number <= landed.number:
            flight = self._flights.popleft()
            self._arrive(flight.event, flight.position, flight.frontier, flight.asked)
        if self._room is not None and not self.is_full:
            self._room.set()
            self._room = None

    def _arrive(
        self, event: Event | None, position: dict[str, Any] | None, frontier: int, asked: Sequence[AnyAnswer]
    ) -> None:
        answers: list[AnyAnswer] = [*self._session.explained(self._answers), *asked]
        violations = self._violations
        self._answers, self._violations = [], []
        self._note(Arrival(event, position, frontier, answers, violations))
