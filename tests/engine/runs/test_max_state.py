"""`max_state`: a run that grows beyond its bound ends with an error that names what grows, whatever it is that does."""

from __future__ import annotations

import anyio
import pytest

import tidelog
from tidelog.operators.stores.room import UNBOUNDED
from tidelog.plans.data.facts import Record
from tidelog.runtime.network.state_bound import MAX_STATE, StateBound

BACKENDS = pytest.mark.parametrize("backend", ["trio", "asyncio"])
JOIN = "timeline integer.\ninput p(x).\n\nq(X,Y,Z) :- p(X), p(Y), p(Z).\n"


def numbers(plan: tidelog.Plan, count: int, predicate: str = "p", time: int = 1) -> list[Record]:
    return [plan.record(predicate, [number], time=time) for number in range(count)]


def grown(plan: tidelog.Plan, records: list[Record], most: int, **options: object) -> tidelog.StateError:
    """The error of a session that takes these facts at once."""
    session = tidelog.Session(plan, max_state=most, **options)  # type: ignore[arg-type]
    with pytest.raises(tidelog.StateError) as caught:
        session.push_records(records)
        session.finish()
    return caught.value


def test_a_join_is_stopped_within_one_call() -> None:
    """A hundred million combinations of 500 facts: the error comes soon, and names rule, line, size and what was done."""
    plan = tidelog.compile(JOIN)
    error = grown(plan, numbers(plan, 500), 100_000)
    assert error.holder == "the rule `q(X, Y, Z) :- p(X), p(Y), p(Z).`"
    assert error.place == "<program>:4"
    assert 100_000 < error.rows < 101_000
    assert (error.most, error.accepted, error.told) == (100_000, 500, 0)
    assert str(error) == (
        f"the state has grown beyond 100,000 rows: {error.rows:,} are held by the rule `q(X, Y, Z) :- p(X), p(Y), p(Z).` "
        "(<program>:4); 500 facts accepted, 0 answers told"
    )


@BACKENDS
def test_an_engine_ends_with_the_same_error(backend: str) -> None:
    """And tells how many answers the sinks had taken."""
    plan = tidelog.compile(JOIN)
    source = tidelog.MemorySource([*numbers(plan, 2), *numbers(plan, 500, time=9)], batch_size=2)
    sink = tidelog.MemorySink()
    engine = tidelog.Engine(plan, [source], [sink], max_state=10_000)
    with pytest.raises(tidelog.StateError) as caught:
        anyio.run(engine.run, backend=backend)
    assert caught.value.holder.startswith("the rule `q(X, Y, Z)")
    assert caught.value.told == len(sink.answers)
    assert 0 < caught.value.accepted <= 502


def test_rows_of_the_head_that_repeat_are_held_once() -> None:
    """A million combinations that give a hundred rows are no reason to stop."""
    plan = tidelog.compile("timeline integer.\ninput p(x).\nq(X) :- p(X), p(Y), p(Z), Y <= Z.")
    session = tidelog.Session(plan, max_state=80_000)
    session.push_records(numbers(plan, 100))
    assert len(session.pull()) == 100


GROWING = {
    "since": ("q(X,Y) :- c(X), a(X) since[5,9] b(Y).", {}, "the rule `q(X, Y) :- c(X), a(X) since[5,9] b(Y).`"),
    "until": ("q(X,Y) :- c(X), a(X) until[2,9] b(Y).", {}, "the rule `q(X, Y) :- c(X), a(X) until[2,9] b(Y).`"),
    "a negation": ("q(X,Y) :- a(X), b(Y), not c(X).", {}, "the rule"),
    "points": ("q(X) :- diamondminus[0,1000] a(X).", {"emit": "points"}, "answers"),
    "recursion": ("q(X,Y) :- a(X), b(Y).\nq(X,Z) :- q(X,Y), q(Y,Z).", {}, "the rule `q(X, Y) :- a(X), b(Y).`"),
    "what is pulled": ("q(X) :- a(X).\nr(X) :- q(X).", {}, "answers that wait to be pulled"),
}


