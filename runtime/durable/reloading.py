"""Reloading: a stored run is brought to where it stood, by its own program, and goes on with another."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tidelog.plans.calendars.declared import with_events
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import ProgramError, SnapshotError, SpecError
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.preconditions import Unfolding
from tidelog.plans.tree.alarms import alarms_of
from tidelog.plans.tree.causes import with_desk
from tidelog.plans.tree.storms import Storm, with_storms
from tidelog.plans.tree.syntax import CalendarDeclaration, Program
from tidelog.plans.tree.walk import statements_of
from tidelog.runtime.intake.watermarks import with_sources
from tidelog.runtime.journal.events import events_behind, tell
from tidelog.runtime.journal.manifest import Head, fingerprint, what_changed
from tidelog.runtime.journal.partitions import Parts
from tidelog.runtime.migration.backfill import Begin, Filling, forget_answers
from tidelog.runtime.migration.changing import Becoming, Changing, Standing
from tidelog.runtime.ports.durability import Reload, StateStore
from tidelog.runtime.sessions.reasoner import Reasoner

logger = logging.getLogger("tidelog")


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The state to go on with, what is told at the change, and since when facts of predicates are taken."""

    state: dict[str, Any]
    answers: list[Record]
    heard: dict[str, int]


class Reloading:
    """The change of a stored run to the program of a session. SpecError where that cannot be, whatever is dropped."""

    def __init__(self, head: Head, session: Reasoner, store: StateStore, parts: Parts) -> None:
        self._head, self._store, self._parts = head, store, parts
        self._sources = session.settings.sources
        names = [source.name for source in head.sources]
        self._now = Filling.of(session, session.plan, sources=names)
        before, unknown = self._plan_before()
        self._check_times(before)
        self._silent = before.silent | self._now.plan.silent
        self._storms = {name for storm in before.storms for name in storm.names(before.alarms)}
        still = {alarm.name for alarm in self._now.plan.alarms}
        self._alarms = {alarm.part("active"): alarm.name for alarm in self._now.plan.alarms}
        self._gone = [alarm.name for alarm in before.alarms if alarm.name not in still]
        stored = Filling.of(session, before, sources=names)
        stored.passing = self._now.passing = frozenset(source.name for source in head.sources if source.passing)
        self._restore(stored, unknown)
        begin = Begin(head.events, stored.intake.snapshot(), head.reach, frozenset(head.endless))
        self._changing = Changing(Standing(stored, begin, head.heard, unknown), self._now, store)

    def becomings(self) -> list[Becoming]:
        """What becomes of each output, constraint and question."""
        return self._changing.becomings()

    def go_on(self, reload: Reload) -> Reloaded:
        """Go on with the program now, and tell what becomes of it; SpecError where state would be lost that must not be."""
        found = self.becomings()
        dropped = [item for item in found if item.drops and item.name not in self._storms]
        if dropped and reload == "refuse":
            raise SpecError(self._refusal(dropped))
        changed = [item for item in found if item.fate != "kept"]
        for item in changed:
            if item.name not in self._silent:
                logger.warning("%s", item)
            elif item.name in self._alarms and item.fate != "ended":
                logger.warning("alarm `%s`, on the desk: %s", self._alarms[item.name], item.told)
        for name in self._gone:
            logger.warning("alarm `%s` is not declared any more: what people did with it is dropped", name)
        if not changed and self._head.fingerprint != fingerprint(self._now.plan):
            logger.warning("the program is written in another way: all is kept")
        state, answers = self._changing.go_on()
        watermarks = with_sources(state["intake"]["watermarks"], self._sources)
        state |= {"sources": list(self._sources), "intake": {**state["intake"], "watermarks": watermarks}}
        silent = self._silent.difference(name for storm in self._now.plan.storms for name in (storm.holds, storm.count))
        told = [answer for answer in answers if answer[0] not in silent]
        return Reloaded(state, told, self._changing.heard)

    def _refusal(self, dropped: list[Becoming]) -> str:
        changed = what_changed(self._head.text, self._now.plan.program.text)
        told = "; ".join(str(item) for item in dropped if item.name not in self._silent or len(dropped) == 1)
        hint = '`--reload drop` lets it go, in a gateway `when_program_changes = "drop"`'
        return f"{self._place} was stored by another program{changed}, and would lose state: {told}: {hint}"

    @property
    def _place(self) -> str:
        return f"state `{self._store.name}`"

    # --- the program before ---------------------------------------------------------------------------------------------

    def _plan_before(self) -> tuple[Plan, frozenset[str]]:
        """The plan of the stored program; and the predicates whose background has changed since, which is not known."""
        now = self._now.plan
        depth = now.questions[0].depth if now.questions else None
        only_asks = bool(now.questions) and not now.outputs
        try:
            program = _with_events_of(parse(self._head.text, self._head.program), now.program)
            compiled = [
                replace(compile_program(each, outputs=not only_asks, depth=depth), storms=storms)
                for each, storms in _forms(program, self._head.storms)
            ]
        except ProgramError as error:
            raise SpecError(f"{self._place} was stored by a program that cannot be read any more: {error}") from error
        plans = [replace(plan, facts=(*plan.facts, *self._background(plan))) for plan in compiled]
        plans = [replace(plan, unfoldings=_unfold(plan)) for plan in plans]
        for plan in plans:
            if fingerprint(plan) == self._head.fingerprint:
                return plan, frozenset()
        plan = next((plan for plan in plans if bool(plan.silent) == bool(now.silent)), plans[0])
        if self._head.snapshot < self._head.events:
            raise SpecError(
                f"{self._place}: the background of its program, or a calendar's file, has changed, and it was not stopped "
                "in order: start it once with the files as they were"
            )
        return plan, frozenset(plan.normal.supplied)

    def _background(self, plan: Plan) -> Iterator[Record]:
        """What the files of the background hold, as far as the program now reads them, too."""
        if not plan.backgrounds:
            return
        now = self._now.plan
        own = len(compile_program(now.program, outputs=not now.questions or bool(now.outputs)).facts)
        files = {(item.path, item.predicate) for item in now.backgrounds}
        for predicate in dict.fromkeys(item.predicate for item in plan.backgrounds if (item.path, item.predicate) in files):
            yield from (record for record in now.facts[own:] if record[0] == predicate)

    def _check_times(self, before: Plan) -> None:
        """What is stored are times as one timeline encodes them, complete up to a time that is less the longest delay."""
        now = self._now.plan
        if before.timeline != now.timeline:
            told = f"{_described(before.timeline)}, now {_described(now.timeline)}"
            raise SpecError(
                f"{self._place}: the program counts time in another way: it was {told}: choose another directory"
            )
        if max(before.delays.values(), default=0) != max(now.delays.values(), default=0):
            raise SpecError(f"{self._place}: the longest `delay` of an input has changed: choose another directory")

    # --- where it stood -------------------------------------------------------------------------------------------------

    def _restore(self, stored: Filling, unknown: frozenset[str]) -> None:
        """Bring a session of the program before to where the run stood."""
        if self._head.snapshot:
            state = self._parts.load(self._store.parts())
            if unknown:
                state |= {"plan": stored.state()["plan"]}  # its own facts are in the state already
            stored.load(state)
        last = self._head.snapshot
        for block in events_behind(self._store, last) if last < self._head.events else ():
            for number, event in block:
                tell(stored, event)
                last = number
            forget_answers(stored)
        if last != self._head.events:
            raise SnapshotError(f"{self._place}: its journal ends at event {last} of {self._head.events}")


