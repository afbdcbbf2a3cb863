"""What holds now, in every form of answers: all of it, from the state, and after a restart."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog.plans.data.timeline import POS
from tidelog.runtime.emission.held import Held
from tidelog.runtime.ports.interfaces import EmitMode

MODES: tuple[EmitMode, ...] = ("intervals", "final", "changes", "points")
TEXT = """timeline integer.
on(X) :- not stop(X) since start(X).
near(X) :- diamondminus[0,5] start(X).
on(X) :- always_on(X).
output on, near."""
PLAN = tidelog.compile(TEXT)


def session(emit: EmitMode = "changes", **options: Any) -> tidelog.Session:
    return tidelog.Session(PLAN, emit=emit, held=True, **options)


@pytest.mark.parametrize("emit", MODES)
def test_what_holds_is_told_whatever_is_told_of_it(emit: EmitMode) -> None:
    """What goes on, what ends later, and what has no end; not what has ended. It begins where it began."""
    run = session(emit)
    run.push("always_on", ["z"], interval="[1,inf)")
    run.push("start", ["a"], 2)
    run.push("start", ["b"], 3)
    run.push("stop", ["a"], 6)
    run.push("start", ["c"], 9)
    run.advance(9)
    run.pull()
    run = restarted(run, emit)
    found = [(name, row, lo) for name, row, lo, _ in run.holding(9)]
    assert sorted(found) == [("near", ("c",), 9), ("on", ("b",), 3), ("on", ("c",), 9), ("on", ("z",), 1)]
    assert [lo for _, _, lo in found] == [9, 9, 3, 1]


def restarted(run: tidelog.Session, emit: EmitMode) -> tidelog.Session:
    """Another session that goes on where this one stands."""
    other = session(emit)
    other.restore(run.snapshot())
    return other


def test_a_run_that_was_not_watched_knows_what_it_has_told() -> None:
    """A snapshot that was taken when nobody wanted to know still says what has begun and not ended."""
    run = tidelog.Session(PLAN, emit="changes")
    run.push("start", ["a"], 2)
    run.advance(4)
    run.pull()
    watched = session()
    watched.restore(run.snapshot())
    assert ("on", ("a",), 2, POS) in watched.holding(4)
    assert run.holding(4) == []


def test_what_was_told_to_begin_holds_until_its_end_is_told() -> None:
    """What has begun at the last event may end with the next one; until then it holds, at whatever time one asks."""
    plan = tidelog.compile("timeline integer. hot(M) :- latest temp(M,C) by M in [inf], C >= 80.")
    run = tidelog.Session(plan, emit="changes", held=True)
    run.push("temp", ["b", 95], 101)
    assert [str(change) for change in run.pull()] == ["hot(b)@[101.."]
    assert run.holding(101) == [("hot", ("b",), 101, 101)]
    assert run.holding(102) == [("hot", ("b",), 101, POS)]
    run.push("temp", ["b", 20], 105)
    run.advance(105)
    assert run.holding(105) == []


@pytest.mark.long
def test_what_has_ended_is_forgotten() -> None:
    """Ten thousand answers come and go; what is kept is what may still hold."""
    run = session()
    for time in range(10_000):
        run.push("start", [f"m{time}"], 10 * time)
        run.push("stop", [f"m{time}"], 10 * time + 3)
        run.pull()
    held = run._outlet.held
    assert held is not None
    assert sum(held.entries().values()) < 3000
    assert len(run.holding(99_993)) == 2


FACTS = st.lists(
    st.tuples(st.sampled_from(["start", "stop", "always_on"]), st.sampled_from("abc"), st.integers(0, 3)), max_size=30
)


@drawn(60)
@given(FACTS, st.sampled_from(MODES))
def test_it_is_what_the_whole_run_says(facts: list[tuple[str, str, int]], emit: EmitMode) -> None:
    """At each time, with a restart there, it is what `final` tells of that time in the end, with facts in order."""
    time, run, whole = 0, session(emit), tidelog.Session(PLAN, emit="final")
    seen: list[tuple[int, set[tuple[str, tuple[Any, ...], int]]]] = []
    for name, row, gap in facts:
        time += gap
        run.push(name, [row], time)
        whole.push(name, [row], time)
        if gap:
            run.advance(time)
            whole.advance(time)
            time += 1
            run.pull()
            run = restarted(run, emit)
            seen.append((time - 1, {(name, row, lo) for name, row, lo, _ in run.holding(time - 1)}))
    whole.finish()
    told = whole.pull_records()
    for moment, found in seen:
        assert found == {(name, row, lo) for name, row, lo, hi in told if lo <= moment <= hi}


def test_a_run_that_is_long_gone_costs_no_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked for what has ended when there is twice as much as may hold, not with each fact."""
    looks: list[int] = []
    forget = Held.forget

    def counted(held: Held, frontier: int) -> None:
        before = held._most
        forget(held, frontier)
        looks.append(held._most != before)

    monkeypatch.setattr(Held, "forget", counted)
    run = session()
    for time in range(5000):
        run.push("start", ["a"], time)
    assert len(looks) >= 5000
    assert sum(looks) <= 10
