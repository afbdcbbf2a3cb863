"""When the steps of a stratum see all that they look at: how much is laid out of what repeats, and what is told by absence.

What follows from facts may be derived from a part of them. What follows from their absence may not: a step that negates is
kept to the times at which all that it asks for is there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from tidelog.plans.analysis.horizons.reach import Outlook, negated_by, outlook
from tidelog.plans.analysis.recursion.rounds import Stratum
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.runtime.batch.folding import Times
from tidelog.runtime.batch.interpretation import Interpretation
from tidelog.runtime.batch.sides import FUTURE, PAST, SIDES, Sides

MOST_LAID_OUT = 1_000_000
"""How many ranges are laid out at most of what repeats, for a stratum that reads it."""
_NEVER = (1, 0)


class Sight:
    """How far a stratum has to see: how much is laid out of the facts that repeat `below` it, and up to when its negations
    are exact.

    With `until`, what lies before it may lack what would follow from later times: `exact` tells up to when it does not, for
    predicates that have been cut off or depend on such.
    """

    def __init__(self, plan: BatchPlan, stratum: Stratum, below: Mapping[str, Sides], exact: dict[str, int]) -> None:
        self._timeline = plan.timeline
        self._stratum = stratum
        self._below = below
        self._exact = exact
        self._steps = {step.id: step for step in plan.steps}
        self._text = frozenset((*stratum.reads, *stratum.predicates))
        self._negated: dict[str, Outlook] = {}
        for name in stratum.steps:
            negated = negated_by(self._steps[name])
            if negated is not None:
                found = self._outlook([negated])
                self._negated[name] = found if negated not in self._text else replace(found, reads=(negated,))

    def laid_out(self, known: Interpretation, spread: int) -> Times:
        """Between which times what repeats is laid out: `spread` times as far beyond all else as a step looks in a period.

        MethodError where that is too much.
        """
        period = math.lcm(*(self._period(side, self._below) for side in SIDES))
        stretch = spread * (period + sum(self._outlook(self._stratum.steps).reach.within(period)))
        ends = [end for name in self._stratum.predicates for _, *times in known.facts_of(name) for end in times]
        last = max([sides[FUTURE].start for sides in self._below.values()] + [end for end in ends if end < POS])
        first = min([-sides[PAST].start for sides in self._below.values()] + [end for end in ends if end > NEG])
        horizon = first - stretch, last + stretch
        most = sum(fact.number_between(*horizon) for fact in known.repeating() if fact.predicate in self._below)
        if most > MOST_LAID_OUT:
            names = ", ".join(f"`{name}`" for name in self._below)
            within = " to ".join(self._timeline.format_point(time & ~1) for time in horizon)
            raise MethodError(f"too much of what repeats in {names} would have to be laid out ({within}: {most:,} ranges)")
        return horizon

    def closed(self, opened: Iterable[str]) -> frozenset[str]:
        """The steps that may tell nothing yet, but for those `opened`.

        They negate a box without an end, and whether what it looks at holds for ever has to be found out before.
        """
        asking = (name for name, found in self._negated.items() if found.always and self._repeats(found))
        return frozenset(asking).difference(opened)

    def openable(self, closed: frozenset[str]) -> frozenset[str]:
        """Of the steps that are closed, those that do not ask for the absence of what others tell."""
        return frozenset(name for name in closed if closed.isdisjoint(self._negated[name].steps))

    def clips(self, horizon: Times | None, closed: frozenset[str]) -> dict[str, Times]:
        """Between which times steps that negate something may tell something, for those that may not always."""
        clips = {name: self._seen(found, horizon) for name, found in self._negated.items()}
        clips |= dict.fromkeys(closed, _NEVER)
        return {name: clip for name, clip in clips.items() if clip != (NEG, POS)}

    def note_exact(self, cut: Collection[str], until: int) -> None:
        """Note up to when what the stratum has derived lacks nothing, given the predicates of it that were `cut` off."""
        if not cut and all(last >= POS for last in self._exact.values()):
            return
        for component in self._stratum.components:
            inputs = [feed for name in component.predicates for feed in self._steps[name].inputs]
            found = self._outlook(feed.name for feed in inputs if feed.kind == "step")
            last = self._exact_of(found)
            if any(name in component.predicates for name in cut):
                last = min(last, until)
            if last < POS and component.is_recursive and (found.reach.ahead or found.reach.future):
                last = NEG
            self._exact.update(dict.fromkeys(component.predicates, last))

    # --- inside ---------------------------------------------------------------------------------------------------------

    def _outlook(self, steps: Iterable[str]) -> Outlook:
        return outlook(tuple(steps), self._steps, self._text)

    def _period(self, side: int, names: Iterable[str]) -> int:
        """After what time all of these predicates repeat at one side; 1 if none of them does."""
        return math.lcm(*(self._below[name][side].period or 1 for name in names if name in self._below))

    def _repeats(self, found: Outlook) -> bool:
        return any(name in self._below for name in found.reads)

    def _seen(self, found: Outlook, horizon: Times | None) -> Times:
        """Between which times all that some steps look at is there."""
        first, last = NEG, self._exact_of(found)
        if last <= NEG:
            return _NEVER
        if horizon is not None:
            past, future = (self._period(side, found.reads) for side in SIDES)
            if past > 1:
                first = horizon[0] + found.reach.within(past)[0]
            if future > 1:
                last = min(last, horizon[1] - found.reach.within(future)[1])
        return first, last

    def _exact_of(self, found: Outlook) -> int:
        """Up to when steps lack nothing that would follow from times beyond `until`."""
        last = min((self._exact.get(name, POS) for name in found.reads), default=POS)
        if NEG < last < POS:
            return NEG if found.reach.future else last - found.reach.ahead
        return last
