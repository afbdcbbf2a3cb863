"""A sink whose messages a broker retains while what they tell holds."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, Literal, Self

import anyio
import anyio.to_thread

from tidelog.connectors.brokers.mqtt.client import MqttClient
from tidelog.connectors.brokers.mqtt.publisher import MqttPublisher, Sending
from tidelog.connectors.brokers.mqtt.retained.board import NOTHING, Board, Message, Presenter, change_of
from tidelog.connectors.brokers.mqtt.retained.store import Held, RetainedStore
from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.sinks.choosing import Choice
from tidelog.connectors.sinks.giving_up import ENCODING_ERRORS, unencodable
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.ports.interfaces import AnyAnswer

logger = logging.getLogger("tidelog")

AT_ONCE: Final = 1000
"""The changes of so many answers are written to the disk together, before they are published."""

_NOBODY: Final = ChangeRecord("", (), 0, 0)
"""For what is taken away and belongs to no answer of this run."""


class RetainingSink(MqttPublisher):
    """Lets the broker retain what a presenter shows of changes: while something holds, and nothing once it has ended.

    It keeps on the disk, in `folder`, what it has let be retained. When it connects first, and whenever the broker has not
    kept its session, and so perhaps nothing else, all of it is told anew; what does not belong there any more is taken away.
    At one topic a message is published when the broker has taken the one before, so their order stays, whatever is refused
    or sent again.
    """

    def __init__(
        self,
        name: str,
        client: MqttClient,
        presenter: Presenter,
        lines: Encoder,
        *,
        folder: str,
        qos: Literal[1, 2] = 1,
        choice: Choice | None = None,
    ) -> None:
        super().__init__(name, client, lines, qos=qos, retain=True, choice=choice)
        self._presenter, self._folder = presenter, folder
        self._run = ""
        self._board: Board
        self._store: RetainedStore
        self._stack: AsyncExitStack
        self._lanes: dict[str, deque[Sending]] = {}
        self._queued = 0
        self._is_told = False
        self._anew: anyio.Event
        self._turn: anyio.Lock

    def going_on(self, run: str) -> None:
        """The answers that come are those of this run. To be called before the sink is entered."""
        self._run = run

    async def __aenter__(self) -> Self:
        self._anew, self._turn, self._is_told = anyio.Event(), anyio.Lock(), False
        async with AsyncExitStack() as stack:
            self._store = await anyio.to_thread.run_sync(RetainedStore, self._folder)
            stack.callback(self._store.close)
            self._board = Board(self._presenter, await anyio.to_thread.run_sync(self._store.load), self._run)
            await super().__aenter__()
            stack.push_async_exit(super().__aexit__)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            tasks.start_soon(self._keep_told)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self._stack.__aexit__(*exc)

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Publish what these change; waits until the broker has it, or has refused it for good."""
        run, first = ("", 0) if self._heading is None else (self._heading.run, self._heading.first)
        async with self._turn:
            for begin in range(0, len(answers), AT_ONCE):
                found: list[tuple[AnyAnswer, str, list[Message]]] = []
                for number, given in enumerate(answers[begin : begin + AT_ONCE], first + begin):
                    answer = self._choice(given)
                    if answer is None:
                        continue
                    if isinstance(answer, HypotheticalAnswer):
                        await self._give_up(answer, "an answer to a question does not hold from one time to another")
                        continue
                    change = answer if isinstance(answer, ChangeRecord) else ChangeRecord(*answer)
                    try:
                        found.append((answer, f"{run}-{number}" if run else "", self._board.take(change, number)))
                    except ENCODING_ERRORS as error:
                        await self._give_up(answer, unencodable(error), self._lines_of)
                await self._write()
                for answer, name, messages in found:
                    for topic, payload in messages:
                        await self._begin(answer, topic, payload, name)
                self.client.flush()
                await self._wait(0)
                if self._is_told:
                    self._board.published()

    async def _write(self) -> None:
        changes = self._board.take_changes()
        if changes.places or changes.rows:
            await anyio.to_thread.run_sync(self._store.write, self._run, changes)

    # --- all of it again -------------------------------------------------------------------------------------------------

    async def _keep_told(self) -> None:
        """Tell the broker all of it whenever it may not have it."""
        while True:
            await self._anew.wait()
            async with self._turn:
                self._anew = anyio.Event()
                await self._tell_all()

    async def _tell_all(self) -> None:
        places = self._board.places
        for topic in sorted(self._board.stale()):
            await self._begin(_NOBODY, topic, NOTHING, "")
        for begin in range(0, len(places), AT_ONCE):
            shown = [found for place in places[begin : begin + AT_ONCE] if (found := self._all_of(place)) is not None]
            await self._write()
            for held, messages in shown:
                name = f"{self._run}-{held.number}" if self._run else ""
                for topic, payload in messages:
                    await self._begin(change_of(held), topic, payload, name)
        self.client.flush()
        await self._wait(0)
        if not self._anew.is_set():
            self._is_told = True
            self._board.published()
            await self._write()

    def _all_of(self, place: str) -> tuple[Held, list[Message]] | None:
        try:
            return self._board.all_of(place)
        except ENCODING_ERRORS as error:
            logger.warning("%s: `%s` cannot be told: %s", self.name, place, error)
            return None

    def _on_session(self, is_present: bool) -> None:
        super()._on_session(is_present)
        if not is_present or not self._is_told:
            self._is_told = False
            self._anew.set()

    # --- the order at one topic -------------------------------------------------------------------------------------------

    def _hand_over(self, sending: Sending) -> None:
        lane = self._lanes.get(sending.topic)
        if lane is None:
            self._lanes[sending.topic] = deque([sending])
            super()._hand_over(sending)
        else:
            lane.append(sending)
            self._queued += 1

    def _settled(self, sending: Sending) -> None:
        lane = self._lanes[sending.topic]
        lane.popleft()
        if lane:
            self._queued -= 1
            super()._hand_over(lane[0])
        else:
            del self._lanes[sending.topic]

    def _on_the_way(self) -> int:
        return super()._on_the_way() + self._queued
