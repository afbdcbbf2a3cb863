"""Comparing what the engine answers with what the oracle says holds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from oracle.evaluate import GroundFact, Model, evaluate
from oracle.reach import exact_range, horizon
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Program

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


class Expected:
    """What the oracle says of a program and facts, at the times at which it is exact, up to `until`."""

    def __init__(
        self, program: Program, facts: Sequence[GroundFact], until: Fraction | None = None, start: int | None = None
    ) -> None:
        low, high = horizon(program, facts, start=start)
        first, last = exact_range(program, facts, low=low, high=high, start=start)
        self.plan = compile_program(program)
        self.model = evaluate(program, facts, low=low, high=high, start=start)
        self._first, self._last = first, last if until is None else min(last, until)
        self._times = [self._placed(time) for time in self.model.times() if self._first <= time <= self._last]

    def _placed(self, time: Fraction) -> tuple[Fraction, int, int]:
        """A time, encoded, and the cell that it lies in; the horizon's edges stand for all that lies beyond."""
        grid = self.model.grid
        place = (time - grid.low) / grid.step
        cell = 2 * math.floor(place) + (place != math.floor(place)) if grid.dense else math.floor(place)
        return time, self.plan.timeline.encode_point(time), grid.clamp(cell)

    def differences(self, runs: Runs, points: Iterable[Fraction] | None = None) -> list[str]:
        """Where runs differ from the model, at these times, or at all."""
        found = []
        for predicate in self.plan.outputs:
            rows = set(self.model.rows(predicate)) | {row for name, row in runs if name == predicate}
            for row in sorted(rows, key=repr):
                found += self.of_row(predicate, row, runs.get((predicate, row), []), points)
        return found

    def of_row(
        self,
        predicate: str,
        row: Row,
        ranges: Sequence[tuple[int, int]],
        points: Iterable[Fraction] | None = None,
        later: int = 0,
    ) -> list[str]:
        """Where the ranges of one row differ from the model; they may be so much `later` as a whole."""
        times = self._times
        if points is not None:
            times = [self._placed(time) for time in points if self._first <= time <= self._last]
        found, holds, by = [], self.model.cells(predicate, row), self.plan.timeline.encode_point(Fraction(later))
        for time, encoded, cell in times:
            answered = any(lo <= encoded + by <= hi for lo, hi in ranges)
            if answered != (cell in holds):
                found.append(f"{predicate}{row}@{time}: {'answered' if answered else 'missing'}")
        return found


def differences(
    program: Program,
    facts: Sequence[GroundFact],
    answers: Iterable[Record],
    until: Fraction | None = None,
    start: int | None = None,
) -> list[str]:
    """Where answers and oracle differ, at the times at which the oracle is exact, up to `until`."""
    return Expected(program, facts, until, start).differences(runs_of(answers))


def oracle_of(program: Program, facts: Sequence[GroundFact], start: int | None = None) -> Model:
    """The oracle's model over a wide horizon."""
    low, high = horizon(program, facts, start=start)
    return evaluate(program, facts, low=low, high=high, start=start)
