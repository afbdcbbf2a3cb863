"""What goes on from each time to the next becomes `since`: only where that is the same, and with the same answers."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import pytest
from engine.test_session_equals_oracle import last_begin
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from oracle.agreement import differences, records_of
from oracle.evaluate import GroundFact
from tidelog import Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record
from tidelog.plans.language.parser import parse
from tidelog.plans.normal.normalise import normalise
from tidelog.plans.normal.times.sustain import sustain
from tidelog.plans.tree.syntax import Binary, Interval, Program

Emit = Literal["intervals", "final", "changes"]

STEPS = {
    "back": "on(S) :- diamondminus[1] on(S), not {}.",
    "negation first": "on(S) :- not {}, boxminus[1,1] on(S).",
    "or now": "on(S) :- diamondminus[0,1] on(S), not {}.",
    "brackets": "on(S) :- diamondminus(0,2) on(S), not {}.",
    "times": "on(S)@T :- on(S)@T-1, not {}@T.",
    "head": "boxplus[1] on(S) :- on(S), not {}.",
    "both one back": "on(S) :- diamondminus[1,1] (not {}, on(S)).",
}
OTHERS = {
    "two ends": "on(S) :- diamondminus[1] on(S), not {}. on(S) :- diamondminus[1] on(S), not c(S,S).",
    "further back": "on(S) :- diamondminus[2] on(S), not {}.",
    "now and before, both": "on(S) :- boxminus[0,1] on(S), not {}.",
    "now or before, at its begin": "on(S) :- diamondminus[0,1] (on(S), not {}).",
    "a condition": "on(S) :- diamondminus[1] on(S), dev(S), not {}.",
    "another row": "on(S) :- diamondminus[1] on(R), c(R,S), not {}.",
    "another predicate between": "on(S) :- diamondminus[1] was(S), not {}. was(S) :- on(S).",
    "a fact of it": "on(k1)@4. on(S) :- diamondminus[1] on(S), not {}.",
    "a base that reads it": "on(S) :- diamondminus[1] on(S), not {}. on(S) :- c(R,S), diamondminus[2] on(R).",
}
ENDS = ["down(S)", "c(S,_)", "diamondminus[0,2] down(S)", "(down(S), dev(S))", "quiet(S)"]
BASES = ["on(S) :- a(S).", "on(S) :- diamondminus[2,3] dev(S), a(S).", "on(k1) :- a(_).", "on(S) :- c(S,_), not dev(S)."]
READERS = ["alarm(S) :- boxminus[0,2] on(S).", "idle(S) :- dev(S), not on(S).", "N(S) :- a(S), diamondminus[1] on(S)."]


@st.composite
def programs(draw: st.DrawFn, steps: dict[str, str], kind: str = "integer") -> Program:
    """A predicate that goes on, with what begins and what ends it, and rules that read it."""
    end = draw(st.sampled_from(ENDS))
    step = draw(st.sampled_from(sorted(steps)))
    end = "down(S)" if step == "times" else end
    rules = [steps[step].format(end), *draw(st.lists(st.sampled_from(BASES), min_size=1, max_size=3, unique=True))]
    rules += draw(st.lists(st.sampled_from(READERS), max_size=2, unique=True))
    rules.append("quiet(S) :- dev(S), not diamondminus[0,1] a(S).")
    return parse("\n".join([f"timeline {kind}.", *draw(st.permutations(rules))]))


@st.composite
def streams(draw: st.DrawFn) -> list[GroundFact]:
    """Facts in the order in which they arrive, some of them up to three late."""
    now, found = 0, []
    for _ in range(draw(st.integers(0, 14))):
        now += draw(st.integers(0, 3))
        begin = max(now - draw(st.integers(0, 3)), 0)
        name = draw(st.sampled_from(["a", "down", "dev", "c"]))
        row = tuple(draw(st.sampled_from(["k1", "k2"])) for _ in range(2 if name == "c" else 1))
        end = begin + draw(st.sampled_from([0, 0, 0, 1, 4]))
        found.append((name, row, Interval(Fraction(begin), Fraction(end))))
    return found


def told(program: Program, facts: list[GroundFact], emit: Emit, batch: int) -> list[Record]:
    """What a run tells of facts in batches, as intervals; a begin without an end holds for ever."""
    plan = compile_program(program)
    session = Session(plan, emit=emit, lateness=3)
    records = records_of(plan, [fact for fact in facts if fact[0] in plan.schema.predicates])
    found: list[Record] = []
    for at in range(0, len(records), batch):
        session.push_records(records[at : at + batch])
        found += session.pull_records()
    session.finish()
    found += session.pull_records()
    if emit != "changes":
        return found
    changes = [record for record in found if isinstance(record, ChangeRecord)]
    ended = {record[:3] for record in changes if record.has_ended}
    return [(*record,) for record in changes if record.has_ended or record[:3] not in ended]


def is_rewritten(program: Program) -> bool:
    """Whether the pass has changed something."""
    rules = normalise(program).rules
    return rules != normalise(program, without=(sustain,)).rules


UNTIL = Fraction(48)
"""Up to here what goes on for ever is looked at; it is behind all facts."""


@pytest.mark.parametrize("emit", ["intervals", "final", "changes"])
@drawn(12)
@given(data=st.data())
def test_what_goes_on_holds_as_the_oracle_says(emit: Emit, data: st.DataObject) -> None:
    """With several begins and ends, late facts, one by one or not, each mode tells of the rewritten rules what they mean."""
    program, facts = data.draw(programs(STEPS)), data.draw(streams())
    assert is_rewritten(program)
    answers = told(program, facts, emit, data.draw(st.sampled_from([1, 3, 100])))
    assert not differences(program, facts, answers, UNTIL)


@drawn(12)
@given(data=st.data())
def test_what_is_not_the_same_is_left(data: st.DataObject) -> None:
    """Rules that look alike and mean something else stay as they are, and hold as the oracle says."""
    program, facts = data.draw(programs(OTHERS)), data.draw(streams())
    assert not is_rewritten(program)
    read = compile_program(program).schema.predicates
    last = last_begin([fact for fact in facts if fact[0] in read])  # recursion without an end is followed that far
    assert not differences(program, facts, told(program, facts, "intervals", 1), last)


@pytest.mark.parametrize(
    "text",
    [
        "timeline rational. on(S) :- a(S). on(S) :- diamondminus[1] on(S), not down(S).",
        "timeline integer. on(S) :- a(S). on(S) :- diamondminus[1] on(S), not down(S). ask on(S)@T.",
        "timeline integer. on(S,R) :- a(S), a(R). on(S,R) :- diamondminus[1] on(R,S), not down(S).",
        "timeline integer. on(k) :- a(S). on(k) :- diamondminus[1] on(k), not down(k).",
        "timeline integer. on(S,S) :- a(S). on(S,S) :- diamondminus[1] on(S,S), not down(S).",
    ],
)
def test_other_times_questions_and_rows_are_left(text: str) -> None:
    """Dense time has other times between, questions unfold the recursion, and rows have to go on as they are."""
    assert not any(isinstance(part, Binary) for rule in normalise(parse(text)).rules for part in rule.body)


def test_a_pause_costs_nothing() -> None:
    """Beside a row that goes on, a pause of an hour in milliseconds takes no steps."""
    plan = compile_program(parse("timeline integer. on(S) :- a(S). on(S) :- diamondminus[1] on(S), not down(S)."))
    session = Session(plan, emit="changes")
    for name, time in (("a", 5), ("a", 3_600_000), ("down", 7_200_000), ("a", 7_200_009)):
        session.push_records([(name, ("k" if name == "down" or time == 5 else "j",), time, time)])
    assert session.pull_records()[-1] == ("on", ("k",), 5, 7_199_999)
    assert sum(step.evaluations for step in session.statistics().steps.values()) < 60
