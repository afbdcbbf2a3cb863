"""What a plan says over columns is what the oracle says: random programs and histories, cut into stretches anywhere."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine.test_lars_equals_oracle import compare
from engine.test_lars_equals_oracle import compiled as compiled_lars
from engine.test_session_equals_oracle import FRAGMENTS, compiled, show, until
from hypothesis import assume, given
from hypothesis import strategies as st

from columns.stretches import answers_over_columns
from oracle.agreement import differences, records_of
from oracle.lars_programs import AT_IN_WINDOWS, GROUPS, HEADS, STEPPED, lars_programs, lars_streams
from oracle.programs import programs, streams
from tidelog.runtime.columns.history import refused

LARS = {
    "at": AT_IN_WINDOWS,
    "groups": GROUPS,
    "heads": HEADS,
    "stepped": STEPPED,
    "values": replace(HEADS, values=True),
}


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@pytest.mark.parametrize("fragment", list(FRAGMENTS))
@given(data=st.data())
def test_columns_say_what_the_oracle_says(timeline: str, fragment: str, data: st.DataObject) -> None:
    """In one stretch and in many, each fact and time is answered once, and rightly."""
    program = data.draw(programs(timeline, FRAGMENTS[fragment]))
    plan = compiled(program)
    assume(refused(plan) is None)
    facts = data.draw(streams(program))
    records = records_of(plan, facts)
    cuts = data.draw(st.lists(st.integers(-4, 60), max_size=6))
    found = answers_over_columns(plan, records, cuts)
    assert not differences(program, facts, found, until(program, facts)), show(program, facts)


@pytest.mark.parametrize("form", LARS)
@given(data=st.data())
def test_columns_say_what_the_oracle_says_of_lars(form: str, data: st.DataObject) -> None:
    """Windows, held values, aggregates, times as values: the same."""
    program = data.draw(lars_programs(LARS[form]))
    plan = compiled_lars(program)
    assume(refused(plan) is None)
    facts = data.draw(lars_streams())
    cuts = data.draw(st.lists(st.integers(-4, 40), max_size=6))
    compare(program, plan, facts, answers_over_columns(plan, records_of(plan, facts), cuts))
