"""Restoring: all of a snapshot is taken, or nothing of it; what is damaged anywhere is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import tidelog
from tidelog import Session
from tidelog.operators.joins.antijoin import AntiJoin
from tidelog.plans.data.facts import Record
from tidelog.plans.data.saved import seal, unseal
from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.stages import stages_of
from tidelog.runtime.ports.interfaces import Batch, StageMode
from tidelog.runtime.sessions.staged import open_stage

PROGRAMS = {
    "metric": """
timeline integer.
input temp(sensor, value). input fan(sensor).
hot(X) :- temp(X, V), V > 22.
alarm(X) :- boxminus[0,2] hot(X).
spread(X) :- alarm(X).
spread(X) :- diamondminus[1,3] spread(X), hot(X).
quiet(X) :- diamondminus[0,1] temp(X, _), not hot(X).
pair(X, Y) :- temp(X, V), temp(Y, V), X != Y.
held(X) :- hot(X) since[0,5] fan(X).
soon(X) :- hot(X) until[1,2] fan(X).
bottom :- hot(X), fan(X).
output alarm, spread, quiet, pair, held, soon.
""",
    "windows": """
timeline integer.
input temp(sensor, value). input fan(sensor).
last(X) :- sometime temp(X, _) in [#3].
full(X) :- always fan(X) in [#2].
late(X, T) :- temp(X, V)@T in [5].
back(X)@T-1 :- temp(X, 23)@T in [3].
output last, full, late, back.
""",
    "questions": """
timeline integer.
input temp(sensor, value). input fan(sensor).
hot(X) :- temp(X, 24).
alarm(X) :- hot(X), diamondminus[0,2] fan(X), not diamondminus[0,1] temp(X, 20).
ask alarm(X)@T.
""",
}
WRONG: tuple[Any, ...] = (None, "x", -1, 1 << 61, 1 << 70, 1.5, True, [], {}, [[]], b"x")
HALF = 12


def facts(count: int, first: int = 0) -> Iterator[Record]:
    """Readings of three sensors, some of which are hot, and now and then a fan."""
    for time in range(first, first + count):
        yield "temp", ("abc"[time % 3], 20 + time % 5), time, time
        if time % 4 == 0:
            yield "fan", ("abc"[time % 2],), time, time + 2


def begun(plan: Plan, **options: Any) -> Session:
    """A session in the middle of its stream, whose answers were pulled."""
    session = Session(plan, lateness=2, **options)
    session.push_records(facts(HALF))
    pulled(session)
    return session


def pulled(session: Session) -> list[str]:
    told = [*session.pull(), *session.pull_hypothetical(), *session.pull_violations()]
    return [str(item) for item in told]


def rest(session: Session) -> list[str]:
    """What it tells of the rest of the stream."""
    session.push_records(facts(HALF, HALF))
    session.finish()
    return pulled(session)


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all that plain data are made of, the inner nodes as well."""
    if path:
        yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for name, value in items:
        yield from leaves(value, (*path, name))


def damages(data: Any) -> Iterator[str]:
    """Damages plain data in one place after the other, and mends it again: another value, a member less, a member more."""
    for path in list(leaves(data)):
        holder = data
        for name in path[:-1]:
            holder = holder[name]
        name = path[-1]
        whole = holder[name]
        for value in (*WRONG, *_longer(whole)):
            if repr(value) != repr(whole):
                holder[name] = value
                yield f"{path} is {value!r}"
        holder[name] = whole
        if isinstance(holder, list):
            del holder[name]
            yield f"{path} is gone"
            holder.insert(name, whole)
        else:
            del holder[name]
            yield f"{path} is gone"
            holder[name] = whole


def _longer(value: Any) -> list[Any]:
    """The same with a little more."""
    if isinstance(value, dict):
        return [{**value, "more": 1}]
    if isinstance(value, list):
        return [[*value, value[-1] if value else 0]]
    return [value + "x"] if isinstance(value, str) else [value + 1] if isinstance(value, int) else []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "emit"), [("metric", "final"), ("metric", "points"), ("windows", "intervals"), ("questions", "intervals")]
)
def test_damage_anywhere_is_told_and_changes_nothing(name: str, emit: Any) -> None:
    """Whatever of a snapshot is changed, missing or too much, it is refused, and the session goes on as it would have."""
    plan = tidelog.compile(PROGRAMS[name])
    snapshot = json.loads(json.dumps(begun(plan, emit=emit).snapshot()))
    session = Session(plan, lateness=2, emit=emit)
    session.push_records(facts(3))
    before, parts = session.snapshot(), dict(vars(session))
    count = 0
    for what in damages(snapshot):
        count += 1
        with pytest.raises(SnapshotError):
            session.restore(snapshot)
            pytest.fail(what)
        assert vars(session) == parts, what
    assert count > 1000
    assert session.snapshot() == before
    told = pulled(session)
    other = Session(plan, lateness=2, emit=emit)
    other.push_records(facts(3))
    assert told == pulled(other)
    assert rest(session) == rest(other)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_snapshot_is_taken_by_a_session_in_use(name: str) -> None:
    """A session that was at work elsewhere goes on as the one from which the snapshot was taken."""
    plan = tidelog.compile(PROGRAMS[name])
    first = begun(plan)
    second = Session(plan, lateness=2)
    second.push_records(facts(30, 5))
    second.restore(json.loads(json.dumps(first.snapshot())))
    assert pulled(second) == []
    assert second.snapshot() == first.snapshot()
    assert rest(second) == rest(first)


