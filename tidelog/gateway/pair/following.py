"""A program of a gateway that follows: what the other one commits is stored here, and told the session, which stays hot."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import anyio
import anyio.to_thread

from tidelog.connectors.standby.leader import Leader, OutrunError
from tidelog.connectors.standby.shared_state import Entry, SharedState
from tidelog.connectors.store.state_store import FILE, PRIVATE
from tidelog.connectors.store.syncing import make_folder, sync_name
from tidelog.gateway.engines import Running
from tidelog.plans.diagnostics.errors import ConnectorError, TidelogError
from tidelog.runtime.durable.hot import Hot

logger = logging.getLogger("tidelog")

WAIT = 1.0
"""For how many seconds it is waited for a commit before it is asked again: so it is known that the other one is there."""
_AGAIN = 0.1
"""After how many seconds one that could not be asked is asked again."""
_ASIDE = 3
"""How many states that were replaced are kept."""


class Follower:
    """Follows one program, while `run` runs; then `running` goes on from there, on `state`.

    `open_state` opens the state in a folder, `make` makes what runs the program on a state.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        leader: Leader,
        open_state: Callable[[], SharedState],
        make: Callable[[SharedState], Running],
    ) -> None:
        self.name, self._folder, self._leader = name, folder, leader
        self._open_state, self._make = open_state, make
        self.lag = 0
        """How many commits the other gateway has, and this one has not."""
        self.heard = 0.0
        """When, by the monotonic clock, this one had all that the other one has committed."""
        self.problem = ""
        self._hot: Hot | None = None
        self.state: SharedState
        self.running: Running

    async def open(self) -> None:
        """Come to where the state stands. Raises what a restart would."""
        self.state = await anyio.to_thread.run_sync(self._open_state)
        try:
            self.running = self._make(self.state)
            self._hot = await self.running.stand_by()
        except BaseException:
            self.state.close()
            raise

    @property
    def is_hot(self) -> bool:
        """Whether the session is where the state is."""
        return self._hot is not None and self._hot.is_hot

    async def make_ready(self) -> None:
        """Where the session is not hot, put one in its place that a restart brings to where the state stands."""
        if not self.is_hot:
            self.running.leave()
            self.running = self._make(self.state)

    async def run(self) -> None:
        """Follow until cancelled: what has come is stored, and told, nevertheless."""
        while True:
            try:
                await self._follow()
            except OutrunError:
                await self._take_copy()
            except ConnectorError as error:
                self.problem = str(error)
                await anyio.sleep(_AGAIN)

    async def _follow(self) -> None:
        reply = await self._leader.behind(self.name, self.state.position, WAIT)
        self.problem = ""
        with anyio.CancelScope(shield=True):
            for entry in reply.entries:
                await self._take(entry)
        self.lag = reply.last - self.state.commits
        if not self.lag:
            self.heard = time.monotonic()

    async def _take(self, entry: Entry) -> None:
        changes = await anyio.to_thread.run_sync(self.state.follow, entry)
        if self._hot is None or not self._hot.is_hot:
            if self._hot is None and self.state.commits == 1:  # the first one: now there is something to follow
                self._hot = await self.running.stand_by()
            return
        try:
            await self._hot.follow(changes)
        except TidelogError as error:
            logger.warning("%s: cannot take what the other gateway has taken: %s", self.name, error)
        if not self._hot.is_hot:
            logger.warning("%s: the state is followed, and taking over will take as long as a restart", self.name)

    # --- the whole of it ------------------------------------------------------------------------------------------------

    async def _take_copy(self) -> None:
        """Put a copy of the other one's state into the place of this one, which is set aside."""
        logger.info("%s: taking a copy of the state of the other gateway", self.name)
        new = self._folder.with_name(f".{self._folder.name}.copy")
        try:
            await anyio.to_thread.run_sync(_empty, new)
            await self._leader.copy(self.name, str(new / FILE))
        except (ConnectorError, OSError) as error:
            self.problem = str(error)
            await anyio.sleep(_AGAIN)
            return
        with anyio.CancelScope(shield=True):
            was_empty = self.state.commits == 0
            self.running.discard()
            await anyio.to_thread.run_sync(_exchange, self._folder, new, was_empty)
            await self.open()
        logger.info("%s: has the state of the other gateway", self.name)


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    make_folder(folder, PRIVATE)


def _aside(folder: Path) -> Path:
    """A name that nothing has, for what is set aside now: the later, the higher."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    names = (folder.with_name(f"{folder.name}.{moment}.{number:03}.followed") for number in count())
    return next(name for name in names if not name.exists())


def _exchange(folder: Path, new: Path, was_empty: bool) -> None:
    """Put a folder with a state into the place of another one; what stands beside the state there stays."""
    for path in folder.iterdir():
        if path.is_file() and not path.name.startswith("state."):
            shutil.copy2(path, new / path.name)
    if was_empty:
        shutil.rmtree(folder)
    else:
        aside = _aside(folder)
        os.rename(folder, aside)
        logger.warning("the state was not that of the other gateway, or too far behind: it is set aside in `%s`", aside)
        for old in sorted(folder.parent.glob(f"{folder.name}.*.followed"))[:-_ASIDE]:
            shutil.rmtree(old, ignore_errors=True)
    os.rename(new, folder)
    sync_name(folder)
