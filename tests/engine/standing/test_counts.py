"""What goes on holding is counted, weighed and held: as the oracle has it, and a moment at which nothing happens is free."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from engine.test_deadlines import COUNTED, ENOUGH, HELD, Calls
from engine.test_lars_equals_oracle import answers_of
from oracle.agreement import differences
from oracle.programs import shuffled_within, streams
from tidelog import Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.language.parser import parse

GIVEN = "timeline integer. input on(s, z). input off(s). input b(s). m(S,Z) :- not off(S) since on(S,Z). "
RULES = {
    "count": "c(N) :- N = count() over m(S,Z) in [0].",
    "count in a window": "c(Z,N) :- N = count() over m(S,Z) in [5] by Z.",
    "sum": "c(Z,N) :- N = sum(S) over m(S,Z) in [3] by Z.",
    "mean": "c(N) :- N = avg(S) over m(S,Z) in [4].",
    "least and greatest": "c(Z,N) :- N = min(S) over m(S,Z) in [2] by Z. d(Z,N) :- N = max(S) over m(S,Z) in [0] by Z.",
    "first and last": "c(Z,N) :- N = first(S) over m(S,Z) in [2] by Z. d(N) :- N = last(S) over m(S,Z) in [4].",
    "distinct": "c(N) :- N = distinct(Z) over m(S,Z) in [6].",
    "quantile": "c(Z,N) :- N = quantile(0.9, S) over m(S,Z) in [3] by Z.",
    "step": "c(N) :- N = count() over m(S,Z) in [4 step 3].",
    "join": "c(N) :- N = count() over (m(S,Z), not b(S)) in [5].",
    "two aggregates": "c(N) :- N = count() over m(S,Z) in [0]. d(N) :- N = max(M) over c(M) in [5].",
    "threshold": "c() :- count() over m(S,Z) in [0] >= 3.",
    "threshold in a window": "c(Z) :- count() over m(S,Z) in [5] by Z > 12.",
    "threshold of a sum": "c(Z) :- sum(S) over (m(S,Z), S >= 0) in [5] by Z >= 70.",
    "threshold of the greatest": "c(Z) :- max(S) over m(S,Z) in [5] by Z >= 8.",
    "latest": "c(S,Z) :- latest m(S,Z) by Z in [5].",
    "latest, counted": "c(Z,N) :- N = count() over (latest m(S,Z) by Z in [5]) in [2] by Z.",
}


@pytest.mark.parametrize("rules", [*COUNTED, *ENOUGH, *HELD])
@drawn(10)
@given(data=st.data())
def test_answers_are_the_oracles(rules: str, data: st.DataObject) -> None:
    """In batches of any size, with late facts, what is told is what the definitions say."""
    is_dense = rules in HELD and data.draw(st.booleans())
    program = parse(f"timeline {'rational' if is_dense else 'integer'}. {rules}")
    facts = data.draw(streams(program, size=8, last=8))
    lateness = data.draw(st.sampled_from([0, 4]))
    if lateness:
        facts = data.draw(shuffled_within(facts, lateness))
    batch, advance = data.draw(st.integers(1, 4)), not (lateness or is_dense) and data.draw(st.booleans())
    answers = answers_of(compile_program(program), facts, batch, advance, lateness=lateness)
    assert not differences(program, facts, answers)


@pytest.mark.pure
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_what_goes_on_is_counted_at_no_cost(rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside 10 rows or 200, a moment calls nobody, and a row that ends and begins again costs as much."""
    calls = Calls(monkeypatch)
    found = []
    for count in (10, 200):
        session = Session(tidelog.compile(GIVEN + rules), emit="changes")
        session.push_records([("on", (i, i % 5), 2 * i // count, 2 * i // count) for i in range(count)])
        for time in range(1, 20):
            session.advance(time)
        calls.during(session)
        for time in range(20, 120):
            session.advance(time)
        assert calls.calls == 0
        found.append(calls.during(session, *((name, row, time) for name, row, time in EVENTS)))
    calls_of, facts_of = zip(*found, strict=True)
    assert max(calls_of) <= min(calls_of) + 20
    assert max(facts_of) <= min(facts_of) + 20


EVENTS: Sequence[tuple[str, list[object], int]] = [
    ("off", [7], 200),
    ("on", [7, 2], 220),
    ("off", [99], 240),
    ("off", [7], 260),
]


def test_alarms_that_are_active_are_counted_where_they_begin_and_end() -> None:
    """How many alarms are on is told once for each change, also where one is known to end before it does."""
    text = (
        "timeline integer. alarm(S) :- not off(S) since on(S). active(N) :- N = count() over alarm(S) in [0]. output active."
    )
    session = Session(tidelog.compile(text), emit="final")
    for predicate, sensor, time in (("on", "a", 1), ("on", "b", 4), ("off", "c", 5), ("on", "c", 9)):
        session.push(predicate, [sensor], time)
    session.push("off", ["a"], interval="[12,14]")
    session.push("off", ["b"], 20)
    session.push("on", ["a"], 20)
    session.finish()
    assert sorted(map(str, session.pull())) == [
        "active(1)@[1,3]",
        "active(2)@[13,19]",
        "active(2)@[21,inf)",
        "active(2)@[4,8]",
        "active(3)@20",
        "active(3)@[9,12]",
    ]


def test_a_window_is_looked_at_while_it_fills() -> None:
    """The time points of what goes on are counted one by one until the window is full of it, and where it has ended."""
    text = "timeline integer. m(S) :- not off(S) since on(S). c(N) :- N = count() over m(S) in [2]. output c."
    session = Session(tidelog.compile(text), emit="final")
    for predicate, sensor, time in (("on", "a", 1), ("on", "b", 5), ("off", "a", 20), ("off", "b", 30)):
        session.push(predicate, [sensor], time)
    session.finish()
    filling = ["c(1)@1", "c(2)@2", "c(3)@[3,4]", "c(4)@5", "c(5)@6", "c(6)@[7,20]"]
    leaving = ["c(5)@21", "c(4)@22", "c(3)@[23,30]", "c(2)@31", "c(1)@32"]
    assert [str(answer) for answer in session.pull()] == filling + leaving


def test_the_greatest_of_what_goes_on_comes_back_when_a_greater_one_ends() -> None:
    """A row that goes on is the greatest again once all that were greater have left the window."""
    text = "timeline integer. m(S,V) :- not off(S) since on(S,V). c(N) :- N = max(V) over m(S,V) in [2]. output c."
    session = Session(tidelog.compile(text), emit="final")
    session.push("on", ["a", 3], 1)
    session.push("on", ["b", 8], 4)
    session.push("on", ["c", 5], 5)
    session.push("off", ["b"], 10)
    session.push("off", ["c"], 20)
    session.push("off", ["a"], 30)
    session.finish()
    assert sorted(map(str, session.pull())) == ["c(3)@[1,3]", "c(3)@[23,32]", "c(5)@[13,22]", "c(8)@[4,12]"]


def test_what_is_enough_with_open_rows_is_told_at_once() -> None:
    """A fact that makes it enough together with what goes on is told of with the fact, before time has come so far."""
    text = "timeline integer. m(S) :- not off(S) since on(S). c() :- count() over m(S) in [5] >= 6. output c."
    session = Session(tidelog.compile(text))
    session.push("on", ["a"], 1)
    assert session.pull() == []
    session.push("on", ["b"], 6)
    assert [str(answer) for answer in session.pull()] == ["c@[6,7]"]


def test_a_restored_session_knows_when_it_will_be_enough() -> None:
    """A window that fills weighs enough at a time that is known beforehand, also to a session that goes on later."""
    text = "timeline integer. m(S) :- not off(S) since on(S). c(S) :- count() over m(S) in [8] by S >= 7. output c."
    plan = tidelog.compile(text)
    session = Session(plan, emit="changes")
    session.push("on", ["a"], 1)
    session.advance(4)
    saved, session = session.snapshot(), Session(plan, emit="changes")
    session.restore(saved)
    session.advance(6)
    assert session.pull() == []
    session.advance(7)
    assert [str(answer) for answer in session.pull()] == ["c(a)@[7.."]


def test_a_restored_session_goes_on_to_tell_a_count_that_was_to_change() -> None:
    """What held for one tick leaves the window while the state is stored: the count of the others goes on to be told."""
    text = "timeline integer. m(X) :- diamondminus[0,6] q(X), not p(X). c(N) :- N = count() over m(X) in [0]. output c."
    plan = tidelog.compile(text)
    session, told = Session(plan), []
    for predicate, row, time in (("q", "b", 0), ("q", "a", 1), ("p", "a", 2), ("p", "a", 3), ("p", "a", 4)):
        session.push(predicate, [row], time)
        told += [str(answer) for answer in session.pull()]
        saved, session = session.snapshot(), Session(plan)
        session.restore(saved)
    assert told == ["c(1)@0", "c(2)@1", "c(1)@2", "c(1)@3"]


def test_an_aggregate_counts_at_no_cost_whoever_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who takes no announcements of the aggregate costs a row at each time, and not all that is counted."""
    calls = Calls(monkeypatch)
    rules = "c(N) :- N = count() over m(S,Z) in [0]. d(N) :- b(_) until[0,3] c(N). output d."
    found = []
    for count in (10, 200):
        session = Session(tidelog.compile(GIVEN + rules))
        session.push_records([("on", (i, i % 5), 0, 0) for i in range(count)])
        session.advance(10)
        calls.during(session)
        for time in range(11, 60):
            session.advance(time)
        found.append((calls.calls, calls.facts))
    assert found[0] == found[1]
