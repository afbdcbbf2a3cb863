"""The engine's answers are the session's, and the oracle's: on both backends, however the stream is dealt out to sources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from engine.running import BACKENDS, engine_answers, multiset, plan_of
from engine.test_session_equals_oracle import compiled, show, until
from oracle.agreement import differences, records_of, runs_of
from oracle.evaluate import GroundFact
from oracle.programs import EVERYTHING, FORWARD, NON_RECURSIVE, programs, streams
from tidelog import MemorySource, Session
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import EmitMode, Source

FRAGMENTS = {"forward": FORWARD, "non-recursive": NON_RECURSIVE, "everything": EVERYTHING}


def session_records(plan: Plan, records: Sequence[Record], emit: EmitMode) -> list[Record]:
    session = Session(plan, emit=emit)
    session.push_records(records)
    session.finish()
    return session.pull_records()


@st.composite
def dealt(draw: st.DrawFn, records: Sequence[Record]) -> list[Source]:
    """One to three sources that have the records among them, each in order, in batches of its own size."""
    hands: dict[int, list[Record]] = defaultdict(list)
    count = draw(st.integers(1, 3))
    for record in records:
        hands[draw(st.integers(0, count - 1))].append(record)
    return [MemorySource(hands[i], batch_size=draw(st.integers(1, 6))) for i in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("timeline", ["rational", "integer"])
@drawn(25)
@given(data=st.data())
def test_engine_session_and_oracle_agree(backend: str, timeline: str, data: st.DataObject) -> None:
    """Whatever the program, the batches and the number of sources: each fact and time once, and rightly."""
    program = data.draw(programs(timeline, FRAGMENTS[data.draw(st.sampled_from(sorted(FRAGMENTS)))]))
    facts: list[GroundFact] = data.draw(streams(program))
    plan = compiled(program)
    records = records_of(plan, facts)
    answers = engine_answers(backend, plan, data.draw(dealt(records)))
    assert not differences(program, facts, answers, until(program, facts)), show(program, facts)
    limit = until(program, facts)
    expected = session_records(plan, records, "intervals")
    assert _within(plan, answers, limit) == _within(plan, expected, limit), show(program, facts)


def _within(plan: Plan, answers: list[Record], limit: Fraction | None) -> dict[object, list[tuple[int, int]]]:
    """The maximal ranges up to a time: recursion without end is compared as far as it is promised."""
    runs = runs_of(answers)
    if limit is None:
        return dict(runs)
    last = plan.timeline.encode_point(limit)
    cut = {fact: [(lo, min(hi, last)) for lo, hi in ranges if lo <= last] for fact, ranges in runs.items()}
    return {fact: ranges for fact, ranges in cut.items() if ranges}


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("emit", ["final", "points"])
@drawn(25)
@given(data=st.data())
def test_final_and_points_agree_with_the_session(backend: str, emit: EmitMode, data: st.DataObject) -> None:
    """Maximal intervals, and answers at points, are the same; points come in the same order."""
    program = data.draw(programs(data.draw(st.sampled_from(["rational", "integer"])), NON_RECURSIVE))
    facts = data.draw(streams(program))
    plan = compiled(program)
    records = records_of(plan, facts)
    answers = engine_answers(backend, plan, data.draw(dealt(records)), emit=emit)
    expected = session_records(plan, records, emit)
    if emit == "points":
        assert answers == expected, show(program, facts)
    else:
        assert multiset(answers) == multiset(expected), show(program, facts)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("emit", ["intervals", "final", "changes", "points"])
def test_loops_agree_in_every_mode(backend: str, emit: EmitMode) -> None:
    """Recursion through time and through joins, with an end and without: the engine answers what the session does."""
    text = """
        timeline integer.
        edge(a,b). edge(b,c). edge(c,a).
        boxplus[1,1] at(Y) :- at(X), edge(X,Y).
        at(X) :- begin(X).
        seen(X) :- diamondminus[0,2] at(X).
        reach(X,Y) :- edge(X,Y), on.
        reach(X,Z) :- reach(X,Y), edge(Y,Z).
        boxplus[1,1] left(X,N) :- begin(X), N = 3.
        boxplus[1,1] left(X,M) :- left(X,N), N > 0, M = N - 1.
    """
    plan = plan_of(text)
    records: list[Record] = [("begin", ("a",), 0, 0), ("on", (), 2, 4), ("begin", ("b",), 5, 5), ("on", (), 9, 9)]
    answers = engine_answers(backend, plan, [MemorySource(records, batch_size=1)], emit=emit)
    expected = session_records(plan, records, emit)
    assert answers
    if emit == "intervals":
        assert runs_of(answers) == runs_of(expected)
    else:
        assert multiset(answers) == multiset(expected)
