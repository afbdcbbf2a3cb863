"""A history, and then a stream, tells what the stream tells by itself: cut anywhere, in each form of answers."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import pytest
from engine.test_lars_equals_oracle import compare
from engine.test_lars_equals_oracle import compiled as compiled_lars
from engine.test_session_equals_oracle import FRAGMENTS, compiled, show, until
from hypothesis import assume, given
from hypothesis import strategies as st

import tidelog
from columns.stretches import batches
from columns.test_columns_equal_oracle import LARS
from drawing import drawn
from oracle.agreement import differences, records_of, runs_of
from oracle.lars_programs import lars_programs, lars_streams
from oracle.programs import programs, shuffled_within, streams
from tidelog import Session
from tidelog.plans.analysis.physical.in_columns import begins_row_by_row
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.columns import first_frames
from tidelog.runtime.columns.first_frames import FirstFrames
from tidelog.runtime.ports.interfaces import Batch, EmitMode
from tidelog.runtime.sessions.settings import SOURCE

MODES: list[EmitMode] = ["intervals", "final", "changes", "points"]


def begin(session: Session, records: Sequence[Record], data: st.DataObject) -> list[Record]:
    """Let facts go by as a history, cut into frames, in stretches of so many; returns the answers, and notes what is late.

    The answers are pulled behind some of the frames.
    """
    ordered = sorted(records, key=lambda record: record[2])
    cuts = sorted(data.draw(st.sets(st.integers(1, len(ordered)), max_size=3)) | {0, len(ordered)})
    told: list[Record] = []
    history = FirstFrames(session.plan, session.settings, session.intake.given_start)
    assume(history.take(batches(ordered[cuts[0] : cuts[1]], history.pool)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(first_frames, "STRETCH", data.draw(st.integers(1, 20)))
        for number, cut in enumerate(cuts[1:]):
            if number:
                assert session.is_beginning
                assert history.take(batches(ordered[cuts[number] : cut], history.pool))
            assert session.begin_with(SOURCE, history)
            if data.draw(st.booleans()):
                told += session.pull_records()
    return told


def go_on(session: Session, records: Sequence[Record]) -> list[Record]:
    """Hand in facts one by one to the end; returns the answers, and notes what is late."""
    told = session.pull_records()
    for record in records:
        session.take(SOURCE, Batch([record]))
        told += session.pull_records()
    session.finish()
    return told + session.pull_records()


def law(plan: Plan, data: st.DataObject, first: Sequence[Record], rest: Sequence[Record]) -> None:
    """What a history and then a stream tell; it is what the stream alone tells, with the same counts."""
    mode = data.draw(st.sampled_from(MODES))
    lateness = data.draw(st.sampled_from([0, 0, 0, 1, 3]))
    start = data.draw(st.sampled_from([None, None, None, 0, 4]))
    session, other = (Session(plan, emit=mode, lateness=lateness, start=start) for _ in range(2))
    told = begin(session, first, data)
    if data.draw(st.booleans()):
        told += session.pull_records()
        saved = session.snapshot()
        session = Session(plan, emit=mode, lateness=lateness, start=start)
        session.restore(json.loads(json.dumps(saved)))
    told += go_on(session, rest)
    expected = go_on(other, [*sorted(first, key=lambda record: record[2]), *rest])
    if mode == "intervals":
        assert runs_of(told) == runs_of(expected)
    else:
        assert Counter(told) == Counter(expected)
    assert session.statistics().intake == other.statistics().intake
    assert session.statistics().sources == other.statistics().sources


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@pytest.mark.parametrize("fragment", list(FRAGMENTS))
@given(data=st.data())
@drawn(40)
def test_history_then_stream_is_the_stream(fragment: str, timeline: str, data: st.DataObject) -> None:
    """Also behind a snapshot, and with facts in the stream that come late."""
    program = data.draw(programs(timeline, FRAGMENTS[fragment]))
    plan = compiled(program)
    assume(begins_row_by_row(plan) is None)
    facts = data.draw(shuffled_within(data.draw(streams(program)), Fraction(3)))
    records = records_of(plan, facts)
    assume(records)
    cut = data.draw(st.integers(1, len(records)))
    law(plan, data, records[:cut], records[cut:])


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@pytest.mark.parametrize("fragment", list(FRAGMENTS))
@given(data=st.data())
@drawn(40)
def test_history_then_stream_is_what_the_oracle_says(fragment: str, timeline: str, data: st.DataObject) -> None:
    """Each fact and time is answered once, and rightly."""
    program = data.draw(programs(timeline, FRAGMENTS[fragment]))
    plan = compiled(program)
    assume(begins_row_by_row(plan) is None)
    facts = data.draw(streams(program))
    records = records_of(plan, facts)
    assume(records)
    cut = data.draw(st.integers(1, len(records)))
    session = Session(plan)
    found = begin(session, records[:cut], data) + go_on(session, records[cut:])
    assert not differences(program, facts, found, until(program, facts)), show(program, facts)


@pytest.mark.parametrize("form", LARS)
@given(data=st.data())
@drawn(40)
def test_history_then_stream_is_the_stream_of_lars(form: str, data: st.DataObject) -> None:
    """Windows, held values, aggregates, times as values."""
    plan = compiled_lars(data.draw(lars_programs(LARS[form])))
    assume(begins_row_by_row(plan) is None)
    records = records_of(plan, data.draw(lars_streams()))
    assume(records)
    cut = data.draw(st.integers(1, len(records)))
    law(plan, data, records[:cut], records[cut:])


@pytest.mark.parametrize("form", LARS)
@given(data=st.data())
@drawn(40)
def test_history_then_stream_is_what_the_oracle_says_of_lars(form: str, data: st.DataObject) -> None:
    """The same of windows, held values, aggregates, times as values."""
    program = data.draw(lars_programs(LARS[form]))
    plan = compiled_lars(program)
    assume(begins_row_by_row(plan) is None)
    facts = data.draw(lars_streams())
    records = records_of(plan, facts)
    assume(records)
    cut = data.draw(st.integers(1, len(records)))
    session = Session(plan)
    compare(program, plan, facts, begin(session, records[:cut], data) + go_on(session, records[cut:]))


LASTING = {
    "latch": "open(R) :- not hot(R) since door(R). closed(R) :- door(R), not open(R). output open, closed.",
    "since": "on(R) :- hot(R) since door(R). late(R) :- on(R), not diamondminus[0,4] door(R). output on, late.",
    "since with an end": "on(R) :- top since[3,9] door(R). both(R) :- on(R), hot(R). output on, both.",
    "latest": "held(R, V) :- latest temp(R, V) by R in [inf]. "
    "warm(R) :- held(R, V), V > 81, not door(R). output held, warm.",
    "aggregates": "mean(R, A) :- A = avg(V) over temp(R, V) in [6] by R. most(N) :- N = count() over hot(R) in [9]. "
    "high(R) :- mean(R, A), A > 80. output mean, most, high.",
    "steps": "mean(R, A) :- A = avg(V) over temp(R, V) in [10 step 5] by R. "
    "most(A) :- A = max(V) over temp(_, V) in [3 step 4]. rise(R) :- mean(R, A), temp(R, V), V > A. "
    "output mean, most, rise.",
    "sums": "total(R, A) :- A = sum(V) over temp(R, V) in [4] by R. kinds(A) :- A = distinct(V) over temp(_, V) in [8]. "
    "mid(A) :- A = quantile(0.5,V) over temp(_, V) in [9]. spread(A) :- A = stddev(V) over temp(_, V) in [5 step 2]. "
    "many(R) :- total(R, A), A > 240, not door(R). output total, kinds, mid, spread, many.",
    "edges": "low(R, A) :- A = min(V) over temp(R, V) in [5] by R. early(R, A) :- A = first(V) over temp(R, V) in [5] by R. "
    "late(R, A) :- A = last(V) over temp(R, V) in [7 step 2] by R. off(R) :- late(R, A), early(R, B), A < B. "
    "calm(R) :- low(R, A), A > 79, not door(R). output low, early, late, off, calm.",
    "thresholds": "busy(R) :- N = count() over temp(R, _) in [6] by R, N >= 4. "
    "warm(R) :- S = sum(V) over temp(R, V) in [4] by R, S > 240. both(R) :- busy(R), not warm(R). output busy, warm, both.",
    "counts of what lasts": "open(R) :- not hot(R) since door(R). number(N) :- N = count() over open(R) in [3]. "
    "held(R, V) :- latest temp(R, V) by R in [inf]. kinds(A) :- A = distinct(V) over held(_, V) in [0]. "
    "early(R, A) :- A = first(V) over held(R, V) in [6 step 2] by R. few(A) :- kinds(A), not door(a). "
    "output number, kinds, early, few.",
    "enough of what lasts": "open(R) :- not hot(R) since door(R). enough :- N = count() over open(R) in [3], N >= 3. "
    "held(R, V) :- latest temp(R, V) by R in [inf]. high(R) :- S = sum(V) over held(R, V) in [4] by R, S > 330. "
    "calm(R) :- high(R), not door(R). output enough, high, calm.",
    "held for a time": "held(R, V) :- latest temp(R, V) by R in [5]. low(R) :- held(R, V), V < 80, not door(R). "
    "output held, low.",
    "projection": "some :- temp(R, V), V > 80. lit(R) :- diamondminus[0,5] door(R), some. output some, lit.",
    "until": "soon(R) :- hot(R) until[0,5] door(R). long(R) :- boxminus[0,3] diamondminus[0,2] hot(R). output soon, long.",
    "sleeping": "steady(R) :- temp(R, _), boxminus[0,3] door(R). all(R) :- boxminus[0,6] door(R), not hot(R). "
    "output steady, all.",
    "past": "once(R) :- diamondminus[0,inf) door(R). never(R) :- temp(R, _), not once(R). output once, never.",
}
"""What holds on, or is looked back at, where a history ends."""
HOT = "timeline integer. input temp(room, value). input door(room). hot(R) :- temp(R, V), V >= 80. "
READINGS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.sampled_from("ab"), st.integers(78, 84), st.integers(0, 4)),
    min_size=2,
    max_size=40,
)


@pytest.mark.parametrize("name", LASTING)
@given(data=st.data(), readings=READINGS)
@drawn(40)
def test_what_lasts_goes_on(name: str, data: st.DataObject, readings: list[tuple[int, int, str, int, int]]) -> None:
    """Latches, since, held values, aggregates: what is on where the history ends goes on, and ends as it would."""
    plan = tidelog.compile(HOT + LASTING[name])
    assert begins_row_by_row(plan) is None
    records: list[Record] = []
    time = 0
    for step, kind, room, value, length in readings:
        time += step
        records.append(("temp", (room, value), time, time + length) if kind else ("door", (room,), time, time + length))
    cut = data.draw(st.integers(1, len(records)))
    law(plan, data, records[:cut], records[cut:])


@pytest.mark.parametrize(
    "text",
    [
        "a(X) :- p(X). boxplus[1,1] a(X) :- a(X).",
        "reach(X, Y) :- e(X, Y). reach(X, Z) :- reach(X, Y), e(Y, Z).",
        "a(X) :- p(X) in [# 3].",
        "a(X) :- p(X). bottom :- p(X), not q(X).",
    ],
)
def test_what_keeps_more_than_kernels_do_goes_row_by_row(text: str) -> None:
    """Loops, windows that count facts, constraints."""
    assert begins_row_by_row(tidelog.compile("timeline integer. input p(x). input q(x). input e(x, y). " + text)) is not None


def test_where_an_operator_fails_rows_say_so() -> None:
    """Nothing of the history is told twice, or left."""
    plan = tidelog.compile("timeline integer. a(X, T) :- p(X)@T in [0]. b(X) :- p(X).")
    session = Session(plan)
    history = FirstFrames(plan, session.settings, 0)
    assert history.take(batches([("p", ("a",), 0, 0), ("p", ("b",), NEG, 9)], history.pool))
    assert not session.begin_with(SOURCE, history)
    assert session.is_beginning
    assert session.pull_records() == []


def test_without_a_watermark_all_is_said_by_the_operators() -> None:
    """Where facts may come as late as they like, kernels tell nothing."""
    plan = tidelog.compile(HOT + LASTING["latch"])
    records: list[Record] = [("door", ("a",), 1, 1), ("temp", ("a", 81), 4, 4), ("door", ("b",), 6, 7)]
    session, other = (Session(plan, lateness=math.inf, start=0) for _ in range(2))
    history = FirstFrames(plan, session.settings, session.intake.given_start)
    assert history.take(batches(records, history.pool))
    assert session.begin_with(SOURCE, history)
    late: list[Record] = [("temp", ("a", 83), 2, 2)]
    assert runs_of(go_on(session, late)) == runs_of(go_on(other, [*records, *late]))


def test_frames_go_row_by_row_where_more_is_kept_than_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each would cost what all windows hold."""
    monkeypatch.setattr("tidelog.runtime.frames.pushing.LEAST", 0)
    plan = tidelog.compile("timeline integer. input p(x). n(N) :- N = count() over p(X) in [100].")
    session = Session(plan)
    for times, in_columns in ((range(20), True), (range(20, 60), True), (range(60, 65), False), (range(65, 99), False)):
        session.push_frame("p", {"x": list(times), "time": list(times)})
        assert (session.begun_with is not None) == in_columns
