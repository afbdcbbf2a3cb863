"""Materialisation: rules are applied to all facts, round by round, until nothing is new."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Unpack

from tidelog.operators.stores.coverage import Bounds
from tidelog.plans.analysis.horizons.calendar_reach import first_time, told_from
from tidelog.plans.analysis.recursion.rounds import Component, Stratum
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Fact, Record, Row
from tidelog.plans.data.intervals import Ranges, maximal
from tidelog.plans.data.repeating import Repeating
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.data.times import TimeLike, TimeReader
from tidelog.plans.data.uncollected import uncollected
from tidelog.plans.diagnostics.errors import DataError, EndlessError, StateError, TidelogError
from tidelog.plans.tree.brief import brief, number
from tidelog.runtime.batch.arguments import require_batch_plan
from tidelog.runtime.batch.clocks.calendars import calendar_end, calendar_records
from tidelog.runtime.batch.clocks.clocked import run_through
from tidelog.runtime.batch.clocks.edges import Edges
from tidelog.runtime.batch.interpretation import Interpretation
from tidelog.runtime.batch.sides import Sides
from tidelog.runtime.batch.strategies import STRATEGIES, StrategyName, up_to
from tidelog.runtime.batch.stratum import StratumRun
from tidelog.runtime.batch.wiring import Derived
from tidelog.runtime.emission.violations import Violation, Violations
from tidelog.runtime.intake.arguments import records_of, require_record
from tidelog.runtime.network.state_bound import MAX_STATE_IN_BATCH, StateBound
from tidelog.runtime.why.absent.why_not import WhyNot
from tidelog.runtime.why.evidence.model import Model, Writing
from tidelog.runtime.why.explain import Explainer, Reason

if TYPE_CHECKING:
    from tidelog.plans.explaining.showing.plots import PlotOptions
    from tidelog.plans.pictures.picture import Picture
    from tidelog.runtime.batch.updating.affected import Changes
    from tidelog.runtime.batch.updating.update import Updater

MOST_ROUNDS = 10_000
"""How many rounds a recursion is followed that makes values, so that it need not come to an end."""
MOST_ROUNDS_TO_REPEAT = 1_000_000
"""How many rounds a recursion is followed that repeats itself in the end."""
SHOWN_PERIODS = 3
"""How often what repeats for ever is drawn behind the first time."""
_WRITTEN_TIMES = 1 << 16
"""So many times are kept as text: facts share them."""
MOST_RANGES = 20_000_000
"""How many ranges such rounds may bring; either need not be enough for a period, but memory has an end, too."""


@dataclass(frozen=True, slots=True)
class MaterialisationStatistics:
    """What has been done: rounds that brought something new, ranges new in each of them (the last 10,000), how many rules
    were discarded before their stratum's end, how often an operator was given facts, and how many of the rounds went in
    columns. There, what is new of a row counts once for each maximal range; by rows it may come in several parts."""

    rounds: int
    facts: tuple[int, ...]
    discarded: int
    evaluations: int
    in_columns: int = 0


class Materialisation:
    """A program and its facts, and what follows from them: `load` everything, then `run`, or go round by round.

    A round is one application of the immediate consequence operator T_Π (Wałęga et al. 2023, section 2) to everything
    derived so far, over the stratum that is being computed. All strategies reach the same after every round. As in the
    papers, a round tells whether a constraint is violated by what was known before it. `run` also looks whether what is
    derived repeats itself for ever (`runtime/batch/saturation.py`): then `facts` are those that do not, and `repeating`
    those that do.

    With `until`, nothing is derived at times beyond it. Without it, a program with calendars is materialised up to a day
    behind the last time of its facts, or up to the end of the periods that have begun then; DataError, from the first round,
    where no fact says a time.

    More than `max_state` rows, given, derived and in between, are a StateError, from `load` or a round, that names the rule
    that holds most; with None there is no bound.

    Raises TypeError for a plan of a stream, ValueError for a strategy that there is not, DataError for an `until` that the
    timeline cannot hold.

    >>> from tidelog.plans.compiling.batch import compile_batch
    >>> from tidelog.plans.language.parser import parse
    >>> plan = compile_batch(parse("boxplus[1,1] p(X) :- p(X)."))
    >>> done = Materialisation(plan, until=3)
    >>> done.load([plan.record("p", ["a"], time=1)])
    >>> done.run()
    >>> [(row, str(plan.timeline.decode_point(lo))) for _, row, lo, _ in done.facts()]
    [(('a',), '1'), (('a',), '2'), (('a',), '3')]
    >>> done = Materialisation(plan)
    >>> done.load([plan.record("p", ["a"], time=1)])
    >>> done.run()
    >>> done.holds(plan.record("p", ["a"], time=1000000)), done.holds(plan.record("p", ["a"], interval="[1,2]"))
    (True, False)
    """

    def __init__(
        self,
        plan: BatchPlan,
        strategy: StrategyName = "seminaive",
        until: TimeLike | None = None,
        max_state: int | None = MAX_STATE_IN_BATCH,
    ) -> None:
        require_batch_plan(plan)
        if strategy not in STRATEGIES:
            raise ValueError(f"a strategy is one of {', '.join(STRATEGIES)}; got `{strategy}`")
        self.plan = plan
        self._strategy = STRATEGIES[strategy]
        self._limit = POS if until is None else TimeReader(plan.timeline).last(until)
        self._max_state = max_state
        self._updater: Updater | None = None
        self._clear()

    def _clear(self) -> None:
        """As it is before anything is loaded."""
        plan = self.plan
        self._until = self._limit
        self._edges = Edges(plan)
        self._known = Interpretation(plan, StateBound(self._max_state))
        self._strata: Iterator[Stratum] = iter(plan.strata)
        self._current: StratumRun | None = None
        self._settled: dict[str, Sides] = {}
        self._exact: dict[str, int] = {}
        self._begun = False
        self._asked: list[Record] = []
        self._given: dict[str, dict[Row, Bounds]] = {}
        self._violations = Violations(plan)
        self._violation: Violation | None = None
        self._news: Mapping[str, Sequence[Fact]] = {}
        self._counts: deque[int] = deque(maxlen=MOST_ROUNDS)
        self._rounds = self._in_columns = 0
        self._discarded = self._evaluations = 0
        self._complete: set[str] = set()

    def __repr__(self) -> str:
        state = "not begun" if not self._begun else "not at its end" if self._current is not None else "at its end"
        return brief(
            self,
            self.plan.name,
            number(self._known.loaded, "fact") + " given",
            number(self._rounds, "round"),
            state if self._violation is None else "inconsistent",
        )

    def load(self, records: Iterable[Record]) -> None:
        """Add facts; RuntimeError once the first round has begun, TypeError at the first that is no record."""
        if self._begun:
            raise RuntimeError("facts are loaded before the first round")
        with self._telling():
            self._known.load(self._edges.noted(records_of(records)))

    def ask(self, record: Record) -> None:
        """Before the first round: a fact that will be asked for, up to which a program with calendars is materialised."""
        require_record(record)
        self._asked.append(record)

    def begin(self) -> None:
        """All facts are loaded: know the calendars, too. At the latest the first round does so.

        DataError for calendars where no fact says a time.
        """
        if self._begun:
            return
        self._begun = True
        mentioned = None
        if self.plan.over_calendars:
            mentioned = [*self._known.records(), *self._asked]
            if self._until >= POS:
                self._until = calendar_end(self.plan, mentioned)
            self._known.start = min(first_time(mentioned), self._until)
            self._known.since = told_from(self.plan.over_calendars, (), self._known.start)
            self._known.supply([*calendar_records(self.plan, self._known.start, self._until)])
        self._edges.begin(self._known.start, mentioned)
        self._given = self._known.copy(name for stratum in self.plan.strata for name in stratum.predicates)
        self._next_stratum()

    def round(self) -> bool:
        """Apply the rules once to everything known; whether something new was derived.

        Where a stratum has come to its end, the next one begins. Nothing happens once a constraint is violated.
        """
        self.begin()
        while self._current is not None and self._violation is None:
            with self._telling():
                derived = self._current.apply()
            self._note_violation(derived)
            self._news = self._take(derived, self._current)
            if self._news:
                self._rounds += 1
                self._in_columns += self._current.goes_in_columns
                self._counts.append(sum(map(len, self._news.values())))
                self._current.learn(self._news)
                return True
            if self._violation is None and self._current.finish():
                self._next_stratum()
        return False

    def run(self, rounds: int | None = None, decided: Callable[[], bool] | None = None) -> None:
        """Go on until nothing is new, or what is new repeats what was, a constraint is violated, so many `rounds` are done,
        or what is asked is `decided`.

        EndlessError where a recursion has done neither in 10,000 rounds (if it makes values; otherwise in a million, or 20
        million ranges), and no number of rounds is given; DataError where it has left the times that the timeline can hold;
        MethodError where too much of what repeats would have to be laid out for a rule that negates it.
        """
        done = 0
        while (rounds is None or done < rounds) and not (decided is not None and decided()):
            if not self.round():
                return
            done += 1
            if rounds is None and self._current is not None and self._violation is None:
                if self._current.saturate(self._news):
                    self._next_stratum()
                else:
                    self._check_end(self._current)

    def update(self, added: Iterable[Record] = (), removed: Iterable[Record] = ()) -> None:
        """Take in that facts are given no longer, and then that others are: all is as if it were materialised anew.

        A part of a fact's interval may be removed. What was not given changes nothing, and the program's own facts
        stay. What may change is derived again from what it rests on, so an update costs what it changes. Of what is
        aggregated, or `latest`, the groups are derived again of which something changes. Everything is where a constraint is
        violated before or behind it, and where the program depends on its own negation at earlier times. So it is where the
        first time that facts mention changes, on which windows depend that are clipped where the stream starts, and
        calendars; with calendars also where the last one does.

        RuntimeError before the end has been reached. Otherwise raises what `load` and `run` raise: then all is as before.

        >>> from tidelog.plans.compiling.batch import compile_batch
        >>> from tidelog.plans.language.parser import parse
        >>> plan = compile_batch(parse("boxplus[0,2] warm(X) :- hot(X)."))
        >>> done = Materialisation(plan)
        >>> done.load([plan.record("hot", ["p1"], time=1), plan.record("hot", ["p1"], time=7)])
        >>> done.run()
        >>> done.update([plan.record("hot", ["p1"], time=2)], [plan.record("hot", ["p1"], time=7)])
        >>> sorted(str(plan.answer(record)) for record in done.facts())
        ['hot(p1)@1', 'hot(p1)@2', 'warm(p1)@[1,4]']
        """
        came, went = list(records_of(added)), list(records_of(removed))
        if not self._begun or (self._current is not None and self._violation is None):
            raise RuntimeError("facts are updated once all has been derived: `run` first")
        from tidelog.runtime.batch.updating.update import Updater  # noqa: PLC0415 - it materialises itself

        if self._updater is None:
            self._updater = Updater(self.plan, self._known, self._given, self._max_state, self._until)
        with uncollected(), self._telling():
            doubled, updater = self._edges.doubled, self._updater
            given: list[Record] | None = None
            try:
                changes = updater.give(came, went)
                if self._is_anew(updater, changes, came, went):
                    given = self._all_given()
                    self._derive_anew(given)
            except TidelogError:
                self._derive_anew([*self._given_before(updater, doubled, self._all_given() if given is None else given)])
                raise

    def _is_anew(self, updater: Updater, changes: Changes, came: Sequence[Record], went: Sequence[Record]) -> bool:
        """Derive what follows from changes; whether a fresh run has to: it tells, too, which constraint is violated."""
        if self._edges.change(came, went) or self._is_updated_anew():
            return True
        try:
            return updater.derive(changes)
        except TidelogError:  # perhaps for want of what would hold beside it: if not, it is raised again
            return True

    def _given_before(
        self, updater: Updater, doubled: Mapping[tuple[str, Row], Ranges], given: Iterable[Record]
    ) -> Iterator[Record]:
        """The facts that were given before a change, of which this is what is given since, or as far as it came."""
        before = updater.before
        yield from (record for record in given if record[:2] not in before)
        for (name, row), ranges in before.items():
            if self._edges.is_own(name, row):
                ranges = doubled.get((name, row), [])
            yield from ((name, row, lo, hi) for lo, hi in ranges)

    def _is_updated_anew(self) -> bool:
        return self._violation is not None or any(stratum.is_clocked for stratum in self.plan.strata)

    def _all_given(self) -> list[Record]:
        """The facts that are given, and not only the program's own."""
        elsewhere = {name for stratum in self.plan.strata for name in stratum.predicates}.union(self.plan.calendars)
        known = [record for record in self._known.records() if record[0] not in elsewhere]
        for name, rows in self._given.items():
            known += [
                (name, row, lo, hi) for row, times in rows.items() for lo, hi in zip(times[::2], times[1::2], strict=True)
            ]
        return [*self._edges.given(known)]

    def _derive_anew(self, given: Iterable[Record]) -> None:
        asked, self._updater = self._asked, None
        self._clear()
        self._asked = asked
        self.load(given)
        self.run()

    @property
    def known(self) -> Interpretation:
        """What holds so far."""
        return self._known

    def facts(self) -> Iterator[Record]:
        """All that holds, coalesced, in no particular order: what was loaded, the program's facts, what was derived.

        What repeats for ever is left out: `repeating` tells it.
        """
        return self._known.records()

    def texts(self, at: Callable[[int, int], str]) -> Iterator[str]:
        """What `facts` has, each as text; `at` writes what stands behind its `@`."""
        write = lru_cache(_WRITTEN_TIMES)(at)
        return (f"{atom}@{write(lo, hi)}" for atom, lo, hi in self._known.atoms())

    def repeating(self) -> Iterator[Repeating]:
        """What holds again and again for ever, in no particular order."""
        return self._known.repeating()

    def frames(self, between: tuple[TimeLike, TimeLike] | None = None) -> dict[str, Any]:
        """All that holds as Arrow tables, one for each predicate, with the columns that `Session.pull_frames` has.

        With `between`, only what holds from the one time up to the other, cut to that. DataError without it where something
        repeats for ever, or for a time that no timestamp can hold; ConnectorError without pyarrow (the extra `frames`).
        """
        from tidelog.runtime.frames.tables import tables_of  # noqa: PLC0415 - only who wants frames needs pyarrow

        if between is None and any(True for _ in self.repeating()):
            raise DataError("what holds repeats for ever, and fits no table: say between which times")
        times = TimeReader(self.plan.timeline)
        records = self.facts() if between is None else self.between(times.point(between[0]), times.last(between[1]))
        return tables_of(self.plan.schema, self.plan.schema.predicates, records)

    def plot(self, predicates: Sequence[str] | None = None, **options: Unpack[PlotOptions]) -> Picture:
        """A timeline of what holds, as SVG: of these predicates, in this order, or of all.

        Options: from `begin` to `end` (else as far as facts reach, and of what repeats for ever a few periods more), so many
        `rows` of each predicate at most, so many pixels `width`, a `theme` (`auto`, `light` or `dark`), a `title`. A
        predicate whose last argument is a number that changes is drawn as lines, with the numbers that rules compare it to.
        DataError for a time that the timeline cannot hold, ValueError for what makes no picture.
        """
        from tidelog.plans.explaining.showing.plots import plot  # noqa: PLC0415 - few materialisations are drawn

        return plot(self._shown(options.get("end")), self.plan.schema, self.plan.program, predicates, **options)

    def _shown(self, end: TimeLike | None = None) -> Iterator[Record]:
        """What holds; of what repeats for ever as much as can be looked at."""
        facts, repeating = list(self.facts()), list(self.repeating())
        if not repeating:
            return iter(facts)
        times = [time for _, _, lo, hi in facts for time in (lo, hi) if NEG < time < POS]
        times += [time for fact in repeating for time in (fact.lo, fact.hi, fact.hi + SHOWN_PERIODS * fact.period)]
        last = max(times) if end is None else TimeReader(self.plan.timeline).last(end)
        return chain(facts, (record for record in self._repeated(min(times), last)))

    def _repeated(self, lo: int, hi: int) -> Iterator[Record]:
        for fact in self.repeating():
            for low, high in fact.between(lo, hi):
                yield fact.predicate, fact.row, max(low, lo), min(high, hi)

    def _repr_html_(self) -> str:
        """A timeline and a table, for notebooks."""
        from tidelog.plans.explaining.showing.plots import facts_table  # noqa: PLC0415 - few materialisations are drawn

        return self.plot().svg + facts_table(sorted(self._shown(), key=itemgetter(2)), self.plan.schema)

    def between(self, lo: int, hi: int) -> Iterator[Record]:
        """What holds within a finite range of (encoded) times, what repeats included, cut to that range."""
        for predicate, row, low, high in self._known.records():
            if low <= hi and lo <= high:
                yield predicate, row, max(low, lo), min(high, hi)
        yield from self._repeated(lo, hi)

    def holds(self, record: Record) -> bool:
        """Whether it is known that a fact holds at all its times; TypeError for what is no record."""
        require_record(record)
        return self._known.covers(record)

    def why(self, fact: Record, depth: int = 1) -> Reason | WhyNot:
        """Why a fact holds, as far as is known: a proof of least height, found when it is asked for. Or why it does not: for
        each rule the first premise that fails, and with a `depth` above 1 why that fails, so deep.

        MethodError where the search was stopped, TypeError for what is no record.

        >>> from tidelog.plans.compiling.batch import compile_batch
        >>> from tidelog.plans.language.parser import parse
        >>> plan = compile_batch(parse("alarm(X) :- boxminus[0,2] hot(X)."))
        >>> done = Materialisation(plan)
        >>> done.load([plan.record("hot", ["p1"], interval="[1,5]")])
        >>> done.run()
        >>> print(done.why(plan.record("alarm", ["p1"], time=4)).text())
        alarm(p1)@4
          by alarm(X) :- boxminus[0,2] hot(X).  where X = p1
          hot(p1)@[2,4]  (input)
        """
        require_record(fact)
        return self.explainer().why(fact, depth)

    def explainer(self, at: Writing = None) -> Explainer:
        """Explains what holds, as far as is known; `at` writes times other than as data have them."""
        derived = {name: self._known.rows_of(name) for name in self._known.predicates()}
        repeating = self._known.repeating()
        model = Model(self.plan.program, self.plan.timeline, derived, self._given, repeating, self._known.start)
        return Explainer(self.plan.program, model, at)

    def violation(self) -> Violation | None:
        """The ground rule and the time of a constraint that is violated; None if none is, as far as is known."""
        return self._violation

    def complete(self) -> frozenset[str]:
        """The derived predicates to which nothing will be added; `optimised` knows of more before a stratum's end."""
        return frozenset(self._complete).union(() if self._current is None else self._current.strategy.complete)

    def statistics(self) -> MaterialisationStatistics:
        """An immutable record of the work done."""
        current = self._current
        discarded = self._discarded + (len(current.strategy.discarded) if current else 0)
        evaluations = self._evaluations + (current.evaluations if current else 0)
        return MaterialisationStatistics(self._rounds, tuple(self._counts), discarded, evaluations, self._in_columns)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Within it, a StateError tells how many facts have been loaded."""
        try:
            yield
        except StateError as error:
            error.accepted = self._known.loaded
            raise

    # --- inside ---------------------------------------------------------------------------------------------------------

    def _next_stratum(self) -> None:
        if self._current is not None:
            self._discarded += len(self._current.strategy.discarded)
            self._evaluations += self._current.evaluations
            self._complete.update(self._current.stratum.predicates)
        self._current = None
        stratum = next(self._strata, None)
        while stratum is not None and stratum.is_clocked:
            with self._telling():
                run_through(self.plan, stratum, self._known, self._until)
            self._complete.update(stratum.predicates)
            stratum = next(self._strata, None)
        if stratum is not None:
            self._current = StratumRun(
                self.plan, stratum, self._known, self._strategy, self._settled, self._until, self._exact
            )

    def _take(self, derived: Derived, current: StratumRun) -> dict[str, Sequence[Fact]]:
        news = {}
        for predicate, facts in derived.items():
            if predicate not in self.plan.constraints:
                taken = current.strategy.take(predicate, facts, self._until)
                if taken.is_cut:
                    current.note_cut(predicate)
                if not taken.fits:
                    raise DataError(f"`{predicate}` is derived at times beyond what the timeline can hold")
                if taken.new:
                    news[predicate] = taken.new
        return news

    def _note_violation(self, derived: Derived) -> None:
        """Of all violations of a round, over maximal ranges, the first as text: the same in every strategy."""
        found: list[Violation] = []
        for constraint in self.plan.constraints:
            if constraint in derived:
                violated = maximal(up_to(derived[constraint], self._until))
                found += self._violations.receive(constraint, violated, POS)
        self._violation = min(found, key=str, default=None)

    def _check_end(self, current: StratumRun) -> None:
        for component in current.stratum.components:
            if self._must_end(component) or not any(name in self._news for name in component.predicates):
                continue
            most = MOST_ROUNDS if component.ending == "unbounded" else MOST_ROUNDS_TO_REPEAT
            if current.all_rounds >= most or current.ranges >= MOST_RANGES:
                raise EndlessError(component.predicates, current.all_rounds, "there was always something new")

    def _must_end(self, component: Component) -> bool:
        return component.ending == "finite" or (component.ending == "forward" and self._until < POS)
