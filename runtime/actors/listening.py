"""The sources of a run: those that it begins with, and those that a listener brings while it runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import anyio
from anyio.abc import TaskGroup

from tidelog.runtime.actors.supervision import Attempts, RestartPolicy, SourceActor, SourceEvent
from tidelog.runtime.ports.channels import Sender
from tidelog.runtime.ports.interfaces import Listener, OfNow, Source
from tidelog.runtime.ports.reachability import Standing


class Sources:
    """The actors of a run's sources. `names` are those of its beginning, `actors` all that are there now, by name."""

    def __init__(self, sources: Sequence[Source | Listener], policy: RestartPolicy, idle_after: float | None) -> None:
        self.actors: dict[str, SourceActor] = {}
        self.fixed: list[SourceActor | ListenerActor] = []
        for i, source in enumerate(sources):
            name = f"{i}:{source.name}"
            if isinstance(source, Listener):
                self.fixed.append(ListenerActor(name, source, policy, idle_after, self.actors))
            else:
                self.actors[name] = SourceActor(name, source, policy, idle_after)
                self.fixed.append(self.actors[name])
        self.names = [actor.name for actor in self.fixed]

    def connected(self) -> list[tuple[str, bool]]:
        """For each that has not ended, with its name: whether it is open, and the other side there."""
        standings = [(source.name, source.standing) for source in self.fixed]
        return [(name, standing.is_connected) for name, standing in standings if not standing.has_ended]

    def stop(self) -> None:
        """Take nothing more from any of them."""
        for actor in self.fixed:
            actor.stop()


class ListenerActor:
    """Runs one listener, and an actor for each source that it brings, which is among the `actors` for so long.

    As soon as it listens it tells that it is idle itself: it holds back nobody, but the stream goes on.
    """

    def __init__(
        self,
        name: str,
        listener: Listener,
        policy: RestartPolicy,
        idle_after: float | None,
        actors: dict[str, SourceActor],
    ) -> None:
        self.name = name
        self._listener = listener
        self._policy, self._idle_after = policy, idle_after
        self._attempts = Attempts(listener.name, policy)
        self._actors = actors
        self._own: dict[str, SourceActor] = {}
        self._count = 0
        self._stopping = False
        self._scope: anyio.CancelScope | None = None
        self.standing = Standing(listener)

    @property
    def is_recorded(self) -> bool:
        """What connections will say is not there already."""
        return False

    @property
    def is_of_now(self) -> bool:
        """Whether those who connect say nothing of an outage."""
        return isinstance(self._listener, OfNow) and self._listener.is_of_now

    def stop(self) -> None:
        """Let nobody in any more, and take nothing more from those who are there."""
        self._stopping = True
        if self._scope is not None:
            self._scope.cancel()
        for actor in list(self._own.values()):
            actor.stop()

    async def run(self, events: Sender[SourceEvent]) -> None:
        with events:
            async with anyio.create_task_group() as tasks:
                while not self._stopping:
                    await self._run_once(tasks, events)
        self.standing.has_ended = True

    async def _run_once(self, tasks: TaskGroup, events: Sender[SourceEvent]) -> None:
        """Listen until it is stopped, or has to be opened again. With it all that it brought is closed, and so ends."""
        lost: OSError | None = None
        try:
            with anyio.CancelScope() as self._scope:
                async with self._listener:
                    await events.send((self.name, "idle", math.inf))
                    with self.standing.opened():
                        await self._accept_all(tasks, events)
        except OSError as error:
            lost = error
        if lost is not None and not self._stopping:
            with anyio.CancelScope() as self._scope:
                await self._attempts.failed(lost)

    async def _accept_all(self, tasks: TaskGroup, events: Sender[SourceEvent]) -> None:
        while not self._stopping:
            source = await self._listener.accept()
            self._attempts.succeeded()
            tasks.start_soon(self._serve, source, events.clone())

    async def _serve(self, source: Source, events: Sender[SourceEvent]) -> None:
        """Run a source that has come, from beginning to end."""
        if self._stopping:
            events.close()
            return
        self._count += 1
        name = f"{self.name} #{self._count} {source.name}"
        actor = SourceActor(name, source, self._policy, self._idle_after, is_temporary=True)
        self._actors[name] = self._own[name] = actor
        try:
            await actor.run(events)
        finally:
            del self._actors[name], self._own[name]