def _with_events_of(before: Program, now: Program) -> Program:
    """The program before with the events of calendars' files as they are now; of a file that is read no more, with none."""
    files = {(item.path, item.predicate): item for item in statements_of(now, CalendarDeclaration)}
    calendars = (item for item in statements_of(before, CalendarDeclaration) if item.path)
    return with_events(before, (files.get((item.path, item.predicate), replace(item, events=())) for item in calendars))


def _forms(program: Program, storms: tuple[Storm, ...]) -> list[tuple[Program, tuple[Storm, ...]]]:
    """The forms of a program in which a run may have had it: its text does not say whether there was a desk."""
    if not alarms_of(program):
        return [(program, storms)]
    desk = with_storms(with_desk(program), storms), storms
    return [desk] if storms else [(program, ()), desk]


def _unfold(plan: Plan) -> tuple[Unfolding, ...]:
    if not plan.questions:
        return ()
    from tidelog.operators.sld.unfold import unfold  # noqa: PLC0415 - few programs ask, and all have to start at once

    return tuple(unfold(question, plan.facts) for question in plan.questions)


def _described(timeline: Timeline) -> str:
    unit = "" if timeline.unit is None else f", unit {timeline.unit} s"
    rounding = f", round {timeline.rounding}" if timeline.rounding else ""
    return f"{timeline.kind} in steps of {timeline.resolution}{unit}{rounding}"
