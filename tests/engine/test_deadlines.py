"""Time is kept in one place: what a moment does not concern is not called, and nobody can tell the difference."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from engine import test_lars_equals_oracle as lars
from engine.test_session_equals_oracle import compiled, show, unfused
from oracle.agreement import records_of, runs_of
from oracle.lars_programs import EVERY_FORM, lars_programs, lars_streams
from oracle.programs import ANY, programs, shuffled_within, streams
from tidelog import Session
from tidelog.operators.operator import Operator, shift
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import ErodeShape, LatchShape, PairShape, Plan, ToldShape
from tidelog.plans.tree.syntax import Program
from tidelog.runtime.ports.interfaces import Batch, EmitMode

MODES = [mode for mode in get_args(EmitMode) if mode != "intervals"]  # which tells in pieces, cut as they become known


@pytest.mark.slow
@pytest.mark.parametrize("timeline", ["integer", "rational"])
@given(data=st.data())
def test_deadlines_change_nothing(timeline: str, data: st.DataObject) -> None:
    """Each fact finds the same answers told as where every step catches up at each move of the watermark."""
    program = data.draw(programs(timeline, data.draw(ANY)))
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
    "o(X) :- diamondminus[0,6] q(X), not p(X), not boxminus[0,1] r(X,_).",
    "o(X,Y) :- m(X), diamondminus[0,2] r(X,Y), X != Y. m(X) :- diamondminus[0,6] q(X), not p(X).",
    "o(Y) :- m(X), m(Y), diamondminus[0,2] r(X,Y). m(X) :- diamondminus[0,6] q(X), not p(X). m(X) :- p(X).",
    "o(X,Y) :- a(X), r(X,Y). a(X) :- not q(X) since p(X). o(X,X) :- a(X), not b(X). b(X) :- not p(X) since q(X).",
    "o(X) :- (diamondminus[0,9] q(X), not p(X), not r(X,_)) since p(X).",
    "o(X) :- (m(X), not p(X)) since q(X), m(X). m(X) :- (q(X), not p(X)) since[1,inf) r(X,Y).",
    "o(X) :- boxminus[0,2] (diamondminus[0,6] q(X), not p(X)).",
    "o(X) :- boxminus(1,2] m(X), not r(X,_). m(X) :- not q(X) since p(X). m(X) :- boxminus[0,1] (q(X), not p(X)).",
    "o(X) :- diamondminus[1,3] (diamondminus[0,6] q(X), not p(X)). o(X) :- diamondplus[0,2] (q(X), not p(X)).",
    "o(X) :- boxminus[1,2] (diamondminus[0,9] q(X), not p(X), not r(X,_)) since q(X).",
    "o(X) :- diamondminus[1,3] boxminus[0,2] (diamondminus[0,6] q(X), not p(X)).",
    "o(X) :- diamondminus[0,3) (diamondminus[0,6] q(X), not p(X)).",
    "o(X) :- diamondminus[1,9) ((diamondminus[0,6] q(X), not p(X)) since[2,inf) r(X,Y)).",
    "o(X) :- boxminus[0,3] (diamondminus[0,6] q(X), not p(X)) since(1,inf) p(X).",
    "o(X,Y) :- diamondminus[0,9] r(X,Y), not m(X), not m(Y). m(X) :- diamondminus[0,4] q(X), not p(X).",
    "o(Y) :- diamondminus[0,3] r(X,Y), not p(X). o(Y) :- q(Y), not boxminus[0,1] p(Y).",
    "o(X) :- diamondminus[2,inf) (diamondminus[0,6] q(X), not p(X)).",
    "o(X) :- diamondminus m(X). m(X) :- not q(X) since p(X).",
    "o(X) :- m(X). o(X) :- diamondminus[3,inf) m(X). m(X) :- boxminus[0,1] (diamondminus[0,6] q(X), not p(X)).",
    "o(X) :- diamondminus(1,inf) boxminus[1,2] (diamondminus[0,9] q(X), not p(X)), not r(X,_).",
]
CLIPPED = [
    "o(X) :- always m(X) in [3]. m(X) :- not q(X) since p(X).",
    "o(X) :- always m(X) in [2]. m(X) :- diamondminus[0,6] q(X), not p(X). m(X) :- always p(X) in [2].",
    "o(X,Y) :- always m(X,Y) in [1], not q(X). m(X,Y) :- not q(X) since r(X,Y). m(a,b). m(a,X) :- p(X), not q(X).",
    "o(X) :- always (diamondminus[0,9] q(X), not p(X), not r(X,_)) in [4].",
]
OPEN = "m(X) :- diamondminus[0,6] q(X), not p(X)."
SINCE = [
    f"{OPEN} o(X) :- p(X) since[1,3] m(X). s(X) :- m(X) since(0,4] p(X). u(X) :- boxminus[0,2] m(X).",
    "m(X) :- not q(X) since p(X). o(X) :- not m(X) since q(X). o(X) :- r(X,X) since[0,2] m(X). s(X) :- m(X), not o(X).",
    f"{OPEN} o(X) :- m(X) since[0,3) q(X). s(X) :- m(X) since[0,2] m(X). u(X) :- q(X) since m(X).",
    f"{OPEN} o(X,Y) :- m(X) since[0,3] r(X,Y). s(X) :- r(X,X) since[1,5] m(X). u(X,Y) :- m(X) since[2,inf) r(X,Y).",
    f"{OPEN} m(X) :- p(X). m(X) :- diamondminus[1,3] (q(X), not p(X)). o(X) :- m(X) since(1,4) r(X,_), not p(X).",
    "m(X) :- not q(X) since p(X). o(X) :- m(X) since[2,4] q(X). s(X) :- q(X) since[0,3] m(X). u(X) :- m(X) since[1,1] m(X).",
    "m(X) :- not q(X) since p(X). n(Y) :- not p(Y) since r(X,Y). o(X) :- m(X) since[1,4] n(X). s(X) :- n(X) since m(X).",
    "m(X) :- not q(X) since p(X). m(X) :- diamondplus[0,2] r(X,_). o(X) :- r(X,X) since[0,2] m(X). "
    "s(X) :- m(X) since[0,3] r(X,_).",
    f"{OPEN} o(Y) :- (m(X) since[1,3] r(X,Y)), m(Y). s(X) :- boxminus[0,1] (m(X) since[0,6] p(X)). "
    "u(X) :- m(X) since[3,3] q(X).",
    f"{OPEN} o(Y) :- m(X) since[0,3] r(X,Y). s(Y) :- diamondminus[0,9] q(Y) since[1,3] m(Y).",
]
UNTIL = [
    f"{OPEN} o(X) :- m(X) until[0,3] r(X,_). s(X) :- m(X) until(1,6] p(X). u(X) :- m(X) until[2,4) q(X).",
    "m(X) :- not q(X) since p(X). o(X) :- m(X) until[0,9] r(X,X). s(X) :- m(X) until[3,3] (diamondminus[0,3] p(X)).",
    "m(X) :- not q(X) since p(X). n(X) :- diamondminus[0,6] q(X), not p(X). o(X) :- m(X) until[0,3] n(X). "
    "s(X) :- n(X) until[1,5] m(X). u(X) :- m(X) until[0,6] m(X).",
    f"{OPEN} m(X) :- p(X). m(X) :- boxminus[0,2] r(X,X). o(X) :- m(X) until[2,6] r(X,_).",
    f"{OPEN} m(X) :- diamondminus[1,3] (q(X), not p(X)). o(X,Y) :- m(X) until(0,4] r(X,Y), not q(X).",
    "u(X,Y) :- not q(X) since r(X,Y). o(X,Y) :- u(X,Y) until[0,4] r(Y,X). "
    "s(X,Y) :- boxminus[0,2] (u(X,Y) until[2,5] r(X,Y)).",
    "u(X,Y) :- not q(X) since r(X,Y). t(X) :- p(X). t(Y) :- t(X), u(X,Y). o(X) :- t(X) until[0,5] q(X).",
    f"{OPEN} o(X) :- m(X) until[1,inf) r(X,_). s(X) :- o(X), m(X). u(X,Y) :- s(X) until[0,inf) r(X,Y), not p(Y).",
    f"{OPEN} o(X) :- m(X), diamondplus[2,inf) r(X,_). s(X) :- o(X), not q(X). u(X) :- m(X) until[0,4] s(X).",
]
RECURSIVE = [
    "u(X,Y) :- not q(X) since r(X,Y). o(X,Y) :- u(X,Y). o(X,Z) :- o(X,Y), u(Y,Z).",
    "u(X,Y) :- not q(Y) since r(X,Y). o(X,Y) :- u(X,Y). o(X,Y) :- r(X,Y). o(X,Z) :- o(X,Y), o(Y,Z).",
    f"{OPEN} o(X) :- m(X). o(Y) :- o(X), r(X,Y).",
    f"{OPEN} o(X) :- m(X). o(Y) :- o(X), diamondminus[0,3] r(X,Y). s(X) :- o(X), not p(X). s(X) :- boxminus[0,2] o(X).",
    "u(X,Y) :- not q(X) since r(X,Y). e(X) :- p(X). e(Y) :- d(X), u(X,Y). d(Y) :- e(X), u(X,Y). d(X) :- e(X), X != b.",
    "u(X,Y) :- not q(X) since r(X,Y). u(X,Y) :- diamondminus[0,2] r(Y,X). o(X) :- p(X). o(Y) :- o(X), u(X,Y). "
    "s(X) :- p(X) since[0,3] o(X). c() :- o(X), o(Y), X != Y. bottom :- o(X), q(X).",
    f"{OPEN} u(X,Y) :- diamondminus[0,5] r(X,Y), not p(X). o(X) :- m(X). o(Y) :- o(X), u(X,Y), X != Y. s(N) :- o(N), o(N).",
]
MIXED = [
    "u(X,Y) :- not q(X) since r(X,Y). o(X) :- u(X,_), not p(X). e(X) :- p(X). e(Y) :- d(X), u(X,Y). "
    "d(Y) :- diamondminus[1,1] e(X), u(X,Y), r(Y,_). d(X) :- e(X), not q(X).",
    f"{OPEN} o(X) :- m(X), not r(X,_). t(X) :- m(X). t(Y) :- diamondminus[0,1] t(X), r(X,Y).",
    f"{OPEN} o(X) :- r(X,_) until[0,3] m(X). s(X) :- m(X) until[1,2] r(X,_). s(X) :- diamondminus[2,inf) m(X).",
    "m(X) :- not q(X) since p(X). m(X) :- boxminus[0,2] (diamondminus[0,6] q(X), not p(X)). o(Y) :- m(X), r(X,Y). "
    "t(X) :- m(X). t(Y) :- boxminus[0,1] t(X), diamondminus[0,2] r(X,Y).",
    "m(X) :- diamondminus[1,3] (diamondminus[0,6] q(X), not p(X)). m(X) :- diamondplus[0,2] (q(X), not p(X)). "
    "o(X) :- p(X) since[0,3] m(X). s(X) :- m(X), not r(X,_). s(X) :- diamondminus m(X).",
]
COUNTED = [
    f"{OPEN} o(X) :- m(X), not r(X,_). c(N) :- N = count() over m(X) in [0]. d(N) :- N = count() over m(X) in [3].",
    f"{OPEN} l(X) :- latest m(X) by X in [4]. c() :- count() over m(X) in [2] >= 3. o(X) :- m(X), l(X).",
    "m(X,Y) :- not q(X) since r(X,Y). m(X,X) :- diamondminus[1,3] (q(X), not p(X)). o(X) :- m(X,X), not p(X). "
    "c(X,N) :- N = count() over m(X,Y) in [1] by X. l(X,Y) :- latest m(X,Y) by X in [3].",
    "m(X,Y) :- not q(X) since r(X,Y), Y != 1. a(X,N) :- N = sum(Y) over (m(X,Y), Y != 2) in [2] by X. "
    "b(N) :- N = avg(Y) over m(X,Y) in [3]. c(Z,N) :- N = sum(Y) over (m(X,Y), Z = X + 1) in [0] by Z.",
    "m(X,Y) :- not q(X) since r(X,Y), Y != 1. m(X,X) :- p(X). a(N) :- N = min(Y) over m(X,Y) in [2]. "
    "b(X,N) :- N = max(Y) over m(X,Y) in [0] by X. c(N) :- N = distinct(X) over (m(X,Y), Y != 2) in [3].",
    "m(X,Y) :- r(X,Y), not diamondminus[0,2] q(Y). m(X,Y) :- not q(X) since r(Y,X), X != 2. "
    "a(N) :- N = first(Y) over m(X,Y) in [3]. b(N) :- N = last(Y) over m(X,Y) in [2]. "
    "c(N) :- N = first(X) over m(X,_) in [0].",
    "m(X,Y) :- not q(X) since r(X,Y), Y != 1. a(X,N) :- N = stddev(Y) over m(X,Y) in [2] by X. "
    "b(N) :- N = quantile(0.5, Y) over (m(X,Y), Y != 2) in [4].",
    "m(X,Y) :- not q(X) since r(X,Y), Y != 1. a(N) :- N = count() over m(X,Y) in [3 step 2]. "
    "b(N) :- N = max(Y) over m(X,Y) in [0 step 3]. c(X,N) :- N = sum(Y) over m(X,Y) in [4 step 3] by X.",
    f"{OPEN} c(N) :- N = count() over m(X) in [1]. d(N) :- N = max(V) over c(V) in [3]. o(X,N) :- m(X), c(N), not d(N).",
    "m(X) :- boxminus[0,2] (diamondminus[0,6] q(X), not p(X)). m(X) :- diamondminus[1,3] (q(X), not p(X)). "
    "c(N) :- N = count() over m(X) in [2]. d(X,N) :- N = count() over (m(X), r(X,_)) in [3] by X.",
    "m(X) :- diamondplus[0,2] (q(X), not p(X)). m(X) :- (q(X), not p(X)) since[1,inf) r(X,Y). "
    "c(N) :- N = count() over m(X) in [2]. d(X,N) :- N = max(X) over m(X) in [0] by X. o(X) :- p(X) until[0,3] d(X,_).",
]
ENOUGH = [
    f"{OPEN} o() :- count() over m(X) in [0] >= 2. s(X) :- count() over m(X) in [3] by X >= 3. "
    "t() :- count() over m(X) in [2] > 4.",
    "m(X,Y) :- not q(X) since r(X,Y), Y != 1. o(X) :- sum(Y) over (m(X,Y), Y >= 0, Y != 2) in [2] by X >= 5. "
    "s() :- sum(Y) over (m(X,Y), Y >= 0) in [3] > 6. t(X) :- sum(Y) over (m(X,Y), Y >= 0) in [0] by X >= 2.5.",
    "m(X,Y) :- not q(X) since r(X,Y). m(X,X) :- p(X). o(X) :- count() over m(X,Y) in [2] by X >= 4, p(X). "
    "s(Z) :- count() over (m(X,Y), Z = X) in [4] by Z >= 6. t() :- count() over m(X,Y) in [1] >= 2. "
    "u(X) :- p(X) since[0,2] o(X).",
    "m(X) :- boxminus[0,2] (diamondminus[0,6] q(X), not p(X)). m(X) :- diamondminus[1,3] (q(X), not p(X)). m(X) :- r(X,X). "
    "o() :- count() over m(X) in [2] >= 3. s(X) :- not o() since m(X). t() :- count() over (m(X), r(X,_)) in [3] >= 2.",
    "m(X) :- diamondplus[0,2] (q(X), not p(X)). m(X) :- p(X), not r(X,_). o(X) :- count() over m(X) in [3] by X > 2. "
    "s(X) :- distinct(Y) over (m(X), r(Y,X)) in [2] by X >= 2. t(X) :- diamondminus[0,2] o(X), not q(X).",
    "m(X,Y) :- not q(X) since r(X,Y), Y != 1, Y != 2. o() :- max(Y) over m(X,Y) in [2] >= 2. "
    "s(X) :- min(Y) over m(X,Y) in [0] by X <= 1. t(X) :- count() over (latest m(X,Y) by X in [2]) in [3] by X >= 5.",
]
HELD = [
    "m(X,Y) :- not q(X) since r(X,Y), Y != 1. o(X,Y) :- latest m(X,Y) by X in [3]. l(Y) :- latest m(X,Y) in [0], X != 2.",
    f"{OPEN} o(X) :- latest m(X) by X in [2], not r(X,_). s(X) :- latest m(X) in [inf]. s(X) :- p(X) since[0,3] o(X).",
    "m(X,Y) :- r(X,Y), not diamondminus[0,2] q(Y). m(X,Y) :- not p(X) since r(Y,X). o(X,Y) :- latest m(X,Y) by Y in [4]. "
    "l(Y) :- boxminus[0,2] (latest m(X,Y) by X in [3]). s(X) :- not l(X) since q(X).",
    "m(X,Y) :- boxminus[0,1] (diamondminus[0,6] r(X,Y), not q(X)). m(X,X) :- diamondplus[0,2] (q(X), not p(X)). "
    "m(X,X) :- p(X). o(X,Y) :- latest m(X,Y) by X in [2]. l(X,Y) :- latest m(X,Y) in [5], not p(X).",
]


@pytest.mark.slow
@pytest.mark.parametrize("timeline", ["integer", "rational"])
@given(data=st.data())
def test_announcements_change_nothing(timeline: str, data: st.DataObject) -> None:
    """What goes on holding is announced: the same is told, with the same fact, as where it is told anew at each time.

    With whatever late facts and snapshots there are.
    """
    program = data.draw(programs(timeline, data.draw(ANY)))
    assert_announcements_change_nothing(program, data)


@pytest.mark.parametrize("rules", LASTING)
@drawn(20)
@given(data=st.data())
def test_announcements_through_operators_change_nothing(rules: str, data: st.DataObject) -> None:
    """Likewise where what is open meets other things, and stands under other operators."""
    program = parse(f"timeline {data.draw(st.sampled_from(['integer', 'rational']))}. {rules}")
    assert compiled(program).announcing
    assert_announcements_change_nothing(program, data)


@pytest.mark.parametrize("rules", SINCE)
@drawn(30)
@given(data=st.data())
def test_announcements_at_both_sides_of_since_change_nothing(rules: str, data: st.DataObject) -> None:
    """Likewise where what is open stands at either side of `since`, with an end or without one."""
    program = parse(f"timeline {data.draw(st.sampled_from(['integer', 'rational']))}. {rules}")
    plan = compiled(program)
    assert any(isinstance(step.shape, PairShape) and step.id in plan.announcing for step in plan.steps)
    assert_announcements_change_nothing(program, data)


@pytest.mark.parametrize("rules", UNTIL)
@drawn(20)
@given(data=st.data())
def test_announcements_at_the_left_side_of_until_change_nothing(rules: str, data: st.DataObject) -> None:
    """Likewise where what is open has to hold until something else does."""
    program = parse(f"timeline {data.draw(st.sampled_from(['integer', 'rational']))}. {rules}")
    plan = compiled(program)
    lefts = [step.inputs[0].name for step in plan.steps if isinstance(step.shape, PairShape)]
    assert any(name in plan.announcing for name in lefts)
    assert_announcements_change_nothing(program, data)


@pytest.mark.parametrize("rules", RECURSIVE)
@drawn(30)
@given(data=st.data())
def test_announcements_through_recursion_change_nothing(rules: str, data: st.DataObject) -> None:
    """Likewise where recursive rules go over what is open, round in circles, too."""
    program = parse(f"timeline {data.draw(st.sampled_from(['integer', 'rational']))}. {rules}")
    plan = compiled(program)
    assert any(step.id in plan.announcing for step in plan.steps if step.loop is not None)
    assert_announcements_change_nothing(program, data)


@pytest.mark.parametrize("rules", CLIPPED)
@drawn(40)
@given(data=st.data())
def test_announcements_through_windows_change_nothing(rules: str, data: st.DataObject) -> None:
    """Likewise where a window that begins where the stream starts is full of what is open."""
    program = parse(f"timeline integer. {rules}")
    plan = compiled(program)
    assert any(isinstance(step.shape, ErodeShape) and step.id in plan.announcing for step in plan.steps)
    assert_announcements_change_nothing(program, data)


@pytest.mark.parametrize("rules", MIXED)
@drawn(20)
@given(data=st.data())
def test_each_reader_of_what_is_open_gets_what_it_takes(rules: str, data: st.DataObject) -> None:
    """Likewise where some of a step's readers take announcements, and others do not."""
    program = parse(f"timeline {data.draw(st.sampled_from(['integer', 'rational']))}. {rules}")
    assert any(isinstance(step.shape, ToldShape) for step in compiled(program).steps)
    assert_announcements_change_nothing(program, data)


