"""Within one component, times left out: which rows a row may lead to, and on which rows of its text one rests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tidelog.plans.data.facts import Row
from tidelog.plans.plan.plan import Step
from tidelog.plans.tree.syntax import Constant
from tidelog.runtime.batch.demand.bindings import WHOLE, Bindings, Chain, Passing, Pattern, Stage
from tidelog.runtime.batch.demand.rows import Head, head_of
from tidelog.runtime.batch.updating.row_index import RowIndex


class Looking:
    """Rows of a component's steps, found from those of the predicates `text`, which stand for facts here."""

    def __init__(self, steps: Mapping[str, Step], text: Iterable[str], index: RowIndex) -> None:
        self.bindings = Bindings(steps.values())
        self._text = frozenset(text)
        self._index = index
        self._ways: dict[tuple[str, Pattern | None], list[Chain | Passing]] = {}
        self._onward: dict[tuple[str, int], Chain | None] = {}
        self._heads: dict[int, Head | None] = {}
        self._kept: list[Chain] = []
        self._done: set[tuple[str, Pattern | None, Row]] = set()
        self.needed: dict[str, dict[Row, None]] = {}

    def onward(self, step: str, port: int, row: Row) -> Iterable[Row]:
        """The rows of a step to which a row of one of its ports may lead."""
        place = step, port
        if place not in self._onward:
            self._onward[place] = self.bindings.onward(step, port)
        chain = self._onward[place]
        return (row,) if chain is None else dict.fromkeys(self._rows_of(chain, row))

    def begin(self) -> None:
        """Forget what has been needed."""
        self._done, self.needed = set(), {}

    def need(self, step: str, pattern: Pattern | None, key: Row) -> None:
        """Note the rows of the text's predicates on which rows of a step rest."""
        place = step, pattern, key
        if place in self._done:
            return
        self._done.add(place)
        if step in self._text:
            found = self._index.rows(step) if pattern is WHOLE else self._index.like(step, pattern, key)
            self.needed.setdefault(step, {}).update(dict.fromkeys(found))
            return
        for way in self._ways_of(step, pattern):
            if isinstance(way, Passing):
                self.need(way.step, way.pattern, tuple([key[place] for place in way.key]))
            elif _fits(way, key):
                for whole in way.wholes:
                    self.need(whole, WHOLE, ())
                self._note(way, 0, tuple([key[place] for place in way.begin]))

    # --- inside ---------------------------------------------------------------------------------------------------------

    def _ways_of(self, step: str, pattern: Pattern | None) -> list[Chain | Passing]:
        place = step, pattern
        if place not in self._ways:
            self._ways[place] = self.bindings.ways(step, pattern)
        return self._ways[place]

    def _rows(self, step: str, pattern: Pattern, key: Row) -> Iterable[Row]:
        if step in self._text:
            return tuple(self._index.like(step, pattern, key))
        found: dict[Row, None] = {}
        for way in self._ways_of(step, pattern):
            if isinstance(way, Chain):
                found.update(dict.fromkeys(self._rows_of(way, key)))
            elif way.tells and way.pattern is not WHOLE:
                found.update(dict.fromkeys(self._rows(way.step, way.pattern, tuple([key[place] for place in way.key]))))
        return found

    def _rows_of(self, chain: Chain, key: Row) -> Iterator[Row]:
        if not _fits(chain, key):
            return
        head = self._head(chain)
        if head is not None:
            found: Iterable[Row] = (tuple([key[place] for place in chain.begin]),)
            for stage in chain.stages:
                found = dict.fromkeys(after for values in found for after in self._beyond(stage, values))
            for values in found:
                yield from head(values)

    def _note(self, chain: Chain, number: int, values: Row) -> None:
        """What a chain meets on its way is needed."""
        if number == len(chain.stages):
            return
        stage = chain.stages[number]
        self.need(stage.step, stage.pattern, _key(stage, values))
        if number + 1 < len(chain.stages):
            for after in dict.fromkeys(self._beyond(stage, values)):
                self._note(chain, number + 1, after)

    def _beyond(self, stage: Stage, values: Row) -> Iterator[Row]:
        """The tuples behind one atom of a chain."""
        out = stage.out
        if stage.asks:
            yield tuple([values[place] for place in out])
            return
        for row in self._rows(stage.step, stage.pattern, _key(stage, values)):
            if all(row[one] == row[other] for one, other in stage.same):
                both = values + row
                yield tuple([both[place] for place in out])

    def _head(self, chain: Chain) -> Head | None:
        if id(chain) not in self._heads:
            self._heads[id(chain)] = head_of(chain)
            self._kept.append(chain)  # so that its id stays its own
        return self._heads[id(chain)]


def _key(stage: Stage, values: Row) -> Row:
    return tuple([values[source] if isinstance(source, int) else source.value for source in stage.key])


def _fits(chain: Chain, key: Row) -> bool:
    return all(key[at] == (other.value if isinstance(other, Constant) else key[other]) for at, other in chain.check)
