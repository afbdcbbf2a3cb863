"""The rows on which a question may rest: the program without its times, followed backwards from what is asked.

A demand for a row of a step leads to demands for rows of the steps that feed it; rows that are found there tell which
others are of use. What is found has more than is needed, since times do not count, and never less: whatever a demanded row
follows from, and whatever its absence follows from, is demanded, too. So these rows hold at the same times without all that
is not demanded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter

from tidelog.operators.joins.join import Join
from tidelog.plans.data.facts import Row
from tidelog.plans.plan.plan import Step
from tidelog.plans.tree.syntax import Constant, Value, Variable
from tidelog.runtime.batch.demand.bindings import WHOLE, Bindings, Chain, Passing, Pattern, Source, Stage


class TooMuchError(Exception):
    """What is demanded is so much that it costs less to derive all."""


Head = Callable[[Row], Iterable[Row]]
"""Makes rows of a chain's last tuple."""

Rows = Mapping[str, Iterable[Row]]
"""The rows of facts, by predicate; some may come again."""


@dataclass(frozen=True, slots=True)
class Demanded:
    """What is demanded of each step: `whole` ones everything, of the others rows with certain values in certain columns."""

    whole: frozenset[str]
    keys: Mapping[str, Mapping[Pattern, set[Row]]]

    def has(self, step: str, row: Row) -> bool:
        """Whether a row of a step is demanded."""
        if step in self.whole:
            return True
        found = self.keys.get(step, {})
        return any(tuple(row[i] for i in pattern) in keys for pattern, keys in found.items())


@dataclass(slots=True)
class _Table:
    """The rows of a step that may hold, as far as they are demanded, and who waits for which of them."""

    rows: set[Row] = field(default_factory=set)
    found: dict[Pattern, dict[Row, list[Row]]] = field(default_factory=dict)
    waiting: dict[Pattern, dict[Row, list[Callable[[Row], None]]]] = field(default_factory=dict)


@dataclass(slots=True)
class _ReadyChain:
    """A chain at work: the tuples met so far before each atom, and the code of its head."""

    chain: Chain
    step: str
    met: list[set[Row]]
    head: Head | None


