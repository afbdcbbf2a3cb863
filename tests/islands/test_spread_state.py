"""Spread runs with a state, killed at each thing that they write: they go on in one task, or spread in another way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from engine.running import BACKENDS, multiset
from engine.runs.test_engine_equals_session import session_records
from engine.test_session_equals_oracle import compiled
from hypothesis import HealthCheck, given, note
from hypothesis import strategies as st
from state import test_drawn_kills as drawn_kills
from state.test_drawn_kills import Life, answers_of, hands, in_seconds

import tidelog
from drawing import drawn
from islands.layered import layered_programs, layered_streams
from oracle.agreement import records_of
from oracle.programs import NON_RECURSIVE, programs, streams
from tidelog import Engine
from tidelog.runtime.durable import ledger, snapshots
from tidelog.runtime.islands import spreading
from tidelog.runtime.ports import channels

pytestmark = pytest.mark.usefixtures("no_threads", "often", "spread")
LAYOUTS = (*((how, shards) for how in ("islands", "rule") for shards in (1, 2, 3)), ("one", 1))
CHOICES = Random(0)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a commit for each event, and most of them are not behind a snapshot."""
    monkeypatch.setattr(channels, "CHANNEL_BOUND", 0)
    monkeypatch.setattr(ledger, "MOST_NEW", 1)
    monkeypatch.setattr(snapshots, "REPLAY_SECONDS", 1e9)


@pytest.fixture
def spread() -> Iterator[None]:
    """Each engine that is made runs in another way: in one task, or over islands, with shards in this process."""
    layout = spreading.Layout

    def engine(*ends: Any, **options: Any) -> Engine:
        how, shards = CHOICES.choice(LAYOUTS)
        note(f"{how} {shards}")
        with patch.object(spreading, "Layout", lambda *given, **others: replace(layout(*given, **others), shards=shards)):
            return Engine(*ends, **{**options, "actors": how})

    with patch.object(drawn_kills, "Engine", engine):
        yield


@pytest.mark.parametrize("backend", BACKENDS)
@drawn(60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_killed_at_drawn_moments_it_goes_on_spread_in_another_way(backend: str, data: st.DataObject) -> None:
    """Up to three sources, a clock that jumps, snapshots now and then: no answer is lost, and none comes twice."""
    CHOICES.seed(data.draw(st.integers(0, 1000)))
    if data.draw(st.booleans()):
        text = data.draw(layered_programs())
        plan = tidelog.compile(text.replace("timeline integer.", "timeline integer, unit 1 s."))
        facts = data.draw(layered_streams())
    else:
        program = in_seconds(data.draw(programs(data.draw(st.sampled_from(["rational", "integer"])), NON_RECURSIVE)))
        plan, facts = compiled(program), data.draw(streams(program))
    records = records_of(plan, facts)
    note(f"{plan.program.text}\n{records}")
    life = Life(plan, data.draw(hands(records, 3)), "final")
    answers = answers_of(data, backend, life, has_clock=data.draw(st.booleans()))
    assert multiset(answers) == multiset(session_records(plan, records, "final"))