@pytest.mark.parametrize("rules", COUNTED)
@drawn(20)
@given(data=st.data())
def test_what_is_open_is_counted(rules: str, data: st.DataObject) -> None:
    """Likewise where what is open is counted."""
    assert_announcements_change_nothing(parse(f"timeline integer. {rules}"), data)


VIOLATED = [
    "v(X) :- not q(X) since p(X).",
    f"{OPEN} v(X) :- m(X), r(X,Y). o(X) :- m(X), not p(X).",
    f"{OPEN} v(X) :- m(X), not p(X), not r(X,_). v(X) :- r(X,_), not m(X).",
    f"{OPEN} v(X) :- diamondminus[1,3] m(X). v(X) :- diamondplus[0,2] m(X), p(X). v(X) :- boxminus[0,2] m(X).",
    f"{OPEN} v(X) :- m(X), X != a. v(X) :- m(X) since[1,inf) p(X). v(X) :- (q(X), not p(X)) since(0,inf) r(X,Y).",
    "v(X) :- diamondminus[1,9) ((diamondminus[0,6] q(X), not p(X)) since[2,inf) r(X,Y)).",
]


@pytest.mark.parametrize("rules", VIOLATED)
@drawn(20)
@given(data=st.data())
def test_what_goes_on_violating_a_constraint_is_told_once(rules: str, data: st.DataObject) -> None:
    """It is told when it begins, as where it is told anew at each time. What comes behind the reach of what goes on begins
    anew only where that ends before: it is told then, while there it is told at once, though it may go on with the rest."""
    program = parse(f"timeline {data.draw(st.sampled_from(['integer', 'rational']))}. {rules} bottom :- v(X).")
    plan = compiled(program)
    assert any(name in plan.announcing for name in plan.constraints)
    lateness = data.draw(st.sampled_from([0, 3]))
    facts = data.draw(shuffled_within(data.draw(streams(program)), lateness))
    announced, others, whole = (
        Session(each, emit="final", lateness=lateness) for each in (plan, replace(unfused(program), announcing={}), plan)
    )
    records = records_of(plan, facts)
    whole.push_records(records)
    whole.finish()
    runs = {f"v({fact[1][0]})": runs for fact, runs in runs_of(whole.pull_records()).items() if fact[0] == "v"}
    told: tuple[set[tuple[str, int]], set[tuple[str, int]]] = set(), set()
    for fact in [*records, None]:
        for session, begun in zip((announced, others), told, strict=True):
            session.finish() if fact is None else session.push_records([fact])
            now = [(item.facts[0], item.lo) for item in session.pull_violations()]
            assert len(set(now)) == len(now) and begun.isdisjoint(now)
            begun.update(now)
        assert told[0] <= told[1], show(program, facts)
        if data.draw(st.booleans()):
            announced.restore(json.loads(msgspec.json.encode(announced.snapshot())))
    for row, lo in told[1] - told[0]:
        assert any(begin < lo <= end for begin, end in runs[row]), show(program, facts)


