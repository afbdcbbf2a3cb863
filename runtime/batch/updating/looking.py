"""Within one component, times left out: which rows a row may lead to, and on which rows of its text one rests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from tidelog.plans.data.facts import Row
from tidelog.plans.plan.plan import DilateShape, ErodeShape, Step, SteppedShape, UnionShape
from tidelog.plans.tree.syntax import Constant, Value
from tidelog.runtime.batch.demand.bindings import WHOLE, Bindings, Chain, Passing, Pattern, Source, Stage
from tidelog.runtime.batch.demand.rows import Head, head_of
from tidelog.runtime.batch.updating.row_index import Finder, RowIndex, picker

_FAR = 1e12
"""So many rows a join is expected to have: whatever else there is comes first."""


@dataclass(frozen=True, slots=True)
class Onward:
    """Where rows of one port of a step lead, of which some columns are known: the `pattern` of what is known of the step's
    rows, and what finds the values of its columns."""

    pattern: Pattern
    rows: Finder


@dataclass(frozen=True, slots=True)
class _Link:
    """One atom of a chain at work: the key of what is asked of it, and the tuples behind it, for tuples before it."""

    stage: Stage
    key: Callable[[Row], Row]
    beyond: Callable[[Iterable[Row]], Iterable[Row]]


@dataclass(frozen=True, slots=True)
class _Walk:
    """A chain at work: its first tuple, its atoms, and the rows of its last tuples; `fits` where some begins do not."""

    chain: Chain
    fits: Callable[[Row], bool] | None
    begin: Callable[[Row], Row]
    links: list[_Link]
    head: Head | None


class Looking:
    """Rows of a component's steps, found from those of the predicates `text`, which stand for facts here."""

    def __init__(self, steps: Mapping[str, Step], text: Iterable[str], index: RowIndex) -> None:
        self.bindings = Bindings(steps.values(), self._size)
        self._text = frozenset(text)
        self._index = index
        self._ways: dict[tuple[str, Pattern | None], list[_Walk | Passing]] = {}
        self._finders: dict[tuple[str, Pattern], Finder] = {}
        self._onward: dict[tuple[str, int, Pattern], Onward | None] = {}
        self._done: dict[tuple[str, Pattern | None], set[Row]] = {}
        self.needed: dict[str, dict[Row, None]] = {}
        self.looked_at = self.known_rows()

    def known_rows(self) -> int:
        """How many rows the predicates of the text have: the order in which atoms are looked up depends on it."""
        return sum(len(self._index.rows(name)) for name in self._text)

    def onward(self, step: str, port: int, pattern: Pattern) -> Onward | None:
        """Where rows of one of its ports lead, of which these columns are known; None where that cannot be said."""
        place = step, port, pattern
        if place not in self._onward:
            leading = self.bindings.onward(step, port, pattern)
            if leading is None:
                self._onward[place] = None
            elif leading.chain is None:
                pick = picker(leading.key)
                self._onward[place] = Onward(leading.pattern, lambda values: (pick(values),))
            else:
                self._onward[place] = Onward(leading.pattern, _rows_of(self._walk(leading.chain)))
        return self._onward[place]

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
            if pattern is WHOLE:
                needed.update(self._index.rows(step))
            else:
                find = self._index.finder(step, pattern)
                for key in new:
                    needed.update(dict.fromkeys(find(key)))
            return
        for way in self._ways_of(step, pattern):
            if isinstance(way, Passing):
                self.need(way.step, way.pattern, map(picker(way.key), new))
            else:
                fits = way.fits
                self._note(way, map(way.begin, new if fits is None else filter(fits, new)))

    # --- inside ---------------------------------------------------------------------------------------------------------

    def _size(self, step: str, pattern: Pattern) -> float:
        text = self._text_of(step)
        return _FAR / (1 + len(pattern)) if text is None else self._index.size(text, pattern)

    def _note(self, walk: _Walk, values: Iterable[Row]) -> None:
        """What a chain meets on its way is needed."""
        found: Iterable[Row] = dict.fromkeys(values)
        for whole in walk.chain.wholes if found else ():
            self.need(whole, WHOLE, [()])
        for link in walk.links:
            self.need(link.stage.step, link.stage.pattern, map(link.key, found))
            if link is not walk.links[-1]:
                found = link.beyond(found)

    def _ways_of(self, step: str, pattern: Pattern | None) -> list[_Walk | Passing]:
        place = step, pattern
        if place not in self._ways:
            ways = self.bindings.ways(step, pattern)
            self._ways[place] = [way if isinstance(way, Passing) else self._walk(way) for way in ways]
        return self._ways[place]

    def _finder(self, step: str, pattern: Pattern) -> Finder:
        """What finds the rows of a step that have these values, which are not to be changed meanwhile."""
        text = self._text_of(step)
        if text is not None:
            return self._index.finder(text, pattern)
        place = step, pattern
        if place not in self._finders:
            self._finders[place] = lambda _: ()  # a step does not feed itself but through a predicate of the text
            finders = [found for way in self._ways_of(step, pattern) for found in self._finders_of(way)]
            self._finders[place] = finders[0] if len(finders) == 1 else _all_of(finders)
        return self._finders[place]

    def _finders_of(self, way: _Walk | Passing) -> list[Finder]:
        if isinstance(way, _Walk):
            return [_rows_of(way)]
        if not way.tells or way.pattern is WHOLE:
            return []
        find, pick = self._finder(way.step, way.pattern), picker(way.key)
        return [lambda key: find(pick(key))]

    def _text_of(self, step: str) -> str | None:
        """The predicate of the text whose rows are those of a step; None where it joins, or unites several."""
        found: str | None = step
        while found is not None and found not in self._text:
            at = self.bindings.steps[found]
            is_passing = isinstance(at.shape, UnionShape | DilateShape | ErodeShape | SteppedShape)
            found = at.feeders[0] if is_passing and len(at.feeders) == 1 else None
        return found

    def _walk(self, chain: Chain) -> _Walk:
        links = [_Link(stage, _keyed(stage.key), self._beyond(stage)) for stage in chain.stages]
        check = chain.check
        fits = None if not check else lambda key: all(key[at] == _value(other, key) for at, other in check)
        return _Walk(chain, fits, picker(chain.begin), links, head_of(chain))

    def _beyond(self, stage: Stage) -> Callable[[Iterable[Row]], Iterable[Row]]:
        """What finds the tuples behind one atom of a chain."""
        out, same = picker(stage.out), stage.same
        if stage.asks:
            return lambda found: dict.fromkeys(map(out, found))
        find, key = self._finder(stage.step, stage.pattern), _keyed(stage.key)
        if same:
            return lambda found: dict.fromkeys(
                out(values + row) for values in found for row in find(key(values)) if all(row[i] == row[j] for i, j in same)
            )
        return lambda found: dict.fromkeys([out(values + row) for values in found for row in find(key(values))])


def _rows_of(walk: _Walk) -> Finder:
    """The rows to which a chain leads."""
    fits, begin, head = walk.fits, walk.begin, walk.head
    steps = [link.beyond for link in walk.links]

    def rows(key: Row) -> Collection[Row]:
        if head is None or (fits is not None and not fits(key)):
            return ()
        found: Iterable[Row] = (begin(key),)
        for beyond in steps:
            found = beyond(found)
            if not found:
                return ()
        return dict.fromkeys([row for values in found for row in head(values)])

    return rows


def _all_of(finders: list[Finder]) -> Finder:
    return lambda key: dict.fromkeys(row for find in finders for row in find(key))


def _keyed(sources: tuple[Source, ...]) -> Callable[[Row], Row]:
    """What makes the key of an atom."""
    places = tuple(source for source in sources if isinstance(source, int))
    if len(places) == len(sources):
        return picker(places)
    return lambda values: tuple([_value(source, values) for source in sources])


def _value(source: Source, values: Row) -> Value:
    return source.value if isinstance(source, Constant) else values[source]
