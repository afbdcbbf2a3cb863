"""The examples of Cruz-Filipe, Gaspar and Nunes 2020, with exactly the sets that stand there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

import tidelog
from oracle.hypothetical_agreement import is_instance
from tidelog import HypotheticalAnswer, ProgramError, Session
from tidelog.operators.ask.asker import Asker
from tidelog.operators.sld.unfold import unfold
from tidelog.plans.plan.preconditions import Unfolding

INPUT = "timeline integer.\ninput temp(device, level).\n"
MALFUNCTIONS = f"""{INPUT}
flag(X)@T :- temp(X, high)@T.
cool(X)@T+1 :- flag(X)@T, flag(X)@T+1.
shdn(X)@T+1 :- cool(X)@T, flag(X)@T+1.
malf(X)@T-2 :- shdn(X)@T.
"""
DEFECTS = f"""{MALFUNCTIONS}
defective(X)@T :- temp(X, high)@T1, temp(X, na)@T2, T = 0.
"""
ENDLESS = """
timeline integer.
input r(x).
s(X)@T+1 :- s(X)@T.
s(X)@T :- r(X)@T.
"""
Told = tuple[Mapping[str, object], str, list[str], list[str]]


def unfolded(text: str, query: str, depth: int | None = None) -> Unfolding:
    """𝒫_Q of a query."""
    plan = tidelog.compile(text, queries=[query], outputs=False, depth=depth)
    return unfold(plan.questions[0], plan.facts)


def asker(text: str, query: str, depth: int | None = None) -> Asker:
    """What keeps the supported answers of a query."""
    plan = tidelog.compile(text, queries=[query], outputs=False, depth=depth)
    return Asker(plan.questions[0], unfold(plan.questions[0], plan.facts))


def pass_time(asked: Asker, facts: Sequence[tuple[str, str]], time: int) -> list[Told]:
    """D_τ: all that has come up to a time point; what is told then."""
    return [shown(line) for line in asked.receive([("temp", row, time, time) for row in facts], time, 0)]


def shown(line: HypotheticalAnswer) -> Told:
    """⟨θ, E, H⟩ as the paper writes it, and its status."""
    return (
        dict(line.answer),
        line.status,
        [str(each) for each in line.evidence],
        [str(each) for each in line.hypotheses],
    )


def supported(asked: Asker) -> list[Told]:
    """ℰ(Q, D, τ)."""
    return [shown(line) for line in asked.supported()]


def temp(device: str, *times: int, level: str = "high") -> list[str]:
    return [f"temp({device},{level})@{time}" for time in times]


def test_example_1_an_answer_arrives_once_all_facts_have() -> None:
    """D₀ and D₁ give no answer to ⟨Malf(X,T), Π_E⟩; D₂ gives X=wt25, T=0."""
    session = Session(tidelog.compile(f"{MALFUNCTIONS}\nask malf(X)@T."), start=0)
    certain = []
    for time in range(3):
        session.push("temp", ["wt25", "high"], time)
        lines = [line for line in session.pull_hypothetical() if line.status == "certain"]
        certain.append([dict(line.answer) for line in lines])
    assert certain == [[], [], [{"X": "wt25", "T": 0}]]
    session.finish()
    assert "malf(wt25)@0" in [str(answer) for answer in session.pull()]


def test_example_2_hypotheses_become_fewer() -> None:
    """wt25 needs {1, 2}, then {2}, then nothing; wt42 at 1 is hypothetical at 0, and no more when it did not report at 1."""
    asked = asker(MALFUNCTIONS, "malf(X)@T")
    told = [pass_time(asked, [("wt25", "high")], time) for time in range(3)]
    found = [[line[3] for line in lines if line[0] == {"X": "wt25", "T": 0}] for lines in told]
    assert found == [[temp("wt25", 1, 2)], [temp("wt25", 2)], [[]]]
    # ⟨θ', H'₀⟩ with no evidence: an instance of the precondition, while no premise of it lies in the past
    (precondition,) = unfolded(MALFUNCTIONS, "malf(X)@T").main.preconditions
    assert is_instance(precondition, ("wt42", 1), [("temp", ("wt42", "high"), time) for time in (1, 2, 3)], 0)


def test_example_3_evidence_grows() -> None:
    """E₀ = {Temp(wt25,high,0)} supports ⟨θ, H₀⟩ and E₁ adds Temp(wt25,high,1); θ' is never supported."""
    asked = asker(MALFUNCTIONS, "malf(X)@T")
    assert pass_time(asked, [("wt25", "high")], 0) == [
        ({"X": "wt25", "T": 0}, "possible", temp("wt25", 0), temp("wt25", 1, 2))
    ]
    assert supported(asked) == [({"X": "wt25", "T": 0}, "possible", temp("wt25", 0), temp("wt25", 1, 2))]
    assert pass_time(asked, [("wt25", "high")], 1) == [
        ({"X": "wt25", "T": 0}, "possible", temp("wt25", 0, 1), temp("wt25", 2)),
        ({"X": "wt25", "T": 1}, "possible", temp("wt25", 1), temp("wt25", 2, 3)),
    ]