class Demand:
    """Follows demands until there are no new ones; `most` is how many demands, rows and tuples may be met on the way."""

    def __init__(self, steps: Iterable[Step], facts: Rows, most: int) -> None:
        self._bindings = Bindings(steps)
        self._facts = facts
        self._given: dict[tuple[str, Pattern], dict[Row, list[Row]]] = {}
        self._left = most
        self._whole: set[str] = set()
        self._keys: dict[str, dict[Pattern, set[Row]]] = {}
        self._ways: dict[tuple[str, Pattern], list[_ReadyChain | Passing]] = {}
        self._tables: dict[str, _Table] = {}
        self._work: deque[Callable[[], None]] = deque()

    def ask_whole(self, step: str) -> None:
        """Everything of a step is demanded."""
        if step in self._whole:
            return
        self._whole.add(step)
        for way in self._bindings.ways(step, WHOLE):
            self._begin_later(step, way)

    def ask(self, step: str, pattern: Pattern, key: Row) -> None:
        """The rows of a step are demanded that have these values in the columns of a pattern."""
        patterns = self._keys.setdefault(step, {})
        keys = patterns.setdefault(pattern, set())
        if key in keys:
            return
        self._count()
        keys.add(key)
        self._work.append(partial(self._follow, step, pattern, key))

    def _begin_later(self, step: str, way: Chain | Passing) -> None:
        self._work.append(partial(self._begin, step, _made_ready(step, way), ()))

    def settle(self) -> Demanded:
        """Follow what is asked; TooMuchError where that meets too much."""
        while self._work:
            self._work.popleft()()
        whole = self._whole.union(step for step, patterns in self._keys.items() if () in patterns)
        return Demanded(frozenset(whole), self._keys)

    # --- one demand -----------------------------------------------------------------------------------------------------

    def _follow(self, step: str, pattern: Pattern, key: Row) -> None:
        if step not in self._bindings.opaque:
            for row in self._facts_like(step, pattern, key):
                self._add(step, row)
        ways = self._ways.get((step, pattern))
        if ways is None:
            found = self._bindings.ways(step, pattern)
            ways = self._ways[step, pattern] = [_made_ready(step, way) for way in found]
        for way in ways:
            self._begin(step, way, key)

    def _begin(self, step: str, way: _ReadyChain | Passing, key: Row) -> None:
        if isinstance(way, Passing):
            self._pass_on(step, way, key)
            return
        if all(key[place] == _value(source, key) for place, source in way.chain.check):
            for whole in way.chain.wholes:
                self.ask_whole(whole)
            self._reach(way, 0, tuple([key[place] for place in way.chain.begin]))

    def _pass_on(self, step: str, way: Passing, key: Row) -> None:
        if way.pattern is WHOLE:
            self.ask_whole(way.step)
            return
        below = tuple([key[place] for place in way.key])
        if way.tells:
            self._await(way.step, way.pattern, below, partial(self._add, step))
        else:
            self.ask(way.step, way.pattern, below)

    def _reach(self, way: _ReadyChain, number: int, values: Row) -> None:
        """A tuple has come before an atom of a chain, or to its end."""
        if number == len(way.chain.stages):
            if way.head is not None:
                for row in way.head(values):
                    self._add(way.step, row)
            return
        met = way.met[number]
        if values in met:
            return
        self._count()
        met.add(values)
        stage = way.chain.stages[number]
        key = tuple([values[source] if isinstance(source, int) else source.value for source in stage.key])
        if stage.asks:
            self.ask(stage.step, stage.pattern, key)
            self._later(way, number + 1, tuple([values[place] for place in stage.out]))
        else:
            self._await(stage.step, stage.pattern, key, partial(self._meet, way, number, stage, values))

    def _meet(self, way: _ReadyChain, number: int, stage: Stage, values: Row, row: Row) -> None:
        if all(row[one] == row[other] for one, other in stage.same):
            both = values + row
            self._later(way, number + 1, tuple([both[place] for place in stage.out]))

    def _later(self, way: _ReadyChain, number: int, values: Row) -> None:
        self._work.append(partial(self._reach, way, number, values))

    # --- rows -----------------------------------------------------------------------------------------------------------

    def _await(self, step: str, pattern: Pattern, key: Row, take: Callable[[Row], None]) -> None:
        """Demand rows of a step; `take` is called with each that there is, or will be."""
        table = self._table(step)
        if pattern not in table.found:
            groups: dict[Row, list[Row]] = {}
            for row in table.rows:
                groups.setdefault(tuple([row[i] for i in pattern]), []).append(row)
            table.found[pattern], table.waiting[pattern] = groups, {}
        table.waiting[pattern].setdefault(key, []).append(take)
        for row in tuple(table.found[pattern].get(key, ())):
            take(row)
        self.ask(step, pattern, key)

    def _add(self, step: str, row: Row) -> None:
        table = self._table(step)
        if row in table.rows:
            return
        self._count()
        table.rows.add(row)
        for pattern, groups in table.found.items():
            key = tuple([row[i] for i in pattern])
            groups.setdefault(key, []).append(row)
            self._work += [partial(take, row) for take in table.waiting[pattern].get(key, ())]

    def _table(self, step: str) -> _Table:
        table = self._tables.get(step)
        if table is None:
            table = self._tables[step] = _Table()
        return table

    def _facts_like(self, step: str, pattern: Pattern, key: Row) -> Sequence[Row]:
        """The rows of facts that have these values."""
        groups = self._given.get((step, pattern))
        if groups is None:
            groups = self._given[step, pattern] = {}
            for row in dict.fromkeys(self._facts.get(step, ())):
                groups.setdefault(tuple([row[i] for i in pattern]), []).append(row)
        return groups.get(key, ())

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooMuchError


def _made_ready(step: str, way: Chain | Passing) -> _ReadyChain | Passing:
    if isinstance(way, Passing):
        return way
    return _ReadyChain(way, step, [set() for _ in way.stages], head_of(way))


def _value(source: Source, key: Row) -> Value:
    return source.value if isinstance(source, Constant) else key[source]


def head_of(chain: Chain) -> Head | None:
    """What makes rows of a chain's last tuples; those for which a comparison fails give none."""
    shape = chain.head
    if shape is None:
        return None
    names = {name: place for place, name in enumerate(chain.row)}
    if not shape.comparisons:
        sources: list[Source] = [
            names[term.name] if isinstance(term, Variable) else term
            for term in shape.head
            if isinstance(term, Variable | Constant)
        ]
        places = [source for source in sources if isinstance(source, int)]
        if len(places) == len(sources) > 1:
            pick = itemgetter(*places)
            return lambda values: (pick(values),)
        return lambda values: (tuple([_value(source, values) for source in sources]),)
    width = len(chain.row)  # with the tuple in front no two rows are the same, so that a join need not know what it has told
    join = Join(replace(shape, head=(*map(Variable, chain.row), *shape.head)))
    frontier = join.frontiers[0]
    return lambda values: (row[width:] for row, _, _ in join.receive(0, [(values, 0, 0)], frontier))
