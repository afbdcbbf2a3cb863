"""The examples of Laser (Bazoobandi, Beck, Urbani 2017), and what else its tuple and stepped windows say, by hand."""

from __future__ import annotations

import json

import pytest

from engine.running import BACKENDS, engine_answers, multiset, plan_of, records, session_answers, shown
from tidelog import MemorySource, Session
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import EmitMode

FIGURE_1 = ["a(x1,y)@36", "a(x2,y)@38", "b(y,z)@38", "a(x3,y)@40"]
RULE = """
timeline integer.
q(X,Y,Z) :- sometime a(X,Y) in [3], sometime b(Y,Z) in [#3].
"""


def final(text: str, facts: list[str], lateness: int = 0) -> list[str]:
    """The maximal intervals that a session answers."""
    return session_answers(f"timeline integer. {text}", facts, emit="final", lateness=lateness)


def at(plan: Plan, facts: list[str], time: int) -> set[str]:
    """What holds at one time."""
    session = Session(plan, emit="final")
    session.push_records(records(plan, facts))
    session.finish()
    return {f"{name}({','.join(map(str, row))})" for name, row, lo, hi in session.pull_records() if lo <= time <= hi}


# --- the paper's examples -------------------------------------------------------------------------------------------------


def test_example_1() -> None:
    """At 41 the tuple window of size 3 holds what the time window does; that of size 2, the later arrival at 38."""
    plan = plan_of(
        """
        timeline integer.
        time_a(X,Y) :- sometime a(X,Y) in [3].
        time_b(X,Y) :- sometime b(X,Y) in [3].
        three_a(X,Y) :- sometime a(X,Y) in [#3].
        three_b(X,Y) :- sometime b(X,Y) in [#3].
        two_a(X,Y) :- sometime a(X,Y) in [#2].
        two_b(X,Y) :- sometime b(X,Y) in [#2].
        """
    )
    assert at(plan, FIGURE_1, 41) == {
        "time_a(x2,y)", "time_b(y,z)", "time_a(x3,y)",
        "three_a(x2,y)", "three_b(y,z)", "three_a(x3,y)",
        "two_b(y,z)", "two_a(x3,y)",
    }  # fmt: skip


def test_example_1_follows_the_order_of_arrival() -> None:
    """Had b(y,z) come first at 38, the window of size 2 would have dropped it instead."""
    plan = plan_of("timeline integer. two_a(X,Y) :- sometime a(X,Y) in [#2]. two_b(X,Y) :- sometime b(X,Y) in [#2].")
    swapped = [FIGURE_1[0], FIGURE_1[2], FIGURE_1[1], FIGURE_1[3]]
    assert at(plan, swapped, 41) == {"two_a(x2,y)", "two_a(x3,y)"}


def test_examples_2_and_3() -> None:
    """A rule that mixes both kinds of windows: at 41, q holds for x2 and x3, and not for x1."""
    assert at(plan_of(RULE), FIGURE_1, 41) == {"q(x2,y,z)", "q(x3,y,z)"}


@pytest.mark.parametrize("time", range(35, 42))
def test_example_4(time: int) -> None:
    """The output stream: x1 and x2 at 38 and 39, x2 and x3 at 40 and 41."""
    expected = {38: {"x1", "x2"}, 39: {"x1", "x2"}, 40: {"x2", "x3"}, 41: {"x2", "x3"}}
    assert at(plan_of(RULE), FIGURE_1, time) == {f"q({x},y,z)" for x in expected.get(time, set())}


def test_example_4_at_the_end_of_its_timeline() -> None:
    """At 42 the time window is [39,42] by Definition 3, so a(x2,y)@38 is out of it, though the paper's list still has it."""
    assert at(plan_of(RULE), FIGURE_1, 42) == {"q(x3,y,z)"}


