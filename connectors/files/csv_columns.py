"""Rows of CSV as columns: many lines at once, where all of them say plainly what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tidelog.connectors.formats.csv.decoder import CsvDecoder
from tidelog.plans.data.dialect import Dialect
from tidelog.plans.data.facts import Schema
from tidelog.plans.data.foreign_times import PARTS
from tidelog.plans.data.header import Columns
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.frames.cells import (
    cells_of,
    decimals_of,
    floats_of,
    microseconds_of,
    plain_lines,
    whole_of,
    with_points,
    words_of,
)
from tidelog.runtime.frames.columns import Array, Batch, Pool, np
from tidelog.runtime.frames.time_columns import PointColumn
from tidelog.runtime.frames.times import PointReader

_NUMBERS = ("number", "integer")
_Numbers = Callable[[Any], Array | None]


class CsvColumns:
    """Reads what a decoder reads, once that has read the header, as columns."""

    def __init__(self, decoder: CsvDecoder, schema: Schema, pool: Pool, max_line: int) -> None:
        self._decoder, self._pool, self._max_line = decoder, pool, max_line
        self.predicate = decoder.predicate
        points = PointColumn(PointReader(schema.timeline, "time", "integer"))
        self._separator = decoder.dialect.separator
        self._has_comma = decoder.dialect.decimal == ","
        self._readers = _time_readers(points, decoder.dialect)
        self._is_admitted = _is_admitted(schema, decoder.predicate)

    @property
    def knows_columns(self) -> bool:
        """Whether the header has been read."""
        return self._decoder.columns is not None

    def read(self, text: bytes) -> Batch | None:
        """The facts of whole lines, each with its newline, one a line; None where one of them has to be looked at by itself.

        That is so where one holds no fact, too.
        """
        columns = self._decoder.columns
        lines = plain_lines(text, self._max_line, self._separator)
        if columns is None or columns.count == 1 or not self._is_admitted or lines is None:
            return None  # of one column a row may be blank
        cells = cells_of(lines, columns.count, self._separator)
        return None if cells is None else self._facts(cells, columns)

    def _facts(self, cells: list[object], columns: Columns) -> Batch | None:
        bounds = columns.bounds or (columns.time or 0,)
        points = [self._times(cells[place]) for place in bounds]
        lo, hi = points[0], points[-1]
        if lo is None or hi is None or (lo > hi).any():
            return None
        found: dict[int, Array] = {}
        for place in self._order(columns):
            column = self._argument(place, cells[columns.arguments[place][0]])
            if column is None:
                return None
            found[place] = column
        return Batch(tuple(found[place] for place in range(len(found))), lo, hi)

    def _order(self, columns: Columns) -> list[int]:
        """The places of arguments: first those that show at little cost that lines are not plain."""
        return sorted(range(len(columns.arguments)), key=lambda place: self._decoder.type_of(place) not in _NUMBERS)

    def _argument(self, place: int, cells: object) -> Array | None:
        kind = self._decoder.type_of(place)
        if kind == "text":
            return _by_words(cells, self._pool.codes)
        pointed = with_points(cells) if self._has_comma else cells
        numbers = None if kind == "boolean" or pointed is None else floats_of(pointed)
        if kind == "integer" and numbers is not None and (numbers != np.floor(numbers)).any():
            return None
        if numbers is not None or kind in _NUMBERS:
            return numbers
        return _by_words(cells, lambda words: self._pool.column([self._decoder.argument_of(place, word) for word in words]))

    def _times(self, cells: object) -> Array | None:
        for numbers_of, points_of in self._readers:
            numbers = numbers_of(cells)
            points = None if numbers is None else points_of(numbers)
            if points is not None:
                return points
        return _by_words(cells, lambda words: np.array(list(map(self._decoder.point_of, words)), np.int64))


def _time_readers(points: PointColumn, dialect: Dialect) -> Sequence[tuple[_Numbers, _Numbers]]:
    """What reads columns of plain times: the numbers in them, and the points of these."""
    if dialect.epoch is not None:
        return ((whole_of, partial(points.of_parts, parts=PARTS[dialect.epoch])),)
    if dialect.times_differ:
        return ()
    return (
        (whole_of, points.of_whole),
        (decimals_of, points.of_decimals),
        (microseconds_of, points.of_microseconds),
    )


def _by_words(cells: object, column: Callable[[list[str]], Array]) -> Array | None:
    """A column of what each of the different texts among cells says; None where one says nothing."""
    words, places = words_of(cells)
    try:
        return column(words)[places]
    except DataError:
        return None


def _is_admitted(schema: Schema, predicate: str) -> bool:
    try:
        schema.admit(predicate)
    except DataError:
        return False
    return True
