"""What an aggregate keeps of a group in one period: facts in any order, and one value at its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tidelog.operators.grouped.counting.extremes import order_of
from tidelog.operators.grouped.counting.quantiles import Quantile
from tidelog.operators.grouped.counting.sums import Count, Deviation, Mean, Sum
from tidelog.operators.grouped.counting.tally import Amount
from tidelog.plans.tree.syntax import AggregateFunction, Value

NUMERIC = frozenset(["sum", "avg", "stddev", "quantile"])
"""The functions that take numbers alone."""


class Account(ABC):
    """The facts of one group in one period, as far as a function needs them."""

    __slots__ = ()

    @abstractmethod
    def add(self, lo: int, hi: int, value: Value | None) -> None:
        """A fact holds at these time points of the period."""

    @abstractmethod
    def value(self) -> Value | None:
        """The value of all that has been added; None if it has none."""

    @abstractmethod
    def state(self) -> list[Any]:
        """All of it as plain data."""

    @abstractmethod
    def load(self, state: list[Any]) -> None:
        """Take over what `state` gave, into an empty one."""


class Flowing(Account):
    """A function that weighs facts by their time points."""

    __slots__ = ("_flow",)

    def __init__(self, flow: Amount) -> None:
        self._flow = flow

    def add(self, lo: int, hi: int, value: Value | None) -> None:
        self._flow.add(value, hi - lo + 1)

    def value(self) -> Value | None:
        return self._flow.value()

    def state(self) -> list[Any]:
        return self._flow.state()

    def load(self, state: list[Any]) -> None:
        self._flow.load(state)


class Different(Account):
    """`distinct(V)`: how many different values there are."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[Value | None, None] = {}

    def add(self, lo: int, hi: int, value: Value | None) -> None:
        self._values[value] = None

    def value(self) -> Value | None:
        return len(self._values) or None

    def state(self) -> list[Any]:
        return list(self._values)

    def load(self, state: list[Any]) -> None:
        self._values = dict.fromkeys(state)


class Best(Account):
    """`min(V)`, `max(V)`, `first(V)`, `last(V)`: one value is kept, the best so far.

    Of `first` that is the least at the earliest time point, of `last` the greatest at the latest.
    """

    __slots__ = ("_function", "_time", "_value")

    def __init__(self, function: AggregateFunction) -> None:
        self._function = function
        self._time = 0
        self._value: Value | None = None

    def add(self, lo: int, hi: int, value: Value | None) -> None:
        time = lo if self._function == "first" else hi
        if self._value is None or self._is_better(time, value):
            self._time, self._value = time, value

    def _is_better(self, time: int, value: Value | None) -> bool:
        new, old = order_of(value), order_of(self._value)
        match self._function:
            case "min":
                return new < old
            case "max":
                return new > old
            case "first":
                return (time, new) < (self._time, old)
            case _:
                return (time, new) > (self._time, old)

    def value(self) -> Value | None:
        return self._value

    def state(self) -> list[Any]:
        return [self._time, self._value]

    def load(self, state: list[Any]) -> None:
        self._time, self._value = state


def maker(function: AggregateFunction, fraction: Fraction | None) -> Callable[[], Account]:
    """What makes an empty account for a function; `fraction` is that of `quantile`."""
    match function:
        case "count":
            return lambda: Flowing(Count())
        case "sum":
            return lambda: Flowing(Sum())
        case "avg":
            return lambda: Flowing(Mean())
        case "stddev":
            return lambda: Flowing(Deviation())
        case "quantile":
            return lambda: Flowing(Quantile(fraction or Fraction(0)))
        case "distinct":
            return Different
        case _:
            return lambda: Best(function)
