"""Programs whose rules depend on their own negation, run as streams, and compared with the model that justifies itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import floor

from hypothesis import assume

from oracle.agreement import Runs, records_of
from oracle.evaluate import GroundFact, Model
from oracle.stable import stable_model
from tidelog import Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Program

REFUSED = {"not-supported", "infinite-delay", "unstratified"}
BEYOND = 10
"""So far behind the last fact's end the answers are compared."""


def compiled(program: Program) -> Plan:
    """The plan; programs that are refused for a documented reason are not examples."""
    try:
        return compile_program(program)
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= REFUSED, error
        assume(False)
        raise


def is_clocked(plan: Plan) -> bool:
    """Whether something in the plan goes through time because it is negated in its own recursion."""
    return any(loop.order for loop in plan.loops)


def ends_of(facts: Iterable[GroundFact]) -> int:
    """The last time that facts mention."""
    ends = [end for _, _, when in facts for end in (when.low, when.high) if isinstance(end, Fraction)]
    return floor(max(ends, default=Fraction(0))) + 1


def model_of(program: Program, facts: Sequence[GroundFact]) -> Model:
    return stable_model(program, facts, -1, ends_of(facts) + BEYOND)


def answers_of(plan: Plan, facts: Sequence[GroundFact], batch: int = 1, lateness: int = 0) -> tuple[list[Record], bool]:
    """What a session tells in intervals, and whether its recursion has come to an end."""
    session = Session(plan, lateness=Fraction(lateness))
    records = records_of(plan, facts)
    for i in range(0, len(records), batch):
        session.push_records(records[i : i + batch])
    session.finish()
    return session.pull_records(), not session.unfinished()


def differing(model: Model, plan: Plan, runs: Runs, until: Fraction | None = None) -> list[str]:
    """Where answers differ from the model, up to a time, or as far as it goes."""
    found = []
    times = [(time, plan.timeline.encode_point(time) if _is_point(plan, time) else None) for time in model.times()]
    for predicate in plan.outputs:
        rows = set(model.rows(predicate)) | {row for name, row in runs if name == predicate}
        for row in sorted(rows, key=repr):
            holds = model.cells(predicate, row)
            for cell, (time, _) in enumerate(times):
                if until is not None and time > until:
                    break
                answered = any(lo <= _encoded(plan, time) <= hi for lo, hi in runs.get((predicate, row), ()))
                if answered != (cell in holds):
                    found.append(f"{predicate}{row}@{time}: {'answered' if answered else 'missing'}")
    return found


def _is_point(plan: Plan, time: Fraction) -> bool:
    return (time / plan.timeline.resolution).denominator == 1


def _encoded(plan: Plan, time: Fraction) -> int:
    """A time of the model, encoded; the middle of a gap stands for all of it."""
    if _is_point(plan, time):
        return plan.timeline.encode_point(time)
    return plan.timeline.encode_point(floor(time / plan.timeline.resolution) * plan.timeline.resolution) + 1


def until_of(facts: Sequence[GroundFact], has_ended: bool) -> Fraction | None:
    """How far answers are compared: where a recursion has no end, up to the last begin."""
    if has_ended:
        return None
    return max((when.low for _, _, when in facts if isinstance(when.low, Fraction)), default=Fraction(0))
