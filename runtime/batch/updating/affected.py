"""The rows of a component that may change, and at which times, given what has changed in what it reads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tidelog.operators.stores.coverage import Coverage
from tidelog.plans.data.facts import Row
from tidelog.plans.data.intervals import Ranges
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import DilateShape, ErodeShape, PairShape, Shape, Step, SteppedShape
from tidelog.runtime.batch.updating.looking import Looking
from tidelog.runtime.batch.updating.row_index import RowIndex

_PATIENCE = 20
"""So often the times of a row may grow, before they are taken to grow for ever."""

Changes = Mapping[str, Mapping[Row, Ranges]]
"""For each predicate, the rows that hold at other times than before, and at which."""


class EverythingError(Exception):
    """So much may change that nothing is gained by telling what."""


class Affected:
    """Follows changes forward through a component's `steps`; `rules` are those that end at a predicate of its own.

    A row of which `is_endless` something repeats for ever may change at all times. `most` is how many changes are followed.
    """

    def __init__(
        self,
        steps: Mapping[str, Step],
        rules: Mapping[str, str],
        looking: Looking,
        index: RowIndex,
        is_endless: Callable[[str, Row], bool],
        most: int,
    ) -> None:
        self._steps = steps
        self._rules = rules
        self._looking = looking
        self._index = index
        self._is_endless = is_endless
        self._left = most
        self._readers: dict[str, list[tuple[str, int]]] = {}
        for step in steps.values():
            for port, feeder in enumerate(step.feeders):
                self._readers.setdefault(feeder, []).append((step.id, port))
        self._passed: dict[str, Coverage] = {}
        self._grown: dict[tuple[str, Row], int] = {}
        self._work: deque[tuple[str, Row, int, int]] = deque()
        self.found: dict[str, Coverage] = {name: Coverage(keeps=True) for name in rules.values()}

    def follow(self, changes: Changes, given: Changes) -> None:
        """All that may change, in `found`; EverythingError where that cannot be told, or is too much.

        `changes` are those of what the component reads, `given` those of the facts of its own predicates.
        """
        for name, rows in changes.items():
            for row, ranges in rows.items():
                self._work += [(name, row, lo, hi) for lo, hi in ranges]
        for name, rows in given.items():
            for row, ranges in rows.items():
                for lo, hi in ranges:
                    self._mark(name, row, lo, hi)
        while self._work:
            name, row, lo, hi = self._work.popleft()
            for step, port in self._readers.get(name, ()):
                self._onward(step, port, row, lo, hi)

    def _onward(self, name: str, port: int, row: Row, lo: int, hi: int) -> None:
        if name in self._looking.bindings.opaque:
            raise EverythingError
        low, high = _moved(self._steps[name].shape, port, lo, hi)
        for head in tuple(self._looking.onward(name, port, row)):
            self._left -= 1
            if self._left < 0:
                raise EverythingError
            if name in self._rules:
                self._mark(self._rules[name], head, low, high)
            else:
                self._pass(name, head, low, high)

    def _pass(self, name: str, row: Row, lo: int, hi: int) -> None:
        new = self._passed.setdefault(name, Coverage(keeps=True)).insert([(row, lo, hi)])
        self._work += [(name, *fact) for fact in new]

    def _mark(self, name: str, row: Row, lo: int, hi: int) -> None:
        """A row of a predicate of the component may change at these times."""
        store = self.found[name]
        if row not in store.rows:
            self._index.add(name, row)
            if self._is_endless(name, row):
                lo, hi = NEG, POS
        else:
            times = self._grown[name, row] = self._grown.get((name, row), 0) + 1
            if times > _PATIENCE:
                bounds = store.rows[row]
                if lo < bounds[0] or hi > bounds[-1]:
                    lo, hi = (NEG if lo < bounds[0] else bounds[0]), (POS if hi > bounds[-1] else bounds[-1])
        self._work += [(name, *fact) for fact in store.insert([(row, lo, hi)])]


def _moved(shape: Shape, port: int, lo: int, hi: int) -> tuple[int, int]:
    """When a step may tell something else, where what one of its ports tells changes."""
    match shape:
        case DilateShape(metric, future) | ErodeShape(metric, future):
            near, far = metric.a, metric.b
        case PairShape(operator, metric):
            near, far, future = (0 if port == 0 else metric.a), metric.b, operator == "until"
        case SteppedShape(step):
            near, far, future = 0, step, False
        case _:
            return lo, hi
    if future:
        return _moved_by(lo, -far - 1), _moved_by(hi, 1 - near)
    return _moved_by(lo, near - 1), _moved_by(hi, far + 1)


def _moved_by(time: int, distance: int) -> int:
    if time <= NEG or time >= POS:
        return time
    return max(NEG, min(POS, time + distance))


def widened(ranges: Iterable[Sequence[int]], back: int, ahead: int) -> Iterator[tuple[int, int]]:
    """Ranges with so much before and behind them."""
    return ((_moved_by(lo, -back), _moved_by(hi, ahead)) for lo, hi in ranges)
