"""A table of Apache Iceberg, as those who write it see it.

Why a fact counts once: a property of the table says, for each outbox, up to which number its facts are there. It is set in
the commit that brings the facts, and stays when snapshots expire. Each commit is tried once, and asserts the snapshot that
was read: the library's own way to try again would add the same rows behind those of another process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyiceberg import expressions
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import Transaction
from pyiceberg.table.metadata import TableMetadataV1

from tidelog.connectors.lake.arguments import ArgumentColumn
from tidelog.connectors.lake.columns import DATE
from tidelog.connectors.lake.iceberg.files import write_file
from tidelog.connectors.lake.iceberg.library import told
from tidelog.connectors.lake.iceberg.schemas import columns_of, doc_of, type_of
from tidelog.connectors.lake.iceberg.upkeep import expire, sweep
from tidelog.connectors.lake.intervals import Run
from tidelog.connectors.lake.rows import DAY, as_type, bounds, by_day, runs_of
from tidelog.connectors.lake.tables import Compacted, Keep
from tidelog.connectors.lake.times import TimeColumn
from tidelog.connectors.lake.widening import widened_rows
from tidelog.plans.diagnostics.errors import ConnectorError

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.manifest import DataFile
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.table import FileScanTask
    from pyiceberg.table import Table as Loaded
    from pyiceberg.table.metadata import TableMetadata

_IS: Any = expressions
"""The conditions of the library, whose types its own plugin for mypy would know."""
_RETRIES = "commit.retry.num-retries"
_UPTO = "tidelog.upto."
"""The property that says up to which number the facts of an outbox are there; the outbox's identity follows."""

Files = Mapping[date | None, Iterable[pa.RecordBatch]]
"""Rows of new files, by the day on which they end."""


@dataclass(frozen=True, slots=True)
class IcebergFile:
    """A file of a version of a table, with what says which of its rows are deleted."""

    path: str
    task: FileScanTask

    def __hash__(self) -> int:
        return hash(self.path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IcebergFile) and other.path == self.path

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.task.file.file_size_in_bytes


