"""Saturation: whether what is derived so far determines the whole model, to the left and to the right, for ever.

Periodic materialisation (Wałęga, Zawidzki, Wang and Cuenca Grau 2023, AAAI), here for each component of a program, for
unbounded operators as well, and above negation. What is stored is final up to where the last round brought something new.
If a stretch as wide as rules look returns within that, all that lies between returns for ever: what holds later is derived
from the stretch as it was before, and the repetition satisfies all rules, since each point of it sees what a point of the
final stretch sees. Operators without an end would see further; what they tell is therefore part of what must return, and
then each of them goes on from what it told before. Only a box without an end can find that something holds for ever where
no round could: what lasts for a whole period is *extended* to infinity, and rounds go on from there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from tidelog.operators.stores.coverage import Bounds, Coverage, overlapping
from tidelog.plans.analysis.horizons.reach import Outlook, outlook
from tidelog.plans.analysis.recursion.rounds import Stratum
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.runtime.batch.interpretation import Interpretation
from tidelog.runtime.batch.repetition import Range, find_repetition
from tidelog.runtime.batch.sides import FUTURE, PAST, SIDES, Settled, Sides, mirrored

Stored = tuple[str, Row, Bounds]
"""A row of a predicate or of a step, and when it holds."""


@dataclass(frozen=True, slots=True)
class Extension:
    """A fact that lasts for a whole period, so for ever: of a predicate of the text, or of what a step tells."""

    name: str
    fact: Fact
    is_step: bool


@dataclass(frozen=True, slots=True)
class _Part:
    """What settles as one: the predicates of a component, or a constraint (of no predicate)."""

    predicates: tuple[str, ...]
    outlook: Outlook
    sources: frozenset[str]
    """Its own predicates and those of the stratum that they depend on, directly or not."""

    @property
    def feeds(self) -> Iterator[str]:
        return (name for name in self.outlook.reads if name not in self.predicates)


class Saturation:
    """Looks, now and then, whether a stratum is saturated; `scanned` tells how many ranges the last look has met.

    `below` are the sides of what repeats in other strata, and nothing is derived beyond `until`. Two things are for others
    to fill: `tapped` holds what steps without an end, and what boxes without an end look at, have told so far; `touched`
    are the rows of which anything was derived. All that holds of another is told by the data.
    """

    def __init__(
        self,
        plan: BatchPlan,
        stratum: Stratum,
        known: Interpretation,
        below: Mapping[str, Sides],
        until: int,
    ) -> None:
        self._known = known
        self._until = until
        self._unit = 1 if plan.timeline.is_integer else 2
        self._parts = tuple(_parts(plan, stratum))
        self._text = frozenset(stratum.reads) | frozenset(stratum.predicates)
        self.sides: dict[str, Sides] = dict(below)
        for name in stratum.reads:
            if name not in self.sides and name not in stratum.predicates:
                self.sides[name] = _constant(_finite_ends(known, [name]))
        self._edges = {name: _finite_ends(known, [name]) for name in stratum.predicates}
        self._complete: set[_Part] = set()
        endless = {name for part in self._parts for name in (*part.outlook.endless, *part.outlook.always)}
        self.tapped: dict[str, Coverage] = {name: Coverage(keeps=True) for name in endless - self._text}
        self.extensions: list[Extension] = []
        self.touched: dict[str, set[Row]] = {name: set() for name in stratum.predicates}
        self.scanned = 0

    @property
    def parts(self) -> tuple[_Part, ...]:
        """The components and constraints of the stratum, each behind what feeds it."""
        return self._parts

    def check(self, news: Mapping[str, Sequence[Fact]]) -> bool:
        """Whether all that the stratum derives is settled, given what the last round brought.

        If not, `extensions` are facts to go on with, if there are any.
        """
        self.extensions = []
        self.scanned = 0
        settled = [self._settle(part, news) for part in self._parts]
        return all(settled) and not self.extensions

    def _settle(self, part: _Part, news: Mapping[str, Sequence[Fact]]) -> bool:
        for name in part.predicates:
            if part not in self._complete:
                self.sides.pop(name, None)
        if part in self._complete:
            return True
        if any(name not in self.sides for name in part.feeds):
            return False
        latest = [(lo, hi) for name in part.sources for _, lo, hi in news.get(name, ())]
        found = _SideFinder(part, self, latest)
        sides = {side: found.settle(side) for side in SIDES}
        settled = {side: found for side, found in sides.items() if found is not None}
        if len(settled) < len(SIDES):
            return False
        if not latest and all(side.end >= POS for side in settled.values()):
            self._complete.add(part)
        self.sides.update(dict.fromkeys(part.predicates, settled))
        self.extensions += found.extensions
        return True

    # --- what the finder asks for ---------------------------------------------------------------------------------------

    def derived(self, part: _Part) -> Iterator[Stored]:
        """What a part has derived so far, with the data of the same rows."""
        for name in part.predicates:
            yield from ((name, row, bounds) for row, bounds in self._known.bounds_of(name, self.touched[name]))

    def told(self, names: Iterable[str]) -> Iterator[Stored]:
        """What steps have told so far."""
        for name in names:
            if name in self.tapped:
                yield from ((name, row, bounds) for row, bounds in self.tapped[name].rows.items())

    def edges(self, part: _Part) -> list[int]:
        """The finite times at which data of a part's own predicates begin or end, the first and the last."""
        ends = [end for name in part.predicates for end in self._edges[name]]
        if self._until < POS:
            ends.append(self._until)
        clip, start = part.outlook.clip, self._known.start
        if clip is not None and start is not None and start > NEG:
            ends += [start, start + clip]
        return ends

    @property
    def unit(self) -> int:
        """The least distance in encoded time that leads from time points to time points."""
        return self._unit


