"""The benchmark of workers: it measures what it says, over little data."""

from __future__ import annotations

import os

import pytest

import tidelog
from benchmarks.runtime import latency, workers
from tidelog.plans.islands.islands import islands_of


def test_the_programs_have_a_key_all_the_way() -> None:
    """So that workers can share them."""
    for text in (workers.PROGRAM, workers.CHAIN):
        (island,) = islands_of(tidelog.compile(text))
        assert island.key is not None


def test_the_batches_let_all_outputs_be_told() -> None:
    """Each rule has something to do, also behind the warm-up."""
    plan = tidelog.compile(workers.PROGRAM)
    session = tidelog.Session(plan, emit="changes")
    batches = workers._batches(plan, 30)
    for batch in batches[: workers.WARM_UP]:
        session.push_records(batch.records)
    session.pull()
    for batch in batches[workers.WARM_UP :]:
        session.push_records(batch.records)
    assert {answer.predicate for answer in session.pull()} == set(plan.outputs)
    assert {record[1][0] for record in batches[0].records} == {f"room {room}" for room in range(workers.ROOMS)}


@pytest.mark.long
def test_all_ways_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tells the same, and behind the start of its workers."""
    ways = {name: workers.WAYS[name] for name in ("2 workers", "1 worker", "actors rule")}
    monkeypatch.setattr(workers, "WAYS", ways)
    monkeypatch.setattr(workers, "TIMES", 1)
    monkeypatch.setattr(workers, "BATCHES", 6)
    monkeypatch.setattr(workers, "WARM_UP", 2)
    monkeypatch.setattr(latency, "EVENTS", 20)
    plan = tidelog.compile(workers.PROGRAM)
    course = workers.throughput(plan, 6, 2, workers=2)
    assert course.seconds > 0
    assert len(course.private) == 2
    assert workers.private_bytes(os.getpid()) >= 0
    found = {figure.name: figure.value for figure in workers.run()}
    assert all(value > 0 for value in found.values())
    for way in ways:
        assert f"1,000 keys in batches, time of {way} / one task" in found
        assert way == "1 worker" or f"one event alone, {way}, 99 of 100" in found
