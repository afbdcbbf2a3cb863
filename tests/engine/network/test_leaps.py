"""Leaps of time in which only what is periodic happens: passed by, with the same answers as if each round were followed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import limits, some_limits

import tidelog
from engine.running import plan_of, records, shown
from oracle.agreement import runs_of
from tidelog import ProgramError, Session
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import StateError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import EmitMode
from tidelog.runtime.sessions.leaping import leap

INPUTS = "timeline integer. input go(x: text). input off(x: text). input tick(x: text). input enabled(x: text). "
ROUNDS = (
    "boxplus[{n}] on(X) :- on(X).",
    "on(X) :- diamondminus[{n}] on(X), not off(X).",
    "on(X) :- diamondminus[{n}] on(X), enabled(X).",
    "boxplus[{k},{n}] on(X) :- on(X).",
    "boxplus[0,{n}] on(X) :- on(X).",
    "boxplus[{n}] near(X) :- on(X). boxplus[{k}] on(X) :- near(X).",
    "boxplus[{n}] near(X) :- on(X), not off(X). on(X) :- diamondminus[{k}] near(X), not enabled(X).",
    "on(X) :- diamondminus[{n}] on(X), not diamondminus[1,{k}] on(X).",
    "on(X) :- diamondminus[{n}] on(X), not diamondminus[{k}] off(X). near(X) :- on(X), not diamondminus[1,{k}] near(X).",
    "boxplus[{n}] on(X) :- boxminus[0,{k}] on(X).",
    "boxplus[{n}] on(b) :- on(a). boxplus[{k}] on(a) :- on(b).",
)
READ = (
    "q(X) :- tick(X), on(X).",
    "q(X) :- tick(X), not on(X).",
    "q(X) :- boxminus[0,{n}] on(X).",
    "q(X) :- tick(X), diamondminus[0,{n}] on(X).",
    "q(X) :- tick(X), diamondplus[0,{n}] on(X).",
    "q(X) :- tick(X), not diamondminus[0,{n}] on(X).",
    "q(X) :- enabled(X), not diamondminus[0,{n}] on(X).",
    "q(X) :- enabled(X), not on(X).",
    "q(X) :- tick(X) since[0,{n}] on(X).",
    "q(X) :- on(X) since[{k},{n}] tick(X).",
    "q(X) :- enabled(X) since[{n},inf) on(X).",
    "q(X) :- on(X) until[0,{n}] tick(X).",
    "q(X) :- diamondminus[{n},inf) on(X).",
    "q(X) :- boxplus[0,{n}] (tick(X), on(X)).",
    "far(X) :- on(X), not tick(X). q(X) :- boxminus[0,{k}] far(X).",
    "q(X) :- on(X).",
)
TIMES = st.one_of(st.integers(0, 20), st.integers(0, 20).map(lambda t: 150 + t), st.integers(0, 20).map(lambda t: 320 + t))


@st.composite
def programs(draw: st.DrawFn) -> str:
    def filled(rule: str) -> str:
        return rule.format(n=draw(st.integers(3, 5)), k=draw(st.integers(1, 3)))

    rounds = filled(draw(st.sampled_from(ROUNDS)))
    read = " ".join(filled(rule) for rule in draw(st.lists(st.sampled_from(READ), min_size=1, max_size=2)))
    more = draw(st.sampled_from(("", "boxplus[{n}] also(X) :- also(X). also(X) :- off(X). q(X) :- also(X), tick(X).")))
    return f"{INPUTS}on(X) :- go(X). {rounds} {read} {filled(more)} output q."


@st.composite
def facts(draw: st.DrawFn) -> list[tuple[str, str, int, int | None]]:
    """Facts with far gaps between them, in order; some hold for long, or for ever."""
    names, values = st.sampled_from(("go", "go", "off", "tick", "tick", "enabled")), st.sampled_from("ab")
    found = [("go", "a", 0, 0)]
    for name, value, at in draw(st.lists(st.tuples(names, values, TIMES), min_size=2, max_size=9)):
        length = draw(st.sampled_from((0, 0, 3, 200))) if name == "enabled" else 0
        is_endless = name == "enabled" and draw(st.booleans())
        found.append((name, value, at, None if is_endless else at + length))
    return sorted(found, key=lambda fact: fact[2])


def told(
    plan: Plan, drawn: list[tuple[str, str, int, int | None]], emit: EmitMode, lateness: int, cut: int, leaps: bool
) -> Any:
    """All that is told, in any order: how soon an answer is told depends on how facts are batched. From `cut` on, it goes on
    from a snapshot."""
    session = Session(plan, emit=emit, lateness=lateness)
    found: list[Any] = []
    for number, (name, value, lo, hi) in enumerate(drawn):
        if number == cut:
            state = json.loads(json.dumps(session.snapshot()))
            session = Session(plan, emit=emit, lateness=lateness)
            session.restore(state)
        if not leaps:
            session._leaps = None
        session.push(name, [value], interval=f"[{lo},{'inf)' if hi is None else f'{hi}]'}")
        found += session.pull_records()
    session.finish()
    found += session.pull_records()
    answers = runs_of(found) if emit == "intervals" else sorted(shown(plan, found))  # intervals may come in pieces
    return answers, session.unfinished()


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Leaps are looked at early; which of those that were looked at were passed by."""
    monkeypatch.setattr(leap, "FIRST_MOMENTS", 2)
    monkeypatch.setattr(leap, "ROWS_FOR_A_MOMENT", 1_000)
    found: list[bool] = []
    move = leap.Leaps._move

    def noted(self: leap.Leaps, *args: Any) -> bool:
        before = self._network
        more = move(self, *args)
        found.append(self._network is not before)
        return more

    monkeypatch.setattr(leap.Leaps, "_move", noted)
    yield found


