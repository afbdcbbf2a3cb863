"""A stage of a stream in columns tells what it tells row by row, whatever is kept of it between batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from analysis.test_stages import FRAGMENTS, agree, arrivals, compiled, given_programs, keyed_programs
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from drawing import drawn
from oracle.evaluate import GroundFact
from oracle.lars_programs import COUNTED, lars_programs, lars_streams
from oracle.open_programs import open_programs, open_streams
from oracle.programs import Kind, programs
from tidelog.plans.analysis.physical.in_columns import stops_row_by_row
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.stages import Stage, stages_of
from tidelog.plans.tree.syntax import Program, Value
from tidelog.runtime.columns.flow import open_flow
from tidelog.runtime.columns.rows_again import go_on_by_rows
from tidelog.runtime.ports.interfaces import StageMode, StageSession
from tidelog.runtime.sessions.staged import StageRun


def flows(plan: Plan) -> bool:
    """Whether a stage of the plan goes in columns."""
    return any(stops_row_by_row(stage.plan) is None for stage in stages_of(plan).stages)


def compare(program: Program, facts: Sequence[GroundFact], data: st.DataObject) -> None:
    """Run stages in columns beside one session, with the same watermarks, in all forms of answers."""
    assume(flows(compiled(program)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(facts)), max_size=3)))
    opener = data.draw(st.sampled_from([open_flow, by_rows_from_then_on]))
    agree(program, facts, cuts, Fraction(0), opener)


def by_rows_from_then_on(
    stage: Stage,
    owns: Callable[[Value], bool],
    *,
    emit: StageMode,
    start: int | None,
    state: bytes | None = None,
) -> StageSession:
    """A stage that goes in columns up to its first snapshot, and then row by row."""
    if state is None:
        return open_flow(stage, owns, emit=emit, start=start)
    return go_on_by_rows(StageRun(stage, owns, emit=emit, start=start), owns, state)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rational", "integer"])
@pytest.mark.parametrize("fragment", ["past", "future"])
@given(data=st.data())
@drawn(25, suppress_health_check=list(HealthCheck))
def test_stages_in_columns_give_what_one_session_gives(kind: Kind, fragment: str, data: st.DataObject) -> None:
    """Whatever the program, and whatever is asleep or stored between batches."""
    kinds = programs(kind, FRAGMENTS[fragment])
    program = data.draw((kinds.flatmap(keyed_programs) | kinds).flatmap(given_programs))
    compare(program, data.draw(arrivals(compiled(program), program, kind)), data)


@pytest.mark.slow
@given(program=lars_programs(COUNTED), facts=lars_streams(), data=st.data())
@drawn(25, suppress_health_check=list(HealthCheck))
def test_windows_and_aggregates_in_flows(program: Program, facts: list[GroundFact], data: st.DataObject) -> None:
    """What is counted, held and compared; what counts facts in order runs by rows."""
    assume(not stages_of(compiled(program)).problems)
    compare(program, facts, data)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rational", "integer"])
@given(data=st.data())
@drawn(25, suppress_health_check=list(HealthCheck))
def test_what_goes_on_holding_in_flows(kind: Kind, data: st.DataObject) -> None:
    """Latches, and what they let hold until further notice."""
    program = parse(data.draw(open_programs(kind)))
    assume(not stages_of(compiled(program)).problems)
    compare(program, data.draw(open_streams(kind)), data)