@pytest.mark.parametrize("rules", ENOUGH)
@drawn(20)
@given(data=st.data())
def test_of_what_is_open_there_is_enough(rules: str, data: st.DataObject) -> None:
    """Likewise where it is told when what is open weighs enough."""
    assert_announcements_change_nothing(parse(f"timeline integer. {rules}"), data)


@pytest.mark.parametrize("rules", HELD)
@drawn(20)
@given(data=st.data())
def test_what_is_open_is_held_beyond_its_end(rules: str, data: st.DataObject) -> None:
    """Likewise where what is open is held beyond its end."""
    program = parse(f"timeline {data.draw(st.sampled_from(['integer', 'rational']))}. {rules}")
    assert_announcements_change_nothing(program, data)


def assert_announcements_change_nothing(program: Program, data: st.DataObject) -> None:
    assert_the_same_is_told(program, replace(unfused(program), announcing={}), data)


def assert_the_same_is_told(program: Program, other: Plan, data: st.DataObject, *, to_the_letter: bool = True) -> None:
    """Fact by fact the same answers; as intervals the same coverage, as far as each output is known.

    To the letter: in the same order until the stream ends, and as intervals no earlier. That something begins may be told
    once it does for certain, though it is known a moment before: nothing lies between.
    """
    plan = compiled(program)
    emit = data.draw(st.sampled_from(get_args(EmitMode)))
    facts = data.draw(streams(program))
    lateness = data.draw(st.sampled_from([0, 0, 3]))
    if lateness:
        facts = data.draw(shuffled_within(facts, lateness))
    announced = Session(plan, emit=emit, lateness=lateness)
    others = Session(other, emit=emit, lateness=lateness)
    save = data.draw(st.booleans())
    ahead = data.draw(st.sampled_from([None, None, 1, 2]))
    told: tuple[list[Record], list[Record]] = [], []
    records = records_of(plan, facts)
    for at, fact in enumerate([*records, None]):
        for session, answers in zip((announced, others), told, strict=True):
            session.finish() if fact is None else session.push_records([fact])
            if ahead is not None and at + 1 < len(records):  # time comes close to what is to begin
                session._hand_in(Batch(watermark=min(lo for _, _, lo, _ in records[at + 1 :]) - ahead))
            answers += session.pull_records()
        if emit == "intervals":
            extra = [*missing(told[1], told[0]), *(missing(told[0], told[1]) if not to_the_letter else ())]
            assert not to_the_letter or not missing(told[0], told[1]), show(program, facts)
            assert all(lo > known(announced, name) for name, lo, _ in extra), show(program, facts)
            assert fact is not None or not extra, show(program, facts)
        else:
            now, once = (Counter(map(repr, answers)) for answers in told)
            later = [answer for answer in told[1] if repr(answer) in once - now]
            assert not now - once, show(program, facts)
            assert all(fact is not None and is_to_begin(announced, answer) for answer in later), show(program, facts)
            is_equal = emit == "changes" or fact is None or by_output(told[0]) == by_output(told[1])
            assert is_equal or not to_the_letter, show(program, facts)
        if save and fact is not None:
            state = json.loads(msgspec.json.encode(announced.snapshot()))
            announced = Session(plan, emit=emit, lateness=lateness)
            announced.restore(state)


