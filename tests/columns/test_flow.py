"""A stage of a stream in columns tells what it tells row by row, whatever is kept of it between batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from analysis.test_stages import FRAGMENTS, agree, arrivals, compiled, given_programs, keyed_programs
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from oracle.evaluate import GroundFact
from oracle.lars_programs import COUNTED, lars_programs, lars_streams
from oracle.open_programs import open_programs, open_streams
from oracle.programs import Kind, programs
from tidelog.plans.analysis.physical.in_columns import stops_row_by_row
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.stages import Stage, stages_of
from tidelog.plans.tree.syntax import Program, Value
from tidelog.runtime.columns.stages.flow import StageFlow, known_of, open_flow
from tidelog.runtime.columns.stages.rows_again import go_on_by_rows
from tidelog.runtime.migration.staged import change_stage, reach_of
from tidelog.runtime.ports.interfaces import StageMode, StageSession
from tidelog.runtime.ports.stage_changes import StageStanding
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


# --- by hand ------------------------------------------------------------------------------------------------------------

TEXT = """
timeline integer. input p(x: text, v: number). input off(x: text). output high, held, many.
high(X) :- p(X, V), V > 5, not off(X).
held(X) :- not off(X) since[0,inf) p(X, 9).
many(X) :- count() over p(X, _) in [3] by X >= 2.
"""


def begun(emit: StageMode = "intervals", state: bytes | None = None) -> StageFlow:
    (stage,) = stages_of(tidelog.compile(TEXT)).stages
    found = open_flow(stage, lambda _: True, emit=emit, start=None, state=state)
    assert isinstance(found, StageFlow)
    return found


def test_what_follows_for_sure_is_told_with_its_facts() -> None:
    """What is negated waits for the watermark; what has begun, and what is counted, does not, and is told once."""
    flow = begun()
    flow.take([("p", ("a", 9), 1, 1), ("p", ("a", 7), 2, 2)])
    assert set(flow.pull().told) == {("held", ("a",), 1, 1), ("many", ("a",), 2, 4)}
    assert flow.deadline() == 1
    flow.advance(2)
    assert set(flow.pull().told) == {("high", ("a",), 1, 2), ("held", ("a",), 2, 2)}
    assert flow.deadline() == POS  # that it goes on to be held is told when something happens


def test_late_facts_are_told_and_left_out() -> None:
    """What begins at or before the watermark can no longer come, also to a flow that goes on from a snapshot."""
    flow = begun()
    flow.advance(4)
    flow = begun(state=flow.snapshot())
    late = flow.take([("p", ("a", 7), 4, 8), ("p", ("b", 7), 5, 5)])
    assert late == [(("p", ("a", 7), 4, 8), "late: facts before 5 can no longer come")]
    flow.advance(9)
    assert set(flow.pull().told) == {("high", ("b",), 5, 5)}


def test_snapshots_that_do_not_fit() -> None:
    """What is damaged, or of another form of answers, or of another program, is refused."""
    flow = begun()
    flow.take([("p", ("a", 9), 1, 1)])
    state = flow.snapshot()
    with pytest.raises(SnapshotError, match="the state of stage 1 is damaged: it is not what was written"):
        begun(state=state[:-1] + b"?")
    with pytest.raises(SnapshotError, match="of a run in columns, and these answers are told row by row"):
        begun("final", state)
    (other,) = stages_of(tidelog.compile(TEXT.replace("output high", "output q, high") + "q(X) :- p(X, 1).")).stages
    with pytest.raises(SnapshotError, match="the state of stage 1 is that of another program"):
        open_flow(other, lambda _: True, emit="intervals", start=None, state=state)
    assert known_of(state).reach == 1


@pytest.mark.parametrize(
    ("text", "goes"),
    [
        ("a(X) :- p(X), not q(X).", True),
        ("a(X) :- p(X) in [#2 of p].", False),
        ("a(X) :- p(X). a(X)@T+2 :- a(X)@T.", False),
        ("input r(x) delay 3. a(X) :- p(X), r(X).", False),
        ("ask a(X)@T. a(X)@T+1 :- p(X)@T, p(X)@T+1.", False),
    ],
    ids=["absence", "the last facts", "recursion", "a delay", "a question"],
)
def test_what_goes_in_columns(text: str, goes: bool) -> None:
    """All else runs row by row."""
    stage = stages_of(tidelog.compile(f"timeline integer. input p(x). input q(x). {text}")).stages[-1]
    assert isinstance(open_flow(stage, lambda _: True, emit="intervals", start=None), StageFlow) == goes


def test_a_changed_program_goes_on_from_columns() -> None:
    """What a flow has kept goes over to a changed program: a rule that is the same knows what came before."""
    (before,) = stages_of(tidelog.compile(TEXT)).stages
    (now,) = stages_of(tidelog.compile(TEXT.replace("V > 5", "V > 6"))).stages
    flow = begun()
    flow.take([("p", ("a", 9), 1, 1), ("p", ("b", 1), 2, 2)])
    flow.advance(2)
    flow.pull()
    reach, endless = reach_of(flow.snapshot())
    standing = StageStanding(flow.snapshot(), None, 2, reach, frozenset(endless))
    changed = change_stage(before, now, lambda _: True, emit="intervals", standing=standing)
    session = open_flow(now, lambda _: True, emit="intervals", start=None, state=changed.state)
    session.promise(2)
    assert session.take([("p", ("b", 2), 4, 4)]) == []
    session.advance(4)
    told = [*changed.told, *session.pull().told]
    assert ("many", ("b",), 4, 5) in told
    assert [record for record in told if record[0] == "held"] == [("held", ("a",), 3, 3), ("held", ("a",), 4, 4)]