def test_example_4_as_points() -> None:
    """`points` is the output stream at the times at which facts arrive."""
    assert session_answers(RULE, FIGURE_1, emit="points") == [
        "q(x1,y,z)@38",
        "q(x2,y,z)@38",
        "q(x2,y,z)@40",
        "q(x3,y,z)@40",
    ]


def test_example_9() -> None:
    """b(y,z) comes as the third atom, and holds while the fourth and the fifth do, whenever they come; the sixth ends it."""
    rule = "input a(x,y). input b(y,z). in(Y,Z) :- sometime b(Y,Z) in [#3]."
    fifth, sixth = "a(x4,y)@50", "a(x5,y)@70"
    assert final(rule, [*FIGURE_1, fifth]) == ["'in'(y,z)@[38,inf)"]
    assert final(rule, [*FIGURE_1, fifth, sixth]) == ["'in'(y,z)@[38,69]"]


# --- tuple windows --------------------------------------------------------------------------------------------------------


def test_the_window_counts_all_inputs_or_those_it_names() -> None:
    """Without names every input counts, also one that no rule reads; a predicate that is none does not."""
    text = """
        input p(x). input q(x).
        all(X) :- p(X) in [#2].
        own(X) :- p(X) in [#2 of p].
        output all, own.
    """
    facts = ["p(a)@1", "q(b)@2", "other(c)@3", "q(d)@4", "p(e)@6", "p(f)@8"]
    assert sorted(final(text, facts)) == [
        "all(a)@[1,3]", "all(e)@[6,inf)", "all(f)@[8,inf)", "own(a)@[1,7]", "own(e)@[6,inf)", "own(f)@[8,inf)",
    ]  # fmt: skip


def test_unread_inputs_that_are_counted_are_accepted() -> None:
    """Facts of an input that only the window counts are not reported as unused."""
    plan = plan_of("timeline integer. input p(x). input q(x). w(X) :- p(X) in [#2].")
    session = Session(plan)
    session.push_records(records(plan, ["p(a)@1", "q(b)@2", "other(c)@3"]))
    assert (session.statistics().intake.accepted, session.statistics().intake.unused) == (2, 1)


def test_always_in_a_tuple_window() -> None:
    """p must be in the window at every time from the oldest fact on; from the stream's start while there are too few."""
    facts = ["p(a)@1", "p(a)@2", "q(a)@3", "p(a)@4", "p(a)@5", "q(b)@5", "p(a)@6", "q(c)@6", "p(a)@8"]
    # at 5: p4 p5 q5; at 6: q5 p6 q6, from 5 on; at 8: p6 q6 p8, and nothing at 7
    assert final("input p(x). input q(x). w(X) :- always p(X) in [#3].", facts) == ["w(a)@[1,2]", "w(a)@5"]


def test_times_in_a_tuple_window() -> None:
    """T is the time of a fact in the window, and may be used as a value."""
    rule = "since(X,T) :- now(Y), p(X)@T in [#2 of p], T > Y. at(X,U) :- now(_), p(X)@U+1 in [#2 of p]."
    facts = ["p(a)@1", "p(b)@3", "p(a)@4", "now(3)@6", "p(c)@7", "now(3)@7"]
    assert sorted(final(rule, facts)) == [
        "'since'(a,4)@[6,7]",
        "'since'(c,7)@7",
        "at(a,3)@[6,7]",
        "at(b,2)@6",
        "at(c,6)@7",
    ]


def test_not_a_tuple_window() -> None:
    """What is no longer among the last facts is missing from the moment it is pushed out."""
    rule = "gone(X) :- known(X), not sometime p(X) in [#2 of p]."
    facts = ["known(a)@[0,9]", "known(b)@[0,9]", "p(a)@2", "p(b)@4", "p(c)@6"]
    assert sorted(final(rule, facts)) == ["gone(a)@[0,1]", "gone(a)@[6,9]", "gone(b)@[0,3]"]