@pytest.mark.parametrize("emit", ["changes", "final", "intervals"])
def test_leaps_that_are_passed_by_tell_what_rounds_tell(emit: EmitMode, passed: list[bool]) -> None:
    """Whatever rests on the recursion, with lateness, and going on from snapshots."""

    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        text, drawn = data.draw(programs()), data.draw(facts())
        lateness, cut = data.draw(st.sampled_from((0, 0, 4))), data.draw(st.integers(1, len(drawn)))
        try:
            plan = tidelog.compile(text)
        except ProgramError:
            return
        with limits(**data.draw(some_limits())):
            expected = told(plan, drawn, emit, lateness, cut, leaps=False)
            assert told(plan, drawn, emit, lateness, cut, leaps=True) == expected, text

    check()
    assert any(passed)


HERE = "timeline integer. input go. input tick. input off. input enabled. on :- go. "


@pytest.mark.parametrize(
    ("rules", "facts", "expected"),
    [
        ("boxplus[2] on :- on. q :- tick, on.", ["go@0", "tick@1000000000000"], ["q@1000000000000"]),
        ("boxplus[2] on :- on. q :- tick, on.", ["go@0", "tick@1000000000001"], []),
        ("boxplus[2] on :- on. q :- tick, not on.", ["go@0", "tick@999999999999"], ["q@999999999999"]),
        ("on :- diamondminus[7] on, not off. q :- tick, on.", ["go@3", "off@9", "tick@700000000003"], ["q@700000000003"]),
        ("on :- diamondminus[7] on, not off. q :- tick, on.", ["go@3", "off@10", "tick@700000000003"], []),
        ("on :- diamondminus[4] on, not diamondminus[1,3] on. q :- tick, on.", ["go@1", "tick@400000000001"],
         ["q@400000000001"]),
        ("on :- diamondminus[2] on, enabled. q :- tick, on.", ["enabled@[0,700000000000]", "go@0", "tick@700000000000"],
         ["q@700000000000"]),
        ("on :- diamondminus[2] on, enabled. q :- tick, on.", ["enabled@[0,700000000000]", "go@0", "tick@700000000002"], []),
        ("boxplus[3] b :- on. boxplus[5] on :- b. q :- tick, b.", ["go@0", "tick@800000000003"], ["q@800000000003"]),
        ("boxplus[3] on :- on. boxplus[4] b :- b. b :- go. q :- on, b, tick.", ["go@0", "tick@120000000000"],
         ["q@120000000000"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("emit", ["changes", "final"])
def test_cost_does_not_follow_the_length_of_a_leap(
    rules: str, facts: list[str], expected: list[str], emit: EmitMode
) -> None:
    """However far it is: what holds behind it is known, by some hundred evaluations of each step, and few rows."""
    plan = plan_of(f"{HERE}{rules} output q.")
    session = Session(plan, emit=emit, max_state=2_000)
    for record in records(plan, facts):
        session.push_records([record])
    assert max(step.evaluations for step in session.statistics().steps.values()) < 3_000
    session.push("off", [], 2 * 10**12)  # a leap at whose end all is decided
    told = [record for record in session.pull_records() if record[3] < POS]
    assert shown(plan, told) == expected


def test_what_goes_on_without_a_gap_is_told_once() -> None:
    """Each round goes on where the one before it ends: that is no answer before its end."""
    plan = plan_of(f"{HERE} boxplus[0,2] on :- on. output on.")
    session = Session(plan, emit="changes", max_state=2_000)
    session.push("go", [], 5)
    session.push("tick", [], 10**12)
    assert shown(plan, session.pull_records()) == ["on@[5.."]
    session.finish()
    assert shown(plan, session.pull_records()) == ["on@[5,1000000000003]"]


def test_what_comes_again_as_an_answer_is_told_each_time() -> None:
    """Each repetition is an answer: it is told, within the bound on memory, which the error names."""
    plan = plan_of(f"{HERE} boxplus[2] on :- on. output on.")
    session = Session(plan, emit="changes", max_state=2_000)
    session.push("go", [], 0)
    session.push("tick", [], 1_000)
    assert len(session.pull_records()) == 1_001
    with pytest.raises(StateError, match=r"beyond 2,000 rows"):
        session.push("tick", [], 10**12)


def test_a_stream_goes_on_behind_leaps() -> None:
    """What begins and ends behind a leap does so as ever, and the next leap has another period."""
    plan = plan_of(f"{HERE} on :- diamondminus[3] on, not off. boxplus[5] on :- enabled. q :- tick, on. output q.")
    session = Session(plan)
    session.push("go", [], 0)
    session.push("tick", [], 3 * 10**11)
    session.push("off", [], 3 * 10**11 + 3)
    session.push("tick", [], 6 * 10**11)
    session.push("enabled", [], 6 * 10**11 + 2)
    session.push("tick", [], 9 * 10**11 + 1)
    session.push("tick", [], 9 * 10**11 + 4)
    session.finish()
    assert shown(plan, session.pull_records()) == ["q@300000000000", "q@900000000001", "q@900000000004"]
