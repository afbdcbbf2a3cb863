"""Corrections: facts that were accepted are taken back, and in sum that is told which would have been told without them."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from engine.running import BACKENDS, plan_of, records
from engine.test_lars_equals_oracle import compiled
from engine.test_session_equals_oracle import compiled as compiled_metric
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from oracle.agreement import records_of
from oracle.lars_programs import lars_programs, lars_streams
from oracle.programs import EVERYTHING, programs, streams
from state.correcting import expected, in_sum, run, some_taken_back, write
from tidelog.connectors.descriptors import Descriptor
from tidelog.plans.facts import Record
from tidelog.plans.plan import Plan
from tidelog.runtime import ledger

PUMPS = """
timeline integer.
input hot(pump).
alarm(P) :- boxminus[0,2] hot(P).
quiet(P) :- diamondminus[0,5] hot(P), not hot(P).
"""


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read a few lines at a time, and each commit has a snapshot."""
    read = Descriptor.read
    monkeypatch.setattr(Descriptor, "read", lambda descriptor: read(descriptor, 30))
    monkeypatch.setattr(ledger, "_PAUSE", 0)
    monkeypatch.setattr(ledger, "REPLAY_SECONDS", 0.0)
    monkeypatch.setattr(ledger, "_REPLAYED", 0)


def steps_of(plan: Plan, lines: str) -> list[tuple[bool, Record]]:
    """Lines such as `hot(a)@3`, and `retract hot(a)@3`."""
    texts = [line.strip() for line in lines.strip().splitlines()]
    return [(text.startswith("retract "), records(plan, [text.removeprefix("retract ")])[0]) for text in texts]


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_alarm_is_taken_back_with_the_fact_that_it_rests_on(tmp_path: Path, backend: str) -> None:
    """What was told is taken back, its end before its begin; what holds without the fact is told."""
    plan = plan_of(PUMPS)
    steps = steps_of(plan, "hot(a)@1 \n hot(a)@2 \n hot(a)@3 \n hot(a)@4 \n hot(b)@7 \n retract hot(a)@3 \n hot(b)@8")
    write(plan, tmp_path / "facts.txt", steps)
    told = run(plan, tmp_path, backend=backend, at_end="stop")
    assert told == [
        "alarm(a)@[3..",
        "quiet(a)@[5..",
        "alarm(a)@[3,4]",
        "retract alarm(a)@[3,4]",
        "retract alarm(a)@[3..",
        "quiet(a)@[3..",
        "quiet(a)@3",
    ]


def check(plan: Plan, facts: list[Record], draw: random.Random, **options: Any) -> None:
    """In sum a run tells what one over the corrected facts tells, also where it was killed meanwhile."""
    steps = some_taken_back(facts, draw, draw.randint(1, 3))
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(plan, folder / "facts.txt", steps)
        crashes = [draw.randint(1, 6) for _ in range(draw.randint(0, 4))]
        told = run(plan, folder, crashes=crashes, backend=draw.choice(BACKENDS), **options)
        assert in_sum(told) == expected(plan, steps, **options), (steps, crashes, told)


@drawn(40)
@given(st.data(), st.randoms(use_true_random=False))
def test_windows_aggregates_loops_and_tuples(data: st.DataObject, draw: random.Random) -> None:
    """Programs with every form on `timeline integer`."""
    plan = compiled(data.draw(lars_programs()))
    check(plan, records_of(plan, data.draw(lars_streams())), draw, start=0)


@drawn(20)
@given(st.data(), st.randoms(use_true_random=False))
@pytest.mark.parametrize("timeline", ["rational", "integer"])
def test_metric_operators_and_negation(timeline: str, data: st.DataObject, draw: random.Random) -> None:
    """Programs with boxes, diamonds, since, until, negation and recursion on both timelines."""
    program = data.draw(programs(timeline, EVERYTHING))
    plan = compiled_metric(program)
    facts = records_of(plan, data.draw(streams(program)))
    if facts:
        check(plan, facts, draw, start=0)
