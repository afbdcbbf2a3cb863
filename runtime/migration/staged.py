"""A program that is spread over stages changes: each session of a stage goes on as one of a stage now.

A stage goes on from that stage before with which it shares most steps, if both have the same key, for then each fact is in
the bucket in which it was. What a stage gets from an earlier one counts as told by another program where the earlier stage
does not tell it as it did. All else is what a run with a state does (`changing.py`), bucket by bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import time
from typing import Any, NamedTuple

import msgspec

from tidelog.plans.analysis.physical.identity import identify
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.stages import Stage
from tidelog.plans.tree.syntax import Ask, Output, Rule, Value
from tidelog.runtime.columns.stages.flow import is_of_columns, known_of
from tidelog.runtime.columns.stages.rows_again import go_on_by_rows
from tidelog.runtime.journal.events import Event, Marked, Taken, count_facts, pack_events
from tidelog.runtime.migration.backfill import Begin, Filling
from tidelog.runtime.migration.changing import Becoming, Changing, Standing, end_of, same_steps
from tidelog.runtime.ports.durability import Input
from tidelog.runtime.ports.interfaces import Batch, Rejected, StageAnswers, StageMode
from tidelog.runtime.ports.stage_changes import ChangedStage, StageStanding
from tidelog.runtime.sessions.staged import Known, StageRun, known_in

_MARKS = 60.0
"""A mark is set in the journal after so many seconds, when something is told again."""
_WORSE = ("kept", "filled", "new", "ended", "lost")
"""What becomes of an output, from the best that it may be on."""


# --- a journal ----------------------------------------------------------------------------------------------------------


def open_noting_stage(
    stage: Stage,
    owns: Callable[[Value], bool],
    *,
    emit: StageMode = "intervals",
    start: int | None = None,
    state: bytes | None = None,
) -> NotingRun:
    """As `runtime/sessions/staged.py` has it, but that what the session is told is noted for a journal."""
    return go_on_by_rows(NotingRun(stage, owns, emit=emit, start=start), owns, state)


class NotingRun(StageRun):
    """The session of a stage that notes what it is told."""

    def __init__(self, stage: Stage, owns: Callable[[Value], bool], *, emit: StageMode, start: int | None) -> None:
        super().__init__(stage, owns, emit=emit, start=start)
        self._notes: list[Event] = []

    def _tell(self, source: str, batch: Batch) -> list[Rejected]:
        known, now = self.known, time()
        if not self._notes and known.events and now >= known.marked + _MARKS:
            known.marked = now
            self._notes.append(Marked(self._session.intake.snapshot(), known.reach, list(known.endless)))
        self._notes.append(Taken(source, 0.0, list(batch.records), batch.watermark))
        return super()._tell(source, batch)

    def noted(self) -> bytes | None:
        """A block of the journal: what it was told since the last call; None where that is nothing."""
        if not self._notes:
            return None
        found, self._notes = self._notes, []
        known = self.known
        first, known.events = known.events + 1, known.events + len(found)
        block = Input(first, known.events, count_facts(found), int(time() * 1e6), pack_events(found))
        return msgspec.msgpack.encode(tuple(block))


class _Blocks:
    """A journal that is there as its blocks."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        read = (msgspec.msgpack.decode(block, type=tuple[int, int, int, int, bytes]) for block in blocks)
        self._blocks = sorted(Input(*block) for block in read)

    def journal(self, first: int = 0) -> Iterator[Input]:
        yield from (block for block in self._blocks if block.last >= first)


# --- which stage is which -----------------------------------------------------------------------------------------------


class Paired(NamedTuple):
    """From which stage before a stage goes on, by their numbers; None from none, since its state is not dealt in the same
    way: `why` tells, where one could be meant. Of the predicates `other` it gets other facts than that did."""

    now: int
    before: int | None
    other: frozenset[str] = frozenset()
    why: str = ""


