"""Columns of arguments as arrays: codes of a pool, or numbers, without an object a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog.operators.columns.arrays import Array, np
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import TYPE_TESTS
from tidelog.plans.tree.numerals import EXACT_FLOAT
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.frames.arrow import pa, plain, values_of
from tidelog.runtime.frames.reading import refuse_nulls
from tidelog.runtime.frames.values import Problems, ValueReader

_WORD = 64


class ValueColumn:
    """Reads the column of one argument as `ValueReader` does."""

    def __init__(self, reader: ValueReader, pool: Pool) -> None:
        self._reader, self._pool = reader, pool

    def read(self, array: Any, problems: Problems) -> Array | Sequence[Value]:
        """The constants of a column, with anything in the rows that have `problems`; as a list where it is not plain."""
        array = plain(array)
        found = self._at_once(array)
        if found is None:
            return self._reader.read(array, problems)
        refuse_nulls(array, self._reader.name, problems)
        return found

    def _at_once(self, array: Any) -> Array | None:
        """The column, with anything in the place of nulls; None where one of its values has to be looked at by itself."""
        if pa.types.is_null(array.type):
            return None
        match self._reader.kind:
            case "text":
                return self._texts(array)
            case "integer":
                return _integers(array)
            case "float":
                return self._floats(array)
            case "boolean":
                return self._pool.codes(("false", "true"))[without_nulls(array).astype(np.int8)]
            case _:
                return None

    def _texts(self, array: Any) -> Array | None:
        if not pa.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        elif len(array.dictionary) > len(array):  # most of its words stand elsewhere
            array = array.dictionary_decode().dictionary_encode()
        words = values_of(array.dictionary)
        if bytes in map(type, words) or not self._are_of_type(words):
            return None
        return self._pool.codes(words or ("",))[without_nulls(array.indices)]

    def _are_of_type(self, words: Sequence[str]) -> bool:
        return not self._reader.is_tested or all(map(TYPE_TESTS[self._reader.type], words))

    def _floats(self, array: Any) -> Array | None:
        numbers = without_nulls(array.cast(pa.float64()))
        if not are_exact(numbers):
            return None
        if self._reader.is_tested and (numbers != np.floor(numbers)).any():
            return None
        return numbers + 0.0


def are_exact(numbers: Array) -> bool:
    """Whether floats are all such that a pool keeps them as they are, and stand for the same number whoever reads them."""
    return not len(numbers) or bool(numbers.min() > -EXACT_FLOAT and numbers.max() < EXACT_FLOAT)


def without_nulls(array: Any) -> Array:
    """An array of numbers or booleans, with 0 or False in the place of nulls."""
    if array.null_count:
        array = array.fill_null(False if pa.types.is_boolean(array.type) else 0)
    found: Array = array.to_numpy(zero_copy_only=False)
    return found


def _integers(array: Any) -> Array | None:
    numbers = without_nulls(array)
    if array.type.bit_width == _WORD and len(numbers) and max(-int(numbers.min()), int(numbers.max())) >= EXACT_FLOAT:
        return None
    return numbers.astype(np.float64)
