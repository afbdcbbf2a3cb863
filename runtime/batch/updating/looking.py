"""Within one component, times left out: which rows a row may lead to, and on which rows of its text one rests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tidelog.plans.data.facts import Row
from tidelog.plans.plan.plan import DilateShape, ErodeShape, Step, SteppedShape, UnionShape
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
        self._done: dict[tuple[str, Pattern | None], set[Row]] = {}
        self._same: dict[str, str | None] = {}
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
        self._done, self.needed = {}, {}

    def need(self, step: str, pattern: Pattern | None, keys: Iterable[Row]) -> None:
        """Note the rows of the text's predicates on which rows of a step rest: those with these values, or all."""
        done = self._done.setdefault((step, pattern), set())
        new = [key for key in dict.fromkeys(keys) if key not in done]
        if not new:
            return
        done.update(new)
        if step in self._text:
            needed = self.needed.setdefault(step, {})
            for key in new:
                found = self._index.rows(step) if pattern is WHOLE else self._index.like(step, pattern, key)
                needed.update(dict.fromkeys(found))
            return
        for way in self._ways_of(step, pattern):
            if isinstance(way, Passing):
                self.need(way.step, way.pattern, (tuple([key[place] for place in way.key]) for key in new))
            else:
                self._note(way, [tuple([key[place] for place in way.begin]) for key in new if _fits(way, key)])

    # --- inside ---------------------------------------------------------------------------------------------------------

    def _ways_of(self, step: str, pattern: Pattern | None) -> list[Chain | Passing]:
        place = step, pattern
        if place not in self._ways:
            self._ways[place] = self.bindings.ways(step, pattern)
        return self._ways[place]

    def _rows(self, step: str, pattern: Pattern, key: Row) -> Iterable[Row]:
        """The rows of a step that have these values, which are not to be changed meanwhile."""
        text = self._text_of(step)
        if text is not None:
            return self._index.like(text, pattern, key)
        found: dict[Row, None] = {}
        for way in self._ways_of(step, pattern):
            if isinstance(way, Chain):
                found.update(dict.fromkeys(self._rows_of(way, key)))
            elif way.tells and way.pattern is not WHOLE:
                found.update(dict.fromkeys(self._rows(way.step, way.pattern, tuple([key[place] for place in way.key]))))
        return found

    def _text_of(self, step: str) -> str | None:
        """The predicate of the text whose rows are those of a step; None where it joins, or unites several."""
        if step not in self._same:
            found: str | None = step
            while found is not None and found not in self._text:
                at = self.bindings.steps[found]
                is_passing = isinstance(at.shape, UnionShape | DilateShape | ErodeShape | SteppedShape)
                found = at.feeders[0] if is_passing and len(at.feeders) == 1 else None
            self._same[step] = found
        return self._same[step]

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

    def _note(self, chain: Chain, values: Iterable[Row]) -> None:
        """What a chain meets on its way is needed."""
        found = dict.fromkeys(values)
        for whole in chain.wholes if found else ():
            self.need(whole, WHOLE, [()])
        for stage in chain.stages:
            self.need(stage.step, stage.pattern, (_key(stage, item) for item in found))
            if stage is not chain.stages[-1]:
                found = dict.fromkeys(after for item in found for after in self._beyond(stage, item))

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
