"""Reloading: a stored run is brought to where it stood, by its own plan, and goes on with another.

The plan is another where the program has changed, and also where this version of tidelog makes another plan of the same
program. That never stops a run: what the journal can fill is filled; and where state would be lost, the run goes on with the
plan that it has.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import SnapshotError, SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.stored import can_stand_in, is_same_program, unpack_plan
from tidelog.runtime.intake.watermarks import with_sources
from tidelog.runtime.journal.events import events_behind, tell
from tidelog.runtime.journal.manifest import Head, what_changed
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
        self._before = before = unpack_plan(store.plan(), self._place, session.plan)
        self._check_times(before)
        self._has_changed = not is_same_program(before, session.plan)
        self._silent = before.silent | self._now.plan.silent
        self._storms = {name for storm in before.storms for name in storm.names(before.alarms)}
        still = {alarm.name for alarm in self._now.plan.alarms}
        self._alarms = {alarm.part("active"): alarm.name for alarm in self._now.plan.alarms}
        self._gone = [alarm.name for alarm in before.alarms if alarm.name not in still]
        stored = Filling.of(session, before, sources=names)
        stored.passing = self._now.passing = frozenset(source.name for source in head.sources if source.passing)
        self._restore(stored)
        begin = Begin(head.events, stored.intake.snapshot(), head.reach, frozenset(head.endless))
        self._changing = Changing(Standing(stored, begin, head.heard), self._now, store)

    def becomings(self) -> list[Becoming]:
        """What becomes of each output, constraint and question; nothing where the program is the same."""
        return self._changing.becomings() if self._has_changed else []

    def go_on(self, reload: Reload) -> Reloaded | Plan:
        """Go on with the program now, and tell what becomes of it; SpecError where state would be lost that must not be.

        Returns a plan where the run stays with that, from its last snapshot on.
        """
        found = self._changing.becomings()
        dropped = [item for item in found if item.drops and item.name not in self._storms]
        if not self._has_changed:
            lost = [*map(str, dropped)]
            lost += ["that facts can be taken back which came before"] if self._head.options.get("corrections") else []
            if lost and (stays_with := self._staying(lost)):
                return stays_with
        elif dropped and reload == "refuse":
            raise SpecError(self._refusal(dropped))
        changed = [item for item in found if item.fate != "kept"]
        for item in changed:
            if item.name not in self._silent:
                logger.warning("%s", item)
            elif item.name in self._alarms and item.fate != "ended":
                logger.warning("alarm `%s`, on the desk: %s", self._alarms[item.name], item.told)
        for name in self._gone:
            logger.warning("alarm `%s` is not declared any more: what people did with it counts no more", name)
        if not changed and self._has_changed:
            logger.warning("the program is written in another way: all is kept")
        state, answers = self._changing.go_on()
        watermarks = with_sources(state["intake"]["watermarks"], self._sources)
        state |= {"sources": list(self._sources), "intake": {**state["intake"], "watermarks": watermarks}}
        silent = self._silent.difference(name for storm in self._now.plan.storms for name in storm.told_at_once)
        told = [answer for answer in answers if answer[0] not in silent]
        return Reloaded(state, told, self._changing.heard)

    def _staying(self, lost: Sequence[str]) -> Plan | None:
        """The plan before, where that does for the program now: another version made it of the same one."""
        names = [source.name for source in self._head.sources]
        made = "another version of tidelog made other steps of this program"
        told = "; ".join(lost)
        if self._head.snapshot and names == list(self._sources) and can_stand_in(self._before, self._now.plan):
            logger.warning("%s: the run goes on with them, since with those of this version it would lose: %s", made, told)
            return replace(self._before, program=self._now.plan.program)
        logger.warning("%s, and this version cannot go on with all that they know", made)
        return None

    def _refusal(self, dropped: list[Becoming]) -> str:
        changed = what_changed(self._head.text, self._now.plan.program.text)
        told = "; ".join(str(item) for item in dropped if item.name not in self._silent or len(dropped) == 1)
        hint = '`--reload drop` lets it go, in a gateway `when_program_changes = "drop"`'
        return f"{self._place} was stored by another program{changed}, and would lose state: {told}: {hint}"

    @property
    def _place(self) -> str:
        return f"state `{self._store.name}`"

    # --- the program before ---------------------------------------------------------------------------------------------

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

    def _restore(self, stored: Filling) -> None:
        """Bring a session of the program before to where the run stood."""
        if self._head.snapshot:
            stored.load(self._parts.load(self._store.parts()))
        last = self._head.snapshot
        for block in events_behind(self._store, last) if last < self._head.events else ():
            for number, event in block:
                tell(stored, event)
                last = number
            forget_answers(stored)
        if last != self._head.events:
            raise SnapshotError(f"{self._place}: its journal ends at event {last} of {self._head.events}")


def _described(timeline: Timeline) -> str:
    unit = "" if timeline.unit is None else f", unit {timeline.unit} s"
    rounding = f", round {timeline.rounding}" if timeline.rounding else ""
    return f"{timeline.kind} in steps of {timeline.resolution}{unit}{rounding}"
