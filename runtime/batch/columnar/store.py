"""What holds of a predicate, in columns: in place of a `Coverage`, as long as rounds go so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from tidelog.operators.columns.arrays import Array, np
from tidelog.operators.columns.batch import Batch
from tidelog.operators.columns.pool import Pool
from tidelog.operators.columns.rounds.numbered import Numbered, Table
from tidelog.operators.stores.coverage import Bounds
from tidelog.plans.data.facts import Fact, Row, format_constant, format_predicate


class ColumnStore:
    """Coverage in columns, whose rows are listed when they are asked for."""

    __slots__ = ("_rows", "known")

    def __init__(self, rows: dict[Row, Bounds], pool: Pool) -> None:
        self.known = Numbered(Table(pool))
        self._rows: dict[Row, Bounds] | None = None
        if rows:
            self.known.table.begin(list(rows))
            self.known.held = _held(rows.values())

    @property
    def rows(self) -> dict[Row, Bounds]:
        """When each row holds, as it is in a `Coverage`."""
        if self._rows is None:
            self._rows = _listed(self.known)
        return self._rows

    def bounds(self, row: Row) -> Bounds:
        """When a row holds."""
        number = self.known.table.find(row)
        if number is None:
            return []
        held = self.known.of_rows(np.array([number]))
        bounds: Bounds = _flat(held).tolist()
        return bounds

    def add(self, found: Batch) -> Batch:
        """Add a numbered batch; returns what of it is new."""
        self._rows = None
        return self.known.add(found)

    def insert(self, facts: Iterable[Fact]) -> list[Fact]:
        """Add coverage and return what of it is new."""
        return list(ColumnFacts(self.known.table, self.add(numbered(self.known.table, list(facts)))))

    def atoms(self, predicate: str) -> Iterator[tuple[str, int, int]]:
        """Its facts, with the rows as atoms of a predicate, as text; each value is written once."""
        held, table = self.known.held, self.known.table
        texts = [_written(column, table.pool)[held.columns[0]].tolist() for column in table.columns]
        name = format_predicate(predicate)
        rows = map(",".join, zip(*texts, strict=True))
        atoms = (f"{name}({row})" for row in rows) if texts else [name] * len(held)
        return zip(atoms, held.lo.tolist(), held.hi.tolist(), strict=True)

    def times(self) -> Iterable[int]:
        """All times at which a range begins or ends."""
        times: list[int] = np.unique(np.concatenate([self.known.held.lo, self.known.held.hi])).tolist()
        return times

    def entries(self) -> int:
        """How many ranges are stored."""
        return len(self.known.held)


class ColumnFacts(Sequence[Fact]):
    """Facts in columns, that are made one by one when they are looked at."""

    __slots__ = ("batch", "table")

    def __init__(self, table: Table, batch: Batch) -> None:
        self.table = table
        self.batch = batch

    def __len__(self) -> int:
        return len(self.batch)

    def __iter__(self) -> Iterator[Fact]:
        rows = self.table.rows(self.batch.columns[0])
        return zip(rows, self.batch.lo.tolist(), self.batch.hi.tolist(), strict=True)

    @overload
    def __getitem__(self, place: int) -> Fact: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Fact]: ...
    def __getitem__(self, place: int | slice) -> Fact | Sequence[Fact]:
        return list(self)[place]


def numbered(table: Table, facts: Sequence[Fact]) -> Batch:
    """Facts as a numbered batch."""
    if not facts:
        none = np.empty(0, np.int64)
        return Batch((none,), none, none, is_tidy=True)
    rows, lo, hi = zip(*facts, strict=True)
    columns = [table.pool.column(values) for values in zip(*rows, strict=True)]
    return Batch((table.numbers(columns, len(rows)),), np.array(lo, np.int64), np.array(hi, np.int64))


def _written(column: Array, pool: Pool) -> Array:
    """The text of each value of a column."""
    found, places = np.unique(column, return_inverse=True)
    return np.array([format_constant(value) for value in pool.listed(found)], object)[places]


def _held(every: Iterable[Bounds]) -> Batch:
    """The coverage of rows that are numbered as they come."""
    counts, times = [], []
    for bounds in every:
        counts.append(len(bounds) >> 1)
        times += bounds
    flat = np.array(times, np.int64)
    return Batch((np.repeat(np.arange(len(counts)), counts),), flat[::2].copy(), flat[1::2].copy(), is_tidy=True)


def _flat(held: Batch) -> Array:
    flat = np.empty(2 * len(held), np.int64)
    flat[::2], flat[1::2] = held.lo, held.hi
    return flat


def _listed(known: Numbered) -> dict[Row, Bounds]:
    held = known.held
    if not len(held):
        return {}
    numbers = held.columns[0]
    first = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    ends = np.append(first[1:], len(held))
    flat = _flat(held).tolist()
    each = zip((2 * first).tolist(), (2 * ends).tolist(), strict=True)
    bounds = (flat[begin:end] for begin, end in each)
    return dict(zip(known.table.rows(numbers[first]), bounds, strict=True))