@pytest.mark.parametrize(("rules", "options", "holder"), GROWING.values(), ids=GROWING.keys())
def test_whatever_grows_is_named(rules: str, options: dict[str, object], holder: str) -> None:
    """Operators of all kinds that make much of little, what is not final yet, and what nobody pulls."""
    plan = tidelog.compile(f"timeline integer.\ninput a(x). input b(x). input c(x).\n{rules}")
    session = tidelog.Session(plan, max_state=3_000, **options)  # type: ignore[arg-type]
    with pytest.raises(tidelog.StateError) as caught:
        for time in range(250):
            for name in ("b", "a"):
                session.push_records([plan.record(name, [100 * time + number], time=time) for number in range(60)])
                if "pulled" not in holder:
                    session.pull_records()
    assert caught.value.holder.startswith(holder), caught.value
    assert caught.value.rows <= 20_000


def test_answers_that_are_not_final_are_named_with_their_rule() -> None:
    """What is told once it can grow no more waits until then."""
    rule = "q(X,Y) :- diamondminus[0,1000] a(X), diamondminus[0,1000] b(Y)."
    plan = tidelog.compile(f"timeline integer.\ninput a(x). input b(x).\n{rule}")
    session = tidelog.Session(plan, max_state=5_000, emit="final")
    with pytest.raises(tidelog.StateError, match="held by answers that wait to be told, of the rule `q"):
        for time in range(200):
            session.push_records([plan.record(name, [time], time=time) for name in ("a", "b")])


def test_what_a_loop_has_in_flight_counts() -> None:
    """Each round of a recursion may make much of what is stored, before any of it is."""
    plan = tidelog.compile("timeline integer.\ninput e(x,y).\np(X,Y) :- e(X,Y).\np(X,Z) :- p(X,Y), p(Y,Z).")
    edges = [plan.record("e", [x, y], time=0) for x in range(40) for y in range(40)]
    tidelog.Session(plan, max_state=60_000).push_records(edges)
    assert "p(X, " in grown(plan, edges, 4_000).holder


def test_armed_ranges_of_since_count_within_one_call() -> None:
    """What a run would make if it went on is held, though none of it is an answer yet."""
    plan = tidelog.compile("timeline integer.\ninput a(x). input b(x).\nq(X,Y) :- a(X), a(X) since[5,9] b(Y).")
    session = tidelog.Session(plan, max_state=10_000)
    session.push_records([plan.record("b", [number], time=0) for number in range(1_000)])
    with pytest.raises(tidelog.StateError, match=r"the rule `q\(X, Y\)"):
        session.push_records([plan.record("a", [number], time=0) for number in range(1_000)])


def test_a_question_is_bounded() -> None:
    """Open partial answers count, and so does what would be told at once; the question is named with its line."""
    text = "timeline integer.\ninput p(x). input r(x,y).\nq(X,Y) :- p(X), p(Y){}.\nask q(X,Y)@T."
    plan = tidelog.compile(text.format(", r(X,Y)"), outputs=False)
    error = grown(plan, numbers(plan, 1_000), 5_000, min_evidence=3)
    assert (error.holder, error.place) == ("the question `ask q(X, Y)@T.`", "<program>:4")
    assert error.rows == 5_001
    plan = tidelog.compile(text.format(""), outputs=False)
    assert grown(plan, numbers(plan, 1_000), 5_000).rows == 71 * 71  # lines: with each fact all its pairs are certain
    assert grown(plan, [plan.record("p", ["a"], interval="[0,9000]")], 5_000).rows == 5_001


def test_facts_that_a_question_keeps_are_bounded_within_one_call() -> None:
    """A fact that holds at many times is kept once for each of them, as long as somebody may ask for it."""
    text = "timeline integer.\ninput p(x). input r(x).\nq(X) :- r(X), not diamondminus[0,99999] p(X).\nask q(X)@T."
    plan = tidelog.compile(text, outputs=False)
    assert grown(plan, [plan.record("p", ["a"], interval="[0,9000]")], 5_000).rows == 9_001


