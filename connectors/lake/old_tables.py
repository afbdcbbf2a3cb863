"""The tables that `ingest` wrote before it wrote tables of Delta Lake: read once, to take them over.

They are a log of manifests, `_log/00000000000000000012.json`, of which the last names the files of all tables, each with the
rows of one node.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.fs import DeltaStorageHandler
from pyarrow import fs

from tidelog.connectors.files.folders import escape_value, folder_of
from tidelog.connectors.lake.arguments import ArgumentColumn
from tidelog.connectors.lake.delta.lake import open_delta_lake
from tidelog.connectors.lake.delta.library import storage_options, told
from tidelog.connectors.lake.intervals import Run
from tidelog.connectors.lake.opening import open_lake
from tidelog.connectors.lake.rows import runs_of
from tidelog.connectors.lake.writing import TableWriter
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

_FORMAT = 2
_ROWS_AT_ONCE = 100_000
_UNKNOWN = ("rational", None)
"""How a node counts time of which a manifest says nothing: so only what has nothing in between becomes one row."""


class _Time(msgspec.Struct, frozen=True):
    timeline: str
    unit: str | None


class _Fields(msgspec.Struct, frozen=True):
    fields: tuple[str, ...]
    types: tuple[str, ...]


class _File(msgspec.Struct, frozen=True):
    predicate: str
    node: str
    name: str


class _Manifest(msgspec.Struct, frozen=True):
    format: int
    version: int
    dates: bool
    nodes: dict[str, _Time]
    tables: dict[str, _Fields]
    segments: tuple[_File, ...]


def take_over(old: str, new: str) -> dict[str, int]:
    """Copy the newest version of old tables into new ones; returns how many rows each has been given.

    It may be done again where it was interrupted: rows that are there already change nothing. SpecError where there are no
    old tables, or the new ones contradict them; ConnectorError where one of them cannot be read or written.
    """
    source, target = open_delta_lake(old).place, open_lake(new)
    with told(f"cannot read the tables in `{old}`"):
        files = fs.PyFileSystem(DeltaStorageHandler(source, storage_options(source)))
        manifest = _newest(files, old)
        counts = dict.fromkeys(sorted(manifest.tables), 0)
        times = {node: (time.timeline, time.unit) for node, time in manifest.nodes.items()}
        for predicate, fields in sorted(manifest.tables.items()):
            column = ArgumentColumn(fields.fields, fields.types)
            writer = TableWriter(target, predicate, dates=manifest.dates)
            for file in (each for each in manifest.segments if each.predicate == predicate):
                path = f"_data/{folder_of(predicate)}/node={escape_value(file.node)}/{file.name}"
                for rows in pq.ParquetFile(path, filesystem=files).iter_batches(_ROWS_AT_ONCE):
                    runs = _runs(rows, file.node)
                    writer.add(runs, column, {file.node: times.get(file.node, _UNKNOWN)})
                    counts[predicate] += len(runs)
    return counts


def _newest(files: Any, place: str) -> _Manifest:
    infos = files.get_file_info(fs.FileSelector("_log", allow_not_found=True))
    names = sorted(info.base_name for info in infos if info.base_name.removesuffix(".json").isdecimal())
    if not names:
        raise SpecError(f"there are no tables of an older version of tidelog in `{place}`")
    with files.open_input_stream(f"_log/{names[-1]}") as stream:
        data = stream.read()
    try:
        manifest = msgspec.json.decode(data, type=_Manifest)
    except msgspec.MsgspecError as error:
        raise ConnectorError(f"`{place}/_log/{names[-1]}` is damaged: {error}") from error
    if manifest.format != _FORMAT:
        raise SpecError(f"the tables in `{place}` are in format {manifest.format}, and only format {_FORMAT} is taken over")
    return manifest


def _runs(rows: Any, node: str) -> list[Run]:
    """The rows of a file; which outbox they are of, nobody has written down."""
    columns = {name: rows.column(name) for name in rows.schema.names}
    count = rows.num_rows
    table = pa.table({**columns, "node": pa.repeat(node, count), "outbox": pa.repeat("", count)})
    return runs_of(table)
