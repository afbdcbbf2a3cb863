"""Backfill: a session for a changed program is told the journal, as far back as the program has to remember."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.corrections.retold import Retold
from tidelog.runtime.corrections.retractions import retractions_of
from tidelog.runtime.emission.begun import Begun, begun_of
from tidelog.runtime.journal.events import Event, Marked, Opened, Passed, Taken, numbered
from tidelog.runtime.network.graph import Message, Port
from tidelog.runtime.ports.durability import Input, Journal
from tidelog.runtime.ports.interfaces import EmitMode
from tidelog.runtime.sessions.reasoner import Reasoner


@dataclass(frozen=True, slots=True)
class Begin:
    """Where a journal is read from: behind the event number `number`, with the intake's state there.

    Without an intake it is the begin of the run, so that nothing is missing. Facts before it may hold until `reach`
    (encoded), and those of the `endless` predicates for ever.
    """

    number: int
    intake: dict[str, Any] | None = None
    reach: int = NEG
    endless: frozenset[str] = frozenset()

    def behind(self) -> int:
        """The first time behind all facts before it; `NEG` where there is none."""
        return NEG if self.reach <= NEG else self.reach + 1

    def known_from(self, predicate: str) -> int:
        """From when on all facts of a predicate are known: `NEG` where none is missing, `POS` where some always are."""
        if predicate in self.endless:
            return POS
        return NEG if self.intake is None else self.behind()


class Filling(Retold):
    """A session that may begin in the middle of a stream. A `muted` port gets nothing from the step that feeds it."""

    passing: frozenset[str] = frozenset()
    """Its sources that may have come while the journal was written."""

    def twin(self) -> Filling:
        """A session with the same plan and options, of which nothing was told yet."""
        return Filling.of(self, self.plan)

    def untold(self, *, muted: Collection[Port] = ()) -> Filling:
        """One that is to be told the journal: a source that may have come later is not waited for until it speaks."""
        names = [name for name in self.settings.sources if name not in self.passing]
        return Filling.of(self, self.plan, muted=muted, sources=names)

    @staticmethod
    def of(session: Reasoner, plan: Plan, *, muted: Collection[Port] = (), sources: Sequence[str] | None = None) -> Filling:
        """A session for a plan with the settings of another session, of which nothing was told yet, perhaps with others."""
        names = session.settings.sources if sources is None else sources
        found = Filling(plan, replace(session.settings, remember=0, explain=False, sources=names), muted=muted)
        found.begin_at(session.intake.given_start)
        return found

    @property
    def has_prospects(self) -> bool:
        """Whether something may sleep."""
        return self.settings.prospects

    @property
    def emit(self) -> EmitMode:
        """In which form it tells answers."""
        return self.settings.emit

    def begun(self) -> Begun:
        """Of each output that is told by changes, the rows that were told to hold, and since when; empty otherwise."""
        return begun_of(self._outlet.snapshot()["emission"])

    def told_before(self) -> list[Record]:
        """What programs before this one have told, and it therefore does not tell."""
        return [
            (output, row, bounds[i], bounds[i + 1])
            for output, told in self._outlet.told.items()
            for row, bounds in told.rows.items()
            for i in range(0, len(bounds), 2)
        ]

    def tell_no_more(self, told: Mapping[str, Coverage]) -> None:
        """Tell nothing of some outputs that was told already."""
        self._outlet.told = dict(told)

    def begin_behind(self, begin: Begin) -> None:
        """Begin where an intake stood."""
        if begin.intake is not None:
            self._deliver(self._intake.resume(begin.intake))

    def expect(self, event: Event) -> None:
        """The source of an event counts from now on, if it did not already."""
        if not isinstance(event, Opened | Marked | Passed) and not self.watermarks.knows(event.source):
            self.watermarks.add(event.source, is_fixed=True)

    def tell_from(self, times: dict[str, int]) -> None:
        """Tell nothing of these watched steps before a time (encoded)."""
        since = self._outlet.since
        since.update({name: max(time, since.get(name, NEG)) for name, time in times.items() if time > NEG})

    def announce(self, messages: Sequence[Message]) -> None:
        """Let steps know what stands on their ports already."""
        self._network.announce(messages)

    def standing_rows(self, step: str) -> list[tuple[Row, int]]:
        """The rows of a step that stand, and since when."""
        return self._network.graph.standing_rows(step)

    def receive_standing(self, output: str, notices: Notices) -> None:
        """Let an output know what stands already."""
        self._outlet.receive(output, (), NEG, notices)

    def blank_emission(self) -> dict[str, Any]:
        """The state of outputs of which nothing was told."""
        found: dict[str, Any] = Reasoner(self.plan, self.settings).state()["outlet"]["emission"]
        return found


class Alive:
    """What was told of some outputs and holds behind the frontier: it is news for whoever was not told.

    What holds behind `upto` is kept, too, where that lies before the frontier.
    """

    def __init__(self, outputs: Iterable[str], upto: int = POS) -> None:
        self._outputs = frozenset(outputs)
        self._upto = upto
        self._records: list[Record] = []
        self._begun: dict[tuple[Any, ...], Record] = {}
        self._limit = 10_000

    def take(self, records: Iterable[Record], frontier: int) -> None:
        """Take what was told; what has ended by the frontier is dropped."""
        for record in records:
            if record[0] not in self._outputs:
                continue
            if not isinstance(record, ChangeRecord):
                self._records.append(record)
            elif record[3] >= POS:
                self._begun[record[:2]] = record
            else:
                self._begun.pop(record[:2], None)
        if len(self._records) > self._limit:
            self._records = self._behind(frontier)
            self._limit = 10_000 + 2 * len(self._records)

    def _behind(self, frontier: int) -> list[Record]:
        bound = min(frontier, self._upto)
        return [record for record in self._records if record[3] > bound]

    def begun(self) -> dict[str, dict[Row, int]]:
        """The rows of each output that were told to have begun, and not to have ended, and since when."""
        found: dict[str, dict[Row, int]] = {}
        for output, row, lo, _ in self._begun.values():
            found.setdefault(output, {})[row] = lo
        return found

    def found(self, frontier: int) -> list[Record]:
        """All of it, in the order in which it was told."""
        return [*self._behind(frontier), *self._begun.values()]


def marks_of(blocks: Iterable[Input]) -> Iterator[tuple[Begin, int]]:
    """Where a journal can be read from, in order, and how many facts come before."""
    facts = 0
    for block in blocks:
        if block.first == 1:
            yield Begin(0), 0
        facts += block.facts
        for number, event in numbered(block):
            if isinstance(event, Marked):
                yield Begin(number, event.intake, event.reach, frozenset(event.endless)), facts


def fill(
    session: Filling,
    store: Journal,
    begin: Begin,
    upto: int,
    alive: Alive | None = None,
    without: frozenset[str] = frozenset(),
) -> None:
    """Tell a session the journal behind `begin`, up to the event number `upto`, but for what was taken back since, and for
    facts of the predicates `without`.

    A source that the session does not know came while the journal was written, such as a desk with the first alarm: it is
    there from what it says first.
    """
    session.begin_behind(begin)
    _forget(session, alive)
    if begin.number >= upto:
        return
    session.without(
        [taken_back for block in store.journal(begin.number + 1) for taken_back in retractions_of(numbered(block))]
    )
    for block in store.journal(begin.number + 1):
        for number, event in numbered(block, begin.number):
            if number <= upto:
                session.expect(event)
                session.tell(number, readable(event, session.plan, without))
        _forget(session, alive)
    session.without(())


def _forget(session: Reasoner, alive: Alive | None) -> None:
    records = forget_answers(session)
    if alive is not None:
        alive.take(records, session.frontier)


def forget_answers(session: Reasoner) -> list[Record]:
    """What a session tells is not told to anybody; returns its facts or changes."""
    session.pull_hypothetical()
    session.pull_violations()
    return session.pull_records()


def readable(event: Event, plan: Plan, without: frozenset[str] = frozenset()) -> Event:
    """An event without the facts that a plan cannot take, since it expects other arguments, and `without` others."""
    if not isinstance(event, Taken):
        return event
    known = plan.schema.predicates
    keep = [
        i
        for i, (name, row, _, _) in enumerate(event.records)
        if name not in without and (name not in known or known[name].fits(row))
    ]
    if len(keep) == len(event.records):
        return event
    parts = None if event.parts is None else [event.parts[i] for i in keep]
    return msgspec.structs.replace(event, records=[event.records[i] for i in keep], parts=parts)
