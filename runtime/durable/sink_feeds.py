"""Feeds of sinks: each sink reads the answers that it has not taken yet, and it is noted how far it has come."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import anyio

from tidelog.runtime.actors.supervision import SinkActor
from tidelog.runtime.journal.delivery_queue import Owed
from tidelog.runtime.journal.manifest import SinkStanding
from tidelog.runtime.ports.durability import Confirming, Heading, Keeping, promise_of
from tidelog.runtime.ports.interfaces import AnyAnswer

logger = logging.getLogger("tidelog")

_TOLD_EVERY = 60.0
"""How many seconds lie at least between two warnings that answers of a sink that is away are dropped, or that it is slow."""


class SinkFeeds:
    """The sinks of a run by the names under which they are stored, and the feed of each."""

    def __init__(self, sinks: Sequence[SinkActor], owed: Owed) -> None:
        self._sinks = {f"{i}:{sink.name}": sink for i, sink in enumerate(sinks)}
        self._owed = owed
        self._feeds: dict[str, OwedFeed] = {}
        self._silent_until = 0.0

    @property
    def names(self) -> list[str]:
        """The names of the sinks, in order."""
        return list(self._sinks)

    def go_on(self, run: str, standings: Sequence[SinkStanding], *, own: bool = True) -> None:
        """Let each sink of this run go on from where it stood, and note where that is. May wait for the disk.

        Unless what it keeps is this process's `own`, it goes behind what it holds: another one has told the answers before.
        SpecError or SnapshotError where one does not hold what was committed.
        """
        for standing in standings:
            actor = self._sinks[standing.name]
            sink = actor.sink
            if isinstance(sink, Keeping) and promise_of(sink) == "exactly once":
                standing.taken = sink.resume(run, standing.taken, standing.standing if own else None)
            self._feeds[standing.name] = OwedFeed(self._owed, standing.taken, actor)

    def feed(self, sink: SinkActor) -> OwedFeed:
        """What a sink reads its answers from."""
        return next(self._feeds[name] for name, other in self._sinks.items() if other is sink)

    def standings(self) -> list[SinkStanding]:
        """How far each sink has come."""
        return [self._feeds[name].standing(name) for name in self._sinks]

    def waiting(self, sink: SinkActor) -> int:
        """How many answers wait for a sink."""
        return self._owed.told - self.feed(sink).passed if self._feeds else 0

    def _tell_slowest(self) -> None:
        """Say which sink it is for which sources have to wait."""
        if self._owed.owing().are_sources_waiting and anyio.current_time() >= self._silent_until:
            self._silent_until = anyio.current_time() + _TOLD_EVERY
            slowest = max(self._sinks.values(), key=self.waiting)
            told = "sources wait until sinks have taken more: %d answers wait for %s, the slowest"
            logger.warning(told, self.waiting(slowest), slowest.name)

    def note_dropped(self) -> None:
        """Count what a commit has dropped, for the sinks that have not come for it; and say for which sink sources wait."""
        for feed in self._feeds.values():
            feed.note_dropped()
        self._tell_slowest()

    def check(self) -> None:
        """ConnectorError where what a sink keeps would be lost. May wait for the disk."""
        for actor in self._sinks.values():
            if isinstance(actor.sink, Keeping):
                actor.sink.check()


class OwedFeed:
    """Brings a sink what it is owed. `given` and `done` are the last answers that it was given, and took."""

    def __init__(self, owed: Owed, taken: int, actor: SinkActor) -> None:
        self.given = taken
        self._begin = self.done = self._gone = taken
        self._owed, self._actor = owed, actor
        self._confirming = actor.sink if isinstance(actor.sink, Confirming) else None  # asked once: it takes long
        self._untold, self._silent_until = 0, 0.0
        self._most = owed.limits(actor.name).waiting
        self._is_asking = False

    async def receive(self) -> Sequence[tuple[Heading | None, Sequence[AnyAnswer]]]:
        """Wait for answers that are committed: all that are at hand. EndOfStream once there will be none.

        They come as one, unless the sink confirms them, or wants to know how far the stream was complete for each.
        """
        self.done = max(self.done, self.given)
        groups: list[tuple[Heading, Sequence[AnyAnswer]]] = []
        while not groups:
            self._skip()
            self._is_asking = True
            try:
                groups = await self._owed.behind(self.given)
            finally:
                self._is_asking = False
        heading, answers = groups[-1]
        self.given = heading.first + len(answers) - 1
        if self._confirming is not None or len(groups) == 1:
            return groups
        return [(groups[0][0], [answer for _, answers in groups for answer in answers])]

    @property
    def passed(self) -> int:
        """How many answers it took, or will never be given."""
        return self.done + max(0, self._gone - self.given)

    def close(self) -> None:
        """The sink takes nothing more."""

    def note_dropped(self) -> None:
        """Count what is not there any more, and was not given: also while the sink is away, and comes for nothing."""
        last = self._owed.first_kept - 1
        if self._most is not None and not self._is_asking:  # who asks for more is not behind, however much comes at once
            last = max(last, self._owed.committed - self._most)
        count = last - max(self.given, self._gone)
        if count > 0:
            self._gone = last
            self._actor.drop(count)
            self._untold += count
            if anyio.current_time() >= self._silent_until:
                self._tell_dropped()

    def _tell_dropped(self) -> None:
        logger.warning("%s: %d answers were dropped, since too many waited for it", self._actor.name, self._untold)
        self._untold, self._silent_until = 0, anyio.current_time() + _TOLD_EVERY

    def _skip(self) -> None:
        """Go on behind the answers that are not there any more."""
        self.note_dropped()
        if self._untold:
            self._tell_dropped()
        if self.given < self._gone:
            self.given = self._begin = self.done = self._gone

    def standing(self, name: str) -> SinkStanding:
        """How far the sink has come."""
        sink = self._confirming
        if sink is None:
            is_behind = (
                self._most is not None and self._gone > self.given
            )  # what it is given now is older than what is dropped
            return SinkStanding(name, self._gone if is_behind else self.done)
        taken = max(self._begin, sink.confirmed())
        is_kept = isinstance(sink, Keeping) and promise_of(sink) == "exactly once"
        return SinkStanding(name, taken, sink.standing() if is_kept and isinstance(sink, Keeping) else None)
