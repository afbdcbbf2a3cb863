"""Actions: what people do over HTTP becomes facts, each brought by a source of its own that ends with it.

So an action holds back nobody: the watermark of the other sources goes on without it.
"""

from __future__ import annotations

from collections import deque

import anyio
import anyio.lowlevel

from tidelog.connectors.http.watching.ingest import Posted

MAX_WAITING = 64
"""How many actions wait for the engine; the next one is told to come again."""


class Actions:
    """A listener that brings a source for each action."""

    is_of_now = True
    """Nobody acts while the desk is away."""

    def __init__(self, *, name: str = "desk", capacity: int = MAX_WAITING) -> None:
        self.name = name
        self._capacity = capacity
        self._waiting: deque[Posted] = deque()
        self._came = anyio.Event()
        self._is_open = False

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_open(self) -> bool:
        """Whether an engine takes actions."""
        return self._is_open

    async def __aenter__(self) -> Actions:
        self._is_open = True
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._is_open = False
        self._waiting.clear()

    def offer(self, action: Posted) -> bool:
        """Hand over an action; False where there is no room, or no engine."""
        if not self._is_open or len(self._waiting) >= self._capacity:
            return False
        self._waiting.append(action)
        self._came.set()
        return True

    async def accept(self) -> ActionSource:
        """The source of the next action."""
        await anyio.lowlevel.checkpoint()
        while not self._waiting:
            self._came = anyio.Event()
            await self._came.wait()
        return ActionSource(self.name, self._waiting.popleft())


class ActionSource:
    """One action."""

    def __init__(self, name: str, action: Posted) -> None:
        self.name = name
        self._action: Posted | None = action

    async def __aenter__(self) -> ActionSource:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    async def receive(self) -> Posted | None:
        """The action, and then nothing more."""
        action, self._action = self._action, None
        return action
