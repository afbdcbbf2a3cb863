"""Wide CSV, with a column for each sensor: `?melt=sensor,value` makes a fact of each of a row's cells there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidelog.connectors.formats.csv.decoder import CsvDecoder, split_row
from tidelog.connectors.formats.decoding import Places
from tidelog.connectors.formats.lines import RAW_LIMIT
from tidelog.plans.data.dialect import Dialect
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.data.header import Columns, read_columns
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.ports.interfaces import Batch, Rejected

_KEY, _VALUE = "\0key", "\0value"
"""What the columns are called that each cell of a sensor has, behind those of the file."""


class PlacesOfCells(Places):
    """The places of facts of which a line may have several."""

    __slots__ = ("_lines",)

    def __init__(self, name: str, lines: list[int]) -> None:
        super().__init__(name, 1, [], len(lines))
        self._lines = lines

    def _line(self, index: int) -> int:
        return self._lines[index]

    def lines(self) -> Sequence[int]:
        """The number of the line of each fact."""
        return self._lines


class WideCsvDecoder(CsvDecoder):
    """Reads rows with a cell for each sensor: as many facts as cells that are not empty.

    The columns of the time and of other fields are those of the dialect; each further column is a sensor, whose name is one
    argument, and whose cell another. A cell that is no argument costs no other cell.
    """

    def __init__(self, schema: Schema, name: str, predicate: str | None, dialect: Dialect, melt: tuple[str, str]) -> None:
        key, value = melt
        narrow = replace(dialect, columns=(*dialect.columns, (key, _KEY), (value, _VALUE)), ignores=True)
        super().__init__(schema, name, predicate, dialect=narrow)
        self._sensors: list[tuple[int, str]] = []

    def decode(self, lines: Sequence[bytes], first_line: int) -> Batch:
        records: list[Record] = []
        rejected: list[Rejected] = []
        numbers: list[int] = []
        for number, line in enumerate(lines, first_line):
            if not line.strip():
                continue
            if self._columns is None:
                self._columns = self._read_header(line, f"{self.name}:{number}")
                self.header = line
                continue
            found, reasons = self._cells_of(line, self._columns)
            records += found
            numbers += [number] * len(found)
            rejected += [Rejected(f"{self.name}:{number}", reason, line[:RAW_LIMIT]) for reason in reasons]
        return Batch(records, rejected, places=PlacesOfCells(self.name, numbers))

    def _cells_of(self, line: bytes, columns: Columns) -> tuple[list[Record], list[str]]:
        """The facts of a row, and why cells are none."""
        try:
            cells = split_row(line, self.dialect.separator)
            if len(cells) != columns.count:
                raise DataError(f"expected {columns.count} columns, got {len(cells)}")
            lo, hi = self._range(cells, columns)
        except DataError as error:
            return [], [error.reason]
        records: list[Record] = []
        reasons: list[str] = []
        for place, name in self._sensors:
            if cells[place]:
                try:
                    records.append((self._predicate, self._row([*cells, name, cells[place]], columns), lo, hi))
                except DataError as error:
                    reasons.append(f"column `{name}`: {error.reason}")
        return records, reasons

    def _read_header(self, line: bytes, place: str) -> Columns:
        try:
            header = split_row(line, self.dialect.separator)
            found = read_columns(self._schema, self._predicate, [*header, _KEY, _VALUE], dialect=self.dialect)
            taken = {found.time, *(found.bounds or ()), *(column for column, _ in found.arguments)}
            self._sensors = [(i, name) for i, name in enumerate(header) if name and i not in taken]
            for _, name in self._sensors:
                if header.count(name) > 1:
                    raise DataError(f"column `{name}` stands twice in the header")
            if not self._sensors:
                raise DataError("the header has no columns beside the time and the other fields, which `melt` could read")
        except DataError as error:
            raise DataError(error.reason + self._other_separator(line), place) from None
        return replace(found, count=len(header))
