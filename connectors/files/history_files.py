"""Whole files as columns of facts, block by block: for histories, which are read to their ends.

Parquet and plain CSV become columns without an object a fact. What else there is, is read by the decoder of its format, and
then made columns: a line of CSV that is not plain costs that to the stretch around it, and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import PurePath

from tidelog.connectors.files.csv_columns import CsvColumns
from tidelog.connectors.files.gathering import Gathered
from tidelog.connectors.files.pieces import WholeLines, name_of, opened
from tidelog.connectors.formats.csv.decoder import CsvDecoder
from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.formats.lines import MAX_LINE, Lines
from tidelog.connectors.sources.parquet_source import batches_of_file, layout_of_file, open_parquet
from tidelog.connectors.spec import Spec
from tidelog.connectors.transport.descriptors import READ_SIZE
from tidelog.plans.data.facts import Schema
from tidelog.runtime.frames.columns import ColumnBatch, ColumnReader, Pool, texts_of

BLOCK_ROWS = 1 << 17
"""How many rows are a block, unless told otherwise: of more, columns do not stay in a core's cache."""
_MOST_BYTES = 1 << 26
"""So many bytes are read at once at most, however long lines are."""
_LINES = 512
"""So many lines are decoded at once: where one cannot be read, all of them are read one by one."""
_PARTS = 16
"""In so many parts at most a stretch of lines is divided that is not plain."""


def _unheard(number: int) -> None:
    """Nobody asks how far reading has come."""


def open_history(
    spec: Spec,
    schema: Schema,
    pool: Pool,
    *,
    rows: int = BLOCK_ROWS,
    max_line: int = MAX_LINE,
    on_read: Callable[[int], None] = _unheard,
) -> Iterator[ColumnBatch]:
    """The facts of a file, or of standard input, in blocks of about so many rows, in the order of these.

    A block has one batch for each predicate of its facts, in the order of their first rows. What is rejected of it is in
    its first batch, which has no predicate (an empty name) where the block has no facts. `on_read` is told how many more
    bytes of the file have been read. DataError where nothing can be understood, such as a wrong header; SpecError and
    ConnectorError where reading fails.
    """
    if spec.format == "parquet":
        return _of_parquet(spec, schema, pool, rows, on_read)
    return _of_lines(spec, schema, pool, rows, max_line, on_read)


def _of_parquet(spec: Spec, schema: Schema, pool: Pool, rows: int, on_read: Callable[[int], None]) -> Iterator[ColumnBatch]:
    predicate = spec.predicate or PurePath(spec.path).stem
    with open_parquet(spec.path) as file:
        layout = layout_of_file(file, schema, predicate, spec.path, spec.dialect)
        texts = texts_of(layout, file.schema_arrow)
    reader = ColumnReader(schema, predicate, layout, pool)
    with open_parquet(spec.path, texts) as file:
        size = os.stat(spec.path).st_size / max(1, file.metadata.num_rows)
        for batch, numbers in batches_of_file(file, layout, spec.path, rows):
            on_read(int(numbers.stop * size) - int(numbers.start * size))
            yield reader.read(batch, spec.path, numbers)


def _of_lines(
    spec: Spec, schema: Schema, pool: Pool, rows: int, max_line: int, on_read: Callable[[int], None]
) -> Iterator[ColumnBatch]:
    decoder = make_decoder(spec.format, schema, name_of(spec), spec.predicate, dialect=spec.dialect)
    reader = LinesInColumns(decoder, schema, pool, max_line)
    with opened(spec) as pieces:
        lines = WholeLines(pieces, max_line)
        last = 0
        while text := lines.read(reader.size(rows)):
            reader.read(text)
            on_read(pieces.position - last)
            last = pieces.position
            if len(reader.gathered) >= rows - rows // 8:  # a piece is as long as it probably has to be
                yield from reader.gathered.drain()
    reader.finish()
    yield from reader.gathered.drain()


class LinesInColumns:
    """Makes columns of the lines of one file, with a decoder that has read nothing of it yet."""

    def __init__(self, decoder: Decoder, schema: Schema, pool: Pool, max_line: int = MAX_LINE) -> None:
        self._decoder = decoder
        self._framer = decoder.framer(decoder.name, max_line)
        self._plain = CsvColumns(decoder, schema, pool, max_line) if type(decoder) is CsvDecoder else None
        self.gathered = Gathered(decoder.name, pool)
        self._bytes = 0

    def size(self, rows: int) -> int:
        """How many bytes a block of so many rows probably still needs."""
        lines = self._framer.next - 1
        if self._plain is None or not lines:
            return READ_SIZE
        return min(max(READ_SIZE, (rows - len(self.gathered)) * self._bytes // lines), _MOST_BYTES)

    def read(self, text: bytes) -> None:
        """Take whole lines, or the beginning of a long one."""
        self._bytes += len(text)
        begin = 0
        if self._plain is not None and not self._plain.knows_columns:  # the lines behind the header may be plain
            begin = text.find(b"\n") + 1
            self._decode(self._framer.push(text[:begin]))
        self._read(text[begin:])

    def finish(self) -> None:
        """Take the last line, where it has no end."""
        self._decode(self._framer.finish())

    def _read(self, text: bytes) -> None:
        if self._plain is not None and self._take_plain(self._plain, text):
            return
        parts = list(_divided(text))
        if len(parts) == 1:
            self._decode(self._framer.push(text))
            return
        for part in parts:
            self._read(part)

    def _take_plain(self, plain: CsvColumns, text: bytes) -> bool:
        """Whether lines are plain, so that their facts have been taken."""
        if not self._framer.is_between or not text.endswith(b"\n"):
            return False
        facts = plain.read(text)
        if facts is None:
            return False
        first = self._framer.next
        self._framer.start_at(first + len(facts))
        self.gathered.add(plain.predicate, facts, range(first, first + len(facts)))
        return True

    def _decode(self, framed: Lines) -> None:
        self.gathered.rejected += framed.rejected
        for begin in range(0, len(framed.lines), _LINES):
            batch = self._decoder.decode(framed.lines[begin : begin + _LINES], framed.first + begin)
            self.gathered.add_records(batch)


def _divided(text: bytes) -> Iterator[bytes]:
    """Whole lines in parts, none much shorter than what is read at once of other files; what is as short is one part."""
    step = max(len(text) // _PARTS, READ_SIZE)
    begin = 0
    while begin < len(text):
        end = text.find(b"\n", begin + step) + 1 or len(text)
        yield text[begin:end]
        begin = end
