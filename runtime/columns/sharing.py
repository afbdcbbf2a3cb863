"""What plans have in common that go over one history: equal steps, and filters of a column by limits of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidelog.operators.columns.arrays import Array, is_number, np
from tidelog.operators.columns.batch import Batch
from tidelog.plans.analysis.physical.identity import Meanings
from tidelog.plans.plan.plan import JoinShape, Plan, Shape, Step
from tidelog.plans.tree.numerals import EXACT_FLOAT
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Value, Variable

_FEWEST_ROWS = 1_000
"""Of fewer rows it costs more to ask which of them a filter needs than to filter them."""
_MUCH = 0.75
"""Rows are taken out for later filters where they are no more than this part."""
_MIRRORED: Mapping[str, str] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Limit:
    """A number that a column of a step's input may not be below, or not above; what equals it may be in or not."""

    column: int
    is_least: bool
    number: float


class Shared:
    """What the steps of several plans say of one stretch: those that compute the same do so once, and of the filters of a
    column by several limits each gets those rows alone that a filter with a wider one has left.

    All plans are entered before the first stretch; `begin` is called before each.
    """

    def __init__(self) -> None:
        self._meanings = Meanings()
        self._users: Counter[str] = Counter()
        self._said: dict[str, Batch] = {}
        self._families: dict[tuple[str, int, bool], _Family] = {}

    def enter(self, plan: Plan) -> Sharing:
        """A plan that goes over the history, too."""
        meaning = self._meanings.of(plan)
        self._users.update({*meaning.values()})
        limits: dict[str, tuple[_Family, float]] = {}
        for step in plan.steps:
            limit = None if step.loop is not None or step.inputs[0].kind != "step" else limit_of(step.shape)
            if limit is not None:
                key = meaning[step.inputs[0].name], limit.column, limit.is_least
                family = self._families.setdefault(key, _Family(limit.column, limit.is_least))
                family.add(limit.number)
                limits[step.id] = family, limit.number
        return Sharing(self, meaning, limits)

    def begin(self) -> None:
        """The next stretch has come."""
        self._said.clear()
        for family in self._families.values():
            family.clear()

    def said(self, meaning: str) -> Batch | None:
        """What the steps that mean this say of the stretch, if one of them has gone through it."""
        return self._said.get(meaning)

    def say(self, meaning: str, batch: Batch) -> None:
        """A step says this of the stretch."""
        if self._users[meaning] > 1:
            self._said[meaning] = batch


class Sharing:
    """What one of the plans shares with the others."""

    __slots__ = ("_limits", "_meaning", "_shared")

    def __init__(self, shared: Shared, meaning: Mapping[str, str], limits: Mapping[str, tuple[_Family, float]]) -> None:
        self._shared = shared
        self._meaning = meaning
        self._limits = limits

    def said(self, step: Step) -> Batch | None:
        """What a step says of the stretch, if one that means the same has gone through it."""
        return self._shared.said(self._meaning[step.id])

    def say(self, step: Step, batch: Batch) -> None:
        """A step says this of the stretch."""
        self._shared.say(self._meaning[step.id], batch)

    def needed(self, step: Step, batch: Batch) -> Batch:
        """What a step may need of its input: a filter gets no rows that one with a wider limit has left out."""
        if step.id not in self._limits:
            return batch
        family, number = self._limits[step.id]
        return family.needed(batch, number)


class _Family:
    """The filters of one input by limits of one column.

    Kept of a stretch are the rows within the widest limit, and of the limit that came last.
    """

    def __init__(self, column: int, is_least: bool) -> None:
        self._column = column
        self._sign = 1.0 if is_least else -1.0
        self._limits: set[float] = set()
        self._widest = 0.0
        self._source: Batch | None = None
        self._within: list[tuple[float, Batch]] = []

    def add(self, number: float) -> None:
        """One of the filters has this limit."""
        self._limits.add(number * self._sign)
        self._widest = min(self._limits)

    def clear(self) -> None:
        """Forget the rows of the stretch."""
        self._source, self._within = None, []

    def needed(self, batch: Batch, number: float) -> Batch:
        """The rows of a batch that may be within a limit."""
        if len(self._limits) < 2 or len(batch) < _FEWEST_ROWS or not is_number(batch.columns[self._column]):
            return batch
        if self._source is not batch:
            self._source = batch
            self._within = [(self._widest, self._left(batch, self._widest))]
        limit = number * self._sign
        wider, rows = self._within[-1]
        if wider > limit:
            _, rows = self._within[0]
        left = self._left(rows, limit)
        if left is not rows:
            self._within[1:] = [(limit, left)]
        return left

    def _left(self, batch: Batch, limit: float) -> Batch:
        """The rows within a limit, where these are much fewer than all."""
        column = batch.columns[self._column]
        there: Array = column >= limit if self._sign > 0 else column <= -limit
        return batch.take(there) if np.count_nonzero(there) <= _MUCH * len(batch) else batch


def limit_of(shape: Shape) -> Limit | None:
    """The limit by which a step leaves out rows of its input, before anything is computed of them; None if there is none."""
    if not isinstance(shape, JoinShape) or len(shape.atoms) != 1:
        return None
    terms = [term.name if isinstance(term, Variable) else None for term in shape.atoms[0]]
    for comparison in shape.comparisons:
        if isinstance(comparison.left, Arithmetic) or isinstance(comparison.right, Arithmetic):
            return None  # it is counted for how many rows that has no result
        for name, operator, value in _sides(comparison):
            if name in terms and abs(value) < EXACT_FLOAT:
                return Limit(terms.index(name), operator in (">", ">="), float(value))
    return None


def _sides(comparison: Comparison) -> Iterable[tuple[str, str, float]]:
    """A comparison of a variable with a number, as such."""
    match comparison:
        case Comparison(operator, Variable(name), Constant(value)) if operator in _MIRRORED:
            return _numeric(name, operator, value)
        case Comparison(operator, Constant(value), Variable(name)) if operator in _MIRRORED:
            return _numeric(name, _MIRRORED[operator], value)
        case _:
            return ()


def _numeric(name: str, operator: str, value: Value) -> Iterable[tuple[str, str, float]]:
    return () if isinstance(value, str) else ((name, operator, value),)
