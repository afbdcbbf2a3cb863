"""The ledger of a durable run: what is told and taken is noted, and committed together with where all stands.

A commit stores the events since the last one, not the state: its cost follows what is new. Now and then a commit takes a
snapshot with it (`snapshots.py`). A run that goes on takes the last one, and is told the events behind it again. What it
told then is stored already.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec

from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.stored import pack_plan, plan_digest
from tidelog.runtime.actors.supervision import SinkActor
from tidelog.runtime.corrections.correcting import Correction, Corrections
from tidelog.runtime.durable.hot import Hot, Show, journal_behind, retell
from tidelog.runtime.durable.pace import Pace
from tidelog.runtime.durable.reloading import Reloading
from tidelog.runtime.durable.sink_feeds import OwedFeed, SinkFeeds
from tidelog.runtime.durable.snapshots import Snapshots
from tidelog.runtime.durable.storing import Ends, Storing, is_passing, resume
from tidelog.runtime.durable.untold import Untold
from tidelog.runtime.journal.delivery_queue import Owed, blocks_of
from tidelog.runtime.journal.events import Ended, Event, Passed, Taken, count_facts, pack_events
from tidelog.runtime.journal.manifest import (
    Head,
    SinkStanding,
    SourceStanding,
    check_same,
    is_same,
    pack_head,
    unpack_head,
)
from tidelog.runtime.journal.marks import Marks
from tidelog.runtime.migration.backfill import forget_answers
from tidelog.runtime.migration.changing import Becoming
from tidelog.runtime.ports.changelog import Group
from tidelog.runtime.ports.durability import EVERY, Changes, Input, Kept, Leading, Told
from tidelog.runtime.ports.interfaces import AnyAnswer, Observer, Retraction
from tidelog.runtime.sessions.reasoner import Reasoner

MOST_NEW = 50_000
"""With how many facts, or answers, a commit no longer waits for its time; with four times as many, facts wait for it."""
_LEAST_WAIT = 0.05
_ROOM_INTERVAL = 0.05
"""How often, in seconds, it is asked whether sinks have taken what they are owed."""

T = TypeVar("T")


class Ledger:
    """Notes what a session is told and what it tells, commits it, and goes on from there.

    Each sink reads what it is owed through its `feed`. `observer` is told of each commit.
    """

    goes_on = True
    """What is left by this run, a later one goes on with."""

    def __init__(
        self,
        plan: Plan,
        session: Reasoner,
        ends: Ends,
        options: dict[str, Any],
        storing: Storing,
        observer: Observer | None = None,
    ) -> None:
        self._observer = observer
        self._store, self._every, self._keep = storing.store, storing.every, storing.keep
        self._session, self._sources, self._actors = session, ends.sources, ends.actors
        self._leading = storing.store if isinstance(storing.store, Leading) else None
        self._owed = Owed(uuid.uuid4().hex, self._read_told, storing.backlog, self._leading)
        self._sinks = SinkFeeds(ends.sinks, self._owed)
        self.owing = self._owed.owing
        standings = [SourceStanding(name, passing=is_passing(source)) for name, source in ends.sources.items()]
        self._head = Head(self._owed.run, plan.name, plan.program.text, plan_digest(plan), options, standings, [])
        self._head.sinks = [SinkStanding(name) for name in self._sinks.names]
        self._plan: Plan | None = plan  # until it is stored
        self._snapshots, self._marks, self._reload = Snapshots(session), Marks(), storing.reload
        self._hot: Hot | None = None
        self._corrections = Corrections(plan, session, storing.store, self._in_thread) if storing.corrections else None
        self._events: list[Event] = []
        self._facts, self._pace = 0, Pace(storing.every)
        self._receipts: dict[str, dict[str, Any]] = {}
        self._given: dict[str, dict[str, Any]] = {}
        self._is_broken, self._has_changed = False, False
        self.is_spoiled = False
        """Whether the session was left within an event: its state is of no use then, but what was noted before is."""
        self.is_storing = False  # a commit is not to be interrupted: it is short, and what it stores belongs together
        self.stored = 0
        self.settle: Callable[[], Awaitable[None]] = (
            self._come_up
        )  # lets all be noted that the session was told, before its state is stored
        self._turn: anyio.Lock
        self._holding: anyio.Lock  # whoever has it lets nothing be committed
        self._work: anyio.Event
        self._hurry: anyio.Event

    # --- going on -------------------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Go on from the last commit, if there is one; SpecError or SnapshotError where it is that of another run."""
        self._turn, self._holding, self._work, self._hurry = anyio.Lock(), anyio.Lock(), anyio.Event(), anyio.Event()
        self._owed.begin()
        stored = await self._in_thread(self._store.head)
        if stored is None:
            self._show_begin(self._head)
        else:
            await self._go_on(unpack_head(stored, self._store.name))
        self._owed.lead()
        own = not self._owed.has_moved
        await self._in_thread(partial(self._sinks.go_on, self._owed.run, self._head.sinks, own=own))
        if self._has_changed or self._owed.waiting:  # what it goes on with is stored before anything else
            await self.commit()
        self.stored = self._owed.committed

    def _show_begin(self, head: Head) -> None:
        """Tell the observer first: who looks while the state is restored sees no alarm without what people did with it."""
        if self._observer is not None:
            self._observer.going_on(head.run, head.events)

    async def _go_on(self, head: Head) -> None:
        check_same(head, self._head, self._store.name)
        self._show_begin(head)
        known = {sink.name: sink for sink in head.sinks}
        head.sinks = [known.get(name, SinkStanding(name, head.answers)) for name in self._sinks.names]
        before, self._head = self._head, head
        self._owed.run = head.run
        self._owed.go_on(head.answers)
        self._owed.stored((), await self._in_thread(self._store.kept))
        stays_with = None if is_same(head, before) else await self._change(before)
        self._plan = self._plan if self._has_changed else None
        began = anyio.current_time()
        if self._hot is not None:
            self._snapshots.parts = self._hot.parts
        else:
            await self._restore(head, stays_with)
        self._snapshots.worked = anyio.current_time() - began
        self._marks = Marks(head.reach, head.endless, self._session.intake.held())
        for standing in head.sources:
            source = self._sources[standing.name]
            await self._in_thread(partial(resume, source, standing, head, self._store.name, self._session.is_finished))
        forget_answers(self._session)

    async def _restore(self, head: Head, stays_with: Plan | None) -> None:
        """Bring the session to where the run stood: from the snapshot, by the events behind it."""
        if head.snapshot and not self._has_changed:
            self._session.load(await self._in_thread(partial(self._snapshots.parts.load, self._store.parts())), stays_with)
            if self._corrections is not None:
                await self._in_thread(self._corrections.go_on)
        if not self._has_changed:
            blocks = await self._in_thread(partial(journal_behind, self._store, head))
            note = None if self._corrections is None else self._corrections.note
            untold = Untold(head)
            await retell(self._session, blocks, head, self._store.name, note, untold.hear)
            self._tell_late(await self._in_thread(partial(untold.missing, self._store)))

    def _tell_late(self, missing: list[Record]) -> None:
        """Tell what the last run should have told: it counts from the next commit on."""
        self._owed.tell(missing, self._session.frontier)
        if missing and self._observer is not None:
            self._observer.told(missing)

    async def stand_by(self, show: Show) -> Hot | None:
        """Bring the session to where a stored run stands that another process goes on with, to follow it.

        None where nothing is stored yet, or by another program. Raises what `begin` would.
        """
        stored = await anyio.to_thread.run_sync(self._store.head)
        if stored is None:
            return None
        head = unpack_head(stored, self._store.name)
        check_same(head, self._head, self._store.name)
        if is_same(head, self._head) and not head.untold:
            self._hot = Hot(self._session, self._store, head, show, self._observer)
            await self._hot.load()
        return self._hot

    async def _change(self, now: Head) -> Plan | None:
        """Go on with another plan: what it has to remember is kept, or filled from the journal. Or stay with this one."""
        head, session = self._head, self._session
        changed = await self._in_thread(
            lambda: Reloading(head, session, self._store, self._snapshots.parts).go_on(self._reload)
        )
        if isinstance(changed, Plan):
            return changed
        if self._corrections is not None:
            await self._in_thread(partial(self._corrections.begin_anew, head))
        session.load(changed.state)
        head.program, head.text, head.plan = now.program, now.text, now.plan
        head.heard = changed.heard
        known = {source.name: source for source in head.sources}
        head.sources = [known.get(source.name, source) for source in now.sources]
        self._has_changed = True
        self._owed.tell(changed.answers, session.frontier)
        return None

    async def changes(self) -> list[Becoming]:
        """What would become of a stored run with the program now, without going on; nothing where it has not changed.

        Raises what `begin` would, but for state that would be dropped.
        """
        self._turn = anyio.Lock()
        stored = await self._in_thread(self._store.head)
        if stored is None:
            return []
        head = unpack_head(stored, self._store.name)
        check_same(head, self._head, self._store.name)
        if is_same(head, self._head):
            return []
        return await self._in_thread(lambda: Reloading(head, self._session, self._store, self._snapshots.parts).becomings())

    def has_ended(self, name: str) -> bool:
        """Whether a source has ended in an earlier run."""
        return any(standing.ended for standing in self._head.sources if standing.name == name)

    # --- noting ---------------------------------------------------------------------------------------------------------

    def feed(self, sink: SinkActor) -> OwedFeed:
        """What a sink reads its answers from."""
        return self._sinks.feed(sink)

    def note(self, event: Event, position: dict[str, Any] | None, answers: Sequence[AnyAnswer], frontier: int) -> None:
        """The session has been told this event, and these answers followed; its source then stands at `position`, if it
        told one. All of it is in one commit: what a run that goes on tells in its replay is stored already."""
        if isinstance(event, Passed) and self._events and isinstance(self._events[-1], Passed):
            self._events.pop()  # a clock may go on for long while nothing happens
        self._events.append(event)
        if isinstance(event, Taken):
            self._facts += len(event.records)
            self._snapshots.replayed += len(event.records)
            if position is not None:
                self._receipts[event.source] = position
                self._standing(event.source, position=position)
        elif isinstance(event, Ended):
            self._standing(event.source, ended=True)
        self.tell(answers, frontier)
        if not isinstance(event, Passed):  # a clock that has nothing to tell costs no commit: it goes on from its last word
            self._progress()

    def _standing(self, name: str, **changes: Any) -> None:
        """Note where a source stands, unless it has come while the run goes on: it cannot come again."""
        for i, standing in enumerate(self._head.sources):
            if standing.name == name:
                self._head.sources[i] = msgspec.structs.replace(standing, **changes)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """The session is told something inside, which is noted then. Where that fails, its state is of no use any more."""
        self.is_spoiled = True
        began = anyio.current_time()
        yield
        self._snapshots.worked += anyio.current_time() - began
        self.is_spoiled = False

    def tell(self, answers: Sequence[AnyAnswer], frontier: int) -> None:
        """The session has told these answers."""
        self._owed.tell(answers, frontier)
        if answers:
            self._progress()

    async def pass_on(self) -> None:
        """Nothing is passed on before it is committed."""

    def _progress(self) -> None:
        """There is something to commit."""
        self._work.set()
        if self._facts >= MOST_NEW or self._owed.waiting >= MOST_NEW:
            self._hurry.set()

    async def wait_for_room(self) -> bool:
        """Wait until more can be noted; returns False where the run has to stop instead."""
        while self._facts >= 4 * MOST_NEW or self._owed.waiting >= 4 * MOST_NEW:
            await self.commit()
        while self._owed.is_full and self._owed.full != "drop-oldest":
            if self._owed.full == "stop":
                return False
            await self.commit()
            await anyio.sleep(_ROOM_INTERVAL)
        return True

    # --- taking back ----------------------------------------------------------------------------------------------------

    @property
    def corrects(self) -> bool:
        """Whether facts can be taken back."""
        return self._corrections is not None

    @asynccontextmanager
    async def correcting(self) -> AsyncIterator[None]:
        """All that is noted within is in one commit, with a snapshot of what follows; where it fails, in none."""
        async with self._holding:
            events, sources, receipts = len(self._events), list(self._head.sources), dict(self._receipts)
            told = self._owed.told
            try:
                yield
            except BaseException:
                self.is_spoiled = True
                del self._events[events:]
                self._head.sources, self._receipts = sources, receipts
                self._owed.unsay(told)
                raise
        if self._corrections is not None and self._corrections.is_due:
            await self.commit()

    async def correct(self, source: str, retractions: Sequence[Retraction]) -> Correction:
        """Take facts back, within `correcting`; what is told anew, or taken back, is noted."""
        if self._corrections is None or not retractions:
            return Correction()
        done = await self._corrections.correct(source, retractions, self._head, self._events)
        if done.event is not None:
            self.note(done.event, None, done.answers, self._session.frontier)
        return done

    # --- committing -----------------------------------------------------------------------------------------------------

    async def keep_going(self) -> None:
        """Commit at once when something has come, but not too often; what sinks have taken can wait a little for that."""
        while True:
            with anyio.move_on_after(max(self._every, _LEAST_WAIT if self._is_owing() else EVERY)):
                await self._work.wait()
            if not await self.commit():
                await self._in_thread(self._check)
            with anyio.move_on_after(self._pace.pause):
                await self._hurry.wait()

    def _is_owing(self) -> bool:
        """Whether a sink may tell at any time that it has taken something; otherwise there is little to look at."""
        return any(standing.taken < self._head.answers for standing in self._sinks.standings())

    def _check(self) -> None:
        """See that what is stored is still there."""
        self._store.check()
        self._sinks.check()

    async def commit(self, *, is_last: bool = False) -> bool:
        """Store what is new since the last commit, and say whether there was something; nothing once storing has failed."""
        async with self._holding, self._turn:
            if self._is_broken:
                return False
            self._work, self._hurry = anyio.Event(), anyio.Event()
            sinks = self._sinks.standings()
            has_news = bool(self._events or self._owed.waiting) or sinks != self._head.sinks
            takes_snapshot = self._has_changed or self._is_snapshot_due() or (is_last and self._is_unsaved())
            if not has_news and not takes_snapshot:
                return False
            if takes_snapshot or self._keep is not None:
                await self.settle()
            self._is_broken = self.is_storing = True  # unless it succeeds
            began = anyio.current_time()
            if self._observer is not None:
                self._observer.committing(self._head.events + len(self._events))
            try:
                await self._store_all(sinks, takes_snapshot)
            finally:
                self.is_storing = False
            self._is_broken = False
            took = anyio.current_time() - began
        if self._observer is not None:
            self._observer.committed(took)
        self._give_receipts()
        return True

    async def _come_up(self) -> None:
        self._session.come_up()

    async def finish(self) -> None:
        """All sources have ended, or the sinks have, or something has failed: store what was noted, with a snapshot."""
        await self.commit(is_last=True)

    end = finish

    def close(self) -> None:
        """No more will be told."""
        self._owed.close()

    def waiting(self, sink: SinkActor) -> int:
        """How many answers wait for a sink."""
        return self._sinks.waiting(sink)

    @property
    def untaken(self) -> int:
        """How many answers wait in memory."""
        return self._owed.held

    async def _store_all(self, sinks: list[SinkStanding], takes_snapshot: bool) -> None:
        head, events, groups = self._head, self._events, self._owed.take_new()
        self._marks.follow(events, self._session.intake)
        if self._keep is not None and not self.is_spoiled and (mark := self._marks.mark(self._session.intake)):
            events.append(mark)
        self._pace.count = max(self._facts, self._owed.waiting)
        self._events, self._facts = [], 0
        new = msgspec.structs.replace(
            head,
            events=head.events + len(events),
            answers=self._owed.told,
            sinks=sinks,
            sources=list(head.sources),
            reach=self._marks.reach,
            endless=sorted(self._marks.endless),
            untold=sorted({*head.untold, *self._session.silent()}),
        )
        receipts, self._receipts = self._receipts, {}
        parts = digests = None
        if takes_snapshot and (found := self._snapshots.take(must=self._has_changed)):
            parts, digests = found
            new.snapshot, new.snapshot_answers, new.untold = new.events, new.answers, []
        with anyio.CancelScope(shield=True):  # what is taken is stored, though all stop
            kept = await anyio.to_thread.run_sync(partial(self._write, new, head.events + 1, events, groups, parts))
            if self._leading is not None:
                await self._leading.copied()
        head.events, head.answers, head.sinks = new.events, new.answers, new.sinks
        head.snapshot, head.snapshot_answers, head.untold = new.snapshot, new.snapshot_answers, new.untold
        self._has_changed, self._plan = False, None
        if digests is not None:
            self._snapshots.parts.stored(digests)
            if self._corrections is not None:
                self._corrections.committed()
        self._owed.stored(groups, kept)
        self._sinks.note_dropped()
        self.stored = new.answers
        self._given = receipts

    def _write(
        self, head: Head, first: int, events: list[Event], groups: list[Group], parts: dict[str, bytes | None] | None
    ) -> Kept:
        """Store a commit, in a worker thread."""
        began = time.thread_time()
        try:
            if self._corrections is not None:
                self._corrections.note(events)
            return self._store.commit(self._changes(head, first, events, groups, parts))
        finally:
            self._pace.cost = time.thread_time() - began

    def _changes(
        self, head: Head, first: int, events: list[Event], groups: list[Group], parts: dict[str, bytes | None] | None
    ) -> Changes:
        """What a commit stores."""
        journal = [Input(first, head.events, count_facts(events), 0, pack_events(events))] if events else []
        taken = min((sink.taken for sink in head.sinks), default=head.answers)
        older: Sequence[int] = ()
        if self._corrections is not None and parts is not None:
            parts, older = self._corrections.stored(parts, head.events)
        return Changes(
            pack_head(head),
            journal,
            blocks_of(groups),
            parts,
            head.events,
            older,
            journal_from=head.snapshot + 1,
            answers_from=taken + 1,
            told_from=head.snapshot_answers + 1 if self._session.is_spread else None,
            answers_most=self._owed.most,
            keep=self._keep,
            plan=None if self._plan is None else pack_plan(self._plan),
        )

    def _is_unsaved(self) -> bool:
        """Whether something has come since the last snapshot."""
        return (
            not self.is_spoiled
            and not self._session.has_failed
            and self._head.events + len(self._events) > self._head.snapshot
        )

    def _is_snapshot_due(self) -> bool:
        is_corrected = self._corrections is not None and self._corrections.is_due
        return self._is_unsaved() and (is_corrected or self._snapshots.are_due)

    def _give_receipts(self) -> None:
        """Tell sources that what they brought is stored."""
        receipts, self._given = self._given, {}
        self._pace.are_awaited = any(name in self._actors and self._actors[name].awaits_receipts for name in receipts)
        for name, position in receipts.items():
            if name in self._actors:
                self._actors[name].acknowledge(position)

    # --- the disk -------------------------------------------------------------------------------------------------------

    async def _read_told(self, number: int) -> Told | None:
        return await self._in_thread(partial(self._store.answers, number))

    async def _in_thread(self, call: Callable[[], T]) -> T:
        """The disk is waited for beside the event loop, by one at a time."""
        async with self._turn:
            return await anyio.to_thread.run_sync(call)
