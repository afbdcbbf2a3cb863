"""Answers as intervals: what goes on holding is told at each time if it is little, otherwise by turns."""

from __future__ import annotations

import json
import random
import sys

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import limits

from engine.running import BACKENDS, engine_answers, run
from engine.test_session_equals_oracle import answers_of, compiled, show, until
from oracle.agreement import differences, records_of, runs_of
from oracle.programs import NON_RECURSIVE, programs, streams
from tidelog import Engine, MemorySink, MemorySource, PushSource, Session, compile
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact
from tidelog.plans.plan.plan import Feed
from tidelog.runtime.emission.growing import Growing

LATCH = "timeline integer. s(X) :- not off(X) since on(X)."
MANY = "timeline integer. input p(x). input n(x). m(X) :- p(X), not n(X)."


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@given(data=st.data())
def test_turns_change_no_answer(timeline: str, data: st.DataObject) -> None:
    """Where even a single open row has to wait for its turn: each fact and time is answered once, and rightly."""
    program = data.draw(programs(timeline, NON_RECURSIVE))
    facts = data.draw(streams(program))
    with limits(prompt=0):
        found = answers_of(program, facts, batch=data.draw(st.integers(1, 20)))
        assert not differences(program, facts, found, until(program, facts)), show(program, facts)
        plan = compiled(program)
        source = MemorySource(records_of(plan, facts), batch_size=3)
        found = engine_answers(data.draw(st.sampled_from(BACKENDS)), plan, [source])
        assert not differences(program, facts, found, until(program, facts)), show(program, facts)


def test_what_looks_ahead_is_told_in_pieces() -> None:
    """Where an open fact is looked at from before, it is told at each time; outputs and constraints get it as it is."""
    text = "timeline integer. m(X) :- p(X), not n(X). o(X) :- m(X). bottom :- p(X), not q(X)."
    assert {"m", "o", "bottom.1"} <= compile(text).announcing.keys()
    ahead = compile(text + " u(X) :- q(X) until[0,5] m(X).")
    assert "m" in ahead.announcing
    assert ahead.step("u/1").inputs[1] == Feed("step", "m/told")


def test_few_open_rows_are_told_at_each_move() -> None:
    """Sixteen rows that go on holding are told as far as they are known, whatever happens."""
    session = Session(compile(MANY))
    session.push_records([("p", (i,), 0, 100) for i in range(16)])
    for time in range(5):
        session.advance(time)
        assert session.pull_records() == [("m", (i,), time, time) for i in range(16)]


def test_many_open_rows_are_told_by_turns() -> None:
    """Of many, each is told when it begins and when it ends; with each of these, another one is told how far it has come."""
    session = Session(compile(MANY))
    session.push_records([("p", (i,), 0, 99) for i in range(100)])
    session.advance(0)
    assert len(session.pull_records()) == 100
    told = []
    for time in range(1, 60):
        session.push("n", [time + 20], time=time)
        session.advance(time)
        told.append(session.pull_records())
    assert told[:3] == [
        [],
        [("m", (22,), 1, 1), ("m", (21,), 2, 2), ("m", (0,), 1, 2), ("m", (1,), 1, 2)],
        [("m", (23,), 1, 2), ("m", (22,), 3, 3), ("m", (2,), 1, 3), ("m", (3,), 1, 3)],
    ]
    assert all(len(records) <= 4 for records in told)


def test_the_rest_is_told_when_the_stream_stops() -> None:
    """What is known and untold is there on request, once; and later what has come since."""
    session = Session(compile(MANY))
    session.push_records([("p", (i,), 0, 99) for i in range(100)])
    session.advance(0)
    session.advance(3)
    assert len(session.pull_records()) == 100
    session.rest()
    assert sorted(session.pull_records()) == [("m", (i,), 1, 3) for i in range(100)]
    session.rest()
    assert session.pull_records() == []
    session.finish()
    assert sorted(session.pull_records()) == [("m", (i,), 4, 99) for i in range(100)]


