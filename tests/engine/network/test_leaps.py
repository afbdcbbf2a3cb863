"""Leaps of time in which only what is periodic happens: passed by, with the same answers as if each round were followed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from engine.running import plan_of, shown
from limits import limits, some_limits
from oracle.agreement import runs_of
from tidelog import ProgramError, Session
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


def told(plan: Plan, drawn: list[tuple[str, str, int, int | None]], emit: EmitMode, lateness: int, cut: int, leaps: bool) -> Any:
    """All that is told, in any order: how soon an answer is told depends on how facts are batched. From `cut` on, it goes on
    from a snapshot. What has no end is named; how far it was followed depends on when it was due last."""
    session = Session(plan, emit=emit, lateness=lateness)
    records: list[Any] = []
    for number, (name, value, lo, hi) in enumerate(drawn):
        if number == cut:
            state = json.loads(json.dumps(session.snapshot()))
            session = Session(plan, emit=emit, lateness=lateness)
            session.restore(state)
        if not leaps:
            session._leaps = None
        session.push(name, [value], interval=f"[{lo},{'inf)' if hi is None else f'{hi}]'}")
        records += session.pull_records()
    session.finish()
    records += session.pull_records()
    answers = runs_of(records) if emit == "intervals" else sorted(shown(plan, records))  # intervals may come in pieces
    return answers, [note.partition(": followed")[0] for note in session.unfinished()]


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
    assert sum(passed) > 10
