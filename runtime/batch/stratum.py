"""One stratum from its first round to its last, or to where it is known how it goes on for ever."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tidelog.plans.analysis.reach import Outlook, Reach, negated_by, outlook
from tidelog.plans.analysis.rounds import Stratum
from tidelog.plans.batch import BatchPlan
from tidelog.plans.errors import MethodError
from tidelog.plans.facts import Fact
from tidelog.plans.timeline import NEG, POS
from tidelog.runtime.batch.interpretation import Interpretation
from tidelog.runtime.batch.saturation import Saturation
from tidelog.runtime.batch.sides import FUTURE, PAST, SIDES, Settled
from tidelog.runtime.batch.strategies import News, Optimised, Seminaive, Strategy
from tidelog.runtime.batch.wiring import Frame

Sides = Mapping[int, Settled]

MOST_LAID_OUT = 1_000_000
"""How many ranges are laid out at most of what repeats, for a stratum that reads it."""
_FIRST_CHECK = 4
_SPREAD = 2
_SCANNED_A_ROUND, _SCANNED_A_RANGE = 25, 4
"""How many stored ranges may be looked at for each round, and for each range that rounds have brought."""
_NOTHING = (POS, NEG)


class StratumRun:
    """The strategy that computes a stratum, and what else its rounds need so that they need not go on for ever.

    Where it reads what repeats, so much of that is laid out as is needed to see how the stratum repeats: first a few
    periods, and as long as they do not do, twice as many, from the stratum's beginning. `settled` holds the sides of what
    repeats below, and takes those of this stratum. `all_rounds` and `ranges` count rounds and what was new in them.

    Nothing is derived beyond `until`; so what lies before may lack what would follow from later times. `exact` tells up to
    when it does not, for predicates that have been cut off, or depend on such; it takes those of this stratum.
    """

    def __init__(
        self,
        plan: BatchPlan,
        stratum: Stratum,
        known: Interpretation,
        strategy: type[Strategy],
        settled: dict[str, Sides],
        until: int,
        exact: dict[str, int],
    ) -> None:
        self.stratum = stratum
        self._plan = plan
        self._known = known
        self._settled = settled
        self._until = until
        self._below = {name: settled[name] for name in stratum.reads if name in settled}
        self._strategy = (
            Seminaive if self._below and strategy is Optimised else strategy
        )  # more may come to what is complete
        self._may_repeat = bool(self._below) or any(
            component.is_recursive and component.ending != "finite" for component in stratum.components
        )
        self._before = known.copy(stratum.predicates) if self._below else {}
        self._spread = _SPREAD
        self._forever: dict[str, list[Fact]] = {}
        self._held: dict[str, list[Fact]] = {}
        self._opened: set[str] = set()
        self.all_rounds = self.ranges = 0
        self._exact = exact
        self._cut: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        """From the stratum's data, and what has been found to hold for ever."""
        self._rounds = self._last_check = self._new = 0
        self._next_check = _FIRST_CHECK
        self._saturation: Saturation | None = None
        self._horizon = horizon = self._laid_out() if self._below else None
        if self._may_repeat:
            sides = {name: _up_to(sides, horizon) for name, sides in self._below.items()}
            self._saturation = Saturation(self._plan, self.stratum, self._known, sides, self._until)
        for name, facts in self._held.items():
            self.learn_of(name, self._known.insert(name, facts))
        tapped = self._saturation.tapped if self._saturation else {}
        for name, facts in self._forever.items():
            tapped[name].insert(facts)
        clips = dict(self._clips())
        self._closed = {name for name, clip in clips.items() if clip == _NOTHING}
        frame = Frame(tapped=tapped, forever=self._forever, horizon=horizon, clips=clips)
        self.strategy = self._strategy(self._plan, self.stratum, self._known, frame)

    def learn(self, news: News) -> None:
        """Take in what a round has brought."""
        for name, facts in news.items():
            self.learn_of(name, facts)
        self.strategy.learn(news)

    def learn_of(self, name: str, facts: Sequence[Fact]) -> None:
        """Note what is new of one predicate, for saturation."""
        self.ranges += len(facts)
        self._new += len(facts)
        if self._saturation is not None:
            self._saturation.touched[name].update(row for row, _, _ in facts)

    def note_cut(self, predicate: str) -> None:
        """Something of a predicate has been cut off at `until`."""
        self._cut.add(predicate)

    def saturate(self, news: News) -> bool:
        """After a round, if it is time to look: whether all that the stratum derives for ever is known now.

        MethodError where what repeats would have to be laid out for too long.
        """
        self._rounds += 1
        self.all_rounds += 1
        if self._saturation is None or self._rounds < self._next_check:
            return False
        since = self._rounds - self._last_check
        if self._saturation.scanned > _SCANNED_A_ROUND * since + _SCANNED_A_RANGE * self._new:
            return False  # looking must not cost more than what is looked at
        self._last_check, self._new = self._rounds, 0
        self._next_check = self._rounds + max(1, self._rounds // 2)
        return self._check(self._saturation, news)

    def finish(self) -> bool:
        """After a round that has brought nothing: whether this is the stratum's end; otherwise it has begun anew."""
        if self._saturation is None or not self._below:
            self._note_exact()
            return True
        return self._check(self._saturation, {})

    def _check(self, saturation: Saturation, news: News) -> bool:
        if saturation.check(news):
            if not self._closed:
                self._settle(saturation)
                return True
            self._opened.update(self._openable())
            self._begin_anew()
        elif saturation.extensions:
            self._extend(saturation)
        elif self._below and self._is_beyond(news):
            self._spread *= 2
            self._begin_anew()
        return False

    def _settle(self, saturation: Saturation) -> None:
        for name in self.stratum.predicates:
            sides = saturation.sides[name]
            if any(side.period for side in sides.values()):
                self._known.settle(name, sides, saturation.unit)
                self._settled[name] = sides
        self._note_exact()

    def _extend(self, saturation: Saturation) -> None:
        """Go on with what is found to hold for ever; from the start, where operators may have let go of what it meets."""
        for extension in saturation.extensions:
            target = self._forever if extension.is_step else self._held
            target.setdefault(extension.name, []).append(extension.fact)
        if self._below:
            self._begin_anew()
            return
        for extension in saturation.extensions:
            name, facts = extension.name, [extension.fact]
            new = saturation.tapped[name].insert(facts) if extension.is_step else self._known.insert(name, facts)
            self.strategy.extend(name, new)
        self._next_check = self._rounds + 1

    def _begin_anew(self) -> None:
        self._known.restore(self._before)
        self._begin()

    # --- what is laid out of what repeats below -------------------------------------------------------------------------

    def _laid_out(self) -> tuple[int, int]:
        period = math.lcm(*(self._period(side, self._below) for side in SIDES))
        stretch = self._spread * (period + sum(self._reach().within(period)))
        ends = [end for name in self.stratum.predicates for _, *times in self._known.facts_of(name) for end in times]
        last = max([sides[FUTURE].start for sides in self._below.values()] + [end for end in ends if end < POS])
        first = min([-sides[PAST].start for sides in self._below.values()] + [end for end in ends if end > NEG])
        horizon = first - stretch, last + stretch
        most = sum(fact.number_between(*horizon) for fact in self._known.repeating() if fact.predicate in self._below)
        if most > MOST_LAID_OUT:
            format_point = self._plan.timeline.format_point
            names = ", ".join(f"`{name}`" for name in self._below)
            within = f"from {format_point(horizon[0] & ~1)} to {format_point(horizon[1] & ~1)}"
            raise MethodError(f"too much of what repeats in {names} would have to be laid out ({within}: {most:,} ranges)")
        return horizon

    def _period(self, side: int, names: Iterable[str]) -> int:
        """After what time all of these predicates repeat at one side; 1 if none of them does."""
        return math.lcm(*(self._below[name][side].period or 1 for name in names if name in self._below))

    def _repeats(self, side: int, names: Iterable[str]) -> bool:
        return any(self._below[name][side].period for name in names if name in self._below)

    def _reach(self) -> Reach:
        steps = {step.id: step for step in self._plan.steps}
        return outlook(self.stratum.steps, steps, (*self.stratum.reads, *self.stratum.predicates)).reach

    def _clips(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """For each step that negates what repeats, or was cut off: when all that it looks at is there.

        What a box without an end looks at may hold for ever, which has to be found out before the box is negated: until
        then, never.
        """
        for name, found in self._negated():
            first, last = self._seen(found)
            repeats = any(read in self._below for read in found.reads)
            if repeats and found.always and name not in self._opened:
                yield name, _NOTHING
            elif first > NEG or last < POS:
                yield name, (first, last)

    def _seen(self, found: Outlook) -> tuple[int, int]:
        """Between which times all that some steps look at is there."""
        first, last = NEG, self._exact_of(found)
        if self._horizon is not None:
            if self._repeats(PAST, found.reads):
                first = self._horizon[0] + found.reach.within(self._period(PAST, found.reads))[0]
            if self._repeats(FUTURE, found.reads):
                last = min(last, self._horizon[1] - found.reach.within(self._period(FUTURE, found.reads))[1])
        return first, last

    def _exact_of(self, found: Outlook) -> int:
        """Up to when steps lack nothing that would follow from times beyond `until`."""
        last = min((self._exact.get(name, POS) for name in found.reads), default=POS)
        if NEG < last < POS:
            return NEG if found.reach.future else last - found.reach.ahead
        return last

    def _note_exact(self) -> None:
        """Up to when what was derived lacks nothing."""
        steps = {step.id: step for step in self._plan.steps}
        text = (*self.stratum.reads, *self.stratum.predicates)
        for component in self.stratum.components:
            rules = [feed.name for name in component.predicates for feed in steps[name].inputs if feed.kind == "step"]
            found = outlook(rules, steps, text)
            last = self._exact_of(found)
            if not self._cut.isdisjoint(component.predicates):
                last = min(last, self._until)
            if last < POS and component.is_recursive and (found.reach.ahead or found.reach.future):
                last = NEG
            self._exact.update(dict.fromkeys(component.predicates, last))

    def _negated(self) -> Iterator[tuple[str, Outlook]]:
        """The steps that negate something, and what that looks at."""
        steps = {step.id: step for step in self._plan.steps}
        text = (*self.stratum.reads, *self.stratum.predicates)
        for name in self.stratum.steps:
            negated = negated_by(steps[name])
            if negated is not None:
                found = outlook([negated], steps, text)
                yield name, found if negated not in text else replace(found, reads=(negated,))

    def _openable(self) -> Iterator[str]:
        """Of the steps that are kept from telling anything, those that do not ask for the absence of what others tell."""
        for name, found in self._negated():
            if name in self._closed and self._closed.isdisjoint(found.steps):
                yield name

    def _is_beyond(self, news: News) -> bool:
        """Whether nothing new has come within the horizon."""
        if self._horizon is None:
            return False
        first, last = self._horizon
        return not any(lo <= last and hi >= first for facts in news.values() for _, lo, hi in facts)


def _up_to(sides: Sides, horizon: tuple[int, int] | None) -> Sides:
    """Sides of which as much is stored as the horizon says."""
    if horizon is None:
        return sides
    ends = {PAST: -horizon[0], FUTURE: horizon[1]}
    return {side: replace(settled, end=ends[side]) if settled.period else settled for side, settled in sides.items()}