def test_what_is_told_as_a_fact_is_not_told_of_a_standing_row() -> None:
    """A row may be told by one rule and stand by another: each time is told once, in whatever order, through snapshots."""
    one, other = ("a",), ("b",)
    messages: list[tuple[list[Fact], Notices | None, int]] = [
        ([(one, 1, 9)], Notices([(other, 3)]), 4),
        ([], Notices([(one, 6)]), 12),
        ([(other, 12, 14)], None, 13),
        ([(one, 6, 8)], Notices([], [(other, 3, 20)]), 15),
        ([], Notices([], [(one, 6, 16)]), 30),
    ]
    found: list[tuple[tuple[str, ...], int]] = []
    store = Growing()
    for facts, notices, frontier in messages:
        found += [(row, time) for row, lo, hi in store.take(facts, frontier, notices) for time in range(lo, hi + 1)]
        saved, store = store.snapshot(), Growing()
        store.restore(json.loads(json.dumps(saved)))
    assert sorted(found) == [(one, time) for time in range(1, 17)] + [(other, time) for time in range(3, 21)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_stopped_engine_tells_the_rest(backend: str) -> None:
    """What is known when the engine is stopped goes to the sinks."""
    plan = compile("timeline integer. m(X) :- p(X), not n(X).")
    source, sink = PushSource(), MemorySink()
    engine = Engine(plan, [source], [sink])

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await source.send([plan.record("p", (f"v{i}",), interval="[0,100]") for i in range(50)])
            for time in (1, 2, 3, 4):
                await source.send([plan.record("n", ("other",), time)])
            await anyio.wait_all_tasks_blocked()
            engine.stop()

    run(backend, main)
    told = {row: max(hi for _, other, _, hi in sink.answers if other == row) for _, row, _, _ in sink.answers}
    assert told == {(f"v{i}",): 3 for i in range(50)}


def test_rows_that_begin_to_stand_together_cost_what_they_are() -> None:
    """Each of the rows that begin to stand by one message is looked at once, however many facts the message has."""

    def calls(count: int) -> int:
        growing, counted = Growing(), [0]
        growing.take([], 0)
        facts: list[Fact] = [((f"b{i}",), 1, 3) for i in range(count)]
        notices = Notices([((f"a{i}",), 5) for i in range(count)])

        def count_call(frame: object, event: str, argument: object) -> None:
            counted[0] += event == "call"

        sys.setprofile(count_call)
        try:
            growing.take(facts, 2, notices)
        finally:
            sys.setprofile(None)
        return counted[0]

    assert calls(400) <= 10 * max(calls(50), 20)


@pytest.mark.parametrize("settings", [{}, {"prompt": 1, "round": 0}, {"prompt": 0, "round": 0}])
@pytest.mark.parametrize("seed", range(8, 12))
def test_many_rows_over_a_long_stream_are_told_once(settings: dict[str, int], seed: int) -> None:
    """A row that begins later has been told of further than rows before it: what these were told ahead is not forgotten."""
    chance = random.Random(seed)
    names = [f"k{i}" for i in range(chance.choice([17, 40, 200]))]
    time, records = 0, []
    for _ in range(4000):
        time += chance.choice([0, 0, 0, 1])
        records.append((chance.choice(["on"] * 6 + ["off"]), (chance.choice(names),), time, time))
    with limits(**settings):
        one_by_one, at_once = Session(compile(LATCH)), Session(compile(LATCH), emit="final")
        for record in records:
            one_by_one.push_records([record])
        at_once.push_records(records)
        for session in (one_by_one, at_once):
            session.finish()
        assert runs_of(one_by_one.pull_records()) == runs_of(at_once.pull_records())


def test_what_is_told_once_is_not_kept() -> None:
    """Of a step with which standing rows begin, nothing is kept but what stands."""
    growing = Growing(is_fed=False)
    for time in range(0, 2000, 2):
        told = growing.take([], time, Notices([((time,), time)]))
        assert told[0] == ((time,), time, time)
        told = growing.take([], time + 1, Notices([], [((time,), time, time + 1)]))
        assert told == [((time,), time + 1, time + 1)]
        assert growing.entries() == 0
