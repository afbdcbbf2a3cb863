"""Witnesses: what the engine tells of them, the oracle tells too; and they are written as tests that pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import tidelog
from children import tidelog as command
from drawing import drawn
from oracle.agreement import oracle_of
from oracle.evaluate import GroundFact
from oracle.programs import EVERYTHING, NON_RECURSIVE, PAST_ONLY, programs
from tidelog.plans.compiling.batch import compile_batch
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.proving.findings import book_of
from tidelog.plans.proving.guessing import Fact
from tidelog.plans.proving.judging import ENDING
from tidelog.plans.tree.syntax import Interval
from tidelog.runtime.batch.materialisation import Materialisation
from tidelog.testing.proving import prove
from tidelog.testing.trying import Runner
from tidelog.testing.witnessing import Searcher, Witness

HEAD = "timeline integer, unit 1 s.\ninput temp(room: text, celsius: number).\ninput door(room: text).\n"
SHORT = [
    ("a(R) :- temp(R, C), C > 80.", [("temp", ("room1", 81), 0, 0)]),
    ("h(R) for 9 s :- temp(R, C), C > 80. a(R) :- h(R) for 5 s.", [("temp", ("room1", 81), 0, 0)]),
    ("a(R) :- door(R) within 9 s, not door(R) within 5 s.", [("door", ("room1",), 0, 0)]),
    ("a(R) :- not door(R) since temp(R, C), C > 80.", [("temp", ("room1", 81), 0, 0), ("door", ("room1",), 1, 1)]),
    ("a(R, S) :- door(R), door(S), R < S.", [("door", ("room1",), 0, 0), ("door", ("room2",), 0, 0)]),
    ("a(R) :- D = first(C) over temp(R, C) in [9 s] by R - last(C) over temp(R, C) in [9 s] by R, D > 5.", None),
    (
        "m(R) := on :- door(R), not m(R, on). m(R) := off :- m(R, on) for 5 s. a(R) :- m(R, off).",
        None,
    ),
]


@pytest.mark.parametrize(("rules", "facts"), SHORT)
def test_the_shortest_facts(rules: str, facts: list[tuple[str, tuple[object, ...], int, int]] | None) -> None:
    """By hand: no fact less would do."""
    plan = tidelog.compile(f"{HEAD}output a. {rules}")
    witness = Searcher(plan, book_of(plan)).witness("a")
    assert witness is not None
    assert witness.told
    if facts is not None:
        assert [(item.predicate, item.row, item.low, item.high) for item in sorted(witness.facts)] == facts


@pytest.mark.parametrize("features", ["past", "both ways"])
@given(data=st.data())
@drawn(60, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_witness_holds_in_the_oracle(features: str, data: st.DataObject) -> None:
    """Of drawn programs: what is told at the first moment of an answer holds there by the definitions."""
    program = data.draw(programs("integer", PAST_ONLY if features == "past" else NON_RECURSIVE))
    try:
        plan = compile_program(program)
    except ProgramError:
        assume(False)
        return
    searcher = Searcher(plan, book_of(plan))
    witnesses = [witness for name in plan.outputs if (witness := searcher.witness(name)) is not None]
    assume(witnesses)
    for witness in witnesses:
        model = oracle_of(program, _ground(witness.facts))
        first = min((Fraction(fact.low) for fact in witness.facts), default=Fraction(0))
        for predicate, row, lo, hi in witness.told:
            begin = plan.timeline.decode_point(lo) if lo > NEG else min(first, plan.timeline.decode_point(min(hi, 0)))
            assert model.holds(predicate, row, begin), (witness, begin)


def _ground(facts: Sequence[Fact]) -> list[GroundFact]:
    return [(fact.predicate, fact.row, Interval(fact.low, fact.high)) for fact in facts]


def test_witnesses_are_written_as_tests_that_pass(tmp_path: Path) -> None:
    """`tidelog check --prove --scenarios` writes a file that `tidelog test` runs; it is not written twice."""
    program = tmp_path / "a.tide"
    program.write_text(f'{HEAD}output a, "not so" . a(R) :- temp(R, C), C > 80.'.replace(', "not so" ', ""))
    done = command("check", "--prove", str(program), "--scenarios", str(tmp_path / "a.tide.toml"))
    assert (done.returncode, done.stdout) == (0, "a: begins and ends with temp(room1,81)@0\n")
    assert command("test", str(tmp_path / "a.tide.toml")).stdout == "1 test passed\n"
    again = command("check", "--prove", str(program), "--scenarios", str(tmp_path / "a.tide.toml"))
    assert again.returncode == 2
    assert "is there already" in again.stderr


def test_scenarios_need_prove(tmp_path: Path) -> None:
    """A usage error, which names what is missing."""
    program = tmp_path / "a.tide"
    program.write_text("a :- b.")
    done = command("check", str(program), "--scenarios", str(tmp_path / "x.toml"))
    assert done.returncode == 2
    assert "--prove" in done.stderr


def test_what_begins_and_ends_is_what_is_told() -> None:
    """The answers of a proof agree with what was run."""
    plan = tidelog.compile(f"{HEAD}output a, b. a(R) :- door(R) within inf. b(R) :- door(R).")
    proof = prove(plan, 60.0)
    assert proof.answers == {"a": "never ends", "b": "ends"}
    assert all(isinstance(witness, Witness) and witness.told for witness in proof.witnesses.values())


FAR = """a(R, Z) :- temp(R, C),
    S = stddev(D) over temp(R, D) in [40 s step 4 s] by R,
    M = avg(D) over temp(R, D) in [40 s step 4 s] by R,
    count() over temp(R, _) in [40 s step 4 s] by R >= 10,
    Z = (C - M) / S, abs(Z) > 2."""


def test_a_reading_is_compared_with_many_before_it() -> None:
    """Readings at even distances are tried: a mean, a deviation, and how many there are, fit one more."""
    plan = tidelog.compile(f"{HEAD}output a. {FAR}")
    witness = Searcher(plan, book_of(plan)).witness("a")
    assert witness is not None
    assert len(witness.facts) == 10
    never = tidelog.compile(f"{HEAD}output a. {FAR.replace('>= 10', '>= 50')}")
    assert Searcher(never, book_of(never)).witness("a") is None


def test_no_witness_violates_a_constraint() -> None:
    """Facts of which the program says that they never come together show nothing."""
    plan = tidelog.compile(f"{HEAD}output a. a(R) :- temp(R, C), C > 80. bottom :- temp(_, C), C < 90.")
    (fact,) = prove(plan, 60.0).witnesses["a"].facts
    assert fact.row == ("room1", 90)
    never = tidelog.compile(f"{HEAD}output a. a(R) :- temp(R, C), C > 80. bottom :- temp(_, _).")
    proof = prove(never, 60.0)
    assert proof.answers == {"a": "undecided"}
    assert ("whether it can hold", "`a`", "nothing was found") in proof.undecided


JAMMED = "timeline integer, unit 1 s. input door(room: text, s: text). output a(room). a(R) :- door(R, jammed). "
FOLLOWED = [
    ("a(R) :- a(R) within 1.", "never ends"),
    ("boxplus[1] a(R) :- a(R).", "never ends"),
    ("a(R) :- diamondminus[1] a(R).", "never ends"),
    ("boxplus[60] a(R) :- a(R).", "ends"),
    ("boxplus[1] a(R) :- a(R), a(R) within 5.", "begins"),
    ("a(R) for 2 s :- a(R), not door(R, closed).", "ends"),
    ('a(R) :- N = count() over (door(R, _) within inf) per day zone "Europe/Berlin" by R, N >= 1.', "begins"),
]


@pytest.mark.parametrize(("rule", "answer"), FOLLOWED)
def test_the_end_of_a_short_stream_is_no_end(rule: str, answer: str) -> None:
    """What goes on without an end is told up to the stream's end, and further than it needs to be told to end."""
    plan = tidelog.compile(JAMMED + rule)
    proof = prove(plan, 1.0 if answer == "begins" else 60.0)  # an end is looked for as long as there is time
    assert proof.answers == {"a": answer}
    assert ("never-ends" in {item.code for item in proof.findings}) == (answer == "never ends")
    if "closed" in rule:
        assert ("room1", "closed") in [fact.row for fact in proof.witnesses["a"].facts]