class _SideFinder:
    """Settles the two sides of one part, `latest` being what the last round brought to it and to what it depends on."""

    def __init__(self, part: _Part, saturation: Saturation, latest: Sequence[tuple[int, int]]) -> None:
        self._part = part
        self._saturation = saturation
        self._latest = latest
        self.extensions: list[Extension] = []
        self._feeds = {side: [saturation.sides[name][side] for name in part.feeds] for side in SIDES}
        ends = saturation.edges(part)
        self._edge = {
            side: max([side * end for end in ends] + [feed.edge for feed in self._feeds[side]], default=NEG)
            for side in SIDES
        }
        base = {side: max([self._edge[side], *(feed.start for feed in self._feeds[side])]) for side in SIDES}
        if base[FUTURE] <= NEG:
            base[FUTURE] = 0 if base[PAST] <= NEG else -base[PAST]
        base[PAST] = max(base[PAST], -base[FUTURE])
        self._base = base

    def settle(self, side: int) -> Settled | None:
        """How the part goes on at one side; None while that is not known."""
        base = self._base[side]
        latest = [mirrored(side, *times) for times in self._latest]
        core = -self._base[-side]
        if any((lo <= base and hi >= core) or hi >= POS for lo, hi in latest):
            return None  # what has just begun to hold for ever has still to be looked at
        first = min((lo for lo, _ in latest if lo > base), default=POS)
        feeds = self._feeds[side]
        if first >= POS and all(feed.period == 0 for feed in feeds):
            return Settled(max(base, self._last_end(side)), 0, POS, self._edge[side])
        multiple = math.lcm(self._saturation.unit, self._part.outlook.step, *(feed.period or 1 for feed in feeds))
        ahead = self._ahead(side, multiple if any(feed.period for feed in feeds) else 0)
        end = min([first - 1, *(feed.end - ahead for feed in feeds)])
        return self._find(side, base, end, multiple, ahead)

    def _last_end(self, side: int) -> int:
        """The last finite time at which something of the part begins or ends."""
        ranges = self._seen_from(side)
        begins = max((lo for _, lo, _ in ranges), default=NEG)
        return max(begins, max((hi for _, _, hi in ranges if hi < POS), default=NEG))

    def _find(self, side: int, base: int, end: int, multiple: int, ahead: int) -> Settled | None:
        """Look for a period where what is final ends, and further in: near the end what looks ahead may not be told yet."""
        ranges = self._seen_from(side)
        width = self._part.outlook.reach.width
        for within in dict.fromkeys((end, base + 3 * (end - base) // 4, base + (end - base) // 2)):
            found = find_repetition(ranges, base, within, width, multiple)
            if found is not None:
                period = found.period
                fresh = [name for name in self._part.outlook.always if name in self._saturation.tapped]
                if fresh and within - ahead - period <= base:
                    continue
                self._extend(side, self._saturation.derived(self._part), within, period, is_step=False)
                self._extend(side, self._saturation.told(fresh), within - ahead, period, is_step=True)
                if found.is_constant:  # what holds has been extended to infinity by now, or will be
                    return Settled(found.start, 0, POS, self._edge[side])
                return Settled(found.start, period, within, self._edge[side])
        return None

    def _extend(self, side: int, stored: Iterable[Stored], end: int, period: int, *, is_step: bool) -> None:
        first, last = mirrored(side, end - period + 1, end)
        for name, row, bounds in stored:
            for i in overlapping(bounds, first, first):
                lo, hi = mirrored(side, bounds[i], bounds[i + 1])
                if last <= bounds[i + 1] and hi < POS:
                    self.extensions.append(Extension(name, (row, *mirrored(side, lo, POS)), is_step))

    @cached_property
    def _ranges(self) -> list[Range]:
        """What the part has derived, and what its steps without an end have told; rows stand as numbers."""
        told = self._saturation.told(self._part.outlook.endless)
        ranges: list[Range] = []
        for number, (_, _, bounds) in enumerate(chain(self._saturation.derived(self._part), told)):
            ranges += [(number, bounds[i], bounds[i + 1]) for i in range(0, len(bounds), 2)]
        self._saturation.scanned += len(ranges)
        return ranges

    def _seen_from(self, side: int) -> list[Range]:
        return self._ranges if side == FUTURE else [(number, -hi, -lo) for number, lo, hi in self._ranges]

    def _ahead(self, side: int, period: int) -> int:
        back, ahead = self._part.outlook.reach.within(period)
        return ahead if side == FUTURE else back


def _parts(plan: BatchPlan, stratum: Stratum) -> Iterator[_Part]:
    steps = {step.id: step for step in plan.steps}
    text = frozenset(stratum.reads) | frozenset(stratum.predicates)
    sources: dict[str, frozenset[str]] = {}
    for component in stratum.components:
        rules = [feed.name for name in component.predicates for feed in steps[name].inputs if feed.kind == "step"]
        found = outlook(rules, steps, text)
        own = frozenset(component.predicates).union(*(sources.get(name, frozenset()) for name in found.reads))
        sources.update(dict.fromkeys(component.predicates, own))
        yield _Part(component.predicates, found, own)
    for name in stratum.constraints:
        found = outlook([name], steps, text)
        yield _Part((), found, frozenset().union(*(sources.get(read, frozenset()) for read in found.reads)))


def _finite_ends(known: Interpretation, names: Iterable[str]) -> list[int]:
    """The first and the last finite end of what holds; none if there is none."""
    ends = set().union(*(known.times_of(name) for name in names)) - {NEG, POS}
    return [min(ends), max(ends)] if ends else []


def _constant(ends: Sequence[int]) -> Sides:
    """The sides of what changes at no time but between these."""
    edge = {side: max((side * end for end in ends), default=NEG) for side in SIDES}
    return {side: Settled(edge[side], 0, POS, edge[side]) for side in SIDES}
