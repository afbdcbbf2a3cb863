"""Arrangements: what several joins store of one step by one key is stored once, and nobody can tell the difference."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import limits

import tidelog
from drawing import drawn
from engine.test_session_equals_oracle import compiled, unfused
from oracle.agreement import records_of
from oracle.programs import EVERYTHING, programs, shuffled_within, streams
from tidelog import Session
from tidelog.operators.joins.arrangement import Arranged, Arrangement, with_own_stores
from tidelog.operators.joins.join import Join
from tidelog.operators.joins.join_code import write_join
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import JoinShape, Plan
from tidelog.plans.tree.syntax import Variable
from tidelog.runtime.network import graph
from tidelog.runtime.ports.interfaces import EmitMode

WINDOWS = """
timeline integer. input p(a, b). input q(a, b). input r(a).
w(A,B) :- diamondminus[0,3] p(A,B).
v(A,B) :- diamondminus[0,2] q(A,B).
v(A,B) :- p(A,B), r(A).
t(A,B) :- w(A,B).
t(A,C) :- t(A,B), w(B,C).
"""
RULES = [
    "o{i}(A,C) :- w(A,B), w(B,C).",
    "o{i}(A,C) :- w(B,C), w(A,B).",
    "o{i}(A,B,C) :- w(A,B), w(A,C), B != C.",
    "o{i}(A,B,C) :- w(A,B), v(A,C).",
    "o{i}(A,B,C) :- v(A,C), w(A,B).",
    "o{i}(A,B,C) :- w(A,B), diamondminus[0,8] v(A,C).",
    "o{i}(A,B,C) :- w(A,B), boxminus[0,1] v(B,C).",
    "o{i}(A,B) :- w(A,B), v(A,B).",
    "o{i}(A,B) :- w(A,B), v(B,A), A != B.",
    "o{i}(A,B) :- w(A,B), v(A,_).",
    "o{i}(B) :- w(A,B), v(B,_), w(a,A).",
    "o{i}(A,A) :- w(A,A), w(A,B), v(B,A).",
    "o{i}(A,D) :- w(A,B), w(B,C), w(C,D).",
    "o{i}(A,C) :- w(A,B), v(B,C), w(C,A).",
    "o{i}(A,C) :- t(A,B), t(B,C).",
    "o{i}(A,C) :- t(A,B), w(B,C), not v(A,C).",
    "o{i}(A,C) :- w(A,B), w(B,C), not diamondminus[0,2] r(A).",
    "o{i}(A,B) :- w(A,B), diamondplus[0,2] v(B,A).",
    "o{i}(A,B) :- w(A,B), u(A,B). u(A,B) :- v(A,B), not w(B,A).",
    "boxplus[1,2] x(A,C) :- w(A,B), v(B,C). o{i}(A,B) :- x(A,B), w(B,A).",
]
NAMES = st.sampled_from(["a", "b", "c"])


@pytest.fixture(autouse=True, scope="module")
def forgetful() -> Iterator[None]:
    """Steps forget whenever they run, and stores in rounds of two rows."""
    with limits(round=2, often=0):
        yield


@contextmanager
def stored_by_each() -> Iterator[None]:
    """Every join has its stores for itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph, "arrange", lambda *_: ({}, {}))
        yield


def session_of(plan: Plan, shared: bool, **options: Any) -> Session:
    if shared:
        return Session(plan, **options)
    with stored_by_each():
        return Session(plan, **options)


def restored(session: Session, plan: Plan, shared: bool, **options: Any) -> Session:
    """Go on from a snapshot, sharing stores or not."""
    state = json.loads(msgspec.json.encode(session.snapshot()))
    if shared:
        found = Session(plan, **options)
        found.restore(state)
        return found
    with stored_by_each():
        found = Session(plan, **options)
        found.restore(state)
    return found


@st.composite
def batches(draw: st.DrawFn, lateness: int) -> list[list[Record]]:
    """Facts in about the order of time, several at once."""
    found: list[list[Record]] = []
    now = 0
    for _ in range(draw(st.integers(1, 12))):
        now += draw(st.integers(0, 3))
        batch: list[Record] = []
        for _ in range(draw(st.integers(1, 5))):
            name = draw(st.sampled_from("ppqqr"))
            row = (draw(NAMES),) if name == "r" else (draw(NAMES), draw(NAMES))
            lo = now - draw(st.integers(0, lateness))
            batch.append((name, row, lo, lo + draw(st.sampled_from([0, 0, 0, 2]))))
        found.append(batch)
    return found


@drawn(80)
@given(data=st.data())
def test_arrangements_change_nothing(data: st.DataObject) -> None:
    """Answers and their order are those of joins that store by themselves, batch by batch, whatever is restored between."""
    rules = data.draw(st.lists(st.sampled_from(RULES), min_size=2, max_size=6))
    plan = tidelog.compile(WINDOWS + "\n".join(rule.format(i=i) for i, rule in enumerate(rules)))
    lateness = data.draw(st.sampled_from([0, 3]))
    assert_nothing_is_changed(plan, data.draw(batches(lateness)), lateness, data)


