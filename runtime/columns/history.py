"""A plan over columns: what is new of each input goes in stretch by stretch, and what follows for sure comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from time import perf_counter
from typing import Any

from tidelog.operators.columns.arrays import np
from tidelog.operators.columns.batch import Batch, batch_of, empty, joined
from tidelog.operators.columns.kernel import Kernel
from tidelog.operators.columns.pool import Pool
from tidelog.operators.operator import OperatorStatistics, shift
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.analysis.horizons.calendar_reach import told_from
from tidelog.plans.analysis.physical.in_columns import refused, stays_at_one_time
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import OperatorError, StateError
from tidelog.plans.language.places import place_of
from tidelog.plans.plan.feeds import widths_of
from tidelog.plans.plan.plan import CalendarShape, Feed, Loop, Plan, Step
from tidelog.plans.plan.shapes import lead
from tidelog.runtime.columns.course import Course, Coverage
from tidelog.runtime.columns.deploy import build_kernel
from tidelog.runtime.columns.island import Island
from tidelog.runtime.columns.memory import ANSWER, Held, Memory, of_step
from tidelog.runtime.columns.rounds import Rounds
from tidelog.runtime.columns.rows import RowCourse
from tidelog.runtime.columns.sharing import Shared
from tidelog.runtime.columns.telling import telling
from tidelog.runtime.emission.violations import Violation, Violations
from tidelog.runtime.ports.interfaces import EmitMode

_ORDERS: Mapping[str, Callable[[Record], Any]] = {"intervals": itemgetter(2), "final": itemgetter(3, 2)}
"""How answers of several outputs come among each other; each output's own are in order by themselves."""


@dataclass(slots=True)
class Work:
    """What a step has been given and has said, in how many stretches, and how long that took."""

    received: int = 0
    sent: int = 0
    stretches: int = 0
    seconds: float = 0.0

    def add(self, received: int, sent: int, seconds: float) -> None:
        """It has gone through a stretch."""
        self.received += received
        self.sent += sent
        self.stretches += 1
        self.seconds += seconds


