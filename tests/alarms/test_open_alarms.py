"""The list of open alarms is the one that is made from scratch, whenever and however often somebody looks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import anyio
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from limits import limits, some_limits
from state.changing import KEEP, Memory

import tidelog
from alarms.test_alarms_law import CHANGES, KINDS, changed, delayed
from alarms.test_causes import Rule_, facts, program_of, rules
from crashing import ReplayableSource
from drawing import drawn
from oracle.alarm_programs import Alarming, alarm_programs
from oracle.open_alarms import open_alarms, with_actions
from oracle.programs import Kind
from tidelog import Engine, MemorySink, Session
from tidelog.connectors.http.desk.desk import Desk
from tidelog.plans.alarms.desk import OpenAlarm, alarm_id
from tidelog.plans.alarms.entries import Entry, action_entries
from tidelog.plans.alarms.folds import Folds, Standing
from tidelog.plans.data.actions import Action, action_record
from tidelog.plans.data.timeline import NEG
from tidelog.plans.data.times import TimeReader
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.emission.held import Held

PRESENTS = st.sampled_from([None, -5, 0, 0, 1, 3, 20])
"""How far the present lies ahead of the stream; at times it goes back."""


def look(session: Session[Any], plan: Plan, ahead: int | None) -> list[OpenAlarm]:
    """What is told, if it is what it should be: the list, each alarm by itself, and that a change is told."""
    frontier = session.frontier
    near = frontier if NEG < frontier < 1 << 61 else 10
    present = None if ahead is None else near + (ahead if plan.timeline.is_integer else 2 * ahead)
    wanted = open_alarms(plan, session.snapshot(), frontier, present)
    told = session.open_alarms(present)
    assert told == wanted
    assert all(session.open_alarm(item.id, present) == item for item in wanted)
    assert session.open_alarm("0" * 20, present) is None
    version = session.alarms_version(present)
    assert session.alarms_version(present) == version and session.open_alarms(present) == told
    return told


@KINDS
@drawn(30)
@given(data=st.data())
def test_a_list_is_the_one_from_scratch(kind: Kind, data: st.DataObject) -> None:
    """Behind some batches, snapshots between, at any present; with the same version, the same is told."""
    case: Alarming = data.draw(alarm_programs(kind))
    plan = tidelog.compile(case.text, desk=True)
    lateness, batch = data.draw(st.sampled_from([0, 0, 3])), data.draw(st.sampled_from([1, 1, 2, 5]))
    arriving = delayed(data, plan, case.records(plan), lateness)
    looks, set_limits = data.draw(st.lists(PRESENTS, max_size=3)), data.draw(some_limits())
    with limits(**set_limits):
        session = Session(plan, emit="changes", lateness=lateness, held=True)
        known: dict[tuple[int, int], list[OpenAlarm]] = {}
        for i in range(0, len(arriving), batch):
            session.push_records(arriving[i : i + batch])
            session.pull_records()
            note(f"{set_limits}, up to {i + batch} of\n{case}\n{arriving}")
            for ahead in looks if data.draw(st.booleans()) else ():
                told = look(session, plan, ahead)
                version = session._outlet.board.version if session._outlet.board is not None else (0, 0)
                assert known.setdefault(version, told) == told
            if data.draw(st.integers(0, 3)) == 0:
                session.restore(json.loads(json.dumps(session.snapshot())))
        session.finish()
        look(session, plan, data.draw(PRESENTS))


def with_people(program: Sequence[Rule_]) -> Plan:
    """A program whose alarms may rest on each other, and are acknowledged and shelved."""
    text = program_of(program).replace("timeline integer.", "timeline integer, unit 1 s.")
    for name, priority in [("a", "low"), ("b", "high"), ("c", "low")]:
        text = text.replace(f"alarm {name}(x).", f"alarm {name}(x), priority {priority}, acknowledge, shelve at most 9 s.")
    return tidelog.compile(text, desk=True)


@drawn(60)
@given(rules(), facts, st.data())
def test_what_is_folded_is_so_from_scratch(program: tuple[Rule_, ...], given: Any, data: st.DataObject) -> None:
    """Causes come, are acknowledged, shelved, and go; what is folded into what, and how many, is told exactly."""
    plan = with_people(program)
    known = [plan.record(name, [row], time) for name, row, time in given]
    done = st.tuples(st.sampled_from("abc"), st.sampled_from("uvw"), st.integers(0, 14), st.booleans())
    for name, row, time, shelves in data.draw(st.lists(done, max_size=4)):
        action = Action("shelve" if shelves else "acknowledge", name, (row,), "anna", "", "", 4 if shelves else None)
        known.append(action_record(plan.schema, TimeReader(plan.timeline), action, Fraction(time)))
    known.sort(key=lambda record: record[2])
    with limits(**data.draw(some_limits())):
        session = Session(plan, emit="changes", lateness=data.draw(st.sampled_from([0, 2])), held=True)
        for record in known:
            session.push_records([record])
            session.pull_records()
            for ahead in data.draw(st.lists(PRESENTS, max_size=2)):
                look(session, plan, ahead)
        session.finish()
        look(session, plan, None)


@drawn(100)
@given(st.data())
def test_folds_are_counted_as_they_come_and_go(data: st.DataObject) -> None:
    """Against a walk along all causes; what is not told to be different is not."""
    keys = [(name, (row,)) for name in "abcd" for row in range(3)]
    folds, now, before = Folds(), dict[Any, Standing](), dict[Any, Any]()

    def first(key: Any) -> Any:
        able = [cause for cause in now[key][1] if cause in now]
        return first(min(able, key=lambda each: now[each][0])) if able else key

    for _ in range(data.draw(st.integers(1, 8))):
        news: dict[Any, Standing | None] = {}
        for key in data.draw(st.lists(st.sampled_from(keys), max_size=5, unique=True)):
            if data.draw(st.integers(0, 2)) == 0:
                if key in now:
                    news[key] = None
                continue
            over = [other for other in keys if other[0] < key[0]]
            causes = data.draw(st.lists(st.sampled_from(over), max_size=3, unique=True)) if over else []
            rank = data.draw(st.integers(0, 2))
            news[key] = (False, rank, False, 0, "", f"{key}"), causes
        for key, standing in news.items():
            now.pop(key, None)
            if standing is not None:
                now[key] = standing
        told = folds.turn(news)
        firsts = {key: first(key) for key in now}
        found = {key: (firsts[key], sum(other == key for other in firsts.values()) - (firsts[key] == key)) for key in now}
        assert {key: folds.first(key) or key for key in now} == firsts
        assert {key: folds.below(key) for key in now if firsts[key] == key} == {
            key: count for key, (top, count) in found.items() if top == key
        }
        assert {key for key in keys if found.get(key) != before.get(key)} <= told
        before = found
    folds.turn(dict.fromkeys(now))
    assert not any([folds.urgency, folds._causes, folds._effects, folds._nearest, folds._under, folds._weight])


@KINDS
@drawn(30)
@given(data=st.data())
def test_what_people_did_counts_at_once(kind: Kind, data: st.DataObject) -> None:
    """On a desk: the list, each alarm by itself and as JSON, and a tag that tells each list from all others."""
    case: Alarming = data.draw(alarm_programs(kind))
    plan = tidelog.compile(case.text, desk=True)
    lateness = data.draw(st.sampled_from([0, 3, 8]))
    arriving = delayed(data, plan, case.records(plan), lateness)
    session = Session(plan, emit="changes", lateness=lateness, held=True)
    desk, done, tags = Desk(plan, None), list[Entry](), dict[str, bytes]()
    desk.engine = session
    for record in arriving:
        session.push_records([record])
        desk.took([record])
        desk.told(session.pull_records())
        done += action_entries(plan.alarms, plan.timeline, [record])
        note(f"lateness {lateness}, up to {record} of\n{case}\n{arriving}")
        for ahead in data.draw(st.lists(PRESENTS, max_size=2)):
            frontier = session.frontier
            present = None if ahead is None or frontier <= NEG else frontier + ahead
            items = open_alarms(plan, session.snapshot(), frontier, present)
            wanted = with_actions(items, done, frontier)
            assert [*desk.open_alarms(present)] == wanted
            shown = {item.id: item for item in wanted}
            for row in case.rows:
                identity = alarm_id("hot", row)
                assert desk.get(identity, present) == shown.get(identity)
            found = b"\n".join(bytes(each) for each in desk.objects(desk.open_alarms(present)))
            assert [json.loads(line) for line in found.splitlines()] == [
                json.loads(json.dumps(desk.object(item))) for item in wanted
            ]
            assert tags.setdefault(desk.tag(present), found) == found


@KINDS
@pytest.mark.parametrize("change", CHANGES)
@drawn(5)
@given(data=st.data())
def test_a_run_that_goes_on_has_the_list_from_scratch(kind: Kind, change: str, data: st.DataObject) -> None:
    """With its program as it was, or changed."""
    case: Alarming = data.draw(alarm_programs(kind))
    plans = [tidelog.compile(text, desk=True) for text in (case.text, changed(case, change))]
    records, store = case.records(plans[0]), Memory()
    cut = data.draw(st.integers(0, len(records)))
    for plan, brought, at_end in ((plans[0], records[:cut], "stop"), (plans[1], records, "finish")):
        watcher = Watcher(data.draw(st.sampled_from([1, 2])))
        engine = Engine(
            plan,
            [ReplayableSource(brought)],
            [MemorySink()],
            state=store,
            commit_every=0,
            keep=KEEP,
            reload="drop",
            emit="changes",
            at_end=at_end,  # type: ignore[arg-type] # one of the two
            observer=watcher,
        )
        watcher.engine, watcher.plan = engine, plan
        anyio.run(engine.run, backend="trio")
        watcher.check()


class Watcher:
    """Looks now and then, so that a list is kept from one look to the next."""

    def __init__(self, every: int) -> None:
        self.engine: Engine | None = None
        self.plan: Plan | None = None
        self._every, self._count = every, 0

    def check(self) -> None:
        assert self.engine is not None and self.plan is not None
        session = self.engine._session
        assert session.open_alarms() == open_alarms(self.plan, session.snapshot(), session.frontier, None)

    def took(self, *_: Any) -> None:
        self._count += 1
        if self._count % self._every == 0:
            self.check()

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


def test_what_is_known_late_is_shown_throughout() -> None:
    """A condition whose state is known some time behind the stream, looked at from every distance: it was not shown from its
    begin on until its state was known."""
    text = "timeline integer, unit 1 s. hot(R) :- diamondplus[0,5] temp(R). alarm hot(room: text), acknowledge."
    plan = tidelog.compile(text, desk=True)
    for ahead in range(-2, 12):
        session = Session(plan, emit="changes", lateness=30, held=True)
        session.push_records([("temp", ("n",), 10, 12), ("temp", ("s",), 20, 21)])
        for time in range(40):
            session.advance(time)
            told = look(session, plan, ahead)
            assert ahead < 0 or not 5 <= session.frontier + ahead <= 12 or told[-1].args == ("n",)


def test_a_list_costs_what_has_changed() -> None:
    """Among many open alarms a look goes over those alone of which something has come."""
    text = "timeline integer, unit 1 s. hot(R) :- temp(R). alarm hot(room: text), acknowledge."
    plan = tidelog.compile(text, desk=True)
    session = Session(plan, emit="changes", held=True)
    session.push_records([("temp", (f"r{i}",), 0, 1000) for i in range(500)])
    session.advance(10)
    assert len(session.open_alarms()) == 500
    counted: list[Any] = []
    since, original = Held.since, Held.since

    def counting(self: Held, *given: Any) -> Any:
        counted.append(given)
        return original(self, *given)

    Held.since = counting  # type: ignore[method-assign] # it counts calls
    try:
        session.acknowledge("hot", ["r7"], who="anna", time=11)
        session.advance(12)
        assert [item.args for item in session.open_alarms() if item.acknowledged] == [("r7",)]
        assert 0 < len(counted) < 20
        del counted[:]
        session.open_alarm(session.open_alarms()[0].id)
        assert not counted
    finally:
        Held.since = since  # type: ignore[method-assign] # as it was


def test_nothing_is_kept_while_nobody_looks() -> None:
    """What has changed since the last look would pile up."""
    text = "timeline integer, unit 1 s. hot(R) :- temp(R). alarm hot(room: text), acknowledge."
    plan = tidelog.compile(text, desk=True)
    with limits(round=10):
        session = Session(plan, emit="changes", held=True)
        board = session._outlet.board
        assert board is not None
        assert session.open_alarms() == []
        for i in range(50):
            session.push("temp", [f"r{i}"], interval=f"[{i},1000]")
            assert len(board._fresh) <= 10 + 1
        session.advance(50)
        assert not board._is_kept
        assert len(session.open_alarms()) == 50
