"""Machines in runs with a state: killed at drawn moments, and with another program from a drawn moment on."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
from engine.running import BACKENDS, multiset
from engine.runs.test_engine_equals_session import _within, session_records
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from oracle.agreement import records_of
from oracle.machine_programs import events, machine_programs
from state.changing import Memory, half
from state.test_changed_program import assert_it_goes_on
from state.test_drawn_kills import Life, answers_of, hands, often
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.language.parser import parse
from tidelog.runtime.network import clock
from tidelog.runtime.ports.interfaces import EmitMode

__all__ = ["often"]

pytestmark = pytest.mark.usefixtures("soon_given_up")

LIMIT = Fraction(40)
"""Up to here answers are compared: what is assigned last holds for ever."""


@pytest.fixture
def soon_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that never comes to rest is not followed far beyond the stream's end: each run follows it anew."""
    monkeypatch.setattr(clock, "END_PASSES", 50)


@pytest.mark.long
@pytest.mark.usefixtures("no_threads", "often")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("emit", ["intervals", "changes"])
@drawn(8)
@given(data=st.data())
def test_killed_at_drawn_moments_a_machine_goes_on(backend: str, emit: EmitMode, data: st.DataObject) -> None:
    """With up to two sources, and snapshots now and then: no assignment is lost, and none is made twice."""
    text = data.draw(machine_programs())
    plan = compile_program(parse(text))
    records = records_of(plan, data.draw(events()))
    life = Life(plan, data.draw(hands(records, 2)), emit)
    answers = answers_of(data, backend, life, has_clock=False)
    expected = session_records(plan, records, emit)
    if emit == "changes":
        assert multiset(answers) == multiset(expected), text
    else:
        assert _within(plan, answers, LIMIT) == _within(plan, expected, LIMIT), text


@pytest.mark.slow
@drawn(20)
@given(data=st.data())
def test_a_machine_goes_on_in_a_changed_program(data: st.DataObject) -> None:
    """Written anew, with more rules or fewer: of what means the same, it tells what an undisturbed run tells."""
    text = data.draw(machine_programs())
    smaller = "\n".join(_without_some(data, text.splitlines()))
    before, now = (smaller, text) if data.draw(st.booleans()) else (text, smaller)
    assert_it_goes_on(parse(before), parse(now), data.draw(events()), data)


def _without_some(data: st.DataObject, lines: list[str]) -> Iterator[str]:
    """The program without some of its assignments; the first one of each machine stays."""
    assigned: set[str] = set()
    for line in lines:
        machine = line.partition("(")[0] if ":=" in line else ""
        if machine in assigned and data.draw(st.booleans()):
            continue
        assigned |= {machine} if machine else set()
        yield line


def test_what_waits_in_a_machine_goes_on_behind_a_change() -> None:
    """With another rule beside it, and its own written in another order; it was a KeyError."""
    rules = ["m(K) := on :- e(K), not m(K, on).", "m(K) := off :- m(K, on) for 3."]
    begin = "timeline integer. input e(k). output m, seen. "
    was = compile_program(parse(begin + " ".join(rules) + " seen(K) :- m(K, off)."))
    now = compile_program(parse(begin + " ".join(reversed(rules)) + " seen(K) :- m(K, on)."))
    facts = [("e", ("a",), 1, 1), ("e", ("b",), 3, 3), ("e", ("a",), 9, 9)]
    store, undisturbed = Memory(), Memory()
    half(was, store, facts[:2], emit="final")
    more, _ = half(now, store, facts, last=True, reload="drop", emit="final")
    half(was, undisturbed, facts[:2], emit="final")
    expected, _ = half(was, undisturbed, facts, last=True, emit="final")
    assert [record for record in more if record[0] == "m"] == [record for record in expected if record[0] == "m"]
    assert {record[1] for record in more if record[0] == "m"} == {("a", "on"), ("a", "off"), ("b", "on"), ("b", "off")}
