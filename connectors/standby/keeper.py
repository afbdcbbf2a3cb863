"""Looks after a lease in a thread of its own: an event loop that computes for long does not lose it.

The thread renews the lease while this node leads, and looks who leads while it does not. It has no part in what is told:
whoever tells something asks the lease.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import TypeVar

import anyio
import anyio.to_thread

from tidelog.connectors.standby.lease import Claim, Lease, Seen
from tidelog.plans.diagnostics.errors import FencedError

logger = logging.getLogger("tidelog")

T = TypeVar("T")

LOOKS = 3
"""How many times as often as it is renewed a lease is looked at by who does not lead."""
STUCK_SECONDS = 30.0
"""For how long an event loop may not turn before its lease is not renewed any more."""
_POLL = 0.005


class Keeper:
    """Renews a lease `every` so many seconds, or looks at it. Within the event loop, but for its thread.

    `copied` is the node that has all that is told, which the next renewal says.
    """

    def __init__(self, lease: Lease, every: float) -> None:
        self.lease, self._every = lease, every
        self.seen: Seen | None = None
        """What was seen last of who leads, while this node does not."""
        self.problem = ""
        """Why the storage could not be reached at the last attempt."""
        self._copied = ""
        self._asked = self._done = 0
        self._leads = self._stops = False
        self._turned = time.monotonic()
        self._guard = Lock()  # a lease is used by one thread at a time
        self._wake = Event()
        self._thread = Thread(target=self._run, name="lease", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look and renew no more. A thread that waits for the storage is left."""
        self._stops = True
        self._wake.set()

    def turned(self) -> None:
        """The event loop turns."""
        self._turned = time.monotonic()

    async def claim(self, expected: Claim | None, least: int, *, now: bool = False) -> bool:
        """Claim the lease, as `Lease.claim` says; False also where the storage cannot be reached."""
        self._copied = ""
        self._leads = await self._ask(lambda: self.lease.claim(expected, least, now=now), default=False)
        self._wake.set()
        return self._leads

    async def may_begin(self) -> bool:
        """Whether the one before has stopped."""
        return await self._ask(self.lease.may_begin, default=False)

    async def end(self) -> None:
        """Lead no more, and say so. To be called once nothing is told any more."""
        self._leads = False
        await self._ask(self.lease.end, default=None)
        self.seen = None
        self._wake.set()

    async def _ask(self, question: Callable[[], T], default: T) -> T:
        """The answer of the storage, which may not come: then whoever asks can be cancelled."""

        def ask() -> T:
            with self._guard:
                return question()

        try:
            return await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
        except OSError as error:
            self.problem = str(error)
            return default

    # --- who has a copy -------------------------------------------------------------------------------------------------

    def say_copied(self, node: str) -> int:
        """Let the lease say soon which node has all that is told; returns a number for `is_said`."""
        self._copied = node
        self._asked += 1
        self._wake.set()
        return self._asked

    async def wait_said(self, number: int) -> None:
        """Wait until the lease says so. FencedError where it is over before."""
        while self._done < number:
            self.lease.check()
            await anyio.sleep(_POLL)

    # --- the thread -----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stops:
            try:
                with self._guard:
                    self._look_after()
                self.problem = ""
            except FencedError as error:
                self._leads = False
                logger.warning("%s", error)
            except OSError as error:
                self.problem = str(error)
            self._wake.wait(self._every if self._leads else self._every / LOOKS)
            self._wake.clear()

    def _look_after(self) -> None:
        if not self._leads:
            self.seen = self.lease.look()
        elif time.monotonic() - self._turned < STUCK_SECONDS:
            asked = self._asked
            self.lease.renew(self._copied)
            self._done = asked
