"""`mode(M) := running :- start(M)`: the answers are those of an interpreter that keeps a table, time by time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracle.agreement import records_of, runs_of
from oracle.evaluate import GroundFact
from oracle.machine_programs import events, machine_programs
from oracle.machines import run_machines
from oracle.programs import shuffled_within
from tidelog import Materialisation, Session, compile
from tidelog.plans.compiling.batch import compile_batch
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import EndlessError, ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan

LAST = 30
OUTPUTS = ("m", "n", "busy")


def held_by(records: Sequence[Record], last: int = LAST) -> dict[int, set[tuple[str, tuple[object, ...]]]]:
    """What answers say of each time."""
    held: dict[int, set[tuple[str, tuple[object, ...]]]] = {time: set() for time in range(last + 1)}
    for (name, row), ranges in runs_of(records).items():
        for lo, hi in ranges:
            for time in range(max(lo, 0), min(hi, last) + 1):
                held[time].add((name, row))
    return held


def expected(text: str, facts: Sequence[GroundFact], last: int = LAST) -> dict[int, set[tuple[str, tuple[object, ...]]]]:
    """What the interpreter says."""
    model = run_machines(parse(text), facts, last)
    return {time: {(name, row) for name in OUTPUTS for row in held[name]} for time, held in enumerate(model)}


def told(plan: Plan, records: Sequence[Record], batch: int = 1, emit: str = "intervals", lateness: int = 0) -> list[Record]:
    session = Session(plan, emit=emit, lateness=Fraction(lateness))  # type: ignore[arg-type]
    for i in range(0, len(records), batch):
        session.push_records(records[i : i + batch])
    session.finish()
    return session.pull_records()


@given(machine_programs(), events(), st.integers(1, 12))
def test_answers_are_the_interpreters(text: str, facts: list[GroundFact], batch: int) -> None:
    """One by one and in batches."""
    plan = compile_program(parse(text))
    assert held_by(told(plan, records_of(plan, facts), batch)) == expected(text, facts), text


@given(machine_programs(), events())
def test_in_batch(text: str, facts: list[GroundFact]) -> None:
    """`materialise` says the same."""
    plan = compile_batch(parse(text))
    done = Materialisation(plan)
    done.load(records_of(plan, facts))  # type: ignore[arg-type]
    try:
        done.run()
    except EndlessError:  # it goes from state to state for ever
        assume(False)
    assert held_by([record for record in done.facts() if record[0] in OUTPUTS]) == expected(text, facts), text


@given(st.data())
def test_late_facts_within_the_lateness(data: st.DataObject) -> None:
    """In any order that the lateness allows."""
    text, facts = data.draw(machine_programs()), data.draw(events())
    plan = compile_program(parse(text))
    lateness = data.draw(st.integers(1, 6))
    records = records_of(plan, data.draw(shuffled_within(facts, lateness)))
    assert held_by(told(plan, records, data.draw(st.integers(1, 5)), lateness=lateness)) == expected(text, facts), text


@given(machine_programs(), events(), st.integers(1, 4))
def test_all_forms_of_answers_agree(text: str, facts: list[GroundFact], batch: int) -> None:
    """`final` has maximal ranges, `points` their slices, `changes` their ends."""
    plan = compile_program(parse(text))
    records = records_of(plan, facts)
    runs = runs_of(told(plan, records, batch))
    final = {(name, row): sorted(ranges) for (name, row), ranges in runs_of(told(plan, records, batch, "final")).items()}
    assert final == runs, text
    points = {(lo, name, row) for name, row, lo, _ in told(plan, records, batch, "points")}
    times = {lo for _, _, lo, _ in records}
    assert points == {
        (time, *fact) for fact, ranges in runs.items() for lo, hi in ranges for time in times if lo <= time <= hi
    }, text
    changes = told(plan, records, batch, "changes")
    ended = {(name, row, lo, hi) for name, row, lo, hi in changes if not hasattr(lo, "begins") and hi < POS}
    wanted = {(*fact, lo, hi) for fact, ranges in runs.items() for lo, hi in ranges if hi < POS}
    assert wanted <= ended | wanted and len(changes) >= len(wanted), text


@pytest.mark.parametrize("mode", ["intervals", "final", "changes", "points"])
@given(data=st.data())
def test_snapshots_change_nothing(mode: str, data: st.DataObject) -> None:
    """A session that goes on from a snapshot at any message tells the same, in the same order."""
    text, facts = data.draw(machine_programs()), data.draw(events())
    plan = compile_program(parse(text))
    records = records_of(plan, facts)
    cut = data.draw(st.integers(0, len(records)))
    whole, first, second = (Session(plan, emit=mode) for _ in range(3))  # type: ignore[arg-type]
    for record in records[:cut]:
        whole.push_records([record])
        first.push_records([record])
    answers = first.pull_records()
    second.restore(json.loads(json.dumps(first.snapshot())))
    for record in records[cut:]:
        whole.push_records([record])
        second.push_records([record])
    whole.finish()
    second.finish()
    assert answers + second.pull_records() == whole.pull_records(), text


@given(machine_programs("rational"), events(lasting=False), st.integers(1, 4))
def test_on_rationals_events_switch(text: str, facts: list[GroundFact], batch: int) -> None:
    """With events at whole times, the machine is at these what it is on integers, and in the gap before them, too."""
    assume(" for " not in text)  # what has lasted so long begins to at no first time
    plan = compile_program(parse(text))
    records = records_of(plan, facts)
    scale = plan.timeline.encode_point(Fraction(1))
    session = told(plan, records, batch)
    dense = {(name, row): ranges for (name, row), ranges in runs_of(session).items()}
    wanted = expected(text, facts)
    for time in range(1, LAST):
        held = {fact for fact, ranges in dense.items() if any(lo <= time * scale <= hi for lo, hi in ranges)}
        before = {fact for fact, ranges in dense.items() if any(lo <= time * scale - 1 <= hi for lo, hi in ranges)}
        assert held == wanted[time], (text, time)
        assert {each for each in before if each[0] != "busy"} == {each for each in wanted[time] if each[0] != "busy"}


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("hot(M) :- heat(M), mode(M, on). ask hot(M)@T.", "mode(M, on)", "depends on `mode`, which is assigned by `:=`"),
        ("hot(M) :- heat(M), not mode(M, _) for 3. ask hot(M)@T.", "mode(M, _)", "depends on `mode`"),
        ("ask mode(M, on)@T.", "mode(M, on)@T", "is assigned by `:=`"),
        ("mode(M) := off :- mode(M, on) for 3. ask mode(M, V)@T.", "mode(M, V)@T", "is assigned by `:=`"),
    ],
)
def test_ask_says_that_it_does_not_follow_machines(text: str, place: str, said: str) -> None:
    """In the words of the program, where it reads or asks for what is assigned."""
    program = f"timeline integer.\ninput start(m). input heat(m).\nmode(M) := on :- start(M).\n{text}\n"
    with pytest.raises(ProgramError) as refused:
        compile_program(parse(program), outputs=False)
    (problem,) = refused.value.diagnostics
    assert problem.code == "not-in-ask"
    assert said in problem.message
    assert program[problem.span.start : problem.span.end] == place
    assert "`output`" in (problem.help or "")


def test_ask_takes_what_no_machine_is_behind() -> None:
    """A program may have machines beside what it asks."""
    text = (
        "timeline integer. input start(m). output mode. mode(M) := on :- start(M). twice(M)@T :- start(M)@T, start(M)@T+1."
    )
    session = Session(compile(f"{text} ask twice(M)@T."))
    session.push("start", ["a"], time=1)
    session.push("start", ["a"], time=2)
    session.finish()
    assert [answer.status for answer in session.pull_hypothetical()][-1] == "rejected"
    assert [record[0] for record in session.pull_records()] == ["mode"]
