"""The session's answers to programs with aggregates and held values are the oracle's, whatever they are mixed with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from engine.test_lars_equals_oracle import MODES, answers_of, compare, compiled, show
from oracle.agreement import differences, records_of, runs_of
from oracle.lars_programs import AGGREGATES, COUNTED, HELD, Forms, lars_programs, lars_streams
from oracle.programs import shuffled_within, streams
from tidelog import Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import EmitMode

pytestmark = pytest.mark.slow

FORMS: dict[str, Forms] = {"aggregates": AGGREGATES, "held": HELD, "everything": COUNTED}


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_answers_are_the_oracles(form: str, data: st.DataObject) -> None:
    """In order of time, in batches of any size, each fact and time is answered once, and rightly."""
    program = data.draw(lars_programs(FORMS[form]))
    plan = compiled(program)
    facts = data.draw(lars_streams())
    answers = answers_of(plan, facts, data.draw(st.integers(1, 20)), data.draw(st.booleans()))
    compare(program, plan, facts, answers)


@pytest.mark.parametrize("form", FORMS)
@drawn(60)
@given(data=st.data())
def test_order_of_arrival_makes_no_difference(form: str, data: st.DataObject) -> None:
    """Late facts within the lateness, and those that come twice, change no answer."""
    program = data.draw(lars_programs(FORMS[form]))
    plan = compiled(program)
    lateness = data.draw(st.integers(1, 6))
    facts = data.draw(shuffled_within(data.draw(lars_streams()), lateness))
    facts += data.draw(st.lists(st.sampled_from(facts), max_size=3)) if facts else []
    facts = data.draw(shuffled_within(sorted(facts, key=lambda fact: fact[2].low), lateness))
    compare(program, plan, facts, answers_of(plan, facts, data.draw(st.integers(1, 20)), lateness=lateness))


@pytest.mark.parametrize("form", FORMS)
@drawn(60)
@given(data=st.data())
def test_snapshot_and_restore_change_nothing(form: str, data: st.DataObject) -> None:
    """A session restored from a snapshot at any message, through JSON, goes on as if nothing had happened."""
    program = data.draw(lars_programs(FORMS[form]))
    plan = compiled(program)
    lateness = data.draw(st.integers(0, 4))
    records = records_of(plan, data.draw(shuffled_within(data.draw(lars_streams()), lateness)))
    cut = data.draw(st.integers(0, len(records)))
    mode = data.draw(st.sampled_from(MODES))
    whole, first, second = (Session(plan, emit=mode, lateness=lateness) for _ in range(3))
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
    assert answers + second.pull_records() == whole.pull_records(), format_program(program)


@pytest.mark.parametrize("form", FORMS)
@drawn(60)
@given(data=st.data())
def test_all_ways_of_telling_agree(form: str, data: st.DataObject) -> None:
    """`final` gives the maximal ranges of what `intervals` gives."""
    program = data.draw(lars_programs(FORMS[form]))
    plan = compiled(program)
    if any(loop.holds for loop in plan.loops):
        return
    facts = data.draw(lars_streams())
    batch = data.draw(st.integers(1, 4))
    intervals, final = (answers_of(plan, facts, batch, emit=mode) for mode in ("intervals", "final"))
    runs = {(fact, lo, hi) for fact, ranges in runs_of(intervals).items() for lo, hi in ranges}
    assert {((p, row), lo, hi) for p, row, lo, hi in final} == runs, format_program(program)


@pytest.mark.parametrize("form", FORMS)
@drawn(60)
@given(data=st.data())
def test_all_at_once_changes_nothing(form: str, data: st.DataObject) -> None:
    """Late facts, those that come twice, batches, restored sessions: in each mode what is told is what the oracle has."""
    program = data.draw(lars_programs(FORMS[form]))
    plan = compiled(program)
    lateness = data.draw(st.integers(0, 6))
    facts = data.draw(shuffled_within(data.draw(lars_streams(size=14)), lateness))
    records = records_of(plan, facts)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(records)), max_size=4)))
    told = {mode: _through_restored_sessions(plan, records, cuts, mode, lateness) for mode in get_args(EmitMode)}
    compare(program, plan, facts, told["intervals"])
    if any(loop.holds for loop in plan.loops):
        return
    runs = {(fact, lo, hi) for fact, ranges in runs_of(told["intervals"]).items() for lo, hi in ranges}
    shown = show(program, facts)
    assert {((name, row), lo, hi) for name, row, lo, hi in told["final"]} == runs, shown
    changes = Counter(told["changes"])
    assert changes == Counter([(*fact, lo, hi) for fact, lo, end in runs for hi in {end, POS}]), shown
    points = {lo for _, _, lo, _ in records if lo > NEG}
    assert Counter(told["points"]) == Counter((*fact, at, at) for fact, lo, hi in runs for at in points if lo <= at <= hi), (
        shown
    )


def _through_restored_sessions(
    plan: Plan, records: Sequence[Record], cuts: Sequence[int], mode: EmitMode, lateness: int
) -> list[Record]:
    """What is told where a session is replaced, at each cut, by one that goes on from its snapshot."""
    session = Session(plan, emit=mode, lateness=lateness)
    told: list[Record] = []
    for begin, end in pairwise([0, *cuts, len(records)]):
        session.push_records(records[begin:end])
        told += session.pull_records()
        saved, session = session.snapshot(), Session(plan, emit=mode, lateness=lateness)
        session.restore(json.loads(json.dumps(saved)))
    session.finish()
    return told + session.pull_records()


@pytest.mark.parametrize("form", FORMS)
@drawn(60)
@given(data=st.data())
def test_programs_read_back_as_they_are_written(form: str, data: st.DataObject) -> None:
    """A program as text is the same program."""
    program = data.draw(lars_programs(FORMS[form]))
    assert parse(format_program(program)).statements == program.statements


@pytest.mark.parametrize("form", FORMS)
@drawn(40)
@given(data=st.data())
def test_time_can_be_shifted(form: str, data: st.DataObject) -> None:
    """Facts that come so much later, by a multiple of all steps, have answers so much later."""
    program = data.draw(lars_programs(FORMS[form]))
    plan = compiled(program)
    facts = data.draw(lars_streams())
    by = Fraction(60)
    moved = [(p, row, type(when)(when.low + by, when.high + by, when.left_open, when.right_open)) for p, row, when in facts]
    if any(loop.holds for loop in plan.loops):
        return
    here, there = (runs_of(answers_of(plan, each, 5)) for each in (facts, moved))
    shift = {
        fact: [(lo + 60 if lo > -(1 << 60) else lo, hi + 60 if hi < 1 << 60 else hi) for lo, hi in ranges]
        for fact, ranges in here.items()
    }
    assert shift == there, format_program(program)


@pytest.mark.parametrize("form", FORMS)
@drawn(40)
@given(data=st.data())
def test_facts_can_be_cut(form: str, data: st.DataObject) -> None:
    """It makes no difference in how many pieces it is told when something holds."""
    program = data.draw(lars_programs(FORMS[form]))
    plan = compiled(program)
    facts = data.draw(lars_streams())
    pieces = [
        (name, row, replace(when, low=Fraction(time), high=Fraction(time), left_open=False, right_open=False))
        for name, row, when in facts
        for time in range(int(when.low) + when.left_open, int(when.high) + (not when.right_open))
    ]
    pieces.sort(key=lambda fact: fact[2].low)
    if any(loop.holds for loop in plan.loops):
        return
    whole, cut = (runs_of(answers_of(plan, each, 5, start=-9)) for each in (facts, pieces))
    assert whole == cut, format_program(program)


HELD_ON_RATIONALS = """timeline rational.
a(X, Y) :- latest p(X, Y) by X in [{size}].
b(Y) :- latest p(X, Y) in [{size}], not q(Y).
c(X) :- boxminus[0,1] (latest p(X, Y) by X in [{size}]).
"""
BY_SINCE = """timeline rational.
k(X) :- p(X, _).
a(X, Y) :- p(X, Y).
a(X, Y) :- not k(X), (not k(X)) since[0,{size}] p(X, Y).
"""


@drawn(60)
@given(data=st.data())
def test_values_are_held_on_rationals(data: st.DataObject) -> None:
    """The oracle has the last time point as that of the last cell, also where it is the gap before an open end."""
    size = data.draw(st.sampled_from(["0", "1/2", "1", "3", "inf"]))
    program = parse(HELD_ON_RATIONALS.format(size=size))
    facts = data.draw(streams(program, size=8, last=6))
    plan = compile_program(program)
    assert not differences(program, facts, answers_of(plan, facts, data.draw(st.integers(1, 9)), lateness=99))


@drawn(60)
@given(data=st.data())
def test_held_values_are_those_since_which_nothing_came(data: st.DataObject) -> None:
    """On closed intervals, `latest` is what `since` says of it."""
    size = data.draw(st.sampled_from(["1", "3", "5/2"]))
    held, since = (compile_program(parse(text.format(size=size))) for text in (HELD_ON_RATIONALS, BY_SINCE))
    facts = [
        (name, row, replace(when, left_open=False, right_open=False))
        for name, row, when in data.draw(streams(parse(BY_SINCE.format(size=size)), size=8, last=6))
        if name == "p"
    ]
    expected = {fact: runs for fact, runs in runs_of(answers_of(since, facts, 5)).items() if fact[0] == "a"}
    assert {fact: runs for fact, runs in runs_of(answers_of(held, facts, 5)).items() if fact[0] == "a"} == expected