def pair_stages(before: Sequence[Stage], now: Sequence[Stage]) -> list[Paired]:
    """From which stage before each stage now goes on, in order."""
    found: list[Paired] = []
    left = {stage.number: stage for stage in before}
    kept: dict[int, frozenset[str]] = {}  # of each stage the outputs that are told as before, and by the same stage
    for stage in now:
        scores = {number: _shared(other, stage) for number, other in left.items()}
        best = max(scores, key=lambda number: (scores[number], -number), default=None)
        if best is None or not scores[best]:
            found.append(Paired(stage.number, None))
            kept[stage.number] = frozenset()
            continue
        why = _dealt_otherwise(left[best], stage)
        if why:
            found.append(Paired(stage.number, None, why=why))
            kept[stage.number] = frozenset()
            continue
        was = left.pop(best)
        pairs = {item.now: item.before for item in found}
        sources = {item.name: item.source for item in was.inputs}
        other = frozenset(
            item.name
            for item in stage.inputs
            if item.source is not None
            and item.name in sources
            and (pairs[item.source] != sources[item.name] or item.predicate not in kept[item.source])
        )
        found.append(Paired(stage.number, best, other))
        kept[stage.number] = _kept(was.plan, stage.plan, other)
    return found


def _shared(before: Stage, now: Stage) -> int:
    """How much two stages have in common: steps count more than what they read."""
    if (before.asked is None) != (now.asked is None):
        return 0
    if before.asked is not None and now.asked is not None and before.asked.name != now.asked.name:
        return 0
    steps = same_steps(identify(before.plan), identify(now.plan), now.plan)
    outputs = before.outputs.keys() & now.outputs.keys()
    inputs = {item.name for item in before.inputs} & {item.name for item in now.inputs}
    return 1000 * len(steps) + 10 * len(outputs) + len(inputs)


def _dealt_otherwise(before: Stage, now: Stage) -> str:
    """Why what one stage remembers is not where another one would look for it; nothing where it is."""
    behind = (max(stage.plan.delays.values(), default=0) for stage in (before, now))
    if next(behind) != next(behind):
        return "the longest `delay` of what it reads has changed"
    was = {item.name: item.position for item in before.inputs}
    for item in now.inputs:
        if item.name in was and was[item.name] != item.position:
            places = [_place(was[item.name]), _place(item.position)]
            return f"its key has changed: {item.predicate} was spread by {places[0]}, and is by {places[1]}"
    if (before.key is None) != (now.key is None):
        return "its key has changed"
    return ""


def _place(position: int | None) -> str:
    return "nothing" if position is None else f"argument {position + 1}"


def _kept(before: Plan, now: Plan, other: frozenset[str]) -> frozenset[str]:
    was, is_now = identify(before), identify(now)
    steps = same_steps(was, is_now, now, other)
    return frozenset(
        name
        for name, step in now.outputs.items()
        if step in steps and name in before.outputs and was.form[before.outputs[name]] == is_now.form[step]
    )


# --- one session --------------------------------------------------------------------------------------------------------


def reach_of(state: bytes) -> tuple[int, tuple[str, ...]]:
    """When the last fact ends that a session was told, by its snapshot, and of which predicates facts have no end: nothing
    stands for any."""
    known = known_of(state) if is_of_columns(state) else known_in(state)
    return known.reach, tuple(known.endless)


