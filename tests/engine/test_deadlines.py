"""Time is kept in one place: what a moment does not concern is not called, and nobody can tell the difference."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from engine import test_lars_equals_oracle as lars
from engine.test_session_equals_oracle import compiled
from oracle.agreement import records_of
from oracle.lars_programs import EVERY_FORM, lars_programs, lars_streams
from oracle.programs import EVERYTHING, programs, streams
from tidelog import Session
from tidelog.operators.operator import Operator
from tidelog.plans.facts import Fact, Record
from tidelog.plans.parser import parse
from tidelog.plans.plan import Plan
from tidelog.runtime import outlet
from tidelog.runtime.interfaces import EmitMode

MODES = [mode for mode in get_args(EmitMode) if mode != "intervals"]  # which tells in pieces, cut as they become known


@pytest.mark.slow
@pytest.mark.parametrize("timeline", ["integer", "rational"])
@given(data=st.data())
def test_deadlines_change_nothing(timeline: str, data: st.DataObject) -> None:
    """Each fact finds the same answers told as where every step catches up at each move of the watermark."""
    program = data.draw(programs(timeline, EVERYTHING))
    plan = compiled(program)
    facts = records_of(plan, data.draw(streams(program)))
    assert_nothing_is_changed(plan, facts, data.draw(st.sampled_from(MODES)))


@pytest.mark.slow
@given(data=st.data())
def test_deadlines_change_nothing_in_lars(data: st.DataObject) -> None:
    """Likewise with tuple windows, steps and times as values."""
    plan = lars.compiled(data.draw(lars_programs(EVERY_FORM)))
    facts = records_of(plan, data.draw(lars_streams()))
    assert_nothing_is_changed(plan, facts, data.draw(st.sampled_from(MODES)))


def assert_nothing_is_changed(plan: Plan, facts: Sequence[Record], emit: EmitMode) -> None:
    lazy, eager = Session(plan, emit=emit), Session(plan, emit=emit)
    eager._network.eager = True
    for fact in facts:
        for session in (lazy, eager):
            session.push_records([fact])
        assert Counter(map(repr, lazy.pull())) == Counter(map(repr, eager.pull()))
    lazy.finish()
    eager.finish()
    assert Counter(map(repr, lazy.pull())) == Counter(map(repr, eager.pull()))


LASTING = [
    "o(X) :- not q(X) since p(X).",
    "o(X) :- (q(X), not p(X)) since r(X,Y).",
    "o(X,Y) :- (q(X), not p(X)) since[1,inf) r(X,Y).",
    "o(X) :- (diamondminus[0,4] q(X), not p(X)) since(0,inf) p(X).",
    "o(Y) :- diamondminus[0,3] r(X,Y), not p(X). o(X) :- boxminus[0,1] q(X).",
    "o(Y) :- diamondminus[0,3] r(X,Y), not p(X). o(Y) :- q(Y), not boxminus[0,1] p(Y).",
]


@pytest.mark.slow
@pytest.mark.parametrize("timeline", ["integer", "rational"])
@given(data=st.data())
def test_announcements_change_nothing(timeline: str, data: st.DataObject) -> None:
    """What goes on holding is announced: the same is told, with the same fact, as where it is told anew at each time."""
    if data.draw(st.booleans()):
        program = data.draw(programs(timeline, EVERYTHING))
    else:
        program = parse(f"timeline {timeline}. {data.draw(st.sampled_from(LASTING))}")
    plan = compiled(program)
    emit: EmitMode = data.draw(st.sampled_from(["final", "changes"]))
    announced = Session(plan, emit=emit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(outlet.PATIENCE, emit, "none")
        told_anew = Session(plan, emit=emit)
    save = data.draw(st.booleans())
    for fact in records_of(plan, data.draw(streams(program))):
        for session in (announced, told_anew):
            session.push_records([fact])
        assert [*map(repr, announced.pull())] == [*map(repr, told_anew.pull())]
        if save:
            state, announced = json.loads(msgspec.json.encode(announced.snapshot())), Session(plan, emit=emit)
            announced.restore(state)
    for session in (announced, told_anew):
        session.finish()
    assert [*map(repr, announced.pull())] == [*map(repr, told_anew.pull())]


class Calls:
    """How often operators are called, and with how many facts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = self.facts = 0
        receive = Operator.receive

        def counted(operator: Operator, port: int, facts: Sequence[Fact], frontier: int) -> list[Fact]:
            self.calls += 1
            self.facts += len(facts)
            return receive(operator, port, facts, frontier)

        advance = Operator.advance

        def counted_advance(operator: Operator, frontiers: Sequence[int]) -> list[Fact]:
            self.calls += 1
            return advance(operator, frontiers)

        monkeypatch.setattr(Operator, "receive", counted)
        monkeypatch.setattr(Operator, "advance", counted_advance)

    def during(self, session: Session, *facts: tuple[str, list[str], int]) -> tuple[int, int]:
        """The calls, and the facts in them, while these facts are pushed, each alone."""
        self.calls = self.facts = 0
        for predicate, row, time in facts:
            session.push(predicate, row, time)
        return self.calls, self.facts


RULES = {
    "other predicates": ("alarm{i}(X) :- hot{i}(X), not diamondminus[1,5] hot{i}(X).\n", "hot0", ["a"]),
    "boxes, which sleep": ("alarm{i}(X) :- boxminus[0,3] hot{i}(X).\n", "hot0", ["a"]),
    "other constants": ("alarm(X, c{i}) :- temp(X, c{i}).\n", "temp", ["a", "c0"]),
}


@pytest.mark.parametrize(("rule", "predicate", "row"), RULES.values(), ids=RULES)
def test_an_event_calls_the_rules_that_it_concerns(
    rule: str, predicate: str, row: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside 200 rules that it does not concern, an event costs as many calls as beside one."""
    calls = Calls(monkeypatch)
    found = []
    for count in (2, 200):
        text = "timeline integer.\n" + "".join(rule.format(i=i) for i in range(count))
        session = Session(tidelog.compile(text), emit="final")
        calls.during(session, *((predicate, row, time) for time in range(20)))
        found.append(calls.during(session, *((predicate, row, time) for time in range(20, 40))))
    assert found[0] == found[1]
    assert found[0][0] <= 20 * 12


@pytest.mark.parametrize(("count", "emit"), [(20, "intervals"), (2_000, "intervals"), (20, "changes"), (2_000, "final")])
def test_rows_to_which_nothing_happens_are_not_touched(count: int, emit: EmitMode, monkeypatch: pytest.MonkeyPatch) -> None:
    """While rows hold, and wait for facts that do not come, a moment calls nobody."""
    text = "timeline integer. input p(x). input q(x). r(X) :- p(X), not q(X)."
    session = Session(tidelog.compile(text), emit=emit)
    for i in range(count):
        session.push("p", [f"x{i}"], interval="[0,1000000]")
    session.advance(1)
    assert len(session.pull()) == (0 if emit == "final" else count)
    calls = Calls(monkeypatch)
    for time in range(2, 100):
        session.advance(time)
    assert calls.calls == 0
    assert session.pull() == []
