"""What a plan says over columns is what the oracle says: random programs and histories, cut into stretches anywhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from engine.test_lars_equals_oracle import compare
from engine.test_lars_equals_oracle import compiled as compiled_lars
from engine.test_session_equals_oracle import FRAGMENTS, compiled, show, until
from hypothesis import assume, given
from hypothesis import strategies as st

import tidelog
from columns.stretches import answers_over_columns, cut_times, stretches
from drawing import drawn
from oracle.agreement import differences, records_of, runs_of
from oracle.lars_programs import AT_IN_WINDOWS, GROUPS, HEADS, RECURSION, STEPPED, lars_programs, lars_streams
from oracle.programs import programs, streams
from tidelog import Session
from tidelog.operators.columns.pool import Pool
from tidelog.plans.analysis.physical.in_columns import refused
from tidelog.runtime.columns.course import Course
from tidelog.runtime.columns.history import ColumnCourse
from tidelog.runtime.columns.rows import RowCourse
from tidelog.runtime.ports.interfaces import EmitMode

LARS = {
    "at": AT_IN_WINDOWS,
    "groups": GROUPS,
    "heads": HEADS,
    "stepped": STEPPED,
    "recursion": RECURSION,
    "values": replace(HEADS, values=True),
}


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@pytest.mark.parametrize("fragment", list(FRAGMENTS))
@given(data=st.data())
@drawn(40)
def test_columns_say_what_the_oracle_says(timeline: str, fragment: str, data: st.DataObject) -> None:
    """In one stretch and in many, each fact and time is answered once, and rightly."""
    program = data.draw(programs(timeline, FRAGMENTS[fragment]))
    plan = compiled(program)
    assume(refused(plan) is None)
    facts = data.draw(streams(program, infinite=data.draw(st.booleans())))
    records = records_of(plan, facts)
    cuts = data.draw(cut_times(plan))
    found = answers_over_columns(plan, records, cuts)
    assert not differences(program, facts, found, until(program, facts)), show(program, facts)


@pytest.mark.parametrize("form", LARS)
@given(data=st.data())
@drawn(40)
def test_columns_say_what_the_oracle_says_of_lars(form: str, data: st.DataObject) -> None:
    """Windows, held values, aggregates, times as values: the same."""
    program = data.draw(lars_programs(LARS[form]))
    plan = compiled_lars(program)
    assume(refused(plan) is None)
    facts = data.draw(lars_streams())
    cuts = data.draw(cut_times(plan))
    compare(program, plan, facts, answers_over_columns(plan, records_of(plan, facts), cuts))


@pytest.mark.parametrize("mode", ["intervals", "final", "changes", "points"])
@pytest.mark.parametrize("timeline", ["rational", "integer"])
@given(data=st.data())
@drawn(40)
def test_answers_take_each_form(mode: EmitMode, timeline: str, data: st.DataObject) -> None:
    """What a session tells in the form of `emit`, a history does, each answer as often; violations, too."""
    program = data.draw(programs(timeline, FRAGMENTS["negation"]))
    plan = compiled(program)
    records = records_of(plan, data.draw(streams(program)))
    cuts = data.draw(cut_times(plan))
    session = Session(plan, emit=mode)
    session.push_records(records)
    session.finish()
    expected = session.pull_records()
    courses: list[Course] = [ColumnCourse(plan, Pool(), emit=mode)] if refused(plan) is None else []
    for course in (*courses, RowCourse(plan, Pool(), emit=mode)):
        told = [answer for fresh, cut in stretches(plan, records, cuts, course.pool) for answer in course.tell(fresh, cut)]
        if mode == "intervals":
            assert runs_of(told) == runs_of(expected)
        else:
            assert Counter(told) == Counter(expected)


@pytest.mark.parametrize("text", ["p. a :- p.", "p. a :- p, p.", "p. q@3. a :- p, not q.", "p. a :- diamondminus[1,2] p."])
@pytest.mark.parametrize("cuts", [(), (2,), (2, 5)])
def test_what_has_held_since_ever_goes_back_without_an_end(text: str, cuts: tuple[int, ...]) -> None:
    """Its begin is no time of the history, whatever the first stretch is."""
    plan = tidelog.compile("timeline integer. " + text)
    session = Session(plan)
    session.finish()
    assert runs_of(answers_over_columns(plan, [], cuts)) == runs_of(session.pull_records())


@pytest.mark.parametrize("text", ["a :- b. b :- a.", "a :- diamondminus[1,1] b. b :- a."])
def test_a_recursion_that_nothing_enters_says_nothing(text: str) -> None:
    """Nothing of it is ever unknown."""
    plan = tidelog.compile("timeline integer. input q. output a, c. c :- q, not a. " + text)
    told = answers_over_columns(plan, [("q", (), 3, 4)], (2, 3))
    assert runs_of(told) == {("c", ()): [(3, 4)]}
