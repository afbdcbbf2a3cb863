"""Prospects: what sleeps while it cannot hold changes what is done, never what is answered, nor when."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.running import BACKENDS, engine_answers
from engine.test_session_equals_oracle import compiled, show
from oracle.agreement import records_of, runs_of
from oracle.evaluate import GroundFact
from oracle.programs import EVERYTHING, NON_RECURSIVE, programs, shuffled_within, streams
from tidelog import MemorySource, Session, SnapshotError, compile
from tidelog.operators.stores.amortised import LIMITS
from tidelog.plans.analysis.physical import prospects
from tidelog.plans.data.facts import Record
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Program
from tidelog.runtime.sessions.statistics import SessionStatistics

BEST_CASE = """timeline integer.
output m.
m(X) :- sometime p(X) in [9], always q(X) in [9].
"""
CASCADE = """timeline integer.
output h4.
h1(X) :- sometime p(X) in [9], always q(X) in [9].
h2(X) :- sometime p(X) in [9], always h1(X) in [9].
h3(X) :- sometime p(X) in [9], always h2(X) in [9].
h4(X) :- sometime p(X) in [9], h3(X).
"""
SLEEPY = (
    "m(X) :- diamondminus[0,3] p(X), boxminus[0,3] q(X).",
    "m(X) :- diamondminus[1,2] p(X), boxminus[1,4] q(X), r(X).",
    "m(X) :- boxminus[0,2] p(X), boxminus[0,4] q(X).",
    "m(X) :- h(X), p(X). h(X) :- boxminus[0,3] q(X), diamondminus[0,5] p(X).",
    "m(X) :- boxminus[0,2] h(X), diamondminus[2,3] p(X). h(X) :- boxminus[0,2] q(X).",
    "m(X) :- p(X), not h(X). h(X) :- boxminus[0,3] q(X), r(X).",
    "m(X) :- always q(X) in [3], sometime p(X) in [2]. n(X) :- p(X).",
    "m(X) :- boxminus[0,3] q(X), p(X). m(X) :- boxminus[0,2] r(X), p(X).",
    "m(X) :- diamondplus[0,2] p(X), boxminus[0,3] q(X).",
    "m(X) :- boxplus[0,2] p(X), boxminus[0,3] q(X), c(X). c(a)@[0,6].",
    "m(X) :- diamondminus[0,2] p(X), c(X). c(a)@[0,4]. c(b)@2.",
    "m(X) :- boxminus[0,2] h(X). h(X) :- q(X), boxminus[0,2] q(X), not r(X).",
    "m(X) :- boxminus[1,3] p(X), diamondminus[0,2] boxminus[0,3] q(X).",
    "m(X,Y) :- p(X), diamondminus[0,1] r(Y), boxminus[0,3] q(X).",
    "m(X) :- diamondminus[0,4] p(X), boxminus[0,2] q(a).",
)


@pytest.fixture(autouse=True)
def short_windows_sleep_too(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In small examples windows are small, and samples too; what is worth it is another matter."""
    monkeypatch.setattr(prospects, "SHORTEST_SLEEP", 1)
    monkeypatch.setattr(LIMITS, "sample", 6)
    monkeypatch.setattr(LIMITS, "patience", 5)
    yield


def fed(session: Session, batches: Sequence[Sequence[Record]]) -> list[list[Record]]:
    """The answers to each batch, and those at the end."""
    answers = []
    for batch in batches:
        session.push_records(batch)
        answers.append(session.pull_records())
    session.finish()
    return [*answers, session.pull_records()]


def cut(records: Sequence[Record], size: int) -> list[Sequence[Record]]:
    return [records[i : i + size] for i in range(0, len(records), size)]


def check_same(plan: Plan, batches: Sequence[Sequence[Record]], lateness: int, shown: str) -> None:
    """The same answers in each mode, none later than without prospects."""
    with_them = fed(Session(plan, lateness=lateness), batches)
    without = fed(Session(plan, lateness=lateness, prospects=False), batches)
    assert runs_of([r for part in with_them for r in part]) == runs_of([r for part in without for r in part]), shown
    for i in range(len(batches)):
        now = runs_of([r for part in with_them[: i + 1] for r in part])
        for fact, ranges in runs_of([r for part in without[: i + 1] for r in part]).items():
            for lo, hi in ranges:
                assert any(a <= lo and hi <= b for a, b in now.get(fact, [])), f"{shown}\n{fact} {lo} {hi} is late"
    for mode in ("final", "points"):
        told = [fed(Session(plan, emit=mode, lateness=lateness, prospects=on), batches) for on in (True, False)]
        first, second = (sorted((record for part in parts for record in part), key=repr) for parts in told)
        assert first == second, f"{mode}\n{shown}"


