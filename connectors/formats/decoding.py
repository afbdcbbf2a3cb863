"""What all decoders share: their shape, the collecting of a batch, and the words of their refusals."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Protocol, overload

from tidelog.connectors.formats.lines import RAW_LIMIT, LineFramer
from tidelog.plans.data.facts import TYPE_TESTS, Record, Row, Schema
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.numerals import shorten
from tidelog.runtime.ports.interfaces import Batch, Rejected, Retraction

FEW = 16
"""Fewer lines are read one by one: to prove something of all of them at once costs more."""
NOT_RETRACTED = "a fact is taken back, which only `tidelog run --corrections` does"
"""Why a retraction is refused where facts are read that nobody takes back."""


class Decoder(Protocol):
    """Bytes of one format to facts: pure, no I/O. A line that cannot be read is rejected and costs no other line."""

    name: str
    header: bytes | None
    """The record that says how to read the others, once it has been read, in a format that has one."""

    @property
    def framer(self) -> Callable[[str, int], LineFramer]:
        """What cuts bytes of this format into records: told the name of the stream, and how long a record may be."""
        ...

    def decode(self, lines: Sequence[bytes], first_line: int) -> Batch:
        """The facts of these records, as the framer cuts them, the first of which stands in line `first_line`.

        Raises DataError only where nothing that follows can be understood, such as a wrong CSV header.
        """
        ...

    def for_stream(self, name: str) -> Decoder:
        """A decoder of the same kind for another stream, which shares what this one has cached."""
        ...


class Places(Sequence[str]):
    """The places `name:line` of a batch's records, each written only when asked for.

    `gaps` holds, for each line without a record, how many records came before it: so line numbers cost nothing where
    every line is a record.

    >>> list(Places("a.txt", 1, [0, 2], 3))
    ['a.txt:2', 'a.txt:3', 'a.txt:5']
    """

    __slots__ = ("_count", "_first", "_gaps", "_name")

    def __init__(self, name: str, first: int, gaps: list[int], count: int) -> None:
        self._name = name
        self._first = first
        self._gaps = gaps
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        if index < 0:
            index += self._count
        if not 0 <= index < self._count:
            raise IndexError("place index out of range")
        return f"{self._name}:{self._line(index)}"

    def _line(self, index: int) -> int:
        return self._first + index + bisect_right(self._gaps, index)

    def lines(self) -> Sequence[int]:
        """The numbers of all lines that hold a record."""
        if not self._gaps:
            return range(self._first, self._first + self._count)
        return list(map(self._line, range(self._count)))


class Collector:
    """Gathers one batch; each line either appends to `records`, or is skipped or rejected here."""

    __slots__ = ("_first", "_gaps", "_name", "records", "rejected", "retractions")

    def __init__(self, name: str, first_line: int) -> None:
        self.records: list[Record] = []
        self.rejected: list[Rejected] = []
        self.retractions: list[Retraction] = []
        self._gaps: list[int] = []
        self._name = name
        self._first = first_line

    @property
    def line(self) -> int:
        """The number of the line that is being read."""
        return self._first + len(self.records) + len(self._gaps)

    @property
    def place(self) -> str:
        """`name:line` of the line that is being read."""
        return f"{self._name}:{self.line}"

    def skip(self) -> None:
        """This line holds no record, and need not."""
        self._gaps.append(len(self.records))

    def reject(self, reason: str, raw: bytes) -> None:
        """This line should hold a record, and cannot be read."""
        self.rejected.append(Rejected(self.place, reason, raw[:RAW_LIMIT]))
        self.skip()

    def retract(self, record: Record, line: bytes, *, is_taken: bool) -> None:
        """This line takes a fact back: refused unless retractions are taken."""
        if not is_taken:
            self.reject(NOT_RETRACTED, line)
            return
        self.retractions.append(Retraction(len(self.records), record, self.place))
        self.skip()

    def batch(self) -> Batch:
        places = Places(self._name, self._first, self._gaps, len(self.records))
        return Batch(self.records, self.rejected, places=places, retractions=self.retractions)


class RefusingDecoder:
    """Rejects every line with the same reason: for a stream whose header is wrong, so that no row of it is lost unseen."""

    header: bytes | None = None
    framer = LineFramer

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._reason = reason

    def for_stream(self, name: str) -> RefusingDecoder:
        return RefusingDecoder(name, self._reason)

    def decode(self, lines: Sequence[bytes], first_line: int) -> Batch:
        collector = Collector(self.name, first_line)
        for line in lines:
            if line.strip():
                collector.reject(self._reason, line)
            else:
                collector.skip()
        return collector.batch()


class Admission:
    """Turns values into rows as the schema demands, for every predicate or for the one told (`only`).

    Both methods raise DataError where the predicate is another one, or the schema refuses the values.
    """

    def __init__(self, schema: Schema, only: str | None = None) -> None:
        self._schema = schema
        self.only = only
        # Of these only the number and the types of arguments have to be checked, which the decoders' speed depends on.
        self._tests = {
            name: (known.arity, [(i, TYPE_TESTS[kind]) for i, kind in enumerate(known.types) if kind != "any"])
            for name, known in schema.predicates.items()
            if known.accepts_input and only in (None, name)
        }

    def row(self, predicate: str, values: tuple[object, ...]) -> Row:
        """The row of any JSON values."""
        if self.only is not None and predicate != self.only:
            raise DataError(f"expected facts of `{self.only}`, got `{shorten(predicate)}`")
        return self._schema.check(predicate, values)

    def canonical_row(self, predicate: str, values: Row) -> Row:
        """The row of values whose numbers are canonical already."""
        known = self._tests.get(predicate)
        if known is not None and known[0] == len(values):
            for i, is_of_type in known[1]:
                if not is_of_type(values[i]):
                    break
            else:
                return values
        return self.row(predicate, values)
