"""The end of all sources: whether it is the stream's, or nothing is claimed about later times."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outbox.boxes import held, run_durably, source

import tidelog
from drawing import drawn
from engine.runners import Runner
from engine.running import BACKENDS, engine_answers, multiset, plan_of, records, run, shown
from engine.test_session_equals_oracle import compiled, show
from oracle.agreement import records_of
from oracle.programs import EVERYTHING, programs, streams
from tidelog import Engine, MemorySink, MemorySource, Session
from tidelog.operators.stores.coverage import Coverage
from tidelog.plans.data.facts import Record

QUIET = "timeline integer. quiet(X) :- hot(X), not cold(X). held(X) :- diamondminus[0,3] hot(X)."


def stopped(plan: tidelog.Plan, facts: list[Record], backend: str = "trio", **options: Any) -> list[Record]:
    return engine_answers(backend, plan, [MemorySource(facts, batch_size=3)], at_end="stop", **options)


def is_covered(some: Iterable[Record], by: Iterable[Record]) -> bool:
    """Whether each fact and time of the first is among the second's."""
    stores: dict[str, Coverage] = {}
    for name, row, lo, hi in by:
        stores.setdefault(name, Coverage()).insert([(row, lo, hi)])
    for name, row, lo, hi in some:
        bounds = stores[name].rows.get(row, []) if name in stores else []
        if not any(bounds[i] <= lo and hi <= bounds[i + 1] for i in range(0, len(bounds), 2)):
            return False
    return True


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@pytest.mark.parametrize("emit", ["final", "points"])
@drawn(50)
@given(data=st.data())
def test_a_stop_tells_what_a_longer_stream_was_told_by_then(timeline: str, emit: Any, data: st.DataObject) -> None:
    """Answers after the first facts are those that a session has told when more facts follow, no more and no fewer."""
    program = data.draw(programs(timeline, EVERYTHING))
    facts = data.draw(streams(program))
    plan = compiled(program)
    given_facts = records_of(plan, facts)
    cut = data.draw(st.integers(0, len(given_facts)))
    session = Session(plan, emit=emit)
    session.push_records(given_facts[:cut])
    by_then = session.pull_records()
    backend = data.draw(st.sampled_from(BACKENDS))
    assert multiset(stopped(plan, given_facts[:cut], backend, emit=emit)) == multiset(by_then), show(program, facts)


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@drawn(50)
@given(data=st.data())
def test_nothing_is_told_that_a_longer_stream_denies(timeline: str, data: st.DataObject) -> None:
    """As intervals, what is told at a stop is part of what is told of the whole stream."""
    program = data.draw(programs(timeline, EVERYTHING))
    facts = data.draw(streams(program))
    plan = compiled(program)
    given_facts = records_of(plan, facts)
    whole = Session(plan)
    whole.push_records(given_facts)
    whole.finish()
    told = stopped(plan, given_facts[: data.draw(st.integers(0, len(given_facts)))])
    assert is_covered(told, whole.pull_records()), show(program, facts)


@pytest.mark.parametrize("backend", BACKENDS)
def test_finish_decides_what_waits_and_stop_does_not(backend: str) -> None:
    """Negation at the last time, an open run as `final`, the last point: with `stop` they wait for a stream that goes on."""
    plan = plan_of(QUIET)
    facts = records(plan, ["hot(a)@1", "hot(a)@2"])
    begun = ["held(a)@[1,4]", "held(a)@5", "quiet(a)@1"]
    for emit, finished, left in (
        ("intervals", [*begun, "quiet(a)@2"], begun),
        ("final", ["held(a)@[1,5]", "quiet(a)@[1,2]"], []),
        ("points", ["held(a)@1", "quiet(a)@1", "held(a)@2", "quiet(a)@2"], ["held(a)@1", "quiet(a)@1"]),
    ):
        both = [engine_answers(backend, plan, [MemorySource(facts)], emit=emit, at_end=end) for end in ("finish", "stop")]
        assert [sorted(shown(plan, answers)) for answers in both] == [sorted(finished), sorted(left)]


