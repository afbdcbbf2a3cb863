"""Text on Spark: its lines become facts in the workers, by the same decoders that read a stream.

Spark cuts large files into *blocks*, and tells neither the numbers of lines nor, but for the first block, what the header of
a CSV file was. So lines are numbered only in blocks at the beginning of a file; and the header of the first file is read
beforehand, and sent along: files that are cut have to have the same one, any other brings its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from tidelog.connectors.files.history_files import LinesInColumns
from tidelog.connectors.formats.csv.decoder import split_row
from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.formats.framing import LineReader
from tidelog.connectors.spark.running.inputs.arrivals import Arrivals, runs
from tidelog.connectors.spark.running.inputs.locations import FILES, Input, escape, location
from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.parcels import COLUMNS, needs_places
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.ports.interfaces import Batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHUNK = 1 << 20
"""How many bytes of a file that comes as one row are read at once."""
COLUMNS_CHUNK = 1 << 22
"""The same of one that becomes columns."""
BLOCK = ("file_path", "file_block_start", "file_block_length", "file_size")
"""What Spark tells of the block that a row is from."""
_SPANNING = (
    "a quote is open at a line's end, and Spark reads this file in parts, which may begin there: close the quote, or "
    "compress the file with gzip, so that it is read as a whole"
)
_FIRST_LINES = 100
"""A header stands in one of so many lines, the others of which are blank."""
_PLAIN = (".csv", ".txt")
"""The ends of the names of files that Spark, which goes by them, does not take for compressed."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a CSV file that says anything, and which file that is."""

    line: bytes
    path: str


def read_lines(spark: SparkSession, item: Input, job: Job, *, streaming: bool, files: int = FILES) -> DataFrame:
    """The parcels of text files; a batch of a stream has so many `files` at most.

    DataError where the header of the first CSV file is wrong.
    """
    reader = spark.readStream.format("text").option("maxFilesPerTrigger", files) if streaming else spark.read.format("text")
    # a CSV file of a stream is one row: so it is never cut, and has its own header
    is_whole = streaming and item.format == "csv"
    frame = reader.option("lineSep", "\n").option("wholetext", is_whole).load(location(item))
    header = _find_header(spark, item, job, frame) if item.format == "csv" and not streaming else None
    value = F.col("value").cast("binary").alias("value")
    blocks = frame.select(value, *[F.col(f"_metadata.{name}").alias(name) for name in BLOCK])

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # Spark wants a function, not an object
        if is_whole and not needs_places(job.stages):
            return WholeFiles(item, job).read(batches)
        return BlocksOfTask(item, job, header).read(batches)

    return blocks.mapInArrow(read, COLUMNS)


def _find_header(spark: SparkSession, item: Input, job: Job, frame: DataFrame) -> Header | None:
    """The header of the first file that has one, by name; DataError where it is wrong."""
    for file in sorted(frame.inputFiles()):
        path = plain_path(file)
        decoder = make_decoder("csv", job.plan.schema, path, item.predicate)
        reader = LineReader(decoder)
        for line in _first_lines(spark, path):
            reader.feed(line + b"\n")
            if decoder.header is not None:
                return Header(decoder.header, path)
    return None


def _first_lines(spark: SparkSession, path: str) -> list[bytes]:
    """The first lines of a file. Of one on this machine that is plain text they are read here: a job takes far longer."""
    is_here = path.startswith("/")
    if is_here and path.endswith(_PLAIN):
        with suppress(OSError), open(path, "rb") as file:
            return [line.removesuffix(b"\n") for line in islice(file, _FIRST_LINES)]
    place = f"file://{path}" if is_here else path
    lines = spark.read.format("text").option("lineSep", "\n").load(escape(place))
    first = lines.where("_metadata.file_block_start = 0").select(F.col("value").cast("binary"))
    return [bytes(row[0]) for row in first.take(_FIRST_LINES)]


def plain_path(uri: str) -> str:
    """A file as people write it, from what Spark calls it.

    >>> plain_path("file:/data/a%20b.csv"), plain_path("s3a://bucket/a.csv")
    ('/data/a b.csv', 's3a://bucket/a.csv')
    """
    path = unquote(uri)
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else path


