"""How far a journal reaches: from when on steps that are told it know all that there was."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidelog.operators.operator import shift
from tidelog.plans.analysis.horizons.looking_back import looking_back, own_look_back, reads
from tidelog.plans.analysis.physical.announcing import announces
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Feed, Plan, Step
from tidelog.runtime.migration.backfill import Begin, marks_of
from tidelog.runtime.ports.durability import Journal

CHEAP = 1_000_000
"""A journal is read further back than it has to be, while these are no more facts."""


class Reach:
    """How far the steps of a plan look back, and from when on the journal tells them all that there was.

    `begin` is where the journal is read from. Times are encoded.
    """

    def __init__(self, plan: Plan, kept: Collection[str], frontier: int, end: Begin) -> None:
        self.plan, self._kept, self._frontier = plan, kept, frontier
        self.back, self.reads = looking_back(plan), reads(plan)
        self.begin = end

    def read_from(self, store: Journal, steps: Collection[str]) -> None:
        """Find where the journal is read from, so that these steps know all: as late as can be, or a little before.

        Where it does not reach back so far, that is its begin; the end where it has none.
        """
        end = self.begin.number
        need = min((shift(self.known_upto(name), -self.back[name]) for name in steps), default=NEG)
        marks = [mark for mark in marks_of(store.journal()) if mark[0].number <= end]
        if not marks:
            return
        read = frozenset[str]().union(*(self.reads[name] for name in steps))
        enough = [mark for mark in marks if mark[0].reach < need and not mark[0].endless & read] or marks[:1]
        self.begin, facts = enough[-1]
        behind = marks[-1][1] - facts
        for earlier, facts in reversed(enough):
            if marks[-1][1] - facts <= max(behind, CHEAP):
                self.begin = earlier

    def known_upto(self, step: str) -> int:
        """How far a step is known."""
        return shift(self._frontier, self.plan.leads[step])

    def agrees(self, step: str) -> bool:
        """Whether a step that is told the journal knows of standing rows as much as one that was there all the time."""
        if self.begin.intake is None:
            return True
        known = max((self.begin.known_from(name) for name in self.reads[step]), default=NEG)
        return shift(known, self.back[step]) <= shift(self.known_upto(step), 1)

    def filled_from(self, heard: Mapping[str, int]) -> dict[str, int]:
        """From when on what each step is filled with, or is told by kept steps, is all that there was."""
        found: dict[str, int] = {}
        for step in self.plan.steps:
            if step.id in found:
                continue
            if step.id in self._kept:
                found[step.id] = self._told_from(step)
                continue
            members = [step] if step.loop is None else [item for item in self.plan.steps if item.loop == step.loop]
            feeds = [feed for member in members for feed in member.inputs]
            known = max((self._fed_from(feed, found, heard) for feed in feeds), default=NEG)
            own = max(own_look_back(member.shape) for member in members)
            own = POS if own and len(members) > 1 else own
            found |= {member.id: known if known <= NEG else shift(known, own) for member in members}
        return found

    def _fed_from(self, feed: Feed, found: Mapping[str, int], heard: Mapping[str, int]) -> int:
        if feed.kind == "step":
            return found.get(feed.name, NEG)
        if feed.kind == "stream":
            return max(self.begin.known_from(feed.name), heard.get(feed.name, NEG))
        if feed.kind == "arrivals":
            return NEG if self.begin.intake is None else POS
        return NEG

    def _told_from(self, step: Step) -> int:
        """From when on a kept step's coverage is complete for a reader that is told the journal, or that hears of the step
        from the change on."""
        known = max((self.begin.known_from(name) for name in self.reads[step.id]), default=NEG)
        known = known if known <= NEG else shift(known, self.back[step.id])
        if known <= NEG or not (step.id in self.plan.announcing or announces(step.shape)):
            return known
        return min(known, shift(self.known_upto(step.id), 1))  # nothing of it lies ahead, and what stands is told
