"""Recursion: over background facts, through time, mutual, and what happens at the stream's end."""

from __future__ import annotations

from fractions import Fraction

import pytest

from engine.running import BACKENDS, engine_answers, multiset, plan_of, records, session_answers, shown
from oracle.agreement import differences, records_of, runs_of
from oracle.evaluate import GroundFact
from tidelog import MemorySource, ProgramError, Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.language.parser import parse
from tidelog.plans.tree.syntax import Interval
from tidelog.runtime.network import loop_control
from tidelog.runtime.ports.interfaces import EmitMode

CLOSURE = """
timeline integer.
edge(a,b). edge(b,c). edge(c,d). edge(d,b).
path(X,Y) :- edge(X,Y).
path(X,Z) :- path(X,Y), path(Y,Z).
output path.
"""


def test_closure_of_background_facts_holds_at_all_times() -> None:
    """Plain Datalog: the transitive closure of facts without a time, known from the beginning."""
    expected = {
        f"path({x},{y})@(-inf,inf)" for x, y in ["ab", "ac", "ad", "bc", "bd", "bb", "cd", "cb", "cc", "db", "dc", "dd"]
    }
    found = session_answers(CLOSURE, [])
    assert sorted(found) == sorted(expected)


def test_closure_over_edges_that_come_and_go() -> None:
    """Paths hold where all their edges do."""
    text = "timeline integer. path(X,Y) :- edge(X,Y). path(X,Z) :- path(X,Y), edge(Y,Z)."
    found = session_answers(text, ["edge(a,b)@[0,9]", "edge(b,c)@[2,5]", "edge(c,a)@[4,7]"], emit="final")
    assert set(found) == {
        "path(a,b)@[0,9]", "path(b,c)@[2,5]", "path(c,a)@[4,7]", "path(a,c)@[2,5]", "path(b,a)@[4,5]",
        "path(c,b)@[4,7]", "path(a,a)@[4,5]", "path(b,b)@[4,5]", "path(c,c)@[4,5]",
    }  # fmt: skip


def test_mutual_recursion_through_time() -> None:
    """Two predicates that hand on to each other alternate, as far as the stream goes."""
    rules = "boxplus[1,1] pong :- ping. boxplus[1,1] ping :- pong. ping :- go. output ping, pong."
    text = f"timeline integer. input go. input tick. {rules}"
    plan = plan_of(text)
    session = Session(plan, emit="points")
    for time in range(5):
        session.push("tick", [], time)
        if time == 0:
            session.push("go", [], 0)
    session.finish()
    assert shown(plan, session.pull_records()) == ["ping@0", "pong@1", "ping@2", "pong@3", "ping@4"]


COUNTDOWN = """
timeline integer.
left(N) :- begin(N).
boxplus[1,1] left(M) :- left(N), N > 0, M = N - 1.
over :- left(0).
idle :- tick, not over.
output over, idle.
"""


@pytest.mark.parametrize("emit", ["intervals", "final"])
def test_recursion_that_ends_is_followed_to_its_end(emit: EmitMode) -> None:
    """Behind the stream's end the loop goes on until it comes to rest, and nothing is left unfinished."""
    plan = plan_of(COUNTDOWN)
    session = Session(plan, emit=emit)
    session.push("begin", [5], 10)
    session.push("tick", [], interval="[11,20]")
    session.finish()
    assert session.unfinished() == []
    runs = {(name, *ends) for (name, _), ranges in runs_of(session.pull_records()).items() for ends in ranges}
    assert runs == {("over", 15, 15), ("idle", 11, 14), ("idle", 16, 20)}