@st.composite
def sleepy_programs(draw: st.DrawFn) -> Program:
    """Programs in which something can sleep."""
    timeline = draw(st.sampled_from(["integer", "rational"]))
    rules = draw(st.lists(st.sampled_from(SLEEPY), min_size=1, max_size=2, unique=True))
    text = f"timeline {timeline}.\n"
    for number, rule in enumerate(rules):
        text += rule.replace("m(", f"m{number}(").replace("h(", f"h{number}(").replace("n(", f"n{number}(") + "\n"
    return parse(text)


@st.composite
def gappy_streams(draw: st.DrawFn) -> list[GroundFact]:
    """Point facts of p, q and r, with stretches in which a predicate is absent."""
    times = {name: draw(st.sets(st.integers(0, 14), max_size=15)) for name in "pqr"}
    return [
        (name, (value,), parse(f"x@{time}.").statements[0].interval)
        for time in range(15)
        for name in "pqr"
        if time in times[name]
        for value in draw(st.sampled_from([["a"], ["b"], ["a", "b"]]))
    ]


@given(program=sleepy_programs(), facts=gappy_streams(), batch=st.integers(1, 8), data=st.data())
def test_sleepy_programs_answer_the_same(program: Program, facts: list[GroundFact], batch: int, data: st.DataObject) -> None:
    """With runs that begin and end, in any batches, and late within the lateness."""
    lateness = data.draw(st.integers(0, 3))
    plan = compiled(program)
    shuffled = data.draw(shuffled_within(facts, lateness)) if lateness else facts
    check_same(plan, cut(records_of(plan, shuffled), batch), lateness, show(program, shuffled))


def test_what_waits_goes_on_with_the_fact_that_wakes() -> None:
    """The third r completes a run, so the p that waits at a gate of a step without deadlines goes on at once."""
    text = """timeline integer.
m(X) :- diamondminus[0,3] p(X), boxminus[0,3] q(X).
n(X) :- boxminus[0,3] q(X), p(X).
n(X) :- boxminus[0,2] r(X), p(X).
"""
    plan = compile(text)
    records = [plan.record(name, ("a",), time) for time in range(3) for name in "pr"]
    assert fed(Session(plan), cut(records, 1)) == [[], [], [], [], [], [plan.record("n", ("a",), 2)], []]
    for batch in range(1, 7):
        check_same(plan, cut(records, batch), 0, text)


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@given(data=st.data())
def test_any_program_answers_the_same(timeline: str, data: st.DataObject) -> None:
    """On programs of every kind."""
    program = data.draw(programs(timeline, data.draw(st.sampled_from([NON_RECURSIVE, EVERYTHING]))))
    facts = data.draw(streams(program))
    plan = compiled(program)
    check_same(plan, cut(records_of(plan, facts), data.draw(st.integers(1, 10))), 0, show(program, facts))


@given(program=sleepy_programs(), facts=gappy_streams(), data=st.data())
def test_a_snapshot_holds_what_sleeps(program: Program, facts: list[GroundFact], data: st.DataObject) -> None:
    """A session restored in the middle of a sleep goes on as if nothing had happened."""
    plan = compiled(program)
    batches = cut(records_of(plan, facts), 3)
    middle = data.draw(st.integers(0, len(batches)))
    whole = fed(Session(plan), batches)
    first, second = Session(plan), Session(plan)
    answers = []
    for batch in batches[:middle]:
        first.push_records(batch)
        answers.append(first.pull_records())
    second.restore(json.loads(json.dumps(first.snapshot())))
    assert answers + fed(second, batches[middle:]) == whole


@pytest.mark.parametrize("backend", BACKENDS)
@given(program=sleepy_programs(), facts=gappy_streams(), batch=st.integers(1, 8))
def test_actors_sleep_as_well(backend: str, program: Program, facts: list[GroundFact], batch: int) -> None:
    """On actors, where gates may be asked later than they were told, the answers are the same."""
    plan = compiled(program)
    records = records_of(plan, facts)
    found = engine_answers(backend, plan, [MemorySource(records, batch_size=batch)])
    expected = [record for part in fed(Session(plan, prospects=False), cut(records, batch)) for record in part]
    assert runs_of(found) == runs_of(expected), show(program, facts)


# --- what is saved ---------------------------------------------------------------------------------------------------


def statistics(text: str, ticks: Sequence[Sequence[str]], *, on: bool) -> SessionStatistics:
    """What is done on a stream that gives, at each time, `value` to each of some predicates."""
    plan = compile(text)
    session = Session(plan, prospects=on)
    for time, predicates in enumerate(ticks):
        session.push_records([plan.record(name, (f"v{i}",), Fraction(time)) for name in predicates for i in range(3)])
    session.finish()
    assert not session.pull_records()
    return session.statistics()


def evaluations(text: str, ticks: Sequence[Sequence[str]], *, on: bool) -> int:
    return sum(step.evaluations for step in statistics(text, ticks, on=on).steps.values())