def test_a_tuple_window_below_an_operator() -> None:
    """Nested, it is a formula like any other."""
    rule = "stayed(X) :- boxminus[0,3] (sometime p(X) in [#2 of p])."
    assert final(rule, ["p(a)@2", "p(b)@4", "p(c)@6"]) == ["stayed(a)@5", "stayed(b)@[7,inf)", "stayed(c)@[9,inf)"]


def test_a_fact_over_an_interval_arrives_at_its_begin() -> None:
    """It counts once, where it begins, and is in the window as a fact at that time alone."""
    rule = "w(X) :- p(X) in [#2]. t(X,T) :- p(X)@T in [#2]. c(X) :- always p(X) in [#2]."
    assert sorted(final(rule, ["p(a)@[1,5]", "p(b)@3", "p(c)@4"])) == [
        "c(a)@1", "t(a,1)@[1,3]", "t(b,3)@[3,inf)", "t(c,4)@[4,inf)", "w(a)@[1,3]", "w(b)@[3,inf)", "w(c)@[4,inf)",
    ]  # fmt: skip


def test_facts_that_come_late_take_their_place() -> None:
    """Within the lateness, the order of times counts, and the order of arrival within one time alone."""
    rule = "w(X) :- p(X) in [#2]."
    in_order = ["p(a)@1", "p(b)@2", "p(c)@3", "p(d)@3", "p(e)@5"]
    out_of_order = ["p(c)@3", "p(b)@2", "p(a)@1", "p(d)@3", "p(b)@2", "p(e)@5"]
    assert sorted(final(rule, out_of_order, lateness=3)) == sorted(final(rule, in_order))


def test_a_constraint_over_a_tuple_window() -> None:
    """A violation names what it saw, from when on it is known."""
    plan = plan_of("timeline integer. bottom :- p(X) in [#2], off(X).")
    session = Session(plan)
    session.push_records(records(plan, ["p(a)@1", "off(a)@3", "p(b)@4"]))
    session.finish()
    assert [str(item) for item in session.pull_violations()] == [
        "constraint violated at 3: sometime p(a) in [#2], off(a) (rule: bottom :- sometime p(X) in [#2], off(X).)"
    ]


def test_a_join_forgets_visits_that_have_ended() -> None:
    """Memory follows the windows: what left one, and what left the time window beside it, goes."""
    plan = plan_of("timeline integer. q(X) :- sometime p(X,_) in [#3 of p], sometime r(X) in [5].")
    session = Session(plan)
    entries = []
    for time in range(2_000):
        session.push_records([("p", (time % 10, time), time, time), ("r", (time % 7,), time, time)])
        session.pull()
        entries.append(session.statistics().entries)
    assert max(entries[1_500:]) <= 1.1 * max(entries[:1_000])


# --- steps ----------------------------------------------------------------------------------------------------------------


def test_tumbling_window() -> None:
    """With a step of the size plus one every time lies in one window; it is seen from when it has ended."""
    assert final("w(X) :- sometime p(X) in [4 step 5].", ["p(a)@1", "p(b)@4", "p(a)@5", "p(c)@11"]) == [
        "w(a)@[5,9]", "w(b)@[5,9]", "w(c)@[15,19]",
    ]  # fmt: skip


def test_hopping_windows_overlap() -> None:
    """A window of 9 that moves by 5 holds each time twice."""
    assert final("w(X) :- sometime p(X) in [9 step 5].", ["p(a)@3", "p(b)@5"]) == ["w(a)@[5,14]", "w(b)@[5,14]"]


def test_steps_below_zero() -> None:
    """Multiples of the step lie below 0, too."""
    facts = ["p(a)@-8", "p(b)@-7", "p(c)@-3", "p(d)@-2"]
    assert final("w(X) :- sometime p(X) in [2 step 5].", facts) == ["w(b)@[-5,-1]", "w(d)@[0,4]"]


