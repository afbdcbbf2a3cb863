"""Histories with calendars: what a plan says over columns, and of frames that come first, is what the oracle says."""

from __future__ import annotations

import pytest
from columns.stretches import answers_over_columns, cut_times
from engine.standing.test_programs import compiled, shown
from hypothesis import given
from hypothesis import strategies as st

from calendars.test_engine_law import Foreseen
from drawing import drawn
from oracle.agreement import records_of, runs_of
from oracle.calendar_programs import calendar_programs, calendar_streams, with_calendars
from oracle.programs import Kind
from tidelog.plans.analysis.physical.in_columns import begins_row_by_row


@pytest.mark.parametrize("kind", ["integer", "rational"])
@given(data=st.data())
@drawn(20)
def test_columns_say_what_the_oracle_says(kind: Kind, data: st.DataObject) -> None:
    """In one stretch and in many."""
    text, declared = data.draw(calendar_programs(kind))
    whole = with_calendars(text, declared)
    _, plan = compiled(whole)
    facts = data.draw(calendar_streams(kind, text))
    cuts = data.draw(cut_times(plan))
    runs = runs_of(answers_over_columns(plan, records_of(plan, facts), cuts))
    assert not Foreseen(text, plan, facts).differences(runs), f"{cuts}\n{shown(whole, facts)}"


def test_a_stream_that_begins_with_frames_takes_them_row_by_row() -> None:
    """What kernels keep of a calendar does not tell a row operator how to go on."""
    _, plan = compiled("timeline integer, unit 1 s. input p(x). calendar day = each day. q(X) :- p(X), day. output q.")
    assert begins_row_by_row(plan) == "`day` goes by a calendar"