LATCHES = [
    "o(X) :- not q(X) since p(X).",
    "o(X,Y) :- not q(X) since r(X,Y). o(X,X) :- not r(X,X) since q(X).",
    "o(X) :- not r(X,a) since (r(X,Y), p(Y)), not r(X,_).",
    "o(X) :- not p(X) since (p(X), diamondminus[0,2] q(X)).",
    "o(X) :- diamondminus[1,3] m(X). o(X) :- boxminus[0,2] m(X), not r(X,_). m(X) :- not q(X) since p(X).",
    "o(Y) :- not m(Y) since q(Y). m(Y) :- diamondplus[0,2] r(X,Y).",
    "o(Y) :- not q(Y) since m(Y). m(Y) :- diamondplus[0,3] r(X,Y). o(X) :- diamondminus[1,inf) p(X), not q(X).",
]


@pytest.mark.parametrize("rules", LATCHES)
@drawn(40)
@given(data=st.data())
def test_latches_change_nothing(rules: str, data: st.DataObject) -> None:
    """What one predicate switches on and another one off: one step tells what its parts tell, with whatever late facts and
    snapshots there are."""
    program = parse(f"timeline {data.draw(st.sampled_from(['integer', 'rational']))}. {rules}")
    assert any(isinstance(step.shape, LatchShape) for step in compiled(program).steps)
    other = unfused(program)
    assert not any(isinstance(step.shape, LatchShape) for step in other.steps)
    assert_the_same_is_told(program, other, data, to_the_letter=False)


