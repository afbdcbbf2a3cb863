"""Whether a fact follows from a program and facts, and whether they have a model (Wang et al. 2022, Algorithm 4).

Materialisation goes first: as far as it surely comes to an end, and then for a short while. What that leaves open, longer
materialisation and automata decide side by side.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import count

from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import DataError, EndlessError, MethodError, StateError
from tidelog.runtime.batch.arguments import require_batch_plan
from tidelog.runtime.batch.decisions.decision import (
    ENOUGH,
    METHODS,
    UNWATCHED,
    Decision,
    Method,
    Watch,
    both_reasons,
    heard,
    told,
    undecided,
)
from tidelog.runtime.batch.decisions.model_search import Search, decide_by_models
from tidelog.runtime.batch.decisions.race import can_race, race
from tidelog.runtime.batch.decisions.relevance import predicates_read, relevant_part
from tidelog.runtime.batch.demand.restricting import Asked, can_restrict, restricted
from tidelog.runtime.batch.materialisation import MOST_ROUNDS, Materialisation
from tidelog.runtime.intake.arguments import records_of, require_record
from tidelog.runtime.network.state_bound import MAX_STATE_IN_BATCH

ROUNDS_ALONE = 1_000
"""After so many rounds of a recursion that need not end, at the latest, automata are tried beside it."""
SECONDS_ALONE = 0.3
"""As `ROUNDS_ALONE`, in time of the processor: beside other work, it is decided in the same way."""


def entails(
    plan: BatchPlan,
    facts: Iterable[Record],
    fact: Record,
    method: Method = "auto",
    max_state: int | None = MAX_STATE_IN_BATCH,
) -> Decision:
    """Whether a fact holds in every model of a program and facts: `true`, `false`, `inconsistent` (there is no model), or
    `undecided`.

    `method` is how it is decided: by materialisation, by automata, as a formula of LTL, or, with `auto`, by materialisation
    first and then by automata beside it, in processes of their own. What materialisation may hold is at most `max_state`
    rows (with None there is no bound): beyond that it decides nothing, and StateError is raised where it is the facts
    themselves that are more. ValueError for a method that there is not, TypeError
    for a plan of a stream and for facts that are no records.

    >>> from tidelog.plans.compiling.batch import compile_batch
    >>> from tidelog.plans.language.parser import parse
    >>> plan = compile_batch(parse("q(X) :- boxminus[0,2) p(X)."))
    >>> entails(plan, [plan.record("p", ["a"], interval="[1,5]")], plan.record("q", ["a"], time=3)).answer
    'true'
    """
    require_record(fact)
    return _question(plan, facts, fact, max_state).decide(method)


def consistent(
    plan: BatchPlan, facts: Iterable[Record], method: Method = "auto", max_state: int | None = MAX_STATE_IN_BATCH
) -> Decision:
    """Whether a program and facts have a model: `true`, `false` or `undecided`; the options are those of `entails`."""
    return _question(plan, facts, None, max_state).decide(method)


def _question(plan: BatchPlan, facts: Iterable[Record], fact: Record | None, max_state: int | None) -> Question:
    require_batch_plan(plan)
    asked = () if fact is None else (fact[0],)
    part = relevant_part(plan, *asked)
    wanted = predicates_read(part, *asked)
    question = Question(part, fact, max_state)
    question.load(record for record in records_of(facts) if wanted is None or record[0] in wanted)
    return question


class Question:
    """Whether a fact follows from the relevant part of a program and of data; without a fact, whether they have a model.

    `load` the facts, then `decide`, once. What a fact rests on is found before anything is derived.
    """

    def __init__(self, plan: BatchPlan, fact: Record | None = None, max_state: int | None = MAX_STATE_IN_BATCH) -> None:
        self._fact = fact
        self._max_state = max_state
        self._waiting: list[Record] | None = [] if fact is not None and can_restrict(plan) else None
        self._begin(plan)

    def _begin(self, plan: BatchPlan) -> None:
        self._plan = plan
        self._done = Materialisation(plan, "optimised", self._last_time(), self._max_state)
        if self._fact is not None:
            self._done.ask(self._fact)
        self._ending = self._surely_ending()
        self._endless = frozenset(self._derived()) - self._ending
        self._has_an_end = all(component.ending != "unbounded" for component in plan.components)
        self._given: list[Record] = []

    def load(self, records: Iterable[Record]) -> None:
        """Add facts, before it is decided."""
        if self._waiting is not None:
            self._waiting += records
        else:
            self._load(records)

    def _load(self, records: Iterable[Record]) -> None:
        self._done.load(self._noted(records) if self._endless else records)

    def _restrict(self) -> None:
        """Load what the fact rests on, and leave the rest."""
        if self._fact is not None and self._waiting is not None:
            part = restricted(self._plan, self._waiting, Asked(*self._fact[:2]))
            self._waiting = None
            self._begin(part.plan)
            self._load(part.records)

    def _noted(self, records: Iterable[Record]) -> Iterator[Record]:
        """The given facts; those of recursion that need not end are kept apart, since automata grow with all that is known
        of it."""
        for record in records:
            if record[0] in self._endless:
                self._given.append(record)
            yield record

    def decide(self, method: Method = "auto", watch: Watch = UNWATCHED) -> Decision:
        """Decide it; `undecided`, and why, where the method does not get there. ValueError for no method at all."""
        self._restrict()
        if method == "auto":
            decision = self._practically(watch)
        elif method == "materialise":
            decision = self._materialise(watch, _never) or undecided(ENOUGH)
        elif method in METHODS:
            decision = self._search(method, self._fact)
        else:
            raise ValueError(f"a method is one of {', '.join(METHODS)}; got `{method}`")
        if decision.answer == "undecided" and self._is_known():
            return Decision("true")  # in every model, if there is one
        if decision.answer == "inconsistent" and self._fact is None:
            return replace(decision, answer="false")
        return decision

    # --- Algorithm 4 ----------------------------------------------------------------------------------------------------

    def _practically(self, watch: Watch) -> Decision:
        decision = self._materialise(watch, self._is_halted)
        if decision is not None and decision.answer != "undecided":
            return decision
        complete = self._complete()
        decision = decision or self._materialise(watch, _after(ROUNDS_ALONE, SECONDS_ALONE))
        if decision is None and can_race():
            return self._race(complete, watch)
        decision = decision or self._materialise(watch, _after(MOST_ROUNDS)) or undecided(ENOUGH)
        if decision.answer != "undecided":
            return decision
        found = self._search_rest(complete)
        return found if found.answer != "undecided" else undecided(both_reasons(decision.reason, found.reason))

    def _is_halted(self) -> bool:
        """Whether all that surely comes to an end has done so, and something else goes on (OptimisedSeminaïveHalt)."""
        return bool(self._endless) and self._ending <= self._done.complete()

    def _complete(self) -> frozenset[str]:
        return self._ending & self._done.complete() - {fact.predicate for fact in self._done.repeating()}

    def _race(self, complete: frozenset[str], watch: Watch) -> Decision:
        finish = race(
            {
                "materialisation": lambda: told(self._materialise(UNWATCHED, _never)),
                "automata": lambda: told(self._search_rest(complete)),
            },
            watch.wait,
        )
        if finish.winner is None:
            return undecided(both_reasons(finish.failures["materialisation"], finish.failures["automata"]))
        return heard(finish.answer)

    def _surely_ending(self) -> frozenset[str]:
        """The predicates that are complete after finitely many rounds, whatever the data: none of a stratum behind one that
        may have no end."""
        endings = ("finite",) if self._last_time() is None else ("finite", "forward")
        endless: set[str] = set()
        found: set[str] = set()
        for stratum in self._plan.strata:
            for component in stratum.components:
                ends = component.ending in endings and endless.isdisjoint(component.reads)
                (found if ends else endless).update(component.predicates)
            if endless:
                break
        return frozenset(found)

    def _derived(self) -> Iterator[str]:
        return (name for component in self._plan.components for name in component.predicates)

    # --- its parts ------------------------------------------------------------------------------------------------------

    def _materialise(self, watch: Watch, pause: Callable[[], bool]) -> Decision | None:
        """Go on until it is decided, or as far as it goes; None where it was to pause before."""
        is_paused = False

        def stop() -> bool:
            nonlocal is_paused
            watch.round(self._done)
            is_decided = self._is_decided()
            is_paused = not is_decided and pause()
            return is_decided or is_paused

        reason = ""
        try:
            self._done.run(None, stop)
        except (EndlessError, MethodError, StateError) as error:
            reason = str(error)
        except DataError as error:  # it has left the times that the timeline can hold
            reason = error.reason
        return self._conclude(is_paused, reason)

    def _conclude(self, is_paused: bool, reason: str) -> Decision | None:
        if self._plan.constraints and not is_paused and not reason and self._is_known():
            with suppress(DataError):  # what else it derives may lie beyond all times: no matter
                self._done.round()  # it tells whether what is known violates a constraint
        violation = self._done.violation()
        if violation is not None:
            return Decision("inconsistent", violation)
        if is_paused:
            return None
        if reason:
            return undecided(reason)
        return Decision("true" if self._fact is None or self._is_known() else "false")

    def _search_rest(self, complete: frozenset[str]) -> Decision:
        """Decide by automata what materialisation has left open: a fact that is known follows, if there is a model."""
        return self._search("automata", None if self._is_known() else self._fact, complete)

    def _search(self, search: Search, fact: Record | None, complete: frozenset[str] = frozenset()) -> Decision:
        """Decide it by models, from what is given of the endless part, and all that is known of the rest."""
        try:
            self._done.begin()
            facts = [*(record for record in self._done.facts() if record[0] not in self._endless), *self._given]
            return Decision(decide_by_models(self._plan, facts, fact, search, complete))
        except (EndlessError, MethodError, StateError) as error:
            return undecided(str(error))
        except DataError as error:  # no fact says for which days calendars are meant
            return undecided(error.reason)
        except MemoryError:
            return undecided("there was not enough memory")

    # --- what is asked --------------------------------------------------------------------------------------------------

    def _is_known(self) -> bool:
        return self._fact is not None and self._done.holds(self._fact)

    def _is_decided(self) -> bool:
        """Whether no round can change the answer; where values may be made without end, a fact that is known is enough."""
        return self._is_known() and not (self._plan.constraints and self._has_an_end)

    def _last_time(self) -> Fraction | None:
        """The time beyond which nothing matters: the fact's end, if no rule looks ahead and there is no constraint.

        Only of use where recursion makes values, and might have no end without it.
        """
        end = POS if self._fact is None else self._fact[3]
        repeats = all(component.ending != "unbounded" for component in self._plan.components)
        looks_back = all(component.looks_back for component in self._plan.components)
        if end == POS or self._plan.constraints or repeats or not looks_back:
            return None
        return self._plan.timeline.decode_point(end if self._plan.timeline.is_integer else end + (end & 1))


# --- when to pause -----------------------------------------------------------------------------------------------------


def _never() -> bool:
    return False


def _after(rounds: int, seconds: float = math.inf) -> Callable[[], bool]:
    """Says that it is time to pause, after so many rounds or so much time of the processor."""
    end = time.process_time() + seconds
    done = count()
    return lambda: next(done) >= rounds or time.process_time() >= end
