"""Materialisation: rules are applied to all facts, round by round, until nothing is new."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelog.plans.analysis.rounds import Component, Stratum
from tidelog.plans.batch import BatchPlan
from tidelog.plans.errors import DataError, EndlessError
from tidelog.plans.facts import Fact, Record
from tidelog.plans.timeline import LIMIT, NEG, POS
from tidelog.plans.times import TimeLike, TimeReader
from tidelog.runtime.batch.interpretation import Interpretation, coalesced
from tidelog.runtime.batch.strategies import STRATEGIES, Strategy, StrategyName
from tidelog.runtime.batch.wiring import Derived
from tidelog.runtime.violations import Violation, Violations

MOST_ROUNDS = 10_000
"""How many rounds a recursion is followed that need not come to an end."""


@dataclass(frozen=True, slots=True)
class MaterialisationStatistics:
    """What has been done: rounds that brought something new, ranges new in each of them (the last 10,000), how many rules
    were discarded before their stratum's end, and how often an operator was given facts."""

    rounds: int
    facts: tuple[int, ...]
    discarded: int
    evaluations: int


class Materialisation:
    """A program and its facts, and what follows from them: `load` everything, then `run`, or go round by round.

    A round is one application of the immediate consequence operator T_Π (Wałęga et al. 2023, section 2) to everything
    derived so far, over the stratum that is being computed. All strategies reach the same after every round. With `until`,
    nothing is derived at times beyond it. As in the papers, a round tells whether a constraint is violated by what was
    known before it.

    Raises ValueError for a strategy that there is not, DataError for an `until` that the timeline cannot hold.

    >>> from tidelog.plans.batch import compile_batch
    >>> from tidelog.plans.parser import parse
    >>> plan = compile_batch(parse("boxplus[1,1] p(X) :- p(X)."))
    >>> done = Materialisation(plan, until=3)
    >>> done.load([plan.record("p", ["a"], time=1)])
    >>> done.run()
    >>> [(row, str(plan.timeline.decode_point(lo))) for _, row, lo, _ in done.facts()]
    [(('a',), '1'), (('a',), '2'), (('a',), '3')]
    """

    def __init__(self, plan: BatchPlan, strategy: StrategyName = "seminaive", until: TimeLike | None = None) -> None:
        if strategy not in STRATEGIES:
            raise ValueError(f"a strategy is one of {', '.join(STRATEGIES)}; got `{strategy}`")
        self.plan = plan
        self._strategy = STRATEGIES[strategy]
        self._until = POS if until is None else TimeReader(plan.timeline).point(until)
        self._known = Interpretation(plan)
        self._strata: Iterator[Stratum] = iter(plan.strata)
        self._stratum: Stratum | None = None
        self._current: Strategy | None = None
        self._begun = False
        self._violations = Violations(plan)
        self._violation: Violation | None = None
        self._news: Mapping[str, Sequence[Fact]] = {}
        self._counts: deque[int] = deque(maxlen=MOST_ROUNDS)
        self._rounds = self._rounds_here = 0
        self._discarded = self._evaluations = 0

    def load(self, records: Iterable[Record]) -> None:
        """Add facts; RuntimeError once the first round has begun."""
        if self._begun:
            raise RuntimeError("facts are loaded before the first round")
        self._known.load(records)

    def round(self) -> bool:
        """Apply the rules once to everything known; whether something new was derived.

        Where a stratum has come to its end, the next one begins. Nothing happens once a constraint is violated.
        """
        if not self._begun:
            self._begun = True
            self._next_stratum()
        while self._current is not None and self._violation is None:
            derived = self._current.apply()
            self._note_violation(derived)
            self._news = self._take(derived)
            if self._news:
                self._note_round()
                self._current.learn(self._news)
                return True
            self._next_stratum()
        return False

    def run(self, rounds: int | None = None, decided: Callable[[], bool] | None = None) -> None:
        """Go on until nothing is new, a constraint is violated, so many `rounds` are done, or what is asked is `decided`.

        EndlessError where a recursion that need not come to an end has not done so in 10,000 rounds and no number of
        rounds is given; DataError where it has left the times that the timeline can hold.
        """
        done = 0
        while (rounds is None or done < rounds) and not (decided is not None and decided()):
            if not self.round():
                return
            done += 1
            if rounds is None:
                self._check_end()

    def facts(self) -> Iterator[Record]:
        """All that holds, coalesced, in no particular order: what was loaded, the program's facts, what was derived."""
        return self._known.records()

    def holds(self, record: Record) -> bool:
        """Whether it is known that a fact holds at all its times."""
        return self._known.covers(record)

    def violation(self) -> Violation | None:
        """The ground rule and the time of a constraint that is violated; None if none is, as far as is known."""
        return self._violation

    def statistics(self) -> MaterialisationStatistics:
        """An immutable record of the work done."""
        current = self._current
        discarded = self._discarded + (len(current.discarded) if current else 0)
        evaluations = self._evaluations + (current.evaluations if current else 0)
        return MaterialisationStatistics(self._rounds, tuple(self._counts), discarded, evaluations)

    # --- inside ---------------------------------------------------------------------------------------------------------

    def _next_stratum(self) -> None:
        if self._current is not None:
            self._discarded += len(self._current.discarded)
            self._evaluations += self._current.evaluations
        self._stratum = next(self._strata, None)
        self._current = None if self._stratum is None else self._strategy(self.plan, self._stratum, self._known)
        self._rounds_here = 0

    def _take(self, derived: Derived) -> dict[str, list[Fact]]:
        news = {}
        for predicate, facts in derived.items():
            if predicate not in self.plan.constraints:
                new = self._known.insert(predicate, self._up_to_the_end(facts))
                if new:
                    self._check_times(predicate, new)
                    news[predicate] = new
        return news

    def _up_to_the_end(self, facts: list[Fact]) -> list[Fact]:
        until = self._until
        if until >= POS:
            return facts
        return [(row, lo, min(hi, until)) for row, lo, hi in facts if lo <= until]

    def _check_times(self, predicate: str, facts: Sequence[Fact]) -> None:
        for _, lo, hi in facts:
            if not (lo == NEG or -LIMIT <= lo <= LIMIT) or not (hi == POS or -LIMIT <= hi <= LIMIT):
                raise DataError(f"`{predicate}` is derived at times beyond what the timeline can hold")

    def _note_violation(self, derived: Derived) -> None:
        """Of all violations of a round, over maximal ranges, the first as text: the same in every strategy."""
        found: list[Violation] = []
        for constraint in self.plan.constraints:
            if constraint in derived:
                violated = coalesced(self._up_to_the_end(derived[constraint]))
                found += self._violations.receive(constraint, violated, POS)
        self._violation = min(found, key=str, default=None)

    def _note_round(self) -> None:
        self._rounds += 1
        self._rounds_here += 1
        self._counts.append(sum(map(len, self._news.values())))

    def _check_end(self) -> None:
        if self._rounds_here < MOST_ROUNDS or self._stratum is None:
            return
        for component in self._stratum.components:
            if not self._must_end(component) and any(name in self._news for name in component.predicates):
                reason = "give it an end with --until (a time) or --rounds (a number)"
                raise EndlessError(component.predicates, self._rounds_here, reason)

    def _must_end(self, component: Component) -> bool:
        return component.ending == "finite" or (component.ending == "forward" and self._until < POS)
