"""Facts as CSV (RFC 4180): a header that names the fields, and one fact a row.

A quoted field may hold commas, quotes and line ends. `framer.py` beside this module finds the rows, and the standard
library's reader takes them apart. Where no row of a batch has quotes, all are read at once, column by column, and one by one
where that does not succeed: then each is told what is wrong with it.
"""

from __future__ import annotations

import copy
import csv
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import repeat
from operator import gt

from tidelog.connectors.formats.cache import BoundedCache, key_length
from tidelog.connectors.formats.csv.framer import CsvFramer
from tidelog.connectors.formats.decoding import FEW, Admission, Collector
from tidelog.connectors.formats.endings import predicate_of_path
from tidelog.connectors.formats.numbers import WholeTimes, read_numbers
from tidelog.connectors.formats.values import read_argument
from tidelog.plans.data.dialect import OURS, Dialect
from tidelog.plans.data.facts import TYPE_TESTS, Record, Row, Schema, as_text
from tidelog.plans.data.foreign_times import make_reader
from tidelog.plans.data.header import Columns, read_columns
from tidelog.plans.data.row_code import row_maker
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.numerals import shorten
from tidelog.plans.tree.syntax import FieldType, Interval, Value
from tidelog.runtime.ports.interfaces import Batch

_SPACES = " \t"
"""What does not count around a value, outside quotes."""
_BOOLEANS: dict[str, Value] = {"true": "true", "false": "false", "1": "true", "0": "false"}
"""What is written for a boolean, in small letters: pandas and Python write `True`, Excel `TRUE`, databases `1`."""
TAB = b"\t"
_SWAPPED = str.maketrans(",.", ".,")


