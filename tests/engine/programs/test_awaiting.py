"""What looks ahead without an end: certain as soon as what it looks for has come, and refused where its absence matters."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import tidelog
from engine.running import plan_of, records, session_answers, shown
from oracle.agreement import runs_of
from tidelog import ProgramError, Session
from tidelog.plans.analysis.horizons.growth import growth_hints
from tidelog.plans.diagnostics.errors import StateError
from tidelog.runtime.ports.interfaces import EmitMode

INPUTS = "timeline integer. input p(x: text). input s(x: text). input off(x: text)."


def test_it_is_told_as_soon_as_it_is_certain() -> None:
    """Each fact tells what it makes certain, and no time twice."""
    plan = plan_of(f"{INPUTS} q(X) :- s(X), diamondplus[2,inf) p(X). output q.")
    session = Session(plan)
    told = []
    for fact in ("s(a)@1", "s(a)@[3,6]", "p(a)@4", "p(b)@5", "p(a)@7", "s(a)@9"):
        session.push_records(records(plan, [fact]))
        told.append(shown(plan, session.pull_records()))
    session.finish()
    assert told == [[], [], ["q(a)@1"], [], ["q(a)@[3,5]"], []]
    assert session.pull_records() == []


def test_until_without_an_end_is_open_as_long_as_its_left_side_holds() -> None:
    """The left side is a negation that goes on; what ends it decides what came before."""
    rules = f"{INPUTS} q(X) :- (s(X), not off(X)) until[1,inf) p(X). output q."
    facts = ["s(a)@[1,9]", "off(a)@3", "p(a)@6", "p(a)@8"]
    assert session_answers(rules, facts, emit="final") == ["q(a)@[3,7]"]
    plan = plan_of(rules)
    session = Session(plan)
    session.push_records(records(plan, facts[:3]))
    assert runs_of(session.pull_records()) == {("q", ("a",)): [(3, 5)]}


def test_what_begins_at_no_finite_time_has_begun() -> None:
    """Where it ends is known at the stream's end alone."""
    plan = plan_of(f"{INPUTS} q(X) :- diamondplus[0,inf) p(X). output q.")
    session = Session(plan, emit="changes")
    session.push_records(records(plan, ["p(a)@3"]))
    assert shown(plan, session.pull_records()) == ["q(a)@(-inf.."]
    session.push_records(records(plan, ["p(a)@8"]))
    assert session.pull_records() == []
    session.finish()
    assert shown(plan, session.pull_records()) == ["q(a)@(-inf,8]"]


def test_over_facts_of_the_program_all_is_known() -> None:
    """No stream feeds it, so that its absence is known, too."""
    rules = "timeline integer. input s(x: text). p(a)@7. r(X) :- s(X), not diamondplus[0,inf) p(X). output r."
    assert session_answers(rules, ["s(a)@5", "s(a)@8", "s(b)@9"], finish=False) == ["r(a)@8", "r(b)@9"]


@pytest.mark.parametrize(
    "rule",
    [
        "r(X) :- s(X), not q(X).",
        "r(X) :- s(X), not diamondminus[0,3] q(X).",
        "r(N) :- N = count() over q(X) in [5].",
        "r(X) :- q(X), always q(X) in [3].",
        "r(X) :- latest q(X) in [9].",
        "r(X) := on :- q(X).",
        "u(X) :- s(X), not q(X). r(X) :- u(X).",
        "r(X) :- s(X), not (off(X) until[3,inf) p(X)).",
    ],
)
def test_where_its_absence_matters_it_is_refused(rule: str) -> None:
    """The message says which rule would have to know, and which looks ahead."""
    with pytest.raises(ProgramError) as refused:
        plan_of(f"{INPUTS} q(X) :- diamondplus[1,inf) p(X). {rule} output r.")
    (problem,) = refused.value.diagnostics
    assert problem.code == "infinite-delay"
    assert "has to know when something does not hold that looks ahead without end" in problem.message
    assert problem.span.end > problem.span.start


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("q(X) :- diamondplus[1,inf) q(X). q(X) :- p(X).", "looks ahead without end"),
        ("q(X) :- boxplus[1,inf) p(X).", "looks ahead without end"),
        ("alarm q(x: text), priority high. q(X) :- diamondplus[1,inf) p(X).", "alarm `q` looks ahead without end"),
    ],
)
def test_recursion_boxes_and_alarms_are_refused(rules: str, message: str) -> None:
    """A round that never ends, what no one time makes certain, and what people are to answer."""
    output = "" if "alarm" in rules else "output q."
    with pytest.raises(ProgramError, match="infinite-delay") as refused:
        plan_of(f"{INPUTS} {rules} {output}")
    assert message in str(refused.value)


def test_what_waits_counts_for_the_bound_on_memory() -> None:
    """Facts that wait for a partner, and points at which nothing is known yet."""
    plan = plan_of(f"{INPUTS} q(X) :- s(X), diamondplus[0,inf) p(X). r(X) :- diamondplus[0,inf) p(X). output q, r.")
    assert all("is open until what it looks for comes" in hint.why for hint in growth_hints(plan))
    assert {hint.rule.partition(" ")[0] for hint in growth_hints(plan)} == {"q(X)", "r(X)"}
    open_facts: dict[EmitMode, list[str]] = {
        "intervals": [f"s(a)@{2 * t}" for t in range(60)],
        "points": [f"p(a)@{t}" for t in range(60)],
    }
    for emit, facts in open_facts.items():
        session = Session(plan, emit=emit, max_state=40)
        with pytest.raises(StateError, match="beyond 40 rows"):
            session.push_records(records(plan, facts))
            session.push_records(records(plan, facts[-1:]))


@pytest.mark.parametrize("batch", [1, 400])
def test_hundreds_of_rows_hold_as_in_batch(batch: int) -> None:
    """Fact by fact or all at once: what batch reasoning finds over the same facts."""
    text = (
        f"{INPUTS} q(X) :- s(X), diamondplus[2,inf) p(X). r(X) :- q(X), not off(X). "
        "u(X) :- (s(X), not off(X)) until[1,inf) p(X). v(X) :- diamondminus[0,3] q(X). output q, r, u, v."
    )
    draw = random.Random(1)
    names = [draw.choice(("s", "s", "p", "off")) for _ in range(400)]
    facts = [f"{name}(k{draw.randrange(150)})@[{t},{t + draw.randrange(9)}]" for t, name in enumerate(names)]
    plan = plan_of(text)
    session = Session(plan, emit="final")
    given = records(plan, facts)
    for i in range(0, len(given), batch):
        session.push_records(given[i : i + batch])
    session.finish()
    found = Counter(shown(plan, session.pull_records()))
    whole = tidelog.Materialisation(tidelog.compile_batch(text))
    whole.load(given)
    whole.run()
    assert found == Counter(fact for fact in shown(plan, whole.facts()) if fact[0] in "qruv")
