"""The rounds of a stratum in columns: seminaive, and each step is asked about many rows at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from tidelog.operators.columns.arrays import Array, np
from tidelog.operators.columns.batch import Batch, joined
from tidelog.operators.columns.pool import Pool
from tidelog.operators.columns.rounds.following import Following, follow_step
from tidelog.operators.columns.rounds.numbered import Image, Numbered, Table
from tidelog.operators.stores.coverage import Coverage
from tidelog.plans.analysis.recursion.rounds import Stratum
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import LIMIT, NEG, POS
from tidelog.plans.plan.plan import Feed, Step
from tidelog.runtime.batch.columnar.store import ColumnFacts, ColumnStore, numbered
from tidelog.runtime.batch.interpretation import Interpretation
from tidelog.runtime.batch.strategies import News, Strategy, Taken
from tidelog.runtime.batch.wiring import Derived, Frame, tell_step
from tidelog.runtime.network.state_bound import ON_THE_WAY, Holding

FEW, FEW_OF = 1_000, 128
"""A round that brings fewer ranges is done sooner row by row; or one range for so many that are known, or still fewer."""
SMALL_ROUNDS = 100
"""After so many of these in a row, rounds go on row by row: they have cost about what it costs to begin so."""


class ColumnRounds(Strategy):
    """Procedure 2 in columns; what is known of the predicates that take part is kept so, too.

    A step keeps what it has told where another one looks back at it, or saturation does.
    """

    def __init__(self, plan: BatchPlan, stratum: Stratum, known: Interpretation, frame: Frame) -> None:
        super().__init__(plan, stratum, known, frame)
        if known.pool is None:
            known.pool = Pool()
        self._pool = known.pool
        self._pool.room = known.bound.room
        every = {step.id: step for step in plan.steps}
        self._steps = [every[name] for name in stratum.steps]
        self._unions = {rule: name for name in stratum.predicates for rule in every[name].feeders}
        self._stores = {name: self._store(name) for name in (*stratum.reads, *stratum.predicates)}
        self._told = {name: store.known for name, store in self._stores.items()}
        start = [] if known.start is None else [((), known.start, known.start)]
        self._start, self._nothing = self._given(start), self._given([])
        self._new = {name: self._told[name].held for name in stratum.reads if len(self._told[name].held)}
        self._kept = set(frame.tapped)
        self._images: dict[str, Image] = {}
        self._following = {step.id: self._follow(step) for step in self._steps}
        self._touched: dict[str, Array] = {name: np.zeros(0, np.bool_) for name in stratum.predicates}
        self._evaluations = self._small = 0
        self._is_first = True
        known.bound.watch("steps", self._holdings)

    def _store(self, name: str) -> ColumnStore:
        store = self._known.store_of(name)
        if isinstance(store, ColumnStore):
            return store
        made = ColumnStore(store.rows, self._pool)
        self._known.keep(name, made)
        return made

    def _given(self, facts: Sequence[Fact]) -> Numbered:
        given = Numbered(Table(self._pool))
        given.add(numbered(given.table, facts))
        return given

    def _follow(self, step: Step) -> Following:
        target = self._unions.get(step.id)
        table = Table(self._pool) if target is None else self._told[target].table
        ports = [self._port(feed) for feed in step.inputs]
        following = follow_step(step.shape, ports, table, self._plan.timeline)
        self._told[step.id] = Numbered(following.table)
        self._kept.update(step.inputs[port].name for port in following.looks_back if step.inputs[port].kind == "step")
        if target is not None:
            self._images[step.id] = Image(following.table, table)
        return following

    def _port(self, feed: Feed) -> Numbered:
        match feed.kind:
            case "step":
                return self._told[feed.name]
            case "start":
                return self._start
            case _:
                return self._nothing

    def apply(self) -> Derived:
        said, self._new = self._new, {}
        found: dict[str, list[Batch]] = {}
        for step in self._steps:
            out = self._tell(step, [self._fresh(feed, said) for feed in step.inputs])
            if not len(out):
                continue
            target = self._unions.get(step.id, step.id)
            found.setdefault(target, []).append(self._images[step.id].of(out) if step.id in self._images else out)
            said[step.id] = joined([said[step.id], out], 1, self._pool) if step.id in said else out
        self._is_first = False
        wanted = (*self._stratum.predicates, *self._stratum.constraints)
        return {
            name: ColumnFacts(self._told[name].table, joined(found[name], 1, self._pool)) for name in wanted if name in found
        }

    def _fresh(self, feed: Feed, said: Mapping[str, Batch]) -> Batch | None:
        if feed.kind == "step":
            return said.get(feed.name)
        return self._start.held if feed.kind == "start" and self._is_first and len(self._start.held) else None

    def _tell(self, step: Step, new: Sequence[Batch | None]) -> Batch:
        there = [batch for batch in new if batch is not None]
        if not there:
            return self._nothing.held
        self._evaluations += len(there)
        out = self._following[step.id].follow(new)
        self._known.bound.moved(sum(map(len, there)) + len(out))
        return self._told[step.id].add(out) if step.id in self._kept else out

    def take(self, predicate: str, facts: Sequence[Fact], until: int) -> Taken:
        if not isinstance(facts, ColumnFacts):
            raise TypeError("rounds in columns give facts in columns")
        batch = facts.batch
        is_cut = until < POS and bool((batch.hi > until).any())
        new = self._stores[predicate].add(batch.clipped(NEG, until) if is_cut else batch)
        return Taken(ColumnFacts(facts.table, new), is_cut, _fits(new.lo) and _fits(new.hi))

    def learn(self, news: News) -> None:
        least = max(FEW, sum(store.entries() for store in self._stores.values()) // FEW_OF)
        self._small = self._small + 1 if sum(map(len, news.values())) < least else 0
        for name, facts in news.items():
            if isinstance(facts, ColumnFacts):
                self._new[name] = facts.batch
                self._touch(name, facts.batch.columns[0])

    def _touch(self, name: str, rows: Array) -> None:
        touched, size = self._touched[name], len(self._told[name].table)
        if len(touched) < size:
            touched = self._touched[name] = np.append(touched, np.zeros(size - len(touched), np.bool_))
        touched[rows] = True

    def extend(self, name: str, facts: Sequence[Fact]) -> None:
        told = self._told[name]
        batch = numbered(told.table, facts)
        if name in self._stores:
            self._touch(name, batch.columns[0])
        elif name in self._kept:
            told.add(batch)
        self._new[name] = joined([self._new[name], batch], 1, self._pool) if name in self._new else batch

    def note(self, touched: Mapping[str, set[Row]], tapped: Mapping[str, Coverage]) -> None:
        """Fill in what saturation asks for: which rows of predicates have been derived, and what steps have told."""
        for name, rows in touched.items():
            rows.update(self._told[name].table.rows(np.flatnonzero(self._touched[name])))
        for name, coverage in tapped.items():
            coverage.insert(ColumnFacts(self._told[name].table, self._told[name].held))

    @property
    def is_slow(self) -> bool:
        """Whether rounds have brought so little for so long that rows are quicker."""
        return self._small >= SMALL_ROUNDS

    @property
    def evaluations(self) -> int:
        return self._evaluations

    def _holdings(self) -> Iterator[Holding]:
        for step in self._steps:
            waiting = len(self._new.get(step.id, ())) // ON_THE_WAY
            yield Holding(len(self._told[step.id].held) + waiting, partial(tell_step, self._plan.program, step))


def _fits(times: Array) -> bool:
    if not len(times) or (int(times.min()) >= -LIMIT and int(times.max()) <= LIMIT):
        return True
    return bool(((times <= NEG) | (times >= POS) | (abs(times) <= LIMIT)).all())