class _Changing(Transaction):
    """A transaction that works out once what the table says of itself after what is staged: it is asked some fifteen times,
    and copies all snapshots each time."""

    _known: tuple[object, TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        if self._known is None or self._known[0] is not self._updates:
            self._known = (self._updates, super().table_metadata)
        return self._known[1]


class IcebergTable:
    """The newest version of a table, when it was looked at last."""

    def __init__(self, uri: str, table: Loaded) -> None:
        self.uri = uri
        self.table = table

    @property
    def version(self) -> int:
        metadata = self.table.metadata
        if isinstance(metadata, TableMetadataV1):
            raise ConnectorError(f"the table `{self.uri}` is in format 1 of Iceberg, which numbers nothing: upgrade it to 2")
        return metadata.last_sequence_number

    def refresh(self) -> None:
        with told(f"cannot read the table `{self.uri}`"):
            self.table.refresh()

    def schema(self) -> pa.Schema:
        return columns_of(self.table.schema())

    def properties(self) -> Mapping[str, str]:
        return self.table.properties

    def note(self, properties: Mapping[str, str]) -> None:
        self._commit(lambda transaction: transaction.set_properties(dict(properties)))

    def upto(self, outbox: str) -> int | None:
        known = self.table.properties.get(f"{_UPTO}{outbox}")
        return None if known is None else int(known)

    def has_rows(self, node: str) -> bool:
        with told(f"cannot read the table `{self.uri}`"):
            return bool(self.table.scan(row_filter=_IS.EqualTo("node", node), limit=1).to_arrow().num_rows)

    def touched(self, schema: pa.Schema, facts: Sequence[Run], times: Mapping[str, TimeColumn]) -> dict[Any, list[Run]]:
        keys = {run.key for run in facts}
        nodes = [str(run.key[0]) for run in facts]
        low, high = bounds(facts, times)
        where = _IS.And(
            _within(low, high), _IS.GreaterThanOrEqual("node", min(nodes)), _IS.LessThanOrEqual("node", max(nodes))
        )
        found: dict[IcebergFile, list[Run]] = {}
        for file in self._files(*_by_days(where, low if DATE in schema.names else None)):
            for batch in self.rows(file, schema, where):
                if runs := runs_of(batch, keys):
                    found.setdefault(file, []).extend(runs)
        return found

    def files(self) -> Sequence[IcebergFile]:
        return self._files(_IS.AlwaysTrue())

    def _files(self, *where: BooleanExpression) -> list[IcebergFile]:
        """The files that may have rows for one of these conditions, which no file has for two."""
        with told(f"cannot read the table `{self.uri}`"):
            tasks = chain.from_iterable(self.table.scan(row_filter=each).plan_files() for each in where)
            return [IcebergFile(task.file.file_path, task) for task in tasks]

    def rows(self, file: IcebergFile, schema: pa.Schema, where: BooleanExpression | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of one of its files, with these columns, of those that `where` leaves."""
        table = self.table
        with told(f"cannot read the table `{self.uri}`"):
            scan = ArrowScan(table.metadata, table.io, table.schema(), where or _IS.AlwaysTrue())
            for batch in scan.to_record_batches([file.task]):
                columns = [as_type(batch.column(field.name), field.type) for field in schema]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def replace(self, old: Mapping[Any, Keep], new: pa.Table, upto: Mapping[str, int]) -> None:
        days: dict[date | None, list[Iterable[pa.RecordBatch]]] = {}
        for file, keep in old.items():
            days.setdefault(self._day(file), []).append(map(keep, self.rows(file, new.schema)))
        for day, rows in by_day(new):
            days.setdefault(day, []).append(rows.to_batches())
        numbers = {f"{_UPTO}{outbox}": str(number) for outbox, number in upto.items()}

        def change(transaction: Transaction) -> None:
            if numbers:
                transaction.set_properties(numbers)
            self._put(transaction, list(old), [(day, chain.from_iterable(each)) for day, each in days.items()])
            if old and not new.num_rows:  # rows are to be forgotten, of which this snapshot's statistics tell
                self._put(transaction, [], [])

        self._commit(change)

    def evolve(self, predicate: str, column: ArgumentColumn, wanted: ArgumentColumn, schema: pa.Schema) -> None:
        kind = schema.field("arguments").type
        known = dict(zip(column.fields, column.types, strict=True))
        changed = [name for name, each in zip(wanted.fields, wanted.types, strict=True) if known.get(name) != each]

        def change(transaction: Transaction) -> None:
            old = self.schema()
            with transaction.update_schema() as update:
                for name in changed:
                    if name in known:  # what is there is not of a type that Iceberg lets become the other
                        update.delete_column(("arguments", name))
                    field = kind.field(name)
                    update.add_column(("arguments", name), type_of(field), doc=doc_of(field))
            with transaction.update_schema() as update:  # which knows the new ones by their numbers
                update.move_first(("arguments", wanted.fields[0]))
                for before, name in pairwise(wanted.fields):
                    update.move_after(("arguments", name), ("arguments", before))
            if not any(name in known for name in changed):
                return
            files = self.files()
            pieces = (
                (self._day(file), widened_rows(self.rows(file, old), predicate, column, wanted, schema)) for file in files
            )
            self._put(transaction, files, pieces)

        self._commit(change)

    def secure(self, since: int) -> None:
        """It is done: a file is on the disk before the catalog names it."""

    def scattered(self, size: int) -> list[date | None]:
        small = Counter(self._day(file) for file in self.files() if file.size < size)
        return [day for day, count in small.items() if count > 1]

    def compact(self, size: int, day: date | None) -> Compacted:
        schema = self.schema()
        small = [file for file in self._of_day(day, schema) if file.size < size]
        groups = [group for group in _packed(small, size) if len(group) > 1]
        if not groups:
            return Compacted(0, 0)
        old = list(chain.from_iterable(groups))
        pieces = [(day, chain.from_iterable(self.rows(file, schema) for file in group)) for group in groups]
        self._commit(lambda transaction: self._put(transaction, old, pieces))
        return Compacted(len(groups), len(old))

    def _of_day(self, day: date | None, schema: pa.Schema) -> list[IcebergFile]:
        if DATE not in schema.names:
            return self._files(_IS.AlwaysTrue())
        return self._files(_IS.IsNull(DATE) if day is None else _IS.EqualTo(DATE, day.toordinal() - _EPOCH))

    def vacuum(self, hours: int) -> int:
        with told(f"cannot clear the table `{self.uri}`"):
            expire(self.table, _Changing(self.table, autocommit=True), hours)
            return sweep(self.table, hours)

    def _day(self, file: IcebergFile) -> date | None:
        """The day of a file's rows; ConnectorError where files are divided in another way than by days."""
        spec = self.table.metadata.specs()[file.task.file.spec_id]
        self._check_days(spec)
        if not spec.fields:
            return None
        value: int | date | None = file.task.file.partition[0]
        return date.fromordinal(_EPOCH + value) if isinstance(value, int) else value

    def _check_days(self, spec: PartitionSpec) -> None:
        if any((field.name, str(field.transform)) != (DATE, "identity") for field in spec.fields):
            raise ConnectorError(
                f"the table `{self.uri}` is partitioned by {', '.join(field.name for field in spec.fields)}, which others "
                f"have changed: expected `{DATE}` alone"
            )

    def _put(
        self,
        transaction: Transaction,
        old: Sequence[IcebergFile],
        pieces: Iterable[tuple[date | None, Iterable[pa.RecordBatch]]],
    ) -> None:
        """Stage a snapshot with new files in the place of old ones. Without either it says that nothing came between."""
        metadata, io = transaction.table_metadata, self.table.io
        self._check_days(metadata.spec())
        written = (write_file(io, metadata, day, batches) for day, batches in pieces)
        added: list[DataFile] = [file for file in written if file is not None]
        update = transaction.update_snapshot()
        if not old:
            with update.fast_append() as appended:
                for file in added:
                    appended.append_data_file(file)
            return
        with update.overwrite() as replaced:
            if not metadata.spec().fields:  # then it would look at no manifest
                replaced.delete_by_predicate(_IS.AlwaysTrue())
            for each in old:
                replaced.delete_data_file(each.task.file)
            for file in added:
                replaced.append_data_file(file)

    def _commit(self, change: Callable[[Transaction], object]) -> None:
        """One commit, which is tried once. Conflict where another process has changed the table since it was looked at."""
        metadata = self.table.metadata
        self.table.metadata = metadata.model_copy(update={"properties": {**metadata.properties, _RETRIES: "0"}})
        with told(f"cannot write the table `{self.uri}`"):
            try:
                transaction = _Changing(self.table)
                change(transaction)
                transaction.commit_transaction()
            except BaseException:
                self.table.metadata = metadata
                raise


_EPOCH = date(1970, 1, 1).toordinal()


def _by_days(where: BooleanExpression, low: float | int | None) -> Sequence[BooleanExpression]:
    """A condition for rows that end on the day of `low` or later, and one for those that have no end.

    They are two, since the library compares days with the NULL of a partition where a condition has both.
    """
    if low is None:
        return [where]
    return [_IS.And(where, _IS.GreaterThanOrEqual(DATE, int(low // DAY))), _IS.And(where, _IS.IsNull(DATE))]


def _within(low: float | int | None, high: float | int | None) -> BooleanExpression:
    """Rows that may lie within some times."""
    found: BooleanExpression = _IS.AlwaysTrue()
    if low is not None:
        found = _IS.And(found, _IS.Or(_IS.GreaterThanOrEqual("end_time", low), _IS.IsNull("end_time")))
    if high is not None:
        found = _IS.And(found, _IS.Or(_IS.LessThanOrEqual("start_time", high), _IS.IsNull("start_time")))
    return found


def _packed(files: Sequence[IcebergFile], size: int) -> Iterator[list[IcebergFile]]:
    """Files in groups of about so many bytes."""
    group: list[IcebergFile] = []
    for file in files:
        if group and sum(each.size for each in group) + file.size > size:
            yield group
            group = []
        group.append(file)
    yield group
