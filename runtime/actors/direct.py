"""Answers straight to the sinks: what a run without a state does with what its session tells, and with its sources' news."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tidelog.runtime.actors.supervision import SinkActor, SourceActor
from tidelog.runtime.journal.events import Event, Taken
from tidelog.runtime.ports.channels import Channel, Sender
from tidelog.runtime.ports.durability import Heading
from tidelog.runtime.ports.interfaces import AnyAnswer

_NOTHING = nullcontext()


class Direct:
    """Passes on answers through bounded channels, so that a slow sink slows down the sources; and gives receipts at once."""

    is_storing = goes_on = is_spoiled = False
    """It stores nothing, so no later run goes on."""

    def __init__(self, actors: Mapping[str, SourceActor], sinks: Sequence[SinkActor]) -> None:
        self._actors, self._sinks = actors, sinks
        self._channels: list[Channel[Sequence[AnyAnswer]]] = []
        self._ends: list[Sender[Sequence[AnyAnswer]]] = []
        self._receipts: dict[str, dict[str, Any]] = {}
        self._answers: list[AnyAnswer] = []
        self.told = 0

    async def begin(self) -> None:
        """From now on within the event loop."""
        self._channels = [Channel() for _ in self._sinks]
        self._ends = [channel.sender() for channel in self._channels]
        for channel in self._channels:
            channel.seal()

    def feed(self, sink: SinkActor) -> ChannelFeed:
        """What a sink reads its answers from."""
        return ChannelFeed(self._channels[self._sinks.index(sink)])

    def has_ended(self, name: str) -> bool:
        """Whether a source has ended in an earlier run: there is none."""
        return False

    def note(self, event: Event, position: dict[str, Any] | None, answers: Sequence[AnyAnswer], frontier: int) -> None:
        """The session has been told this event; its source then stands at `position`, if it told one."""
        if isinstance(event, Taken) and position is not None:
            self._receipts[event.source] = position
        self.tell(answers, frontier)

    def tell(self, answers: Sequence[AnyAnswer], frontier: int) -> None:
        """The session has told these answers."""
        self._answers += answers
        self.told += len(answers)

    async def pass_on(self) -> None:
        """Send every sink what became known; then sources learn that what they brought counts."""
        answers, self._answers = self._answers, []
        for end in self._ends if answers else ():
            await end.send(answers)
        self._give_receipts()

    def _give_receipts(self) -> None:
        receipts, self._receipts = self._receipts, {}
        for name, position in receipts.items():
            if name in self._actors:
                self._actors[name].acknowledge(position)

    def pass_on_nowait(self) -> bool:
        """Do what `pass_on` does, where that needs no waiting; returns whether it was so."""
        if self._answers:
            for end in self._ends:
                if not end.has_room():
                    return False
            answers, self._answers = self._answers, []
            for end in self._ends:
                end.send_nowait(answers)
        self._give_receipts()
        return True

    async def wait_for_room(self) -> bool:
        """There is always room: channels wait themselves."""
        return True

    def noting(self) -> AbstractContextManager[None]:
        """The session is told something inside, which is noted then."""
        return _NOTHING

    async def keep_going(self) -> None:
        """Nothing has to be done beside."""

    async def finish(self) -> None:
        """Send what was told last."""
        await self.pass_on()

    async def end(self) -> None:
        """Nothing has to be stored; a sink that was never begun holds nothing open."""
        for channel in self._channels:
            channel.close()

    def close(self) -> None:
        """The sinks come to their end once they have what was told."""
        for end in self._ends:
            end.close()

    def waiting(self, sink: SinkActor) -> int:
        """How many answers wait for this sink."""
        return self.told - sink.taken

    @property
    def stored(self) -> int:
        """How many answers every sink has taken."""
        return min((sink.taken for sink in self._sinks), default=0)

    @property
    def untaken(self) -> int:
        """How many answers wait for the slowest sink, in memory."""
        return self.told - min((sink.taken for sink in self._sinks), default=self.told)


class ChannelFeed:
    """Brings a sink what a channel brings."""

    def __init__(self, inbox: Channel[Sequence[AnyAnswer]]) -> None:
        self._inbox = inbox

    async def receive(self) -> Sequence[tuple[Heading | None, Sequence[AnyAnswer]]]:
        """Wait for answers: all that are at hand, as one. EndOfStream where there will be none."""
        return [(None, [answer for answers in await self._inbox.receive_all() for answer in answers])]

    def close(self) -> None:
        """The sink takes nothing more."""
        self._inbox.close()
