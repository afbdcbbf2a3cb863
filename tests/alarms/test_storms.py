"""What sinks are told in a storm: a summary, what began before it, and what is critical; behind it what is still there."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace

import pytest
from engine.standing.test_programs import BATCHES, MODES, told
from hypothesis import given, note
from hypothesis import strategies as st
from limits import limits, some_limits

import tidelog
from drawing import drawn
from oracle.agreement import Runs, runs_of
from oracle.storms import Key, course
from tidelog import Session, SpecError
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.declared.storms import Storm

PROGRAM = """timeline integer, unit {unit} s.
input gone(pump: text).
input feeds(pump: text, line: text).
input heat(room: text).
input closed(room: text).
stopped(P) :- gone(P).
dry(L, P) :- stopped(P), feeds(P, L).
dry(L, own) :- heat(L).
hot(R) :- heat(R).
fire :- heat(r1), heat(r2).
alarm stopped(pump: text), priority high, acknowledge.
alarm dry(line: text, pump: text), priority low.
alarm hot(room: text), priority medium, shelve at most 1 h, inhibited by closed(room).
alarm fire, priority critical.
"""
ROWS = {
    "gone": [("p1",), ("p2",)],
    "feeds": [("p1", "l1"), ("p1", "l2"), ("p2", "l2")],
    "heat": [("r1",), ("r2",), ("r3",), ("l1",)],
    "closed": [("r1",), ("r3",)],
}
MINUTES = {20: 3, 12: 5, 60: 1}
"""How many ticks of so many seconds a minute has."""
FIRST, LAST = 40, 80


@st.composite
def histories(draw: st.DrawFn, rows: dict[str, list[tuple[str, ...]]] = ROWS, most: int = 25) -> list[Record]:
    """Facts in the order of their begins; some have no end."""
    found = set()
    for _ in range(draw(st.integers(1, most))):
        name = draw(st.sampled_from(sorted(rows)))
        lo = draw(st.integers(FIRST, LAST))
        hi = draw(st.sampled_from([lo, lo + 1, lo + 3, lo + 12, POS]))
        found.add((name, draw(st.sampled_from(rows[name])), lo, hi))
    return sorted(found, key=lambda record: record[2])


def plan_of(text: str, storms: list[Storm], spoken: Collection[str] | None = None) -> Plan:
    """The plan of a program with a desk; its storms are told unless something else is."""
    plan = tidelog.compile(text, desk=True, storms=storms)
    names = [name for storm in storms for name in storm.names(plan.alarms)] if spoken is None else spoken
    return replace(plan, spoken=frozenset(names))


def held(runs: Runs, names: dict[str, str], ticks: range) -> list[set[Key]]:
    """What of some predicates holds at each tick, under other names."""
    found: list[set[Key]] = [set() for _ in ticks]
    for (name, row), spells in runs.items():
        for lo, hi in spells if name in names else ():
            for at in range(max(lo, ticks.start), min(hi, ticks.stop - 1) + 1):
                found[at - ticks.start].add((names[name], row))
    return found


def wrong(plan: Plan, storm: Storm, records: list[Record], runs: Runs, points: Collection[int] | None = None) -> list[str]:
    """Where the course of a storm, as it is told, is not what is active tick by tick, and what follows from that."""
    ticks = range(FIRST - 1, LAST + 40)
    minute = MINUTES[int(plan.timeline.unit or 0)]
    parts = {alarm.part(storm.part): alarm.name for alarm in storm.counted(plan.alarms)}
    base = replace(plan, spoken=frozenset(parts))
    active = held(told(base, records, 1000, "final"), parts, ticks)
    wanted = course(active, ticks.start, minute, storm.limit, {"fire"})
    names = {name: name for name in storm.names(plan.alarms)}
    found = held(runs, names, ticks)
    calm = {storm.calm(alarm): alarm.name for alarm in storm.counted(plan.alarms)}
    differences = []
    for i, at in enumerate(ticks):
        if points is not None and at not in points:
            continue
        is_told = {(calm[name], row) for name, row in found[i] if name in calm}
        counts = [row[0] for name, row in found[i] if name == storm.count]
        is_storm = (storm.holds, ()) in found[i]
        now = wanted.told[i], [] if wanted.counts[i] is None else [wanted.counts[i]], wanted.storms[i]
        if (is_told, counts, is_storm) != now:
            differences.append(f"{at}: told {is_told}, {counts}, {is_storm}, wanted {now}; active {active[i]}")
    return differences


@drawn(40)
@given(data=st.data())
def test_sinks_are_told_of_storms_as_they_are_tick_by_tick(data: st.DataObject) -> None:
    """Of all alarms, of causes, and of some; in all emit modes, singly and in batches, in time and late, with each limit."""
    text = PROGRAM.format(unit=data.draw(st.sampled_from(sorted(MINUTES))))
    some = data.draw(st.sampled_from([(), (), ("hot",), ("dry", "fire")]))
    storm = Storm("pager", data.draw(st.sampled_from(["active", "told"])), data.draw(st.integers(1, 5)), some)
    plan = plan_of(text, [storm])
    records = data.draw(histories())
    lateness = data.draw(st.sampled_from([0, 0, 3]))
    delays = {record: data.draw(st.sampled_from([0, 0, lateness])) for record in records} if lateness else {}
    arriving = sorted(records, key=lambda record: record[2] + delays.get(record, 0))
    batch, set_limits = data.draw(BATCHES), data.draw(some_limits())
    with limits(**set_limits):
        for emit in MODES:
            note(f"{emit}, {set_limits}, lateness {lateness}, batches of {batch}, {storm}\n{arriving}")
            runs = told(plan, arriving, batch, emit, lateness=lateness)
            points = {record[2] for record in arriving} if emit == "points" else None
            assert not wrong(plan, storm, records, runs, points)


@drawn(8)
@given(data=st.data())
def test_a_storm_goes_on_behind_a_snapshot_and_with_hundreds_of_rows(data: st.DataObject) -> None:
    """What is told of two sinks, with snapshots between batches, is that of the ticks."""
    rooms = [(f"r{number}",) for number in range(300)]
    storms = [Storm("a", "active", 50), Storm("b", "told", 7, ("hot",))]
    plan = plan_of(PROGRAM.format(unit=20), storms)
    records = data.draw(histories({**ROWS, "heat": rooms}, 400))
    emit, batch = data.draw(st.sampled_from(["final", "intervals"])), data.draw(BATCHES)
    session = Session(plan, emit=emit)
    answers: list[Record] = []
    for i in range(0, len(records), batch):
        if data.draw(st.integers(0, 20)) == 0:
            answers += session.pull_records()
            stored = json.loads(json.dumps(session.snapshot()))
            session = Session(plan, emit=emit)
            session.restore(stored)
        session.push_records(records[i : i + batch])
    session.finish()
    runs = runs_of([*answers, *session.pull_records()])
    for storm in storms:
        assert not wrong(plan, storm, records, runs)


def test_the_course_of_a_storm() -> None:
    """More than two within a minute are one too many; what stands behind the storm is told then, and what was told stays."""
    storm = Storm("pager", "active", 2, ("hot",))
    plan = plan_of(PROGRAM.format(unit=20), [storm])
    facts = [("r1", 40, 90), ("r3", 41, 41), ("r4", 42, 90), ("r5", 42, 44), ("r6", 43, 90)]
    runs = told(plan, [("heat", (room,), lo, hi) for room, lo, hi in facts], 1, "final")
    told_of = {row[0]: spells for (name, row), spells in runs.items() if name == "hot calm pager"}
    assert told_of == {"r1": [(40, 90)], "r3": [(41, 41)], "r4": [(45, 90)], "r6": [(45, 90)]}
    assert runs[storm.holds, ()] == [(42, 44)]


def test_a_storm_ends_with_half_as_many_and_is_counted_by_minutes() -> None:
    """More than four begin it, three carry it on; what began in a whole minute is told for the minute behind it."""
    storm = Storm("pager", "active", 4, ("hot",))
    plan = plan_of(PROGRAM.format(unit=20), [storm])
    numbers = {40: 5, 43: 3, 46: 2}  # a minute ends at 42, 45 and 48
    facts = [("heat", (f"r{at}-{i}",), at, at) for at, number in numbers.items() for i in range(number)]
    runs = told(plan, facts, 1, "final")
    assert runs[storm.holds, ()] == [(40, 45)]
    counted = {row[0]: spells for (name, row), spells in runs.items() if name == storm.count}
    assert counted == {5: [(42, 44)], 3: [(45, 45)]}


def test_what_cannot_be_counted_by_minutes_is_refused() -> None:
    """A timeline that has no minutes, and a sink that is told of no alarm."""
    alarm = "alarm hot(room: text), priority low.\nhot(R) :- heat(R).\noutput heat.\n"
    storm = Storm("pager", "active", 2)
    for timeline in ("integer", "integer, unit 7 s", "integer, unit 2 min", "rational, unit 1 s"):
        with pytest.raises(SpecError, match="a minute"):
            tidelog.compile(f"timeline {timeline}.{alarm}", desk=True, storms=[storm])
    with pytest.raises(SpecError, match="sink `pager`: `storm` counts alarms, and none of its `predicates` is an alarm"):
        tidelog.compile("timeline integer, unit 1 s." + alarm, desk=True, storms=[replace(storm, alarms=("heat",))])