def test_the_best_case_of_laser2_evaluates_hardly_anything() -> None:
    """q is absent at every tenth time, so that `always q in [9]` never holds: no fact of p or q needs to be looked at."""
    ticks = [["p"] if time % 10 == 0 else ["p", "q"] for time in range(200)]
    assert evaluations(BEST_CASE, ticks, on=True) * 10 <= evaluations(BEST_CASE, ticks, on=False)


def test_a_window_alone_does_not_sleep() -> None:
    """Where a sleep would spare nothing but its own window, looking costs as much as is spared: there is no gate."""
    alone = "timeline integer. input hot(x). alarm(X) :- boxminus[0,20] hot(X)."
    assert not compile(alone).prospects.gates
    joined = "timeline integer. input hot(x). input p(x). alarm(X) :- p(X), boxminus[0,20] hot(X)."
    assert {compile(joined).step(name).predicate for name, _ in compile(joined).prospects.gates} >= {"p"}


def test_the_cascade_sleeps_up_and_down() -> None:
    """Rules over what a sleeping rule derives sleep too, and so do their other inputs."""
    ticks = [["p"]] * 200
    assert evaluations(CASCADE, ticks, on=True) * 10 <= evaluations(CASCADE, ticks, on=False)


def test_statistics_tell_who_slept_and_what_was_spared() -> None:
    """The sleeper's time, and the facts that were dropped before an operator saw them."""
    ticks = [["p"] if time % 10 == 0 else ["p", "q"] for time in range(100)]
    steps = statistics(BEST_CASE, ticks, on=True).steps
    assert sum(step.slept for step in steps.values()) >= 90
    assert sum(step.spared for step in steps.values()) >= 500
    assert not any(step.slept or step.spared for step in statistics(BEST_CASE, ticks, on=False).steps.values())


def test_a_finished_predicate_bounds_its_partners() -> None:
    """Behind the last time of the program's own facts, what is joined with them is dropped unread (MeTeoR, section 5.2)."""
    text = "timeline integer.\noutput m.\nm(X) :- p(X), c(X).\nc(none)@[0,5]."
    ticks = [["p"]] * 100
    assert evaluations(text, ticks, on=True) * 10 <= evaluations(text, ticks, on=False)


@pytest.mark.parametrize("body", ["p(X)", "sometime p(X) in [9]", "always p(X) in [3]"])
def test_single_rows_are_spared_while_their_partner_is_absent(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """q is always there for one row: the facts of p for the other 19 are dropped unread."""
    monkeypatch.setattr(LIMITS, "sample", 4_096)
    plan = compile(f"timeline integer. input p(x). input q(x). output m. m(X) :- {body}, always q(X) in [9].")
    given = [plan.record("p", (i,), time) for time in range(50) for i in range(20)]
    given = sorted([*given, *(plan.record("q", (7,), time) for time in range(50))], key=lambda record: record[2])
    seen = {}
    for on in (True, False):
        session = Session(plan, prospects=on)
        answers = fed(session, cut(given, 21))
        assert {row for part in answers for _, row, _, _ in part} == {(7,)}
        seen[on] = sum(step.received for name, step in session.statistics().steps.items() if name != "q")
    assert seen[True] * 3 <= seen[False]


def test_a_gate_that_spares_little_stops_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every partner is there, single rows are not told apart for a while."""
    monkeypatch.setattr(LIMITS, "patience", 1_000_000)
    plan = compile("timeline integer. input p(x). input q(x). output m. m(X) :- p(X), always q(X) in [9].")
    session = Session(plan)
    for time in range(20):
        session.push_records([plan.record(name, (i,), time) for name in "pq" for i in range(5)])
    (asleep,) = session.snapshot()["network"]["graph"]["prospects"]["rows"].values()
    assert not asleep["latest"]


def test_short_windows_never_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's remedy for its worst case: the plan leaves windows alone that are not worth it."""
    monkeypatch.setattr(prospects, "SHORTEST_SLEEP", 8)
    for size, sleeps in ((1, False), (7, False), (8, True), (80, True)):
        plan = compile(f"timeline integer. m(X) :- p(X), boxminus[0,{size}] q(X).")
        assert bool(plan.prospects.sleepers) == sleeps


def test_what_leads_into_a_loop_never_sleeps() -> None:
    """A loop tells the present from its frontiers, so none of them may run ahead."""
    plan = compile("timeline integer. m(X) :- p(X), boxminus[0,9] q(X). m(X) :- diamondminus[1,1] m(X), r(X).")
    assert not plan.prospects.sleepers


@pytest.mark.parametrize("on", [True, False])
def test_a_snapshot_is_for_the_same_prospects(on: bool) -> None:
    """What sleeps is part of the state, so a session without sleep cannot take it over, nor the other way round."""
    plan = compile(BEST_CASE)
    with pytest.raises(SnapshotError, match="other prospects"):
        Session(plan, prospects=on).restore(Session(plan, prospects=not on).snapshot())
