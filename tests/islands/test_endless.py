"""Machines that never come to rest, and what rests on them: how far they are followed behind the stream's end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from engine.running import records, shown
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from islands.scripts import LAYOUTS, MODES, heard_of, session_of, takes
from oracle.agreement import runs_of
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.islands.spreading import Layout
from tidelog.runtime.network import clock
from tidelog.runtime.ports.interfaces import Batch, EmitMode
from tidelog.runtime.sessions.settings import SOURCE, Settings

INPUTS = "timeline integer. input a(x). input b(x). input other()."
FIRST = (
    "mo(X) := on :- a(X), not mo(X,on). mo(X) := off :- mo(X,on) for 3.",
    "mo(X) := on :- a(X), not mo(X,on). mo(X) := off :- b(X), mo(X,on).",
    "mo(X) := on :- a(X). mo(X) := none :- mo(X,on) for 2.",
)
SECOND = (
    "",
    "q(X) :- a(X), not mo(X,on).",
    "q(X) :- b(X), not diamondminus[0,2] mo(X,on).",
    "q(X) := low :- mo(X,on), not q(X,low). q(X) := high :- q(X,low) for 2.",
    "q(X,N) :- N = count() over mo(X,on) in [2] by X.",
    "q(N) :- N = count() over mo(_,on) in [2].",
    "q(X) :- mo(X,on), mo(_,off). bottom :- a(X), not mo(X,on).",
)


@pytest.fixture(autouse=True)
def soon_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no end is not followed far."""
    monkeypatch.setattr(clock, "END_PASSES", 12)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Plan, list[Record]]:
    """Facts of some devices, some of which hold for ever."""
    plan = tidelog.compile(f"{INPUTS} {draw(st.sampled_from(FIRST))} {draw(st.sampled_from(SECOND))}")
    facts: list[Record] = []
    for _ in range(draw(st.integers(1, 7))):
        name, row = draw(st.sampled_from(("a", "a", "b"))), draw(st.sampled_from(("x", "y", 1)))
        lo = draw(st.integers(0, 12))
        facts.append((name, (row,), lo, draw(st.sampled_from((lo, lo, lo + 4, POS)))))
    if draw(st.booleans()):
        facts.append(("other", (), (at := draw(st.integers(0, 20))), at))
    return plan, sorted(facts, key=lambda fact: fact[2])


@drawn(60)
@given(histories(), st.sampled_from(LAYOUTS), st.sampled_from(MODES), st.sampled_from((1, 3, 20)))
def test_they_are_followed_as_far_in_all_layouts(
    history: tuple[Plan, list[Record]], layout: Layout, emit: EmitMode, size: int
) -> None:
    """Each shard followed its own rows as far as its own facts went."""
    plan, facts = history
    steps = [takes(SOURCE, Batch(facts[i : i + size])) for i in range(0, len(facts), size)]
    steps.append(lambda session: session.end(SOURCE))
    settings = Settings(emit=emit)
    expected = heard_of(session_of(plan, settings, None), steps)
    assert heard_of(session_of(plan, settings, layout), steps).differences(expected) == {}


@drawn(60)
@given(histories(), st.integers(0, 9))
def test_what_is_told_of_them_holds(history: tuple[Plan, list[Record]], behind: int) -> None:
    """A fact that no rule reads lets them be followed further, and takes back nothing: their absence was taken for known."""
    plan, facts = history
    later = max(lo for _, _, lo, _ in facts) + behind
    told = runs_of(_told(plan, facts))
    more = runs_of(_told(plan, [*facts, ("other", (), later, later)]))
    for row, runs in told.items():
        for lo, hi in runs:
            assert any(low <= lo and hi <= high for low, high in more.get(row, [])), (row, lo, hi)


@pytest.mark.parametrize("layout", [Layout(shards=3), Layout(workers=3)], ids=["shards", "workers"])
def test_the_last_time_of_any_shard_counts(layout: Layout) -> None:
    """A shard without an endless row went on for ever, one with an early last fact stopped there."""
    plan = tidelog.compile(f"{INPUTS} {FIRST[0]} output mo.")
    facts = records(plan, ["a(x)@0", "a(1)@[9,inf)"])
    steps = [takes(SOURCE, Batch(facts)), lambda session: session.end(SOURCE)]
    heard = heard_of(session_of(plan, Settings(emit="final"), layout), steps)
    assert heard.answers == {("mo", ("x", "on")): [[1, 4]], ("mo", ("x", "off")): [[5, 9]]}
    assert heard.unfinished == ["the recursion through mo, mo := has no end: followed up to 9"]


def _told(plan: Plan, facts: Sequence[Record]) -> list[Record]:
    session = tidelog.Session(plan)
    session.push_records(facts)
    session.finish()
    return session.pull_records()


def test_what_rests_on_their_absence_is_told_as_far_as_they_are_known() -> None:
    """It was told for ever that the machine is not on."""
    plan = tidelog.compile(f"{INPUTS} {FIRST[0]} {SECOND[1]} output q.")
    assert shown(plan, _told(plan, records(plan, ["a(x)@[0,inf)"]))) == ["q(x)@0"]