class ColumnCourse(Course):
    """Deploys a plan over columns; ValueError where it is `refused`.

    Plans that go over the same history may have `shared` steps.

    What `advance` gives holds behind the last frontier of each output, and up to the one that follows from the watermark.
    """

    def __init__(
        self,
        plan: Plan,
        pool: Pool,
        *,
        emit: EmitMode = "intervals",
        start: int | None = None,
        shared: Shared | None = None,
        memory: Memory | None = None,
    ) -> None:
        super().__init__(plan, pool)
        self._memory = Memory() if memory is None else memory
        refusal = refused(plan)
        if refusal is not None:
            raise ValueError(refusal)
        self._sharing = None if shared is None else shared.enter(plan)
        self.watermark = NEG
        self.telling = telling(emit, plan.outputs, pool)
        self._order = _ORDERS.get(emit)
        self._violations = Violations(plan)
        self._violated: list[Violation] = []
        self._steps = {step.id: step for step in plan.steps}
        self._reached: dict[str, int] = {}
        self._widths = widths_of(plan)
        self._loops = {loop.number: self._looped(loop) for loop in plan.loops}
        self.kernels: dict[str, Kernel] = {
            step.id: build_kernel(step, self._ports(step), plan.timeline, self.pool)
            for step in plan.steps
            if step.loop is None
        }
        self._watched = {*plan.outputs.values(), *plan.constraints}
        self.work = {step.id: Work() for step in plan.steps}
        self._facts: Coverage | None = self._program_facts()
        self._given, self._earliest = start, POS
        self._timeless: dict[str, Batch] = {}
        """What has no begin, and waits for the start of a history over calendars."""
        self.start: int | None = None
        """The stream's start, where it is known."""

    def _looped(self, loop: Loop) -> Rounds | Island:
        """What runs a loop: rounds over columns where it stays at one time, and rows where it does not."""
        widths = {name: self._widths["step", name] for name in loop.members}
        if stays_at_one_time(loop, self._steps):
            return Rounds(loop, self._steps, widths, self.pool)
        read = {feed.name for step in self.plan.steps if step.loop != loop.number for feed in step.inputs}
        return Island(self.plan, loop, widths, {*read, *self.plan.outputs.values(), *self.plan.constraints}, self.pool)

    def _ports(self, step: Step) -> list[int]:
        return [self._widths[feed.kind, feed.name] for feed in step.inputs]

    def _program_facts(self) -> Coverage:
        found: dict[str, list[Fact]] = {}
        for predicate, row, lo, hi in self.plan.facts:
            found.setdefault(predicate, []).append((row, lo, hi))
        return {name: batch_of(facts, len(facts[0][0]), self.pool) for name, facts in found.items()}

    def advance(self, fresh: Mapping[str, Batch], watermark: int) -> Coverage:
        said = self._since(self._advance(fresh, watermark))
        for constraint in self.plan.constraints:
            facts = said[constraint].tidied(self.pool).facts(self.pool)
            self._violated += self._violations.receive(constraint, facts, self._reached[constraint])
        return {name: said[step] for name, step in self.plan.outputs.items()}

    def tell(self, fresh: Mapping[str, Batch], watermark: int) -> list[Record]:
        told: list[Record] = []
        if self.telling.follows_arrivals:
            told += self.telling.arrive(self._points(fresh), watermark)
        for name, batch in self.advance(fresh, watermark).items():
            tell = partial(self._named, self.plan.outputs[name])
            self._memory.say(len(batch) * ANSWER, tell)
            try:
                told += self.telling.receive(name, batch, self.reached(name))
            except NoRoomError as full:
                raise self._memory.no_room(full.rows, tell) from full
        if watermark >= POS:
            told += self.telling.finish()
        if self._order is not None and len(self.plan.outputs) > 1:
            told.sort(key=self._order)
        return told

    def reached(self, name: str) -> int:
        """How far an output is known."""
        return self.frontier_of_step(self.plan.outputs[name])

    def frontier_of_step(self, name: str) -> int:
        """How far a step is known."""
        return self._reached[name]

    def pull_violations(self) -> list[Violation]:
        found, self._violated = self._violated, []
        return found

    def _points(self, fresh: Mapping[str, Batch]) -> list[int]:
        """The time points at which facts arrive."""
        gap = 0 if self.plan.timeline.is_integer else 1
        begins = [batch.lo - (batch.lo & gap) for batch in fresh.values() if len(batch)]
        found: list[int] = np.unique(np.concatenate(begins)).tolist() if begins else []
        return [point for point in found if point > NEG]

    def _advance(self, fresh: Mapping[str, Batch], watermark: int) -> Coverage:
        """What each step says for sure."""
        start = self._find_start(fresh, watermark)
        if self.plan.over_calendars and (self._timeless or self.start is None):
            fresh = self._hold_timeless(fresh, watermark)
        facts, self._facts = self._facts or {}, None
        said: Coverage = {}
        self.watermark = watermark

        def port(feed: Feed, width: int) -> Batch:
            match feed.kind:
                case "step":
                    return said[feed.name]
                case "stream":
                    return fresh.get(feed.name) or empty(width)
                case "facts":
                    return facts.get(feed.name) or empty(width)
                case "start":
                    return start
                case _:
                    return empty(width)

        for step in self.plan.steps:
            if step.id in said:
                continue
            if step.loop is not None:
                said.update(self._go_round(step.loop, port))
                continue
            said[step.id] = self._run_step(step, port)
        return said

    def _run_step(self, step: Step, port: Callable[[Feed, int], Batch]) -> Batch:
        frontiers = [self.frontier_of(feed) for feed in step.inputs]
        if isinstance(step.shape, CalendarShape) and self.start is None and self.watermark < POS:
            frontiers = [NEG for _ in frontiers]  # it begins where the history does
        frontier = min([shift(reached, lead(step.shape, place)) for place, reached in enumerate(frontiers)], default=POS)
        self._reached[step.id] = frontier
        known = None if self._sharing is None else self._sharing.said(step)
        if known is not None:
            return known
        ports = [port(feed, width) for feed, width in zip(step.inputs, self._ports(step), strict=True)]
        received = sum(map(len, ports))
        begin = perf_counter()
        if self._sharing is not None:
            ports[:1] = [self._sharing.needed(step, batch) for batch in ports[:1]]
        with self.running(step, received):
            found = self.kernels[step.id].advance(ports, frontiers, frontier)
        self.work[step.id].add(received, len(found), perf_counter() - begin)
        self._memory.say(found.size, partial(self._named, step.id))
        if self._sharing is not None:
            self._sharing.say(step, found)
        return found

    @contextmanager
    def running(self, step: Step, received: int) -> Iterator[None]:
        """A step's kernel runs over so many rows: what it raises is told of the step."""
        try:
            yield
        except NoRoomError as full:
            raise self._memory.no_room(full.rows, partial(self._named, step.id)) from full
        except Exception as error:
            up_to = f"{received:,} rows up to {self.plan.timeline.format_point(self.watermark)}"
            shown = up_to if received else "(the frontier)"
            raise OperatorError(step.id, step.source or step.id, shown, f"{type(error).__name__}: {error}") from error

    def _go_round(self, number: int, port: Callable[[Feed, int], Batch]) -> Coverage:
        loop, running = self.plan.loops[number], self._loops[number]
        feeds = {(name, place): self._steps[name].inputs[place] for name, place in loop.entries}
        fresh = {entry: port(feed, self._ports(self._steps[entry[0]])[entry[1]]) for entry, feed in feeds.items()}
        known = min(map(self.frontier_of, feeds.values()), default=POS)
        begin = perf_counter()
        tell = partial(self._named, loop.members[0])
        if isinstance(running, Rounds):
            try:
                said = running.advance(fresh, known)
            except NoRoomError as full:
                raise self._memory.no_room(full.rows, tell) from full
            self._reached.update(dict.fromkeys(loop.members, known))
        else:
            told = running.advance({feeds[entry]: batch for entry, batch in fresh.items()}, known)
            said = dict.fromkeys(loop.members, empty(0)) | told
            self._reached.update({name: running.reached(name) for name in loop.members})
        self._memory.say(sum(batch.size for batch in said.values()), tell)
        self._note_round(loop, fresh, said, perf_counter() - begin)
        return said

    def _note_round(self, loop: Loop, fresh: Mapping[tuple[str, int], Batch], said: Coverage, seconds: float) -> None:
        """A loop has gone through a stretch; its first member stands for the time that all of them took."""
        received = dict.fromkeys(loop.members, 0)
        for (name, _), batch in fresh.items():
            received[name] += len(batch)
        for name, number in received.items():
            self.work[name].add(number, len(said[name]), seconds if name == loop.members[0] else 0.0)

    def _find_start(self, fresh: Mapping[str, Batch], watermark: int) -> Batch:
        """The stream's start, where it has just become known."""
        self._earliest = min([self._earliest, *(self._first(batch) for batch in fresh.values() if len(batch))])
        start = self._given
        if start is None and self._earliest <= min(watermark, POS - 1) + 1 and self._earliest < POS:
            start = self._earliest
        if self.start is not None or start is None:
            return empty(0)
        self.start = start
        return batch_of([((), start, start)], 0, self.pool)

    def _first(self, batch: Batch) -> int:
        """The first begin; over calendars the first time, for there a history starts with one."""
        first, _ = batch.bounds
        if first > NEG or not self.plan.over_calendars:
            return first
        times = np.concatenate([batch.lo, batch.hi])
        return int(times[(times > NEG) & (times < POS)].min(initial=POS))

    def _hold_timeless(self, fresh: Mapping[str, Batch], watermark: int) -> Mapping[str, Batch]:
        """Over calendars, what has no begin comes when the history starts, or at its end."""
        found = {**fresh}
        if self.start is not None or watermark >= POS:
            for name, batch in self._timeless.items():
                found[name] = joined([batch, found.get(name) or empty(batch.width)], batch.width, self.pool)
            self._timeless = {}
            return found
        for name, batch in fresh.items():
            is_timeless = batch.lo <= NEG
            if is_timeless.any():
                held = [*([self._timeless[name]] if name in self._timeless else []), batch.take(is_timeless)]
                self._timeless[name] = joined(held, batch.width, self.pool)
                found[name] = batch.take(~is_timeless)
        return found

    def _since(self, said: Coverage) -> Coverage:
        """What is told: of what follows from calendars nothing that lies before the start, or without one."""
        start = POS if self.start is None and self.watermark >= POS else self.start
        if start is None or not self.plan.over_calendars:
            return said
        since = told_from(self.plan.over_calendars, self.plan.facts, start)
        return {name: said[name].clipped(since[name], POS) if name in since else said[name] for name in self._watched}

    def frontier_of(self, feed: Feed) -> int:
        """How far a port is known."""
        match feed.kind:
            case "step":
                return self._reached[feed.name]
            case "start":
                return POS if self.start is not None else self.watermark
            case "facts":
                return POS
            case _:
                return self.watermark

    def go_on(self, watermark: int, reached: Mapping[str, int]) -> None:
        """All has been told up to this watermark, and each step is known so far: the kernels have what they kept."""
        self.watermark, self._facts = watermark, None
        self._reached.update(reached)

    def kept(self) -> int:
        """How many rows are kept for later stretches."""
        return sum(keeper.kept() for _, keeper in self._keepers())

    def check_room(self, most: int | None) -> None:
        """StateError, that names the step that keeps most, where more rows are kept than may be."""
        if most is None or self.kept() <= most:
            return
        name, keeper = max(self._keepers(), key=lambda item: item[1].kept())
        raise StateError(*self._named(name), keeper.kept(), most)

    def held(self) -> Iterator[Held]:
        for name, keeper in self._keepers():
            yield of_step(keeper.size(), partial(self._named, name))
        yield Held(self.telling.size(), lambda: ("answers that are not final", "", "`--emit intervals` keeps none"))

    def _keepers(self) -> Iterator[tuple[str, Kernel | Rounds | Island]]:
        """What keeps rows, each with a step that it is, or that belongs to it."""
        yield from self.kernels.items()
        for number, loop in self._loops.items():
            yield self.plan.loops[number].members[0], loop

    def _named(self, name: str) -> tuple[str, str]:
        """A step as people know it, and its place."""
        source = self._steps[name].source
        return (f"the rule `{source}`", place_of(self.plan.program, source)) if source else (f"the step `{name}`", "")

    def statistics(self) -> dict[str, OperatorStatistics]:
        keepers = dict(self._keepers())
        return {
            name: OperatorStatistics(
                work.received,
                work.sent,
                keepers[name].kept() if name in keepers else 0,
                self.kernels[name].failed if name in self.kernels else 0,
                work.stretches,
                seconds=work.seconds,
            )
            for name, work in self.work.items()
        }

    def unfinished(self) -> list[str]:
        """After the end: what is recursive without an end, and was followed only as far as the stream went."""
        return [line for loop in self._loops.values() for line in loop.unfinished()]


def course_of(
    plan: Plan,
    pool: Pool,
    *,
    emit: EmitMode = "intervals",
    start: int | None = None,
    shared: Shared | None = None,
    memory: Memory | None = None,
) -> Course:
    """What runs a plan over a history: columns where they can carry it, and rows otherwise."""
    if refused(plan) is not None:
        return RowCourse(plan, pool, emit=emit, start=start)
    return ColumnCourse(plan, pool, emit=emit, start=start, shared=shared, memory=memory)
