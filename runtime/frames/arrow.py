"""What is given as a frame, as batches of Arrow; and pyarrow itself, or one clear line where it is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tidelog.plans.diagnostics.errors import ConnectorError, DataError

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pcsv
    import pyarrow.parquet as pq
except ImportError as error:
    raise ConnectorError(
        "Arrow tables and Parquet need pyarrow, which is not installed: pip install 'tidelog[frames]'"
    ) from error

__all__ = [
    "BATCH_ROWS",
    "batches_of",
    "pa",
    "pc",
    "pcsv",
    "plain",
    "pq",
    "stream_of",
    "value_of",
    "values_of",
    "with_plain_texts",
]

BATCH_ROWS = 8192
"""How many rows are made facts at once: so few that their garbage costs little, so many that a batch costs nothing."""


_INEXACT = "outside of the range exactly representable"
"""What Arrow says of a whole number beside floats that none of them is."""
_COLUMN = re.compile(r"failed for column (\S+) with type")


def stream_of(frame: Any) -> pa.RecordBatchReader:
    """The batches of a frame; TypeError for what has none.

    A frame has `__arrow_c_stream__`, as tables of pyarrow, pandas, Polars and DuckDB have; or it is a dict of columns.
    """
    if isinstance(frame, pa.RecordBatchReader):
        return frame
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, dict):
        frame = _table_of(frame)
    if isinstance(frame, pa.Table):
        return frame.to_reader(max_chunksize=BATCH_ROWS)
    if not hasattr(frame, "__arrow_c_stream__"):
        raise TypeError(f"a frame has `__arrow_c_stream__`, as Arrow tables and data frames do, got {type(frame).__name__}")
    try:
        return pa.RecordBatchReader.from_stream(frame)
    except pa.ArrowException as error:
        column = _COLUMN.search(str(error))
        if column is not None and _INEXACT in str(error):
            raise DataError(_inexact(column[1])) from error
        raise DataError(f"the frame has a column that Arrow does not have: {str(error).splitlines()[0]}") from error


def _inexact(column: str) -> str:
    return (
        f"column `{column}` has floats beside a whole number of 2**53 or more, which no float holds exactly: "
        "make all of them floats, or all of them whole"
    )


def with_plain_texts(table: pa.Table) -> pa.Table:
    """A table whose texts are no views, as those of Polars are: pyarrow cannot put these in order."""
    for place, column in enumerate(table.columns):
        kind = column.type
        if pa.types.is_string_view(kind):
            column = column.cast(pa.string())
        elif pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
            column = pa.chunked_array([_with_plain_words(chunk) for chunk in column.chunks])
        else:
            continue
        table = table.set_column(place, table.schema.names[place], column)
    return table


def _with_plain_words(encoded: pa.DictionaryArray) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.cast(pa.string()))


def _table_of(columns: Mapping[str, Any]) -> pa.Table:
    """A table of columns by name; DataError names the first that is none, or that has another length than the others."""
    arrays: dict[str, pa.Array] = {}
    for name, values in columns.items():
        if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
            raise DataError(f"column `{name}` is a list of values, one for each row, got {type(values).__name__}")
        first = next(iter(arrays), name)
        if arrays and len(values) != len(arrays[first]):
            raise DataError(f"column `{name}` has {len(values)} values, and `{first}` has {len(arrays[first])}")
        try:
            arrays[name] = pa.table({name: values}).column(0)
        except OverflowError as error:
            raise DataError(f"column `{name}` has a whole number beyond 64 bits") from error
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            if _INEXACT in str(error):
                raise DataError(_inexact(name)) from error
            raise DataError(
                f"column `{name}` holds values of several types, or of none that a column can have: {error}"
            ) from error
    return pa.table(arrays)


def batches_of(stream: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Its batches, none of them with more than `BATCH_ROWS` rows."""
    for batch in stream:
        for begin in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(begin, BATCH_ROWS)


def plain(array: pa.Array) -> pa.Array:
    """An array without chunks and runs, and with a dictionary only where its values are texts, all of them there."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    if pa.types.is_dictionary(array.type) and (not _is_text(array.type.value_type) or array.dictionary.null_count):
        array = array.dictionary_decode()
    return array


def values_of(array: pa.Array) -> list[Any]:
    """The values of a column, as `value_of` has them."""
    try:
        values: list[Any] = array.to_pylist()
    except UnicodeDecodeError:
        return [value_of(each) for each in array]
    return values


def value_of(scalar: pa.Scalar) -> Any:
    """A value of a column. Text that is not UTF-8 is its bytes, and a time that no date of Python's is, a number.

    Who wrote the column did not look whether its text is text.
    """
    if pa.types.is_dictionary(scalar.type) or pa.types.is_run_end_encoded(scalar.type):
        return value_of(scalar.value)
    if pa.types.is_timestamp(scalar.type) and scalar.type.tz is not None:
        scalar = scalar.cast(pa.timestamp(scalar.type.unit, "UTC"))  # Python may not know the zone
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        if pa.types.is_struct(scalar.type):
            return {name: value_of(each) for name, each in scalar.items()}
        if pa.types.is_list(scalar.type):
            return [value_of(each) for each in scalar.values]
        return scalar.as_buffer().to_pybytes()
    except (OverflowError, ValueError):
        return scalar.value


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
