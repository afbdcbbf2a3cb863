"""Drives connectors as an engine does, so that a test can stop it anywhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import anyio

from tidelog.runtime.actors.supervision import Group, RestartPolicy, SinkActor
from tidelog.runtime.ports.durability import Heading, Keeping
from tidelog.runtime.ports.interfaces import AnyAnswer, Rejected, Sink, SinkStatistics

PATIENCE: float = 60.0
"""After so many seconds what has not come never will: longer than any machine takes, so that no test depends on it."""
AT_ONCE = RestartPolicy(attempts=None, delay=0.01, longest=0.05)
"""A connection that is lost is made anew at once, and for ever."""
RUN = "run1"
_LOOK = 0.005


async def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds; TimeoutError where it never does."""
    with anyio.fail_after(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what others do, in processes of their own, sets no event
            await anyio.sleep(_LOOK)


@contextmanager
def promptly() -> Iterator[None]:
    """TimeoutError where what is done in the `with` block never ends, or refuses to be cancelled for as long."""
    latest = anyio.current_time() + PATIENCE
    with anyio.fail_after(PATIENCE):
        yield
    if anyio.current_time() > latest:
        raise TimeoutError(f"it took more than {PATIENCE:g} s to leave")


class KitFeed:
    """Answers for a sink, with their numbers in the run; more may be added until the `end`."""

    def __init__(self, answers: Sequence[AnyAnswer] = (), *, first: int = 1, together: int = 3) -> None:
        self._groups: deque[Group] = deque()
        self._next, self._together = first, together
        self._has_ended, self._news = False, anyio.Event()
        self.is_idle = False
        """Whether the sink has done with all that it was given, and asks for more."""
        self.add(answers)

    def add(self, answers: Sequence[AnyAnswer]) -> None:
        """These become known, so many together."""
        for at in range(0, len(answers), self._together):
            some = answers[at : at + self._together]
            self._groups.append((Heading(RUN, self._next, 0), some))
            self._next += len(some)
        self._news.set()

    def end(self) -> None:
        """There are no more."""
        self._has_ended = True
        self._news.set()

    async def receive(self) -> Sequence[Group]:
        while not self._groups:
            if self._has_ended:
                raise anyio.EndOfStream
            self._news, self.is_idle = anyio.Event(), True
            await self._news.wait()
        self.is_idle = False
        return [self._groups.popleft()]

    def close(self) -> None:
        pass


class Driven:
    """A sink as an engine runs it, in a run of which nothing is committed yet."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.letters: list[Rejected] = []
        self.held = sink.resume(RUN, 0, None) if isinstance(sink, Keeping) else 0
        """The number of the last answer that it holds already, and is not given again."""
        self._actor = SinkActor(sink, AT_ONCE, self._take)

    async def run(self, feed: KitFeed) -> None:
        """Give it what the feed brings."""
        await self._actor.run(feed)

    def statistics(self) -> SinkStatistics:
        """What has become of its answers."""
        return self._actor.statistics()

    async def _take(self, name: str, letters: Sequence[Rejected]) -> None:
        if name != self.sink.name:
            raise AssertionError(f"the dead letter is of `{name}`, and the sink is `{self.sink.name}`")
        await anyio.lowlevel.checkpoint()
        self.letters.extend(letters)


async def deliver(sink: Sink, answers: Sequence[AnyAnswer], *, together: int = 3) -> Driven:
    """Give a sink all of these answers, to the end, beginning behind what it holds already."""
    driven = Driven(sink)
    feed = KitFeed(answers[driven.held :], first=driven.held + 1, together=together)
    feed.end()
    with promptly():
        await driven.run(feed)
    return driven