def test_how_far_the_end_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that has not come to rest after so many steps is taken for one without end; what it found is not told."""
    monkeypatch.setattr(loop_control, "END_ROUNDS", 4)
    plan = plan_of(COUNTDOWN)
    for count, expected in ((4, ["over@14"]), (5, [])):
        session = Session(plan)
        session.push("begin", [count], 10)
        session.finish()
        assert shown(plan, session.pull_records()) == expected
        assert bool(session.unfinished()) == (not expected)


@pytest.mark.parametrize("emit", ["intervals", "final", "points"])
def test_recursion_without_end_is_followed_as_far_as_the_stream(emit: EmitMode) -> None:
    """It goes on up to the last fact of any predicate, is answered there in every mode, and says that it has no end."""
    text = "timeline integer. input go. input tick. boxplus[2,2] on :- on. on :- go. both :- tick, on. output both."
    plan = plan_of(text)
    session = Session(plan, emit=emit)
    for name, time in (("go", 0), ("tick", 3), ("tick", 4), ("tick", 5), ("tick", 8)):
        session.push(name, [], time)
    session.finish()
    assert shown(plan, session.pull_records()) == ["both@4", "both@8"]
    assert session.unfinished() == ["the recursion through on has no end: followed up to 8"]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "q(X) :- e(X), not ((a(X), b(X)) until (c(X), d(X))).",
            "`q(X) :- e(X), not ((a(X), b(X)) until[0,inf) (c(X), d(X))).` has to know",
        ),
        ("q(X) :- a(X). q(X) :- b(X), diamondplus[1] (q(X), c(X)).", "the recursion through q looks further ahead"),
    ],
)
def test_what_is_refused_is_named_as_it_is_written(rule: str, message: str) -> None:
    """Where a rule has become several, messages speak of the rule and the predicates of the text."""
    with pytest.raises(ProgramError) as refused:
        plan_of(f"timeline integer. {rule}")
    (problem,) = refused.value.diagnostics
    assert problem.message.startswith(message)


@pytest.mark.parametrize(
    "rules",
    [
        "q(X) :- diamondplus[1,2] r(X). r(X) :- q(X).",
        "q(X) :- p(X), diamondplus[1] (q(X), p(X)).",
        "q(X) :- p(X) until[2,5] r(X). r(X) :- boxplus[0,inf) q(X).",
        "q(X) :- diamondplus[1] q(X), not p(X).",
    ],
)
@pytest.mark.parametrize("emit", ["intervals", "final", "changes", "points"])
def test_recursion_ahead_that_can_never_begin_holds_nowhere(rules: str, emit: EmitMode) -> None:
    """All that derives it rests on it, so how far it looks ahead does not matter; what negates it waits for nothing."""
    program = parse(f"timeline integer. input p(x: text). {rules} none(X) :- p(X), not q(X). output q, none.")
    plan = compile_program(program)
    assert not plan.loops
    facts: list[GroundFact] = [
        ("p", ("a",), Interval(Fraction(3), Fraction(3))),
        ("p", ("b",), Interval(Fraction(5), Fraction(9))),
    ]
    session = Session(plan, emit=emit)
    session.push_records(records_of(plan, facts))
    if emit == "intervals":
        assert not differences(program, facts, session.pull_records(), until=Fraction(5))
    session.finish()
    assert {name for name, *_ in session.pull_records()} <= {"none"}


def test_a_recursion_ahead_that_may_begin_is_refused_beside_one_that_cannot() -> None:
    """What one fact can begin is followed, and so is refused."""
    plan_of("timeline integer. input p. q :- diamondplus[1] q. r :- q, p. r :- boxminus[2] r.")
    with pytest.raises(ProgramError, match="infinite-delay"):
        plan_of("timeline integer. input p. q@3. q :- diamondplus[1] q. r :- q, p. r :- boxminus[2] r.")


def test_recursion_without_end_is_named_as_it_is_written() -> None:
    """Where the rules of a recursion have become several, the note names the predicates of the text."""
    plan = plan_of("timeline integer. on(S) :- a(S), b(S). on(S) :- diamondminus[2] (on(S), b(S)).")
    session = Session(plan)
    session.push_records(records(plan, ["a(k)@1", "b(k)@[1,inf)"]))
    session.finish()
    assert session.unfinished() == ["the recursion through on has no end: followed up to 1"]


@pytest.mark.parametrize("emit", ["intervals", "final"])
def test_negation_of_what_has_no_end_is_known_up_to_the_present(emit: EmitMode) -> None:
    """What is not there is known as far as the recursion was followed."""
    text = "timeline integer. input go. input tick. boxplus[2,2] on :- on. on :- go. quiet :- tick, not on. output quiet."
    facts = ["go@0", "tick@1", "tick@2", "tick@[5,9]"]
    assert session_answers(text, facts, emit=emit) == ["quiet@1", "quiet@5"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("emit", ["intervals", "final", "points"])
def test_the_clock_drives_recursion_that_no_stream_feeds(backend: str, emit: EmitMode) -> None:
    """A rule that recurs from a fact of the program goes on as the stream does, though the stream does not feed it."""
    text = "timeline integer. input hot. beat@1. boxplus[3,3] beat :- beat. found :- hot, beat. missed :- hot, not beat."
    text += " output found, missed."
    plan = plan_of(text)
    facts = records(plan, [f"hot@{t}" for t in (0, 1, 3, 4, 7, 8, 40, 41)])
    answers = engine_answers(backend, plan, [MemorySource(facts, batch_size=2)], emit=emit)
    times = {name: {t for n, _, lo, hi in answers if n == name for t in range(lo, hi + 1)} for name in ("found", "missed")}
    assert times == {"found": {1, 4, 7, 40}, "missed": {0, 3, 8, 41}}


def test_the_clock_agrees_with_the_session_when_batched() -> None:
    """However the stream is batched, a loop that the clock drives gives the same."""
    text = "timeline rational. input hot. beat@[0,1). boxplus[2,2] beat :- beat. found :- hot, beat. output found."
    plan = plan_of(text)
    facts = records(plan, [f"hot@[{t},{t + 3})" for t in range(0, 30, 3)])
    expected = None
    for size in (1, 3, 30):
        session = Session(plan, emit="final")
        for i in range(0, len(facts), size):
            session.push_records(facts[i : i + size])
        session.finish()
        found = multiset(session.pull_records())
        assert found
        assert expected in (None, found)
        expected = found


def test_recursion_in_a_gap_is_followed_into_it() -> None:
    """On the rational timeline the stream's last fact may begin behind a point: recursion reaches into that gap."""
    text = "timeline rational. input go. input hot. boxplus[1,1] on :- on. on :- go. both :- hot, on. output both."
    assert session_answers(text, ["go@(0,1)", "hot@(5,6)"]) == ["both@(5,6)"]


def test_nothing_is_unfinished_without_facts() -> None:
    """A stream without facts ends everywhere at once."""
    session = Session(plan_of(COUNTDOWN))
    session.finish()
    assert session.unfinished() == []
    assert session.pull_records() == []


def test_what_the_stream_feeds_shares_one_frontier() -> None:
    """Regression: each predicate of a circle was an origin of its own, so compiling and each tick cost rules times rules."""
    rules = "".join(f"p{(i + 1) % 50}(X) :- p{i}(X). " for i in range(50))
    (loop,) = plan_of(rules).loops
    assert len(loop.entries) == 50
    assert len(loop.origin_leads) == 1
