"""Changes: that an answer begins to hold, and that it has ended, each told once, and as soon as it is certain."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from engine.running import BACKENDS, engine_answers, plan_of, records, session_answers, shown
from engine.runs.test_engine_equals_session import dealt
from engine.test_session_equals_oracle import FRAGMENTS, compiled, show, unfused, until
from oracle.agreement import differences, records_of, runs_of
from oracle.programs import ANY, NON_RECURSIVE, programs, shuffled_within, streams
from tidelog import Change, Session
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Fact, Record, format_atom
from tidelog.plans.data.timeline import NEG, POS
from tidelog.runtime.emission.emission import Changes
from tidelog.runtime.network import outlet
from tidelog.runtime.ports.interfaces import EmitMode

SEEN = "timeline integer. seen(X) :- p(X). output seen."


def intervals_of(changes: Iterable[Record]) -> list[Record]:
    """The maximal intervals that changes tell of; fails unless each begins once, and ends once, if at all, behind that."""
    begun: dict[tuple[str, object, int], Record] = {}
    for change in changes:
        assert isinstance(change, ChangeRecord)
        key = (change.predicate, change.row, change.lo)
        assert (key in begun) == change.has_ended, change
        assert not change.has_ended or begun[key][3] == POS, change
        begun[key] = tuple(change)
    found = list(begun.values())
    assert sum(map(len, runs_of(found).values())) == len(found)
    return found


def in_order(changes: Iterable[Record]) -> dict[str, list[ChangeRecord]]:
    """The changes of each predicate, of those that begin at one time the smaller text first; fails unless sorted by time."""
    found: dict[str, list[ChangeRecord]] = {}
    for change in changes:
        assert isinstance(change, ChangeRecord)
        found.setdefault(change.predicate, []).append(change)
    for told in found.values():
        keys = [(change.order, format_atom(*change[:2]) if change.has_ended else "") for change in told]
        assert keys == sorted(keys)
        told.sort(key=lambda change: (change.order, format_atom(*change[:2])))
    return found


def pushed(session: Session, given: Sequence[Record], batch: int = 1) -> list[Record]:
    """What a session tells of these facts in batches, and of their end."""
    for i in range(0, len(given), batch):
        session.push_records(given[i : i + batch])
    session.finish()
    return session.pull_records()


# --- by example ---------------------------------------------------------------------------------------------------------


def test_each_interval_is_told_twice() -> None:
    """An alarm is told when it begins, and when it is over; in between nothing, though it is known piece by piece."""
    plan = plan_of("boxplus[0,1] hot(P) :- reading(P, C), C >= 90. alarm(P) :- boxminus[0,3] hot(P). output alarm.")
    session = Session(plan, emit="changes")
    told = []
    for time, celsius in enumerate([95, 97, 96, 98, 99, 60, 60, 95]):
        session.push("reading", ["p1", celsius], time=time)
        told.append([str(change) for change in session.pull()])
    assert told == [[], [], [], ["alarm(p1)@[3.."], [], [], ["alarm(p1)@[3,5]"], []]


def test_a_begin_waits_for_what_may_still_come_before_it() -> None:
    """What is known to hold from 3 on is not said to begin there, as long as a late fact may let it begin at 2."""
    session = Session(plan_of(SEEN), emit="changes", lateness=2)
    session.push("p", ["a"], interval="[3,10]")
    assert session.pull() == []
    session.push("p", ["a"], time=2)
    session.push("p", ["b"], time=3)
    assert session.pull() == []
    session.push("q", [], time=4)
    assert [str(change) for change in session.pull()] == ["seen(a)@[2.."]
    session.push("q", [], time=5)
    assert [str(change) for change in session.pull()] == ["seen(b)@[3.."]
    session.advance(10)
    assert [str(change) for change in session.pull()] == ["seen(b)@3"]
    session.advance(11)
    assert [str(change) for change in session.pull()] == ["seen(a)@[2,10]"]


def test_an_open_begin_and_an_open_end() -> None:
    """On rational time, intervals without their ends; and those that began, or end, at no finite time."""
    facts = ["p(b)@(-inf,4]", "p(a)@(3,7)", "p(c)@[5,inf)"]
    found = session_answers("seen(X) :- p(X). output seen.", facts, emit="changes")
    assert found == ["seen(b)@(-inf..", "seen(a)@(3..", "seen(b)@(-inf,4]", "seen(c)@[5..", "seen(a)@(3,7)"]


def test_a_change_from_python() -> None:
    """Its times are exact; without an end there is none."""
    session = Session(plan_of("seen(X) :- p(X). output seen."), emit="changes")
    session.push("p", ["a"], interval="(-inf,5/2)")
    session.push("p", ["b"], interval="(2,inf)")
    session.finish()
    first, other, last = session.pull()
    assert isinstance(first, Change)
    assert isinstance(other, Change)
    assert isinstance(last, Change)
    assert (first.predicate, first.row, first.begins, first.ends, first.has_ended) == (
        "seen",
        ("a",),
        -math.inf,
        None,
        False,
    )
    assert (other.begins, other.interval.left_open, other.ends) == (2, True, None)
    assert (last.begins, last.ends, last.interval.right_open, str(last)) == (-math.inf, 2.5, True, "seen(a)@(-inf,5/2)")


def test_background_has_begun_before_any_fact_comes() -> None:
    """What holds at all times is told at once, and has no end."""
    session = Session(plan_of("edge(a). path(X) :- edge(X). output path."), emit="changes")
    assert [str(change) for change in session.pull()] == ["path(a)@(-inf.."]
    session.finish()
    assert session.pull() == []


def test_an_end_is_taken_back_by_none() -> None:
    """What goes on without a gap has not ended; behind a gap it begins again."""
    facts = ["p(a)@1", "p(a)@2", "p(a)@4", "p(a)@3", "p(a)@6"]
    found = session_answers(SEEN, facts, emit="changes", lateness=1)
    assert found == ["seen(a)@[1..", "seen(a)@[1,4]", "seen(a)@[6..", "seen(a)@6"]


def test_rows_that_begin_to_hold_for_ever_while_they_are_scheduled() -> None:
    """A row that grew piece by piece, and then knows no end, is let go; nothing looks for it later."""
    session = Session(plan_of(SEEN), emit="changes")
    for interval in ("[1,1]", "[2,2]", "[3,inf)"):
        session.push("p", ["a"], interval=interval)
    session.advance(9)
    session.finish()
    assert [str(change) for change in session.pull()] == ["seen(a)@[1.."]


@pytest.mark.parametrize(
    ("rule", "known", "change"),
    [
        ("timeline integer. o(X) :- boxminus[0,2] m(X).", 1, "o(a)@[2.."),
        ("timeline integer. o(X) :- diamondminus[1,3] boxminus[0,2] m(X).", 1, "o(a)@[3.."),
        ("o(X) :- boxminus(0,1] m(X).", 0, "o(a)@[1.."),
        ("o(X) :- m(X) since[3,inf) q(X).", 2, "o(a)@[3.."),
        ("o(X) :- m(X) since(0,inf) q(X).", 0, "o(a)@(0.."),
        ("o(X) :- diamondminus[1,3] boxminus[0,2] m(X).", 1, "o(a)@[3.."),
        ("o(X) :- diamondminus[1,2] (m(X) since[3,inf) q(X)).", 2, "o(a)@[4.."),
    ],
)
@pytest.mark.parametrize("emit", ["changes", "intervals"])
def test_what_will_hold_unless_something_comes_has_not_begun(rule: str, known: int, change: str, emit: EmitMode) -> None:
    """What has to go on for a while before something follows from it is no answer as long as it may end before."""
    plan = plan_of(f"{rule} input p(x). input q(x). m(X) :- diamondminus[0,6] q(X), not p(X). output o.")
    told = []
    for end in (f"({known},99]", "[9,99]"):
        session = Session(plan, emit=emit)
        session.push("q", ["a"], 0)
        session.advance(known)
        assert session.pull() == []
        session.push("p", ["a"], interval=end)
        session.finish()
        told.append(shown(plan, session.pull_records()))
    assert told[0] == []
    assert told[1][0].startswith(change[:-2])


@pytest.mark.parametrize(("rule", "wanted"), [("diamondminus[0,3)", "o(a)@[0,3)"), ("diamondplus(0,3]", "o(a)@[-3,0)")])
def test_what_goes_on_holding_reaches_no_further_than_an_open_end(rule: str, wanted: str) -> None:
    """A window without its end reaches as far ahead of what is known, without that end."""
    plan = plan_of(f"input p(x). input q(x). o(X) :- {rule} (diamondminus[0,6] q(X), not p(X)). output o.")
    session = Session(plan)
    session.push("q", ["a"], 0)
    session.advance(0)
    session.push("p", ["a"], interval="(0,9]")
    session.finish()
    assert shown(plan, session.pull_records()) == [wanted]


def test_many_open_rows_make_no_change_late() -> None:
    """A begin and an end under negation are told with the watermark that makes them certain, however many rows are open."""
    session = Session(plan_of("timeline integer. m(X) :- p(X), not n(X). output m."), emit="changes")
    session.push_records([("p", (f"r{i}",), 1, 1000) for i in range(100)])
    session.advance(5)
    assert len(session.pull()) == 100
    session.push("n", ["r7"], interval="[6,8]")
    session.advance(6)
    assert [str(change) for change in session.pull()] == ["m(r7)@[1,5]"]
    session.push("p", ["new"], interval="[7,50]")
    session.advance(7)
    assert [str(change) for change in session.pull()] == ["m(new)@[7.."]
    session.advance(8)
    assert session.pull() == []
    session.advance(9)
    assert [str(change) for change in session.pull()] == ["m(r7)@[9.."]


# --- against the oracle -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@pytest.mark.parametrize("fragment", list(FRAGMENTS))
@given(data=st.data())
def test_changes_are_the_ends_of_the_oracle_s_intervals(timeline: str, fragment: str, data: st.DataObject) -> None:
    """Each maximal interval of the oracle begins once, and ends once; in the order of time, whatever came when, and how."""
    program = data.draw(programs(timeline, FRAGMENTS[fragment]))
    facts = data.draw(streams(program))
    lateness = data.draw(st.integers(0, 6))
    shuffled = data.draw(shuffled_within(facts, lateness)) if lateness else facts
    plan = compiled(program)
    given_records = records_of(plan, shuffled)
    found = pushed(Session(plan, emit="changes", lateness=lateness), given_records, data.draw(st.integers(1, 20)))
    assert not differences(program, facts, intervals_of(found), until(program, facts)), show(program, shuffled)
    if until(program, facts) is None:
        assert in_order(found) == in_order(pushed(Session(plan, emit="changes"), records_of(plan, facts), len(facts) or 1))


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@given(data=st.data())
def test_second_changes_are_what_final_tells(timeline: str, data: st.DataObject) -> None:
    """At each moment, and in the same order, but for what has no end."""
    program = data.draw(programs(timeline, data.draw(ANY)))
    plan = compiled(program)
    lateness = data.draw(st.integers(0, 3))
    facts = records_of(
        plan,
        data.draw(shuffled_within(data.draw(streams(program)), max(lateness, 1)))
        if lateness
        else data.draw(streams(program)),
    )
    changes, final = Session(plan, emit="changes", lateness=lateness), Session(plan, emit="final", lateness=lateness)
    for record in [*facts, None]:
        for session in (changes, final):
            session.finish() if record is None else session.push_records([record])
        ended = [tuple(change) for change in changes.pull_records() if change[3] < POS]
        assert ended == [answer for answer in final.pull_records() if answer[3] < POS], show(program, [])


class _Watched(Changes):
    """Checks each time that all is told that is certain by the frontier, and nothing else."""

    def __init__(self, outputs: Iterable[str]) -> None:
        super().__init__(outputs)
        self._facts: list[Record] = []
        self._told: Counter[Record] = Counter()

    def receive(self, predicate: str, facts: Sequence[Fact], frontier: int, notices: Notices | None = None) -> list[Record]:
        assert notices is None
        told = super().receive(predicate, facts, frontier)
        self._facts += [(predicate, *fact) for fact in facts]
        self._told.update(told)
        assert self._told == Counter(self._certain())
        return told

    def _certain(self) -> Iterable[Record]:
        for (predicate, row), runs in runs_of(self._facts).items():
            frontier = self.frontiers[predicate]
            for lo, hi in runs:
                if lo == NEG or lo - 1 <= frontier:
                    yield predicate, row, lo, POS
                if hi < POS and hi + 1 <= frontier:
                    yield predicate, row, lo, hi


@pytest.mark.pure
@pytest.mark.parametrize("timeline", ["rational", "integer"])
@given(data=st.data())
def test_changes_are_told_once_the_frontier_makes_them_certain(timeline: str, data: st.DataObject) -> None:
    """A begin with the first frontier that has reached what lies before it, an end with the first one behind it."""
    program = data.draw(programs(timeline, data.draw(ANY)))
    plan = compiled(program)
    facts = data.draw(shuffled_within(data.draw(streams(program)), 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outlet, "emission", lambda _, outputs, announced: _Watched(outputs))
        plan = replace(unfused(program), announcing={})
        pushed(Session(plan, emit="changes", lateness=3), records_of(plan, facts), data.draw(st.integers(1, 3)))


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@drawn(25)
@given(data=st.data())
def test_an_engine_tells_the_same_changes(backend: str, data: st.DataObject) -> None:
    """However the facts are dealt to sources: the same changes of each predicate, in the order of time."""
    program = data.draw(programs(data.draw(st.sampled_from(["rational", "integer"])), NON_RECURSIVE))
    plan = compiled(program)
    facts = data.draw(streams(program))
    found = engine_answers(backend, plan, data.draw(dealt(records_of(plan, facts))), emit="changes")
    assert in_order(found) == in_order(pushed(Session(plan, emit="changes"), records_of(plan, facts))), show(program, facts)


@pytest.mark.parametrize("last", [["a(k)@[0,2]", "a(k)@[1,9]"], ["a(k)@[5,9]", "b(z)@7", "b(z)@12"]])
def test_what_holds_for_ever_begins_once(last: list[str]) -> None:
    """Another rule may announce the same row while it holds for ever: that is no second begin."""
    plan = plan_of("timeline integer. p(X) :- a(X), not b(X). p(X) :- d(X). output p.")
    session = Session(plan, emit="changes")
    for fact in records(plan, ["d(k)@[0,inf)", *last]):
        session.push_records([fact])
    session.finish()
    assert shown(plan, session.pull_records()) == ["p(k)@[0.."]


# --- cost ---------------------------------------------------------------------------------------------------------------


@pytest.mark.pure
def test_what_goes_on_holding_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is looked at when it is told of, when it begins and when it ends, and not at each watermark in between."""
    looked: list[object] = []
    decide = Changes._decide

    def counted(self: Changes, predicate: str, row: tuple[str, ...], changes: list[Any]) -> None:
        looked.append(row)
        decide(self, predicate, row, changes)

    monkeypatch.setattr(Changes, "_decide", counted)
    session = Session(plan_of("timeline integer. lasts(X) :- diamondminus[0,1000] p(X). output lasts."), emit="changes")
    session.push_records([("p", (f"r{i}",), 1, 1) for i in range(500)])
    assert len(looked) <= 1000
    looked.clear()
    for time in range(2, 1000):
        session.advance(time)
    assert looked == []
    session.advance(1002)
    assert len(looked) == 500
    assert len(session.pull()) == 1000


def test_nothing_is_kept_of_what_has_ended() -> None:
    """Once all has ended, or is known to have no end, there is nothing left in memory but the frontiers."""
    session = Session(plan_of(SEEN), emit="changes")
    session.push_records([("p", (f"r{i}",), i, POS if i % 2 else i + 3) for i in range(50)])
    session.advance(60)
    assert session.snapshot()["outlet"]["emission"] == {
        "frontiers": {"seen": 60},
        "coverage": {"seen": []},
        "begun": {"seen": []},
        "open": {"seen": []},
    }
    assert len(shown(session.plan, session.pull_records())) == 75


def test_records_of_changes_are_records() -> None:
    """Whatever takes records takes changes: what has begun has no end."""
    plan = plan_of(SEEN)
    session = Session(plan, emit="changes")
    session.push_records(records(plan, ["p(a)@[3,7]"]))
    session.finish()
    assert [tuple(record) for record in session.pull_records()] == [("seen", ("a",), 3, POS), ("seen", ("a",), 3, 7)]
