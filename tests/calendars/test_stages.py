"""Stages with calendars tell what one session tells: each has the calendars that it reads."""

from __future__ import annotations

from fractions import Fraction

import pytest
from analysis.test_stages import agree
from engine.standing.test_programs import compiled
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from drawing import drawn
from oracle.calendar_programs import calendar_programs, with_calendars
from oracle.open_programs import open_streams
from oracle.programs import Kind
from tidelog import compile as compiled_text
from tidelog.plans.stages.stages import stages_of


@pytest.mark.parametrize("kind", ["rational", "integer"])
@given(data=st.data())
@drawn(15, suppress_health_check=list(HealthCheck))
def test_stages_agree_with_one_session(kind: Kind, data: st.DataObject) -> None:
    """Of maximal intervals, of what is told at once, and of changes, with sessions that live on, or go on from snapshots."""
    text, declared = data.draw(calendar_programs(kind))
    program, _ = compiled(with_calendars(text, declared))
    facts = data.draw(open_streams(kind))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(facts)), max_size=3)))
    agree(program, facts, cuts, Fraction(0))


def test_a_calendar_does_not_keep_keys_together() -> None:
    """It has no key, and every session knows it; so the sensor stays the key."""
    program = """timeline integer, unit 1 s. input temp(s, v). output hot, mean.
    calendar office = mon-fri 08:00-17:00, zone "Europe/Berlin", except holiday. calendar holiday = dec 24-26.
    calendar closed = 17:00-08:00.
    open_late :- office, closed.
    hot(S) :- temp(S, V), V > 30, office, not open_late.
    mean(S, A) :- A = avg(V) over temp(S, V) per office by S."""
    (stage,) = stages_of(compiled_text(program)).stages
    assert stage.key == {"hot": 0, "mean": 0, "temp": 0}
    assert set(stage.broadcast) == {"office", "closed"}