class BlocksOfTask:
    """What a worker does with text: one decoder, and for each block a reader that goes from its first line to its last."""

    def __init__(self, item: Input, job: Job, header: Header | None) -> None:
        self._header = header or Header(b"", item.path)
        self._is_csv = item.format == "csv"
        self._decoder = make_decoder(item.format, job.plan.schema, item.path, item.predicate)
        self._arrivals = Arrivals(job, item.number)
        self._block: _Block | None = None

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The parcels of lines, or of whole texts: columns `value`, and those of `BLOCK`."""
        for batch in batches:
            for begin, end in runs(batch):
                uri, start, length, size = (batch.column(name)[begin].as_py() for name in BLOCK)
                if self._block is None or self._block.key != (uri, start):
                    yield from self._leave()
                    self._block = self._enter(uri, start, is_cut=start > 0 or length < size)
                for piece in _pieces(batch.column("value").slice(begin, end - begin)):
                    yield from self._take(self._block.feed(piece))
        yield from self._leave()
        yield from self._arrivals.finish()

    def _enter(self, uri: str, start: int, *, is_cut: bool) -> _Block:
        """The block that the next lines belong to."""
        path = plain_path(uri)
        bound = self._header if self._is_csv and is_cut else None
        self._arrivals.begin(path, start)
        return _Block((uri, start), path, self._decoder.for_stream(path), bound)

    def _leave(self) -> Iterator[pa.RecordBatch]:
        """What is left of the last block: a record whose end has not come."""
        if self._block is not None:
            yield from self._take(self._block.finish())

    def _take(self, read: Batch) -> Iterator[pa.RecordBatch]:
        yield from self._arrivals.take(read.records, read.rejected)


class WholeFiles:
    """What a worker does with files of CSV, each of which comes as one row: their facts go on in columns."""

    def __init__(self, item: Input, job: Job) -> None:
        self._schema = job.plan.schema
        self._decoder = make_decoder(item.format, self._schema, item.path, item.predicate)
        self._arrivals = Arrivals(job, item.number)

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The parcels of whole texts: a column `value`, and those of `BLOCK`."""
        for batch in batches:
            paths = batch.column("file_path").to_pylist()
            for text, path in zip(batch.column("value"), map(plain_path, paths), strict=True):
                self._arrivals.begin(path, 0)
                decoder = self._decoder.for_stream(path)
                try:
                    yield from self._in_columns(decoder, text.as_buffer())
                except DataError:  # its header is wrong, so that nothing of it has been taken: each row is told
                    reader = LineReader(decoder.for_stream(path), goes_on=True)
                    read = reader.feed(text.as_buffer().to_pybytes())
                    yield from self._arrivals.take(read.records, read.rejected)
                    read = reader.finish()
                    yield from self._arrivals.take(read.records, read.rejected)
        yield from self._arrivals.finish()

    def _in_columns(self, decoder: Decoder, text: pa.Buffer) -> Iterator[pa.RecordBatch]:
        reader = LinesInColumns(decoder, self._schema, self._arrivals.pool)
        for lines in _whole_lines(memoryview(text)):
            reader.read(lines)
            yield from self._taken(reader)
        reader.finish()
        yield from self._taken(reader)

    def _taken(self, reader: LinesInColumns) -> Iterator[pa.RecordBatch]:
        for facts in reader.gathered.drain():
            yield from self._arrivals.take_columns(facts)


class _Block:
    """A file, or a part of one, while it is read. With `bound`, its header has to be that one; without, it has its own.

    A file whose own header is wrong is refused row by row. Where one that is cut has another header than it has to have,
    nothing can be said of its other parts: DataError. So it is where one that is cut has a line end in quotes: a part may
    begin there, and could take what stands in the quotes for facts.
    """

    def __init__(self, key: tuple[str, int], path: str, decoder: Decoder, bound: Header | None) -> None:
        self.key = key
        self._start = key[1]
        self._path = path
        self._decoder = decoder
        self._bound = bound
        self._is_checked = False
        self._reader = LineReader(decoder, goes_on=bound is None)
        if self._start and bound is not None and not bound.line:
            raise DataError("no header was found that says what its rows are", path)
        if self._start:  # it begins behind the first line, so no byte order mark is looked for
            self._reader.start_behind(bound.line if bound else None)

    def feed(self, piece: bytes) -> Batch:
        """The facts of the lines that this piece completes."""
        return self._checked(self._reader.feed(piece))

    def finish(self) -> Batch:
        """What is left at its end."""
        return self._checked(self._reader.finish())

    def _checked(self, batch: Batch) -> Batch:
        if self._bound is not None and self._reader.spans_lines:
            raise DataError(_SPANNING, self._path)
        if self._start:
            place = f"{self._path} (after byte {self._start})"
            batch.rejected = [replace(each, place=place) for each in batch.rejected]
        elif self._bound is not None and self._decoder.header is not None and not self._is_checked:
            self._check_header(self._decoder.header, self._bound)
        return batch

    def _check_header(self, header: bytes, bound: Header) -> None:
        if header != bound.line and split_row(header) != split_row(bound.line):
            reason = (
                f"the header differs from that of `{bound.path}`: read files with another header by an `--in` of their own"
            )
            raise DataError(reason, self._path)
        self._is_checked = True


def _whole_lines(text: memoryview) -> Iterator[bytes]:
    """A text piece by piece, each of which ends with a line, but for one that is longer than a piece."""
    begin = 0
    while begin < len(text):
        piece = bytes(text[begin : begin + COLUMNS_CHUNK])
        end = piece.rfind(b"\n") + 1 if begin + len(piece) < len(text) else len(piece)
        yield piece[: end or len(piece)]
        begin += end or len(piece)


def _pieces(values: pa.Array) -> Iterator[bytes]:
    """The texts of these rows, each with a newline behind it: all of them, or one, which may be a file, piece by piece."""
    if len(values) > 1:
        whole = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
        yield pc.binary_join(whole, b"\n")[0].as_buffer().to_pybytes() + b"\n"
        return
    text = memoryview(values[0].as_buffer())
    for begin in range(0, len(text), CHUNK):
        yield bytes(text[begin : begin + CHUNK])
    yield b"\n"