@pytest.mark.parametrize("first", [0, 1])
def test_the_source_that_ended_earliest_in_time_says_how_far(first: int) -> None:
    """With `stop` a source that has ended may go on another day: nothing is claimed beyond what each has promised."""
    plan = plan_of(QUIET)
    sources = [
        MemorySource(records(plan, ["cold(a)@1", "cold(a)@3"])),
        MemorySource(records(plan, ["hot(a)@2", "hot(a)@9"])),
    ]
    order = [sources[first], sources[1 - first]]
    answers = engine_answers("trio", plan, order, emit="points", at_end="stop")
    assert shown(plan, answers) == ["held(a)@2", "quiet(a)@2"]


def test_an_ended_source_is_silent_and_may_be_ignored() -> None:
    """With `idle_after` an ended source, which is silent from then on, no longer holds back the others."""
    plan = plan_of(QUIET)
    early = MemorySource(records(plan, ["cold(a)@1"]))
    late = MemorySource(records(plan, [f"hot(a)@{time}" for time in range(2, 40)]), batch_size=1)
    answers = engine_answers("trio", plan, [early, late], emit="points", at_end="stop", idle_after=1)
    assert "quiet(a)@38" in shown(plan, answers)
    assert "quiet(a)@39" not in shown(plan, answers)


def test_questions_stay_open() -> None:
    """`ask` rejects nothing that may still come."""
    plan = plan_of("timeline integer. malf(X) :- temp(X), diamondminus[1,1] temp(X). ask malf(X)@T.")
    facts = records(plan, ["temp(a)@1", "temp(b)@2", "temp(c)@3"])
    told = {}
    for end in ("finish", "stop"):
        sink = MemorySink()
        run("trio", Engine(plan, [MemorySource(facts)], [sink], at_end=end).run)
        told[end] = [(answer.answer["X"], answer.status) for answer in sink.hypothetical]
    assert [item for item in told["stop"] if item[1] == "rejected"] == [("a", "rejected")]
    assert [item for item in told["finish"] if item[1] == "rejected"] == [(name, "rejected") for name in "abc"]


def test_another_word_is_refused() -> None:
    """The option has two values."""
    with pytest.raises(ValueError, match="finish, stop"):
        Engine(plan_of(QUIET), [], [], at_end="wait")


@pytest.mark.parametrize("emit", ["intervals", "final", "points"])
def test_a_durable_run_that_stops_goes_on_when_its_file_has_grown(tmp_path: Path, emit: Any) -> None:
    """Run again after each addition to the file, and finished at last, an outbox holds what one run over all holds."""
    plan = plan_of(QUIET)
    lines = [f"hot(a)@{time}\n" if time % 3 else f"cold(a)@{time}\n" for time in range(1, 30)]
    path = tmp_path / "facts.txt"
    path.write_text("".join(lines))
    run_durably(plan, tmp_path / "whole", [source(plan, path)], emit=emit)
    for cut in (4, 4, 11, 29):
        path.write_text("".join(lines[:cut]))
        run_durably(plan, tmp_path / "parts", [source(plan, path)], emit=emit, at_end="stop")
    before = len(held(tmp_path / "parts"))
    run_durably(plan, tmp_path / "parts", [source(plan, path)], emit=emit)
    whole, parts = held(tmp_path / "whole"), held(tmp_path / "parts")
    assert sorted(repr(row[1:7]) for row in parts) == sorted(repr(row[1:7]) for row in whole)
    assert before < len(parts)


@pytest.mark.parametrize("kind", ["engine", "durable"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("is_long_first", [False, True])
@pytest.mark.parametrize("pieces", [1, 100])
def test_with_idle_after_it_does_not_matter_who_ends_first(
    kind: str, backend: str, is_long_first: bool, pieces: int
) -> None:
    """Nobody waits for a source that has ended, so time comes as far as the furthest has come, whoever was the last."""
    plan = plan_of("timeline integer. quiet(X) :- hot(X), not cold(X).")
    facts = records(plan, [f"hot(a)@{time}" for time in (*range(40), 50)])
    sources = [MemorySource(facts, batch_size=pieces), MemorySource(facts[:2], batch_size=1)]
    runner = Runner(kind, plan, sources if is_long_first else sources[::-1], at_end="stop", idle_after=60.0, emit="final")
    run(backend, runner.run)
    assert shown(plan, runner.answers) == ["quiet(a)@[0,39]"]
