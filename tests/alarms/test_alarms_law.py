"""Alarms have the states that the standard's table says, however they are told of, and what people did is known of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

import pytest
from batch.materialising import STRATEGIES
from columns.stretches import answers_over_columns, cut_times
from engine.standing.test_programs import BATCHES, MODES, told
from hypothesis import given, note
from hypothesis import strategies as st
from limits import limits, some_limits
from state.changing import KEEP, Memory, half
from state.test_corrections import check as check_taken_back

import tidelog
from alarms.comparing import wrong_desk, wrong_states
from drawing import drawn
from oracle.agreement import runs_of
from oracle.alarm_programs import Alarming, alarm_programs, many
from oracle.programs import Kind
from tidelog import Session
from tidelog.plans.analysis.physical.in_columns import refused
from tidelog.plans.compiling.batch import compile_batch
from tidelog.plans.data.facts import Record
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.batch.materialisation import Materialisation

KINDS = pytest.mark.parametrize("kind", ["integer", "rational"])


def delayed(data: st.DataObject, plan: Plan, given: Sequence[Record], lateness: int) -> list[Record]:
    """All that comes in an order in which nothing is later than the lateness allows."""
    by = plan.timeline.encode_point(Fraction(lateness))
    delays = [data.draw(st.sampled_from([0, by // 2, by])) if lateness else 0 for _ in given]
    order = sorted(range(len(given)), key=lambda i: given[i][2] + delays[i])
    return [given[i] for i in order]


def points_of(plan: Plan, records: Sequence[Record]) -> set[Fraction]:
    """The time points at which facts arrive that the program reads."""
    begins = [lo for name, _, lo, _ in records if name in plan.schema.predicates]
    return {plan.timeline.decode_point(lo) for lo in begins if plan.timeline.is_integer or lo % 2 == 0}


@KINDS
@drawn(16)
@given(data=st.data())
def test_states_are_those_of_the_table(kind: Kind, data: st.DataObject) -> None:
    """In all emit modes, in time and late, singly and in batches, each amortised limit at its least and as usual."""
    case: Alarming = data.draw(alarm_programs(kind))
    plan = tidelog.compile(case.text, desk=data.draw(st.booleans()))
    lateness, batch = data.draw(st.sampled_from([0, 0, 3])), data.draw(BATCHES)
    arriving = delayed(data, plan, case.records(plan), lateness)
    set_limits = data.draw(some_limits())
    with limits(**set_limits):
        for emit in MODES:
            note(f"{emit}, {set_limits}, lateness {lateness}, batches of {batch}\n{case}\n{arriving}")
            runs = told(plan, arriving, batch, emit, lateness=lateness)
            points = points_of(plan, arriving) if emit == "points" else None
            assert not wrong_states(case, plan, runs, points)
            assert {name for name, _ in runs} <= {"hot", "hot_state"}


@KINDS
@drawn(16)
@given(data=st.data())
def test_a_desk_has_the_open_alarms_of_the_table(kind: Kind, data: st.DataObject) -> None:
    """After each batch, also behind a snapshot: states, when they began and ended, and who has done what."""
    case: Alarming = data.draw(alarm_programs(kind))
    plan = tidelog.compile(case.text, desk=True)
    lateness, batch = data.draw(st.sampled_from([0, 0, 3])), data.draw(BATCHES)
    arriving = delayed(data, plan, case.records(plan), lateness)
    emit = data.draw(st.sampled_from(MODES))
    set_limits = data.draw(some_limits())
    with limits(**set_limits):
        session = Session(plan, emit=emit, lateness=lateness, held=True)
        answers: list[Record] = []
        for i in range(0, len(arriving), batch):
            if data.draw(st.integers(0, 3)) == 0:
                answers += session.pull_records()
                stored = json.loads(json.dumps(session.snapshot()))
                session = Session(plan, emit=emit, lateness=lateness, held=True)
                session.restore(stored)
            session.push_records(arriving[i : i + batch])
            note(f"{emit}, {set_limits}, up to {i + batch} of\n{case}\n{arriving}")
            assert not wrong_desk(case, plan, session.open_alarms(), session.frontier)
        session.finish()
        assert case.follows_calendar or not wrong_desk(case, plan, session.open_alarms(), session.frontier)
    if emit in ("intervals", "final"):
        assert not wrong_states(case, plan, runs_of([*answers, *session.pull_records()]))


@KINDS
@drawn(3)
@given(data=st.data())
def test_a_hundred_rooms_have_the_states_of_the_table(kind: Kind, data: st.DataObject) -> None:
    """Each has one of a few histories, some days later: what is told, and at the end the desk."""
    history: Alarming = data.draw(alarm_programs(kind, single=True))
    plan = tidelog.compile(history.text, desk=True)
    randoms = data.draw(st.randoms(use_true_random=False))
    span = data.draw(st.sampled_from([1, 4, 20]))
    case = many(history, [(f"r{number}", randoms.randrange(span)) for number in range(100)])
    lateness, batch = data.draw(st.sampled_from([0, 0, 3])), data.draw(BATCHES)
    by = plan.timeline.encode_point(Fraction(lateness))
    arriving = sorted(case.records(plan), key=lambda record: record[2] + randoms.randint(0, by))
    emit = data.draw(st.sampled_from(MODES))
    set_limits = data.draw(some_limits())
    with limits(**set_limits):
        note(f"{emit}, {set_limits}, lateness {lateness}, batches of {batch}\n{case}")
        runs = told(plan, arriving, batch, emit, lateness=lateness)
        assert not wrong_states(case, plan, runs, points_of(plan, arriving) if emit == "points" else None)
        session = Session(plan, emit=emit, lateness=lateness, held=True)
        session.push_records(arriving)
        assert not wrong_desk(case, plan, session.open_alarms(), session.frontier)


@KINDS
@drawn(10)
@given(data=st.data())
def test_columns_and_batches_have_the_states_of_the_table(kind: Kind, data: st.DataObject) -> None:
    """Histories in columns, cut anywhere, and what `materialise` derives by each strategy."""
    case: Alarming = data.draw(alarm_programs(kind))
    plan = tidelog.compile(case.text, desk=data.draw(st.booleans()))
    records = case.records(plan)
    note(repr(case))
    if refused(plan) is None:
        found = answers_over_columns(plan, records, data.draw(cut_times(plan)))
        assert not wrong_states(case, plan, runs_of(found))
    if not case.follows_calendar:  # of which a batch knows no end
        done = Materialisation(compile_batch(parse(case.text)), data.draw(st.sampled_from(STRATEGIES)), None)
        done.load(records)
        done.run()
        assert not wrong_states(case, plan, runs_of(done.facts()))


@KINDS
@drawn(8)
@given(data=st.data())
def test_what_is_taken_back_was_never_done(kind: Kind, data: st.DataObject) -> None:
    """Facts and actions that are retracted, in a run with a state that is killed at times."""
    case: Alarming = data.draw(alarm_programs(kind, most=5))
    plan = tidelog.compile(case.text, desk=data.draw(st.booleans()))
    check_taken_back(plan, case.records(plan), data.draw(st.randoms(use_true_random=False)))


CHANGES = {
    "priority": ("priority high", "priority low"),
    "text": ('hot"', 'rather hot"'),
    "shelf": ("shelve at most 3 d", "shelve at most 4 d"),
    "another": (
        "output hot_state.",
        "output hot_state, other_state. other :- hot. other :- hot(_). other :- hot(_, _). alarm other.",
    ),
}


@KINDS
@pytest.mark.parametrize("change", CHANGES)
@drawn(5)
@given(data=st.data())
def test_a_changed_program_goes_on_with_its_alarms(kind: Kind, change: str, data: st.DataObject) -> None:
    """Its alarms have another priority, text or shelf, or there is one more, or one less: the rest is told as before."""
    case: Alarming = data.draw(alarm_programs(kind))
    texts = data.draw(st.permutations([case.text, changed(case, change)]))
    was, plan = (tidelog.compile(text, desk=desk) for text, desk in zip(texts, data.draw(DESKS), strict=True))
    records = case.records(plan)
    cut = data.draw(st.integers(0, len(records)))
    note(f"{case}\n{texts}\nchanged behind {records[:cut]}")
    store = Memory()
    first, _ = half(was, store, records[:cut], keep=KEEP)
    second, _ = half(plan, store, records, last=True, keep=KEEP, reload="drop")
    assert not wrong_states(case, plan, runs_of([*first, *second]))


DESKS = st.sampled_from([(True, True), (True, True), (False, False), (False, True), (True, False)])


def changed(case: Alarming, change: str) -> str:
    """The program of a case, but for one of the `CHANGES`."""
    before, behind = CHANGES[change]
    behind = ". ".join(part for part in behind.split(". ") if not part.startswith("other :-") or _reads(part, case.size))
    return case.text.replace(before, behind)


def _reads(rule: str, size: int) -> bool:
    return rule == ("other :- hot", "other :- hot(_)", "other :- hot(_, _)")[size]