def test_always_with_a_step() -> None:
    """The window is clipped where the stream starts, and there is none before the first multiple behind the start."""
    rule = "w(X) :- always p(X) in [4 step 5]."
    assert final(rule, ["p(a)@[3,15]", "p(b)@[6,15]"]) == ["w(a)@[5,19]", "w(b)@[10,19]"]


def test_times_with_a_step() -> None:
    """T lies in the window, and not before the stream's start, though the background holds since ever."""
    rule = "c(x). w(X,T) :- p(X)@T in [4 step 5]. b(X,T) :- c(X)@T in [1 step 4], tick(_)."
    assert sorted(final(rule, ["p(a)@3", "tick(1)@4", "p(b)@5", "tick(1)@9"])) == [
        "b(x,3)@4", "b(x,4)@4", "b(x,7)@9", "b(x,8)@9", "w(a,3)@[5,9]", "w(b,5)@[5,9]",
    ]  # fmt: skip


def test_heads_go_to_times_in_a_stepped_window() -> None:
    """A head at T waits no longer than the window reaches back; the delay is the size and the step, less one."""
    plan = plan_of("timeline integer. h(X)@T :- p(X)@T in [4 step 5], on(X).")
    assert plan.leads["h"] == -8
    assert final("h(X)@T :- p(X)@T in [4 step 5], on(X).", ["p(a)@1", "p(a)@3", "on(a)@7", "p(a)@8"]) == [
        "h(a)@1",
        "h(a)@3",
    ]


# --- however it is run ----------------------------------------------------------------------------------------------------

MIXED = """
timeline integer.
input p(x). input r(x). input u(x).
q(X) :- sometime p(X) in [#4], sometime r(X) in [5 step 3], not sometime u(X) in [#2].
w(X,T) :- p(X)@T in [#3 of p, r], r(X).
v(X) :- always p(X) in [#5], not always r(X) in [4 step 3].
"""


def mixed_facts() -> list[str]:
    names = ["p", "r", "p", "u", "r", "p", "p"]
    return [f"{names[i % 7]}({'abc'[i * i % 3]})@{i // 2}" for i in range(60)]


@pytest.mark.parametrize("emit", ["intervals", "final", "points"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_engine_equals_session(backend: str, emit: EmitMode) -> None:
    """On both backends the answers are the session's."""
    plan = plan_of(MIXED)
    given = records(plan, mixed_facts())
    answers = engine_answers(backend, plan, [MemorySource(given, batch_size=1)], emit=emit)
    expected = session_answers(MIXED, mixed_facts(), emit=emit)
    if emit == "intervals":  # cut otherwise
        assert at_points(plan, shown(plan, answers)) == at_points(plan, expected)
    else:
        assert multiset(shown(plan, answers)) == multiset(expected)


def at_points(plan: Plan, answers: list[str]) -> set[tuple[str, int]]:
    found: set[tuple[str, int]] = set()
    for name, row, lo, hi in records(plan, [answer.replace("inf)", "99]") for answer in answers]):
        for time in range(lo, hi + 1):
            assert (f"{name}{row}", time) not in found
            found.add((f"{name}{row}", time))
    return found


@pytest.mark.parametrize("batch", [1, 7, 60])
def test_batches_and_snapshots_change_nothing(batch: int) -> None:
    """However the stream is cut, and with the session replaced by its snapshot after each batch."""
    plan = plan_of(MIXED)
    given = records(plan, mixed_facts())
    session, answers = Session(plan, emit="final"), []
    for i in range(0, len(given), batch):
        session.push_records(given[i : i + batch])
        answers += session.pull_records()
        data = json.loads(json.dumps(session.snapshot()))
        session = Session(plan, emit="final")
        session.restore(data)
    session.finish()
    answers += session.pull_records()
    assert multiset(shown(plan, answers)) == multiset(session_answers(MIXED, mixed_facts(), emit="final"))
