"""Stages over history, a session for each bucket, as a cluster runs them: facts are sorted, and come piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from zlib import crc32

from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.stages import Stage, stages_of
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.ports.interfaces import OpenHistory, StageHistory, StageMode, Told

BUCKETS = 2


@dataclass(slots=True)
class Found:
    """What all stages told users, the constraints that were violated, and what was left unfinished."""

    told: list[Record] = field(default_factory=list)
    violations: list[Told] = field(default_factory=list)
    unfinished: set[str] = field(default_factory=set)


def over_history(
    plan: Plan,
    records: Sequence[Record],
    open_history: OpenHistory,
    emit: StageMode,
    piece: int,
    hand: Callable[[StageHistory, list[Record]], object] = lambda session, some: session.take(some),
) -> Found:
    """Run the stages one after another, and each `hand` its facts to its buckets, a piece at a time."""
    stages = stages_of(plan).stages
    begins = [record[2] for record in records]
    needs_span = any(stage.needs_start or stage.plan.follows_time for stage in stages)
    start = min(begins) if begins and needs_span else None
    last = _arrival(max(begins), plan) if begins and needs_span else None
    known: dict[int | None, list[Record]] = {None: [*records]}
    found = Found()
    for stage in stages:
        passed = known.setdefault(stage.number, [])
        for bucket in range(BUCKETS if stage.key is not None else 1):
            session = open_history(stage, _owner(stage, bucket), emit=emit, start=start)
            own = sorted(_facts(stage, known, bucket), key=lambda record: record[2])
            _run(session, own, last, piece, partial(_note, found, passed), hand)
            found.unfinished |= {*session.unfinished()}
    return found


def _arrival(begin: int, plan: Plan) -> int:
    """The time at which what begins then arrives: a gap is behind it."""
    return begin - (begin & (0 if plan.timeline.is_integer else 1))


def _bucket(value: Value) -> int:
    return crc32(repr(value).encode()) % BUCKETS


def _owner(stage: Stage, bucket: int) -> Callable[[Value], bool]:
    return lambda value: stage.key is None or _bucket(value) == bucket


def _facts(stage: Stage, known: dict[int | None, list[Record]], bucket: int) -> list[Record]:
    return [
        (item.name, row, lo, hi)
        for item in stage.inputs
        for name, row, lo, hi in known.get(item.source, [])
        if name == item.predicate and (item.position is None or _bucket(row[item.position]) == bucket)
    ]


def _run(
    session: StageHistory,
    records: list[Record],
    last: int | None,
    piece: int,
    note: Callable[..., None],
    hand: Callable[[StageHistory, list[Record]], object],
) -> None:
    for begin in range(0, len(records), piece):
        some = records[begin : begin + piece]
        assert not hand(session, some)
        watermark = min(some[-1][2] - 1, POS if last is None else last)
        if watermark > NEG:
            session.advance(watermark)
        note(session)
    session.finish(last)
    note(session)


def _note(found: Found, passed: list[Record], session: StageHistory) -> None:
    answers = session.pull()
    found.told += answers.told
    found.violations += answers.violations
    passed += answers.passed
