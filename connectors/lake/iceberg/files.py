"""The files of a table of Iceberg: written before a commit names them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING

import pyarrow as pa
from pyiceberg.io.fileformat import FileFormatFactory
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionFieldValue, PartitionKey
from pyiceberg.table.locations import load_location_provider
from pyiceberg.typedef import Record

from tidelog.connectors.lake.rows import as_type

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.table.metadata import TableMetadata


def write_file(io: FileIO, metadata: TableMetadata, day: date | None, batches: Iterable[pa.RecordBatch]) -> DataFile | None:
    """Write rows to a new file, all of them of this day where the table is partitioned. None where there are no rows.

    What fails raises what the library raises.
    """
    schema, spec = metadata.schema(), metadata.spec()
    target = schema_to_pyarrow(schema, include_field_ids=True)
    key = PartitionKey([PartitionFieldValue(field, day) for field in spec.fields], spec, schema)
    name = f"part-{uuid.uuid4().hex}.parquet"
    provider = load_location_provider(table_location=metadata.location, table_properties=metadata.properties)
    path = provider.new_data_location(data_file_name=name, partition_key=key if spec.fields else None)
    output = io.new_output(path)
    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return None
    with FileFormatFactory.get(FileFormat.PARQUET).create_writer(output, schema, metadata.properties) as writer:
        batch: pa.RecordBatch | None = first
        while batch is not None:
            columns = [as_type(batch.column(field.name), field.type) for field in target]
            writer.write(pa.Table.from_arrays(columns, schema=target))
            batch = next(filled, None)
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=key.partition if spec.fields else Record(),
        file_size_in_bytes=len(output),
        sort_order_id=None,
        spec_id=metadata.default_spec_id,
        equality_ids=None,
        key_metadata=None,
        **writer.result().to_serialized_dict(),
    )
