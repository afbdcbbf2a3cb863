"""Rows as numbers: each different row is kept once, and coverage says which of them hold, and when.

A *numbered* batch has one column: the places (int64) of its rows in a `Table`. So what moves in time copies no arguments,
and what looks at arguments does so once for each row, however often it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tidelog.operators.columns.arrays import Array, dense, np, ranks, stable_order
from tidelog.operators.columns.axis import Axis, Runs, united, without
from tidelog.operators.columns.batch import Batch
from tidelog.operators.columns.keys import keys_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Row

Rewriting = Callable[[Batch], Batch]
"""From rows, each at a time of its own, to the rows that they become, at the same times; some may become none."""


class Table:
    """Different rows, each with a number: its place in the columns. Rows are added, and none ever goes.

    >>> table = Table(Pool())
    >>> table.numbers([np.array([5.0, 7.0, 5.0])], 3).tolist(), table.numbers([np.array([9.0, 7.0])], 2).tolist()
    ([0, 1, 0], [2, 1])
    """

    __slots__ = ("_size", "columns", "pool")

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.columns: tuple[Array, ...] = ()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def begin(self, rows: Sequence[Row]) -> None:
        """Take the first rows, which are different."""
        self.columns = tuple(self.pool.column(values) for values in zip(*rows, strict=True))
        self._size = len(rows)

    def numbers(self, columns: Sequence[Array], count: int) -> Array:
        """The numbers of so many rows; those that are new get the next ones, in order."""
        known = self._size
        if not count:
            return np.empty(0, np.int64)
        tables, lengths = ([self.columns, columns], [known, count]) if known else ([columns], [count])
        keys, _ = keys_of(tables, lengths, self.pool)
        found, size = dense(np.concatenate(keys))
        numbers: Array = found[known:]
        if size > known:
            first = np.empty(size, np.int64)
            first[numbers[::-1]] = np.arange(count - 1, -1, -1)
            self._add([column[first[known:]] for column in columns], size - known)
        return numbers

    def _add(self, columns: Sequence[Array], count: int) -> None:
        if self._size:
            pairs = zip(self.columns, columns, strict=True)
            self.columns = tuple(np.concatenate(self.pool.alike(pair)) for pair in pairs)
        else:
            self.columns = tuple(columns)
        self._size += count

    def since(self, first: int) -> Batch:
        """The rows from a number on, each at a time that is its number."""
        numbers = np.arange(first, self._size)
        return Batch(tuple(column[first:] for column in self.columns), numbers, numbers)

    def laid(self, numbered: Batch) -> Batch:
        """A numbered batch with its rows' columns in place of their numbers."""
        numbers = numbered.columns[0]
        return Batch(tuple(column[numbers] for column in self.columns), numbered.lo, numbered.hi, numbered.is_tidy)

    def rows(self, numbers: Array) -> Iterable[Row]:
        """The rows of these numbers."""
        if not self.columns:
            return [()] * len(numbers)
        return zip(*(self.pool.listed(column[numbers]) for column in self.columns), strict=True)

    def find(self, row: Row) -> int | None:
        """The number of a row; None where it has none."""
        if not self._size or len(row) != len(self.columns):
            return None
        there = np.ones(self._size, np.bool_)
        for column, value in zip(self.columns, row, strict=True):
            one, other = self.pool.alike([column, self.pool.constant(value, 1)])
            there &= one == other[0]
        return int(there.argmax()) if there.any() else None


class Image:
    """The numbers in one table of what the rows of another become, each asked once; a row without a number becomes none."""

    __slots__ = ("_found", "_is_whole", "_rewrite", "_source", "_target")

    def __init__(self, source: Table, target: Table, rewrite: Rewriting | None = None) -> None:
        self._source = source
        self._target = target
        self._rewrite = rewrite
        self._found = np.empty(0, np.int64)
        self._is_whole = True

    def of(self, numbered: Batch) -> Batch:
        """A numbered batch of the one table as one of the other."""
        if self._source is self._target and self._rewrite is None:
            return numbered
        if len(self._found) < len(self._source):
            self._learn()
        numbers = self._found[numbered.columns[0]]
        if self._is_whole:
            return Batch((numbers,), numbered.lo, numbered.hi)
        there = numbers >= 0
        return Batch((numbers[there],), numbered.lo[there], numbered.hi[there])

    def _learn(self) -> None:
        known = len(self._found)
        rows = self._source.since(known)
        become = rows if self._rewrite is None else self._rewrite(rows)
        found = np.full(len(rows), -1, np.int64)
        found[become.lo - known] = self._target.numbers(become.columns, len(become))
        self._is_whole = self._is_whole and len(become) == len(rows)
        self._found = np.concatenate([self._found, found])


