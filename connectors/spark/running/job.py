"""What Spark's workers have to know of a run, as plain data, and how they make stages of it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from tidelog.plans.analysis.physical.in_columns import stops_row_by_row
from tidelog.plans.calendars.declared import with_events
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.needed import Needed, needed_rows
from tidelog.plans.stages.stages import Stage, StageInput, stages_of
from tidelog.plans.tree.syntax import CalendarDeclaration
from tidelog.plans.tree.walk import statements_of
from tidelog.runtime.ports.interfaces import StageMode

if TYPE_CHECKING:
    from tidelog.connectors.spark.running.parcels import Routes

_decode_facts = msgspec.msgpack.Decoder(list[tuple[str, tuple[str | int | float, ...], int, int]]).decode
_decode_events = msgspec.msgpack.Decoder(dict[str, tuple[tuple[int, int, str], ...]]).decode
_GROUPS, _GROUP = 32, 16
"""A stream's buckets are in so many groups, or in more, of so many buckets each."""
_MOST_BUCKETS = 512
_OPENING, _STEP, _FACT = 500_000, 60, 2
"""Microseconds of CPU, about: what opening the sessions of all buckets may take, and what a step and a fact add to one."""


@dataclass(frozen=True, slots=True)
class FirstRead:
    """The name of a predicate in the data, and the rows of it that go to earlier stages."""

    predicate: str
    earlier: tuple[Needed, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """A run of a program: its text and what it is called, the facts that it begins with, and what the run was told.

    A stage with a key has `buckets` sessions, each for the keys that fall into it. `start` and `last` (encoded) are when the
    stream starts, and its last fact begins, where that is known. `emit` is the form in which answers are told, `events` are
    those of the calendars' files. `keep` is for how many seconds a stream keeps what its stages were told, if it does.
    """

    program: str
    name: str
    facts: bytes
    buckets: int
    emit: StageMode = "intervals"
    start: int | None = None
    last: int | None = None
    events: bytes = b""
    keep: float | None = None

    @property
    def routes(self) -> Routes:
        """Where facts go. What is kept for another program is kept whole."""
        from tidelog.connectors.spark.running.parcels import Routes  # noqa: PLC0415 - options are shown without pyarrow

        return Routes(self.stages, self.buckets, whole=self.keep is not None)

    @property
    def groups(self) -> int:
        """How many keys of Spark's the buckets of a stream are dealt into: as many tasks can share the work of a stage."""
        return min(self.buckets, max(_GROUPS, self.buckets // _GROUP))

    @property
    def plan(self) -> Plan:
        """The program's plan."""
        return _compiled(self.program, self.name, self.facts, self.events)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The plan's stages, in order."""
        return _stages(self.program, self.name, self.facts, self.events)

    @property
    def needs_span(self) -> bool:
        """Whether it matters when the stream starts and ends: for clipped windows, and for what recurs through time."""
        return any(stage.needs_start or stage.plan.follows_time for stage in self.stages)

    def first_read_by(self, number: int) -> Mapping[str, FirstRead]:
        """The stream's predicates that a stage reads, by its own names, without those of which an earlier stage gets all
        rows."""
        earlier: dict[str, list[Needed | None]] = {}
        for stage in self.stages[: number - 1]:
            for item in _of_stream(stage):
                some = needed_rows(stage.program, item.name) if self.keep is None else None
                earlier.setdefault(item.predicate, []).append(some)
        found: dict[str, FirstRead] = {}
        for item in _of_stream(self.stages[number - 1]):
            others = earlier.get(item.predicate, [])
            needed = tuple(each for each in others if each is not None)
            if len(needed) == len(others):
                found[item.name] = FirstRead(item.predicate, needed)
        return found


def _of_stream(stage: Stage) -> Iterator[StageInput]:
    return (item for item in stage.inputs if item.source is None)


def stream_buckets(plan: Plan) -> int:
    """How many buckets a stream has unless told otherwise.

    Row by row many, so that a fact touches little of what is remembered, but fewer where each takes long to open, which a
    batch with facts of all keys does with all of them. In columns few: a kernel takes many facts at once, and what it keeps
    is read and written fast.
    """
    if all(stage.asked is None and stops_row_by_row(stage.plan) is None for stage in stages_of(plan).stages):
        return _GROUPS
    each = _STEP * len(plan.steps) + _FACT * len(plan.facts)
    return max(_GROUPS, min(_MOST_BUCKETS, _OPENING // max(1, each)))


def job_of(
    plan: Plan, buckets: int, *, emit: StageMode = "intervals", start: int | None = None, keep: float | None = None
) -> Job:
    """A run of this plan; ProgramError with every reason if it cannot be split into stages."""
    stages = stages_of(plan)
    if stages.problems:
        raise ProgramError(stages.problems, plan.name, plan.program.text)
    read = {item.predicate: item.events for item in statements_of(plan.program, CalendarDeclaration) if item.path}
    facts, events = msgspec.msgpack.encode(plan.facts), msgspec.msgpack.encode(read)
    return Job(format_program(plan.program), plan.name, facts, buckets, emit, start, events=events, keep=keep)


@lru_cache(maxsize=4)
def _compiled(program: str, name: str, facts: bytes, events: bytes) -> Plan:
    known: Sequence[Record] = _decode_facts(facts)
    parsed = parse(program, name)
    if events:
        read = _decode_events(events)
        calendars = [item for item in statements_of(parsed, CalendarDeclaration) if item.predicate in read]
        parsed = with_events(parsed, (replace(item, events=read[item.predicate]) for item in calendars))
    return replace(compile_program(parsed), facts=tuple(known))


@lru_cache(maxsize=4)
def _stages(program: str, name: str, facts: bytes, events: bytes) -> tuple[Stage, ...]:
    return stages_of(_compiled(program, name, facts, events)).stages


def shared(job: Job) -> Mapping[int, str]:
    """The stages that run in one session for all data, by their number: the rule that prevents a key."""
    return {stage.number: stage.prevented_by for stage in job.stages if stage.prevented_by}
