"""Rows of CSV as columns: many lines at once, where all of them say plainly what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tidelog.connectors.formats.csv.decoder import CsvDecoder
from tidelog.plans.data.facts import Schema
from tidelog.plans.data.header import Columns
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.frames.cells import cells_of, floats_of, plain_lines, whole_of, words_of
from tidelog.runtime.frames.columns import Array, Batch, Pool, np
from tidelog.runtime.frames.time_columns import PointColumn
from tidelog.runtime.frames.times import PointReader

T = TypeVar("T")


class CsvColumns:
    """Reads what a decoder reads, once that has read the header, as columns."""

    def __init__(self, decoder: CsvDecoder, schema: Schema, pool: Pool, max_line: int) -> None:
        self._decoder, self._pool, self._max_line = decoder, pool, max_line
        self.predicate = decoder.predicate
        self._points = PointColumn(PointReader(schema.timeline, "time", "integer"))
        self._is_admitted = _is_admitted(schema, decoder.predicate)

    def read(self, text: bytes) -> Batch | None:
        """The facts of whole lines, each with its newline, one a line; None where one of them has to be looked at by itself.

        That is so where one holds no fact, too.
        """
        columns = self._decoder.columns
        lines = plain_lines(text, self._max_line)
        if columns is None or columns.count == 1 or not self._is_admitted or lines is None:
            return None  # of one column a row may be blank
        cells = cells_of(lines, columns.count)
        return None if cells is None else self._facts(cells, columns)

    def _facts(self, cells: list[object], columns: Columns) -> Batch | None:
        bounds = columns.bounds or (columns.time or 0,)
        points = [self._times(cells[place]) for place in bounds]
        lo, hi = points[0], points[-1]
        if lo is None or hi is None or (lo > hi).any():
            return None
        values = [self._argument(place, cells[column]) for place, (column, _) in enumerate(columns.arguments)]
        found = [column for column in values if column is not None]
        return Batch(tuple(found), lo, hi) if len(found) == len(values) else None

    def _argument(self, place: int, cells: object) -> Array | None:
        kind = self._decoder.type_of(place)
        numbers = floats_of(cells) if kind in ("any", "number", "integer") else None
        if kind in ("number", "integer"):
            is_fine = numbers is not None and (kind == "number" or bool((numbers == np.floor(numbers)).all()))
            return numbers if is_fine else None
        if numbers is not None:
            return numbers
        return _by_words(cells, lambda cell: self._decoder.argument_of(place, cell), self._pool.column)

    def _times(self, cells: object) -> Array | None:
        whole = whole_of(cells)
        points = None if whole is None else self._points.whole(whole)
        if points is not None:
            return points
        return _by_words(cells, self._decoder.point_of, lambda found: np.array(found, np.int64))


def _by_words(cells: object, read: Callable[[str], T], column: Callable[[list[T]], Array]) -> Array | None:
    """A column of what each of the different texts among cells says; None where one says nothing."""
    found = words_of(cells)
    if found is None:
        return None
    words, places = found
    try:
        return column(list(map(read, words)))[places]
    except DataError:
        return None


def _is_admitted(schema: Schema, predicate: str) -> bool:
    try:
        schema.admit(predicate)
    except DataError:
        return False
    return True