def test_what_a_fact_opens_time_may_shut_at_once() -> None:
    """A fact that comes behind what ends it, both of them with one delivery known, is announced and taken back in order."""
    text = "timeline integer. o(Y) :- not q(Y) since[1,inf) m(Y). m(Y) :- diamondplus[0,3] r(X,Y). output o."
    session = Session(tidelog.compile(text), emit="final")
    session.push("q", ["c"], 9)
    session.push("r", ["c", "c"], 10)
    session.push("q", ["c"], 20)
    session.finish()
    assert [str(answer) for answer in session.pull()] == ["o(c)@[8,20]"]


def test_what_goes_on_up_to_where_it_has_no_end_is_final() -> None:
    """A row that is open, and known to hold for ever from a later time on, is told once it has come so far."""
    rules = "m(X) :- not off(X) since on(X). o(X) :- m(X). o(X) :- diamondminus[5,inf) m(X)."
    session = Session(tidelog.compile(f"timeline integer. input on(s). input off(s). {rules} output o."), emit="final")
    session.push("on", ["a"], 3)
    session.push("on", ["b"], 7)
    assert not session.pull()
    session.push("off", ["b"], 8)
    assert [str(answer) for answer in session.pull()] == ["o(a)@[3,inf)"]
    session.push("off", ["a"], 20)
    session.finish()
    assert [str(answer) for answer in session.pull()] == ["o(b)@[7,8]", "o(b)@[12,inf)"]


