"""A state is divided among shards, and put together again, and nothing is answered in another way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, event, given, note
from hypothesis import strategies as st
from limits import limits, some_limits

from drawing import drawn
from engine.islands.shards import Fleet, NoKeyError, deliveries, told, whole
from engine.standing.test_programs import BATCHES, MODES, compiled, shown
from oracle.agreement import records_of
from oracle.open_programs import open_programs, open_streams
from oracle.programs import Kind
from tidelog import SnapshotError
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import EmitMode

AT_ITS_END = "brings the same to all shards"
"""What is said where something that all shards have ends at the very watermark: a moment later it is over."""


def run(plan: Plan, records: Sequence[Record], batch: int, emit: EmitMode, counts: Sequence[tuple[int, int]]) -> Any:
    """What is told by as many shards as `counts` says: each from a delivery on."""
    fleet = Fleet(plan, emit, 1)
    waiting = list(counts)
    if waiting and waiting[0][0] == 0:
        fleet = Fleet(plan, emit, waiting.pop(0)[1])
    for number, delivery in enumerate(deliveries(plan, records, batch)):
        if waiting and waiting[0][0] <= number:
            try:
                fleet.become(waiting[0][1])
            except SnapshotError as error:
                assert AT_ITS_END in str(error)
                event("at its end")
            else:
                waiting.pop(0)
        fleet.deliver(delivery)
    fleet.finish()
    return told(fleet.answers, emit)


@st.composite
def many_counts(draw: st.DrawFn, most: int) -> list[tuple[int, int]]:
    """From which delivery on there are how many shards."""
    times = sorted(draw(st.lists(st.integers(0, most), min_size=1, max_size=3)))
    return [(time, draw(st.sampled_from([1, 2, 3]))) for time in times]


@pytest.mark.parametrize("kind", ["integer", "rational"])
@given(data=st.data())
def test_shards_answer_as_one_network_does(kind: Kind, data: st.DataObject) -> None:
    """However many they are, and become: one, several, others."""
    text = data.draw(open_programs(kind, single=True))
    _, plan = compiled(text)
    facts = data.draw(open_streams(kind, links=False))
    check(plan, text, records_of(plan, facts), data, shown(text, facts))


def check(plan: Plan, text: str, records: Sequence[Record], data: st.DataObject, shown: str) -> None:
    try:
        whole(plan)
    except NoKeyError:
        assume(False)
    batch = data.draw(BATCHES)
    counts = data.draw(many_counts(len(records) // batch + 1))
    set_limits = data.draw(some_limits())
    emit = data.draw(st.sampled_from(MODES))
    with limits(**set_limits):
        note(f"{emit}, {set_limits}, batches of {batch}, shards {counts}\n{shown}")
        assert run(plan, records, batch, emit, counts) == run(plan, records, batch, emit, [])
