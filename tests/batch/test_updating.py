"""What is updated holds as if all had been materialised anew, whatever comes and goes; and what does not change is not touched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batch.materialising import plan_of, records, shown
from drawing import drawn
from oracle.agreement import records_of
from oracle.lars_programs import AGGREGATES, COUNTED, HELD, lars_programs, lars_streams
from oracle.programs import EVERYTHING, Kind, programs, streams
from oracle.recursive_programs import Tiny, compiled, few_facts, tiny_programs
from tidelog.plans.compiling.batch import BatchPlan, compile_batch
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.intervals import Ranges, subtracted, united
from tidelog.plans.diagnostics.errors import MethodError, ProgramError, TidelogError
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import Program
from tidelog.runtime.batch.demand.restricting import can_restrict
from tidelog.runtime.batch.materialisation import Materialisation

Given = dict[tuple[str, Row], Ranges]


def materialised(plan: BatchPlan, facts: Iterable[Record]) -> Materialisation:
    done = Materialisation(plan)
    done.load(facts)
    done.run()
    return done


def holding(done: Materialisation, first: int = -400, last: int = 400) -> list[Record]:
    """What holds between two times, over maximal ranges."""
    found: Given = {}
    for name, row, lo, hi in done.between(first, last):
        found.setdefault((name, row), []).append((lo, hi))
    return sorted(((name, row, *times) for (name, row), ranges in found.items() for times in united(ranges)), key=repr)


def changed(facts: Given, added: Iterable[Record], removed: Iterable[Record]) -> Given:
    """The facts that are given after a change, by its definition."""
    now = dict(facts)
    for name, row, lo, hi in removed:
        now[name, row] = subtracted(now.get((name, row), []), [(lo, hi)])
    for name, row, lo, hi in added:
        now[name, row] = united([*now.get((name, row), []), (lo, hi)])
    return now


def listed(facts: Given) -> list[Record]:
    return [(name, row, lo, hi) for (name, row), ranges in facts.items() for lo, hi in ranges]


def check(data: st.DataObject, program: Program, plan: BatchPlan, pool: Sequence[Record], last: int = 400) -> None:
    """A sequence of changes, each with facts of the pool, or parts of them, that come and go."""
    assume(can_restrict(plan) and pool)
    some = st.lists(st.sampled_from(pool), max_size=4)
    facts = changed({}, data.draw(some), ())
    try:
        done = materialised(plan, listed(facts))
    except TidelogError:
        assume(False)
    for _ in range(data.draw(st.integers(1, 4))):
        added, removed = data.draw(some), data.draw(some)
        if data.draw(st.booleans()):
            removed = [(name, row, lo, lo) for name, row, lo, _ in removed]
        facts = changed(facts, added, removed)
        try:
            expected = materialised(plan, listed(facts))
        except TidelogError:
            assume(False)
        done.update(added, removed)
        where = f"{format_program(program)}\n{added}\n{removed}\n{listed(facts)}"
        assert str(done.violation()) == str(expected.violation()), where
        assert done.violation() or holding(done, -last, last) == holding(expected, -last, last), where


@pytest.mark.slow
@given(st.data(), st.sampled_from(("rational", "integer")))
def test_an_update_equals_a_fresh_run(data: st.DataObject, kind: Kind) -> None:
    """In programs with joins, negation, recursion, since, and now and then constraints."""
    constraints = data.draw(st.integers(0, 3)) == 3
    program = data.draw(programs(kind, replace(EVERYTHING, constraints=constraints, windows=False)))
    try:
        plan = compile_batch(program)
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= {"not-supported"}
        return
    check(data, program, plan, records_of(plan, data.draw(streams(program, infinite=True, size=12))))


@pytest.mark.slow
@drawn(60)
@given(st.data(), st.sampled_from([AGGREGATES, HELD, COUNTED]))
def test_an_update_of_groups_equals_a_fresh_run(data: st.DataObject, forms: object) -> None:
    """What is aggregated, or held, is derived as a whole, and what follows from it where it changes."""
    program = data.draw(lars_programs(forms))  # type: ignore[arg-type] # one of these
    plan = compile_batch(program)
    check(data, program, plan, records_of(plan, data.draw(lars_streams())))


@pytest.mark.slow
@given(st.data(), st.sampled_from(("rational", "integer")), st.booleans())
def test_an_update_of_what_repeats_equals_a_fresh_run(data: st.DataObject, kind: Kind, negation: bool) -> None:
    """Recursion through time, in both directions, that begins to repeat and ceases to, with what reads and negates it."""
    tiny = Tiny(kind, negation=negation)
    program = data.draw(tiny_programs(tiny))
    plan = compiled(program)
    pool = records_of(plan, [*data.draw(few_facts(program, tiny)), *data.draw(few_facts(program, tiny))])
    check(data, program, plan, pool, last=60)