def test_what_waits_to_be_pulled_counts_after_a_restoration_as_before() -> None:
    """Answers that were pulled no longer count, those that were not do."""
    plan = tidelog.compile("timeline integer.\ninput p(x).\nq(X) :- p(X).")
    session = tidelog.Session(plan, max_state=1_000)
    session.restore(tidelog.Session(plan, max_state=1_000).snapshot())
    for time in range(50):
        session.push_records(numbers(plan, 100, time=time))
        assert len(session.pull_records()) == 100
    with pytest.raises(tidelog.StateError, match="answers that wait to be pulled"):
        for time in range(50, 100):
            session.push_records(numbers(plan, 100, time=time))


def test_a_bound_that_is_kept_changes_nothing() -> None:
    """What is forgotten in time may be any number of times the bound; so may what is pulled."""
    plan = tidelog.compile("timeline integer.\ninput p(x).\nq(X) :- diamondminus[0,3] p(X), not p(-1).")
    bounded, unbounded = tidelog.Session(plan, max_state=2_000), tidelog.Session(plan, max_state=None)
    for time in range(500):
        records = [plan.record("p", [20 * time + number], time=time) for number in range(20)]
        told = []
        for session in (bounded, unbounded):
            session.push_records(records)
            told.append(session.pull_records())
        assert told[0] == told[1]


def test_only_a_number_is_a_bound() -> None:
    """TypeError and ValueError for what is none; the default is what the command line has."""
    plan = tidelog.compile("q(X) :- p(X).")
    for wrong in ("many", 1.5, True):
        with pytest.raises(TypeError, match="`max_state` is a whole number of rows"):
            tidelog.Session(plan, max_state=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`max_state` is 1 or more"):
        tidelog.Engine(plan, [], [], max_state=0)
    assert StateBound(MAX_STATE).room.rows == MAX_STATE
    assert StateBound(None).room.rows == UNBOUNDED


def test_counting_is_seldom() -> None:
    """While there is room, what is held is counted once for each 1/16 of the bound that has moved at most."""
    bound, counted = StateBound(1_600), []
    bound.watch("nothing", lambda: counted.append(1) or [])
    for _ in range(100_000):
        bound.moved(1)
    assert len(counted) <= 100_000 // 100


# --- in batch -----------------------------------------------------------------------------------------------------------


def test_materialisation_is_bounded() -> None:
    """Given facts, stored rows and what a round makes count; the rule is named with its line."""
    plan = tidelog.compile_batch("q(X,Y,Z) :- p(X), p(Y), p(Z).")
    facts = [plan.record("p", [number], time=0) for number in range(300)]
    for strategy in ("naive", "seminaive", "optimised"):
        done = tidelog.Materialisation(plan, strategy, max_state=10_000)  # type: ignore[arg-type]
        done.load(facts)
        with pytest.raises(tidelog.StateError) as caught:
            done.run()
        assert (caught.value.holder, caught.value.place) == ("the rule `q(X, Y, Z) :- p(X), p(Y), p(Z).`", "<program>:1")
        assert (caught.value.accepted, caught.value.told) == (300, 0)
    with pytest.raises(tidelog.StateError, match="held by the facts of `p`; 300 facts accepted"):
        tidelog.Materialisation(plan, max_state=200).load(facts)


def test_a_recursion_that_goes_on_is_bounded() -> None:
    """Round after round brings a little, until it is too much."""
    plan = tidelog.compile_batch("timeline integer.\nboxplus[1,1] n(Y) :- n(X), Y = X + 1.")
    done = tidelog.Materialisation(plan, max_state=500)
    done.load([plan.record("n", [0], time=0)])
    with pytest.raises(tidelog.StateError, match="held by the rule `boxplus"):
        done.run()


def test_what_is_not_decided_for_want_of_room_says_so() -> None:
    """`entails` and `consistent` tell why materialisation did not decide."""
    plan = tidelog.compile_batch("q(X,Y,Z) :- p(X), p(Y), p(Z). found(0) :- q(X,Y,Z), X > Y + Z + 1000.")
    facts = [plan.record("p", [number], time=0) for number in range(100)]
    decision = tidelog.entails(plan, facts, plan.record("found", [0], time=0), "materialise", max_state=5_000)
    assert decision.answer == "undecided"
    assert "grown beyond 5,000 rows" in decision.reason
    assert tidelog.consistent(plan, facts, max_state=5_000).answer == "true"
