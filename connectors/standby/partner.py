"""The other gateway, as the one that leads knows it: how far it has copied each state, and whether commits wait for it.

A commit counts once the other one has it, as long as that keeps up. Where it has not got one within `patience`, this one
goes on alone. Before anything is told that the other one does not have, the lease says so: so whoever takes over knows
whether it has all.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import anyio

from tidelog.connectors.standby.keeper import Keeper
from tidelog.connectors.standby.shared_state import SharedState

logger = logging.getLogger("tidelog")

SILENT_SECONDS = 3.0
"""For how long the other gateway, which asks each second, may say nothing before commits wait for it no more."""


class Partner:
    """Follows what the other gateway copies of `states`, by name; within the event loop.

    `patience` is for how many seconds a commit waits for it.
    """

    def __init__(self, keeper: Keeper, patience: float, now: Callable[[], float] = time.time) -> None:
        self.states: dict[str, SharedState] = {}
        self.node = ""
        """Which node commits wait for; none while this gateway leads alone."""
        self.since = now()
        """Since when that is so, in seconds since 1970."""
        self.alone_count = 0
        """How often this gateway went on alone."""
        self._keeper, self._patience, self._now = keeper, patience, now
        self._follower = ""
        self._complete = time.monotonic()
        self._taken: dict[SharedState, int] = {}
        self._heard = time.monotonic()
        self._moved: anyio.Event | None = None
        self._leaving: anyio.Lock | None = None

    def begin(self) -> None:
        """This gateway leads from now on, alone until another one has all."""
        self.node, self._follower, self.since = "", "", self._now()
        self._taken.clear()

    def fenced(self) -> None:
        """This gateway may lead no more: whatever waits for the other one learns that from its lease, and now."""
        self.node = ""
        self._wake()

    @property
    def lagging_since(self) -> float:
        """Since when, by the monotonic clock, the other one lacks something."""
        return self._complete

    @property
    def lag(self) -> int:
        """How many commits the other one does not have, of those that it follows."""
        return sum(state.commits - self._taken.get(state, 0) for state in self.states.values()) if self._follower else 0

    def taken(self, node: str, state: SharedState, commit: int) -> None:
        """A node has all commits of a state up to this one."""
        if node != self._follower:
            if self.node:  # the one that is waited for has gone, or there are two, and one is waited for
                return
            self._follower = node
            self._taken.clear()
        self._taken[state], self._heard = commit, time.monotonic()
        self._wake()
        if not self.lag:
            self._complete = time.monotonic()
        if not self.node and all(self._has(state, state.commits) for state in self.states.values()):
            self.node, self.since = node, self._now()
            self._keeper.say_copied(node)
            logger.info("the other gateway has all: what is told from now on, it has before")

    def _wake(self) -> None:
        if self._moved is not None:
            self._moved.set()
            self._moved = None

    def _has(self, state: SharedState, commit: int) -> bool:
        return self._taken.get(state, -1) >= commit

    def is_waited_for(self) -> bool:
        """Whether commits wait until the other one has them."""
        return bool(self.node)

    async def look(self) -> None:
        """Go on alone where the other one has gone, also while nothing is committed: so the page and the lease say so."""
        if self.node and time.monotonic() - self._heard > self._patience + SILENT_SECONDS:
            await self._go_on_alone()

    async def wait(self, state: SharedState, commit: int) -> None:
        """Wait until the other one has this commit, or until the lease says that it has not."""
        with anyio.move_on_after(self._patience):
            while self.node and not self._has(state, commit):
                self._moved = self._moved or anyio.Event()
                await self._moved.wait()
            return
        await self._go_on_alone()

    async def _go_on_alone(self) -> None:
        self._leaving = self._leaving or anyio.Lock()
        async with self._leaving:
            if not self.node:
                return
            await self._keeper.wait_said(self._keeper.say_copied(""))
            self.node, self._follower, self.since = "", "", self._now()
            self.alone_count += 1
            logger.warning(
                "the other gateway is away, or too slow: this one leads alone, and what it takes and tells from now on is "
                "lost with it until the other one is back"
            )
