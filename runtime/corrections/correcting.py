"""Corrections: facts that were accepted are taken back, and what was told is put right.

A correction goes back to a snapshot that is older than the first fact that is taken back. From there it tells the journal
again, to two sessions: to one as it was, to one without what is taken back. What only the first of them tells was told, and
is taken back; what only the second tells is new. The run goes on with the second one.

Which snapshots are that old is known by the **reach** that is stored with each: for each predicate up to when a fact held
that had been brought by then. Of what begins behind the reach of a snapshot, nothing lies before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from tidelog.plans.data.changes import ChangeRecord, RetractedChange
from tidelog.plans.data.facts import Record, Row, format_atom, format_record
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.diagnostics.errors import ConnectorError, SnapshotError, StateError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.corrections.retold import Retold
from tidelog.runtime.corrections.retractions import Numbered, without
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.journal.events import Event, Retracted, Taken, events_behind
from tidelog.runtime.journal.manifest import Head
from tidelog.runtime.journal.partitions import REACH, Parts
from tidelog.runtime.ports.durability import StateStore
from tidelog.runtime.ports.interfaces import Rejected, Retraction
from tidelog.runtime.sessions.reasoner import Reasoner

NEVER = "nothing that was accepted holds then"
"""Why a retraction is refused that takes nothing back."""
HELD = "first facts wait for others that agree with them on the time (`--max-ahead`): retract it once they are accepted"
_SPARSE = 8
"""Between two older snapshots lies at most so much of the journal as one in so many."""

T = TypeVar("T")
K = TypeVar("K", Record, Violation)


class InThread(Protocol):
    """Runs a call that waits for the disk beside the event loop."""

    async def __call__(self, call: Callable[[], T]) -> T: ...


@dataclass(slots=True)
class Correction:
    """What has become of retractions: the event, if any of them has taken something back, what it has the run tell, and what
    was refused.
    """

    event: Retracted | None = None
    answers: list[Record] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    refused: list[Rejected] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Point:
    """Where a replay may begin: behind an event of which there is a snapshot, or before the first."""

    event: int
    is_last: bool
    reach: dict[str, int]

    def reach_of(self, predicate: str) -> int:
        """Up to when a fact of a predicate held that had been brought by then; `POS` where that was not noted."""
        return self.reach.get(predicate, POS if self.event else NEG)


@dataclass(slots=True)
class _Found:
    """What is known of the journal behind a point: the retractions in it, and when what matters was brought."""

    retractions: list[Numbered] = field(default_factory=list)
    brought: dict[tuple[str, Row], list[Numbered]] = field(default_factory=dict)

    def first(self, record: Record) -> int | None:
        """The first event that brought something of a record which has not been taken back; None where none has."""
        retracted = [(at, lo, hi) for at, (*atom, lo, hi) in self.retractions if tuple(atom) == record[:2]]
        for number, brought in self.brought[record[:2]]:
            pieces = [brought]
            for at, lo, hi in retracted:
                if at > number:
                    pieces = [left for piece in pieces for left in without(piece, lo, hi)]
            if any(lo <= record[3] and record[2] <= hi for _, _, lo, hi in pieces):
                return number
        return None


class Corrections:
    """Takes facts back for a run with a state; `session` is that of the run, `in_thread` waits for the disk beside it."""

    def __init__(self, plan: Plan, session: Reasoner, store: StateStore, in_thread: InThread) -> None:
        self._session, self._store, self._in_thread = session, store, in_thread
        self._timeline: Timeline = plan.timeline
        self._used = frozenset(plan.schema.predicates)
        self._reach: dict[str, int] = dict.fromkeys(plan.schema.predicates, NEG)
        self._begin = 0  # no replay begins before this event
        self._stale: int | None = None  # snapshots from this event on have what was taken back since the last commit

    # --- what is stored for it ------------------------------------------------------------------------------------------

    def note(self, events: Sequence[Event]) -> None:
        """These events are part of the journal."""
        reach = self._reach
        for event in events:
            if isinstance(event, Taken):
                for predicate, _, _, hi in event.records:
                    if hi > reach.get(predicate, POS):
                        reach[predicate] = hi

    def go_on(self) -> None:
        """Go on from the last snapshot. SnapshotError where it has no reach."""
        self._begin, reach = _reach_of(self._store, None)
        self._reach |= reach

    def begin_anew(self, head: Head) -> None:
        """Go on as another run, since the program has changed: no replay may begin before what is stored by now."""
        if head.snapshot:  # of a predicate that the program before did not know, anything may have been accepted
            self._reach = {name: POS if name in head.endless else head.reach for name in self._reach}
            self._reach |= _reach_of(self._store, None)[1]
        if head.snapshot < head.events:
            for block in events_behind(self._store, head.snapshot):
                self.note([event for _, event in block])
        self._begin = head.events

    def stored(self, parts: dict[str, bytes | None], event: int) -> tuple[dict[str, bytes | None], list[int]]:
        """What is stored of a snapshot as of `event`, with its reach; and which snapshots stay when others come."""
        stale = event if self._stale is None else self._stale
        kept = [old for old in self._store.snapshots() if self._begin <= old < stale]
        reach = msgspec.msgpack.encode((self._begin, self._reach))
        return {**parts, REACH: reach}, thinned([*kept, event], self._store.begin() - 1)

    @property
    def is_due(self) -> bool:
        """Whether something was taken back that is not stored: the next commit needs a snapshot of what follows."""
        return self._stale is not None

    def committed(self) -> None:
        """What was taken back is stored, with a snapshot."""
        self._stale = None

    # --- correcting -----------------------------------------------------------------------------------------------------

    async def correct(self, source: str, wanted: Sequence[Retraction], head: Head, fresh: Sequence[Event]) -> Correction:
        """Take facts back. `fresh` are the events behind those that the head knows; nothing is committed meanwhile.

        What cannot be taken back is refused, with the reason, unless no output needs it: then it is passed over, as facts
        of its predicate are.
        """
        done = Correction()
        try:
            await self._correct(source, wanted, head, fresh, done)
        except (ConnectorError, SnapshotError, StateError) as error:
            done = Correction()
            self._refuse(done, wanted, f"the journal cannot be told again: {error}")
        return done

    async def _correct(
        self, source: str, wanted: Sequence[Retraction], head: Head, fresh: Sequence[Event], done: Correction
    ) -> None:
        self._session.check_whole()
        points = await self._in_thread(lambda: self._points(head))
        within = [item for item in wanted if self._is_within(item, points, done)]
        if not within:
            return
        begin = min(_begin(item.record, points) for item in within)
        events = _Events(self._store, head.events, fresh)
        found = await self._in_thread(lambda: _search(events, begin, within))
        firsts = [(item, found.first(item.record)) for item in within]
        self._refuse(done, [item for item, first in firsts if first is None], NEVER)
        known = [(item, first) for item, first in firsts if first is not None]
        if known:
            await self._replay(source, points, events, found.retractions, known, done)

    async def _replay(
        self,
        source: str,
        points: Sequence[_Point],
        events: _Events,
        earlier: list[Numbered],
        known: Sequence[tuple[Retraction, int]],
        done: Correction,
    ) -> None:
        """Tell the journal again; `known` are retractions with the first event that brought what they may take back."""
        point = max((point for point in points if point.event < min(first for _, first in known)), key=lambda it: it.event)
        before = await self._fork(point, earlier)
        after = await self._fork(point, [*earlier, *((events.next, item.record) for item, _ in known)])
        difference = await self._tell_both(events.blocks(point.event), before, after)
        taken = [pair for i, pair in enumerate(known, len(earlier)) if i in after.cuts.removed]
        self._refuse(done, [pair[0] for pair in known if pair not in taken], NEVER)
        if taken:
            first = min(first for _, first in taken)
            self._stale = first if self._stale is None else min(first, self._stale)
            self._session.go_on_as(after)
            done.event = Retracted(source, [item.record for item, _ in taken])
            done.answers, done.violations = difference.answers(), difference.violations()

    def _points(self, head: Head) -> list[_Point]:
        """Where a replay may begin, in order."""
        stale = head.events + 1 if self._stale is None else self._stale
        first = self._store.begin()
        points = [_Point(0, False, {})] if first == 1 and not self._begin else []
        least, most = max(first - 1, self._begin), min(stale, head.snapshot)
        older = [event for event in self._store.snapshots() if least <= event < most]
        points += [_Point(event, False, _reach_of(self._store, event)[1]) for event in older]
        if max(1, self._begin) <= head.snapshot < stale:
            points.append(_Point(head.snapshot, True, _reach_of(self._store, None)[1]))
        return points

    def _is_within(self, item: Retraction, points: Sequence[_Point], done: Correction) -> bool:
        """Whether all that it may take back is in the journal, behind a snapshot; it is refused otherwise."""
        predicate, _, lo, _ = item.record
        if self._is_held(item.record):
            self._refuse(done, [item], HELD)
            return False
        known = min((point.reach_of(predicate) for point in points), default=POS)
        if lo > known:
            return True
        told = (
            "nothing of it"
            if known >= POS
            else f"of `{predicate}` only what begins after {self._timeline.format_point(known)}"
        )
        self._refuse(done, [item], f"beyond the journal (`--keep`): {told} can be taken back")
        return False

    def _is_held(self, record: Record) -> bool:
        held = self._session.intake.held()
        return any(other[:2] == record[:2] and other[2] <= record[3] and record[2] <= other[3] for other in held)

    async def _fork(self, point: _Point, retractions: Sequence[Numbered]) -> Retold:
        """A session that stands where the run stood at a point."""
        fork = Retold.like(self._session, retractions)
        if point.event:
            event = None if point.is_last else point.event
            fork.load(await self._in_thread(lambda: Parts().load(self._store.parts(event))))
        return fork

    async def _tell_both(self, blocks: Iterator[list[tuple[int, Event]]], before: Retold, after: Retold) -> _Difference:
        """Tell both sessions these events. Sinks read the same file meanwhile: so each block is read in its turn."""
        difference = _Difference()
        while (block := await self._in_thread(partial(next, blocks, None))) is not None:
            for number, event in block:
                before.tell(number, event)
                after.tell(number, event)
                difference.take(before, -1)
                difference.take(after, 1)
        return difference

    def _refuse(self, done: Correction, items: Iterable[Retraction], reason: str) -> None:
        for item in items:
            if item.record[0] in self._used:
                text = f"retract {format_record(item.record, self._timeline)}"
                done.refused.append(Rejected(item.place, f"not retracted: {reason}", text.encode()))


class _Events:
    """The events behind a point: those that are stored up to number `stored`, and fresh ones; `next` comes behind them."""

    def __init__(self, store: StateStore, stored: int, fresh: Sequence[Event]) -> None:
        self._store, self._stored, self._fresh = store, stored, fresh
        self.next = stored + len(fresh) + 1

    def blocks(self, point: int) -> Iterator[list[tuple[int, Event]]]:
        """The events, numbered, in blocks."""
        if point < self._stored:
            yield from events_behind(self._store, point)
        yield [item for item in enumerate(self._fresh, self._stored + 1) if item[0] > point]


class _Difference:
    """What two sessions have told: that of which the second has told more, or less, than the first."""

    def __init__(self) -> None:
        self._answers: Counter[Record] = Counter()
        self._violations: Counter[Violation] = Counter()

    def take(self, session: Reasoner, sign: int) -> None:
        """Count what a session has told: for the first one with -1, for the second with 1."""
        _count(self._answers, session.pull_records(), sign)
        _count(self._violations, session.pull_violations(), sign)

    def answers(self) -> list[Record]:
        """What is taken back, the latest first, and then what is new, in order."""
        changes = [change for change in self._answers if isinstance(change, ChangeRecord)]
        changes.sort(key=lambda change: (*change.order, format_atom(change.predicate, change.row)))
        gone = [RetractedChange(*change) for change in reversed(changes) if self._answers[change] < 0]
        return [*gone, *(change for change in changes if self._answers[change] > 0)]

    def violations(self) -> list[Violation]:
        """Those that only the second one tells."""
        return [violation for violation, count in self._violations.items() if count > 0]


def _count(counter: Counter[K], told: Iterable[K], sign: int) -> None:
    for item in told:
        counter[item] += sign
        if not counter[item]:
            del counter[item]


def _search(events: _Events, point: int, wanted: Sequence[Retraction]) -> _Found:
    """Look for what may be taken back behind a point."""
    found = _Found(brought={item.record[:2]: [] for item in wanted})
    brought = found.brought
    for block in events.blocks(point):
        for number, event in block:
            if isinstance(event, Taken):
                for record in event.records:
                    if record[:2] in brought:
                        brought[record[:2]].append((number, record))
            elif isinstance(event, Retracted):
                found.retractions += [(number, record) for record in event.records]
    return found


def _begin(record: Record, points: Sequence[_Point]) -> int:
    """The last point before which nothing lies that a retraction may take back."""
    return max(point.event for point in points if point.reach_of(record[0]) < record[2])


def _reach_of(store: StateStore, event: int | None) -> tuple[int, dict[str, int]]:
    """The event before which no replay begins, and the reach of a snapshot."""
    try:
        return msgspec.msgpack.decode(dict(store.parts(event, [REACH]))[REACH], type=tuple[int, dict[str, int]])
    except (msgspec.MsgspecError, KeyError) as error:
        raise SnapshotError(f"state `{store.name}`: a snapshot does not tell its reach") from error


def thinned(events: Sequence[int], first: int) -> list[int]:
    """The snapshots to keep, the last event being that of the newest, where the journal begins behind `first`.

    Between two that are kept lie no more events than behind the newer of them, so a replay that begins before some event is
    no longer than twice what lies behind it, and no more than a part of the journal in `_SPARSE`: so they are few.

    >>> thinned([*range(1, 101)], 0)
    [12, 24, 36, 48, 60, 72, 84, 92, 96, 98, 99, 100]
    """
    newest = events[-1]
    most = max(1, (newest - first) // _SPARSE)
    kept = [newest]
    for i in range(len(events) - 2, -1, -1):
        older = events[i - 1] if i else first
        if kept[-1] - older > min(most, newest - kept[-1]):
            kept.append(events[i])
    return kept[::-1]
