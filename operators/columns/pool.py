"""Constants as codes: one number for each value that stands in a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sys import getsizeof

from tidelog.operators.columns.arrays import Array, is_number, np
from tidelog.operators.stores.room import Room
from tidelog.plans.tree.numerals import EXACT_FLOAT, MAX_INTEGER
from tidelog.plans.tree.syntax import Value

_ENTRY = 120
"""So many bytes a value takes in a list and a dictionary, besides its own."""


class Pool:
    """The values that columns of one run hold, and their codes.

    A column of numbers has no codes: it holds the numbers, as long as all of them are exact as floats (whole numbers below
    2⁵³ are). Any other column, of texts or mixed, holds codes. `values` never shrinks. `room` says how many pairs of rows a
    call of a kernel may find: all that computes with a run's columns has its pool.
    """

    __slots__ = ("_codes", "_size", "_weighed", "room", "values")

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.room = Room()
        self._codes: dict[Value, int] = {}
        self._size = self._weighed = 0

    def size(self) -> int:
        """How many bytes the values take, about."""
        fresh = self.values[self._weighed :]
        self._weighed = len(self.values)
        self._size += sum(map(getsizeof, fresh)) + len(fresh) * _ENTRY
        return self._size

    def code(self, value: Value) -> int:
        """The code of a value."""
        found = self._codes.get(value)
        if found is None:
            found = self._codes[value] = len(self.values)
            self.values.append(value)
        return found

    def codes(self, values: Iterable[Value]) -> Array:
        """The codes of values, one after another."""
        known, code = self._codes, self.code
        found = [known[value] if value in known else code(value) for value in values]
        return np.array(found, np.int32)

    def column(self, values: Sequence[Value]) -> Array:
        """A column of these values: of numbers where all are, and exact."""
        kinds = set(map(type, values))
        if values and kinds <= {int, float}:
            numbers = np.array(values, np.float64)
            if int not in kinds or abs(numbers).max() < EXACT_FLOAT:
                return numbers + 0.0
        return self.codes(values)

    def coded(self, column: Array) -> Array:
        """A column as codes, whatever it holds."""
        if not is_number(column):
            return column
        found, places = np.unique(column, return_inverse=True)
        return self.codes(map(_number, found.tolist()))[places]

    def listed(self, column: Array) -> list[Value]:
        """The values of a column."""
        if is_number(column):
            numbers = column.tolist()
            whole = (column == np.floor(column)) & (abs(column) < EXACT_FLOAT)
            if whole.all():
                return list(map(int, numbers))
            return list(map(_number, numbers)) if whole.any() else numbers
        values = self.values
        return [values[code] for code in column.tolist()]

    def constant(self, value: Value, size: int) -> Array:
        """A column that holds one value, so often."""
        if isinstance(value, str) or abs(value) >= EXACT_FLOAT:
            return np.full(size, self.code(value), np.int32)
        return np.full(size, value, np.float64)

    def alike(self, columns: Sequence[Array]) -> list[Array]:
        """Columns of one kind: all of numbers, or all of codes. Empty ones may be of either."""
        kinds = {is_number(column) for column in columns if len(column)}
        if kinds == {True, False}:
            return [self.coded(column) for column in columns]
        wanted = np.float64 if kinds == {True} else np.int32
        return [column if len(column) else column.astype(wanted) for column in columns]


def _number(number: float) -> Value:
    return int(number) if number.is_integer() and abs(number) < MAX_INTEGER else number
