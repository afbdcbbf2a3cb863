"""Comparing what the engine answers with what the oracle says holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from oracle.evaluate import GroundFact, Model, evaluate
from oracle.reach import exact_range, horizon
from tidelog.plans.compile import compile_program
from tidelog.plans.facts import Record, Row
from tidelog.plans.plan import Plan
from tidelog.plans.syntax import Program

Runs = dict[tuple[str, Row], list[tuple[int, int]]]


def records_of(plan: Plan, facts: Iterable[GroundFact]) -> list[Record]:
    """The oracle's facts as the engine's records."""
    return [(predicate, row, *plan.timeline.encode_interval(interval)) for predicate, row, interval in facts]


def runs_of(records: Iterable[Record]) -> Runs:
    """The maximal ranges of each fact; fails where a fact is covered twice at one time."""
    covered: Runs = {}
    for predicate, row, lo, hi in records:
        covered.setdefault((predicate, row), []).append((lo, hi))
    return {fact: _joined(sorted(ranges)) for fact, ranges in covered.items()}


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined = [ranges[0]]
    for lo, hi in ranges[1:]:
        assert lo > joined[-1][1], f"sent twice: {joined[-1]} and {(lo, hi)}"
        if lo == joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], hi)
        else:
            joined.append((lo, hi))
    return joined


def differences(
    program: Program,
    facts: Sequence[GroundFact],
    answers: Iterable[Record],
    until: Fraction | None = None,
    start: int | None = None,
) -> list[str]:
    """Where answers and oracle differ, at the times at which the oracle is exact, up to `until`."""
    plan = compile_program(program)
    low, high = horizon(program, facts, start=start)
    first, last = exact_range(program, facts, low=low, high=high, start=start)
    last = last if until is None else min(last, until)
    model = evaluate(program, facts, low=low, high=high, start=start)
    runs = runs_of(answers)
    found = []
    for predicate in plan.outputs:
        rows = set(model.rows(predicate)) | {row for name, row in runs if name == predicate}
        for row in sorted(rows, key=repr):
            expected = model.points(predicate, row)
            for time in (t for t in model.times() if first <= t <= last):
                point = plan.timeline.encode_point(time)
                answered = any(lo <= point <= hi for lo, hi in runs.get((predicate, row), []))
                if answered != (time in expected):
                    found.append(f"{predicate}{row}@{time}: {'answered' if answered else 'missing'}")
    return found


def oracle_of(program: Program, facts: Sequence[GroundFact], start: int | None = None) -> Model:
    """The oracle's model over a wide horizon."""
    low, high = horizon(program, facts, start=start)
    return evaluate(program, facts, low=low, high=high, start=start)
