"""Bytes to lines, and lines to batches: what every transport does with the chunks that it receives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tidelog.connectors.decoding import RAW_LIMIT, Decoder, RefusingDecoder
from tidelog.plans.errors import DataError
from tidelog.runtime.interfaces import Batch, Rejected

MAX_LINE = 1 << 20
"""The longest line (bytes, without its newline) that is read unless told otherwise."""
BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Lines:
    """Complete lines without their newlines; `first` is the number of the first one. A refused line is left empty."""

    lines: list[bytes]
    first: int
    rejected: list[Rejected] = field(default_factory=list)


class LineFramer:
    """Splits chunks into lines, whatever the chunks' borders. At most `max_line` bytes wait for their newline.

    A longer line is rejected once, and what follows of it is passed over without being kept. CRLF ends a line as LF
    does, a last line needs neither, and a UTF-8 byte order mark before the first line is dropped.
    """

    def __init__(self, name: str, max_line: int = MAX_LINE) -> None:
        self._name = name
        self._max_line = max_line
        self._tail = bytearray()
        self._next = 1
        self._is_skipping = False

    @property
    def tail(self) -> bytes:
        """What has come of a line whose end has not."""
        return bytes(self._tail)

    @property
    def place(self) -> str:
        """`name:line` of the line whose end has not come."""
        return f"{self._name}:{self._next}"

    def push(self, chunk: bytes) -> Lines:
        """The lines that this chunk completes."""
        if self._is_skipping:
            _, newline, chunk = chunk.partition(b"\n")
            self._is_skipping = not newline
        if b"\n" not in chunk:
            return self._grow(chunk)
        text = bytes(self._tail) + chunk if self._tail else chunk
        self._tail = bytearray()
        lines = text.split(b"\n")
        last = lines.pop()
        framed = self._take(lines, text)
        framed.rejected += self._grow(last).rejected
        return framed

    def finish(self) -> Lines:
        """The last line, if it has no newline."""
        text = self.tail
        self._tail = bytearray()
        return self._take([text] if text else [], text)

    def snapshot(self) -> dict[str, Any]:
        """What it keeps between two chunks, as plain data."""
        return {"tail": self.tail, "next": self._next, "skipping": self._is_skipping}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self._tail, self._next, self._is_skipping = bytearray(data["tail"]), data["next"], data["skipping"]

    def _grow(self, chunk: bytes) -> Lines:
        """Keep the beginning of a line, or refuse it once it is too long."""
        framed = Lines([], self._next)
        self._tail += chunk
        if len(self._tail) > self._max_line:
            framed.rejected.append(self._refuse(self._next, self.tail))
            self._tail = bytearray()
            self._next += 1
            self._is_skipping = True
        return framed

    def _take(self, lines: list[bytes], text: bytes) -> Lines:
        """Complete lines and the text that they come from: what the text has not, no line has."""
        framed = Lines(lines, self._next)
        if len(text) > self._max_line:
            self._refuse_long_ones(framed)
        if b"\r" in text:
            lines[:] = [line.removesuffix(b"\r") for line in lines]
        if self._next == 1 and lines:
            lines[0] = lines[0].removeprefix(BOM)
        self._next += len(lines)
        return framed

    def _refuse_long_ones(self, framed: Lines) -> None:
        for index, line in enumerate(framed.lines):
            if len(line) > self._max_line:
                framed.rejected.append(self._refuse(framed.first + index, line))
                framed.lines[index] = b""

    def _refuse(self, number: int, line: bytes) -> Rejected:
        return Rejected(f"{self._name}:{number}", f"line is longer than {self._max_line} bytes", line[:RAW_LIMIT])


class LineReader:
    """One stream from its bytes to its batches: a framer and a decoder. Raises what the decoder raises.

    With `goes_on`, a stream of which nothing can be understood is no error: each of its lines is rejected for that reason.
    """

    def __init__(self, decoder: Decoder, max_line: int = MAX_LINE, *, goes_on: bool = False) -> None:
        self._decoder = decoder
        self._goes_on = goes_on
        self._framer = LineFramer(decoder.name, max_line)

    def feed(self, chunk: bytes) -> Batch:
        """What this chunk completes."""
        return self._decode(self._framer.push(chunk))

    def finish(self) -> Batch:
        """What is left at the end of the stream."""
        return self._decode(self._framer.finish())

    def abandon(self) -> Batch:
        """What is left where the connection broke: the beginning of a line is rejected, since its end is lost."""
        tail, place = self._framer.tail, self._framer.place
        self._framer.finish()
        return Batch(rejected=[Rejected(place, "connection lost before the line's end", tail[:RAW_LIMIT])] if tail else [])

    def snapshot(self) -> dict[str, Any]:
        """The state between two chunks, as plain data."""
        return {"framer": self._framer.snapshot(), "header": self._decoder.header}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue, with a decoder that has read nothing yet, where a snapshot was taken."""
        if data["header"] is not None:
            self._decoder.decode([data["header"]], 1)
        self._framer.restore(data["framer"])

    def _decode(self, framed: Lines) -> Batch:
        try:
            batch = self._decoder.decode(framed.lines, framed.first)
        except DataError as error:
            if not self._goes_on:
                raise
            self._decoder = RefusingDecoder(self._decoder.name, error.reason)
            batch = self._decoder.decode(framed.lines, framed.first)
        batch.rejected[:0] = framed.rejected
        return batch


def is_empty(batch: Batch) -> bool:
    """Whether a batch says nothing at all."""
    return not batch.records and not batch.rejected and batch.watermark is None