def test_section_3_a_shutdown_may_lie_ahead() -> None:
    """[X := wt25, T := 2] is told at time point 0 for ⟨Shdn(X,T), Π_E⟩."""
    asked = asker(MALFUNCTIONS, "shdn(X)@T")
    assert pass_time(asked, [("wt25", "high")], 0) == [
        ({"X": "wt25", "T": 2}, "possible", temp("wt25", 0), temp("wt25", 1, 2))
    ]


def test_example_6_a_redundant_premise_is_left_out() -> None:
    """R(a,T) needs P(a,T); the derivation that needs Q(a,T) as well gives no minimal set."""
    text = "timeline integer.\ninput p(x).\ninput q(x).\nr(a)@T :- p(a)@T.\nr(a)@T :- p(a)@T, q(a)@T.\n"
    (precondition,) = unfolded(text, "r(X)@T").main.preconditions
    assert is_instance(precondition, ("a", 3), [("p", ("a",), 3)], 0)


def test_example_7_endless_premises_are_refused() -> None:
    """S(X,T) → S(X,T+1): the preconditions R(a,T−k) have no end, which is told with the cycle and with the way out."""
    with pytest.raises(ProgramError) as caught:
        unfolded(ENDLESS, "s(X)@T")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "endless-ask"
    assert "s(X)@T+1 ← s(X)@T" in f"{diagnostic.message} {diagnostic.help} {diagnostic.notes}"
    assert "depth" in f"{diagnostic.help}"


@pytest.mark.parametrize("depth", [1, 3])
def test_example_7_with_a_depth_its_first_preconditions_are_there(depth: int) -> None:
    """Followed N times, R(X,T−k) for k = 0 … N are preconditions, and it is known that there are more."""
    found = unfolded(ENDLESS, "s(X)@T", depth=depth)
    assert found.is_cut
    shifts = [
        k
        for k in range(9)
        if any(is_instance(each, ("a", 9), [("r", ("a",), 9 - k)], 0) for each in found.main.preconditions)
    ]
    assert shifts == list(range(depth + 1))
    assert len(found.main.preconditions) == depth + 1


def test_example_8_an_answer_is_told_before_an_earlier_one() -> None:
    """S₁: wt42's n/a makes T=1 an answer at 1, while T=0 of wt25 still waits for one more reading."""
    asked = asker(f"{MALFUNCTIONS}malf(X)@T :- temp(X, na)@T.", "malf(X)@T")
    pass_time(asked, [("wt25", "high")], 0)
    pass_time(asked, [("wt25", "high"), ("wt42", "na")], 1)
    found = supported(asked)
    assert ({"X": "wt25", "T": 0}, "possible", temp("wt25", 0, 1), temp("wt25", 2)) in found
    assert ({"X": "wt42", "T": 1}, "certain", temp("wt42", 1, level="na"), []) in found
    # the paper's S₁ leaves out what D₁ itself begins: wt25's reading at 1 may be the first of three
    assert ({"X": "wt25", "T": 1}, "possible", temp("wt25", 1), temp("wt25", 2, 3)) in found
    assert len(found) == 3


def test_example_9_several_time_variables_unfold() -> None:
    """𝒫_Q of Defective is ⟨[T := 0], Temp(X,high,T₁) ∧ Temp(X,n/a,T₂)⟩ alone, though it is not connected."""
    (precondition,) = unfolded(DEFECTS, "defective(X)@T").main.preconditions
    facts = [("temp", ("wt25", "high"), 4), ("temp", ("wt25", "na"), 2)]
    assert is_instance(precondition, ("wt25", 0), facts, 0)
    assert precondition.answer[-1] == 0
    assert not precondition.comparisons


def test_example_10_unbound_wait_is_told() -> None:
    """S₀ has ⟨[X := wt25, T := 0], {Temp(wt25,high,0)}, {Temp(wt25,n/a,T₂)}⟩; nothing says by when it is decided."""
    asked = asker(DEFECTS, "defective(X)@T")
    (line,) = asked.receive([("temp", ("wt25", "high"), 0, 0)], 0, 0)
    assert shown(line) == ({"X": "wt25", "T": 0}, "possible", temp("wt25", 0), ["temp(wt25,na)@T2"])
    assert line.deadline is None
    assert pass_time(asked, [], 500) == []
    assert pass_time(asked, [("wt25", "na")], 501) == [
        ({"X": "wt25", "T": 0}, "certain", [*temp("wt25", 0), *temp("wt25", 501, level="na")], [])
    ]


def test_proposition_4_what_is_rejected_stays_so() -> None:
    """ΘH is anti-monotonic: wt25 at 0 is rejected at 1, when it did not report, and what comes at 2 is of other times."""
    asked = asker(MALFUNCTIONS, "malf(X)@T")
    pass_time(asked, [("wt25", "high")], 0)
    (line,) = asked.receive([], 1, 0)
    assert (dict(line.answer), line.status, str(line.failed)) == ({"X": "wt25", "T": 0}, "rejected", temp("wt25", 1)[0])
    assert [told[0] for told in pass_time(asked, [("wt25", "high")], 2)] == [{"X": "wt25", "T": 2}]