def test_what_is_known_to_begin_earlier_is_told_from_there() -> None:
    """A row that is open, and told for a while, may turn out to hold from an earlier time on."""
    rules = "o(X) :- diamondminus[1,3] (diamondminus[0,6] q(X), not p(X)). o(X) :- diamondplus[0,2] (q(X), not p(X))."
    session = Session(tidelog.compile(f"timeline rational. {rules} output o."), emit="intervals")
    for predicate, interval in (("p", "[0,0]"), ("q", "[0,0]"), ("q", "[3/2,2]"), ("p", "[2,2]")):
        session.push(predicate, ["a"], interval=interval)
    session.finish()
    told = {str(answer) for answer in session.pull()}
    assert told == {"o(a)@(1,3/2)", "o(a)@[-1/2,1]", "o(a)@[3/2,2)", "o(a)@[2,5)", "o(a)@[5,9]", "o(a)@(9,11]"}


def test_what_one_message_opens_another_shuts_by_itself() -> None:
    """Two inputs of a union, of which one opens a row and the other shuts it, are told one after the other."""
    rules = "o(X) :- diamondminus[1,3] (diamondminus[0,6] q(X), not p(X)). o(X) :- diamondplus[0,2] (q(X), not p(X))."
    session = Session(tidelog.compile(f"timeline integer. {rules} output o."), emit="intervals")
    session.push("q", ["b"], interval="[0,4]")
    for predicate, row, time in (*[("p", "a", 0)] * 4, ("q", "a", 0), ("p", "b", 4), ("p", "a", 5)):
        session.push(predicate, [row], time)
    session.finish()
    told = {str(answer) for answer in session.pull()}
    assert {answer for answer in told if "b" in answer} == {"o(b)@[-2,3]", "o(b)@[4,6]", "o(b)@[7,13]"}


