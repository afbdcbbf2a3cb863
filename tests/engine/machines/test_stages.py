"""Machines in stages tell what one session tells: each key in a session of its own, which may be stored and woken."""

from __future__ import annotations

from fractions import Fraction

from analysis.test_stages import agree
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from drawing import drawn
from oracle.evaluate import GroundFact
from oracle.machine_programs import events, machine_programs
from tidelog import compile as compiled
from tidelog.plans.language.parser import parse
from tidelog.plans.stages.stages import stages_of
from tidelog.plans.tree.syntax import Interval


def at(name: str, key: str, time: int) -> GroundFact:
    return name, (key,), Interval(Fraction(time), Fraction(time))


@drawn(20, suppress_health_check=list(HealthCheck))
@given(machine_programs(), events(), st.lists(st.integers(0, 12), max_size=3))
@example(
    "timeline integer. input e(k). input f(k). output m. m(K) := on :- e(K), not m(K, on). m(K) := off :- m(K, on) for 2.",
    [at("e", "a", 1), at("e", "b", 2), at("e", "a", 2), at("e", "a", 9)],
    [1, 2, 3],
)
def test_stages_agree_with_one_session(text: str, facts: list[GroundFact], cuts: list[int]) -> None:
    """Of maximal intervals, of what is told at once, and of changes, with sessions that live on, or go on from snapshots."""
    inside = sorted(cut for cut in cuts if cut <= len(facts))
    agree(parse(text), facts, inside, Fraction(0))


def test_the_key_of_a_machine_is_one_of_its_stage() -> None:
    """What each of many valves does depends on no other one."""
    text = "timeline integer. input open(v). input shut(v). output valve, long."
    rules = "valve(V) := on :- open(V), not valve(V, on). valve(V) := none :- shut(V). long(V) :- valve(V, on) for 9."
    (stage,) = stages_of(compiled(f"{text} {rules}")).stages
    assert stage.key is not None
    assert {name: place for name, place in stage.key.items() if "'" not in name and ":=" not in name}.items() >= {
        ("open", 0),
        ("shut", 0),
        ("valve", 0),
        ("long", 0),
    }
