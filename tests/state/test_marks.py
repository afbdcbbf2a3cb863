"""Marks in a journal: how far the facts reach that lie before one."""

from __future__ import annotations

import pytest
from engine.running import plan_of, records

from tidelog import Session
from tidelog.plans.data.timeline import NEG
from tidelog.runtime.journal.events import Taken
from tidelog.runtime.journal.marks import Marks
from tidelog.runtime.ports.interfaces import Batch


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_first_fact_counts_once_it_is_accepted(goes_on: bool) -> None:
    """It waits for another one that agrees with it on the time, across commits, and across runs."""
    plan = plan_of("timeline integer. input hot(pump). alarm(P) :- hot(P).")
    session, marks = Session(plan, max_ahead=10, sources=["s"]), Marks()
    found = []
    for text in ("hot(a)@[100,500]", "hot(b)@101", "hot(c)@[9000,9999]"):
        batch = Batch(records(plan, [text]))
        session.take("s", batch)
        marks.follow([Taken("s", 0.0, batch.records, None, None)], session.intake)
        found.append(marks.reach)
        if goes_on:
            marks = Marks(marks.reach, sorted(marks.endless), session.intake.held())
    assert found == [NEG, 500, 500]