def is_to_begin(session: Session, answer: Record) -> bool:
    """Whether an answer is that something begins behind what is known."""
    return isinstance(answer, ChangeRecord) and not answer.has_ended and answer.lo > known(session, answer.predicate)


def by_output(answers: Sequence[Record]) -> dict[str, list[Record]]:
    """The answers of each output, in their order."""
    found: dict[str, list[Record]] = {}
    for answer in answers:
        found.setdefault(answer[0], []).append(answer)
    return found


def known(session: Session, output: str) -> int:
    """Up to when all is known of an output."""
    return shift(session.frontier, session.plan.leads[session.plan.outputs[output]])


def missing(given: Sequence[Record], wanted: Sequence[Record]) -> list[tuple[str, int, int]]:
    """The ranges that some answers cover and others do not; fails where a fact is told twice at one time."""
    others = runs_of(wanted)
    found: list[tuple[str, int, int]] = []
    for fact, runs in runs_of(given).items():
        for begin, end in runs:
            lo = begin
            for known_lo, known_hi in others.get(fact, ()):
                if known_hi < lo or known_lo > end:
                    continue
                if lo < known_lo:
                    found.append((fact[0], lo, known_lo - 1))
                lo = known_hi + 1
            if lo <= end:
                found.append((fact[0], lo, end))
    return found


