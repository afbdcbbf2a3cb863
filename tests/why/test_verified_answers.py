"""Of random programs, what holds is proved and what does not is not, and the verifier, which shares no code, says the same.

So three evaluations agree: the operators that derived the answer, the search that explains it, and the definitions.
"""

from __future__ import annotations

import json
import re

import pytest
from batch.test_equals_oracle import FRAGMENTS, KINDS, Comparison, cases, compiled, materialised
from engine.test_lars_equals_oracle import FORMS
from engine.test_lars_equals_oracle import compiled as compiled_stream
from hypothesis import assume, given
from hypothesis import strategies as st

from drawing import drawn
from oracle.agreement import records_of
from oracle.evaluate import GroundFact, rules_of
from oracle.grounding import head_atom
from oracle.lars_programs import AGGREGATES, COUNTED, HELD, lars_programs, lars_streams
from oracle.programs import Features, Kind
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import Program
from tidelog.runtime.sessions.explained import explainer_of_stream
from tidelog.runtime.why.explain import Explainer, Reason
from tidelog.runtime.why.told import telling_all
from tidelog.verifier.certificate import Verifier
from why.explaining import refusal

UNCHECKED = re.compile("did not come to an end|too many values")
"""What the verifier says where it gives up."""


def heads_of(program: Program) -> list[str]:
    return sorted({atom.predicate for rule in rules_of(program) if (atom := head_atom(rule.head))})


def verify(explainer: Explainer, program: Program, facts: list[GroundFact], fact: Record) -> bool:
    """Whether a fact holds, by an explanation that is taken; where there is none, it is no example."""
    try:
        answer = explainer.why(fact)
    except MethodError:
        assume(False)
        raise
    answer.text()
    refused = refusal(Verifier(format_program(program), facts), json.loads(answer.json()))
    assume(refused is None or not UNCHECKED.search(refused))
    assert refused is None, f"{refused}\n{format_program(program)}\n{facts}\n{answer.text()}\n{answer.json()}"
    return isinstance(answer, Reason)


def cut(data: st.DataObject, fact: Record) -> Record:
    """The fact, or at a part of its times."""
    name, row, lo, hi = fact
    low, high = max(lo, -60), min(hi, 60)
    if low > high or data.draw(st.booleans()):
        return fact
    first, last = sorted((data.draw(st.integers(low, high)), data.draw(st.integers(low, high))))
    return name, row, first, last


@drawn(150)
@given(st.data(), st.sampled_from(KINDS), st.sampled_from(FRAGMENTS))
def test_answers_are_proved(data: st.DataObject, kind: Kind, fragment: Features) -> None:
    """Whatever is derived, over its maximal range or a part of it, has a proof that is taken."""
    program, facts = data.draw(cases(kind, fragment))
    plan = compiled(program)
    done, ended = materialised(plan, records_of(plan, facts))
    assume(ended and done.violation() is None)
    derived = sorted((fact for fact in done.facts() if fact[0] in heads_of(program)), key=repr)
    assume(derived)
    for fact in data.draw(st.lists(st.sampled_from(derived), min_size=1, max_size=3)):
        assert verify(done.explainer(), program, facts, cut(data, fact))


@pytest.mark.long
@drawn(60)
@given(st.data(), st.sampled_from(KINDS), st.sampled_from(FRAGMENTS))
def test_what_holds_is_the_oracles(data: st.DataObject, kind: Kind, fragment: Features) -> None:
    """At drawn times a fact is proved if the oracle says that it holds, and what it lacks is told if not."""
    program, facts = data.draw(cases(kind, fragment))
    plan, expected = compiled(program), Comparison(program, facts)
    done, ended = materialised(plan, records_of(plan, facts))
    assume(ended and done.violation() is None and expected.times)
    rows = [(name, row) for name in heads_of(program) for row in sorted(expected.model.rows(name), key=repr)]
    assume(rows)
    explainer = done.explainer()
    for _ in range(3):
        (name, row), time = data.draw(st.sampled_from(rows)), data.draw(st.sampled_from(expected.times))
        point = plan.timeline.encode_point(time)
        assert verify(explainer, program, facts, (name, row, point, point)) == expected.model.holds(name, row, time)


@drawn(150)
@given(st.data(), st.sampled_from(sorted(FORMS)))
def test_answers_of_streams_are_proved(data: st.DataObject, form: str) -> None:
    """So are answers of programs with tuple windows, stepped windows and `@T`."""
    program = data.draw(lars_programs(FORMS[form]))
    plan = telling_all(compiled_stream(program))
    facts = data.draw(lars_streams())
    explainer = explainer_of_stream(plan, records_of(plan, facts))
    derived = [
        (name, row, *times)
        for name in heads_of(program)
        for row in sorted(explainer.model.rows(name), key=repr)
        for times in explainer.model.ranges(name, row, NEG, POS)
    ]
    assume(derived)
    for fact in data.draw(st.lists(st.sampled_from(derived), min_size=1, max_size=3)):
        assert verify(explainer, program, facts, cut(data, fact))


COUNTING = {"aggregates": AGGREGATES, "held": HELD, "counted": COUNTED}


@drawn(60)
@given(st.data(), st.sampled_from(sorted(COUNTING)))
def test_answers_of_aggregates_are_proved(data: st.DataObject, form: str) -> None:
    """So are answers that rest on aggregates, thresholds (in recursion, too) and held values, and what they lack is told."""
    program = data.draw(lars_programs(COUNTING[form]))
    plan = telling_all(compiled_stream(program))
    facts = data.draw(lars_streams())
    explainer = explainer_of_stream(plan, records_of(plan, facts))
    rows = [(name, row) for name in heads_of(program) for row in sorted(explainer.model.rows(name), key=repr)]
    assume(rows)
    for name, row in data.draw(st.lists(st.sampled_from(rows), min_size=1, max_size=3)):
        times = data.draw(st.sampled_from(explainer.model.ranges(name, row, NEG, POS)))
        assert verify(explainer, program, facts, cut(data, (name, row, *times)))
        point = data.draw(st.integers(-3, 30))
        holds = bool(explainer.model.ranges(name, row, point, point))
        assert verify(explainer, program, facts, (name, row, point, point)) == holds
