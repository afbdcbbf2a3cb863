"""Rules over calendars, and aggregates per period, answer as the oracle says, to which the calendars are given as facts."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from engine.standing.test_programs import BATCHES, MODES, compiled, points_of, shown, told
from engine.test_session_equals_oracle import last_begin
from hypothesis import given, note
from hypothesis import strategies as st
from limits import limits, some_limits

from drawing import drawn
from oracle.agreement import Expected, records_of
from oracle.calendar_programs import (
    HIGH,
    LOW,
    begin_of,
    calendar_facts,
    calendar_programs,
    calendar_streams,
    periods,
    with_calendars,
)
from oracle.evaluate import GroundFact, evaluate
from oracle.programs import Kind, shuffled_within
from tidelog import Session
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan


class Foreseen(Expected):
    """What the oracle says with all calendars as facts, from the stream's start on as far as facts begin."""

    def __init__(self, text: str, plan: Plan, facts: list[GroundFact]) -> None:
        self.plan = plan
        start = begin_of(facts)
        everything = [*calendar_facts(), *facts]
        self.model = evaluate(parse(text), everything, low=LOW, high=HIGH, start=start, periods=periods())
        self._first, self._last = start, last_begin(facts)
        self._times = [self._placed(time) for time in self.model.times() if self._first <= time <= self._last]


@pytest.mark.parametrize("kind", ["integer", "rational"])
@drawn(40)
@given(data=st.data())
def test_rules_over_calendars_are_told_as_the_oracle_says(kind: Kind, data: st.DataObject) -> None:
    """In all emit modes, in time and late, singly and in batches, each amortised limit at its least and as usual."""
    text, declared = data.draw(calendar_programs(kind))
    whole = with_calendars(text, declared)
    _, plan = compiled(whole)
    facts = data.draw(calendar_streams(kind, text))
    lateness = data.draw(st.sampled_from([0, 0, 3]))
    arriving = data.draw(shuffled_within(facts, lateness)) if lateness else facts
    batch = data.draw(BATCHES)
    expected = Foreseen(text, plan, facts)
    set_limits = data.draw(some_limits())
    with limits(**set_limits):
        for emit in MODES:
            note(f"{emit}, {set_limits}, lateness {lateness}, batches of {batch}\n{shown(whole, arriving)}")
            runs = told(plan, records_of(plan, arriving), batch, emit, lateness=Fraction(lateness))
            assert not expected.differences(
                runs, points_of([fact for fact in facts if fact[2].low > -math.inf]) if emit == "points" else None
            )


@pytest.mark.parametrize("kind", ["integer", "rational"])
@drawn(40)
@given(data=st.data())
def test_a_snapshot_between_changes_nothing(kind: Kind, data: st.DataObject) -> None:
    """What is told behind a snapshot that went through JSON is what is told without one."""
    text, declared = data.draw(calendar_programs(kind))
    _, plan = compiled(with_calendars(text, declared))
    records = records_of(plan, data.draw(calendar_streams(kind, text)))
    cut = data.draw(st.integers(0, len(records)))
    mode = data.draw(st.sampled_from(MODES))
    whole, first, second = (Session(plan, emit=mode) for _ in range(3))
    for record in records:
        whole.push_records([record])
    for record in records[:cut]:
        first.push_records([record])
    before = first.pull_records()
    second.restore(json.loads(json.dumps(first.snapshot())))
    for record in records[cut:]:
        second.push_records([record])
    whole.finish()
    second.finish()
    assert before + second.pull_records() == whole.pull_records()


def test_what_has_no_end_counts_in_the_periods_that_have_begun() -> None:
    """It comes with the stream's last fact, so that no time has passed since when the stream ends."""
    plan = compiled("timeline integer, unit 6 h. c(N) :- N = count() over (diamondminus a) per day. output c.")[1]
    session = Session(plan)
    session.push_records([("a", (), 2, 2)])
    session.finish()
    assert session.pull_records() == [("c", (2,), 0, 3)]
