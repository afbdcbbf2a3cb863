"""asyncio's event loop in a thread of its own, beside the engine's: for libraries that need it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import Context
from typing import Any, TypeVar

import anyio.to_thread
import sniffio

T = TypeVar("T")
CallSoon = Callable[[Callable[[], object]], object]
"""Lets an event loop call something in its next turn; may be called in any thread."""


class LoopThread:
    """The loop and its thread, from `start` to `stop`."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)

    def start(self) -> None:
        """Run the loop from now on."""
        self._thread.start()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something there, and wait for what it returns, or raises; cancelled here, it is cancelled there."""
        future = self._submit(work)
        try:
            return await anyio.to_thread.run_sync(future.result, abandon_on_cancel=True)
        finally:
            future.cancel()

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """What runs there does not take over from here which event loop runs."""
        return Context().run(asyncio.run_coroutine_threadsafe, work, self.loop)

    def stop(self) -> None:
        """End what still runs there, and the thread. It may wait."""
        self._submit(_end_others()).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


async def _end_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def call_soon() -> CallSoon:
    """What reaches the event loop that runs here, be it trio's or asyncio's, from other threads."""
    if sniffio.current_async_library() == "trio":
        import trio  # noqa: PLC0415 - it runs, so it is there

        return trio.lowlevel.current_trio_token().run_sync_soon
    return asyncio.get_running_loop().call_soon_threadsafe
