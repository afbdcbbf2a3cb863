"""How a stratum's rounds are computed: three ways to the same interpretation after every round (Wang et al. 2022).

The papers' names: naive is Procedure 1, seminaive Procedure 2, optimised Procedure 3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tidelog.plans.analysis.recursion.rounds import Component, Stratum
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import LIMIT, NEG, POS
from tidelog.runtime.batch.interpretation import Interpretation
from tidelog.runtime.batch.wiring import Derived, Frame, Wiring

StrategyName = Literal["seminaive", "naive", "optimised"]

News = Mapping[str, Sequence[Fact]]
"""What a round has added to each predicate."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What is new of what a round has derived for a predicate; whether some of it was cut off, and whether its times fit."""

    new: Sequence[Fact]
    is_cut: bool
    fits: bool = True


class Strategy(ABC):
    """The rounds of one stratum, whose other predicates are complete: `apply`, then `learn` what was new in it."""

    def __init__(self, plan: BatchPlan, stratum: Stratum, known: Interpretation, frame: Frame) -> None:
        self._plan = plan
        self._stratum = stratum
        self._known = known
        self._frame = frame
        self._forever = {name: list(facts) for name, facts in frame.forever.items()}
        self._derived = frozenset(stratum.predicates)

    @abstractmethod
    def apply(self) -> Derived:
        """Apply the stratum's rules once to everything known."""

    def take(self, predicate: str, facts: Sequence[Fact], until: int) -> Taken:
        """Add to what is known what was derived for a predicate, as far as that time."""
        kept = up_to(facts, until)
        new = self._known.insert(predicate, kept)
        is_cut = kept is not facts and any(hi > until for _, _, hi in facts)
        return Taken(new, is_cut, all(map(_fits, new)))

    @abstractmethod
    def learn(self, news: News) -> None:
        """Take in what of it was new."""

    @abstractmethod
    def extend(self, name: str, facts: Sequence[Fact]) -> None:
        """Take in, beside what a round has brought, what a derived predicate or a step is known to tell for ever."""

    @property
    @abstractmethod
    def evaluations(self) -> int:
        """How often an operator was given facts."""

    @property
    def discarded(self) -> Sequence[str]:
        """The rules (their steps) that were let go before the stratum's end."""
        return ()

    @property
    def complete(self) -> Iterable[str]:
        """The derived predicates to which nothing will be added, as far as is known before the stratum's end."""
        return ()

    def _enter_all(self, wiring: Wiring) -> None:
        """All that is known; what other strata derive, and what nothing derives, is complete."""
        for step, facts in self._forever.items():
            wiring.enter(step, facts, NEG)
        for name in self._stratum.reads:
            facts = self._known.facts_of(name, self._frame.horizon)
            wiring.enter(name, facts, NEG if name in self._derived else POS)


class Naive(Strategy):
    """Procedure 1: in each round every operator anew, fed with everything."""

    _evaluations = 0

    def apply(self) -> Derived:
        wiring = Wiring(self._plan, self._stratum, self._known.start, self._frame, self._known.bound)
        self._enter_all(wiring)
        derived = wiring.run()
        self._evaluations += wiring.evaluations
        return derived

    def learn(self, news: News) -> None:
        pass

    def extend(self, name: str, facts: Sequence[Fact]) -> None:
        if name not in self._derived:
            self._forever.setdefault(name, []).extend(facts)

    @property
    def evaluations(self) -> int:
        return self._evaluations


class Seminaive(Strategy):
    """Procedure 2: the operators stay, and are fed with what is new alone; so each combination is met once."""

    foresight = False

    def __init__(self, plan: BatchPlan, stratum: Stratum, known: Interpretation, frame: Frame) -> None:
        super().__init__(plan, stratum, known, frame)
        self._wiring = Wiring(plan, stratum, known.start, frame, known.bound, foresight=self.foresight)
        self._enter_all(self._wiring)

    def apply(self) -> Derived:
        return self._wiring.run()

    def learn(self, news: News) -> None:
        for name, facts in news.items():
            self._wiring.enter(name, facts, NEG)

    def extend(self, name: str, facts: Sequence[Fact]) -> None:
        self._wiring.enter(name, facts, NEG)

    @property
    def evaluations(self) -> int:
        return self._wiring.evaluations


class Optimised(Seminaive):
    """Procedure 3: as seminaive, and what is known to be complete up to some time is told so.

    A predicate is complete when all that it depends on is; a recursion, when a round has brought nothing new to it. Where
    rules only look back, what lies before all that a round has brought stays as it is. Operators forget what lies behind
    such a frontier; a rule that can give nothing new any more is discarded.
    """

    foresight = True

    def __init__(self, plan: BatchPlan, stratum: Stratum, known: Interpretation, frame: Frame) -> None:
        super().__init__(plan, stratum, known, frame)
        self._frontiers = {name: NEG if name in self._derived else POS for name in stratum.reads}
        steps = {step.id: step for step in plan.steps}
        self._rules = {name: steps[name].feeders for name in self._derived}

    def learn(self, news: News) -> None:
        for component in self._stratum.components:
            frontier = self._frontier_of(component, news)
            for name in component.predicates:
                before = self._frontiers.get(name, NEG)
                self._frontiers[name] = max(before, frontier)
                if name in news or frontier > before:
                    self._wiring.enter(name, news.get(name, ()), self._frontiers[name])

    def _frontier_of(self, component: Component, news: News) -> int:
        """Up to when nothing new will be derived for a component after this round."""
        if not component.is_recursive:
            rules = self._rules[component.predicates[0]]
            return min((self._wiring.frontier(rule) for rule in rules), default=POS)
        begins = [lo for name in (*component.predicates, *component.reads) for _, lo, _ in news.get(name, ())]
        first = min(begins, default=POS)
        outside = min((self._frontiers[name] for name in component.reads), default=POS)
        unchanged = min(outside, first - 1 if NEG < first < POS else first)
        return unchanged if component.looks_back or unchanged >= POS else NEG

    @property
    def discarded(self) -> Sequence[str]:
        return self._wiring.discarded

    @property
    def complete(self) -> Iterable[str]:
        return (name for name in self._derived if self._frontiers.get(name, NEG) >= POS)


STRATEGIES: Mapping[StrategyName, type[Strategy]] = {"seminaive": Seminaive, "naive": Naive, "optimised": Optimised}


def up_to(facts: Sequence[Fact], until: int) -> Sequence[Fact]:
    """Facts without what lies beyond a time."""
    if until >= POS:
        return facts
    return [(row, lo, min(hi, until)) for row, lo, hi in facts if lo <= until]


def _fits(fact: Fact) -> bool:
    _, lo, hi = fact
    return (lo == NEG or -LIMIT <= lo <= LIMIT) and (hi == POS or -LIMIT <= hi <= LIMIT)