@pytest.mark.long
@pytest.mark.parametrize("timeline", ["integer", "rational"])
@drawn(60)
@given(data=st.data())
def test_arrangements_change_nothing_in_drawn_programs(timeline: str, data: st.DataObject) -> None:
    """Likewise in programs of every kind."""
    program = data.draw(programs(timeline, EVERYTHING))
    plan = compiled(program)
    lateness = data.draw(st.sampled_from([0, 3]))
    facts = data.draw(streams(program))
    late = data.draw(shuffled_within(facts, lateness)) if lateness else facts
    assert_nothing_is_changed(plan, [[fact] for fact in records_of(plan, late)], lateness, data)


LATCHES = """
l(A,B) :- not r(A) since p(A,B).
k(A) :- not p(A,A) since r(A).
"""
BESIDE_LATCHES = [
    *RULES[:8],
    "o{i}(A,B,C) :- l(A,B), w(B,C).",
    "o{i}(A,B,C) :- l(A,B), l(A,C), w(B,C).",
    "o{i}(A,B,C) :- w(A,B), v(B,C), not l(A,C).",
    "o{i}(A,B) :- boxminus[0,2] l(A,B), w(A,B).",
    "o{i}(A,B) :- not k(B) since l(A,B).",
    "o{i}(A,B) :- diamondminus[1,3] l(A,B), v(A,B).",
    "o{i}(A,B,C) :- h{i}(A,B), w(A,C). h{i}(A,B) :- not q(A,B) since w(A,B).",
]
READ_IN_PIECES = "\no(A) :- diamondminus l(A,B). o(A) :- diamondminus k(A)."


@drawn(40)
@given(data=st.data())
def test_arrangements_beside_latches_change_nothing(data: st.DataObject) -> None:
    """Shared stores and latches tell what joins alone and the latches' parts tell, batch by batch."""
    rules = data.draw(st.lists(st.sampled_from(BESIDE_LATCHES), min_size=2, max_size=6))
    text = WINDOWS + LATCHES + "\n".join(rule.format(i=i) for i, rule in enumerate(rules))
    text += data.draw(st.sampled_from(["", "", READ_IN_PIECES]))
    lateness = data.draw(st.sampled_from([0, 3]))
    given = data.draw(batches(lateness))
    assert_nothing_is_changed(tidelog.compile(text), given, lateness, data)
    emit: EmitMode = data.draw(st.sampled_from(["final", "points"]))
    fused = Session(tidelog.compile(text), emit=emit, lateness=lateness)
    with stored_by_each():
        apart = Session(unfused(parse(text)), emit=emit, lateness=lateness)
    for batch in [*given, None]:
        told = []
        for session in (fused, apart):
            session.finish() if batch is None else session.push_records(batch)
            told.append(Counter(map(repr, session.pull_records())))
        assert told[0] == told[1]


def assert_nothing_is_changed(plan: Plan, pushed: Sequence[Sequence[Record]], lateness: int, data: st.DataObject) -> None:
    emit: EmitMode = data.draw(st.sampled_from(get_args(EmitMode)))
    options: dict[str, Any] = {"emit": emit, "lateness": lateness, "prospects": data.draw(st.booleans())}
    shared, alone = session_of(plan, True, **options), session_of(plan, False, **options)
    restores = data.draw(st.sampled_from([(), (True,), (True, False)]))
    for batch in pushed:
        for session in (shared, alone):
            session.push_records(batch)
        assert shared.pull_records() == alone.pull_records()
        if restores:
            shared = restored(shared, plan, data.draw(st.sampled_from(restores)), **options)
            alone = restored(alone, plan, False, **options)
    shared.finish()
    alone.finish()
    assert shared.pull_records() == alone.pull_records()


# --- what is stored -----------------------------------------------------------------------------------------------------


def stored(rules: Sequence[str]) -> int:
    """How many ranges the joins hold after a while."""
    plan = tidelog.compile(WINDOWS + "\n".join(rule.format(i=i) for i, rule in enumerate(rules)))
    session = Session(plan)
    with limits(spread=1):
        for time in range(20):
            session.push_records([("p", (f"n{time}", f"n{(time * 3 + i) % 20}"), time, time) for i in range(5)])
            session.push_records([("q", (f"n{time}", f"n{(time * 7 + i) % 20}"), time, time) for i in range(5)])
    joins = session.statistics().steps
    return sum(joins[step.id].entries for step in plan.steps if step.predicate.startswith("o"))


