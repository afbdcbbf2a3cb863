"""What brings sinks what they are owed, and tells how far each of them has come."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tidelog.runtime.durability import Confirming, Heading, Keeping, promise_of
from tidelog.runtime.head import SinkStanding
from tidelog.runtime.interfaces import AnyAnswer
from tidelog.runtime.owed import Owed
from tidelog.runtime.supervision import SinkActor

logger = logging.getLogger("tidelog")


class SinkFeeds:
    """The sinks of a run by the names under which they are stored, and the feed of each."""

    def __init__(self, sinks: Sequence[SinkActor], owed: Owed) -> None:
        self._sinks = {f"{i}:{sink.name}": sink for i, sink in enumerate(sinks)}
        self._owed = owed
        self._feeds: dict[str, OwedFeed] = {}

    @property
    def names(self) -> list[str]:
        """The names of the sinks, in order."""
        return list(self._sinks)

    def go_on(self, run: str, standings: Sequence[SinkStanding]) -> None:
        """Let each sink of this run go on from where it stood, and note where that is. May wait for the disk.

        SpecError or SnapshotError where one does not hold what was committed.
        """
        for standing in standings:
            actor = self._sinks[standing.name]
            sink = actor.sink
            if isinstance(sink, Keeping) and promise_of(sink) == "exactly once":
                standing.taken = sink.resume(run, standing.taken, standing.standing)
            self._feeds[standing.name] = OwedFeed(self._owed, standing.taken, actor)

    def feed(self, sink: SinkActor) -> OwedFeed:
        """What a sink reads its answers from."""
        return next(self._feeds[name] for name, other in self._sinks.items() if other is sink)

    def standings(self) -> list[SinkStanding]:
        """How far each sink has come."""
        return [self._feeds[name].standing(name) for name in self._sinks]

    def waiting(self, sink: SinkActor) -> int:
        """How many answers wait for a sink."""
        return self._owed.told - self.feed(sink).done if self._feeds else 0

    def check(self) -> None:
        """ConnectorError where what a sink keeps would be lost. May wait for the disk."""
        for actor in self._sinks.values():
            if isinstance(actor.sink, Keeping):
                actor.sink.check()


class OwedFeed:
    """Brings a sink what it is owed. `given` and `done` are the last answers that it was given, and took."""

    def __init__(self, owed: Owed, taken: int, actor: SinkActor) -> None:
        self.given = taken
        self._begin = self.done = taken
        self._owed, self._actor = owed, actor

    async def receive(self) -> Sequence[tuple[Heading | None, Sequence[AnyAnswer]]]:
        """Wait for answers that are committed: all that are at hand. EndOfStream once there will be none."""
        self.done = max(self.done, self.given)
        groups: list[tuple[Heading, Sequence[AnyAnswer]]] = []
        while not groups:
            self._skip(self._owed.first_kept - 1)
            groups = await self._owed.behind(self.given)
        heading, answers = groups[-1]
        self.given = heading.first + len(answers) - 1
        return groups

    def close(self) -> None:
        """The sink takes nothing more."""

    def _skip(self, last: int) -> None:
        """The answers up to this number are not there any more."""
        if self.given < last:
            count = last - self.given
            logger.warning("%s: %d answers were dropped, since too many waited for it", self._actor.name, count)
            self._actor.drop(count)
            self.given = self._begin = self.done = last

    def standing(self, name: str) -> SinkStanding:
        """How far the sink has come."""
        sink = self._actor.sink
        if not isinstance(sink, Confirming):
            return SinkStanding(name, self.done)
        taken = max(self._begin, sink.confirmed())
        is_kept = isinstance(sink, Keeping) and promise_of(sink) == "exactly once"
        return SinkStanding(name, taken, sink.standing() if is_kept and isinstance(sink, Keeping) else None)
