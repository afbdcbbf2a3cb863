"""The papers' examples: what they derive, the engine derives."""

from __future__ import annotations

import pytest

from engine.running import BACKENDS, engine_answers, plan_of, records, session_answers, shown
from tidelog import MemorySource, Session
from tidelog.operators.stores.amortised import LIMITS

METEOR = """
R1(X,Y) :- Boxminus[1,1]R1(X,Y)
Boxplus[1,1]R5(Y) :- R2(X,Y), Boxplus[1,2]R3(Y,Z)
R4(X) :- Diamondminus[0,1]R5(X)
R6(Y) :- R1(X,Y), Boxminus[0,2]R4(Y), R5(Y)
"""
DATASET = ["R1(c1,c2)@[0,1]", "R5(c2)@[0,1]", "R2(c1,c2)@[1,2]", "R3(c2,c3)@[2,3]"]


def test_example_4_1_of_meteor() -> None:
    """Wang et al., MeTeoR, Example 4.1: R5@2, R4@[0,3] and R6@2 are derived, and R1 goes on without end."""
    plan = plan_of(METEOR)
    session = Session(plan, emit="final")
    session.push_records(records(plan, DATASET))
    session.finish()
    answers = set(shown(plan, session.pull_records()))
    assert {"R5(c2)@[0,1]", "R5(c2)@2", "R4(c2)@[0,3]", "R6(c2)@2"} <= answers
    assert not [answer for answer in answers if answer.startswith("R6") and answer != "R6(c2)@2"]
    assert session.unfinished() == ["the recursion through R1 has no end: followed up to 2"]


def test_the_input_fact_of_example_4_1_is_entailed() -> None:
    """R1(c1,c2)@4, the fact that the example asks for, is derived once the stream's time is there."""
    plan = plan_of(METEOR)
    session = Session(plan)
    session.push_records(records(plan, DATASET))
    session.advance(4)
    at_four = plan.timeline.encode_point(4)
    assert [name for name, _, lo, hi in session.pull_records() if lo <= at_four <= hi and name == "R1"] == ["R1"]


def test_example_4_1_has_the_delay_of_its_future_operator() -> None:
    """R5 looks ahead by 2 less 1, so what it feeds waits for one unit of time; R1 waits for nothing."""
    plan = plan_of(METEOR)
    one = plan.timeline.encode_point(1)
    assert {name: plan.leads[name] for name in ("R1", "R4", "R5", "R6")} == {
        "R1": 0,
        "R4": -one,
        "R5": -one,
        "R6": -one,
    }


NETWORK = """
timeline rational, resolution 0.1.
input Signal(z). input Monit0(x,z). input Connect(x,y).
Flag(X,Z) :- Monit(X,Z), boxminus[0,4] diamondminus[0,2] Signal(Z).
boxplus[0,3] Monit(X,Z) :- Flag(Y,Z), Connect(X,Y).
Monit(X,Z) :- Monit0(X,Z).
output Flag, Monit.
"""


def readings(first: int, last: int, gap: int) -> list[str]:
    return [f"Signal(s)@{time}" for time in range(first, last + 1, gap)]


def test_example_1_of_stream_reasoning_with_datalogmtl() -> None:
    """Wałęga et al. 2023, Example 1: a flag travels from neighbour to neighbour; who monitors, does so for 3 more."""
    facts = [
        "Connect(n2,n1)@[0,100]",
        "Connect(n3,n2)@[0,100]",
        "Monit0(n1,s)@0",
        *readings(0, 4, 2),
        "Monit0(n1,s)@[5,6]",
    ]
    found = session_answers(NETWORK, facts, emit="final")
    assert set(found) == {
        "Monit(n1,s)@0", "Monit(n1,s)@[5,6]", "Flag(n1,s)@[5,6]",
        "Monit(n2,s)@[5,9]", "Flag(n2,s)@[5,6]", "Monit(n3,s)@[5,9]", "Flag(n3,s)@[5,6]",
    }  # fmt: skip


def test_gaps_longer_than_two_break_example_1() -> None:
    """With readings 3 apart the signal is not received continuously, and nothing is flagged."""
    facts = ["Connect(n2,n1)@[0,100]", "Monit0(n1,s)@[0,20]", *readings(0, 20, 3)]
    assert session_answers(NETWORK, facts, emit="final") == ["Monit(n1,s)@[0,20]"]


WINDOW = """
timeline rational, resolution 0.1.
input Signal(z). input Monit(x,z).
P(Z) :- diamondminus[0,2] Signal(Z).
Q(Z) :- boxminus[0,4] P(Z).
Flag(X,Z) :- Monit(X,Z), Q(Z).
output P, Q, Flag.
"""
SIGNALS = [("96.3", "P(s1)@[963/10,983/10]"), ("98", "P(s1)@(983/10,100]"), ("100", "P(s1)@(100,102]")]


@pytest.mark.parametrize("backend", BACKENDS)
def test_example_8_of_stream_reasoning_with_datalogmtl(backend: str) -> None:
    """Example 8: Signal@100 extends P to 101 and beyond, so P' holds at 101, and n flags there."""
    plan = plan_of(WINDOW)
    facts = [*(f"Signal(s1)@{time}" for time, _ in SIGNALS), "Monit(n,s1)@101"]
    answers = engine_answers(backend, plan, [MemorySource(records(plan, facts), batch_size=1)])
    found = shown(plan, answers)
    assert "Flag(n,s1)@101" in found
    assert {text for _, text in SIGNALS} <= set(found)
    # P holds on [96.3,102], so P' = boxminus[0,4] P holds on [100.3,102]
    assert [text for text in found if text.startswith("Q")] == ["Q(s1)@[1003/10,102]"]


