"""A state that two gateways have: who leads writes it, under a lease; who follows stores the same commits.

Each commit is also kept in memory, up to `LOGGED_BYTES`, for the other one to copy (`connectors/http/copying.py`). Whoever
follows tells where it stands by the number of its last commit and a digest of what that has left; where the log does not go
on from there, it takes a copy of the whole file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from threading import Lock
from typing import NamedTuple, Protocol

import anyio
import msgspec

from tidelog.connectors.standby.lease import Lease
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.runtime.ports.durability import Changes, Kept, Term

LOGGED_BYTES = 64_000_000
"""How many bytes of commits are in memory at most, for who follows; the last one is in any case."""
TERMS = 1000
"""How many terms are known at most: older answers have long been taken, or are told under the name of the run."""
REPLY_BYTES = 8_000_000
"""How many bytes of commits go into one reply, beyond the first."""

_decode_changes = msgspec.msgpack.Decoder(Changes).decode
_encode = msgspec.msgpack.Encoder().encode


class Position(NamedTuple):
    """Where a state stands: the number of its last commit, and a digest of what that has left as its head and its terms."""

    commit: int
    digest: bytes


class Entry(NamedTuple):
    """A commit as it is copied: its number, and its `Changes` as bytes."""

    commit: int
    data: bytes


class Following(Protocol):
    """The other gateway, as one that leads knows it."""

    def is_waited_for(self) -> bool:
        """Whether commits wait until it has them."""
        ...

    async def wait(self, state: SharedState, commit: int) -> None:
        """Wait until it has this commit of a state, or until it is known to all that it is not waited for."""
        ...


class SharedState(StateDirectory):
    """The state of one program, of which the other gateway has a copy.

    It is written by who leads (`commit`, FencedError where that is over), or takes what the other one has committed
    (`follow`). Raises what `StateDirectory` does.
    """

    def __init__(self, path: str, lease: Lease, following: Following) -> None:
        super().__init__(path)
        self._lease, self._following = lease, following
        self._terms = read_terms(self.terms())
        self._are_terms_due = False
        self._guard = Lock()
        self._log: deque[tuple[Position, bytes]] = deque()
        self._logged = 0
        self._base = self.position = self._stands()
        """Where the log begins, and where the state stands."""
        self.is_leading = False
        self._news: anyio.Event | None = None

    def _stands(self) -> Position:
        return _position(self.commits, self.head() or b"", self._terms)

    # --- who leads ------------------------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """The epoch of the lease."""
        return self._lease.epoch

    @property
    def known_epoch(self) -> int:
        """The last epoch of which something is stored; 0 where there is none."""
        return self._terms[-1].epoch if self._terms else 0

    def lead(self, answers: int) -> Sequence[Term]:
        """From now on this gateway tells the answers, behind this one."""
        self._terms = [*self._terms, Term(self._lease.epoch, self._lease.node, answers + 1)][-TERMS:]
        self._are_terms_due = self.is_leading = True
        return self._terms

    def stop_leading(self) -> None:
        """Give nothing more to who follows."""
        self.is_leading = False
        self._wake()

    def check(self) -> None:
        """FencedError where the lease is over; ConnectorError where its files have been removed."""
        if self.is_leading:
            self._lease.check()
        super().check()

    def commit(self, changes: Changes) -> Kept:
        """Store all of it at once and for good, or nothing."""
        self._lease.check()
        if self._are_terms_due:
            changes = replace(changes, terms=_encode(self._terms))
        kept = self._store(changes, _encode(changes))
        self._are_terms_due = False
        return kept

    async def copied(self) -> None:
        """Wait until the other gateway has all that was committed, or is not waited for."""
        self._wake()
        if self._following.is_waited_for():
            await self._following.wait(self, self.commits)
        self._lease.check()

    # --- who follows ----------------------------------------------------------------------------------------------------

    def follow(self, entry: Entry) -> Changes:
        """Store a commit of the one that leads, as it is; returns it. ConnectorError for one that is not the next."""
        if entry.commit != self.commits + 1:
            raise ConnectorError(f"{self.name}: commit {entry.commit} does not follow {self.commits}")
        try:
            changes = _decode_changes(entry.data)
        except msgspec.MsgspecError as error:
            raise ConnectorError(f"{self.name}: commit {entry.commit} cannot be read: {error}") from error
        if changes.terms is not None:
            self._terms = read_terms(changes.terms)
        self._store(changes, entry.data)
        return changes

    def _store(self, changes: Changes, data: bytes) -> Kept:
        kept = super().commit(changes)
        with self._guard:
            self.position = _position(self.commits, changes.head, self._terms)
            self._log.append((self.position, data))
            self._logged += len(data)
            while self._logged > LOGGED_BYTES and len(self._log) > 1:
                self._base, gone = self._log.popleft()
                self._logged -= len(gone)
        return kept

    # --- to be copied ---------------------------------------------------------------------------------------------------

    def behind(self, position: Position) -> list[Entry] | None:
        """The commits behind a position, the first of them where they are many; None where the log does not go on there."""
        with self._guard:
            first = self._base.commit
            known = [self._base, *(stands for stands, _ in self._log)]
            at = position.commit - first
            if not 0 <= at < len(known) or known[at] != position:
                return None
            entries: list[Entry] = []
            size = 0
            for i in range(at, len(self._log)):
                stands, data = self._log[i]
                size += len(data)
                if entries and size > REPLY_BYTES:
                    break
                entries.append(Entry(stands.commit, data))
            return entries

    async def wait_for_news(self, seconds: float) -> None:
        """Wait for the next commit, no longer than that."""
        self._news = self._news or anyio.Event()
        with anyio.move_on_after(seconds):
            await self._news.wait()

    def _wake(self) -> None:
        """Within the event loop: there is something new."""
        if self._news is not None:
            self._news.set()
            self._news = None


def read_terms(data: bytes) -> list[Term]:
    """The terms of a state; ConnectorError where that is anything else."""
    try:
        return msgspec.msgpack.decode(data, type=list[Term]) if data else []
    except msgspec.MsgspecError as error:
        raise ConnectorError(f"who has led a state cannot be read: {error}") from error


def _position(commits: int, head: bytes, terms: Sequence[Term]) -> Position:
    return Position(commits, blake2b(_encode((head, list(terms))), digest_size=16).digest())
