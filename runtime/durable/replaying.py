"""Runs what a journal holds again: with the program that it was read for, or with another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import msgspec

from tidelog.plans.data.timeline import NEG, Timeline
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.corrections.retold import Retold
from tidelog.runtime.corrections.retractions import retractions_of
from tidelog.runtime.journal.events import Event, Taken, events_behind
from tidelog.runtime.journal.manifest import Head, stored_settings, unpack_head
from tidelog.runtime.ports.durability import StateStore
from tidelog.runtime.ports.interfaces import AnyAnswer
from tidelog.runtime.sessions.reasoner import Reasoner


@dataclass(slots=True)
class Replayed:
    """What was told again: so many facts; those that the program cannot take, or that it refused, are counted.

    `first` is the number of the first event that is still there: 1 where all is.
    """

    facts: int = 0
    foreign: int = 0
    refused: int = 0
    first: int = 1


def head_of(store: StateStore) -> Head:
    """What a run is, and where it stands; SpecError where nothing is stored yet."""
    stored = store.head()
    if stored is None:
        raise SpecError(f"state `{store.name}` is empty: nothing was committed")
    return unpack_head(stored, store.name)


def events_of(store: StateStore) -> Iterator[tuple[int, Event]]:
    """The events of a journal with their numbers, in order."""
    return chain.from_iterable(events_behind(store))


def session_for(head: Head, plan: Plan, timeline: Timeline, **others: Any) -> Retold:
    """A session with the settings of a run, but for `others`, to replay its journal with this plan.

    `timeline` is that of the program that the facts were read for. SpecError where the plan has another.
    """
    if plan.timeline != timeline:
        raise SpecError("the program counts time in another way than that for which the journal was written")
    session = Retold(plan, replace(stored_settings(head, timeline), **others))
    if (start := head.options["start"]) is not None:
        session.begin_at(start)
    return session


def replay(store: StateStore, session: Retold, until: int, done: Replayed) -> Iterator[list[AnyAnswer]]:
    """What a session tells when it is told a journal again, without facts that begin behind `until` (encoded).

    Nor is it told what was taken back later.
    """
    head = head_of(store)
    if head.options.get("corrections"):
        session.without(retractions_of(events_of(store)))
    yield from _begin(session, store, head, done)
    for number, event in events_of(store):
        wanted = _wanted(event, session.plan, until, done) if isinstance(event, Taken) else event
        if isinstance(event, Taken) and event.source not in session.watermarks.sources and not _is_fixed(head, event.source):
            session.open(event.source)
        try:
            done.refused += len(session.tell(number, wanted))
        except KeyError:  # a connection that came before the journal begins
            continue
        yield _told(session)
    if not session.is_finished:
        session.rest()
    yield _told(session)


def forget_before_journal(session: Reasoner, store: StateStore) -> None:
    """Tell a session that remembers that the facts before the journal are not known: they may have held up to its first."""
    events = events_of(store)
    number, event = next(events, (1, None))
    if number == 1:
        return
    while event is not None and not (isinstance(event, Taken) and event.records):
        _, event = next(events, (0, None))
    until = NEG if event is None else min(lo for _, _, lo, _ in event.records)
    session.memory.forget_before(until)


def _begin(session: Reasoner, store: StateStore, head: Head, done: Replayed) -> Iterator[list[AnyAnswer]]:
    """Sources that have ended before the journal begins hold back nobody."""
    speaking: set[str] = set()
    for number, event in events_of(store):
        if not speaking:
            done.first = number
        if source := getattr(event, "source", ""):
            speaking.add(source)
    yield _told(session)
    silent = [source.name for source in head.sources if source.name not in speaking]
    for name in silent if speaking else ():
        session.end(name)
    yield _told(session)


def _is_fixed(head: Head, name: str) -> bool:
    return any(source.name == name for source in head.sources)


def _wanted(event: Taken, plan: Plan, until: int, done: Replayed) -> Taken:
    """What the program can take of it, up to a time."""
    known = plan.schema.predicates
    keep: list[int] = []
    for i, (predicate, row, lo, _) in enumerate(event.records):
        if predicate in known and known[predicate].arity != len(row):
            done.foreign += 1
        elif lo <= until:
            keep.append(i)
    done.facts += len(keep)
    if len(keep) == len(event.records):
        return event
    parts = None if event.parts is None else [event.parts[i] for i in keep]
    watermark = None if event.watermark is None else min(event.watermark, until)
    return msgspec.structs.replace(event, records=[event.records[i] for i in keep], parts=parts, watermark=watermark)


def _told(session: Reasoner) -> list[AnyAnswer]:
    session.pull_violations()
    return [*session.pull_records(), *session.pull_hypothetical()]


def lies_behind(answer: AnyAnswer, begin: int) -> bool:
    """Whether an answer says something about this time, or later ones."""
    if not isinstance(answer, tuple):
        return answer.at is None or answer.at >= begin
    return answer[3] >= begin