def test_example_9_forgets_what_lies_behind_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Example 9: at 101 with t_Π = 4, what lies before 97 is forgotten; horizons keep what still follows from it."""
    monkeypatch.setattr(LIMITS, "round", 0)
    monkeypatch.setattr(LIMITS, "often", 0)
    plan = plan_of(WINDOW)
    session = Session(plan)
    tick = plan.timeline.encode_point(1)
    for time in ("90", "90.1", "96.3", "98", "100", "101"):
        session.push_records(records(plan, [f"Signal(s1)@{time}"]))
    session.push_records(records(plan, ["Monit(n,s1)@101"]))
    ends = [
        bounds[1:] for state in session.snapshot()["network"]["graph"]["operators"].values() for bounds in _stored(state)
    ]
    assert ends
    assert all(hi > 97 * tick for _, hi in ends)
    assert all(lo >= 96 * tick for lo, _ in ends)
    assert shown(plan, session.pull_records())[-1] == "Flag(n,s1)@101"


def _stored(state: object) -> list[tuple[str, int, int]]:
    """Every range in an operator's snapshot, with nothing else."""
    found: list[tuple[str, int, int]] = []
    if isinstance(state, dict):
        for key, value in state.items():
            if key not in ("frontiers", "counters"):
                found += _stored(value)
    elif isinstance(state, list) and len(state) == 2 and all(isinstance(part, list) for part in state) and state[1:] != [[]]:
        row, bounds = state
        if bounds and all(isinstance(bound, int) for bound in bounds):
            return [(str(row), bounds[i], bounds[i + 1]) for i in range(0, len(bounds), 2)]
        return [item for part in state for item in _stored(part)]
    elif isinstance(state, list):
        found += [item for part in state for item in _stored(part)]
    return found


SHORT_STOP = """
NotPos(V) :- NotOnMap(V)
ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]NotPos(V)
ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]Pos(V), Boxminus[3,3]NotPos(V)
ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]Pos(V), Boxminus[3,3]Pos(V), Boxminus[4,4]NotPos(V)
ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]Pos(V), Boxminus[3,3]Pos(V), Boxminus[4,4]Pos(V),
  Boxminus[5,5]NotPos(V)
output ShortStop
"""


@pytest.mark.parametrize("emit", ["intervals", "final", "points"])
def test_short_stop(emit: str) -> None:
    """Section 7.2 of Wałęga et al. 2023: stops of one to four seconds are told when they end, longer ones are not."""
    track = {"v1": "npnppnpppnppppnpppppn", "v2": "mpmppppppm", "v3": "pppppppppp"}
    names = {"n": "NotPos", "p": "Pos", "m": "NotOnMap"}
    facts = sorted(
        (second, f"{names[state]}({vehicle})@{second}")
        for vehicle, states in track.items()
        for second, state in enumerate(states)
    )
    found = session_answers(SHORT_STOP, [fact for _, fact in facts], emit=emit)
    assert sorted(found) == sorted([*(f"ShortStop(v1)@{t}" for t in (2, 5, 9, 14)), "ShortStop(v2)@2"])


def test_laser_window_from_consideration_to_horizon() -> None:
    """Bazoobandi et al., Laser 2: highTemp at 2 makes a warning hold from 2 to 12, and at 3 only one tick longer."""
    text = "timeline integer. warning(X) :- highTemp(X) in [10]."
    assert session_answers(text, ["highTemp(b1)@2", "highTemp(b1)@3"]) == ["warning(b1)@[2,12]", "warning(b1)@13"]
    assert session_answers(text, ["highTemp(b1)@2", "highTemp(b1)@3"], emit="points") == [
        "warning(b1)@2",
        "warning(b1)@3",
    ]


# --- since, with nothing in between -------------------------------------------------------------------------------------


@pytest.mark.parametrize("facts", [["n(a)@1"], ["m(b,y)@0", "n(a)@1"]])
def test_since_without_its_left_side_at_distance_zero(facts: list[str]) -> None:
    """At distance 0 nothing lies in between, so `m` need not hold: also where a variable stands on the left side alone."""
    found = session_answers("h(X) :- m(X,Y) since[0,5] n(X).", facts)
    assert found == ["h(a)@1"]


def test_since_needs_its_left_side_at_longer_distances() -> None:
    """Beyond distance 0, one and the same Y must hold all the time in between."""
    text = "timeline integer. h(X) :- m(X,Y) since[0,5] n(X)."
    assert session_answers(text, ["n(a)@1", "m(a,y)@2", "m(a,z)@3"], emit="final") == ["h(a)@[1,3]"]
    assert session_answers(text, ["n(a)@1", "m(a,y)@2", "m(a,y)@3"], emit="final") == ["h(a)@[1,4]"]


def test_since_whose_left_variable_is_used_elsewhere() -> None:
    """Where another atom binds the variable, distance 0 holds for each of its values."""
    text = "h(X,Y) :- (m(X,Y) since[0,5] n(X)), q(Y)."
    found = session_answers(text, ["n(a)@1", "q(u)@1", "q(v)@1", "m(a,v)@[1,3]", "q(u)@2", "q(v)@3"], emit="final")
    assert found == ["h(a,u)@1", "h(a,v)@1", "h(a,v)@3"]
