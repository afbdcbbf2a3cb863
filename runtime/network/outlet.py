"""The outlet: what comes out at the watched steps becomes answers and violations, which wait here to be pulled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.notices import Notices
from tidelog.plans.alarms.desk import parts_of
from tidelog.plans.analysis.horizons.calendar_reach import told_from
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.emission.board import Board, longer_parts
from tidelog.runtime.emission.emission import Runs
from tidelog.runtime.emission.held import Held
from tidelog.runtime.emission.modes import emission
from tidelog.runtime.emission.violations import Violation, Violations
from tidelog.runtime.intake.intake import Delivery
from tidelog.runtime.network.state_bound import StateBound
from tidelog.runtime.ports.interfaces import EmitMode


class Outlet:
    """Takes new coverage of outputs and constraints, and how far each is known; makes `answers` and `violated` of it."""

    def __init__(self, plan: Plan, emit: EmitMode, bound: StateBound, *, keeps_held: bool = False) -> None:
        self.answers: list[Record] = []
        self._silent = plan.silent - plan.spoken
        self.violated: list[Violation] = []
        announced = {name: found for name, step in plan.outputs.items() if (found := plan.announcing.get(step))}
        self.emission = emission(emit, plan.outputs, announced)
        self.emission.room = bound.room
        self._violations = Violations(plan)
        self._constraints = plan.constraints
        watched = {*plan.outputs.values(), *plan.constraints}
        leads = {output: plan.leads[step] for output, step in plan.outputs.items()}
        kept = {output: leads[output] for output in (*plan.told, *parts_of(plan.alarms, plan.silent)) if output in leads}
        self.held = Held(kept, longer_parts(plan)) if keeps_held else None
        """What holds of the outputs, where somebody wants to know."""
        self.board = None if self.held is None or not (plan.alarms and plan.silent) else Board(plan, self.held)
        """The open alarms, where there is a desk."""
        self.accused: dict[str, tuple[list[Fact], Notices]] = {}
        """What has come of constraints, to be judged when all that is due has run, in whatever order it came."""
        self.since: dict[str, int] = {}
        """Watched steps of which nothing is told that lies before a time: they, or their calendars, were not there then."""
        self.told: dict[str, Coverage] = {}
        """Of some outputs what was told by another program, before this one took its place: it is not told again."""
        self.follows_arrivals = self.emission.follows_arrivals
        self._over_calendars = {name: before for name, before in plan.over_calendars.items() if name in watched}
        self._facts = plan.facts

    def begin(self, start: int | None) -> None:
        """The stream starts, or ends and never did: of what follows from calendars nothing is told that lies before."""
        for step, time in told_from(self._over_calendars, self._facts, POS if start is None else start).items():
            if start is not None or step not in self.since:
                self.since[step] = max(time, self.since.get(step, NEG))

    def receive(self, step: str, facts: Sequence[Fact], frontier: int, notices: Notices | None = None) -> None:
        """Take new coverage of a watched step, and how far it is known now."""
        if self.since and (facts or notices is not None):
            facts, notices = _from(self.since.get(step, NEG), facts, notices)
        if step in self._constraints:
            if facts or notices is not None:
                self._accuse(step, facts, notices)
        else:
            if self.held is not None and (facts or notices is not None):
                self._keep(self.held, step, facts, notices)
            records = self.said(self.emission.receive(step, facts, frontier, notices))
            self.answers += self._untold(records) if self.told else records
            if step in self.told:
                self._forget(step, frontier)

    def keep(self, step: str, facts: Sequence[Fact], notices: Notices | None) -> None:
        """Keep what holds of new coverage that was told elsewhere."""
        if self.since:
            facts, notices = _from(self.since.get(step, NEG), facts, notices)
        if self.held is not None and (facts or notices is not None):
            self._keep(self.held, step, facts, notices)

    def _keep(self, held: Held, step: str, facts: Sequence[Fact], notices: Notices | None) -> None:
        held.receive(step, facts, notices)
        if self.board is not None:
            self.board.receive(step, facts, notices)

    def count(self, violations: int) -> None:
        """So many violations were told elsewhere."""
        self._violations.count += violations

    def said(self, records: list[Record]) -> list[Record]:
        """Of some answers those that are not for a desk alone."""
        if not self._silent:
            return records
        return [record for record in records if record[0] not in self._silent]

    def _accuse(self, step: str, facts: Sequence[Fact], notices: Notices | None) -> None:
        said, heard = self.accused.setdefault(step, ([], Notices()))
        if notices is not None:
            heard.follow_with(notices, said)
        said += facts

    def _untold(self, records: list[Record]) -> list[Record]:
        found: list[Record] = []
        for record in records:
            told = self.told.get(record[0])
            found += [record] if told is None else [(record[0], *fact) for fact in told.insert([record[1:]])]
        return found

    def _forget(self, output: str, frontier: int) -> None:
        """What was told is forgotten once nothing more can come for it."""
        told = self.told[output]
        told.forget(frontier)
        if not told.rows:
            del self.told[output]

    def forget(self, frontier: int) -> None:
        """The stream is complete up to a time: what has ended need not be kept."""
        if self.held is not None:
            self.held.forget(frontier)

    def judge(self, frontier_of: Callable[[str], int]) -> None:
        """Tell which violations begin with what has come of constraints, by how far each of these is known now."""
        accused, self.accused = self.accused, {}
        for step, (facts, notices) in accused.items():
            self.violated += self._violations.receive(step, facts, frontier_of(step), notices)

    def arrive(self, delivery: Delivery) -> bool:
        """Input facts arrived at some time points; returns whether outputs that are known already may have more to tell."""
        self.answers += self.said(self.emission.arrive(delivery.points, delivery.frontier))
        return bool(delivery.points)

    def waits(self, step: str) -> bool:
        """Whether something of a watched step may be told though nothing new comes."""
        return step not in self._constraints and self.emission.waits(step)

    def deadline(self, step: str) -> int:
        """The frontier of a watched step at which there is something to tell though nothing new comes; POS if nothing is."""
        return POS if step in self._constraints else self.emission.deadline(step)

    def due(self, step: str) -> int:
        """The same, but that what goes on holding may wait to be told of until there is something else to tell."""
        return POS if step in self._constraints else self.emission.due(step)

    def finish(self) -> None:
        """The stream has ended, and all has been received."""
        self.answers += self.said(self._untold(self.emission.finish()))

    def rest(self) -> None:
        """The stream has stopped before its end: tell what is known and was left untold."""
        self.answers += self.said(self._untold(self.emission.rest()))

    @property
    def violations(self) -> int:
        """How many violations there were."""
        return self._violations.count

    def entries(self) -> Iterator[tuple[str, int]]:
        """How many ranges wait for their end, by output."""
        yield from self.emission.entries().items()
        if self.held is not None:
            yield from self.held.entries().items()

    def snapshot(self) -> dict[str, Any]:
        """The state as plain data, without what waits to be pulled."""
        since = dict(self.since)
        held = None if self.held is None else self.held.snapshot()
        emitted, violated = self.emission.snapshot(), self._violations.snapshot()
        told = {output: told.snapshot() for output, told in self.told.items()}
        return {"emission": emitted, "violations": violated, "since": since, "held": held, "told": told}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self.emission.restore(data["emission"])
        self._violations.restore(data["violations"])
        self.since = dict(data["since"])
        if self.held is not None:
            self.held.restore(data.get("held") or self._kept())
        if self.board is not None:
            self.board.forget()
        self.told = {}
        for output, told in data["told"].items():
            self.told[output] = Coverage()
            self.told[output].restore(told)
        self.answers.clear()
        self.violated.clear()
        self.accused.clear()

    def _kept(self) -> dict[str, Any]:
        """What the emission knows to hold, in the form of `Held.snapshot`, where nobody wanted to know it before."""
        kept = self.emission
        stored = kept.coverage if isinstance(kept, Runs) else {}
        return {
            output: [store.snapshot(), [[list(row), lo] for row, lo in kept.standing(output)]]
            for output, store in stored.items()
        }


class Exporting(Outlet):
    """An outlet that keeps what steps have `sent` that other islands read."""

    def __init__(self, plan: Plan, emit: EmitMode, bound: StateBound, exports: Collection[str]) -> None:
        super().__init__(plan, emit, bound)
        self.sent: list[tuple[str, Sequence[Fact], Notices | None]] = []
        self._exports = frozenset(exports)
        self._told = frozenset({*plan.outputs.values(), *plan.constraints})

    def receive(self, step: str, facts: Sequence[Fact], frontier: int, notices: Notices | None = None) -> None:
        """Take new coverage of a watched step, and how far it is known now."""
        if step in self._exports and (facts or notices is not None):
            self.sent.append((step, list(facts), notices))
        if step in self._told:
            super().receive(step, facts, frontier, notices)

    def waits(self, step: str) -> bool:
        """Whether something of a watched step may be told though nothing new comes."""
        return step in self._told and super().waits(step)

    def deadline(self, step: str) -> int:
        """The frontier of a watched step at which there is something to tell though nothing new comes; POS if nothing is."""
        return super().deadline(step) if step in self._told else POS

    def due(self, step: str) -> int:
        """The same, but that what goes on holding may wait to be told of until there is something else to tell."""
        return super().due(step) if step in self._told else POS


def _from(begin: int, facts: Sequence[Fact], notices: Notices | None) -> tuple[Sequence[Fact], Notices | None]:
    """The part of a message that lies at a time or behind it."""
    if notices is not None:
        begun = [(row, max(lo, begin)) for row, lo in notices.begun.items()]
        notices = Notices(begun, [(row, max(lo, begin), hi) for row, lo, hi in notices.ended])
    return [(row, max(lo, begin), hi) for row, lo, hi in facts if hi >= begin], notices
