"""A session that is told what another process commits, so that a run can go on from there at once.

It is what a restart does, a commit at a time: the events are told, and what follows from them is stored already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import anyio.lowlevel
import anyio.to_thread

from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.journal.events import Event, Taken, numbered, tell
from tidelog.runtime.journal.manifest import Head, unpack_head
from tidelog.runtime.journal.partitions import Parts
from tidelog.runtime.migration.backfill import forget_answers
from tidelog.runtime.ports.durability import Changes, Input, StateStore
from tidelog.runtime.ports.interfaces import AnyAnswer, Batch, Observer, Rejected
from tidelog.runtime.sessions.reasoner import Reasoner


class Show(Protocol):
    """Shows what became known."""

    def __call__(self, answers: Sequence[AnyAnswer], violations: Sequence[Violation] = ()) -> None: ...


def journal_behind(store: StateStore, head: Head) -> list[Input]:
    """The blocks with the events behind the snapshot."""
    return list(store.journal(head.snapshot + 1)) if head.snapshot < head.events else []


async def retell(
    session: Reasoner,
    blocks: Sequence[Input],
    head: Head,
    place: str,
    note: Callable[[Sequence[Event]], None] | None = None,
    hear: Callable[[Sequence[Record]], None] | None = None,
) -> None:
    """Tell a session again what it was told since the snapshot; what follows was told then, too, and goes to `hear` alone.

    SnapshotError where the journal does not reach to the last event.
    """
    last = head.snapshot
    for block in blocks:
        events = numbered(block, head.snapshot)
        if note is not None:
            note([event for _, event in events])
        for number, event in events:
            tell(session, event)
            last = number
        told = forget_answers(session)
        if hear is not None:
            hear(told)
        await anyio.lowlevel.checkpoint()
    if last != head.events:
        raise SnapshotError(f"state `{place}`: its journal ends at event {last} of {head.events}")


class Hot:
    """The session of a run that follows. `parts` are those of the snapshot that is stored, `head` tells where it stands."""

    def __init__(self, session: Reasoner, store: StateStore, head: Head, show: Show, observer: Observer | None) -> None:
        self.head, self.parts = head, Parts()
        self._session, self._store, self._show, self._observer = session, store, show, observer
        self.is_hot = True
        """Whether the session is as the state, and all was told that follows: not behind the commit of a program that has
        changed, or of a run in which an actor was set aside, or what it failed at."""

    async def load(self) -> None:
        """Come to where the run stands. Raises what a restart would."""
        head, store = self.head, self._store
        if self._observer is not None:
            self._observer.going_on(head.run, head.events)
        if head.snapshot:
            self._session.load(await anyio.to_thread.run_sync(lambda: self.parts.load(store.parts())))
        await retell(self._session, await anyio.to_thread.run_sync(journal_behind, store, head), head, store.name)
        forget_answers(self._session)

    async def follow(self, changes: Changes) -> None:
        """Take a commit that has been stored here, too. Where the program has changed with it, nothing is taken any more."""
        if not self.is_hot:
            return
        self.is_hot = False  # unless all of it is taken
        self.head = unpack_head(changes.head, self._store.name)
        if changes.plan is not None or self.head.untold:  # what was not told is found by a replay alone
            return
        if changes.parts is not None:
            self.parts.follow(changes.parts)
        for block in changes.journal:
            for _, event in numbered(block):
                self._take(event)
            await anyio.lowlevel.checkpoint()
        if self._observer is not None:
            self._observer.committing(self.head.events)
            self._observer.committed(0.0)
        self.is_hot = True

    def _take(self, event: Event) -> None:
        session = self._session
        refused: list[Rejected] = tell(session, event)
        self._show([*session.pull_records(), *session.pull_hypothetical()], session.pull_violations())
        if self._observer is not None:
            batch = Batch(list(event.records), watermark=event.watermark) if isinstance(event, Taken) else None
            self._observer.took(getattr(event, "source", ""), batch, refused)
