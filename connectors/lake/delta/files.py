"""The files of a table: written and brought to the disk before a commit names them, and read again."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from tidelog.connectors.lake.columns import DATE
from tidelog.connectors.lake.delta.library import deltalake, storage_options
from tidelog.connectors.lake.places import is_remote
from tidelog.connectors.lake.rows import Times, as_type
from tidelog.connectors.store.syncing import sync

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltalake.transaction import AddAction, RemoveAction

_NO_DATE = "__HIVE_DEFAULT_PARTITION__"
_LONGEST = 32
"""How many letters of a text statistics have; of a longer one the last has none."""
_ROWS = 131_072
"""How many rows a group of a file has at most: readers pass over groups by their times."""


_ENDS = ("start_time", "end_time")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class File:
    """A file of a version of a table: its path in the table, its bytes, and in a table of dates the day of its rows."""

    path: str
    size: int
    day: date | None = None

    def removal(self, schema: pa.Schema) -> RemoveAction:
        """The action that removes it from a table with these columns."""
        values = {DATE: None if self.day is None else self.day.isoformat()} if DATE in schema.names else {}
        action: RemoveAction = deltalake().transaction.RemoveAction(
            self.path, True, int(time.time() * 1000), self.size, values
        )
        return action


@dataclass(frozen=True, slots=True)
class Added:
    """A file that was written, and what a commit says of it. Plain data: it can be sent elsewhere."""

    path: str
    size: int
    values: dict[str, str | None]
    modified: int
    stats: str

    def action(self) -> AddAction:
        """The action that adds it to its table."""
        action: AddAction = deltalake().transaction.AddAction(
            self.path, self.size, self.values, self.modified, True, self.stats
        )
        return action


def _remote(uri: str) -> fs.FileSystem:
    """The files behind a URI; SpecError where the library is missing, which knows them."""
    deltalake()
    handlers = import_module("deltalake.fs")
    return fs.PyFileSystem(handlers.DeltaStorageHandler(uri, storage_options(uri)))


class TableFiles:
    """The files of the table at a path or a URI. What fails raises OSError."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        if not is_remote(uri):
            os.makedirs(uri, exist_ok=True)
            self.system = fs.SubTreeFileSystem(uri, fs.LocalFileSystem())
        else:
            self.system = _remote(uri)

    def write(
        self,
        batches: Iterable[pa.RecordBatch | pa.Table],
        schema: pa.Schema,
        day: date | None = None,
        partition: Mapping[str, str | None] | None = None,
    ) -> Added | None:
        """Write rows to a new file, which is on the disk for certain when this returns. None where there are
        no rows.

        In a table of dates (`schema` has the column) all of them are of this day. Else `partition` has the values of the
        columns by which the table is partitioned, which are not among those of `schema`.
        """
        dated = DATE in schema.names and partition is None
        values: Mapping[str, str | None] = partition or ({DATE: None if day is None else day.isoformat()} if dated else {})
        folder = "".join(f"{name}={_NO_DATE if value is None else value}/" for name, value in values.items())
        path = f"{folder}part-{uuid.uuid4().hex}.parquet"
        kept = pa.schema([field for field in schema if not (dated and field.name == DATE)])
        local = None if is_remote(self._uri) else os.path.join(self._uri, path)
        if local is not None:
            os.makedirs(os.path.dirname(local), exist_ok=True)
        with self.system.open_output_stream(path) as stream, pq.ParquetWriter(stream, kept, compression="zstd") as writer:
            for batch in batches:
                if batch.num_rows:  # an empty group would have no statistics
                    rows = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
                    writer.write_table(rows.select(kept.names).cast(kept), row_group_size=_ROWS)
        if local is not None:
            sync(local)
            sync(os.path.dirname(local))
        written = pq.read_metadata(path, filesystem=self.system)
        if not written.num_rows:
            return None  # a vacuum takes the file away
        info = self.system.get_file_info(path)
        stats = json.dumps(_statistics(written))
        return Added(path, info.size, dict(values), int(time.time() * 1000), stats)

    def rows(self, file: File, schema: pa.Schema, within: Times = (None, None)) -> Iterator[pa.RecordBatch]:
        """The rows of a file with the columns of the table, whoever wrote it; at least those that lie within some times."""
        with self.system.open_input_file(file.path) as opened:
            parquet = pq.ParquetFile(opened)
            names = [name for name in schema.names if name in parquet.schema_arrow.names]
            for group in range(parquet.num_row_groups):
                if _may_lie(parquet.metadata.row_group(group), *within):
                    for batch in parquet.iter_batches(_ROWS, row_groups=[group], columns=names):
                        columns = (
                            as_type(batch.column(field.name), field.type)
                            if field.name in names
                            else _lacking(file, field, len(batch))
                            for field in schema
                        )
                        yield pa.RecordBatch.from_arrays(list(columns), schema=schema)


def _may_lie(group: pq.RowGroupMetaData, low: float | int | None, high: float | int | None) -> bool:
    """Whether rows of a group may lie within some times, by its statistics."""
    columns = (group.column(number) for number in range(group.num_columns))
    told = {column.path_in_schema: column.statistics for column in columns if column.path_in_schema in _ENDS}
    for name, bound in (("end_time", low), ("start_time", high)):
        known = told.get(name)
        if bound is None or known is None or not known.has_min_max or not known.has_null_count or known.null_count:
            continue
        edge = known.max if name == "end_time" else known.min
        number = edge if isinstance(edge, float) else (edge - _EPOCH) // timedelta(microseconds=1)
        if number < bound if name == "end_time" else number > bound:
            return False
    return True


def _lacking(file: File, field: pa.Field, number: int) -> pa.Array:
    """A column that a file does not have: by which the table is partitioned, or which is younger than the file."""
    return pa.repeat(pa.scalar(file.day if field.name == DATE else None, field.type), number)


def _statistics(written: pq.FileMetaData) -> dict[str, Any]:
    """What the log says of a file, by which readers pass over it: how many rows and NULLs, the first and last values."""
    found: dict[str, Any] = {"numRecords": written.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    groups = [written.row_group(number) for number in range(written.num_row_groups)]
    for place in range(written.num_columns):
        columns = [(group.num_rows, group.column(place)) for group in groups]
        name = written.schema.column(place).path
        told = [(rows, column.statistics) for rows, column in columns]
        if ".list." in name or not all(each is not None and each.has_null_count for _, each in told):
            continue
        path = name.split(".")
        _put(found["nullCount"], path, sum(each.null_count for _, each in told))
        valued = [each for rows, each in told if each.null_count < rows]
        if valued and all(each.has_min_max for each in valued):
            _put(found["minValues"], path, _shown(min(each.min for each in valued), is_last=False))
            _put(found["maxValues"], path, _shown(max(each.max for each in valued), is_last=True))
    return found


def _shown(value: Any, *, is_last: bool) -> Any:
    """A value as statistics have it: times in milliseconds that lie around it; None where it has none."""
    if isinstance(value, datetime):
        upper = value + timedelta(microseconds=-value.microsecond % 1000) if is_last else value
        moment = upper.astimezone(UTC) if upper.tzinfo else upper
        return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else None if is_last else value[:_LONGEST]
    return value if isinstance(value, int | float) else None


def _put(into: dict[str, Any], path: Sequence[str], value: Any) -> None:
    if value is None:
        return
    for name in path[:-1]:
        into = into.setdefault(name, {})
    into[path[-1]] = value