class Calls:
    """How often operators are called, and with how many facts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = self.facts = 0
        receive = Operator.receive

        def counted(
            operator: Operator, port: int, facts: Sequence[Fact], frontier: int, notices: Notices | None = None
        ) -> list[Fact]:
            self.calls += 1
            self.facts += len(facts)
            return receive(operator, port, facts, frontier, notices)

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


@pytest.mark.pure
@pytest.mark.parametrize("emit", get_args(EmitMode))
def test_hysteresis_calls_two_operators_an_event(emit: EmitMode, monkeypatch: pytest.MonkeyPatch) -> None:
    """The input's, and the latch, once with the event and once as far as time has come."""
    text = "timeline integer. input on(s). input off(s). alarm(S) :- not off(S) since on(S)."
    session = Session(tidelog.compile(text), emit=emit)
    calls = Calls(monkeypatch)
    events = [(name, [f"s{turn % 7}"], 2 * turn + at) for turn in range(50) for at, name in enumerate(("on", "off"))]
    calls.during(session, *events[:20])
    count, _ = calls.during(session, *events[20:])
    assert count <= 3 * len(events[20:])


@pytest.mark.pure
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


@pytest.mark.pure
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


OPEN_RULES = {
    "a join": "r(X) :- m(X), z(X).",
    "a chain of negations": "r(X) :- p(X), not q(X), not s(X).",
    "a negation of what is open": "r(X) :- z(X), not m(X).",
    "since": "r(X) :- m(X) since b(X).",
    "since, and a join": "r(X) :- m(X) since b(X), z(X).",
    "a box": "r(X) :- boxminus[0,5] m(X).",
    "a diamond": "r(X) :- diamondminus[0,5] m(X).",
    "a box in a join": "r(X) :- boxminus[0,5] m(X), z(X), not s(X).",
    "a box that is clipped": "r(X) :- always m(X) in [5].",
    "a diamond without an end": "r(X) :- diamondminus[2,inf) m(X), m(X).",
    "a constraint": "r(X) :- z(X), not m(X). bottom :- m(X), not s(X).",
    "since with an end": "r(X) :- m(X) since[0,500] b(X), m(X).",
    "since over what is open": "r(X) :- z(X) since[1,5] m(X).",
    "until": "r(X) :- m(X). r(X) :- m(X) until[1,9] s(X).",
    "recursion": "r(X) :- m(X), z(X). r(Y) :- r(X), l(X,Y). l(X,X) :- m(X).",
}


@pytest.mark.pure
@pytest.mark.parametrize("emit", ["intervals", "changes"])
@pytest.mark.parametrize("rule", OPEN_RULES.values(), ids=OPEN_RULES)
def test_open_rows_cost_nothing_behind_other_operators(rule: str, emit: EmitMode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside 30 rows that are open, a moment calls nobody, and what happens to one row touches that one."""
    text = "timeline integer. input p(x). input q(x). input s(x). input z(x). input b(x)."
    text += f"m(X) :- p(X), not q(X). {rule} output r."
    session = Session(tidelog.compile(text), emit=emit)
    session.push_records([(name, (f"x{i}",), 0, 1_000_000) for i in range(30) for name in ("p", "z")])
    session.push_records([("b", (f"x{i}",), 0, 0) for i in range(30)])
    for time in range(20):
        session.advance(time)
    session.pull()
    calls = Calls(monkeypatch)
    for time in range(20, 80):
        session.advance(time)
    assert calls.calls == 0
    assert session.pull_records() == []
    found = [calls.during(session, ("q", [row], time)) for time in range(300, 310) for row in ("x7", "other")]
    session.advance(320)
    assert max(facts for _, facts in found) <= 20
    told = {row for _, row, *_ in session.pull_records()}
    assert told >= {("x7",)}
    assert len(told) <= (20 if emit == "intervals" else 1)


@pytest.mark.pure
@pytest.mark.parametrize("count", [10, 500])
def test_until_touches_the_open_rows_that_it_is_asked_for(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows are open on its left, and however long: what comes on its right tells of its own row alone."""
    text = "timeline integer. input p(x). input q(x). input s(x). m(X) :- not q(X) since p(X). r(X) :- m(X) until[1,9] s(X)."
    session = Session(tidelog.compile(f"{text} output r."))
    session.push_records([("p", (f"x{i}",), 0, 0) for i in range(count)])
    session.advance(50)
    calls = Calls(monkeypatch)
    for time, lo in ((60, 51), (65, 60), (200, 191)):
        assert calls.during(session, ("s", ["x7"], time))[1] <= 4
        session.advance(time)
        told = [(row, at) for _, row, begin, end in session.pull_records() for at in range(begin, end + 1)]
        assert sorted(told) == [(("x7",), at) for at in range(lo, time)]
    assert calls.during(session, ("s", ["other"], 300))[1] <= 4
    assert [str(answer) for answer in session.pull()] == ["r(other)@299"]  # nothing lies between