@given(data=st.data())
@drawn(60, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_ends_ends_for_batch_reasoning_too(data: st.DataObject) -> None:
    """Of drawn programs with recursion: a witness ends just where what holds by its facts for all times has an end."""
    program = data.draw(programs("integer", replace(EVERYTHING, constraints=False)))
    try:
        plan, batch = compile_program(program), compile_batch(program)
    except ProgramError:
        assume(False)
        return
    searcher = Searcher(plan, book_of(plan))
    witnesses = [witness for name in plan.outputs if (witness := searcher.witness(name)) is not None]
    assume(witnesses)
    for witness in witnesses:
        done = Materialisation(batch)
        done.load(map(Runner(plan).record, witness.facts))
        rounds = iter(range(500))
        done.run(decided=lambda rounds=rounds: next(rounds, None) is None)
        assume(next(rounds, None) is not None)
        known = [hi for name, _, _, hi in done.facts() if name == witness.predicate]
        repeated = any(item.predicate == witness.predicate for item in done.repeating())
        assert witness.ends == (repeated or any(hi < POS for hi in known)), witness


@pytest.mark.parametrize(
    "calendar",
    [
        'mon-fri 12:10-12:30, zone "Europe/Berlin"',
        "05:00-06:00",
        "2031-03-04 07:00-07:05",
        "2001-03-04",
        "each day",
    ],
)
def test_facts_are_tried_where_a_calendar_changes(calendar: str) -> None:
    """A short spell, one that is years away, and one that is over: seven fixed times lay in none of them."""
    rules = "a(R) :- door(R), c. b(R) :- door(R), not c, c within 5 s. d(R) :- temp(R, C), C > 5."
    plan = tidelog.compile(f"{HEAD}output a, b, d. calendar c = {calendar}. {rules}")
    proof = prove(plan, 60.0)
    assert proof.answers == {"a": "ends", "b": "undecided" if calendar == "each day" else "ends", "d": "ends"}
    assert proof.witnesses["d"].facts[0].low == 1795428000  # 2026-11-23T10:00Z: what rests on no calendar is tried once


def test_a_spell_within_a_unit_of_rational_time() -> None:
    """It begins and ends at fractions of an hour: whole hours were tried alone."""
    head = HEAD.replace("integer, unit 1 s", "rational, unit 1 h")
    rules = "calendar c = 12:10-12:30. a(R) :- door(R), c. b(R) :- door(R), c, not boxplus[0,10 min] c."
    proof = prove(tidelog.compile(f"{head}output a, b. {rules}"), 60.0)
    assert proof.answers == {"a": "ends", "b": "ends"}


def test_what_was_seen_to_end_is_not_asked_about() -> None:
    """However little time there is: an output was said to end, and to be undecided; no test had too little time for all."""
    rules = "".join(f"a{number}(R) for {number + 1} s :- temp(R, C), C > {number}. " for number in range(120))
    outputs = ", ".join(f"a{number}" for number in range(120))
    proof = prove(tidelog.compile(f"{HEAD}output {outputs}. {rules}"), 0.3)
    asked = {question.of for question in proof.undecided if question.asked == ENDING}
    ending = {f"`{name}`" for name, answer in proof.answers.items() if answer == "ends"}
    assert proof.undecided
    assert ending
    assert not asked & ending