@pytest.mark.parametrize(
    "rule",
    [
        "o{i}(A,B,C) :- w(A,B), w(B,C).",
        "o{i}(A,B,C) :- w(A,B), v(B,C), C != n{i}.",
        "o{i}(A,B) :- w(A,B), v(A,B), B != n{i}.",
    ],
)
def test_what_ten_rules_read_alike_is_stored_once(rule: str) -> None:
    """What ten rules hold of the windows that they join is what one of them holds."""
    assert stored([rule] * 10) == stored([rule]) > 0


def snapshot_with(rules: int) -> dict[str, Any]:
    """The state behind some facts for rules that read alike."""
    session = Session(
        tidelog.compile(WINDOWS + "".join(f"o{i}(A,B,C) :- w(A,B), v(B,C), C != n{i}.\n" for i in range(rules)))
    )
    session.push_records([("p", (f"a{i}", f"b{i}"), 1, 1) for i in range(500)])
    session.push_records([("q", (f"b{i}", f"c{i}"), 1, 1) for i in range(500)])
    session.pull_records()
    return session.state()


def test_a_snapshot_has_what_ten_rules_share_once() -> None:
    """Beyond what one rule would save, nine rules more save what they have told, and how far they are."""
    one, ten = (len(msgspec.json.encode(snapshot_with(rules)["network"])) for rules in (1, 10))
    assert ten < 1.2 * one


def test_what_one_rule_reads_twice_is_stored_once() -> None:
    """Two atoms over one window with one key have one store, also with other rules' partners."""
    by_pairs = stored(["o{i}(A,B,C) :- w(A,B), w(A,C), B != C."])
    assert stored(["o{i}(A,B,C) :- w(A,B), w(A,C), B != C."] * 3) == by_pairs
    assert stored(["o{i}(A,B,C) :- w(A,B), w(A,C), B != C.", "o{i}(A,B,C,D) :- w(A,B), w(A,C), B != D, r(D)."]) > 0


def test_a_rule_that_needs_more_keeps_it_for_all() -> None:
    """A fact stays as long as a reader's partner, which comes later, may still meet it; then it goes."""
    plan = tidelog.compile(
        """
        timeline integer. input p(a, b). input q(a, b).
        w(A,B) :- diamondminus[0,3] p(A,B).
        soon(A,B,C) :- w(A,B), diamondminus[0,1] q(A,C).
        late(A,B,C) :- w(A,B), diamondplus[0,9] q(A,C).
        """
    )
    session = Session(plan)
    session.push("p", ["a", "b"], 0)
    for time in range(1, 8):
        session.push_records([("p", (f"n{time}", f"n{i}"), time, time) for i in range(10)])
    session.push("q", ["a", "c"], 8)
    assert ("late", ("a", "b", "c"), 0, 3) in session.pull_records()
    for time in range(20, 300):
        session.push("p", [f"n{time}", "b"], time)
    assert 10 < session.statistics().entries < 100


# --- readers ------------------------------------------------------------------------------------------------------------

X, Y, Z = map(Variable, "XYZ")
CHAIN = JoinShape((X, Y, Z), ((X, Y), (Y, Z)))


def two_joins() -> tuple[Arrangement, list[Join]]:
    """Two joins of other channels with one that they share, at their first port."""
    shared, code = Arrangement("w by 1", (1,)), write_join(CHAIN)
    return shared, [Join(CHAIN, Arranged(code, {(0, (1,)): shared})) for _ in range(2)]


def snapshot_of(join: Join, shared: Arrangement) -> dict[str, Any]:
    """The state of a join, with what it shares."""
    state = join.snapshot()
    return {**state, "state": with_own_stores(state["state"], {shared.name: shared.store.snapshot()})}


def test_readers_that_were_restored_with_different_states_share_no_more() -> None:
    """A join whose state was filled from less than another's meets what it knows itself, and nothing else."""
    shared, joins = two_joins()
    known: list[Fact] = [(("a", "b"), 0, 9)]
    for join in joins:
        join.receive(0, known, 0)
    shared.enter(known)
    full, empty = snapshot_of(joins[0], shared), Join(CHAIN).snapshot()
    shared, joins = two_joins()
    joins[0].restore(full)
    joins[1].restore(empty)
    partner: list[Fact] = [(("b", "c"), 4, 5)]
    assert [join.receive(1, partner, 0) for join in joins] == [[(("a", "b", "c"), 4, 5)], []]
    assert [join.entries() for join in joins] == [2, 1]


def test_readers_that_were_restored_alike_go_on_sharing() -> None:
    """What a snapshot holds for each reader is stored once again."""
    shared, joins = two_joins()
    known: list[Fact] = [(("a", "b"), 0, 9)]
    for join in joins:
        join.receive(0, known, 0)
    shared.enter(known)
    states = [snapshot_of(join, shared) for join in joins]
    shared, joins = two_joins()
    for join, state in zip(joins, states, strict=True):
        join.restore(state)
    assert [join.entries() for join in joins] == [1, 0]
    assert [join.receive(1, [(("b", "c"), 4, 5)], 0) for join in joins] == [[(("a", "b", "c"), 4, 5)]] * 2
