"""A backtest: programs over the same history, read once, and what one tells and another does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tidelog.operators.columns.batch import Batch, empty, joined
from tidelog.operators.columns.pool import Pool
from tidelog.operators.operator import OperatorStatistics
from tidelog.plans.data.facts import Fact, Schema
from tidelog.plans.data.header import beside
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.data.uncollected import uncollected
from tidelog.plans.diagnostics.errors import SpecError, StateError
from tidelog.plans.explaining.showing.differences import MOST_ROWS, timeline_of_differences
from tidelog.plans.pictures.paint import Theme
from tidelog.plans.pictures.picture import Picture
from tidelog.plans.pictures.timeline import WIDTH, draw
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.columns.comparing import Figures, Judged, Span, figures_of, judged, only_in
from tidelog.runtime.columns.course import Course
from tidelog.runtime.columns.drawing import difference_of
from tidelog.runtime.columns.history import course_of
from tidelog.runtime.columns.memory import Held, Memory
from tidelog.runtime.columns.sharing import Shared
from tidelog.runtime.columns.stretches import Stretch
from tidelog.runtime.frames.arrow import pa
from tidelog.runtime.frames.tables import table_of

_TOLD = ("what the programs tell", "", "of fewer outputs, or of a shorter history, there is less")


@dataclass(slots=True, eq=False)
class Side:
    """What one of the programs tells of an output: its maximal runs (`told`), and figures.

    `other` is what the other program tells of it; None where that does not have the output.
    """

    told: Batch
    other: Batch | None
    pool: Pool
    figures: Figures
    judged: Judged | None = None
    _alone: Batch | None = field(default=None, repr=False)

    @property
    def alone(self) -> Batch:
        """What the other program does not tell, found when it is asked for: of most candidates of a sweep it is not."""
        if self._alone is None:
            self._alone = self.told if self.other is None else only_in(self.told, self.other, self.pool)
        return self._alone


@dataclass(slots=True, eq=False)
class Compared:
    """One output as the old and the new program tell it; None for one that does not have it."""

    old: Side | None
    new: Side | None


@dataclass(slots=True, eq=False, repr=False)
class Backtest:
    """What two programs tell of a history with so many facts (`rows`): each output of either, in order."""

    old: Plan
    new: Plan
    pool: Pool
    span: Span
    rows: int
    outputs: dict[str, Compared] = field(default_factory=dict)
    labels: Mapping[str, Batch] = field(default_factory=dict)

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {_count(found.old)} and {_count(found.new)}" for name, found in self.outputs.items())
        return f"<Backtest of {self.rows:,} facts, old and new tell: {told or 'nothing'}>"

    def frames(self) -> dict[str, Any]:
        """What only one of the programs tells, as an Arrow table for each output.

        The columns are those of `Session.pull_frames`, and `only`: `old` or `new`.
        """
        return {name: self._table(name, compared) for name, compared in self.outputs.items()}

    def plot(self, *, rows: int = MOST_ROWS, width: int = WIDTH, theme: Theme = "auto", title: str = "") -> Picture:
        """A picture of what both programs tell: labels, the old and the new one, of so many rows of each output at most.

        What only one of them tells stands out; those rows come first that differ for the longest, and the rest is counted.
        """
        found = [
            difference_of(name, compared, self.labels.get(name), self.span, self.pool, rows)
            for name, compared in self.outputs.items()
        ]
        span: Fact | None = ((), self.span.first, self.span.last) if self.span.last > NEG else None
        shown = timeline_of_differences(found, self.old.schema, span, title)
        return Picture(draw(shown, width=width, theme=theme))

    def _table(self, name: str, compared: Compared) -> Any:
        parts = []
        for label, side in (("old", compared.old), ("new", compared.new)):
            facts = [] if side is None else side.alone.facts(self.pool)
            table = table_of(self.old.schema, name, facts)
            (only,) = beside(table.column_names, ["only"])
            parts.append(table.append_column(only, pa.array([label] * len(facts), pa.string())))
        there = [part for part in parts if part.num_rows] or parts[:1]
        return pa.concat_tables(there, promote_options="permissive")


def _count(side: Side | None) -> str:
    return "-" if side is None else f"{side.figures.count:,}"


FLAP = 300
"""What begins again within so many seconds has flapped, where nothing else is said."""


def usual_flap(timeline: Timeline) -> int:
    """The encoded flap time of a program: whole ticks of `FLAP`, none where it does not say what a unit of time is."""
    if timeline.unit is None:
        return 0
    tick = Fraction(1) if timeline.is_integer else timeline.resolution
    return timeline.encode_point(Fraction(FLAP) / timeline.unit // tick * tick)


def shared_schema(old: Plan, new: Plan) -> Schema:
    """The schema by which a history is read for both programs.

    SpecError where they declare an input, or time, in different ways.
    """
    if old.timeline != new.timeline:
        raise SpecError("the two programs declare time in different ways: a history is read once, for both")
    predicates = dict(old.schema.predicates)
    for name, found in new.schema.predicates.items():
        known = predicates.setdefault(name, found)
        if known != found:
            raise SpecError(f"the two programs declare `{name}` in different ways: a history is read once, for both")
    others = {**(old.schema.others or {}), **(new.schema.others or {})}
    others = {name: is_open for name, is_open in others.items() if name not in predicates}
    strict = old.schema.others is not None and new.schema.others is not None
    return Schema(old.timeline, predicates, others=others if strict else None)


class Backtesting:
    """Runs programs over the stretches of one history, and keeps what each tells as maximal runs.

    What they have in common is computed once.
    """

    @uncollected()
    def __init__(self, plans: Sequence[Plan], pool: Pool, start: int | None = None, memory: Memory | None = None) -> None:
        self._plans = plans
        self._pool = pool
        self._shared = Shared()
        self._memory = Memory() if memory is None else memory
        self._courses: list[Course] = [
            course_of(plan, pool, start=start, shared=self._shared, memory=self._memory) for plan in plans
        ]
        self._told: list[dict[str, list[Batch]]] = [{name: [] for name in plan.outputs} for plan in plans]
        self._known: dict[tuple[int, str, int], Figures] = {}
        self._follows_time = any(plan.follows_time for plan in plans)
        self._first, self._last = POS, NEG
        self._size = 0  # of all that is told, in bytes
        self.rows = 0
        """How many facts have been taken."""

    @uncollected()
    def take(self, stretch: Stretch) -> None:
        """Go on with the next stretch."""
        self.rows += sum(map(len, stretch.fresh.values()))
        for batch in stretch.fresh.values():
            finite = batch.lo[batch.lo > NEG]
            if len(finite):
                self._first, self._last = min(self._first, int(finite.min())), max(self._last, int(finite.max()))
        self._shared.begin()
        try:
            self._go_on(stretch)
        except StateError as error:
            error.accepted = self.rows
            raise

    def _go_on(self, stretch: Stretch) -> None:
        for course, told in zip(self._courses, self._told, strict=True):
            for name, batch in course.advance(stretch.fresh, stretch.watermark).items():
                if len(batch):
                    told[name].append(batch)
                    self._size += batch.size

    def count(self, waiting: Held) -> None:
        """Count what is held by now, and what waits to be taken; StateError where it is more than may be."""
        courses = [held for course in self._courses for held in course.held()]
        self._memory.count([*courses, waiting, Held(self._size, lambda: _TOLD)], self._pool)

    def statistics(self, number: int) -> dict[str, OperatorStatistics]:
        """What each step of a program has done; one that the programs have in common is with the first that has it."""
        return {name: step for name, step in self._courses[number].statistics().items() if step.evaluations}

    def compare(self, new: int, labels: Mapping[str, Batch], flap: int) -> Backtest:
        """What the first program and another one told, once all stretches have been taken; `flap` is encoded."""
        plans = self._plans[0], self._plans[new]
        span = Span(min(self._first, self._last), self._last)
        found = Backtest(*plans, self._pool, span, self.rows, labels=labels)
        for name in dict.fromkeys([*plans[0].outputs, *plans[1].outputs]):
            told = [self._runs(0, name), self._runs(new, name)]
            widths = [batch.width for batch in told if batch is not None]
            if len({*widths}) > 1:
                raise SpecError(f"output `{name}` has {widths[0]} arguments in one program and {widths[1]} in the other")
            old, fresh = told
            found.outputs[name] = Compared(
                self._side(0, name, old, fresh, found, flap), self._side(new, name, fresh, old, found, flap)
            )
        return found

    def _runs(self, number: int, name: str) -> Batch | None:
        told = self._told[number].get(name)
        if told is None:
            return None
        if len(told) > 1 or (told and not told[0].is_tidy):
            whole = joined(told, told[0].width, self._pool)
            if self._follows_time:  # an endless recursion is followed as far as the history goes
                whole = whole.clipped(NEG, self._last)
            told[:] = [whole.tidied(self._pool)]
        return told[0] if told else empty(self._courses[number].widths[name])

    def _side(
        self, number: int, name: str, mine: Batch | None, other: Batch | None, found: Backtest, flap: int
    ) -> Side | None:
        if mine is None:
            return None
        labels = found.labels.get(name)
        said = None if labels is None else judged(mine, labels, found.old.timeline, self._pool)
        return Side(mine, other, self._pool, self._figures(number, name, mine, found, flap), said)

    def _figures(self, number: int, name: str, told: Batch, found: Backtest, flap: int) -> Figures:
        """The figures of what a program tells; those of the old one are looked at with each new one."""
        key = number, name, flap
        if key not in self._known:
            self._known[key] = figures_of(told, found.old.timeline, found.span, flap, self._pool)
        return self._known[key]