@pytest.mark.parametrize("part", ["intake", "network", "outlet", "questions"])
def test_what_does_not_fit_leaves_the_session_alone(part: str) -> None:
    """A part that is sealed and is nothing that can be taken, as another version may write it, is refused as a whole."""
    plan = tidelog.compile(PROGRAMS["metric"])
    session = begun(plan)
    before = session.snapshot()
    for value in (None, [1], {"frontiers": 3}, 7):
        with pytest.raises(SnapshotError):
            session.restore(seal({**unseal(before), part: value}))
    assert session.snapshot() == before
    assert rest(session) == rest(begun(plan))


@pytest.mark.pure
def test_a_failure_in_the_middle_leaves_the_session_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one operator cannot take its state, none has."""
    plan = tidelog.compile(PROGRAMS["metric"])
    session, snapshot = begun(plan), Session(plan, lateness=2).snapshot()
    before = session.snapshot()

    def fail(*_: object) -> None:
        raise AttributeError("broken")

    monkeypatch.setattr(AntiJoin, "load", fail)
    with pytest.raises(SnapshotError, match="the snapshot is damaged: AttributeError"):
        session.restore(snapshot)
    assert session.snapshot() == before


@pytest.mark.parametrize("data", [None, 7, [], {}, {"version": 5}, {"checksum": "x"}, {"checksum": {1, 2}, "x": {3}}])
def test_what_is_no_snapshot(data: Any) -> None:
    """Anything else is a SnapshotError."""
    with pytest.raises(SnapshotError):
        Session(tidelog.compile("p :- q.")).restore(data)


def test_a_snapshot_belongs_to_its_sources_outputs_and_facts() -> None:
    """One that was taken with other sources, outputs or facts, or by another version, is refused, and not taken in part."""
    text = "timeline integer. p(X) :- q(X), r(X). s(X) :- q(X). "
    plan = tidelog.compile(text + "output p, s. r(a).")
    session = Session(plan, sources=("one", "two"))
    session.take("one", Batch([("q", ("a",), 1, 1)]))
    snapshot = session.snapshot()
    for other in (
        Session(plan),
        Session(plan, sources=("two", "one")),
        Session(tidelog.compile(text + "output p, s. r(b)."), sources=("one", "two")),
        Session(tidelog.compile(text + "output p. r(a)."), sources=("one", "two")),
        Session(plan, sources=("one", "two"), emit="final"),
    ):
        with pytest.raises(SnapshotError, match="was taken from another program or mode, with other sources"):
            other.restore(snapshot)
    with pytest.raises(SnapshotError, match="in format 10, and this is tidelog"):
        Session(plan, sources=("one", "two")).restore(seal({**session.state(), "version": 10}))
    again = Session(plan, sources=("one", "two"))
    again.restore(snapshot)
    again.take("two", Batch([("q", ("a",), 2, 2)]))
    for source in ("one", "two"):
        again.end(source)


@pytest.mark.long
@pytest.mark.parametrize("emit", ["intervals", "final", "changes"])
def test_stages_take_all_or_nothing(emit: StageMode) -> None:
    """A stage's state with any byte changed is refused, and the stage goes on as it would have.

    With answers as changes each bit is changed, otherwise one of each byte.
    """
    (stage,) = stages_of(tidelog.compile("timeline integer. input q(x). output p. p(X) :- boxminus[0,2] q(X).")).stages
    records: list[Record] = [("q", ("a",), time, time) for time in range(5)]

    def opened() -> Any:
        run = open_stage(stage, lambda _: True, emit=emit)
        run.take(records[:3])
        run.advance(1)
        return run

    run, other = opened(), opened()
    state = opened().snapshot()
    for i in range(len(state)):
        for bit in range(8) if emit == "changes" else (i % 8,):
            damaged = bytearray(state)
            damaged[i] ^= 1 << bit
            with pytest.raises(SnapshotError):
                run.restore(bytes(damaged))
    without = None if emit == "intervals" else {}
    for damaged in (b"", state[:-1], msgspec.msgpack.encode(seal({"session": {}, "emission": without}))):
        with pytest.raises(SnapshotError):
            run.restore(damaged)
    for each in (run, other):
        each.take(records[3:])
        each.finish(None)
    assert run.pull() == other.pull()
