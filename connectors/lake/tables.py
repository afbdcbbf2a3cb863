"""What a table is to those who write it, whatever its format: Delta Lake, or Apache Iceberg."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from tidelog.connectors.lake.arguments import ArgumentColumn
from tidelog.connectors.lake.intervals import Run
from tidelog.connectors.lake.times import TimeColumn
from tidelog.plans.diagnostics.errors import ConnectorError

Keep: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch]
"""What a file keeps of its rows when it is written anew."""


class Conflict(ConnectorError):
    """Another process has changed the table meanwhile: nothing is written, and what was to be written is worked out anew."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction has done: how many files it has written, in the place of how many."""

    added: int
    removed: int


class Table(Protocol):
    """A table of one predicate, as it was when it was looked at last.

    What changes it makes one version behind that one, all at once or not at all, and raises Conflict where another process
    has changed the table since. All methods raise ConnectorError where the table cannot be read or written.
    """

    @property
    def uri(self) -> str:
        """What messages call it."""

    @property
    def version(self) -> int:
        """A number that grows with each version."""

    def refresh(self) -> None:
        """Look at the newest version."""

    def schema(self) -> pa.Schema:
        """Its columns, those that hold texts of JSON marked as such."""

    def properties(self) -> Mapping[str, str]:
        """What is noted of the table itself."""

    def note(self, properties: Mapping[str, str]) -> None:
        """Note something of the table itself."""

    def upto(self, outbox: str) -> int | None:
        """Up to which number it has the facts of an outbox; None where it knows nothing of it."""

    def has_rows(self, node: str) -> bool:
        """Whether there are rows of a node."""

    def evolve(self, predicate: str, column: ArgumentColumn, wanted: ArgumentColumn, schema: pa.Schema) -> None:
        """Let a table whose arguments are `column` have those that are `wanted`, with the columns of `schema`.

        ConnectorError where a value would not be the same in a wider type.
        """

    def touched(self, schema: pa.Schema, facts: Sequence[Run], times: Mapping[str, TimeColumn]) -> dict[Any, list[Run]]:
        """The rows that these facts may touch, by their file: of the same node and arguments, at or beside the same time."""

    def files(self) -> Sequence[Any]:
        """All its files."""

    def rows(self, file: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows of one of its files, with these columns."""

    def replace(self, old: Mapping[Any, Keep], new: pa.Table, upto: Mapping[str, int]) -> None:
        """Write files anew with what they keep, and rows that are new, and say up to which number the facts of outboxes are
        there."""

    def secure(self, since: int) -> None:
        """Bring what has come behind version `since` to the disk, whoever wrote it, where that is not done yet."""

    def scattered(self, size: int) -> list[date | None]:
        """The days of which several files are smaller than so many bytes; None is for rows of no day."""

    def compact(self, size: int, day: date | None) -> Compacted:
        """Make files of about so many bytes of a day's smaller ones."""

    def vacuum(self, hours: int) -> int:
        """Take away the files that no version of the last so many hours needs, and return how many these were.

        Versions that are older can then be read no more. A process that writes for longer than that loses its files.
        """


class Lake(Protocol):
    """A place with tables, one for each predicate. Plain data: it can be sent elsewhere."""

    @property
    def place(self) -> str:
        """What messages call it."""

    def uri(self, predicate: str) -> str:
        """What messages call the table of a predicate."""

    def open(self, predicate: str) -> Table | None:
        """The newest version of a table; None where there is none. ConnectorError where it cannot be read."""

    def create(self, predicate: str, schema: pa.Schema, properties: Mapping[str, str]) -> None:
        """Make the table of a predicate, unless there is one. ConnectorError where that cannot be."""

    def predicates(self) -> list[str]:
        """Of which predicates there are tables, in order. ConnectorError where that cannot be seen."""

    def mend(self, predicate: str) -> list[str]:
        """Take back what a power failure has torn at the end of a table; what was done, a line each."""