class Numbered:
    """When the rows of a table hold: a numbered batch in order, of maximal runs, that answers additions with what is new.

    >>> known = Numbered(Table(Pool()))
    >>> known.table.begin([("a",)])
    >>> def at(lo: int, hi: int) -> Batch:
    ...     return Batch((np.array([0]),), np.array([lo]), np.array([hi]))
    >>> [(new.lo.tolist(), new.hi.tolist()) for new in (known.add(at(1, 4)), known.add(at(3, 6)))], known.held.hi.tolist()
    ([([1], [4]), ([5], [6])], [6])
    """

    __slots__ = ("held", "table")

    def __init__(self, table: Table) -> None:
        self.table = table
        none = np.empty(0, np.int64)
        self.held = Batch((none,), none, none, is_tidy=True)

    def add(self, found: Batch) -> Batch:
        """Add coverage; returns what of it is new, in order and in maximal runs."""
        if not len(found):
            return found
        held, rows = self.held, found.columns[0]
        axis = Axis(len(self.table), (held.lo, found.lo), (held.hi, found.hi))
        runs = axis.runs(rows, found.lo, found.hi)
        if not len(held):
            self.held = _batch(axis, rows[runs.places], runs)
            return self.held
        known = Runs(*axis.laid(held.columns[0], held.lo, held.hi), held.columns[0])
        runs.places = rows[runs.places]
        fresh, both = _united(axis, known, runs)
        if len(fresh):
            self.held = both
        return fresh

    def of_rows(self, numbers: Array) -> Batch:
        """What holds of some rows."""
        wanted = np.zeros(len(self.table), np.bool_)
        wanted[numbers] = True
        return self.held.take(wanted[self.held.columns[0]])


def _batch(axis: Axis, rows: Array, runs: Runs) -> Batch:
    return Batch((rows,), *axis.times(rows, runs.begins, runs.ends), is_tidy=True)


def _united(axis: Axis, known: Runs, runs: Runs) -> tuple[Batch, Batch]:
    """What of runs lies outside of known ones, and both together; the places of either are their rows.

    Most runs lengthen one known run at one end, or touch none. What lengthens one is written into it.
    """
    first = ranks(known.ends, runs.begins, "left")  # the first known run that ends where it begins, or behind that
    at = np.minimum(first, len(known.begins) - 1)
    begin, end = known.begins[at], known.ends[at]
    is_apart = (first == len(known.begins)) | (begin > runs.ends)
    before, behind = ~is_apart & (runs.begins < begin), ~is_apart & (runs.ends > end)
    later = known.begins[np.minimum(first + 1, len(known.begins) - 1)]
    is_cut = behind & (before | (later > begin) & (later < runs.ends))
    fresh = Runs(np.where(behind, end, runs.begins), np.where(before, begin, runs.ends), runs.places)
    there = is_apart | before | behind
    if is_cut.any():
        there &= ~is_cut
        cut = np.flatnonzero(is_cut)
        pieces = without(runs.begins[cut], runs.ends[cut], known.begins, known.ends)
        loose = _sorted(_parts(fresh, is_apart), Runs(pieces[0], pieces[1], runs.places[cut[pieces[2]]]))
        before, behind = before & ~is_cut, behind & ~is_cut
        new = _sorted(_parts(fresh, there & ~is_apart), loose)
    else:
        loose = _parts(fresh, is_apart)
        new = fresh if there.all() else _parts(fresh, there)
    known.begins[at[before]] = runs.begins[before]
    known.ends[at[behind]] = runs.ends[behind]
    if len(loose.begins):
        known = _sorted(known, loose)
    touching = known.begins[1:] <= known.ends[:-1]
    if touching.any():
        found = united(known.begins, known.ends, None)
        known = Runs(found.begins, found.ends, known.places[found.places])
    return _batch(axis, new.places, new), _batch(axis, known.places, known)


def _parts(runs: Runs, there: Array) -> Runs:
    return Runs(runs.begins[there], runs.ends[there], runs.places[there])


def _sorted(runs: Runs, others: Runs) -> Runs:
    """Runs and others, apart from each other, in order."""
    if not len(runs.begins) or not len(others.begins):
        runs = runs if len(runs.begins) else others
        return runs if (runs.begins[1:] >= runs.begins[:-1]).all() else _ordered(runs)
    return _ordered(
        Runs(
            np.concatenate([runs.begins, others.begins]),
            np.concatenate([runs.ends, others.ends]),
            np.concatenate([runs.places, others.places]),
        )
    )


def _ordered(runs: Runs) -> Runs:
    order = stable_order(runs.begins)
    return Runs(runs.begins[order], runs.ends[order], runs.places[order])
