"""Rows of Arrow tables as columns of facts: no object a row where a column can be read as a whole.

What a column means is what `reading.py` beside this module makes of it. A column that is not plain is read there, and then
made an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.operators.columns.arrays import Array, is_number, np, radix_order, stable_order
from tidelog.operators.columns.batch import Batch, batch_of, empty, joined
from tidelog.operators.columns.packs import packed, unpacked
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Row, Schema
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.frames.arrow import pa
from tidelog.runtime.frames.layout import OPEN_COLUMNS, Layout
from tidelog.runtime.frames.reading import RowPlaces, TableReader, refuse_nulls, row_place
from tidelog.runtime.frames.time_columns import PointColumn
from tidelog.runtime.frames.value_columns import ValueColumn, without_nulls
from tidelog.runtime.frames.values import Problems, nulls
from tidelog.runtime.ports.interfaces import Rejected

__all__ = [
    "Array",
    "Batch",
    "ColumnBatch",
    "ColumnReader",
    "Pool",
    "batch_of",
    "empty",
    "is_number",
    "joined",
    "np",
    "numbered",
    "packed",
    "radix_order",
    "stable_order",
    "texts_of",
    "unpacked",
]


@dataclass(slots=True, eq=False)
class ColumnBatch:
    """Facts of one predicate as columns, in the order of their rows, and what is none.

    `numbers` (int64) says which row, or which line, of what is called `name` each fact comes from.
    """

    predicate: str
    rows: Batch
    numbers: Array
    name: str
    rejected: list[Rejected] = field(default_factory=list)
    counts_lines: bool = False

    def __len__(self) -> int:
        return len(self.numbers)

    def place(self, index: int) -> str:
        """Where a fact was read: `NAME row 17`, or `NAME:17` of a file of lines."""
        number = int(self.numbers[index])
        return f"{self.name}:{number}" if self.counts_lines else row_place(self.name, number)


class ColumnReader(TableReader):
    """Makes columns of rows of one layout: the facts that `FrameReader` makes of them, and the same refusals.

    Texts become codes of the pool.
    """

    def __init__(self, schema: Schema, predicate: str, layout: Layout, pool: Pool) -> None:
        super().__init__(schema, predicate, layout)
        self._pool = pool
        self._value_columns = [ValueColumn(reader, pool) for reader in self._values]
        self._point_columns = [PointColumn(reader) for reader in self._points]

    def read(self, batch: Any, name: str, numbers: Sequence[int] | None) -> ColumnBatch:
        """The facts of a batch of Arrow, or a table, and what is none.

        `numbers` are those of its rows, for their places; without, all of what is none has the place `name`.
        """
        problems: Problems = {}
        arguments, times = self._columns_of(batch)
        values = self._arguments(arguments, problems)
        lo, hi = self._ends_of(times, problems)
        places = [name] * batch.num_rows if numbers is None else RowPlaces(name, numbers)
        rejected = [self._reject(batch, places[i], i, problems[i]) for i in sorted(problems)]
        kept: Array | None = None
        if problems:
            kept = np.ones(batch.num_rows, np.bool_)
            kept[list(problems)] = False
        found = numbered(range(batch.num_rows) if numbers is None else numbers)
        if kept is not None:
            lo, hi, found = lo[kept], hi[kept], found[kept]
        columns = tuple(_column_of(column, kept, self._pool) for column in values)
        return ColumnBatch(self._predicate, Batch(columns, lo, hi), found, name, rejected)

    def _arguments(self, columns: Sequence[Any], problems: Problems) -> list[Array | Sequence[Value]]:
        """The column of each argument, with anything in the rows that have `problems`."""
        if self._layout.values is None:
            return self._turned(self._rows_of_texts(columns[0], problems), problems)
        return [reader.read(column, problems) for reader, column in zip(self._value_columns, columns, strict=True)]

    def _turned(self, rows: list[Row], problems: Problems) -> list[Array | Sequence[Value]]:
        """The columns of rows. Rows of several lengths have none: the predicate is not the program's."""
        widths = {len(row) for i, row in enumerate(rows) if i not in problems}
        if len(widths) != 1:
            return []
        nothing: Row = ("",) * widths.pop()
        return list(zip(*(nothing if i in problems else row for i, row in enumerate(rows)), strict=True))

    def _ends_of(self, columns: Sequence[Any], problems: Problems) -> tuple[Array, Array]:
        """The begins and the ends of the facts."""
        if not self._layout.times:
            begins, ends = self._exact(columns, problems)
            return np.array(begins, np.int64), np.array(ends, np.int64)
        self._refuse_null_times(columns, problems)
        points = [reader.read(column, problems) for reader, column in zip(self._point_columns, columns, strict=False)]
        if len(points) == 1:
            return points[0], points[0]
        lo, hi = self._without_ends(points, columns, problems) if self._layout.tells_open else points
        for i in np.flatnonzero(lo > hi).tolist():
            self._refuse_empty(i, columns, problems)
        return lo, hi

    def _without_ends(self, points: Sequence[Array], columns: Sequence[Any], problems: Problems) -> list[Array]:
        """Begins and ends without what the interval leaves out; a null is no end on its side."""
        found = []
        for side, endless, step in ((0, NEG, 1), (1, POS, -1)):
            times, opens, ends = columns[side], columns[side + 2], points[side]
            refuse_nulls(opens, OPEN_COLUMNS[side], problems)
            ends = ends + np.where(_truths(opens) & (ends != endless), step, 0)
            ends[nulls(times)] = endless
            found.append(ends)
        return found


def texts_of(layout: Layout, table: Any) -> list[str]:
    """The columns of a table (an Arrow schema) that are better read with their words encoded."""
    plain = [
        path[0] for path, kind in zip(layout.paths, layout.values or (), strict=False) if (len(path), kind) == (1, "text")
    ]
    return [name for name in plain if pa.types.is_string(table.field(name).type)]


def _column_of(values: Array | Sequence[Value], kept: Array | None, pool: Pool) -> Array:
    """A column of those values that are kept."""
    if isinstance(values, np.ndarray):
        return values if kept is None else values[kept]
    if kept is not None:
        values = [value for value, is_kept in zip(values, kept.tolist(), strict=True) if is_kept]
    return pool.column(values)


def numbered(numbers: Sequence[int]) -> Array:
    """The numbers of rows as a column."""
    if isinstance(numbers, range):
        return np.arange(numbers.start, numbers.stop, numbers.step, dtype=np.int64)
    return np.asarray(numbers, np.int64)


def _truths(column: Any) -> Array:
    if pa.types.is_boolean(column.type):
        return without_nulls(column)
    return np.array([bool(value) for value in column.to_pylist()], np.bool_)
