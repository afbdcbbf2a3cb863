"""Running guessed facts through a plan: what is told of them, how far that is decided, and whether it ends for sure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tidelog.operators.operator import shift
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.data.intervals import maximal
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.diagnostics.errors import TidelogError
from tidelog.plans.plan.plan import PeriodShape, Plan
from tidelog.plans.proving.guessing import Fact
from tidelog.plans.tree.syntax import AlarmDeclaration, Ask, Interval, Output, Statement, TimelineDeclaration
from tidelog.plans.tree.walk import forward_part
from tidelog.runtime.sessions.session import Session

_KEPT = 2000
_WORK = 500
"""What goes on without an end is followed until its steps have received so many facts."""
_IN_VAIN = 30
"""After so many runs that were followed, and of which nothing ended, no more are followed to find an end."""
_DOUBLINGS = 32
"""So often is the time doubled up to which it is followed: from one unit to a hundred years of seconds."""


def narrowed(plan: Plan, output: str) -> Plan:
    """The plan of what one output needs alone, on the same timeline: it runs faster, and tells the same of it."""
    needed = forward_part(plan.program, [output])
    kept = tuple(item for item in needed.statements if not isinstance(item, Output | Ask | AlarmDeclaration))
    statements = (*_on(kept, plan.timeline), Output((output,)))
    return replace(compile_program(replace(needed, statements=statements)), facts=plan.facts)


def refined(plan: Plan, timeline: Timeline) -> Plan:
    """The plan on a timeline whose ticks divide its own: it tells the same, and takes finer times."""
    if plan.timeline == timeline:
        return plan
    made = compile_program(replace(plan.program, statements=_on(plan.program.statements, timeline)))
    facts = tuple(
        (name, row, *timeline.encode_interval(plan.timeline.decode_interval(lo, hi))) for name, row, lo, hi in plan.facts
    )
    return replace(made, facts=facts)


def _on(statements: Sequence[Statement], timeline: Timeline) -> tuple[Statement, ...]:
    """A program that declares a timeline: fewer rules, with fewer fractions, would need none that is so fine."""
    if timeline.is_integer:
        return tuple(statements)
    declared = TimelineDeclaration("rational", timeline.unit, timeline.resolution)
    return (declared, *(item for item in statements if not isinstance(item, TimelineDeclaration)))


@dataclass(frozen=True, slots=True)
class Run:
    """What is told of some facts, by outputs, in maximal intervals.

    Where something goes on without an end, by recursion or by a calendar, a stream is followed only as far as it goes.
    Then only what lies up to a time is `decided`, by outputs, and what ends there may do so only because the run did.
    """

    told: Mapping[str, tuple[Record, ...]]
    decided: Mapping[str, int]
    is_void: bool = False
    """Whether the program refuses these facts, or says that they can never come: then what is told says nothing."""

    def limit(self, predicate: str) -> int:
        """Up to when it is decided where a predicate holds, and where it does not; POS where it is for all times."""
        return self.decided.get(predicate, POS)


class Runner:
    """Runs facts through a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._known: dict[tuple[Fact, ...], Run] = {}
        self._followed: dict[tuple[Fact, ...], Run] = {}
        self._in_vain = 0

    def told(self, facts: Iterable[Fact]) -> Mapping[str, tuple[Record, ...]]:
        """What is told of some facts, by outputs, in maximal intervals; nothing where the program does not take them.

        It is what a stream of these facts alone tells when it ends.
        """
        return self._short(tuple(facts)).told

    def followed(self, facts: Iterable[Fact]) -> Run:
        """The same of a stream in which nothing comes for long behind the facts, where that makes a difference."""
        key = tuple(facts)
        run = self._short(key)
        if not run.decided or not run.told:
            return run
        return _kept(self._followed, key, self._run_on)

    def ends(self, predicate: str, facts: Iterable[Fact]) -> bool:
        """Whether something that is told of a predicate is known to end for sure."""
        key = tuple(facts)
        run = self._short(key)
        if all(hi == POS for _, _, _, hi in run.told.get(predicate, ())):
            return False
        if run.decided:
            if self._in_vain >= _IN_VAIN and key not in self._followed:
                return False
            run = self.followed(key)
        limit = run.limit(predicate)
        found = any(hi < limit for _, _, _, hi in run.told.get(predicate, ()))
        self._in_vain += not found
        return found

    def _short(self, key: tuple[Fact, ...]) -> Run:
        return _kept(self._known, key, self._run)

    def _run(self, facts: Sequence[Fact]) -> Run:
        session = Session(self.plan, emit="final")
        try:
            session.push_records(self._records(facts))
            session.finish()
        except (TidelogError, ValueError):
            return _NOTHING
        if session.pull_violations():
            return _NOTHING  # facts that the program says can never come
        is_whole = not session.unfinished() and not self._follows_calendars
        decided = {} if is_whole else dict.fromkeys(self.plan.outputs, NEG)
        return Run(_by_outputs(session.pull_records()), decided)

    def _run_on(self, facts: Sequence[Fact]) -> Run:
        """Follow what has no end, always twice as far, as long as that is little work."""
        session = Session(self.plan, emit="intervals")
        records = self._records(facts)
        session.push_records(records)
        timeline = self.plan.timeline
        last = max((time for _, _, lo, hi in records for time in (lo, hi) if NEG < time < POS), default=0)
        behind = max(self.plan.delays.values(), default=0)
        begin = timeline.decode_point(last)
        time = last
        for number in range(_DOUBLINGS):
            until = begin + 2**number
            session.advance(until)
            (time, _) = timeline.encode_interval(Interval(until, until))
            if sum(step.received for step in session.statistics().steps.values()) > _WORK:
                break
        if session.pull_violations():
            return _NOTHING
        leads = {name: self.plan.leads.get(step, POS) for name, step in self.plan.outputs.items()}
        decided = {name: POS if lead >= POS else shift(time, lead - behind) for name, lead in leads.items()}
        return Run(_by_outputs(session.pull_records()), decided)

    @cached_property
    def _follows_calendars(self) -> bool:
        plan = self.plan
        counts = any(isinstance(step.shape, PeriodShape) for step in plan.steps)
        return bool(counts or plan.over_calendars or plan.by_calendars)

    def _records(self, facts: Iterable[Fact]) -> list[Record]:
        return sorted(map(self.record, facts), key=lambda record: record[2])

    def takes(self, fact: Fact) -> bool:
        """Whether the program takes a fact, of a predicate that it knows."""
        known = self.plan.schema.predicates.get(fact.predicate)
        if known is None or not known.accepts_input:
            return False
        try:
            self.record(fact)
        except (TidelogError, ValueError):
            return False
        return True

    def record(self, fact: Fact) -> Record:
        """A fact as a record; DataError where it does not fit."""
        lo, hi = self.plan.timeline.encode_interval(Interval(fact.low, fact.high))
        return fact.predicate, self.plan.schema.check(fact.predicate, fact.row), lo, hi


_NOTHING = Run({}, {}, is_void=True)


def _kept(known: dict[tuple[Fact, ...], Run], key: tuple[Fact, ...], run: Callable[[Sequence[Fact]], Run]) -> Run:
    if key not in known:
        if len(known) >= _KEPT:
            known.clear()
        known[key] = run(key)
    return known[key]


def _by_outputs(records: Iterable[Record]) -> Mapping[str, tuple[Record, ...]]:
    found: dict[str, list[Record]] = {}
    for (predicate, row), lo, hi in maximal((record[:2], *record[2:]) for record in records):
        found.setdefault(predicate, []).append((predicate, row, lo, hi))
    return {name: tuple(each) for name, each in found.items()}
