"""The rows of a component that may change, and at which times, given what has changed in what it reads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tidelog.operators.stores.coverage import Coverage
from tidelog.plans.data.facts import Row
from tidelog.plans.data.intervals import Ranges
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    DilateShape,
    ErodeShape,
    JoinShape,
    LatchShape,
    LatestShape,
    PairShape,
    PeriodShape,
    Shape,
    SteppedShape,
    ThresholdShape,
    UnionShape,
)
from tidelog.runtime.batch.demand.bindings import Pattern
from tidelog.runtime.batch.updating.looking import Looking
from tidelog.runtime.batch.updating.part import Part
from tidelog.runtime.batch.updating.row_index import Finder, RowIndex

_PATIENCE = 20
"""So often the times of a row may grow, before they are taken to grow for ever."""

Changes = Mapping[str, Mapping[Row, Ranges]]
"""For each predicate, the rows that hold at other times than before, and at which."""


class EverythingError(Exception):
    """So much may change that nothing is gained by telling what."""


Place = tuple[str, Pattern]
"""A predicate and some of its columns: rows of it that may change are told by the values of these."""


@dataclass(frozen=True, slots=True)
class _Way:
    """How changes of a step's rows lead to rows of another, that many (encoded) times before and behind them."""

    place: Place
    rows: Finder
    before: int
    behind: int
    found: Coverage | None
    """Where rows of a predicate of the component may change; None for a step between two."""