class CsvDecoder:
    """Reads CSV rows as facts of one predicate: the one told, else the one that the file is named after.

    The columns are the predicate's fields (in any order where it declares them, else in the order of its arguments),
    and `time`, or `from` and `to`: the closed interval between them. With `timeless` there is no time column. Spaces
    around values do not count. In a column of type boolean, `True`, `TRUE` and `1` are `true`. A `dialect` says what differs
    in files that others wrote. `decode` raises DataError where the header is wrong.
    """

    def __init__(
        self,
        schema: Schema,
        name: str,
        predicate: str | None = None,
        *,
        timeless: bool = False,
        dialect: Dialect = OURS,
    ) -> None:
        self.name = name
        self.dialect = dialect
        self._schema = schema
        self._predicate = predicate or predicate_of_path(name)
        self._timeless = timeless
        self._admission = Admission(schema)
        self._reader = make_reader(schema.timeline, dialect)
        self._whole = None if dialect.times_differ else WholeTimes(self._reader)
        self._points: BoundedCache[str, int] = BoundedCache(self._reader.read_point, key_length)
        self._has_comma = dialect.decimal == ","
        self._values: BoundedCache[str, Value] = BoundedCache(_value_with_comma if self._has_comma else _value, key_length)
        known = schema.predicates.get(self._predicate)
        self._make = row_maker(known) if known is not None and known.accepts_input else None
        self._booleans = [i for i, kind in enumerate(known.types) if kind == "boolean"] if known is not None else []
        self._types = known.types if known is not None else ()
        self._columns: Columns | None = None
        self.header: bytes | None = None

    @property
    def framer(self) -> Callable[[str, int], CsvFramer]:
        """What cuts bytes into rows."""
        return partial(CsvFramer, separator=self.dialect.separator)

    @property
    def predicate(self) -> str:
        """Of which predicate its rows are."""
        return self._predicate

    @property
    def columns(self) -> Columns | None:
        """What the header says, once it has been read."""
        return self._columns

    def type_of(self, place: int) -> FieldType:
        """The declared type of an argument."""
        return self._types[place] if self._types else "any"

    def for_stream(self, name: str) -> CsvDecoder:
        twin = copy.copy(self)
        twin.name = name
        twin._columns = twin.header = None
        return twin

    def decode(self, lines: Sequence[bytes], first_line: int) -> Batch:
        collector = Collector(self.name, first_line)
        begin = 0
        while self._columns is None and begin < len(lines):
            self._decode_line(lines[begin], collector)
            begin += 1
        rows = lines[begin:] if begin else lines
        records = self._read_plain(rows, self._columns) if self._columns is not None and len(rows) >= FEW else None
        if records is not None:
            collector.records += records
        else:
            for line in rows:
                self._decode_line(line, collector)
        return collector.batch()

    # --- a batch at once ------------------------------------------------------------------------------------------------

    def _read_plain(self, lines: Sequence[bytes], columns: Columns) -> list[Record] | None:
        """Rows without quotes, column by column; None where one of them has to be looked at by itself."""
        try:
            text = b"\n".join(lines).decode()
            if '"' in text or "\r" in text or columns.count == 1:  # of one column a row may be blank
                return None
            table = list(zip(*[line.split(self.dialect.separator) for line in text.split("\n")], strict=True))
            if len(table) != columns.count:
                return None
            if " " in text or "\t" in text:
                table = [tuple([cell.strip(_SPACES) for cell in column]) for column in table]
            begins, ends = self._ranges_of(table, columns)
            rows = self._rows_of(table, columns)
        except (DataError, ValueError):
            return None
        return list(zip(repeat(self._predicate, len(lines)), rows, begins, ends, strict=True))

    def _rows_of(self, table: list[tuple[str, ...]], columns: Columns) -> list[Row]:
        """The rows of arguments; DataError where one has none."""
        read = self._values.__getitem__
        cells = [table[column] for column, _ in columns.arguments]
        values: list[Sequence[Value]] = [
            column if is_text else (not self._has_comma and read_numbers(column)) or list(map(read, column))
            for column, (_, is_text) in zip(cells, columns.arguments, strict=True)
        ]
        for place in self._booleans:
            values[place] = [_BOOLEANS.get(cell.lower(), cell) for cell in cells[place]]
        given = list(zip(*values, strict=True)) if values else [()] * len(table[0])
        rows = list(map(self._make, given)) if self._make is not None else [None] * len(given)
        return [self._row([column[i] for column in table], columns) if row is None else row for i, row in enumerate(rows)]

    def _ranges_of(self, table: list[tuple[str, ...]], columns: Columns) -> tuple[Sequence[int], Sequence[int]]:
        """The begins and the ends; DataError where one has to be looked at by itself."""
        if columns.bounds is not None:
            begins, ends = (self._points_of(table[column]) for column in columns.bounds)
            if any(map(gt, begins, ends)):
                raise DataError("a range is empty")
            return begins, ends
        if columns.time is None:
            return [NEG] * len(table[0]), [POS] * len(table[0])
        points = self._points_of(table[columns.time])
        return points, points

    def _points_of(self, cells: Sequence[str]) -> list[int]:
        found = self._whole.read(",".join(cells).encode(), len(cells)) if self._whole is not None else None
        return found or list(map(self._points.__getitem__, cells))

    # --- a cell ---------------------------------------------------------------------------------------------------------

    def argument_of(self, place: int, cell: str) -> Value:
        """What a cell, without spaces around it, says as an argument; DataError where a row with it is refused."""
        kind = self.type_of(place)
        value = cell if kind == "text" else self._values[cell]
        if kind == "boolean":
            value = _BOOLEANS.get(str(value).lower(), value)
        if not TYPE_TESTS[kind](value):
            raise DataError(f"`{shorten(cell)}` is not of its declared type")
        return value

    def point_of(self, cell: str) -> int:
        """The point that a cell, without spaces around it, says as a finite time; DataError for any other."""
        return self._points[cell]

    # --- a row ----------------------------------------------------------------------------------------------------------

    def _decode_line(self, line: bytes, collector: Collector) -> None:
        if not line.strip():
            collector.skip()
        elif self._columns is None:
            self._columns = self._read_header(line, collector.place)
            self.header = line
            collector.skip()
        else:
            try:
                collector.records.append(self._read_row(line, self._columns))
            except DataError as error:
                collector.reject(error.reason, line)

    def _read_row(self, line: bytes, columns: Columns) -> Record:
        cells = split_row(line, self.dialect.separator)
        if len(cells) != columns.count:
            raise DataError(f"expected {columns.count} columns, got {len(cells)}")
        return self._predicate, self._row(cells, columns), *self._range(cells, columns)

    def _row(self, cells: Sequence[str], columns: Columns) -> Row:
        """The arguments among these cells."""
        read = self._values
        values = tuple([cells[column] if text else read[cells[column]] for column, text in columns.arguments])
        if self._booleans:
            values = self._with_booleans(values)
        return self._admission.canonical_row(self._predicate, values)

    def _with_booleans(self, values: Row) -> Row:
        """The row with the constants that stand for what is written in columns of type boolean."""
        row = list(values)
        for place in self._booleans:
            row[place] = _BOOLEANS.get(str(row[place]).lower(), row[place])
        return tuple(row)

    def _range(self, cells: list[str], columns: Columns) -> tuple[int, int]:
        if columns.time is not None:
            point = self._points[cells[columns.time]]
            return point, point
        if columns.bounds is None:
            return NEG, POS
        low, high = cells[columns.bounds[0]], cells[columns.bounds[1]]
        if "inf" in low.lower() or "inf" in high.lower():
            return self._reader.read_ends(low, high)
        lo, hi = self._points[low], self._points[high]
        if lo > hi:
            interval = Interval(self._schema.timeline.decode_point(lo), self._schema.timeline.decode_point(hi))
            return self._schema.timeline.encode_interval(interval)
        return lo, hi

    def _read_header(self, line: bytes, place: str) -> Columns:
        try:
            header = split_row(line, self.dialect.separator)
            return read_columns(self._schema, self._predicate, header, timeless=self._timeless, dialect=self.dialect)
        except DataError as error:
            raise DataError(error.reason + self._other_separator(line), place) from None

    def _other_separator(self, header: bytes) -> str:
        """A hint where the header probably has another separator."""
        found = next((sign for sign in (b";", b"\t") if sign in header), b"")
        if not found or self.dialect.separator.encode() in header:
            return ""
        return f"; `sep={'tab' if found == TAB else ';'}` divides it into columns"