def change_stage(
    before: Stage | None, now: Stage | None, owns: Callable[[Value], bool], *, emit: StageMode, standing: StageStanding
) -> ChangedStage:
    """The session of a stage now, which goes on from one of a stage before. Where one of them is None, it was not there, or
    goes on no more."""
    some = before or now
    if some is None:
        raise ValueError("a stage was there, or is there")
    was, is_now = before or _without_rules(some), now or _without_rules(some)
    old = go_on_by_rows(NotingRun(was, owns, emit=emit, start=standing.start), owns, standing.state)
    ahead = StageAnswers()
    if standing.watermark is not None:  # it need not have been told: until it is due, it has nothing to say
        old.advance(standing.watermark)
        said = old.pull()
        if standing.state is not None and is_of_columns(standing.state):  # by rows it may say a little more at once
            ahead = said
    # where nothing came for a stage that was there, that is known from the begin on
    noted = old.noted() if before is not None and standing.state is None and standing.keeps else None
    journal = [*standing.journal] if noted is None else [noted]
    new = NotingRun(is_now, owns, emit=emit, start=standing.start).opened(None)
    known, stored, told = old.known, _filling(old), Filling(new.plan, new.settings)
    told.begin_at(new.start)
    begin = Begin(known.events, stored.intake.snapshot(), standing.reach, standing.endless)
    changing = Changing(Standing(stored, begin, known.heard), told, _Blocks(journal), standing.other)
    becomings = changing.becomings()
    kept = {item.name for item in becomings if item.fate == "kept"}
    state, records = changing.go_on()
    endless = sorted(standing.endless)
    new.go_on_as_one(state, Known(standing.reach, endless, dict(changing.heard), known.events, known.marked))
    return ChangedStage(
        new.snapshot(),
        new.deadline(),
        ahead.told + [record for record in records if new.counts(record) or old.counts(record)],
        [record for record in ahead.passed if record[0] in kept],
        msgspec.msgpack.encode(becomings),
        all(item.fate == "kept" for item in becomings),
        noted,
    )


def _filling(run: StageRun) -> Filling:
    found = Filling(run.plan, run.settings)
    found.begin_at(run.start)
    found.load(run.state_as_one())
    return found


def _without_rules(stage: Stage) -> Stage:
    """A stage that reads the same, and tells nothing: what there was before one that is new."""
    kept = (item for item in stage.program.statements if not isinstance(item, Rule | Output | Ask))
    program = replace(stage.program, statements=tuple(kept))
    plan = compile_program(program, outputs=False)
    return replace(stage, program=program, plan=plan, outputs={}, told=(), constraints=())


# --- all of them --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spread:
    """A program that was spread over stages, and its stages now, each with what becomes of what it tells, by bucket."""

    before: Sequence[Stage]
    now: Sequence[Stage]
    pairs: Sequence[Paired]

    def becomings(self, found: Mapping[int, Iterable[bytes]]) -> list[Becoming]:
        """What becomes of each output, constraint and question of the program; `found` by the stages now, with 0 for all
        stages before that have none."""
        were = {name for stage in self.before for name in (*stage.told, *_asked(stage))}
        are = {name for stage in self.now for name in (*stage.told, *_asked(stage))}
        internal = {name for stage in (*self.before, *self.now) for name in stage.outputs} - were - are
        told: list[Becoming] = []
        for pair in self.pairs:
            blocks = (msgspec.msgpack.decode(block, type=list[Becoming]) for block in found.get(pair.now, ()))
            for item in _together(blocks):
                if item.name in internal or (item.fate == "ended" and item.name in are):
                    continue
                told.append(_lost(item, pair) if item.fate == "new" and item.name in were else item)
        gone = _together(msgspec.msgpack.decode(block, type=list[Becoming]) for block in found.get(0, ()))
        return [*told, *(item for item in gone if item.fate == "ended" and item.name not in internal | are)]


def _lost(item: Becoming, pair: Paired) -> Becoming:
    """An output that was there, but in a stage from which nothing can be taken."""
    why = pair.why or "it is computed in another stage, with other keys"
    rest = item.told.partition(", ")[2]
    return replace(item, fate="lost", told=f"changed, and {why}: what was remembered is dropped, and {rest}", drops=True)


def _asked(stage: Stage) -> tuple[str, ...]:
    return () if stage.asked is None else (f"ask {stage.asked.name}",)


def _together(blocks: Iterable[list[Becoming]]) -> list[Becoming]:
    """What becomes of each in all sessions: the worst, from the latest time on; rows that are dropped add up."""
    worst: dict[str, Becoming] = {}
    rows: dict[str, int] = {}
    for block in blocks:
        for item in block:
            rows[item.name] = rows.get(item.name, 0) + item.rows
            other = worst.get(item.name)
            if other is None or _badness(item) > _badness(other):
                worst[item.name] = item
    return [item if item.fate != "ended" else end_of(name, rows[name]) for name, item in worst.items()]


def _badness(item: Becoming) -> tuple[Any, ...]:
    return _WORSE.index(item.fate), item.drops, item.since, item.told