class Affected:
    """Follows changes forward through a component's `steps`; `rules` are those that end at a predicate of its own.

    What is aggregated has values that nobody knows before it is derived: there the group is told that may change, by the
    columns that are known. Of predicates of which something is `repeating` for ever, a row of which it `is_endless` may
    change at all times. Behind `until` nothing is derived. `most` is how many changes are followed.
    """

    def __init__(
        self,
        part: Part,
        looking: Looking,
        index: RowIndex,
        repeating: Callable[[str], bool],
        is_endless: Callable[[str, Row], bool],
        until: int,
        most: int,
    ) -> None:
        self._steps, self._rules, self._widths = part.steps, part.rules, part.widths
        self._is_recursive = part.component.is_recursive
        self._looking = looking
        self._index = index
        self._is_endless = is_endless
        self._until = until
        self._left = most
        self._readers: dict[str, list[tuple[str, int]]] = {}
        for step in part.steps.values():
            for port, feeder in enumerate(step.feeders):
                self._readers.setdefault(feeder, []).append((step.id, port))
        self._ways: dict[Place, list[_Way]] = {}
        self._passed: dict[Place, Coverage] = {}
        self._grown: dict[tuple[Place, Row], int] = {}
        self._work: deque[tuple[Place, Row, int, int]] = deque()
        self._steady = {
            (name, whole(part.widths[name])): index.rows(name) for name in part.component.predicates if not repeating(name)
        }
        self.found: dict[Place, Coverage] = {
            (name, whole(part.widths[name])): Coverage(keeps=True) for name in part.component.predicates
        }

    def follow(self, changes: Changes, given: Changes) -> None:
        """All that may change, in `found`; EverythingError where that cannot be told, or is too much.

        `changes` are those of what the component reads, `given` those of the facts of its own predicates.
        """
        for name, rows in changes.items():
            for row, ranges in rows.items():
                place = name, whole(len(row))
                self._work += [(place, row, lo, hi) for lo, hi in ranges]
        for name, rows in given.items():
            for row, ranges in rows.items():
                place = name, whole(len(row))
                store = self.found.get(place)
                if store is None:
                    raise EverythingError  # a row of another width: whoever derives from it tells what is wrong
                for lo, hi in ranges:
                    self._mark(place, store, row, lo, hi)
        self._follow()

    def _follow(self) -> None:
        """Go on with what waits, until nothing does."""
        work, known_ways, until = self._work, self._ways, self._until
        while work:
            place, row, lo, hi = work.popleft()
            for way in known_ways.get(place) or self._ways_of(place):
                low = lo if lo <= NEG or lo >= POS else max(NEG, lo - way.before)
                high = hi if hi <= NEG or hi >= POS else min(POS, hi + way.behind)
                heads = way.rows(row)
                self._left -= len(heads)
                if self._left < 0:
                    raise EverythingError
                if way.found is None:
                    for head in heads:
                        self._pass(way.place, head, low, high)
                elif low <= until:
                    high = min(high, until)
                    for head in heads:
                        self._mark(way.place, way.found, head, low, high)

    def _ways_of(self, place: Place) -> list[_Way]:
        name, pattern = place
        ways = self._ways[place] = []
        for step, port in self._readers.get(name, ()):
            shape = self._steps[step].shape
            onward, moved = self._looking.onward(step, port, pattern), _moved(shape, port)
            if onward is None or moved is None:
                raise EverythingError
            target = self._rules.get(step, step), onward.pattern
            found = None
            if step in self._rules:
                if self._is_recursive and step in self._looking.bindings.opaque:
                    raise EverythingError  # rows that nobody knows yet would have to be looked up
                found = self.found.setdefault(target, Coverage(keeps=True))
            ways.append(_Way(target, onward.rows, *moved, found))
        return ways

    def _pass(self, place: Place, row: Row, lo: int, hi: int) -> None:
        new = self._passed.setdefault(place, Coverage(keeps=True)).insert([(row, lo, hi)])
        self._work += [(place, *fact) for fact in new]

    def _mark(self, place: Place, store: Coverage, row: Row, lo: int, hi: int) -> None:
        """A row of a predicate of the component, or a group of rows, may change at these times."""
        bounds = store.rows.get(row)
        if bounds is None:
            if place not in self._steady:
                if self._repeats(place, row):
                    lo, hi = NEG, max(hi, self._until)
            elif row not in self._steady[place]:
                self._index.add(place[0], row)
            store.rows[row] = [lo, hi]
            self._work.append((place, row, lo, hi))
            return
        if lo >= bounds[0] and hi <= bounds[1]:
            return
        times = self._grown[place, row] = self._grown.get((place, row), 0) + 1
        if times > _PATIENCE and (lo < bounds[0] or hi > bounds[-1]):
            lo, hi = (NEG if lo < bounds[0] else bounds[0]), (max(hi, self._until) if hi > bounds[-1] else bounds[-1])
        self._work += [(place, *fact) for fact in store.insert([(row, lo, hi)])]

    def _repeats(self, place: Place, row: Row) -> bool:
        """Whether something of a row, or of one of a group, repeats for ever; a row is there from now on."""
        name, pattern = place
        if len(pattern) == self._widths[name]:
            self._index.add(name, row)
            return self._is_endless(name, row)
        return any(self._is_endless(name, each) for each in self._index.like(name, pattern, row))


@lru_cache
def whole(width: int) -> Pattern:
    """All columns."""
    return tuple(range(width))


def _moved(shape: Shape, port: int) -> tuple[int, int] | None:
    """How long before and behind a change of what one of its ports tells a step may tell something else; None where that
    is not known."""
    future = False
    match shape:
        case DilateShape(metric, future) | ErodeShape(metric, future):
            near, far = metric.a, metric.b
        case PairShape(operator, metric):
            near, far, future = (0 if port == 0 else metric.a), metric.b, operator == "until"
        case SteppedShape(step):
            near, far = 0, step
        case AggregateShape(size=size, step=step):
            near, far = 0, size + step
        case ThresholdShape(size=size) | LatestShape(size=size):
            near, far = 0, size
        case PeriodShape(calendar=calendar):
            return calendar.longest, calendar.longest
        case UnionShape() | JoinShape() | AntiJoinShape():
            return 0, 0
        case LatchShape():
            return 0, POS
        case _:
            return None
    return (far + 1, 1 - near) if future else (1 - near, far + 1)