def _value(cell: str) -> Value:
    number = read_argument(cell)
    return cell if number is None else number


def _value_with_comma(cell: str) -> Value:
    """The same where a comma stands before decimals, and so a point does not."""
    number = read_argument(cell.translate(_SWAPPED))
    return cell if number is None else number


@lru_cache(maxsize=8)
def _cell(separator: str) -> re.Pattern[str]:
    """A cell of a row that is strict CSV; behind the last one it finds an empty one, too."""
    border = re.escape(separator)
    return re.compile(rf' *("(?:[^"]|"")*"|[^{border}]*)(?:{border}|\Z)')


def split_row(line: bytes, separator: str = ",") -> list[str]:
    """The cells of one CSV row, without the spaces around them, outside quotes; DataError if it is not strict CSV."""
    text = as_text(line)
    if '"' not in text and "\r" not in text:
        return [cell.strip(_SPACES) for cell in text.split(separator)]
    try:
        cells = next(csv.reader((text,), strict=True, skipinitialspace=True, delimiter=separator))
    except csv.Error as error:
        reason = "a carriage return stands outside quotes" if "new-line" in str(error) else str(error)
        raise DataError(f"not valid CSV: {reason}") from None
    quoted = (match[1].startswith('"') for match in _cell(separator).finditer(text))
    return [cell if is_quoted else cell.strip(_SPACES) for cell, is_quoted in zip(cells, quoted, strict=False)]
